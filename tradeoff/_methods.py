"""Implementations of the methods that ``tradeoff._attached`` declares.

Importing ``tradeoff`` attaches them to every curve. Each imports its room when it is first called, so that
``import tradeoff`` loads neither NumPy nor SymPy.
"""

from __future__ import annotations

import math
from importlib import import_module

from tradeoff._attached import BoundsMethods, CurveMethods

TYPE_CHECKING = False  # the module typing takes a third of the time of ``import tradeoff``

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    from tradeoff import errors
    from tradeoff.audits import risks
    from tradeoff.curves import contract, hooks, parameters
    from tradeoff.curves.contract import Hypothesis, TradeOff
    from tradeoff.curves.parameters import Number, Numbers
    from tradeoff.curves.product import Factors
    from tradeoff.curves.query import BoundsView
    from tradeoff.design import sensitivities
    from tradeoff.families import closed_forms
    from tradeoff.gdp import reduction
    from tradeoff.intervals import bounds
    from tradeoff.intervals.bounds import Bounds
    from tradeoff.operators import divergence, law, order, symmetrise, tabulate, unary
    from tradeoff.operators.tabulate import Tabulated
    from tradeoff.report import notebook
    from tradeoff.sweeps import Table
    from tradeoff.symbolic import forms, formula
else:
    TradeOff = BoundsView = object

    class _Lazy:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(f"tradeoff.{self._name}"), name)

    for _module in (
        *("curves.contract", "curves.hooks", "curves.parameters", "audits.risks", "design.sensitivities"),
        *("report.notebook", "families.closed_forms", "gdp.reduction", "intervals.bounds"),
        *("symbolic.formula", "symbolic.forms", "errors"),
        *("operators.divergence", "operators.law", "operators.order"),
        *("operators.symmetrise", "operators.tabulate", "operators.unary"),
    ):
        globals()[_module.rpartition(".")[2]] = _Lazy(_module)


