"""Answers with their proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from tradeoff.certificates.certificate import Certificate, Claim, Description, Question
from tradeoff.certificates.conclusion import FLINT, concluded
from tradeoff.certificates.issue.parts import Parts, parts_of
from tradeoff.certificates.issue.reduction import capped, reduced
from tradeoff.certificates.issue.source import BANDS, Adding, Formulas, Lattices, Limit, Lines, Source
from tradeoff.certificates.rules import ruled
from tradeoff.composition.contour.engine import ContourEngine
from tradeoff.composition.lattice.engine import LatticeEngine
from tradeoff.composition.planner import Composition
from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import number
from tradeoff.curves.tensor import Tensor, law_pair
from tradeoff.errors import DomainError, KindError, NoClosedForm, PrecisionError, SymbolError, needed, shown
from tradeoff.intervals.rounding import UNIT
from tradeoff.loss.law import LossLaw

# Widths with which a certificate without tolerance is content: what any one line or lattice reaches.
_USUAL = {"delta": 1e-4, "epsilon": 1e-4, "beta": 1e-3, "mu": 1e-3}

_SHARE = 8  # parts are asked for this share of the width of the whole, which several of them add to

# The ways to prove an answer, in the order they are tried; bands only where they are asked for.
METHODS = ("closed-form", "exact", "contour", "lattice", *BANDS)

_UNMEASURED = {"gumbel", "gennorm"}  # shifted densities of whose losses the verifier proves no moments

T = TypeVar("T")
Ends = tuple[float, float]

# What laws of atoms are written as, by themselves and changed.
_OF_ATOMS = {"atoms", "masses", "thinned", "reversed", "mixed"}


def certify(
    curve: TradeOff,
    question: Question,
    value: float | TradeOff,
    *,
    tol: float | None = None,
    method: str | None = None,
) -> Certificate:
    """Bounds on one answer with their proof: the claims that ``verify`` proves again.

    Parameters
    ----------
    curve
        A family, a thinned, reversed or mixed family, a product of these; and what ``symmetrise`` (either or
        both orders), ``maximum``, ``minimum``, ``mixture``, ``group`` and ``subsample`` make of any of them.
    question
        ``"delta"``, ``"epsilon"``, ``"beta"``, ``"mu"``, the least with f >= G_mu (x) f_{0,failure}, or
        ``"shortfall"``, the least kappa with f(alpha) >= g(alpha + kappa) - kappa: f >= g iff it is 0.
    value
        The epsilon (nats, finite), the delta, the alpha, the failure in (0, 1), or the curve g.
    tol
        Width the bounds must reach, as in ``curve.bounds``: relative for delta and mu, absolute for epsilon
        and shortfall, for beta relative to min(beta, 1 - alpha - beta).
    method
        ``"closed-form"``, ``"exact"``, ``"contour"`` or ``"lattice"``; default: the first that is
        narrow enough. ``"berry-esseen"`` is the band of ``limits.berry_esseen``.

    Returns
    -------
    Certificate
        Data only: factors by their parameters, claims, and the bounds that follow from them.

    Raises
    ------
    DomainError
        If the question is none of the five, or the value is outside its domain.
    NoClosedForm
        If a factor cannot be described by parameters, or the forced method does not apply.
    PrecisionError
        If ``tol`` cannot be reached; ``reachable`` is the width that can.

    Examples
    --------
    >>> import tradeoff as to
    >>> certificate = to.certify(to.subsample(to.Gaussian(1), 0.01) ** 1000, "epsilon", 1e-5)
    >>> certificate.method, round(certificate.upper, 8)
    ('contour', 1.82823667)
    >>> to.certify(to.Gaussian(1), "shortfall", to.approximate_dp(1, 0.2)).upper  # Gaussian(1) >= that
    0.0
    """
    if question == "shortfall":
        needed("flint", FLINT)
        from tradeoff.certificates.issue.shortfall import shortfall

        goal = operand(value)
        for each in (curve, goal):
            _checked(each, question, 0.0, tol, method)
        best = shortfall(curve, goal, tol, method)
    else:
        at = _checked(curve, question, value, tol, method)
        best = _Issuer(tol, method).best(curve, question, at, _USUAL[question] if tol is None else tol)
    if tol is not None and _width(best) > tol:
        raise PrecisionError(f"tol = {tol:g} not reached; reachable here: {_width(best):.3g}", _width(best))
    return best


@dataclass(frozen=True)
class _Issuer:
    """What was asked for, and what is certified already: parts are asked more than once."""

    tol: float | None
    method: str | None
    known: dict[tuple[TradeOff, Question, float], Certificate] = field(default_factory=dict)

    def best(self, curve: TradeOff, question: Question, value: float, goal: float) -> Certificate:
        """Return the first certificate that is narrow enough, or the narrowest."""
        asked = curve, question, value
        if asked not in self.known:
            if not _described(curve) and (parts := parts_of(curve)) is not None:
                self.known[asked] = self._of_parts(parts, question, value)
            else:
                self.known[asked] = self._of_laws(curve, question, value, goal)
        return self.known[asked]

    def _of_parts(self, parts: Parts, question: Question, value: float) -> Certificate:
        found: list[Certificate] = []

        def ask(curve: TradeOff, what: Question, at: float) -> Certificate:
            usual = _USUAL[what]  # or a little closer than the whole
            made = self.best(curve, what, at, min(usual, self.tol or usual) / _SHARE)
            found.extend([] if made in found else [made])
            return made

        parts.ask = ask
        parts.asked(question, value)
        rule = about_of(parts.curve)
        ends, used = _lean(found, lambda some: ruled(question, value, rule, some))
        return Certificate(
            repr(parts.curve), question, value, *ends, "parts", (), (), rule=rule, parts=tuple(used)
        ).sealed()

    def _of_laws(self, curve: TradeOff, question: Question, value: float, goal: float) -> Certificate:
        about, best = about_of(curve), None
        orders = [curve] if curve.symmetric or question != "mu" else [curve, curve.inverse()]
        for sources in zip(*(sources_of(each, self.tol, goal, self.method) for each in orders), strict=False):
            source, ends = sources[0], [each.sup_loss for each in orders]
            try:
                if question == "mu":
                    claims = reduced(sources, ends, value, goal)
                else:
                    claims = source.claims(question, value, goal)
                    if question == "epsilon" and curve.q_plus == 0:
                        claims = capped(claims, value, ends[0])
            except PrecisionError:
                if self.method is not None:
                    raise
                continue
            made = _concluded(curve, question, value, source.method, about, claims)
            best = made if best is None or _width(made) < _width(best) else best
            if _width(best) <= goal:
                return best
        if best is None:
            how = f"with method = {self.method!r}; leave method out"
            remedy = "ask its bounds instead" if self.method is None else how
            raise NoClosedForm(f"no engine certifies {question} of {shown(curve)}; {remedy}")
        return best


def about_of(curve: TradeOff) -> Description:
    """Describe what is certified of a curve: laws, or an operator on what is described."""
    parts = None if _described(curve) else parts_of(curve)
    if parts is None:
        return {"kind": "product", "of": [law.described(n) for law, n in zip(*_factors(curve), strict=True)]}
    return {"kind": parts.kind, "of": [about_of(f) for f in parts.operands], **parts.parameters}


def _checked(curve: TradeOff, question: str, value: object, tol: float | None, method: str | None) -> float:
    if not isinstance(curve, TradeOff):
        raise KindError(
            f"{shown(curve)} is not a trade-off function; use the .guarantee() of a mechanism or a plan"
        )
    if curve.free_symbols:
        raise SymbolError(f"{curve!r} has free symbols; substitute numbers first, with .subs({{...}})")
    if curve.assumptions:
        raise NoClosedForm(
            f"{curve!r} rests on what no certificate proves: {'; '.join(curve.assumptions)}; "
            "ask its bounds instead"
        )
    if question not in get_args(Question):
        raise DomainError(f"question = {question!r} is none of {', '.join(get_args(Question))}")
    if method is not None and method not in METHODS:
        raise DomainError(f"method = {method!r} is none of {', '.join(METHODS)}")
    if tol is not None:
        number("tol", tol, 0.0, open_low=True, open_high=True)
    low, high = (0.0, 1.0) if question in {"epsilon", "beta", "mu"} else (-math.inf, math.inf)
    asked = number("value", value, low, high, open_low=True, open_high=True)
    infinite = {
        "epsilon": (curve.q_plus, "infinite or the supremum of L"),
        "mu": (max(curve.q_plus, curve.p_minus), "infinite, or that of the curve without it"),
    }
    leak, said = infinite.get(question, (0.0, ""))
    if leak > 0 and asked <= leak * (1 + 8 * UNIT):
        raise DomainError(f"{asked!r} is not above {leak!r}, the mass at infinity: {question} is {said}")
    return asked


def _factors(curve: TradeOff) -> tuple[list[LossLaw], list[int]]:
    """Return laws with multiplicities; only factors with an exact law."""
    factors = curve.factors if isinstance(curve, Tensor) else {curve: 1}
    found = [law_pair(factor, n) for factor, n in factors.items()]
    if any(low is not high for low, high, _ in found):
        raise NoClosedForm(
            f"{curve!r} has a factor without a law of its own; certify curve.lower and curve.upper instead"
        )
    return [low for low, _, _ in found], [n for _, _, n in found]


def _described(curve: TradeOff) -> bool:
    """Whether a curve is a product of laws that have descriptions."""
    if isinstance(curve, Tensor):
        return all(map(_described, curve.factors))
    if (parts := parts_of(curve)) is not None:  # whole curves, which have laws, are not asked for
        return parts.changes_laws and all(_described(f) and not isinstance(f, Tensor) for f in parts.operands)
    try:
        law, _, _ = law_pair(curve, 1)
        return bool(law.described(1))
    except NoClosedForm:
        return False


def sources_of(curve: TradeOff, tol: float | None, goal: float, method: str | None) -> Iterator[Source]:
    """Yield the ways to prove an answer, in the order of the planner."""
    laws, counts = _factors(curve)
    composition = Composition(laws, list(counts), symmetric=curve.symmetric)
    # Masses that are written rounded are summed as they are written, not as the curve knows them.
    single = len(laws) == 1 and counts[0] == 1 and not _rounded(laws[0].description())
    if method in {None, "closed-form"} and single and not isinstance(curve, Tensor):
        yield Formulas("closed-form", composition, curve.bounds, curve.bounds, curve.sup_loss)
        return
    if method in BANDS:
        if not _UNMEASURED & {each for law in laws for each in _kinds(law.description(), "density")}:
            yield Limit(curve, composition, method)
        return
    if method == "closed-form":
        return
    for engine, _ in composition.choices(method):  # type: ignore[arg-type]  # one of three, or none
        if isinstance(engine, ContourEngine):
            yield Lines(composition, tol)
        elif isinstance(engine, LatticeEngine):
            yield Lattices(composition, tol, goal)
        elif composition.sums is not None:
            written = [n for law, n in zip(laws, counts, strict=True) if "atoms" in _kinds(law.description())]
            yield Adding(composition.sums, sum(written))


def _rounded(description: Any) -> bool:
    """Whether a law is of listed atoms, some of them in floats, and of nothing else."""
    kinds = set(_kinds(description))
    return "atoms" in kinds and kinds <= _OF_ATOMS


def _kinds(description: Any, name: str = "kind") -> Iterator[str]:
    if isinstance(description, dict) and name in description:
        yield description[name]
    for each in description.values() if isinstance(description, dict) else description:
        if isinstance(each, dict | list | tuple):
            yield from _kinds(each, name)


def _concluded(
    curve: TradeOff, question: Question, value: float, method: str, about: Description, claims: list[Claim]
) -> Certificate:
    """Return the certificate, without claims that its bounds do not need; those about mu are few."""
    if question == "mu":
        ends, used = concluded(question, value, claims), claims
    else:
        ends, used = _lean(claims, lambda some: concluded(question, value, some))
    factors = tuple(about["of"])
    return Certificate(repr(curve), question, value, *ends, method, factors, tuple(used)).sealed()


def _lean(found: list[T], implied: Callable[[list[T]], Ends]) -> tuple[Ends, list[T]]:
    """Return what is implied, and what that needs: the first that can be left out are."""
    ends, used = implied(found), found
    for one in found:
        others = [each for each in used if each is not one]
        used = others if implied(others) == ends else used
    return ends, used


def _width(certificate: Certificate) -> float:
    """Return the width of the bounds in the unit of the question."""
    low, high, value = certificate.lower, certificate.upper, certificate.value
    if low == high:
        return 0.0
    if certificate.question in {"epsilon", "shortfall"}:
        return high - low
    scale = high if certificate.question in {"delta", "mu"} else min(high, max(1 - value - low, 0.0))
    return (high - low) / scale if scale > 0 else high - low
