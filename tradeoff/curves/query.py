"""Questions to a curve: checked once, answered from both sides, refused where the bounds are too wide.

The kind of a question is that of its answer: beta at alpha, delta at epsilon, or epsilon at delta. ``tol`` is
the width wanted, as ``measure`` takes it for the kind. A family computes hooks, such as ``delta_bounds``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, Unpack, overload

import numpy as np

from tradeoff._attached import BoundsMethods
from tradeoff.accounting import options
from tradeoff.accounting.options import Explanation, Method, Question, measure, query_options, set_context
from tradeoff.curves import parameters
from tradeoff.curves.hooks import PAIR
from tradeoff.curves.parameters import Number, Numbers, is_symbol, number, reals_between, shaped
from tradeoff.display import rounded
from tradeoff.errors import DomainError, NoClosedForm, PrecisionError, domain
from tradeoff.intervals.bounds import Array, Bounds, Pair, decimal, make_bounds
from tradeoff.intervals.functions import clip, exp, expm1, log, log1p, minimum, rational
from tradeoff.intervals.roots import bracket_sides

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff


Value = TypeVar("Value")

Tol: TypeAlias = float | None  # the width bounds must reach; None for what a second or so allows


class QueryKwargs(TypedDict, total=False):
    """Keywords of a question.

    ``method`` forces one engine ("closed-form", "exact", "lattice" or "contour"); ``memory`` is the most
    working memory in bytes, by default 1 GiB; ``progress`` is called with entries (settled, total);
    ``n_jobs`` shares the factors of a product with very many distinct ones through joblib (None: as joblib is
    configured).
    """

    method: Method
    memory: int
    progress: options.Progress
    n_jobs: int | None


# The argument of each question: its name, its range, and a remedy where it is outside.
_ARGUMENTS: dict[Question, tuple[str, float, float, str]] = {
    "beta": ("alpha", 0, 1, ""),
    "delta": ("epsilon", -np.inf, np.inf, ""),
    "epsilon": ("delta", 0, 1, "epsilon(delta) takes a probability, delta(epsilon) a loss"),
}


def answer_query(
    curve: TradeOff, kind: Question, value: Any, tol: float | None, how: QueryKwargs
) -> Bounds[float] | Bounds[Array]:
    """Check a question, and bound its answer in the shape and with the labels of its argument."""
    name, least, most, remedy = _ARGUMENTS[kind]
    if getattr(value, "free_symbols", ()):
        formula = curve.formula_at(name, value)
        return Bounds(formula, formula)
    if how:
        changed = _checked_options(how)
        if changed.method is not None and query_options().method is None:  # questions inside inherit it
            curve = _forced_curve(curve, changed.method)
        with set_context(options.OPTIONS, changed):
            return answer_query(curve, kind, value, tol, {})
    tol = None if tol is None else number("tol", tol, 0, open_low=True)
    argument = reals_between(name, value, least, most, remedy)
    if curve.free_symbols:
        curve.require_numbers()
    at = argument.ravel()
    if isinstance(value, Fraction):
        if (exact := curve.exact_answer(kind, value)) is not None:
            return Bounds(exact, exact)
        at = np.array(tuple(rational(value))[::-1])  # answers fall: the float above gives the lower side
    answer = {"beta": certified_beta, "delta": certified_delta, "epsilon": certified_epsilon}[kind]
    lower, upper, n = np.empty_like(at), np.empty_like(at), len(at)
    # Closed forms take 8,192 entries at a time, for whose temporaries malloc maps no new pages; engines take
    # all at once, for which they plan.
    blocks = 1 if curve.composed else n // 2**13 + 1
    for k in range(blocks):
        i, j = n * k // blocks, n * (k + 1) // blocks
        lower[i:j], upper[i:j] = answer(curve, at[i:j].copy(), tol)
    _require_bounds(kind, at, lower, upper, tol)
    if argument.ndim == 0:
        return Bounds(float(lower[0]), float(upper[-1]))
    return Bounds(*(_labelled(side.reshape(argument.shape), value, kind) for side in (lower, upper)))


def _labelled(side: Array, value: Any, kind: Question) -> Any:
    """Return answers with the labels of a pandas argument, and of another one as they are."""
    pandas = sys.modules.get("pandas")  # labels need it, and it is slow to import
    if pandas is not None and isinstance(value, pandas.Series):
        return pandas.Series(side, value.index, name=kind)
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return pandas.DataFrame(side, value.index, value.columns)
    return side


def _checked_options(how: QueryKwargs) -> options.QueryOptions:
    """Return the options of this context, changed by the keywords of a question."""
    if unknown := how.keys() - QueryKwargs.__annotations__.keys():
        allowed = f"{', '.join(QueryKwargs.__annotations__)}, tol, and in explain() epsilon, delta or alpha"
        raise TypeError(f"unknown keyword {min(unknown)!r}; a question takes {allowed}")
    changes: dict[str, Any] = {}
    if (method := how.get("method")) is not None:
        changes["method"] = parameters.choice("method", method, options.METHODS)
    if how.get("memory") is not None:
        memory = changes["memory"] = parameters.count("memory", how["memory"], 1)
        if memory < 2**20:  # no engine can work
            remedy = f"the default is {options.MEMORY}"
            raise domain("memory", memory, f"at least {2**20} bytes (1 MiB)", remedy)
    if (progress := how.get("progress")) is not None:
        if not callable(progress):
            raise domain("progress", progress, "a function of (settled, total)")
        changes["progress"] = progress
    if "n_jobs" in how:
        changes["jobs"] = parameters.workers("n_jobs", how["n_jobs"])
    return replace(query_options(), **changes)


def _forced_curve(curve: TradeOff, method: Method) -> TradeOff:
    """Return the curve, or a product of it alone, which engines answer instead of its closed form."""
    if method == "closed-form" and curve.composed:
        raise NoClosedForm(f"{curve!r} has no closed form; leave method out, or force one of the engines")
    if method == "closed-form" or curve.composed:
        return curve
    from tradeoff.curves.product import Tensor

    return Tensor({curve: 1})


def cached_by_options(make: Callable[[Any], Value]) -> Value:
    """Return a property of curves, made once for each choice of query options; the last four are kept.

    Equal curves of one tightness (``exact`` or not) share what they first need inside a block that sets
    ``options.SHARED``.
    """

    def cached(curve: Any) -> Value:
        made, shared = vars(curve).setdefault("_caches", {}), options.SHARED.get()
        if make not in made:
            key = make, curve.tightness, curve
            made[make] = {} if shared is None else shared(key)
        values, chosen = made[make], query_options()
        # Sums shared among jobs are added in another order than by a single one.
        choices = chosen.method, chosen.memory, chosen.jobs == 1
        if (value := values.get(choices)) is None:
            value = values[choices] = make(curve)
            for oldest in list(values)[:-4]:
                values.pop(oldest, None)  # another thread may have dropped it
        result: Value = value
        return result

    # A property has the type of its value.
    return property(cached)  # type: ignore[return-value]


def explain_query(
    curve: TradeOff, at: Mapping[Question, float | None], tol: float | None, how: QueryKwargs
) -> Explanation:
    """Answer the question that has an argument, by default epsilon, and collect the engines' steps."""
    given = {kind: value for kind, value in at.items() if value is not None} or {"epsilon": 1e-5}
    if len(given) > 1:
        listed = ", ".join(_ARGUMENTS[kind][0] for kind in given)
        raise DomainError(f"explain() takes one of epsilon, delta, alpha, got {listed}")
    ((kind, value),) = given.items()
    steps: list[options.Step] = []
    with set_context(options.TRACE, steps):
        bounds = answer_query(curve, kind, value, tol, how)
    caveats = curve.caveats
    if kind == "epsilon" and np.any(np.isposinf(bounds.upper)):
        caveats = (explain_infinity(curve), *caveats)
    return Explanation(f"{kind} at {_ARGUMENTS[kind][0]} = {value!r}", bounds, tuple(steps), caveats)