class _CurveMethods(TradeOff):
    def __pow__(self, n: int) -> TradeOff:
        """n-fold tensor power, n an integer from 0, or a symbol; ``f ** 0`` is the identity.

        >>> import tradeoff as to
        >>> to.Gaussian(1) ** 4, to.Laplace(0.1) ** 10
        (G_{2}, Lap_{0.1}^10)
        """
        return unary.power(self, n)

    def __invert__(self) -> TradeOff:
        """Inverse T(Q, P).

        >>> import tradeoff as to
        >>> ~to.Gaussian(1)
        G_{1}
        """
        return self.inverse()

    def inverse(self) -> TradeOff:
        r"""Inverse T(Q, P): :math:`\inf\{t : f(t) \le \alpha\}` (Dong, Roth, Su 2022, Lemma A.2).

        >>> import tradeoff as to
        >>> to.PiecewiseLinear([0, 0.25, 1], [1, 0.5, 0]).inverse()
        PL[(0, 1), (0.5, 0.25), (1, 0)] (one order)
        """
        if self.symmetric:
            return self
        return hooks.limited(unary.Inverse(hooks.pure(self)), self.tightness)

    def symmetrise(self, *, assume: Hypothesis) -> TradeOff:
        r"""Guarantee for unordered neighbours, by hypothesis (Dong, Roth, Su 2022, Proposition 2.4).

        ``"either-order"``: one order of the pair has curve f, the other :math:`f^{-1}`: the hull of
        :math:`\min\{f, f^{-1}\}`.
        ``"both-orders"``: every ordered pair has at least f: :math:`\max\{f, f^{-1}\}`.
        ``"profile"``: :math:`\delta(\varepsilon)` known for :math:`\varepsilon \ge 0` in both orders:
        :math:`\mathrm{Symm}(f)`.

        >>> import tradeoff as to
        >>> to.PiecewiseLinear([0, 0.25, 1], [1, 0.5, 0]).symmetrise(assume="either-order")
        PL[(0, 1), (0.25, 0.5), (0.5, 0.25), (1, 0)]
        """
        return symmetrise.symmetrise(self, assume=assume)

    def group(self, k: int) -> TradeOff:
        r"""Guarantee for groups of ``k`` >= 0 records (Dong, Roth, Su 2022, Theorem 2.14).

        The curve :math:`1 - (1 - f)^{\circ k}` covers k steps, each of which has at least f in the same
        order. If f holds for every ordered pair of neighbours, these are any k changes, and
        ``f.symmetrise(assume="both-orders").group(k)`` is tighter for asymmetric f. If f is one order of
        adding a record, these are k records added (``~f``: removed); for additions and removals mixed take
        ``f.symmetrise(assume="either-order").group(k)``. ``f.group(0)`` is the identity.

        >>> from fractions import Fraction as F
        >>> from tradeoff import from_masses
        >>> from_masses([F(1, 2), F(1, 2)], [F(1, 5), F(4, 5)]).group(2)
        PL[(0, 1), (5/16, 1/5), (1/2, 2/25), (1, 0)] (one order) (not exact)
        """
        return hooks.limited(unary.group(self, k), self.tightness)

    def dual(self) -> unary.Dual:
        """Privacy profile, with conjugation back (Dong, Roth, Su 2022, Propositions 2.11 and 2.12).

        >>> import tradeoff as to
        >>> to.Gaussian(1).dual()
        Dual(curve=G_{1})
        """
        return unary.Dual(self)

    def __ge__(self, other: TradeOff) -> bool:
        """Decide f >= g, f at least as private, or raise ``Undecided`` (Dong, Roth, Su 2022, Theorem 2.10).

        >>> import tradeoff as to
        >>> to.Gaussian(1) >= to.Gaussian(2)
        True
        """
        return order.at_least(self, contract.operand(other))

    def __le__(self, other: TradeOff) -> bool:
        """Decide f <= g, g at least as private, or raise ``Undecided``.

        >>> import tradeoff as to
        >>> to.Gaussian(1) <= to.Identity()
        True
        """
        return order.at_least(contract.operand(other), self)

    def dominates(self, other: TradeOff, *, failure: float) -> bool:
        r"""Decide :math:`f \ge g \otimes f_{0,\mathrm{failure}}`, ``failure`` in [0, 1], by certified bounds.

        >>> import tradeoff as to
        >>> to.Laplace(1).dominates(to.Gaussian(1.2), failure=1e-9)
        True
        """
        return order.dominates(self, contract.operand(other), failure=failure)

    def distance(self, other: TradeOff, *, metric: Literal["uniform", "levy"] = "uniform") -> Bounds[float]:
        """Bound the uniform or Levy distance between two curves, a number in [0, 1], from both sides.

        >>> import tradeoff as to
        >>> 0.3829249 in to.Gaussian(1).distance(to.Gaussian(2))
        True
        """
        return order.distance(self, contract.operand(other), metric=metric)

    def gdp(self, failure: float | None = None) -> reduction.Reduction:
        r"""Return the least mu of a Gaussian curve below f but for ``failure``, and the cost of reporting it.

        It is the least with :math:`f \ge G_\mu \otimes f_{0,\mathrm{failure}}`; ``failure`` is a probability,
        by default 1e-10, and 0 for a Gaussian curve. The cost, ``regret``, is the largest gap in Bayes error
        between f and the curve reported.

        >>> import tradeoff as to
        >>> round((to.Laplace(0.1) ** 100).gdp().mu, 3)
        0.985
        """
        return reduction.gdp(self, failure=failure)

    def risks(self, **questions: Any) -> Table:
        """Tabulate bounds on the success of attackers; ``tradeoff.audits.risks`` documents the questions.

        >>> import tradeoff as to
        >>> table = to.Gaussian(1).risks(fpr=0.01, baseline=0.1)
        >>> dict(zip(table["risk"], table["upper"]))["advantage, TPR - FPR"] < 0.383
        True
        """
        return risks.risks(self, **questions)

    def sensitivities(
        self, *, delta: float | None = None, epsilon: float | None = None
    ) -> sensitivities.Sensitivities:
        """Estimate the change of epsilon (nats), or delta, with each parameter and count.

        >>> import tradeoff as to
        >>> to.Gaussian(1).sensitivities(delta=1e-5)
        factor  parameter  value  d epsilon     per 1%
        G_{1}   mu             1    5.06778  0.0506778
        G_{1}   count          1    2.53389  0.0253389
        """
        return sensitivities.sensitivities(self, delta=delta, epsilon=epsilon)

    def subs(self, values: Mapping[Any, Any]) -> TradeOff:
        """Curve with symbols replaced; keys are symbols or their names.

        >>> import sympy, tradeoff as to
        >>> to.Gaussian(sympy.Symbol("mu")).subs({"mu": 1})
        G_{1}
        """
        return hooks.limited(formula.substitute(self, values), self.tightness, self.assumptions)

    def symbolic(self, alpha: Any = None) -> formula.Symbolic:
        """Write f(alpha) as a formula in the given SymPy symbol; for families with closed forms.

        >>> import tradeoff as to
        >>> to.TotalVariation(0.25).symbolic().delta(0)
        0.25
        """
        return hooks.limited(formula.symbolic(self, alpha), self.tightness, self.assumptions)

    @property
    def law(self) -> law.Law:
        """Law of the privacy loss L = log dQ/dP, in nats, under P and under Q.

        >>> import tradeoff as to
        >>> to.Gaussian(1).law
        Law(curve=G_{1})
        """
        self.require_numbers()
        return law.Law(self)

    def tabulate(self, alphas: Numbers | None = None) -> Tabulated:
        """Polygons with lower <= f <= upper at every alpha; ``alphas``: the nodes to use, in [0, 1].

        >>> import tradeoff as to
        >>> table = to.Gaussian(1).tabulate([0.1, 0.5])
        >>> table.lower(0.3) <= to.Gaussian(1)(0.3) <= table.upper(0.3)
        True
        """
        if alphas is None:
            return self._whole
        return tabulate.tabulate(self, alphas).described(self)

    def _tabulated(self) -> Tabulated:
        return tabulate.tabulate(self)

    def formula_at(self, name: str, at: Any) -> Any:
        """Answer a question by a SymPy expression, ``name`` being that of its symbolic argument."""
        if name == "prior":
            return forms.bayes_risk(self, at)
        return forms.renyi(self, at) if name == "order" else forms.answer(self, name, at)

    def _repr_html_(self) -> str | None:
        return notebook.picture(self)

    def _repr_latex_(self) -> str:
        order = "" if self.symmetric else r"\quad\text{(one order)}"
        return rf"$\displaystyle {notebook.equation(self)}{order}$"

    def _latex(self, printer: Any) -> str:
        """Return the LaTeX that SymPy prints for the curve inside a formula."""
        return notebook.latex(self)

    @staticmethod
    def simplify_product(factors: Factors, new: Factors) -> Factors:
        """Simplify a product by the table of identities, which imports the families."""
        return closed_forms.simplified(factors, new)


