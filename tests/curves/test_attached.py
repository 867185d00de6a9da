"""Methods of other rooms: attached to every curve, with the documentation and imports of their own."""

import copy
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tradeoff as to
from tradeoff import _attached as attached
from tradeoff import _methods
from tradeoff.curves.query import BoundsView

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


def test_first_call_imports_the_operator():
    code = (
        "import sys, tradeoff as to; loaded = lambda name: name in sys.modules; "
        "assert not loaded('numpy') and not loaded('tradeoff.curves.contract'); f = to.Gaussian(1); "
        "assert not loaded('tradeoff.operators.order'); f.distance(f); "
        "sys.exit(not loaded('tradeoff.operators.order'))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_curve_of_module_imported_alone_has_methods():
    code = "from tradeoff.families.gaussian import Gaussian; assert ~Gaussian(1) == Gaussian(1).group(1)"
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