def explain_infinity(curve: TradeOff) -> str:
    """Return the reason why epsilon is infinite at small delta."""
    mass = float(curve.mass_at_infinity.upper)
    if mass == 0:
        return "epsilon is infinite at delta = 0: the privacy loss has no upper bound"
    return (
        f"epsilon is infinite if delta is below the mass at infinity, at most {rounded(mass, 'upper', 6)}: "
        "the probability of outputs that are impossible under the other data set"
    )


def certified_beta(curve: TradeOff, alpha: Array, tol: float | None) -> Pair:
    """Bound f(alpha) by the hook of the curve, by 0 and 1 - alpha, and at 0 by 1 - Q(L = inf)."""
    lower, upper = curve.beta_bounds(alpha, tol)
    rest = 1 - alpha
    rest += 2.0**-53 * (1 - rest > alpha)  # rounded up: 1 - rest is exact, and only rest >= 1/2 is not
    upper = np.maximum(np.minimum(upper, rest), 0.0)  # NaN stays, and is refused
    lower = np.minimum(np.maximum(lower, 0.0), upper)
    if (first := alpha == 0).any():
        least, most = clip(1 - curve.mass_at_infinity, 0.0, 1.0)
        np.minimum(upper, most, out=upper, where=first)
        np.clip(lower, least, upper, out=lower, where=first)
    return lower, upper


