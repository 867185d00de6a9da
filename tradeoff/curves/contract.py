"""The contract of a trade-off function: questions, bounds and the algebra's operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, overload

from tradeoff.accounting.cache import Cache, cache_for
from tradeoff.accounting.options import Explanation, query_options
from tradeoff.curves.hooks import CurveHooks, pure
from tradeoff.curves.parameters import Number, Numbers
from tradeoff.curves.query import BoundsView, QueryKwargs, answer_query, explain_query
from tradeoff.errors import KindError, NoClosedForm, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.rounding import Array
from tradeoff.pld.law import PrivacyLossDistribution

if TYPE_CHECKING:
    from tradeoff.curves.piecewise_linear import PiecewiseLinear
    from tradeoff.design.sensitivities import Sensitivities
    from tradeoff.gdp.reduction import Reduction
    from tradeoff.operators.dual import Dual
    from tradeoff.operators.law import Law
    from tradeoff.operators.tabulate import Tabulated
    from tradeoff.symbolic.formula import Symbolic

CHOICES = 4  # ways of answering, by method and memory, for which a curve remembers what it has made

Hypothesis = Literal["either-order", "both-orders", "profile"]


class TradeOff(CurveHooks):
    """Trade-off function f = T(P, Q): the least type II error at each type I error (Dong, Roth, Su 2022).

    A new family gives ``beta_bounds``, ``delta_bounds`` and ``symmetric``; everything else has a default.
    Where some losses are infinite it overrides ``mass_at_plus_infinity`` (and ``mass_at_infinity``,
    ``mass_at_minus_infinity``); ``sup_loss`` and ``epsilon_bounds`` make answers narrower,
    ``loss_distribution`` lets the engines compose it, and ``group``, ``inverse`` and ``product`` hold closed
    forms.
    """

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        """Return laws of curves below and above: one law twice where it is exact, else the whole curves'."""
        try:
            law = self.loss_distribution()
        except NoClosedForm:
            return self.lower.loss_distribution(), self.upper.loss_distribution()
        return law, law

    @classmethod
    def product(cls, members: Sequence[tuple[Self, int]]) -> TradeOff | None:
        """Return the product of powers of curves of this family where it is one closed form, else None."""
        del members
        return None

    @property
    def factors(self) -> Mapping[TradeOff, int]:
        """Factors of the tensor product with their powers; a curve that is no product is its own factor."""
        return {self: 1}

    def inverse(self) -> TradeOff:
        """Inverse f^-1(alpha) = inf{t : f(t) <= alpha} = T(Q, P) (Dong, Roth, Su 2022, Lemma A.2)."""
        if self.symmetric:
            return self
        from tradeoff.operators.inverse import Inverse

        return Inverse(pure(self))

    # Questions: the safe side.

    @overload
    def __call__(self, alpha: Number, *, tol: float | None = None, **how: Unpack[QueryKwargs]) -> float: ...
    @overload
    def __call__(self, alpha: Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]) -> Array: ...
    def __call__(
        self, alpha: Number | Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> float | Array:
        """Least type II error at type I error ``alpha``: a lower bound on f.

        Parameters
        ----------
        alpha
            Type I errors in [0, 1]; any shape, which is that of the answer.
        tol
            Width the bounds must reach, relative to min(beta, 1 - alpha - beta); default: as good as a second
            or so allows.
        **how
            ``method``, ``memory``, ``progress``, ``n_jobs``: see ``bounds``.

        Raises
        ------
        DomainError
            If an alpha is NaN or outside [0, 1].
        PrecisionError
            If ``tol`` cannot be reached.
        """
        return answer_query(self, "alpha", alpha, tol, how).lower

    @overload
    def delta(self, epsilon: Number, *, tol: float | None = None, **how: Unpack[QueryKwargs]) -> float: ...
    @overload
    def delta(self, epsilon: Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]) -> Array: ...
    def delta(
        self, epsilon: Number | Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> float | Array:
        """Privacy profile delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha: an upper bound.

        See Dong, Roth, Su 2022, Proposition 2.12.

        Parameters
        ----------
        epsilon
            Losses in nats, any real number or infinity; any shape, which is that of the answer.
        tol, **how
            Relative width the bounds must reach; see ``bounds``.
        """
        return answer_query(self, "epsilon", epsilon, tol, how).upper

    @overload
    def epsilon(self, delta: Number, *, tol: float | None = None, **how: Unpack[QueryKwargs]) -> float: ...
    @overload
    def epsilon(self, delta: Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]) -> Array: ...
    def epsilon(
        self, delta: Number | Numbers, *, tol: float | None = None, **how: Unpack[QueryKwargs]
    ) -> float | Array:
        """Least epsilon with delta(epsilon) <= delta, in nats: an upper bound.

        It is +inf only if delta < Q(L = inf) truly, or no bound is known.

        Parameters
        ----------
        delta
            Probabilities in [0, 1]; any shape. Negative epsilon answers delta > delta(0); 0 asks for sup L.
        tol, **how
            Absolute width the bounds must reach; see ``bounds``.
        """
        return answer_query(self, "delta", delta, tol, how).upper

    @overload
    def bayes_risk(self, prior: Number) -> float: ...
    @overload
    def bayes_risk(self, prior: Numbers) -> Array: ...
    def bayes_risk(self, prior: Number | Numbers) -> float | Array:
        """Least error of a test whose null hypothesis has the probability ``prior``: a lower bound.

        It is min over alpha of prior alpha + (1 - prior) f(alpha), shaped like ``prior``, which is in [0, 1].

        >>> import tradeoff as to
        >>> round(to.Gaussian(1).bayes_risk(0.5), 6), to.PureDP(1).bayes_risk([0, 1]).tolist()
        (0.308538, [0.0, 0.0])
        """
        return self.bounds.bayes_risk(prior).lower

    @property
    def bounds(self) -> BoundsView:
        """Ask the same questions for both sides."""
        return BoundsView(self)

    def renyi(self, order: float) -> float:
        """Renyi divergence D_a(P || Q) of the pair behind f = T(P, Q), in nats: an upper bound.

        Infinite where P has mass that Q has not (a >= 1), or no bound is known. delta(eps) follows the other
        direction, D_a(Q || P), which is ``(~f).renyi(a)``.

        Parameters
        ----------
        order
            In (0, inf]; 1 is KL(P || Q), inf the largest log dP/dQ (van Erven, Harremoes 2014).

        Examples
        --------
        >>> from tradeoff import Gaussian, subsample
        >>> step = subsample(Gaussian(1), 0.01)
        >>> round(step.renyi(64), 9), round((~step).renyi(64), 9)
        (0.002615663, 27.321731875)
        """
        return self.bounds.renyi(order).upper

    def kl(self) -> float:
        """KL(P || Q) of the pair behind f = T(P, Q), in nats: an upper bound; ``renyi(1)``."""
        return self.renyi(1)

    def divergence(self, function: str | Callable[[float], float]) -> float:
        """F-divergence D_F(P || Q) = int F(dP/dQ) dQ of the pair behind f = T(P, Q): an upper bound.

        ``(~f).divergence(F)`` is D_F(Q || P) (Liese, Vajda 2006).

        Parameters
        ----------
        function
            ``"kl"`` (F(t) = t log t), ``"chi2"`` ((t - 1)^2), ``"hellinger"`` ((sqrt(t) - 1)^2/2, the squared
            distance), ``"total-variation"`` (|t - 1|/2), or a convex function of t >= 0, t from 0.0 on.

        Examples
        --------
        >>> from tradeoff import Gaussian
        >>> round(Gaussian(1).divergence("chi2"), 9)
        1.718281828
        """
        return self.bounds.divergence(function).upper

    def explain(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        alpha: float | None = None,
        tol: float | None = None,
        **how: Unpack[QueryKwargs],
    ) -> Explanation:
        """Tell which engine answers a question, why, in what time and how narrowly; prints as a short table.

        It has ``bounds``, and one step for every time an engine was asked; none for a closed form.

        Parameters
        ----------
        epsilon, delta, alpha
            The one that is given is asked: delta at a loss in nats, epsilon at a delta, beta at an alpha.
        tol, **how
            As in the question itself.

        Raises
        ------
        DomainError
            Unless exactly one of the three is given.

        Examples
        --------
        >>> import tradeoff as to
        >>> steps = (to.subsample(to.Gaussian(1), 0.01) ** 1000).explain(delta=1e-5).steps
        >>> [(step.engine, step.why) for step in steps]
        [('contour', 'all densities have closed forms')]
        """
        return explain_query(self, {"epsilon": epsilon, "delta": delta, "alpha": alpha}, tol, how)

    def sensitivities(self, *, delta: float | None = None, epsilon: float | None = None) -> Sensitivities:
        """Estimate what epsilon (nats), or delta, gains with each parameter and count: a table and a plot."""
        from tradeoff.design.sensitivities import sensitivities

        return sensitivities(self, delta=delta, epsilon=epsilon)

    # Algebra.

    def __matmul__(self, other: TradeOff) -> TradeOff:
        """Tensor product T(P x P', Q x Q'), of running both (Dong, Roth, Su 2022, Theorem 3.2)."""
        from tradeoff.curves.product import tensor

        return tensor([(self, 1), (operand(other), 1)])

    def __pow__(self, n: int) -> TradeOff:
        """n-fold tensor power, n a whole number from 0, or a symbol; ``f ** 0`` is the identity."""
        from tradeoff.operators.power import power

        return power(self, n)

    def __invert__(self) -> TradeOff:
        """Inverse T(Q, P)."""
        return self.inverse()

    def symmetrise(self, *, assume: Hypothesis) -> TradeOff:
        """Guarantee for unordered neighbours, by hypothesis (Dong, Roth, Su 2022, Proposition 2.4).

        ``"either-order"``: one order of the pair has curve f, the other f^-1: the hull of min{f, f^-1}.
        ``"both-orders"``: every ordered pair has at least f: max{f, f^-1}.
        ``"profile"``: delta(eps) known for eps >= 0 in both orders: Symm(f).
        """
        from tradeoff.operators.symmetrise import symmetrise

        return symmetrise(self, assume=assume)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of ``k`` >= 0 records: 1 - (1 - f)^(o k) (Dong, Roth, Su 2022, Theorem 2.14).

        It covers k steps, each of which has at least f in the same order. If f holds for every ordered pair
        of neighbours, these are any k changes, and ``f.symmetrise(assume="both-orders").group(k)`` is tighter
        for asymmetric f. If f is one order of adding a record, these are k records added (``~f``: removed);
        for additions and removals mixed take ``f.symmetrise(assume="either-order").group(k)``.

        Parameters
        ----------
        k
            Number of records in the group; 0 gives the identity.

        Examples
        --------
        >>> from fractions import Fraction as F
        >>> from tradeoff import from_masses
        >>> from_masses([F(1, 2), F(1, 2)], [F(1, 5), F(4, 5)]).group(2)
        PL[(0, 1), (5/16, 1/5), (1/2, 2/25), (1, 0)] (one order) (not exact)
        """
        from tradeoff.operators.group import group

        return group(self, k)

    def dual(self) -> Dual:
        """Privacy profile, with conjugation back (Dong, Roth, Su 2022, Propositions 2.11 and 2.12)."""
        from tradeoff.operators.dual import Dual

        return Dual(self)

    def __ge__(self, other: TradeOff) -> bool:
        """Whether f is at least as private everywhere; ``Undecided`` (Dong, Roth, Su 2022, Theorem 2.10)."""
        from tradeoff.operators.order import at_least

        return at_least(self, operand(other))

    def __le__(self, other: TradeOff) -> bool:
        """Whether ``other`` is at least as private everywhere."""
        return operand(other) >= self

    def dominates(self, other: TradeOff, *, failure: float) -> bool:
        """Whether f >= g (x) f_{0,failure}, ``failure`` in [0, 1], decided from certified bounds."""
        from tradeoff.operators.order import dominates

        return dominates(self, operand(other), failure=failure)

    def distance(self, other: TradeOff, *, metric: Literal["uniform", "levy"] = "uniform") -> Bounds[float]:
        """Uniform or Levy distance between two curves, a number in [0, 1], held from both sides."""
        from tradeoff.operators.distance import distance

        return distance(self, operand(other), metric=metric)

    def gdp(self, failure: float = 1e-10) -> Reduction:
        """Least mu with f >= G_mu (x) f_{0,failure}, ``failure`` in [0, 1], and what reporting it costs."""
        from tradeoff.gdp.reduction import gdp

        return gdp(self, failure=failure)

    def subs(self, values: Mapping[Any, Any]) -> TradeOff:
        """Curve with symbols replaced, for example ``f.subs({mu: 1})``; keys are symbols or their names."""
        from tradeoff.symbolic.substitution import substitute

        return substitute(self, values)

    def symbolic(self, alpha: Any = None) -> Symbolic:
        """Write f(alpha) as a formula in the given SymPy symbol; for families with closed forms."""
        from tradeoff.symbolic.formula import symbolic

        return symbolic(self, alpha)

    @property
    def law(self) -> Law:
        """Law of the privacy loss L = log dQ/dP, in nats, under P and under Q."""
        self.require_numbers()
        from tradeoff.operators.law import Law

        return Law(self)

    # Whole curves.

    def tabulate(self, alphas: Numbers | None = None) -> Tabulated:
        """Polygons with lower <= f <= upper at every alpha; ``alphas``: the nodes to use, in [0, 1]."""
        if alphas is None:
            return self._whole
        from tradeoff.operators.tabulate import tabulate

        return tabulate(self, alphas).described(self)

    @property
    def _whole(self) -> Tabulated:
        """The whole curves, made once for each way of answering, which inner questions inherit."""
        self.require_numbers()
        return self._wholes.of(query_options().choices, lambda: self._tabulated().described(self))

    @cached_property
    def _wholes(self) -> Cache[Tabulated]:
        return cache_for(("whole", self.tightness, self), CHOICES)

    def _tabulated(self) -> Tabulated:
        from tradeoff.operators.tabulate import tabulate

        return tabulate(self)

    @property
    def lower(self) -> PiecewiseLinear:
        """Piecewise-linear curve at or below f for every alpha: safe to report, and a factor like any."""
        return self._whole.lower

    @property
    def upper(self) -> PiecewiseLinear:
        """Piecewise-linear curve at or above f for every alpha."""
        return self._whole.upper


def operand(value: object) -> TradeOff:
    """Return ``value`` if it is a curve; else raise ``KindError``, which names the way to a guarantee."""
    if isinstance(value, TradeOff):
        return value
    # Mechanisms, plans and bands have a guarantee, reductions a curve.
    for name in ("guarantee", "curve"):
        if hasattr(value, name):
            call = "" if isinstance(getattr(value, name), TradeOff) else "()"
            kind = "mechanism" if hasattr(value, "kind") else type(value).__name__  # the kind of a plan file
            raise KindError(
                f"{shown(value)} is a {kind}, not a curve: write {type(value).__name__}(...).{name}{call}"
            )
    raise KindError(f"{shown(value)} is not a trade-off function")
