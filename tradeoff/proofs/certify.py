"""Certificates of answers: the bounds of the engines, widened where the verifier proves less.

``EFFORTS`` are the verifier's levels of effort, each slower and tighter than the one before.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

from scipy.optimize import minimize_scalar

from tradeoff import errors
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice, number
from tradeoff.curves.product import law_pair
from tradeoff.errors import NoClosedForm, PrecisionError, VerificationError, shown
from tradeoff.operators.symmetrise import Envelope
from tradeoff.pld.discrete import EVERYWHERE, LOST, AtomicLaw, BinomialLaw, DiscreteGaussianLaw
from tradeoff.pld.gaussian import GaussianLaw
from tradeoff.pld.gaussian_mixtures import MixtureLaw
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.shifts import BoundedRangeLaw, LaplaceLaw
from tradeoff.pld.transformed import MixturePLD, ReversedPLD, SubsampledPLD
from tradeoff.proofs.certificate import Certificate, Description, Orders, Question
from tradeoff.proofs.verify.verifier import EFFORTS, Profile, examine

_ULPS = 2.0**-50  # least relative change of a delta, and of a bound on epsilon
_REMEDY = "certify curve.lower or curve.upper instead"


@errors.advise_keywords(
    lambda _: 'write certify(curve, "epsilon", delta), or "delta", epsilon, or "beta", alpha'
)
def certify(curve: TradeOff, question: Question, at: float, *, tol: float | None = None) -> Certificate:
    """Return bounds on one answer that ``verify`` proves from the certificate alone.

    They are the bounds of the engines where the verifier proves them, or wider ones that it does prove.

    Parameters
    ----------
    curve
        A product of laws: Gaussian, Laplace, pure and approximate DP, finite laws, discrete Gaussian and
        Laplace, mixtures of normal laws with an increasing ratio, and these subsampled, reversed or mixed.
        Its envelope for both orders (``symmetrise(assume="either-order")``, ``Plan.guarantee``) as well.
    question : ``"delta"``, ``"epsilon"`` or ``"beta"``
    at : the epsilon in nats, the delta or the type I error
    tol : width that the bounds must reach: absolute for epsilon, relative for delta and beta

    Raises
    ------
    NoClosedForm
        If the curve is not such a product; certify ``curve.lower`` or ``curve.upper``.
    PrecisionError
        If ``tol`` is not reached; ``reachable`` is the width that is.

    Examples
    --------
    >>> import tradeoff as to
    >>> certificate = to.certify(to.subsample(to.Gaussian(1), 0.01) ** 1000, "epsilon", 1e-5)
    >>> round(certificate.upper, 8)
    1.82823667
    """
    value = _check_question(curve, question, at)
    if tol is not None:
        number("tol", tol, 0.0, open_low=True, open_high=True)
    orders: Orders = "both" if isinstance(curve, Envelope) else "one"
    factors = describe_factors(curve.operands[0] if isinstance(curve, Envelope) else curve)
    low, high = (curve.bounds if question == "beta" else getattr(curve.bounds, question))(value, tol=tol)
    claim = Certificate(question, value, float(low), float(high), orders, factors, exact=curve.exact)
    best, goal = None, 1e-6 if tol is None else tol  # below that no more effort is worth its time
    for effort in range(len(EFFORTS)):
        try:
            losses = _choose_losses(curve, claim, effort) if question == "beta" else ()
            certificate = _widen(curve, replace(claim, losses=losses), effort)
        except VerificationError as error:
            if error.term not in {"claim", "laws"}:  # limits of the verifier
                raise
            continue
        if question != "epsilon" and (certificate.lower, certificate.upper) == (0, 1):
            continue  # it says nothing
        best = certificate if best is None or width(certificate) < width(best) else best
        if width(best) <= goal or (certificate.lower, certificate.upper) == (claim.lower, claim.upper):
            return best
    if best is None:
        raise NoClosedForm(f"the verifier proves no bounds on {question} of {shown(curve)}; {_REMEDY}")
    if tol is not None:
        raise PrecisionError(f"tol = {tol:g} not reached; reachable here: {width(best):.3g}", width(best))
    return best


def _check_question(curve: TradeOff, question: str, at: object) -> float:
    """Return ``at`` as a float if the question can be certified of the curve."""
    operand(curve).require_numbers()
    if curve.assumptions:
        assumed = "; ".join(curve.assumptions)
        raise NoClosedForm(f"{curve!r} has assumptions that cannot be certified: {assumed}; use its bounds")
    choice("question", question, get_args(Question))
    low, high = (-math.inf, math.inf) if question == "delta" else (0.0, 1.0)
    name = {"epsilon": "delta", "delta": "epsilon", "beta": "alpha"}[question]
    value = number(name, at, low, high, open_low=True, open_high=True)
    infinite = curve.mass_at_plus_infinity
    if question == "epsilon" and value <= infinite * (1 + 8 * _ULPS):  # ``_widen`` needs room below delta
        raise errors.DomainError(f"delta must be above the mass at infinity {infinite!r}, got {value!r}")
    return value


def describe_factors(curve: TradeOff) -> tuple[Description, ...]:
    """Return the laws of a product by their parameters, with their counts, or raise ``NoClosedForm``."""
    factors = []
    for factor, n in curve.factors.items():
        below, above, count = law_pair(factor, n)
        if below is not above:  # two laws that bound the factor, none of them its own
            raise NoClosedForm(f"{shown(factor)} has no law that certify describes; {_REMEDY}")
        law, rounds = below.single_rounds(count)
        factors.append({"law": describe_law(law), "count": rounds})
    return tuple(factors)


def describe_law(law: PrivacyLossDistribution) -> Description:  # noqa: C901, PLR0911 - one case a law
    """Return a law by its parameters, from which the verifier makes it again, or raise ``NoClosedForm``."""
    match law:
        case SubsampledPLD():
            return {"kind": "thinned", "p": law.p, "base": describe_law(law.base)}
        case ReversedPLD():
            return {"kind": "reversed", "base": describe_law(law.base)}
        case MixturePLD():
            return {"kind": "mixed", "parts": [[w, describe_law(part)] for w, part in law.parts]}
        case GaussianLaw():
            return {"kind": "gaussian"} | ({"square": str(law.square)} if law.square else {"mu": law.mu})
        case MixtureLaw(pair=pair) if pair.monotone:
            numbers = {"means": pair.at, "p": pair.p_weights, "q": pair.q_weights}  # in units of sigma
            return {"kind": "gaussian mixtures"} | {k: list(map(str, each)) for k, each in numbers.items()}
        case MixtureLaw():
            raise NoClosedForm(f"the likelihood ratio of these mixtures is not monotone; {_REMEDY}")
        case LaplaceLaw() if not isinstance(law, BoundedRangeLaw):
            return {"kind": "laplace", "epsilon": law.epsilon}
        case BinomialLaw(n=1):
            return {"kind": "response", "epsilon": law.epsilon}
        case DiscreteGaussianLaw():
            return {"kind": "discrete gaussian", "sigma": law.sigma, "shift": law.shift}
        case AtomicLaw(loss=loss, log_p=log_p) if law.lost <= LOST and law.outside != EVERYWHERE:
            if len(loss) > (most := 2**14):  # about half a megabyte of JSON
                text = f"{len(loss)} atoms are more than a certificate writes out ({most})"
                raise NoClosedForm(f"{text}; certify fewer at a time")
            if law.fractions and (masses := law.fractions()) is not None:
                return {"kind": "masses"} | {k: list(map(str, v)) for k, v in zip("pq", masses, strict=True)}
            ends = {name: getattr(law, name) for name in ("mass_at_minus_infinity", "mass_at_plus_infinity")}
            return {"kind": "atoms", "loss": loss.tolist(), "log_p": log_p.tolist(), **ends}
    raise NoClosedForm(f"a law of type {type(law).__name__} has no description by parameters; {_REMEDY}")


def _widen(curve: TradeOff, claim: Certificate, effort: int) -> Certificate:
    """Return the claim, widened until the verifier proves it with this effort; ``VerificationError`` if not.

    Bounds on delta and beta are widened to the verifier's enclosure. Bounds on epsilon at delta become those
    at delta (1 + share) and delta/(1 + share), as the verifier encloses delta with an error of such a share.
    """
    share = _ULPS
    for _ in range(6):
        checks = examine(claim, effort)
        for check in checks:
            slack = 1e-9 * max(abs(check.lower), abs(check.upper))  # a contradiction, not rounding
            if replace(check, recorded=check.recorded + (slack if check.side == "<=" else -slack)).refuted:
                message = f"the engines and the verifier disagree: {check}; report it"
                raise VerificationError(message, "engine")
        if all(check.proved for check in checks):
            return claim
        low, high = min(claim.lower, checks[0].lower), max(claim.upper, checks[-1].upper)
        if claim.question == "epsilon":
            low, high, proved = claim.lower, claim.upper, {check.side for check in checks if check.proved}
            share = 4 * max(share, *((check.upper - check.lower) / claim.at for check in checks))
            room = _ULPS * (1 + abs(high))
            if ">" not in proved:
                low = float(curve.bounds.epsilon(min(claim.at * (1 + share), 1.0)).lower) - room
            if "<=" not in proved:
                high = float(curve.bounds.epsilon(claim.at / (1 + share)).upper) + room
            if math.isinf(high):
                break
        claim = replace(claim, lower=low, upper=high)
    raise VerificationError("claim: it is not proved with this effort", "claim")


def _choose_losses(curve: TradeOff, claim: Certificate, effort: int) -> tuple[float, ...]:
    """Return five losses about the x where 1 - delta(x) - e^x alpha has its supremum, beta.

    The engines estimate x; where x < 0, 1 - delta(x) is e^x (1 - delta(-x)) of the inverse. The spacing of
    the losses is the one of which the verifier's enclosure of beta is the narrowest.
    """
    inverse, profile, alpha = curve.inverse(), Profile(claim, min(effort, 1)), claim.at

    def negative(x: float) -> float:
        """Return about e^x alpha - 1 + delta(x), to be minimised."""
        if x < 0:
            return math.exp(x) * (alpha - 1 + float(inverse.delta(-x)))
        # e^x alone may overflow; and past 700 the value is far from the least one.
        return math.exp(min(x + math.log(alpha), 700.0)) - 1 + float(curve.delta(x))

    # beta <= e^x <= 1/alpha at the supremum, as f is convex and falls.
    ends = math.log(max(claim.lower, 1e-300)) - 1, 1 - math.log(alpha)
    x = float(minimize_scalar(negative, bounds=ends, method="bounded", options={"xatol": 1e-6}).x)
    x = min([x, *profile.kinks(x)], key=negative)
    spacings = (1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
    candidates = [tuple(x + k * spacing for k in (-2, -1, 0, 1, 2)) for spacing in spacings]
    return min(candidates, key=lambda losses: float(profile.beta(alpha, losses).rad()))


def width(certificate: Certificate) -> float:
    """Return the width of the bounds: absolute for epsilon, else relative to the upper bound."""
    difference = certificate.upper - certificate.lower
    relative = certificate.question != "epsilon" and certificate.upper > 0
    return difference / certificate.upper if relative else difference
