import json
import math
import re
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest
import scipy.stats
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import curves, exact_curves, float_curves
from tradeoff import mechanisms as m
from tradeoff.curves.hooks import ENVELOPE
from tradeoff.errors import DomainError, TradeOffError
from tradeoff.report.answers import answer_query
from tradeoff.spec.saved_file import FILES

STEP = to.subsample(to.Gaussian(1 / 1.1), 0.01)
PLAN = to.Plan({m.SubsampledGaussian(1.1, 0.01): 100, m.Laplace(scale=3): 2})
THIRD = Fraction(1, 3)
THINGS = [
    *(to.Identity(), to.PureDP(0.7), to.Laplace(0.1), to.TotalVariation(0.1), to.approximate_dp(1, 1e-5)),
    *(to.Gaussian(1 / 3), to.Gaussian(math.inf), to.Gaussian(0.1) ** 100, to.TotalVariation(1e-17) ** 3),
    *(to.Laplace(0.3).group(3), to.Laplace(0.8293828791580945).group(3).group(3)),
    *(m.DiscreteGaussian(3, 2).curve(), m.DiscreteLaplace(3, 2).curve(), m.Skellam(4.0).curve()),
    *(m.BinomialNoise(16).curve(), m.ExponentialMechanism(1.0).curve()),
    *(m.TruncatedLaplace(1, bound=5).curve(), m.RandomAllocation(noise_multiplier=1.0, steps=10).curve()),
    m.ShuffledRandomizers(epsilon=1.0, records=100).curve(),
    m.ShuffledRandomizers(1.0, 100, 10, 3).curve(),
    m.ShuffledRandomizers(1.0, 9, randomizer="rappor").pair(),
    to.GaussianMixtures({0: 1}, {0: Fraction(9, 10), 1: Fraction(1, 10)}, 0.7),
    to.LocationShift(scipy.stats.gumbel_r(scale=2), 1),
    to.PiecewiseLinear([0, THIRD, 1], [1, THIRD, 0]),
    to.PiecewiseLinear([0.0, 1e-300, 1 - 1e-16, 1.0], [1.0, 1 - 1e-16, 1e-300, 0.0]),
    *(to.PiecewiseLinear([0.0], [0.0]), STEP, ~STEP, STEP**14062 @ to.Laplace(0.1) ** 7),
    reduce(to.subsample, (0.9, 0.8, 0.7, 0.3, 0.1, 0.6), to.Laplace(1.0)),
    reduce(to.subsample, (0.5, 1e-300, 1e-300), to.PiecewiseLinear([0, THIRD, 1], [1, THIRD, 0])),
    *(STEP.symmetrise(assume=name) for name in ("either-order", "both-orders", "profile")),
    to.mixture({to.Gaussian(1): 0.3, to.Laplace(0.1): 0.3, STEP: 0.4}),
    ~to.mixture({STEP: 1 / 3, to.Gaussian(1): 2 / 3}),
    to.minimum(to.Gaussian(1), to.Laplace(2)),
    (STEP**3).symmetrise(assume="either-order").group(3),
    ~(to.LocationShift(scipy.stats.gumbel_r(), 1) ** 2),
    *(PLAN, to.Plan({}, "replace-one"), m.TreeAggregation(2.0, steps=8, restarts=(4,))),
    to.Plan({m.Custom(STEP, adjacency="add-remove"): 3, m.Subsampled(m.Laplace(scale=1), 0.5): 1}),
    to.spec.PlanFile("x", PLAN, delta=(1e-5,), epsilon=(math.inf,)),
    *(to.Bounds(-math.inf, math.inf), (to.Gaussian(1), PLAN), to.Bounds(-THIRD, THIRD)),
    answer_query(to.Gaussian(1), delta=[0, 1e-5], epsilon=[1.0], alpha=[0.1]),
]
RESULTS = {
    "reduction": lambda: to.PureDP(1).gdp(),
    "reduction without a tight alpha": lambda: to.Laplace(1).gdp(failure=1),
    "calibration": lambda: to.calibrate(lambda s: to.Gaussian(1 / s), {"epsilon": 1, "delta": 1e-2}, tol=0.1),
    "allocation": lambda: to.allocate([m.Laplace(scale=1), m.Laplace(scale=2)], {"epsilon": 1, "delta": 0}),
    "sweep": lambda: to.sweep(lambda x: to.Bounds(x, x + 1), {"x": [1, 2]}),
    "sensitivities": lambda: to.Laplace(0.5).sensitivities(delta=1e-5),
    "baseline": lambda: to.baselines.basic_composition(0.1, n=3),
    "audit": lambda: to.audits.one_run(90, 100, 1000),
    "refutation": lambda: to.audits.one_run(90, 100, 1000).refutes(to.Gaussian(0.5)),
}


