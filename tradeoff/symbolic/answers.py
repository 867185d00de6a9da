"""Answers with symbols: looked up in tables, refused in words where no closed form is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

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

# The closed form that answers a question, by the name of what is asked at.
FIELDS = {"alpha": "value", "epsilon": "profile", "delta": "epsilon"}


def answer(curve: TradeOff, name: str, at: Any) -> Any:
    """Return f(alpha), delta(epsilon) or epsilon(delta) as an expression, ``name`` being what is given."""
    found = getattr(form(curve), FIELDS[name])
    if found is None:
        raise unknown(f"{FIELDS[name]} at {name} = {at}", curve)
    return found(convert_number(at))


def unknown(what: str, curve: TradeOff) -> NoClosedForm:
    """Return the error of a question without closed form."""
    return NoClosedForm(
        f"no formula of the {what} is known for {curve!r}; put in numbers, with .subs({{...}})"
    )


def bayes_risk(curve: TradeOff, prior: Any) -> Any:
    """Return min over alpha of prior alpha + (1 - prior) f(alpha): the profile at log(prior/(1 - prior))."""
    return (1 - prior) * (1 - answer(curve, "epsilon", sympy.log(prior / (1 - prior))))


class Closed(NamedTuple):
    """What one parameter decides: the least mu with f >= G_mu, the moments of L under P, the divergences."""

    mu: Callable[[Any], Any]
    kl: Callable[[Any], Any]
    kappa2: Callable[[Any], Any]
    kappa3: Callable[[Any], Any]
    kappa3bar: Callable[[Any], Any]
    renyi: Callable[[Any, Any], Any]


def _gaussian(mu: Any) -> Any:
    """Return E|L|^3, as of a normal law."""
    a = mu / 2
    density = sympy.exp(-(a**2) / 2) / sympy.sqrt(2 * sympy.pi)
    return mu**3 * ((a**3 + 3 * a) * sympy.erf(a / sympy.sqrt(2)) + 2 * (a**2 + 2) * density)


def _laplace(e: Any, centre: Any = 0) -> Any:
    """Return E|L + centre|^3, L = 2 x - e with density e^-x/2 in (0, e) and atoms 1/2 at -e, e^-e/2 at e."""
    low, high = centre - e, centre + e
    first, last = (v**3 + 6 * v**2 + 24 * v + 48 for v in (low, high))
    between = 96 * sympy.exp(low / 2) - first - sympy.exp(-e) * last
    return (between - low**3 + sympy.exp(-e) * high**3) / 2


def _renyi_of_laplace(e: Any, a: Any) -> Any:
    """Return D_a (Mironov 2017, Proposition 6), and its limit at 1/2."""
    if a == sympy.Rational(1, 2):
        return e - 2 * sympy.log(1 + e / 2)
    return sympy.log((a * sympy.exp((a - 1) * e) + (a - 1) * sympy.exp(-a * e)) / (2 * a - 1)) / (a - 1)


def _fixed_point(alpha: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return mu = 2 Phi^-1(1 - alpha), f(alpha) = alpha, where f >= G_mu is decided."""
    return lambda parameter: 2 * sympy.sqrt(2) * sympy.erfinv(1 - 2 * alpha(parameter))


@lru_cache(maxsize=1)
def table() -> Mapping[type, Closed]:
    """Return the closed forms of the families of one parameter (Dong, Roth, Su 2022, Section 3.2)."""
    exp, log, tanh, root = sympy.exp, sympy.log, sympy.tanh, sympy.sqrt
    return {
        Gaussian: Closed(
            mu=lambda m: m,
            kl=lambda m: m**2 / 2,
            kappa2=lambda m: m**2 + m**4 / 4,
            kappa3=_gaussian,
            kappa3bar=lambda m: m**3 * root(8 / sympy.pi),
            renyi=lambda m, a: a * m**2 / 2,
        ),
        PureDP: Closed(
            mu=_fixed_point(lambda e: 1 / (1 + exp(e))),
            kl=lambda e: e * tanh(e / 2),
            kappa2=lambda e: e**2,
            kappa3=lambda e: e**3,
            kappa3bar=lambda e: e**3 * (1 - tanh(e / 2) ** 4),
            renyi=lambda e, a: log((exp(a * e) + exp((1 - a) * e)) / (1 + exp(e))) / (a - 1),
        ),
        Laplace: Closed(
            mu=_fixed_point(lambda e: exp(-e / 2) / 2),
            kl=lambda e: e - 1 + exp(-e),
            kappa2=lambda e: e**2 - 2 * e + 4 - (2 * e + 4) * exp(-e),
            kappa3=_laplace,
            kappa3bar=lambda e: _laplace(e, e - 1 + exp(-e)),
            renyi=_renyi_of_laplace,
        ),
        Identity: Closed(*(lambda _: sympy.Integer(0),) * 5, renyi=lambda _, a: 0 * a),
        TotalVariation: Closed(
            *(lambda _: sympy.oo,) * 5,
            renyi=lambda d, a: sympy.Piecewise((log(1 - d) / (a - 1), a < 1), (sympy.oo, True)),
        ),
    }


def members(curve: TradeOff) -> list[tuple[TradeOff, Any]]:
    """Return factors and how often each is run, which may be a symbol."""
    every = curve.factors.items()
    return [(f.each[0], n * f.each[1]) if hasattr(f, "each") else (f, n) for f, n in every]


def closed(curve: TradeOff, field: str, *at: Any) -> Any:
    """Return a field of the table for a family of one parameter."""
    if type(curve) not in table():
        raise unknown(field, curve)
    parameter = convert_number(getattr(curve, getattr(type(curve), "parameter", ""), 0))
    return getattr(table()[type(curve)], field)(parameter, *at)


def summed(curve: TradeOff, field: str, *at: Any) -> Any:
    """Return the sum of a field over the factors."""
    return sum(n * closed(f, field, *at) for f, n in members(curve))


def renyi(curve: TradeOff, order: Any) -> Any:
    """Return the divergence of an order in (0, inf), in nats: KL(P || Q) at 1."""
    if not is_symbol(order):
        number("order", order, 0, open_low=True, open_high=True)
    order = convert_number(order)
    return summed(curve, "kl") if order == 1 else summed(curve, "renyi", order)


def least_mu(curve: TradeOff) -> Any:
    """Return the least mu with f >= G_mu, of one family: products have no closed one."""
    ((f, n), *more) = members(curve)
    if more or n != 1:
        raise unknown("least mu", curve)
    return closed(f, "mu")


def clt_mu(curve: TradeOff) -> Any:
    """Return 2 sum kl/sqrt(sum kappa2 - sum kl^2) of symmetric factors, but for what leaks (Theorem 3.5)."""
    kept = [(f, n) for f, n in members(curve) if not isinstance(f, TotalVariation)]
    gap = 2 * sum(n * closed(f, "kl") for f, n in kept)
    variance = sum(n * (closed(f, "kappa2") - closed(f, "kl") ** 2) for f, n in kept)
    return gap / sympy.sqrt(variance) if gap != 0 else sympy.Integer(0)
