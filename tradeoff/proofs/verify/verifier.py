"""Verification: every recorded bound is compared with an enclosure in ball arithmetic."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, reduce
from itertools import pairwise

from flint import arb, ctx

from tradeoff.errors import TradeOffError, VerificationError, domain
from tradeoff.proofs.certificate import Certificate, Description
from tradeoff.proofs.verify.contour import AtomSum, Contour, Product
from tradeoff.proofs.verify.laws import Check, Verification, outward, real, require

# Nodes of contours with an added Gaussian; each effort takes about ten times the last.
EFFORTS = 2**10, 2**13, 2**16
_BITS = 256  # of the balls; twice as many with each effort


def verify(certificate: Certificate) -> Verification:
    """Prove the bounds of a certificate from its laws alone, in ball arithmetic, and report how.

    Parameters
    ----------
    certificate : the result of ``certify``, or of ``Certificate.from_json``

    Raises
    ------
    VerificationError
        If a bound is refuted or not proved, or the certificate is malformed; ``term`` names the entry.

    Examples
    --------
    >>> import tradeoff as to
    >>> certificate = to.certify(to.Gaussian(1) @ to.Laplace(0.1) ** 50, "delta", 2.0)
    >>> [check.side for check in to.verify(certificate).checks]
    ['>=', '<=']
    """
    if not isinstance(certificate, Certificate):
        raise domain("certificate", certificate, "a tradeoff.proofs.Certificate", "its from_json reads text")
    malformed = AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError
    try:
        for effort in range(len(EFFORTS)):
            checks = examine(certificate, effort)
            if all(check.proved for check in checks):
                trusted = (
                    "the laws listed are those of the curve, with their numbers as written",
                    "Arb: its balls contain the numbers that they enclose",
                )
                return Verification(str(certificate), tuple(checks), trusted)
            if any(check.refuted for check in checks):
                break
    except TradeOffError:
        raise
    except (ArithmeticError, *malformed) as error:
        raise VerificationError(f"the certificate is malformed: {error!r}", "form") from error
    failed = next(check for check in checks if not check.proved)
    raise VerificationError(str(failed), failed.name)


def examine(certificate: Certificate, effort: int) -> list[Check]:
    """Return comparisons that prove the bounds if all hold, the lower bound first.

    delta falls: epsilon(d) >= lower if delta(lower) > d, and <= upper if delta(upper) <= d.
    """
    question, at, lower, upper = (getattr(certificate, n) for n in ("question", "at", "lower", "upper"))
    orders, factors = certificate.orders, certificate.factors
    require("orders", orders in {"one", "both"}, f"must be one or both, got {orders!r}")
    require("factors", isinstance(factors, tuple | list) and factors, "must be a list of laws, not empty")
    for name, number in (("lower", lower), ("upper", upper)):
        require(name, type(number) in {int, float}, f"must be a number, got {number!r}")
    require("upper", lower <= upper, f"must be at least lower = {lower!r}, got {upper!r}")
    with ctx.workprec(_BITS):
        real(at, "at", -math.inf if question == "delta" else 0.0)
        require("at", question == "delta" or at < 1, f"must be in (0, 1), got {at!r}")
        profile = Profile(certificate, effort)
        if question == "epsilon":
            require("upper", math.isfinite(lower) or math.isfinite(upper), "must be finite, or lower")
            return [
                Check(f"delta({x!r})", *outward(profile.at(x)[0]), side, at)
                for x, side in ((lower, ">"), (upper, "<="))
                if math.isfinite(x)
            ]
        known = question in {"delta", "beta"}
        require("question", known, f"must be delta, epsilon or beta, got {question!r}")
        ball = profile.at(at)[0] if question == "delta" else profile.beta(at, certificate.losses)
    low, high = (min(max(end, 0.0), 1.0) for end in outward(ball))
    name = f"{question}({at!r})"
    return [Check(name, low, high, ">=", lower), Check(name, low, high, "<=", upper)]


class Profile:
    """delta of one order of the pair, or the larger delta of both orders."""

    def __init__(self, certificate: Certificate, effort: int) -> None:
        reverse = (False, True) if certificate.orders == "both" else (False,)
        with ctx.workprec(_BITS):
            self.orders = [_Order(certificate.factors, effort, reverse=each) for each in reverse]
        self.points: dict[float, tuple[arb, arb]] = {}  # results of ``at``

    def at(self, x: float) -> tuple[arb, arb]:
        """Enclose delta(x), and 1 - delta(x), the lesser of them to the better relative accuracy."""
        if x not in self.points:
            with ctx.workprec(_BITS):
                delta, rest = zip(*(order.at(x) for order in self.orders), strict=True)
                self.points[x] = reduce(arb.max, delta), reduce(arb.min, rest)
        return self.points[x]

    def kinks(self, x: float) -> list[float]:
        """Return the losses of the four atoms next to x, where a sum has kinks; none for contours."""
        sums = [order.sum for order in self.orders if order.sum]
        losses = (float((q / p).log().mid()) for each in sums for p, q in each.atoms)
        return sorted(losses, key=lambda loss: abs(loss - x))[:4]

    def beta(self, alpha: float, losses: tuple[float, ...]) -> arb:
        """Enclose f(alpha) = sup over s = e^x of g(s) = 1 - delta(x) - s alpha, from samples of g, concave.

        Every sample is a lower bound. Between two samples g lies below the chords of the pairs on both sides,
        extended, or below the sample where such a chord falls. Left of the first sample g is below it if g
        rises to the second; right of the last, alike. Samples are at x = ``losses``.
        """
        x = sorted({float(real(loss, "losses")) for loss in losses})
        if x:
            self.at(x[len(x) // 2])  # a contour there serves the others, whatever their spacing
        s = [arb(loss).exp() for loss in x]
        g = [self.at(loss)[1] - slope * alpha for loss, slope in zip(x, s, strict=True)]
        low, high = reduce(arb.max, (value.lower() for value in g), arb(0)), 1 - arb(alpha)
        if len(x) > 3 and g[0] <= g[1] and g[-1] <= g[-2]:
            chords = pairwise(zip(s, g, strict=True))
            slopes = [(g_right - g_left) / (right - left) for (left, g_left), (right, g_right) in chords]
            most = g[1].upper().max(g[-2].upper())
            for k in range(len(x) - 1):  # bounds on g between the samples k and k + 1
                width, bounds = s[k + 1] - s[k], []
                if k > 0:
                    bounds.append((g[k] + (slopes[k - 1] * width).max(arb(0))).upper())
                if k < len(x) - 2:
                    bounds.append((g[k + 1] - (slopes[k + 1] * width).min(arb(0))).upper())
                most = most.max(reduce(arb.min, bounds))
            high = high.min(most)
        return low.lower().union(high.upper())


_contour = lru_cache(maxsize=8)(Contour)  # whose arguments decide its values


@lru_cache(maxsize=4)
def _product(factors: str, reverse: bool) -> Product:  # noqa: FBT001 - part of the key of the cache
    """Return a product, kept so that all questions about it compute its tilts once."""
    return Product(json.loads(factors), reverse=reverse)


class _Order:
    """delta of one order, by a sum over atoms or else by contours, each of which serves neighbouring x."""

    def __init__(self, factors: Sequence[Description], effort: int, *, reverse: bool) -> None:
        self.count, self.bits = EFFORTS[effort], _BITS << effort
        self.contours: list[Contour] = []
        try:
            with ctx.workprec(self.bits):
                self.sum: AtomSum | None = AtomSum(Product(factors, reverse=reverse))
        except VerificationError:  # a density, or too many atoms
            self.sum, self.product = None, _product(json.dumps(factors), reverse)

    def at(self, x: float) -> tuple[arb, arb]:
        if self.sum is not None:
            with ctx.workprec(self.bits):
                delta = self.sum.delta(x)
                return delta, 1 - delta
        infinite, unlisted = self.product.mass_at_infinity, self.product.unlisted
        if self.product.sup_loss <= x:
            return infinite + unlisted, 1 - infinite - unlisted
        # Below the mean loss, halfway between P and Q, 1 - delta is the lesser one.
        middle = x < self.product.tilt(0.5).mean
        near = (c for c in self.contours if c.middle == middle and abs(c.x - x) <= c.spread / 2)
        psi = arb.nan()
        with suppress(VerificationError):  # no contour of this effort
            if (contour := next(near, None)) is None:
                contour = _contour(self.product, x, middle=middle, count=self.count)
                self.contours.append(contour)
            psi = contour.bound(x)
        if not psi.upper() < 2 * psi.lower():
            rough = self.product.rough(x, middle=middle)
            psi = psi.intersection(rough) if psi.is_finite() else rough
        psi += unlisted
        return (1 - psi, psi) if middle else (infinite + psi, 1 - infinite - psi)