def round_trip(thing):
    return FILES.loads(FILES.dumps(thing))


@pytest.mark.parametrize("thing", [*THINGS, *RESULTS], ids=lambda thing: repr(thing)[:40])
def test_load_returns_what_was_saved(thing, tmp_path):
    thing = RESULTS[thing]() if isinstance(thing, str) else thing
    to.save(thing, tmp_path / "it.json")
    assert to.load(tmp_path / "it.json") == thing


ENVELOPES = [
    m.Custom(to.PiecewiseLinear([0, 0.3, 1], [0.9, 0.35, 0])).guarantee(),  # a polygon of both orders
    m.SubsampledGaussian(1, 0.1).guarantee(),
    m.DiscreteGaussianVector(2, 4, 3).curve(),
]


@pytest.mark.parametrize("curve", ENVELOPES, ids=repr)
def test_load_keeps_the_tightness_of_an_envelope(curve):
    result = round_trip(curve)
    assert json.loads(FILES.dumps(curve))["tradeoff"]["envelope"] is True
    assert result.tightness == curve.tightness == ENVELOPE
    assert not (result**2).exact
    assert not (curve**2).exact
    assert (result @ result).bounds.epsilon(0.9) == (curve @ curve).bounds.epsilon(0.9)


@pytest.mark.parametrize(("name", "mark"), [("exact", "false"), ("envelope", "true")])
@pytest.mark.parametrize("value", [True, False, 0, 1, "false", [], None])
def test_loads_refuses_other_values_of_exact_and_envelope(name, mark, value):
    text = json.dumps({"schema": 1, "tradeoff": {"kind": "gaussian", "mu": 1, name: value}})
    if json.dumps(value) == mark:
        assert FILES.loads(text) == to.Gaussian(1)
        return
    with pytest.raises(DomainError, match=re.escape(f"tradeoff.{name} must be {mark} or left out, got")):
        FILES.loads(text)


@settings(deadline=None)
@given(st.one_of(curves, exact_curves, float_curves))
def test_load_returns_any_saved_curve(curve):
    assert round_trip(curve) == curve


