"""The contract of a trade-off function: questions, bounds and products; and curves made of other curves.

L = log dQ/dP is the privacy loss in nats, delta(eps) the profile. The law of a curve is a
``PrivacyLossDistribution``, L under P; the factors of a product are its curves with their powers. The two
orders of a pair of neighbours are T(P, Q) and its inverse T(Q, P). Hooks bound answers, and a family
implements them.

Every operator of the algebra preserves the order, so it maps (lower, upper) of its operands to (lower, upper)
of its result; refining the result means refining the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, Unpack, overload

from tradeoff._attached import CurveMethods
from tradeoff.accounting.options import Explanation
from tradeoff.curves.hooks import CurveHooks, gathered
from tradeoff.curves.parameters import Number, Numbers, reals_between, symbols_of
from tradeoff.curves.query import BoundsView, QueryKwargs, Tol, answer_query, cached_by_options, explain_query
from tradeoff.errors import KindError, NoClosedForm, SizeError, shown
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.pld.law import PrivacyLossDistribution

if TYPE_CHECKING:
    from tradeoff._attached import PiecewiseLinear, Tabulated

Hypothesis = Literal["either-order", "both-orders", "profile"]

_ADVICE = {  # names in other libraries
    **dict.fromkeys(("beta", "fnr"), "f(alpha)"),
    **dict.fromkeys(("eps", "get_epsilon"), "f.epsilon(delta)"),
    **dict.fromkeys(("power", "roc"), 'f.tpr(fpr), or tradeoff.plot(f, kind="roc")'),
    "compose": "f @ g and f ** n",
    "guarantee": 'f.symmetrise(assume="either-order"), which covers both orders',
    "mu": "f.gdp().mu",
    "pld": "f.law",
    "plot": "tradeoff.plot(f)",
    "rdp": "f.renyi(order)",
}


class TradeOff(CurveHooks, CurveMethods):
    """Trade-off function f = T(P, Q): the least type II error at each type I error (Dong, Roth, Su 2022).

    >>> import tradeoff as to
    >>> isinstance(to.Gaussian(1) @ to.Laplace(1), to.TradeOff)
    True

    A new family gives ``symmetric`` and one of ``delta_bounds`` and ``beta_bounds``, better both; everything
    else has a default. Where some losses are infinite it overrides ``mass_at_infinity`` (and
    ``mass_at_minus_infinity``); ``loss_bounds`` and ``epsilon_bounds`` make answers narrower,
    ``loss_distribution`` lets the engines compose it, and ``group``, ``inverse`` and ``product`` hold closed
    forms.
    """

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        """Return distributions of curves below and above f: the exact one twice, or those of two polygons.

        >>> import tradeoff as to
        >>> lower, upper = to.Laplace(1).laws()
        >>> lower is upper
        True
        """
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
        """Factors of the tensor product with their powers; another curve is its own factor.

        >>> import tradeoff as to
        >>> dict((to.Gaussian(1) @ to.Laplace(0.1) ** 5).factors)
        {G_{1}: 1, Lap_{0.1}: 5}
        """
        return {self: 1}

    @overload
    def __call__(self, alpha: Number, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> float: ...
    @overload
    def __call__(self, alpha: Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Array: ...
    def __call__(
        self, alpha: Number | Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]
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
            ``method``, ``memory``, ``progress``, ``n_jobs``: see ``QueryKwargs``.

        Raises
        ------
        PrecisionError
            If ``tol`` cannot be reached.

        Examples
        --------
        >>> import tradeoff as to
        >>> f = to.Gaussian(1)
        >>> round(f(0.05), 6), f([0.1, 0.5]).round(3).tolist()
        (0.740489, [0.611, 0.159])
        """
        return answer_query(self, "beta", alpha, tol, how).lower

    @overload
    def delta(self, epsilon: Number, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> float: ...
    @overload
    def delta(self, epsilon: Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Array: ...
    def delta(
        self, epsilon: Number | Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]
    ) -> float | Array:
        r"""Privacy profile: an upper bound (Dong, Roth, Su 2022, Proposition 2.12).

        .. math::

           \delta(\varepsilon) = 1 + f^*(-e^\varepsilon) = \sup_\alpha \; 1 - f(\alpha) - e^\varepsilon \alpha

        Parameters
        ----------
        epsilon
            Losses in nats, any real number or infinity; any shape, which is that of the answer.
        tol, **how
            Relative width the bounds must reach; see ``bounds``.

        Examples
        --------
        >>> import tradeoff as to
        >>> round(to.Gaussian(1).delta(1.0), 6), to.PureDP(1).delta([1, 2]).tolist()
        (0.126937, [0.0, 0.0])
        """
        return answer_query(self, "delta", epsilon, tol, how).upper

    @overload
    def epsilon(self, delta: Number, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> float: ...
    @overload
    def epsilon(self, delta: Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]) -> Array: ...
    def epsilon(
        self, delta: Number | Numbers, *, tol: Tol = None, **how: Unpack[QueryKwargs]
    ) -> float | Array:
        r"""Least epsilon with delta(epsilon) <= delta, in nats: an upper bound.

        It is +inf only if :math:`\delta < Q(L = \infty)`, or no bound is known.

        Parameters
        ----------
        delta
            Probabilities in [0, 1]; any shape. Where :math:`\delta > \delta(0)` epsilon is negative; at 0 it
            is :math:`\sup L`.
        tol, **how
            Absolute width the bounds must reach; see ``bounds``.

        Examples
        --------
        >>> import tradeoff as to
        >>> round(to.Gaussian(1).epsilon(1e-5), 6), to.PureDP(1).epsilon([0, 1e-5]).round(3).tolist()
        (4.377178, [1.0, 1.0])
        """
        return answer_query(self, "epsilon", delta, tol, how).upper

    @overload
    def bayes_risk(self, prior: Number) -> float: ...
    @overload
    def bayes_risk(self, prior: Numbers) -> Array: ...
    def bayes_risk(self, prior: Number | Numbers) -> float | Array:
        r"""Least error of a test whose null hypothesis has the probability ``prior``: a lower bound.

        It is :math:`\min_\alpha \pi \alpha + (1 - \pi) f(\alpha)` at the prior :math:`\pi`, shaped like
        ``prior``, which is in [0, 1].

        >>> import tradeoff as to
        >>> round(to.Gaussian(1).bayes_risk(0.5), 6), to.PureDP(1).bayes_risk([0, 1]).tolist()
        (0.308538, [0.0, 0.0])
        """
        return self.bounds.bayes_risk(prior).lower

    @overload
    def tpr(self, fpr: Number) -> float: ...
    @overload
    def tpr(self, fpr: Numbers) -> Array: ...
    def tpr(self, fpr: Number | Numbers) -> float | Array:
        """Bound the true-positive rate of every membership attack from above, at false-positive rates.

        >>> import tradeoff as to
        >>> round(to.Gaussian(1).tpr(0.05), 4), to.PureDP(1).tpr([0, 1]).tolist()
        (0.2595, [0.0, 1.0])
        """
        result: float | Array = (1 - Bounds.of(self(reals_between("fpr", fpr, 0, 1)))).upper
        return result

    @overload
    def loss_quantile(self, delta: Number) -> float: ...
    @overload
    def loss_quantile(self, delta: Numbers) -> Array: ...
    def loss_quantile(self, delta: Number | Numbers) -> float | Array:
        r"""Least epsilon with Q(L <= epsilon) >= 1 - delta, the quantile of the privacy loss: an upper bound.

        :math:`L = \log\, dQ/dP` in nats, on data from Q. It is at least ``epsilon(delta)``. For an ``exact``
        curve it is at most some 1e-4 above the quantile; else it is above the quantile of every pair whose
        curve is at or above f, which may be larger than the quantile of f's own pair.

        Parameters
        ----------
        delta
            Probabilities in [0, 1]; any shape; at 0 it is :math:`\sup L`.

        Examples
        --------
        >>> import tradeoff as to
        >>> round(to.Gaussian(1).loss_quantile(0.05), 3)  # mu^2/2 + mu Phi^-1(0.95)
        2.145
        >>> round(to.Gaussian(1).epsilon(0.05), 3)
        1.569
        """
        return self.bounds.loss_quantile(delta).upper

    def advantage(self) -> float:
        r"""Bound the advantage of every attack from above: true-positive minus false-positive rate.

        It is :math:`\delta(0)`, the total variation distance of the pair.

        >>> import tradeoff as to
        >>> round(to.Gaussian(1).advantage(), 4)
        0.3829
        """
        return self.delta(0.0)

    @property
    def bounds(self) -> BoundsView:
        """Answers of ``f(alpha)``, ``f.delta``, ``f.epsilon`` and others by a lower and an upper bound.

        >>> import tradeoff as to
        >>> to.Gaussian(1)(0.05) in to.Gaussian(1).bounds(0.05), to.Gaussian(1).bounds.delta(1).width < 1e-12
        (True, True)
        """
        return BoundsView(self)

    def renyi(self, order: float) -> float:
        r"""Renyi divergence D_a(P || Q) of the pair behind f = T(P, Q), in nats: an upper bound.

        Infinite where P has mass that Q does not have (:math:`a \ge 1`), or no bound is known.
        :math:`\delta(\varepsilon)` follows the other direction, :math:`D_a(Q \,\Vert\, P)`, which is
        ``(~f).renyi(a)``.

        Parameters
        ----------
        order
            In (0, inf]; 1 is :math:`\mathrm{KL}(P \,\Vert\, Q)`, inf the largest :math:`\log\, dP/dQ` (van
            Erven, Harremoes 2014).

        Examples
        --------
        >>> from tradeoff import Gaussian, subsample
        >>> step = subsample(Gaussian(1), 0.01)
        >>> round(step.renyi(64), 9), round((~step).renyi(64), 9)
        (0.002615663, 27.321731875)
        """
        return self.bounds.renyi(order).upper

    def kl(self) -> float:
        """KL(P || Q) of the pair behind f = T(P, Q), in nats: an upper bound; ``renyi(1)``.

        >>> import tradeoff as to
        >>> to.Gaussian(1).kl()
        0.5
        """
        return self.renyi(1)

    def divergence(self, function: str | Callable[[float], float]) -> float:
        r"""F-divergence of the pair behind f = T(P, Q): an upper bound.

        .. math::

           D_F(P \,\Vert\, Q) = \int F(dP/dQ) \, dQ

        ``(~f).divergence(F)`` is :math:`D_F(Q \,\Vert\, P)` (Liese, Vajda 2006).

        Parameters
        ----------
        function
            ``"kl"`` (:math:`F(t) = t \log\, t`), ``"chi2"`` (:math:`(t - 1)^2`), ``"hellinger"``
            (:math:`(\sqrt{t} - 1)^2/2`, the squared distance), ``"total-variation"``
            (:math:`\lvert t - 1 \rvert/2`), or a convex function of :math:`t \ge 0`, t from 0.0 on.

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
        tol: Tol = None,
        **how: Unpack[QueryKwargs],
    ) -> Explanation:
        """List the engines that answer a question, with reason, time and width; prints as a short table.

        It has ``bounds``, and one step for each use of an engine; none for a closed form. It gives the reason
        for an infinite epsilon.

        Parameters
        ----------
        epsilon, delta, alpha
            One of them: a loss in nats for delta, a delta for epsilon (default: 1e-5), an alpha for beta.
        tol, **how
            As in the question itself.

        Examples
        --------
        >>> import tradeoff as to
        >>> steps = (to.subsample(to.Gaussian(1), 0.01) ** 1000).explain(delta=1e-5).steps
        >>> [(step.engine, step.why) for step in steps]
        [('contour', 'all densities have closed forms')]
        """
        return explain_query(self, {"delta": epsilon, "epsilon": delta, "beta": alpha}, tol, how)

    def __matmul__(self, other: TradeOff) -> TradeOff:
        """Tensor product T(P x P', Q x Q'), of running both (Dong, Roth, Su 2022, Theorem 3.2).

        >>> import tradeoff as to
        >>> to.Gaussian(3) @ to.Gaussian(4)
        G_{5}
        """
        from tradeoff.curves.product import tensor

        return tensor([(self, 1), (operand(other), 1)])

    def _refuse_pointwise(self, other: object) -> NoReturn:
        raise TypeError(
            f"curves are composed by @ and **, as f @ g and f ** n, got {self!r} and {shown(other)}; for a "
            "mixture use tradeoff.mixture"
        )

    if not TYPE_CHECKING:  # type checkers report the missing operators themselves
        __add__ = __radd__ = __mul__ = __rmul__ = _refuse_pointwise

        def __getattr__(self, name: str) -> NoReturn:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(f"{text}; use {_ADVICE[name]}" if name in _ADVICE else text)

    @cached_by_options
    def _whole(self) -> Tabulated:
        """Piecewise-linear bounds on f at every alpha."""
        self.require_numbers()
        return self._tabulated().described(self)

    @property
    def lower(self) -> PiecewiseLinear:
        """Piecewise-linear curve at or below f for every alpha; safe to report, and a factor like any.

        >>> import tradeoff as to
        >>> to.Laplace(1).lower(0.3) <= to.Laplace(1)(0.3)
        True
        """
        return self._whole.lower

    @property
    def upper(self) -> PiecewiseLinear:
        """Piecewise-linear curve at or above f for every alpha.

        >>> import tradeoff as to
        >>> f = to.subsample(to.Laplace(1), 0.1)
        >>> f.lower(0.3) <= f(0.3) <= f.upper(0.3)
        True
        """
        return self._whole.upper


def operand(value: object) -> TradeOff:
    """Return ``value`` if it is a curve; for a mechanism raise ``KindError`` and suggest its guarantee."""
    if isinstance(value, TradeOff):
        if value.depth > 64:  # the recursion of Python ends at three times as many
            raise SizeError("a curve must nest at most 64 operators; use the polygon f.lower of an inner one")
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


class Derived(TradeOff):
    """Curve ``operator(operands)``: a subclass bounds beta or delta, and duality gives the other.

    It may also bound ``mass_at_infinity``, 0 by default, and ``loss_bounds``. The law is by default that of
    polygons. ``rebuild(*operands, *parameters)`` makes the curve.
    """

    name: str
    rebuild: Callable[..., TradeOff]
    composed = True
    free_symbols: frozenset[Any] = frozenset()

    def __init__(self, *operands: TradeOff, parameters: tuple[Any, ...] = ()) -> None:
        self.operands, self.parameters = operands, parameters
        self.free_symbols, self.assumptions = symbols_of(*operands, *parameters), gathered(operands)
        self.depth = 1 + max(operand.depth for operand in operands)

    def estimate_losses(self, alpha: Array) -> list[tuple[Array, float]]:
        return [place for operand in self.operands for place in operand.estimate_losses(alpha)]

    @property
    def symmetric(self) -> bool:
        return all(operand.symmetric for operand in self.operands)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Operands and parameters, of which ``rebuild`` makes the curve."""
        return (*self.operands, *self.parameters)

    def replaced(self, change: Callable[[Any], Any]) -> TradeOff:
        """Return the operator on changed operands and parameters, built anew: it may be another curve."""
        return self.rebuild(*map(change, self.arguments))

    def laws(self) -> tuple[PrivacyLossDistribution, PrivacyLossDistribution]:
        return self.lower.loss_distribution(), self.upper.loss_distribution()

    @property
    def has_law(self) -> bool:
        return type(self).laws is not Derived.laws and all(f.has_law for f in self.operands)

    def loss_distribution(self) -> PrivacyLossDistribution:
        return self.laws()[0]

    def _key(self) -> tuple[Any, ...]:
        return self.operands, self.parameters

    @property
    def notation(self) -> str:
        inner = [operand.notation for operand in self.operands] + [repr(each) for each in self.parameters]
        return f"{self.name}({', '.join(inner)})"
