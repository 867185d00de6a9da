"""Answers at symbols, from tables of closed forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import is_symbol, number
from tradeoff.errors import NoClosedForm
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.later import sympy
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.symbolic.evaluate import convert_number
from tradeoff.symbolic.forms import form

_FIELDS = {"alpha": "value", "epsilon": "profile", "delta": "epsilon"}  # closed form by argument


def answer(curve: TradeOff, name: str, at: Any) -> Any:
    """Return f(alpha), delta(epsilon) or epsilon(delta) as an expression, ``name`` being the argument's."""
    formula = getattr(form(curve), _FIELDS[name])
    if formula is None:
        raise _unknown(f"{_FIELDS[name]} at {name} = {at}", curve)
    return formula(convert_number(at))


def _unknown(name: str, curve: TradeOff) -> NoClosedForm:
    remedy = "substitute numbers first, with .subs({...})"
    return NoClosedForm(f"no formula of the {name} is known for {curve!r}; {remedy}")


def bayes_risk(curve: TradeOff, prior: Any) -> Any:
    """Return min over alpha of prior alpha + (1 - prior) f(alpha): the profile at log(prior/(1 - prior))."""
    return (1 - prior) * (1 - answer(curve, "epsilon", sympy.log(prior / (1 - prior))))


def _renyi_of_laplace(e: Any, a: Any) -> Any:
    """Return D_a (Mironov 2017, Proposition 6), and its limit at 1/2."""
    if a == sympy.Rational(1, 2):
        return e - 2 * sympy.log(1 + e / 2)
    return sympy.log((a * sympy.exp((a - 1) * e) + (a - 1) * sympy.exp(-a * e)) / (2 * a - 1)) / (a - 1)


def _from_fixed_point(alpha: Any) -> Any:
    """Return mu = 2 Phi^-1(1 - alpha), where f(alpha) = alpha decides f >= G_mu."""
    return 2 * sympy.sqrt(2) * sympy.erfinv(1 - 2 * alpha)


@lru_cache(maxsize=1)
def _table() -> Mapping[type, Mapping[str, Callable[..., Any]]]:
    """Return functions of the parameter of a family (Dong, Roth, Su 2022, Section 3.2).

    They are the least mu with f >= G_mu, E_P[-L], E_P[L^2], and D_order in nats.
    """
    exp, log, zero = sympy.exp, sympy.log, sympy.Integer(0)
    return {
        Gaussian: {
            "mu": lambda m: m,
            "kl": lambda m: m**2 / 2,
            "kappa2": lambda m: m**2 + m**4 / 4,
            "renyi": lambda m, a: a * m**2 / 2,
        },
        PureDP: {
            "mu": lambda e: _from_fixed_point(1 / (1 + exp(e))),
            "kl": lambda e: e * sympy.tanh(e / 2),
            "kappa2": lambda e: e**2,
            "renyi": lambda e, a: log((exp(a * e) + exp((1 - a) * e)) / (1 + exp(e))) / (a - 1),
        },
        Laplace: {
            "mu": lambda e: _from_fixed_point(exp(-e / 2) / 2),
            "kl": lambda e: e - 1 + exp(-e),
            "kappa2": lambda e: e**2 - 2 * e + 4 - (2 * e + 4) * exp(-e),
            "renyi": _renyi_of_laplace,
        },
        Identity: dict.fromkeys(("mu", "kl", "kappa2", "renyi"), lambda *_: zero),
        TotalVariation: {
            **dict.fromkeys(("mu", "kl", "kappa2"), lambda _: sympy.oo),
            "renyi": lambda d, a: sympy.Piecewise((log(1 - d) / (a - 1), a < 1), (sympy.oo, True)),
        },
    }


def _powers(curve: TradeOff) -> list[tuple[TradeOff, Any]]:
    """Return factors and their powers, which may be symbols."""
    factors = curve.factors.items()
    return [(f.each[0], n * f.each[1]) if hasattr(f, "each") else (f, n) for f, n in factors]


def _closed(curve: TradeOff, field: str, *at: Any) -> Any:
    formula = _table().get(type(curve), {}).get(field)
    if formula is None:
        raise _unknown(field, curve)
    return formula(convert_number(getattr(curve, getattr(curve, "parameter", ""), 0)), *at)


def summed(curve: TradeOff, field: str, *at: Any) -> Any:
    """Return the sum of a field of the table over the factors."""
    return sum(n * _closed(f, field, *at) for f, n in _powers(curve))


def renyi(curve: TradeOff, order: Any) -> Any:
    """Return the divergence of an order in (0, inf), in nats: KL(P || Q) at 1."""
    if not is_symbol(order):
        number("order", order, 0, open_low=True, open_high=True)
    order = convert_number(order)
    return summed(curve, "kl") if order == 1 else summed(curve, "renyi", order)


def least_mu(curve: TradeOff) -> Any:
    """Return the least mu with f >= G_mu, of one family: products have no closed one."""
    ((f, n), *more) = _powers(curve)
    if more or n != 1:
        raise _unknown("least mu", curve)
    return _closed(f, "mu")


def clt_mu(curve: TradeOff) -> Any:
    """Return 2 sum kl/sqrt(sum kappa2 - sum kl^2) of symmetric factors but f_{0,delta} (Theorem 3.5)."""
    powers = [(f, n) for f, n in _powers(curve) if not isinstance(f, TotalVariation)]
    gap = 2 * sum(n * _closed(f, "kl") for f, n in powers)
    variance = sum(n * (_closed(f, "kappa2") - _closed(f, "kl") ** 2) for f, n in powers)
    return gap / sympy.sqrt(variance) if gap != 0 else sympy.Integer(0)