class _BoundsMethods(BoundsView):
    def renyi(self, order: Number) -> Bounds[float]:
        """Bound the Renyi divergence D_a(P || Q), a in (0, inf], in nats (van Erven, Harremoes 2014)."""
        if parameters.is_symbol(order) or self._curve.free_symbols:
            answer = self._curve.formula_at("order", order)
            return bounds.Bounds(answer, answer)
        self._curve.require_numbers()
        checked = parameters.number("order", order, 0, math.inf, open_low=True)
        if parameters.MAX_ORDER < checked < math.inf:
            raise errors.domain("order", order, f"in (0, {parameters.MAX_ORDER:g}] or infinite")
        return divergence.renyi(self._curve, checked)

    def divergence(self, function: str | Callable[[float], float]) -> Bounds[float]:
        r"""Bound :math:`\int F(dP/dQ) \, dQ`, F a convex function or its name (Liese, Vajda 2006)."""
        self._curve.require_numbers()
        return divergence.divergence(self._curve, function)


def _attach(source: type, target: type, owner: str) -> None:
    for name, method in vars(source).items():
        if callable(method):
            getattr(method, "__func__", method).__qualname__ = f"{owner}.{name}"
        if callable(method) or isinstance(method, property):
            setattr(target, name, method)


_attach(_CurveMethods, CurveMethods, "TradeOff")
_attach(_BoundsMethods, BoundsMethods, "BoundsView")
