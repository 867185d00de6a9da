"""Questions to a curve: checked at the door, answered from both sides, refused where too wide."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np

from tradeoff.accounting.options import (
    MEMORY,
    METHODS,
    Explanation,
    Method,
    Progress,
    QueryOptions,
    Question,
    collect_steps,
    query_context,
    query_options,
)
from tradeoff.curves.attached import BoundsMethods
from tradeoff.curves.parameters import Number, Numbers, count, is_symbol, number, reals, workers
from tradeoff.errors import DomainError, NoClosedForm, PrecisionError, domain, shown
from tradeoff.intervals.bounds import Bounds, Pair, decimal, make_bounds
from tradeoff.intervals.functions import clip, log, log1p, minimum
from tradeoff.intervals.rounding import TINY, Array

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff

MEGABYTE = 2**20  # bytes below which no engine can work
_NORMAL = 2.0**-1022  # the least float with all its digits
Axis = Literal["alpha", "epsilon", "delta"]  # what a question is asked at

# What is answered, by what it is asked at.
_ANSWERS: dict[Axis, Question] = {"alpha": "beta", "epsilon": "delta", "delta": "epsilon"}

# Where a question may be asked.
_SPANS: dict[Axis, tuple[float, float]] = {"alpha": (0, 1), "epsilon": (-np.inf, np.inf), "delta": (0, 1)}


class QueryKwargs(TypedDict, total=False):
    """How a question is to be answered.

    ``method`` forces one engine ("closed-form", "exact", "lattice" or "contour"); ``memory`` is the most
    working memory in bytes, 1 GiB unless said; ``progress`` is called with (entries settled, entries asked);
    ``n_jobs`` shares the factors of a product with very many distinct ones through joblib (None: as joblib is
    configured).
    """

    method: Method
    memory: int
    progress: Progress
    n_jobs: int | None


class BoundsView(BoundsMethods):
    """Questions to a curve with both sides of the answer.

    Each takes ``tol``, the width its bounds must reach (absolute for epsilon, relative for delta, and for
    beta relative to min(beta, 1 - alpha - beta)), and the keywords of ``QueryKwargs``. Without ``tol`` the
    answer is as good as a second or so allows. A curve with exact vertices answers a ``Fraction`` by a
    ``Fraction``, which is both bounds; a symbol is answered by a formula.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 100
    >>> f.bounds.epsilon(1e-5, tol=1e-7).width < 1e-7
    True
    >>> both = [to.Gaussian(1).bounds.delta(1.0, method=method) for method in ("lattice", "contour")]
    >>> all(to.Gaussian(1).delta(1.0) in bounds for bounds in both)
    True
    """

    __slots__ = ("_curve",)

    def __init__(self, curve: TradeOff) -> None:
        self._curve = curve

    def __repr__(self) -> str:
        return f"bounds of {self._curve!r}"

    @overload
    def __call__(
        self, alpha: Number, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds[float]: ...
    @overload
    def __call__(
        self, alpha: Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds[Array]: ...
    def __call__(
        self, alpha: Number | Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds:
        """Bound f(alpha)."""
        return answer_query(self._curve, "alpha", alpha, tol, how)

    @overload
    def delta(
        self, epsilon: Number, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds[float]: ...
    @overload
    def delta(
        self, epsilon: Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds[Array]: ...
    def delta(
        self, epsilon: Number | Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds:
        """Bound delta(epsilon), a probability, epsilon in nats and of any sign and shape."""
        return answer_query(self._curve, "epsilon", epsilon, tol, how)

    @overload
    def epsilon(
        self, delta: Number, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds[float]: ...
    @overload
    def epsilon(
        self, delta: Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds[Array]: ...
    def epsilon(
        self, delta: Number | Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> Bounds:
        """Bound epsilon(delta), in nats, delta in [0, 1] and of any shape."""
        return answer_query(self._curve, "delta", delta, tol, how)

    @overload
    def bayes_risk(self, prior: Number, *, tol: float | None = None) -> Bounds[float]: ...
    @overload
    def bayes_risk(self, prior: Numbers, *, tol: float | None = None) -> Bounds[Array]: ...
    def bayes_risk(self, prior: Number | Numbers, *, tol: float | None = None) -> Bounds:
        """Bound min over alpha of prior alpha + (1 - prior) f(alpha); ``tol`` is that of its delta.

        It is (1 - prior)(1 - delta(log(prior/(1 - prior)))), as sup 1 - f - s alpha = delta(log s) (Dong,
        Roth, Su 2022, Proposition 2.12), and below 1/2 the same of f^-1, where no 1 - delta cancels.
        """
        if is_symbol(prior):
            formula = self._curve.formula_at("bayes risk", prior)
            return Bounds(formula, formula)
        p = reals("prior", prior)
        if not np.all((p >= 0) & (p <= 1)):
            raise domain("prior", prior, "[0, 1]", "give the probability of the null hypothesis")
        return self._risk(p, tol)

    def _risk(self, p: Array, tol: float | None) -> Bounds:
        less = np.minimum(p, 1 - p)  # to the last bit
        odds = log1p(-less) - log(less)
        low, high = np.zeros(p.shape), np.zeros(p.shape)
        for curve, chosen in ((self._curve, p >= 0.5), (self._curve.inverse(), p < 0.5)):
            if chosen.any():
                ends = [np.asarray(end)[chosen] for end in odds]
                later, sooner = (curve.bounds.delta(end, tol=tol) for end in ends[::-1])
                delta = Bounds(later.lower, sooner.upper)
                # To decide by the prior alone errs as often as the lesser.
                risk = minimum((1 - delta) * less[chosen], less[chosen])
                low[chosen], high[chosen] = clip(risk, 0.0, 1.0)
        return make_bounds(low, high)


def answer_query(
    curve: TradeOff, name: Axis, value: Number | Numbers, tol: float | None, how: QueryKwargs
) -> Bounds[float] | Bounds[Array]:
    """Bound beta at an alpha, delta at an epsilon, or epsilon at a delta, whichever ``name`` is given."""
    if is_symbol(value):
        formula = curve.formula_at(_ANSWERS[name], value)
        return Bounds(formula, formula)
    limits, method = _limits(how) if how else query_options(), how.get("method")
    curve.require_numbers()
    tol = None if tol is None else number("tol", tol, 0, open_low=True)
    array = reals(name, value)
    flat, (first, last) = array.ravel(), _SPANS[name]
    wrong = np.flatnonzero(~((flat >= first) & (flat <= last)))
    if len(wrong):
        place = f"{name}[{wrong[0]}]" if array.ndim else name
        raise domain(place, float(flat[wrong[0]]), f"[{first:g}, {last:g}]")
    if method is not None:
        curve = _seen_by(method, curve)
    fraction: Any = _exactly(curve, name, value) if method is None else None
    if fraction is not None:
        return Bounds(fraction, fraction)
    with query_context(limits):
        lower, upper = _CERTIFIED[name](curve, flat, tol)
    if array.ndim == 0:
        return Bounds(float(lower[0]), float(upper[0]))
    return Bounds(*(_labelled(side.reshape(array.shape), value, _ANSWERS[name]) for side in (lower, upper)))


def _limits(how: QueryKwargs) -> QueryOptions:
    """Return the limits asked for, checked; a question inside another inherits the rest."""
    if unknown := how.keys() - QueryKwargs.__annotations__.keys():
        allowed = ", ".join(QueryKwargs.__annotations__)
        raise TypeError(f"{min(unknown)!r} is no keyword of a question; these are {allowed}")
    asked: dict[str, Any] = {"jobs" if name == "n_jobs" else name: value for name, value in how.items()}
    method, progress, jobs = (asked.get(name) for name in ("method", "progress", "jobs"))
    if not (method is None or (isinstance(method, str) and method in METHODS)):
        raise DomainError(f"method must be one of {', '.join(METHODS)}, got {shown(method)}")
    if asked.pop("memory", None) is not None:
        asked["memory"] = count("memory", how["memory"], 1)
        if asked["memory"] < MEGABYTE:
            raise DomainError(
                f"memory = {asked['memory']} is below one MiB, {MEGABYTE} bytes; the usual is {MEMORY}"
            )
    if not (progress is None or callable(progress)):
        raise DomainError(
            f"progress = {shown(progress)} cannot be called; give a function of (settled, asked)"
        )
    if jobs is not None:
        asked["jobs"] = workers("n_jobs", jobs)
    return replace(query_options(), **asked)


def _seen_by(method: Method, curve: TradeOff) -> TradeOff:
    """Return the curve as the forced engine sees it, where it would answer by a closed form."""
    if method == "closed-form" and curve.composed:
        raise NoClosedForm(f"{curve!r} has no closed form; leave method out, or force one of the engines")
    if method == "closed-form" or curve.composed:
        return curve
    from tradeoff.curves.product import Tensor

    return Tensor({curve: 1})


def _exactly(curve: TradeOff, name: Axis, value: object) -> Fraction | None:
    """Return the answer to a fraction where it is one."""
    first, last = _SPANS[name]
    if not (isinstance(value, Fraction) and first <= value <= last):
        return None
    if name == "alpha":
        return curve.exact_beta(value)
    return curve.exact_delta(value) if name == "epsilon" else None


def _labelled(answer: Array, asked: Any, name: str) -> Any:
    """Return the answer to a Series or a DataFrame with its labels; pandas is not imported to find out."""
    pandas = sys.modules.get("pandas")
    if type(asked) is np.ndarray or pandas is None:
        return answer
    if isinstance(asked, pandas.Series):
        return pandas.Series(answer, asked.index, name=name)
    if isinstance(asked, pandas.DataFrame):
        return pandas.DataFrame(answer, asked.index, asked.columns)
    return answer


def certified_beta(curve: TradeOff, alpha: Array, tol: float | None, *, refuse: bool = True) -> Pair:
    """Bound f(alpha) by the hook of the curve and what holds of every curve; refuse what is wider, or not."""
    lower, upper = curve.beta_bounds(alpha, tol)
    upper = np.minimum(upper, (1 - Bounds.of(alpha)).upper)
    lower, upper = np.clip(lower, 0.0, upper), np.clip(upper, 0.0, 1.0)
    first, last = alpha == 0, alpha == 1
    least, most = clip(1 - curve.mass_at_infinity, 0.0, 1.0)
    upper = np.where(first, np.minimum(upper, most), upper)
    lower = np.minimum(np.where(first, np.maximum(lower, least), lower), upper)
    lower, upper = np.where(last, 0.0, lower), np.where(last, 0.0, upper)
    # The ends are known as well as floats say 1 - q, whatever is asked of them.
    scale = np.where(first | last, np.inf, np.minimum(upper, np.maximum(1 - alpha - lower, 0.0)))
    return _reached("alpha", alpha, lower, upper, tol if refuse else None, scale)


def certified_delta(curve: TradeOff, epsilon: Array, tol: float | None, *, refuse: bool = True) -> Pair:
    """Bound delta(epsilon) by the hook of the curve and what holds of every curve."""
    lower, upper = np.ones(len(epsilon)), np.ones(len(epsilon))
    top = epsilon == np.inf
    lower[top], upper[top] = clip(curve.mass_at_infinity, 0.0, 1.0)
    finite = np.isfinite(epsilon)
    if finite.any():
        low, high = curve.delta_bounds(epsilon[finite], tol)
        lower[finite], upper[finite] = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    # Nothing is left only where no loss is larger, however little it is.
    if (nothing := upper == 0).any():
        upper[nothing & (epsilon < curve.sup_loss)] = TINY
    # Below the normal floats no bound is narrow beside itself.
    scale = np.where(upper < _NORMAL, np.inf, upper)
    return _reached("epsilon", epsilon, lower, upper, tol if refuse else None, scale)


def certified_epsilon(curve: TradeOff, delta: Array, tol: float | None, *, refuse: bool = True) -> Pair:
    """Bound the least epsilon: infinite below Q(L = inf), sup L there, unknown where floats cannot tell."""
    leak, top = curve.mass_at_infinity, curve.sup_loss
    lower, upper = np.full(len(delta), -np.inf), np.full(len(delta), -np.inf)
    outside = (delta <= leak.upper) & (delta < 1)
    if outside.any():
        least = curve.sup_loss_lower if leak.width == 0 else -np.inf
        lower[outside] = np.where(delta[outside] < leak.lower, np.inf, least)
        upper[outside] = np.where(delta[outside] >= leak.upper, top, np.inf)
    inner = ~outside & (delta < 1)
    if inner.any():
        lower[inner], upper[inner] = curve.epsilon_bounds(delta[inner], tol)
        upper[inner] = np.minimum(upper[inner], top)
        unknown = np.flatnonzero(inner & np.isposinf(upper))
        if len(unknown):
            listed = ", ".join(f"{delta[i]:.3g}" for i in unknown[:5])
            raise PrecisionError(
                f"no finite epsilon can be certified at delta = {listed}; ask a larger delta", np.inf
            )
    return _reached("delta", delta, lower, upper, tol if refuse else None, np.ones(len(delta)))


def _reached(name: str, at: Array, lower: Array, upper: Array, tol: float | None, scale: Array) -> Pair:
    """Return the bounds, or raise if some entry is wider than ``tol``."""
    if tol is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            width = np.where(lower == upper, 0.0, (upper - lower) / np.where(scale > 0, scale, 1.0))
        wide = np.flatnonzero(width > tol)
        if len(wide):
            worst = float(np.max(width))
            reachable = decimal(worst, ".3g", up=True)
            raise PrecisionError(
                f"tol = {tol:g} not reached at {name} = {at[wide[:5]].tolist()}; reachable here: {reachable}",
                worst,
            )
    return lower, upper


# How each question is answered.
_CERTIFIED: dict[Axis, Callable[[TradeOff, Array, float | None], Pair]] = {
    "alpha": certified_beta,
    "epsilon": certified_delta,
    "delta": certified_epsilon,
}


def explain_query(
    curve: TradeOff, given: Mapping[Axis, float | None], tol: float | None, how: QueryKwargs
) -> Explanation:
    """Ask the one question that is given, and return who answered it."""
    asked = [(name, value) for name, value in given.items() if value is not None]
    if len(asked) != 1:
        listed = ", ".join(name for name, _ in asked) or "nothing"
        raise DomainError(f"explain was given {listed}; give one of epsilon, delta, alpha")
    ((name, value),) = asked
    with collect_steps() as steps:
        bounds = answer_query(curve, name, value, tol, how)
    return Explanation(f"{_ANSWERS[name]} at {name} = {value!r}", bounds, tuple(steps), curve.caveats)
