"""Methods of other rooms, attached to every curve with documentation of their own; parameters."""

import copy
import inspect
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy

import tradeoff as to
from tradeoff import _attached as attached
from tradeoff import _methods
from tradeoff.curves.parameters import workers
from tradeoff.curves.query import BoundsView
from tradeoff.errors import DomainError, SymbolError

OWNERS = [(to.TradeOff, attached.CurveMethods), (BoundsView, attached.BoundsMethods)]
PUBLIC = [
    (owner, name)
    for owner, methods in OWNERS
    for name in vars(methods)
    if name.startswith("__") or not name.startswith("_")
]


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, name in PUBLIC if callable(getattr(owner, name))]
)
def test_attached_method_has_docstring_and_signature(owner, name):
    method = getattr(owner, name)
    if method.__module__ == _methods.__name__:
        assert method.__doc__
        assert method.__qualname__ == f"{owner.__name__}.{name}"
        assert inspect.signature(method).parameters


def test_attached_methods_are_those_of_the_stub():
    stub = Path(attached.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    declared = {line.split("(")[0].split()[-1] for line in stub.splitlines() if line.startswith("    def ")}
    assert declared == {
        name
        for _, methods in OWNERS
        for name, value in vars(methods).items()
        if callable(value) or isinstance(value, property)
    }


FIRST_CALL = (
    "import sys, tradeoff as to; loaded = lambda name: name in sys.modules; "
    "assert not loaded('numpy') and not loaded('tradeoff.curves.contract'); f = to.Gaussian(1); "
    "assert not loaded('tradeoff.operators.order'); f.distance(f); assert loaded('tradeoff.operators.order')"
)
ALONE = "from tradeoff.families.gaussian import Gaussian; assert ~Gaussian(1) == Gaussian(1).group(1)"


@pytest.mark.parametrize("code", [FIRST_CALL, ALONE], ids=["first call", "module alone"])
def test_methods_are_attached_in_a_new_process(code):
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_curves_and_bound_methods_survive_pickle_and_copy():
    f = to.Gaussian(1) @ to.Laplace(0.1)
    f.epsilon(1e-5)
    for g in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
        assert g == f
        assert g.delta(1.0) == f.delta(1.0)
    assert pickle.loads(pickle.dumps(f.group))(1) == f


def test_changes_keep_that_a_curve_is_not_exact():
    bound = to.mechanisms.PureDP(1).curve()
    for changed in (~bound, bound.group(1), bound.subs({}), bound.symbolic()):
        assert not changed.exact


@pytest.mark.parametrize(
    "value",
    [0.5, np.float32(0.5), Fraction(1, 2), Decimal("0.5"), sympy.Rational(1, 2), np.array(0.5)],
    ids=repr,
)
def test_parameter_of_any_number_type_is_its_float(value):
    for family, name in ((to.Gaussian, "mu"), (to.PureDP, "epsilon_0"), (to.Laplace, "epsilon_0")):
        kept = getattr(family(value), name)
        assert (type(kept), kept) == (float, 0.5)
        assert family(value) == family(0.5)
    third = Fraction(1, 3)
    assert (to.Gaussian(third).mu, to.PureDP(Decimal("0.1")).epsilon_0) == (1 / 3, 0.1)  # the nearest floats
    curve = to.PiecewiseLinear([0, third, 1], [1, third, 0])  # which a polygon in fractions keeps
    assert (curve(third), type(curve(third))) == (third, Fraction)


def test_formula_is_kept_until_substituted():
    mu = sympy.Symbol("mu", positive=True)
    assert to.Gaussian(mu).mu == mu
    assert to.Gaussian(2 * mu).subs({mu: 0.5}) == to.Gaussian(1.0)
    with pytest.raises(SymbolError, match="jobs must be an integer, got the symbol mu; substitute it"):
        workers("jobs", mu)


@pytest.mark.parametrize("value", ["0.5", b"1", None, True, np.True_, 1j, [0.5], np.datetime64("2020")])
def test_parameter_that_is_not_one_real_number_is_refused(value):
    for build in (to.Gaussian, to.Laplace, to.PureDP, to.TotalVariation):
        with pytest.raises(DomainError, match=r"^\w+ must be one real number, got "):
            build(value)
