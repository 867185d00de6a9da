"""Verification: every claim derived again in balls, every bound joined again from the claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from flint import arb, ctx

from tradeoff.certificates.certificate import Certificate, Claim, Description, turned
from tradeoff.certificates.conclusion import concluded
from tradeoff.certificates.rules import read, ruled
from tradeoff.certificates.verify.contour import Line
from tradeoff.certificates.verify.direct import Sums
from tradeoff.certificates.verify.lattice import Lattice
from tradeoff.certificates.verify.laws import real, told
from tradeoff.certificates.verify.normal import EXPANSION, SOURCE, Normal
from tradeoff.certificates.verify.product import Product
from tradeoff.certificates.verify.report import Check, Log, Verification, require
from tradeoff.errors import DomainError, TradeOffError, VerificationError, shown

_DIGITS = (128, 512, 4096)  # bits of the balls, more of them where a claim is neither proved nor refuted

# What is left out is e^-4 of the width of a claim; where rare large losses make delta 1e-5 of its integrand,
# e^-16; where a claim has one side, which is much nearer to the truth than 0 is, e^-32.
_DEEPER = 4.0, 16.0, 32.0

_ATTEMPTS = 6  # most Gaussians added to one product, each narrower by half than the one before

# Nodes of lattices: few laws on 2^16 take seconds, those with an incomplete gamma function half a minute.
_SIZES = (2**10, 2**12, 2**14, 2**16)

# What no check can see, of any certificate.
_TRUSTED = (
    "the laws listed are those of the curve, and numbers of a law are meant as they are written",
    "masses and losses that a law lists, and weights of a mixture, to the rounding of a double",
    (
        "Arb: that its balls contain what they enclose; so mpmath's intervals, which join the claims, "
        "and that its exp and log have 56 digits"
    ),
)

# What is raised where a certificate holds other things than it should.
_MALFORMED = ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError

_ASKED = {"delta": (-math.inf, math.inf), "epsilon": (0.0, 1.0), "beta": (0.0, 1.0), "mu": (0.0, 1.0)}
# The questions, and between which values they have answers: between those of the last there is 0 alone.
_ASKED["shortfall"] = -5e-324, 5e-324


def verify(certificate: Certificate) -> Verification:
    """Whether a certificate proves its bounds, found by other code in ball arithmetic from the laws alone.

    Parameters
    ----------
    certificate
        What ``certify`` returned, or ``Certificate.from_json`` read.

    Returns
    -------
    Verification
        Every number checked, recorded and recomputed, how it was proved, and what was taken on trust.

    Raises
    ------
    VerificationError
        If a number is not what is found again, or a bound does not follow; ``term`` names it.

    Examples
    --------
    >>> import tradeoff as to
    >>> certificate = to.certify(to.Gaussian(1) @ to.Laplace(0.1) ** 50, "delta", 2.0)
    >>> [check.name for check in to.verify(certificate).checks]
    ['delta lower', 'delta upper', 'lower bound', 'upper bound']
    """
    if not isinstance(certificate, Certificate):
        raise DomainError(f"{shown(certificate)} is not a certificate; read one with Certificate.from_json")
    log = Log()
    log.trusted += _TRUSTED
    saved = ctx.prec, ctx.cap
    try:
        _proved(certificate, log)
        said = "something was changed since it was issued, though all that it says was proved"
        require("digest", certificate.sealed().digest == certificate.digest, said)
    except TradeOffError:
        raise
    except _MALFORMED as error:
        raise VerificationError(f"the certificate is malformed: {error!r}", "form") from error
    finally:
        ctx.prec, ctx.cap = saved
    return log.report()


def _proved(certificate: Certificate, log: Log) -> None:
    """Prove the claims of all parts, and what follows from them: that first, which takes the least."""
    follow = {id(each): _follows(each) for each in _all(certificate)}
    for each in _all(certificate):
        for order in () if each.rule else (False, True):
            _claims(each, [claim for claim in each.claims if claim.reverse is order], log)
        log.checks += follow[id(each)]


def _all(certificate: Certificate) -> Iterator[Certificate]:
    """Yield a certificate after its parts."""
    for part in certificate.parts:
        yield from _all(part)
    yield certificate


def _follows(c: Certificate) -> list[Check]:
    """Require the bounds to be what is implied, rounded outwards."""
    _formed(c)
    found = (
        ruled(c.question, c.value, c.rule, c.parts) if c.rule else concluded(c.question, c.value, c.claims)
    )
    log = Log()
    log.compare("lower bound", c.lower, "<=", found[0])
    log.compare("upper bound", c.upper, ">=", found[1])
    for name, bound, end in (("lower", c.lower, found[0]), ("upper", c.upper, found[1])):
        require(f"{name} bound", bound == end, f"recorded {bound!r}, what it rests on implies {end!r}")
    return log.checks


def _formed(certificate: Certificate) -> None:
    """Require a question that has an answer, and of every claim that it is one: none is left unproved."""
    (low, high), value = _ASKED[certificate.question], certificate.value
    require("value", real(value, "value", low) < high, f"{value!r} is not below {high}")
    ruled, claimed = certificate.rule or certificate.parts, certificate.factors or certificate.claims
    require("rule", not (ruled and claimed), "a rule joins its parts, and no claims")
    require("rule", certificate.rule or not certificate.parts, "parts without a rule say nothing")
    require("rule", certificate.rule.get("kind") != "product", "a product is told by its factors")
    ordered = certificate.rule.get("kind") == "order"
    require("rule", ordered == (certificate.question == "shortfall"), "an order, and that alone, falls short")
    _read(certificate.about)
    for claim in certificate.claims:
        known = claim.quantity in {"delta", "1 - delta", "beta"} and type(claim.reverse) is bool
        require(
            "quantity", known, f"{claim.quantity!r} of the order {claim.reverse!r} is none that is proved"
        )
        for number in (claim.at, claim.lower, claim.upper):
            real(number, "claim")
        require("claim", claim.lower <= claim.upper, f"{claim} is of no number")


def _read(curve: Description) -> None:
    """Require a curve to be a product of laws, or a rule of curves, and to say nothing that is not read."""
    if curve["kind"] != "product":
        read(curve)
        for operand in curve["of"]:
            _read(operand)
        return
    require("factor", curve.keys() == {"kind", "of"}, f"a product has the parameters {sorted(curve)}")
    for factor in curve["of"]:
        n = factor["count"]
        require(
            "factor", factor.keys() == {"law", "count"}, f"{sorted(factor)!r} are not a law and its count"
        )
        told(factor["law"])
        require("count", type(n) is int and n > 0, f"{n!r} is not a positive integer")


def _claims(certificate: Certificate, claims: Sequence[Claim], log: Log) -> None:
    """Prove the claims about one order, in as many digits as that takes."""
    ways: dict[str, list[Way]] = {"closed-form": [_sums], "exact": [_sums], "contour": [_sums, _lines]}
    ways |= {"lattice": [_sums, _lattices, _lines], "berry-esseen": [_limit]}
    ways["edgeworth"] = [partial(_limit, expanded=True)]
    require("method", certificate.method in ways, f"{certificate.method!r} is none of {', '.join(ways)}")
    for bits in _DIGITS if claims else ():
        ctx.prec = bits
        factors = turned(certificate.factors) if claims[0].reverse else list(certificate.factors)
        found, direct = _first(ways[certificate.method], factors, claims, log)
        if not direct or all(_decided(*each) for each in found):
            break
    for claim, low, high in found if claims else ():
        log.compare(f"{claim.quantity} lower", claim.lower, "<=", low)
        log.compare(f"{claim.quantity} upper", claim.upper, ">=", high)


def _decided(claim: Claim, low: arb, high: arb) -> bool:
    """Whether the bounds prove the claim, or refute it."""
    proved = claim.lower <= low and claim.upper >= high
    return bool(proved or claim.lower > high or claim.upper < low)


Prover = Callable[[Claim], tuple[arb, arb]]
Found = list[tuple[Claim, arb, arb]]
Way = Callable[[Sequence[Description], Sequence[Claim], Log], Prover]


def _first(
    ways: Sequence[Way], factors: Sequence[Description], claims: Sequence[Claim], log: Log
) -> tuple[Found, bool]:
    """Return bounds by the first way that applies, and whether more digits are all they could need."""
    past = _past(factors, claims, log)
    proved = {claim for claim, _, _ in past}
    claims = [claim for claim in claims if claim not in proved]
    for way in ways if claims else ():
        try:
            prove = way(factors, claims, log)
            return [*past, *((claim, *prove(claim)) for claim in claims)], way is _sums
        except VerificationError:
            if way is ways[-1]:
                raise
    return past, True


def _past(factors: Sequence[Description], claims: Sequence[Claim], log: Log) -> Found:
    """Prove claims about losses that no finite one exceeds: delta is the mass at infinity."""
    ends = [claim for claim in claims if claim.quantity == "delta" and claim.lower == 0]
    if not ends:
        return []
    product = Product(factors, -1.0)
    top, leak = product.top(), product.lost()
    found = [(claim, *_clipped(leak, leak)) for claim in ends if claim.at >= top]
    if found:
        log.proofs.append(f"no finite loss is above {float(top):.6g}")
    return found


def _sums(factors: Sequence[Description], _claims: Sequence[Claim], log: Log) -> Prover:
    sums = Sums(factors)
    one = f"closed forms of one law, in {ctx.prec} bits"
    log.proofs.append(f"sums over all {sums.size} atoms, in {ctx.prec} bits" if sums.size > 1 else one)

    def prove(claim: Claim) -> tuple[arb, arb]:
        if claim.quantity == "beta":
            return _clipped(*sums.beta(claim.at))
        at = sums.delta(claim.at) if claim.quantity == "delta" else sums.short_of_one(claim.at)
        return _clipped(at, at)

    return prove


def _limit(
    factors: Sequence[Description], _claims: Sequence[Claim], log: Log, *, expanded: bool = False
) -> Prover:
    normal = Normal(factors, expanded=expanded)
    both = normal.p, normal.q
    if expanded:
        log.trusted.append(EXPANSION)
        left = ", ".join(f"{float(each.expansion.rest if each.expansion else 0):.6g}" for each in both)
        log.proofs.append(f"integrals in balls: far out their expansions are off by {left}")
    log.trusted.append(SOURCE)
    errors = ", ".join(f"{float(each.gamma):.6g}" for each in both)
    log.proofs.append(f"moments in balls: the sums are normal up to {errors} under P and Q")

    def prove(claim: Claim) -> tuple[arb, arb]:
        if claim.quantity == "beta":
            return _clipped(*normal.beta(claim.at))
        return _said(claim, *normal.delta(claim.at))

    return prove


def _said(claim: Claim, low: arb, high: arb) -> tuple[arb, arb]:
    """Return bounds on the quantity of a claim from those on delta."""
    require("quantity", claim.quantity in {"delta", "1 - delta"}, f"{claim.quantity!r} is not proved so")
    return _clipped(1 - high, 1 - low) if claim.quantity == "1 - delta" else _clipped(low, high)


def _clipped(low: arb, high: arb) -> tuple[arb, arb]:
    """Return the ends of bounds, in [0, 1]."""
    return arb(0) if low.lower() < 0 else low.lower(), arb(1) if high.upper() > 1 else high.upper()


def _lattices(factors: Sequence[Description], claims: Sequence[Claim], log: Log) -> Prover:
    """Draw lattices, finer until all claims are decided."""
    far, least = max(claim.at for claim in claims), min(claim.upper for claim in claims)

    @cache
    def drawn(size: int) -> Lattice:
        return Lattice(factors, size, far, least)

    def prove(claim: Claim) -> tuple[arb, arb]:
        for size in _SIZES:
            low, high = _said(claim, *drawn(size).delta(claim.at))
            if _decided(claim, low, high):
                log.proofs.append(drawn(size).said())
                return low, high
        raise VerificationError("claim: no lattice decides it", "claim")

    return prove


def _lines(factors: Sequence[Description], claims: Sequence[Claim], log: Log) -> Prover:
    """Draw lines near the claims, and deeper ones for those they do not decide."""
    ways = [_Lines(factors, claims, log, depth) for depth in _DEEPER]

    def prove(claim: Claim) -> tuple[arb, arb]:
        for way in ways:
            found = way.prove(claim)
            if _decided(claim, *found):
                break
        return found

    return prove


class _Lines:
    """Lines near the claims; where a product does not decay, with Gaussians narrow enough for them."""

    def __init__(
        self, factors: Sequence[Description], claims: Sequence[Claim], log: Log, depth: float
    ) -> None:
        widths = [(claim.upper - claim.lower) / claim.upper if claim.upper > 0 else 1.0 for claim in claims]
        require("claim", min(widths) > 0, "a claim has no width")
        self.narrowest, self.log = min(widths), log
        self.product = Product(factors, math.log(self.narrowest) - depth)
        self.drawn: list[Line] = []

    def near(self, claim: Claim, tau: float) -> Line:
        """Return a line for a claim, which may serve its neighbours."""
        middle = claim.quantity == "1 - delta"
        for line in self.drawn:
            same = line.middle == middle and line.tau <= tau and line.holds >= (tau > 0)
            if same and abs(line.x - claim.at) <= line.spread / 2:
                return line
        self.drawn.append(Line(self.product, claim.at, middle=middle, tau=tau))
        return self.drawn[-1]

    def prove(self, claim: Claim) -> tuple[arb, arb]:
        """Bound what is claimed, by as little as decides it."""
        require("quantity", claim.quantity in {"delta", "1 - delta"}, f"{claim.quantity!r} is not proved so")
        leak = self.product.lost() if claim.quantity == "delta" else arb(0)
        if _decided(claim, *_clipped(leak, arb(1))):
            self.log.proofs.append("what is claimed holds of every law with this mass at infinity")
            return _clipped(leak, arb(1))
        line = self.near(claim, 0.0)
        if line.holds:
            self.log.proofs.append(line.said())
            return _clipped(*(leak + bound for bound in line.bounds(claim.at)))
        most = _clipped(leak, leak + line.most(claim.at))
        if _decided(claim, *most):
            self.log.proofs.append(f"Chernoff's bound at c = {line.c:.6g}")
            return most
        return self._smoothed(claim, leak, line)

    def _smoothed(self, claim: Claim, leak: arb, line: Line) -> tuple[arb, arb]:
        """Add Gaussians, each narrower than the one before."""
        for attempt in range(_ATTEMPTS):
            blur = line.blur()
            narrow = 0.3 * self.narrowest * claim.upper / blur if blur > 0 else math.inf
            require("claim", 0 < narrow < math.inf, "no contour could be drawn that is narrow enough")
            tau = 2.0 ** (math.floor(math.log2(narrow) / 2) - attempt)  # one line for many claims
            narrower = self.near(claim, tau)
            if attempt and not narrower.holds:  # more nodes than are drawn: the last line has to do
                break
            line = narrower
            require("claim", line.holds, "no contour could be drawn that is narrow enough")
            low, high = _clipped(*(leak + bound for bound in line.bounds(claim.at)))
            if _decided(claim, low, high):
                break
        self.log.proofs.append(line.said())
        return low, high
