"""Uses that type-check, with the types they should have; they run, too."""

from typing import Any, assert_type

import numpy as np
import sympy
from numpy.typing import NDArray

import tradeoff as to
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.gdp.reduction import Reduction
from tradeoff.operators.tabulate import Tabulated

Array = NDArray[np.float64]


def a_float_gives_a_float(f: to.TradeOff) -> None:
    assert_type(f(0.1), float)
    assert_type(f.delta(1), float)
    assert_type(f.epsilon(np.float64(1e-5), tol=1e-3), float)
    assert_type(f.bounds(0.1), to.Bounds[float])
    assert_type(f.bounds.delta(1.0).upper, float)
    assert_type(f.bounds.epsilon(1e-5, method="lattice").lower, float)
    assert_type(f.dual()(1.0), float)
    assert_type(f.dual().conjugate(-1.0), float)
    assert_type(f.law.cdf(0.0), to.Bounds[float])


def an_array_gives_an_array(f: to.TradeOff) -> None:
    assert_type(f([0.1, 0.2]), Array)
    assert_type(f.delta(np.linspace(0, 1, 3)), Array)
    assert_type(f.epsilon([[1e-5], [1e-6]]), Array)
    assert_type(f.bounds([0.1, 0.2]), to.Bounds[Array])
    assert_type(f.bounds.delta([0, 1]).upper, Array)
    assert_type(f.bounds.epsilon(np.array([1e-5])).lower, Array)
    assert_type(f.dual().bounds([1.0]), to.Bounds[Array])
    assert_type(f.law.cdf([0.0]), to.Bounds[Array])


def the_algebra_is_typed(f: to.TradeOff) -> None:
    assert_type(f @ f, to.TradeOff)
    assert_type(f**3, to.TradeOff)
    assert_type(~f, to.TradeOff)
    assert_type(f >= f @ f, bool)
    assert_type(f.symmetrise(assume="either-order"), to.TradeOff)
    assert_type(f.distance(f), to.Bounds[float])
    assert_type(f.gdp(), Reduction)
    assert_type(f.gdp().mu, float)
    assert_type(f.tabulate(), Tabulated)
    assert_type(f.lower, PiecewiseLinear)
    assert_type(f.mass_at_infinity.upper, float)
    assert_type(to.mixture({f: 0.5, to.Identity(): 0.5}), to.TradeOff)


def symbols_are_parameters() -> None:
    mu = sympy.Symbol("mu", positive=True)
    f = to.Gaussian(mu) @ to.Gaussian(3)
    assert_type(f.subs({mu: 4}), to.TradeOff)
    assert_type(f.symbolic(), to.Symbolic)
    assert_type(to.approximate_dp(mu, 0.1), to.TradeOff)
    free: frozenset[Any] = f.free_symbols
    assert free == {mu}