def test_saved_file_is_plain_json_that_keeps_exactness_and_numbers(tmp_path):
    to.save(to.Gaussian(0.1) @ to.TotalVariation(0.25), tmp_path / "it.json")
    factors = [[{"kind": "gaussian", "mu": 0.1}, 1], [{"kind": "total-variation", "delta": 0.25}, 1]]
    saved = json.loads((tmp_path / "it.json").read_text(encoding="utf-8"))
    assert saved == {"schema": 1, "tradeoff": {"kind": "product", "factors": factors}}
    for side in STEP.tabulate():
        back = round_trip(side)
        assert back.vertices == side.vertices
        assert all((one == two).all() for one, two in zip(back.points, side.points, strict=True))
    data = {"kind": "mechanism/laplace", "scale": 1.0}
    for _ in range(300):
        data = {"kind": "mechanism/subsampled", "mechanism": data, "sample_rate": 0.5}
    with pytest.raises(DomainError, match="must nest at most 16") as error:
        FILES.loads(json.dumps({"schema": 1, "tradeoff": data}))
    assert len(str(error.value)) < 500
    for title in ("1/2", "inf", "-inf", "3/0", "'quoted'", "'inf", "''1/2", "nan", ""):
        assert round_trip(to.spec.PlanFile(title, PLAN)).title == title
    numbers = [np.array(0.5), np.float32(0.1), np.int64(7), -np.float64("inf"), np.True_]
    assert round_trip(numbers) == (0.5, float(np.float32(0.1)), 7, -math.inf, True)
    for shape in ([0.1, 0.2], [[0.1], [0.2]]):
        bounds = to.Gaussian(1).bounds(shape)
        for side, again in zip(bounds, round_trip(bounds), strict=True):
            assert np.array_equal(side, again)
    for curve in (m.PureDP(1.0).curve(), to.conversions.from_zcdp(0.5)):
        assert json.loads(FILES.dumps(curve))["tradeoff"]["exact"] is False
        assert repr(round_trip(curve)) == repr(curve)
        assert not round_trip(curve).exact
    assert round_trip(to.Gaussian(1)).exact
    alpha = [0.0, 0.2, 0.4, 1.0]
    for beta in ([0.9, 0.5, 0.45, 0.0], [0.9, 0.25, -0.5, 0.0], [1.5, 0.5, 0.25, 0.0]):
        data = {"kind": "piecewise-linear", "alpha": alpha, "beta": beta}
        data |= {"one_minus_alpha": [1 - x for x in alpha], "one_minus_beta": [1 - y for y in beta]}
        with pytest.raises(DomainError, match="vertices of a convex curve"):
            FILES.decode(data, "it")


ENDLESS = []
ENDLESS.append(ENDLESS)


UNSAVED = {
    "a symbol": lambda: to.Gaussian(sympy.Symbol("m")),
    "a formula": lambda: to.Gaussian(1).symbolic(),
    "an assumption": lambda: to.LocationShift(scipy.stats.exponnorm(1.0), 1, assume_log_concave=True),
    "an assumed pair": lambda: to.from_scipy(scipy.stats.t(3), scipy.stats.t(3, loc=1)),
    "an assumed polygon": lambda: to.PiecewiseLinear([0, 1], [1, 0]).assuming("it is so"),
    "NaN": lambda: math.nan,
    "a complex number": lambda: 2 + 3j,
    "a masked array": lambda: np.ma.array([1.0, 2.0], mask=[0, 1]),
    "an object": object,
    "a long fraction": lambda: Fraction(1, 10**5000),
    "half of a surrogate pair": lambda: "\ud800",
    "an endless list": lambda: ENDLESS,
    "a mechanism of a subclass": lambda: type("Mine", (m.Laplace,), {})(1.0),
}


@pytest.mark.parametrize("name", UNSAVED)
def test_save_of_an_object_without_a_form_raises_and_writes_nothing(name, tmp_path):
    with pytest.raises(DomainError, match=r"cannot be (saved|written)|must be a curve") as error:
        to.save(UNSAVED[name](), tmp_path / "it.json")
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