def certified_delta(curve: TradeOff, epsilon: Array, tol: float | None) -> Pair:
    """Bound delta(epsilon) by the hook of the curve, in [0, 1]; at infinity it is Q(L = inf)."""
    lower, upper = np.ones(len(epsilon)), np.ones(len(epsilon))
    if (top := epsilon == np.inf).any():
        lower[top], upper[top] = clip(curve.mass_at_infinity, 0.0, 1.0)
    if (finite := np.isfinite(epsilon)).any():
        low, high = curve.delta_bounds(epsilon[finite], tol)
        lower[finite], upper[finite] = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
    # Delta is 0 only where no loss is larger; elsewhere it may be below all floats.
    if (nothing := upper == 0).any():
        upper[nothing & (epsilon < curve.sup_loss)] = np.nextafter(0.0, 1.0)
    return lower, upper


def certified_epsilon(curve: TradeOff, delta: Array, tol: float | None) -> Pair:
    """Bound epsilon(delta): infinite for delta < Q(L = inf), sup L at it, by the hook above, -inf at 1."""
    leak = curve.mass_at_infinity
    lower, upper = np.full(len(delta), -np.inf), np.full(len(delta), -np.inf)
    outside = (delta <= leak.upper) & (delta < 1)
    if outside.any():
        least = curve.loss_bounds.lower if leak.width == 0 else -np.inf
        lower[outside] = np.where(delta[outside] < leak.lower, np.inf, least)
        upper[outside] = np.where(delta[outside] >= leak.upper, curve.loss_bounds.upper, np.inf)
    inner = ~outside & (delta < 1)
    if inner.any():
        lower[inner], upper[inner] = curve.epsilon_bounds(delta[inner], tol)
        upper[inner] = np.minimum(upper[inner], curve.loss_bounds.upper)
        unknown = np.flatnonzero(inner & np.isposinf(upper))
        if len(unknown):
            listed = ", ".join(f"{delta[i]:.3g}" for i in unknown[:5])
            remedy = "use a larger delta or more noise"
            raise PrecisionError(f"no finite epsilon can be certified at delta = {listed}; {remedy}", np.inf)
    return lower, upper