# Contents of a file, or of its "tradeoff", and the error; G is a curve, P the start of a polygon in floats.
WRONG_FILES = """
[] => a saved file must hold {"schema": 1
{"schema": 2, "tradeoff": 1} => schema must be 1, got 2
{ => the text is not that of a saved file: Expecting
"""
WRONG_THINGS = """
{"kind": "gaussian"} => tradeoff.mu must be
{"kind": "gaussian", "mu": -1} => tradeoff.mu must be in [0, inf], got -1
{"kind": "gaussian", "mu": "1"} => tradeoff.mu must be one real number, got '1'
{"kind": "gaussian", "muu": 2} => tradeoff.muu is not known; allowed: mu, square; did you mean mu?
{"kind": ["gaussian"]} => tradeoff.kind = ['gaussian'] is not known
1e999 => 1e999 is outside the range of floats
{"kind": "gaussian", "mu": 1e-999} => 1e-999 is outside the range of floats
{"kind": "product", "factors": [[1, 2]]} => tradeoff: 1 is not a trade-off function
{"kind": "product", "factors": [G]} => tradeoff: cannot unpack
{"kind": "product", "factors": [[G, 0]]} => tradeoff.factors must be
{"kind": "product", "factors": [[{"kind": "gaussian", "mu": -1}, 1]]} => tradeoff.factors[1][1].mu
{"kind": "subsampled", "curve": G, "rate": 2, "flipped": false} => tradeoff.rate must be
{"kind": "subsampled", "curve": G, "rate": 0.5, "flipped": 1} => tradeoff.flipped must be
{"kind": "subsampled", "curve": G, "rate": 0.5} => tradeoff.flipped is missing
{"kind": "mixture", "curves": [G, G], "weights": [0.5, 0.5]} => add to 1, got 0.5
{"kind": "inverse", "curve": 3} => not a trade-off function
{"kind": "gaussian", "square": "-1/2"} => tradeoff.square must be
{"kind": "total-variation"} => tradeoff.delta must be
{"kind": "piecewise-linear", "alpha": [0, "1e9999999", 1], "beta": [1, 0.5, 0]} => 1e9999999
{"kind": "piecewise-linear", "alpha": [0, 0.3, 0.5, 1], "beta": [1, 0.3, 0.29, 0]} => convex
P, "one_minus_alpha": [1, 0.5], "one_minus_beta": [0, 1]} => one_minus_alpha must be 1
{"kind": "location-shift", "law": "os", "arguments": [], "shift": 1} => tradeoff.law must be
{"kind": "location-shift", "law": "exponnorm", "arguments": [["K", 1]], "shift": 1} => log-concave
{"kind": "gaussian-mixtures", "null": [[0, 0.7]], "alternative": [[1, 1]], "sigma": 1} => add
{"kind": "plan", "runs": [[1, 1]], "adjacency": "add-remove"} => must be one of tradeoff.mechanisms, got 1
{"kind": "plan", "runs": [[L, 9], [L, 1]], "adjacency": "add-remove"} => runs must not repeat a mechanism
{"kind": "mechanism/laplace", "scale": -1} => tradeoff.scale must be in (0, inf]
{"kind": "table", "columns": ["cost"], "rows": [[1, 2]]} => rows must be tuples
{"kind": "bounds", "lower": [0, 2], "upper": 3} => tradeoff.lower must be at or below upper
{"kind": "plan-file", "title": "", "plan": 3} => tradeoff.plan must be
"""
SHORT = {
    "G": '{"kind": "gaussian", "mu": 1}',
    "L": '{"kind": "mechanism/laplace", "scale": 1.0}',
    "P": '{"kind": "piecewise-linear", "alpha": [0, 1], "beta": [1, 0]',
}


def rows(table):
    table = re.sub(r"\b[GLP]\b", lambda name: SHORT[name[0]], table)
    return [line.split(" => ") for line in table.strip("\n").splitlines()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *rows(WRONG_FILES),
        *((f'{{"schema": 1, "tradeoff": {thing}}}', message) for thing, message in rows(WRONG_THINGS)),
        ("[" * 100_000, "too deeply"),
        ("1" * 5000, "4300"),
    ],
    ids=lambda value: value[26:60],
)
def test_load_of_a_wrong_file_names_place_and_reason(text, message, tmp_path):
    (path := tmp_path / "it.json").write_text(text, encoding="utf-8")
    with pytest.raises(DomainError) as error:
        to.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", [3, None, {}, b"curve.json", 1.5, "a\0b", object()])
@pytest.mark.parametrize("function", [to.load, partial(to.save, to.Gaussian(1)), to.spec.load])
def test_functions_of_files_refuse_a_non_path(function, path):
    message = r"^path must be a text or a pathlib\.Path without null characters, got "
    with pytest.raises(TradeOffError, match=message):
        function(path)