def _require_bounds(kind: Question, at: Array, lower: Array, upper: Array, tol: float | None) -> None:
    """Raise ``PrecisionError`` if some bounds are missing, or wider than ``tol``."""
    if not (known := lower <= upper).all():  # NaN too, which must not pass for a small loss
        where = f"{_ARGUMENTS[kind][0]} = {at[~known][:5].tolist()}"
        raise PrecisionError(f"there are no bounds at {where}; please report this", np.inf)
    if tol is None:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        width = measure(kind, at, lower, upper, tol, finest=0.0)
    if kind == "beta":  # bounds of the ends are as narrow as floats allow, for any tolerance
        width = np.where((at == 0) | (at == 1), 0.0, width)
    wide = np.flatnonzero(width > tol)
    if len(wide):
        worst = float(np.max(width))
        raise PrecisionError(
            f"tol = {tol:g} not reached at {_ARGUMENTS[kind][0]} = {at[wide[:5]].tolist()}; "
            f"reachable here: {decimal(worst, '.3g', up=True)}",
            worst,
        )


@dataclass(frozen=True, repr=False)
class BoundsView(BoundsMethods):
    """Questions to a curve with both sides of the answer.

    Each takes ``tol``, the width its bounds must reach (absolute for epsilon, relative for delta, and for
    beta relative to min(beta, 1 - alpha - beta)), and the keywords of ``QueryKwargs``. Without ``tol`` the
    answer is as good as a second or so allows. A curve with exact vertices answers a ``Fraction`` by a
    ``Fraction``, which is both bounds; a symbol is answered by a formula.

    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 100
    >>> f.bounds.epsilon(1e-5, tol=1e-7).width < 1e-7
    True
    >>> both = [to.Gaussian(1).bounds.delta(1.0, method=method) for method in ("lattice", "contour")]
    >>> all(to.Gaussian(1).delta(1.0) in bounds for bounds in both)
    True
    """

    _curve: TradeOff

    def __repr__(self) -> str:
        return f"bounds of {self._curve!r}"

    @overload
    def __call__(self, alpha: Number, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds[float]: ...
    @overload
    def __call__(self, alpha: Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds[Array]: ...
    def __call__(self, alpha: Number | Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds:
        """Bound f(alpha)."""
        return answer_query(self._curve, "beta", alpha, tol, how)

    @overload
    def delta(self, epsilon: Number, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds[float]: ...
    @overload
    def delta(self, epsilon: Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds[Array]: ...
    def delta(self, epsilon: Number | Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds:
        """Bound delta(epsilon), a probability, epsilon in nats and of any sign and shape."""
        return answer_query(self._curve, "delta", epsilon, tol, how)

    @overload
    def epsilon(self, delta: Number, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds[float]: ...
    @overload
    def epsilon(self, delta: Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds[Array]: ...
    def epsilon(self, delta: Number | Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Bounds:
        """Bound epsilon(delta), in nats, delta in [0, 1] and of any shape."""
        return answer_query(self._curve, "epsilon", delta, tol, how)

    @overload
    def bayes_risk(self, prior: Number, *, tol: Tol = None) -> Bounds[float]: ...
    @overload
    def bayes_risk(self, prior: Numbers, *, tol: Tol = None) -> Bounds[Array]: ...
    def bayes_risk(self, prior: Number | Numbers, *, tol: Tol = None) -> Bounds:
        """Bound min over alpha of prior alpha + (1 - prior) f(alpha); ``tol`` is that of its delta.

        It is (1 - prior)(1 - delta(log(prior/(1 - prior)))), as sup 1 - f - s alpha = delta(log s) (Dong,
        Roth, Su 2022, Proposition 2.12), and below 1/2 the same of f^-1, where no 1 - delta cancels.
        """
        if is_symbol(prior):
            formula = self._curve.formula_at("prior", prior)
            return Bounds(formula, formula)
        p = reals_between("prior", prior, 0, 1)
        less = np.minimum(p, 1 - p)  # exact, as 1 - p is for p >= 1/2
        odds = log1p(-less) - log(less)
        low, high = np.zeros(p.shape), np.zeros(p.shape)
        for curve, chosen in ((self._curve, p >= 0.5), (self._curve.inverse(), p < 0.5)):
            if chosen.any():
                ends = [np.asarray(end)[chosen] for end in odds]
                later, sooner = (curve.bounds.delta(end, tol=tol) for end in ends[::-1])
                delta = Bounds(later.lower, sooner.upper)
                # A test that ignores the data errs with the lesser probability.
                risk = minimum((1 - delta) * less[chosen], less[chosen])
                low[chosen], high[chosen] = clip(risk, 0.0, 1.0)
        return make_bounds(low, high)

    @overload
    def loss_quantile(self, delta: Number) -> Bounds[float]: ...
    @overload
    def loss_quantile(self, delta: Numbers) -> Bounds[Array]: ...
    def loss_quantile(self, delta: Number | Numbers) -> Bounds:
        """Bound the least epsilon with Q(L <= epsilon) >= 1 - delta, in nats, delta in [0, 1].

        L = log dQ/dP. Where f is the curve of one pair, both bounds are of its quantile. Else the upper bound
        is valid for every pair with a curve at or above f, whose losses may be others.

        >>> import tradeoff as to
        >>> to.Gaussian(1).bounds.loss_quantile(0.05).width < 1e-4
        True
        """
        curve = self._curve
        curve.require_numbers()
        at, shape = parameters.flattened("delta", delta, 0, 1)
        low, high = certified_epsilon(curve, at, None)  # delta(x) <= Q(L > x)
        leak = curve.mass_at_infinity
        inner = (at > leak.upper) & (at > 0) & (at < 1)
        if inner.any():
            pair = curve.tightness == PAIR
            least, most = (_pair_quantile if pair else _dominated_quantile)(curve, at[inner])
            low[inner], high[inner] = np.maximum(low[inner], least), np.minimum(most, curve.sup_loss)
        return Bounds(shaped(low, shape), shaped(high, shape))


def _pair_quantile(curve: TradeOff, delta: Array) -> Pair:
    """Bound inf{x : Q(L > x) <= delta} from delta(x) = E_Q (1 - e^(x - L))_+.

    For a < b, [(1 - e^(a - L))_+ - e^(a - b) (1 - e^(b - L))_+]/(1 - e^(a - b)) is 1 for L >= b, 0 for
    L <= a, and between these for other L. So its expectation, with delta(a) and delta(b) in place of both
    terms, is at least Q(L >= b) and at most Q(L > a).
    """
    step = 2.0**-14 * max(certified_delta(curve, np.zeros(1), None)[1][0], 2.0**-20)

    def tail(x: Array) -> Pair:
        edges = [x - step, x, x + step]
        deltas = [Bounds(*certified_delta(curve, edge, None)) for edge in edges]
        means = []
        for k in (0, 1):
            gap = Bounds.of(edges[k]) - edges[k + 1]
            means.append(clip((deltas[k] - exp(gap) * deltas[k + 1]) / -expm1(gap), 0.0, 1.0))
        return means[1].lower, means[0].upper

    return bracket_sides(tail, delta)


def _dominated_quantile(curve: TradeOff, delta: Array) -> Pair:
    """Bound the quantile of ``_pair_quantile`` for every pair with a curve at or above this one.

    Where L > x, 1 - e^(x - r - L) >= 1 - e^-r for each r > 0, so Q(L > x) <= delta(x - r)/(1 - e^-r).
    """
    r = np.geomspace(1e-4, 4.0, 32)[:, None]
    levels = (delta * -expm1(-r)).lower
    finite, upper = levels > curve.mass_at_infinity.upper, np.full(levels.shape, np.inf)
    upper[finite] = certified_epsilon(curve, levels[finite], None)[1]
    return np.full(len(delta), -np.inf), np.min((Bounds.of(upper) + r).upper, axis=0)
