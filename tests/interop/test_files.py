"""Curves, plans and answers in files: they come back equal, and what is no such file is one sentence."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import sympy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tradeoff.certificates.verify.__main__ import main

import tradeoff as to
from tests.strategies import curves, exact_curves, float_curves
from tradeoff import files, whole_files
from tradeoff.errors import DomainError, TradeOffError
from tradeoff.exchange import curves as exchange
from tradeoff.mechanisms import (
    KINDS,
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    RandomAllocation,
    ShuffledRandomizers,
    SubsampledGaussian,
)
from tradeoff.report.answers import ask
from tradeoff.spec import PlanFile

STEP = to.subsample(to.Gaussian(1 / 1.1), 0.01)
FAMILIES = [
    to.Identity(),
    to.Gaussian(1 / 3),
    to.Gaussian(math.inf),
    to.Gaussian(0.1) ** 100,
    to.Laplace(0.1),
    to.Laplace(0.3).group(3),
    to.Laplace(0.8293828791580945).group(3).group(3),
    to.PureDP(0.7),
    to.TotalVariation(0.1),
    to.TotalVariation(1e-17) ** 3,
    DiscreteGaussian(3, 2).curve(),
    DiscreteLaplace(3, 2).curve(),
    RandomAllocation(noise_multiplier=1.0, steps=10).curve(),
    ShuffledRandomizers(epsilon=1.0, records=100).curve(),
    to.GaussianMixtures({0: 1}, {0: Fraction(9, 10), 1: Fraction(1, 10)}, 0.7),
    to.LocationShift(scipy.stats.gumbel_r(scale=2), 1),
    to.PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0]),
    to.PiecewiseLinear([0.0, 1e-300, 1 - 1e-16, 1.0], [1.0, 1 - 1e-16, 1e-300, 0.0]),
]
OPERATORS = [
    STEP,
    reduce(to.subsample, (0.9, 0.8, 0.7, 0.3, 0.1, 0.6), to.Laplace(1.0)),
    ~STEP,
    STEP**14062 @ to.Laplace(0.1) ** 7,
    STEP.symmetrise(assume="either-order"),
    STEP.symmetrise(assume="both-orders"),
    STEP.symmetrise(assume="profile"),
    to.mixture({to.Gaussian(1): 0.3, to.Laplace(0.1): 0.3, STEP: 0.4}),
    ~to.mixture({STEP: 1 / 3, to.Gaussian(1): 2 / 3}),
    to.minimum(to.Gaussian(1), to.Laplace(2)),
    (STEP**3).symmetrise(assume="either-order").group(3),
    ~(to.LocationShift(scipy.stats.gumbel_r(), 1) ** 2),
    to.approximate_dp(1, 1e-5),
]
PLAN = to.Plan({SubsampledGaussian(1.1, 0.01): 100, Laplace(3): 2})
OTHERS = [
    PLAN,
    to.Plan({}, "replace-one"),
    to.spec.PlanFile("x", PLAN, delta=(1e-5,), epsilon=(math.inf,)),
    to.Bounds(-math.inf, math.inf),
    (to.Gaussian(1), PLAN),
    ask(to.Gaussian(1), delta=[0, 1e-5], epsilon=[1.0], alpha=[0.1]),
    Fraction(-1, 3),
    None,
]
RESULTS: dict[str, Callable[[], object]] = {
    "reduction": lambda: to.PureDP(1).gdp(),
    "reduction, nowhere tight": lambda: to.Laplace(1).gdp(failure=1),
    "calibration": lambda: to.calibrate(lambda s: to.Gaussian(1 / s), {"epsilon": 1, "delta": 1e-2}, tol=0.1),
    "allocation": lambda: to.allocate([Laplace(1), Laplace(2)], {"epsilon": 1, "delta": 0}),
    "sweep": lambda: to.sweep(lambda x: to.Bounds(x, x + 1), {"x": [1, 2]}),
    "sensitivities": lambda: to.Laplace(0.5).sensitivities(delta=1e-5),
    "baseline": lambda: to.baselines.basic_composition(0.1, n=3),
    "audit": lambda: to.audits.one_run(90, 100, 1000),
    "refutation": lambda: to.audits.one_run(90, 100, 1000).refutes(to.Gaussian(0.5)),
}
"""Made where they are tested: every worker collects all tests, and pays for what their lists compute."""


def around(thing: object, folder: Path) -> object:
    to.save(thing, folder / "it.json")
    return to.load(folder / "it.json")


@pytest.mark.parametrize("thing", [*FAMILIES, *OPERATORS, *OTHERS], ids=lambda thing: repr(thing)[:40])
def test_what_is_saved_comes_back_equal(thing: object, tmp_path: Path) -> None:
    assert around(thing, tmp_path) == thing


@pytest.mark.parametrize("name", RESULTS)
def test_results_come_back_equal(name: str, tmp_path: Path) -> None:
    thing = RESULTS[name]()
    assert around(thing, tmp_path) == thing


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.one_of(curves, exact_curves, float_curves))
def test_any_curve_comes_back_equal(tmp_path: Path, curve: to.TradeOff) -> None:
    assert around(curve, tmp_path) == curve


def test_whole_curves_come_back_to_the_last_bit(tmp_path: Path) -> None:
    for side in STEP.tabulate():
        back = around(side, tmp_path)
        assert back == side
        assert back.vertices == side.vertices
        assert all((one == two).all() for one, two in zip(back.points, side.points, strict=True))


def test_answers_do_not_change_on_the_way(tmp_path: Path) -> None:
    curve, deltas = STEP**1000 @ to.Laplace(0.1), np.array([1e-9, 1e-5, 0.3])
    before, after = curve.bounds.epsilon(deltas), around(curve, tmp_path).bounds.epsilon(deltas)
    assert (before.lower == after.lower).all()
    assert (before.upper == after.upper).all()


def test_every_kind_of_mechanism_has_a_form() -> None:
    assert {f"mechanism/{kind}" for kind in KINDS} <= files.CODEC.forms.keys()


@pytest.mark.parametrize("title", ["1/2", "inf", "-inf", "3/0", "'quoted'", "'", ""])
def test_texts_that_look_like_numbers_stay_texts(title: str, tmp_path: Path) -> None:
    plan = PlanFile(title, to.Plan({Laplace(1): 1}))
    to.save(plan, tmp_path / "plan.json")
    assert to.load(tmp_path / "plan.json") == plan


def test_a_file_is_plain_json_with_a_schema(tmp_path: Path) -> None:
    to.save(to.Gaussian(0.1) @ to.TotalVariation(0.25), tmp_path / "it.json")
    assert json.loads((tmp_path / "it.json").read_text(encoding="utf-8")) == {
        "schema": 1,
        "tradeoff": {
            "kind": "product",
            "curves": [{"kind": "gaussian", "mu": 0.1}, {"kind": "total-variation", "delta": 0.25}],
            "powers": [1, 1],
        },
    }


FORMLESS: dict[str, Callable[[], object]] = {
    "a symbol": lambda: to.Gaussian(sympy.Symbol("m")),
    "a formula": lambda: to.Gaussian(1).symbolic(),
    "an assumption": lambda: to.LocationShift(scipy.stats.exponnorm(1.0), 1, assume_log_concave=True),
    "no number": lambda: math.nan,
    "a complex number": lambda: 2 + 3j,
    "an object": object,
    "a class": lambda: [to.Gaussian],
    "a long fraction": lambda: Fraction(1, 10**5000),
    "a mass of long fractions": lambda: to.TotalVariation(1 / 3) ** 1000,
}


@pytest.mark.parametrize("name", FORMLESS)
def test_what_has_no_form_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    thing = FORMLESS[name]()
    with pytest.raises(DomainError) as error:
        to.save(thing, tmp_path / "it.json")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "it.json").exists()


def test_no_word_of_a_caller_is_taken_from_a_file() -> None:
    """LocationShift assumes log-concavity only where the code says so."""
    with pytest.raises(DomainError, match="log-concave"):
        files.CODEC.decode(
            {"kind": "location-shift", "law": "exponnorm", "names": ["K"], "values": [1.0], "shift": 1.0}
        )


SIDES = '{"kind": "piecewise-linear", "alpha": [0, 1], "beta": [1, 0]}'
GAUSSIAN = '{"kind": "gaussian", "mu": 1}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting"),
        ("{", "Expecting"),
        ("[]", "no file of tradeoff"),
        ('{"schema": 1}', "no file of tradeoff"),
        ('{"schema": 2, "tradeoff": 1}', "schema = 2"),
        ('{"schema": true, "tradeoff": 1}', "schema = True"),
        ('{"schema": 1, "schema": 1, "tradeoff": 1}', "twice"),
        ('{"kind": "gaussian"}', "either mu or square"),
        ('{"kind": "gaussian", "mu": -1}', "-1"),
        ('{"kind": "gaussian", "mu": "1"}', "'1'"),
        ('{"kind": "gaussian", "mu": [1]}', "(1,)"),
        ('{"kind": "gaussian", "mu": null}', "either mu or square"),
        ('{"kind": "gaussian", "mu": 1, "nu": 2}', "nu is unknown"),
        ('{"kind": "gausian", "mu": 1}', "gausian"),
        ('{"kind": ["gaussian"]}', "kind"),
        ('{"mu": 1}', "kind = None"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e999", "inf"),
        ('"1/0"', "divides by 0"),
        ("1" * 5000, "4300"),
        ("[" * 100_000, "deeply"),
        ('{"kind": "product", "curves": [1], "powers": [2]}', "not a trade-off function"),
        (f'{{"kind": "product", "curves": [{GAUSSIAN}], "powers": []}}', "product"),
        (f'{{"kind": "product", "curves": [{GAUSSIAN}], "powers": [0]}}', "power = 0"),
        (f'{{"kind": "subsampled", "curve": {GAUSSIAN}, "rate": 2, "flipped": false}}', "rate = 2"),
        (f'{{"kind": "subsampled", "curve": {GAUSSIAN}, "rate": 0.5, "flipped": 1}}', "flipped = 1"),
        (f'{{"kind": "mixture", "curves": [{GAUSSIAN}, {GAUSSIAN}], "weights": [0.5, 0.5]}}', "twice"),
        (f'{{"kind": "mixture", "curves": [{GAUSSIAN}], "weights": [0.5]}}', "add to 0.5"),
        ('{"kind": "laplace", "epsilon": 1.0, "shift": "1/3"}', "either epsilon or shift"),
        ('{"kind": "laplace", "shift": "-1/3"}', "shift = Fraction(-1, 3)"),
        ('{"kind": "gaussian", "mu": 1, "square": 4}', "either mu or square"),
        ('{"kind": "gaussian", "square": "-1/2"}', "square"),
        ('{"kind": "total-variation"}', "total-variation"),
        ('{"kind": "total-variation", "delta": 0.9, "kept": 1}', "either delta or kept"),
        ('{"kind": "total-variation", "kept": "3/2"}', "total-variation"),
        ('{"kind": "piecewise-linear", "alpha": [0, "1e9999999", 1], "beta": [1, 0.5, 0]}', "1e9999999"),
        ('{"kind": "piecewise-linear", "alpha": [0, 0.5, 1], "beta": [1, 0.5000001, 0]}', "1 - alpha"),
        ('{"kind": "piecewise-linear", "alpha": [0, 0.3, 0.5, 1], "beta": [1, 0.3, 0.29, 0]}', "convex"),
        (f'{SIDES[:-1]}, "one_minus_alpha": [1, 0.5], "one_minus_beta": [0, 1]}}', "must be 1"),
        (f'{SIDES[:-1]}, "one_minus_alpha": [1, 0]}}', "one length"),
        ('{"kind": "location-shift", "law": "os", "names": [], "values": [], "shift": 1}', "os"),
        ('{"kind": "plan", "mechanisms": [1], "counts": [1], "adjacency": "add-remove"}', "no mechanism"),
        ('{"kind": "plan", "mechanisms": [], "counts": [], "adjacency": ["x"]}', "none of"),
        ('{"kind": "mechanism/laplace", "scale": -1}', "scale = -1"),
    ],
    ids=lambda value: value[:24],
)
def test_what_is_no_such_file_is_one_sentence(text: str, said: str, tmp_path: Path) -> None:
    whole = (
        text
        if not text or "schema" in text or text in {"{", "[]"}
        else f'{{"schema": 1, "tradeoff": {text}}}'
    )
    (tmp_path / "it.json").write_text(whole, encoding="utf-8")
    with pytest.raises(DomainError) as error:
        to.load(tmp_path / "it.json")
    assert said in str(error.value)
    assert str(tmp_path / "it.json") in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="cannot be read"):
        to.load(tmp_path / "missing.json")
    with pytest.raises(DomainError, match="cannot be read"):
        to.load(tmp_path)
    with pytest.raises(DomainError, match="cannot be written"):
        to.save(to.Identity(), tmp_path / "no" / "it.json")
    (tmp_path / "it.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DomainError):
        to.load(tmp_path / "it.json")


@pytest.mark.parametrize("path", [3, None, {}, [], b"curve.json", b"\xff", 1.5, "a\0b", object()])
@pytest.mark.parametrize("door", [to.load, partial(to.save, to.Gaussian(1)), to.spec.load])
def test_what_names_no_file_is_one_sentence(door, path):
    with pytest.raises(DomainError, match=r"^path = .* names no file; give a text or a pathlib\.Path$"):
        door(path)


@pytest.mark.parametrize("name", [".", "missing/curve.json"])
def test_folders_and_what_is_missing_are_one_sentence(name, tmp_path):
    for door in (to.load, partial(to.save, to.Gaussian(1))):
        with pytest.raises(DomainError, match=r"cannot be read|cannot be written|is no plain file"):
            door(tmp_path / name)


def test_counts_of_a_joined_file_are_counts(tmp_path):
    path = tmp_path / "plan.json"
    to.save(to.Plan({Laplace(scale=1.0): 5}), path)
    text = json.loads(path.read_text(encoding="utf-8"))
    one = text["tradeoff"]["mechanisms"][0]
    for counts in ([100, -99], [True, -0.0], [5, "x"]):
        text["tradeoff"] |= {"mechanisms": [one, one], "counts": counts}
        path.write_text(json.dumps(text), encoding="utf-8")
        with pytest.raises(DomainError, match="count"):
            to.load(path)


@pytest.mark.parametrize(
    "body",
    [
        {
            "kind": "piecewise-linear",
            "alpha": [0, 10**400],
            "beta": [1.0, 0.5],
            "one_minus_alpha": [1.0, 0.5],
        },
        {"kind": "total-variation", "delta": 0.5, "kept": "-inf", "exact": True},
        {
            "kind": "gaussian-mixtures",
            "means": [0, 0, 1],
            "null": [0.7, 1, 0],
            "alternative": [0, 0, 1],
            "sigma": 1.0,
        },
        {
            "kind": "location-shift",
            "law": "logistic",
            "names": ["scale", "scale"],
            "values": [100, 1],
            "shift": 1,
        },
        {"kind": "location-shift", "law": "logistic", "names": ["scale"], "values": [10**400], "shift": 1},
    ],
)
def test_odd_numbers_in_a_file_are_one_sentence(body, tmp_path):
    path = tmp_path / "it.json"
    path.write_text(json.dumps({"schema": 1, "tradeoff": body}), encoding="utf-8")
    with pytest.raises(DomainError, match=r"it\.json"):
        to.load(path)


def test_what_no_file_holds_is_one_sentence(tmp_path):
    endless: list[object] = []
    endless.append(endless)
    for thing, why in (
        ("\ud800", "has no form"),
        (endless, "the list is nested too deeply for a file, or in itself; save its parts"),
        ([10**5000], "has no form"),
    ):
        with pytest.raises(DomainError, match=why):
            to.save(thing, tmp_path / "it.json")
    curve = to.from_scipy(scipy.stats.t(3), scipy.stats.t(3, loc=1))
    with pytest.raises(DomainError, match="what a curve assumes is in no file"):
        to.save(curve, tmp_path / "it.json")


@pytest.mark.parametrize("rows", ["[1]", "[[1, 2]]", "[[]]"])
def test_rows_of_a_table_are_as_long_as_its_columns(rows, tmp_path):
    path = tmp_path / "table.json"
    path.write_text(f'{{"schema": 1, "tradeoff": {{"kind": "table", "columns": ["cost"], "rows": {rows}}}}}')
    with pytest.raises(DomainError, match="rows of a table are tuples"):
        to.load(path)


CURVE = '{"kind": "gaussian", "mu": 1.0}'


@pytest.mark.parametrize(
    "body",
    [
        f'"kind": "refutation", "claim": {CURVE}, "p_value": -5, "confidence": 0.95',
        f'"kind": "refutation", "claim": {CURVE}, "p_value": "abc", "confidence": 0.95',
        '"kind": "refutation", "claim": 3, "p_value": 0.5, "confidence": 0.95',
        '"kind": "bounds", "lower": 2, "upper": 1',
        '"kind": "bounds", "lower": [0, 2], "upper": [1, 1]',
        '"kind": "bounds", "lower": [0, 2], "upper": 3',
        '"kind": "bounds", "lower": "x", "upper": null',
        '"kind": "answer", "asked": "z", "lower": 2, "upper": 3',
        '"kind": "answers", "epsilon": [3]',
        '"kind": "calibration", "value": 1, "bounds": 2, "achieved": 3, "evaluations": 4, "target": "t"',
        '"kind": "baseline", "epsilon": true, "delta": 0, "name": "a", "source": "b"',
        '"kind": "plan-file", "title": "", "plan": 3, "delta": [], "epsilon": [], "alpha": []',
    ],
)
def test_results_of_other_types_are_refused(body: str, tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    path.write_text(f'{{"schema": 1, "tradeoff": {{{body}}}}}')
    with pytest.raises(DomainError, match=r"it\.json"):
        to.load(path)


@pytest.mark.parametrize("at", [[0.1, 0.2], [[0.1], [0.2]]])
def test_bounds_of_arrays_come_back_as_arrays(at: object, tmp_path: Path) -> None:
    to.save(found := to.Gaussian(1).bounds(at), tmp_path / "it.json")
    again = to.load(tmp_path / "it.json")
    for mine, its in zip(found, again, strict=True):
        assert isinstance(its, np.ndarray)
        assert np.array_equal(mine, its)


def test_numbers_of_numpy_are_the_numbers_they_are(tmp_path: Path) -> None:
    third = np.longdouble(1) / 3
    numbers = [third, np.longdouble(2), np.array(0.5), np.float32(0.1), np.int64(7), -np.longdouble("inf")]
    to.save(numbers, tmp_path / "a")
    kept = Fraction(*third.as_integer_ratio())
    assert to.load(tmp_path / "a") == (kept, 2.0, 0.5, float(np.float32(0.1)), 7, -math.inf)
    for masked in (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.masked):
        with pytest.raises(DomainError, match="no form"):
            to.save(masked, tmp_path / "b")


@pytest.mark.parametrize("digits", [3999, 4000, 4100, 4299, 5000])
def test_long_fractions_come_back_or_are_refused(digits: int, tmp_path: Path) -> None:
    thing = (Fraction(1, 10 ** (digits - 1) + 1),)
    try:
        to.save(thing, tmp_path / "it.json")
    except DomainError:
        assert digits > 4000
    else:
        assert digits <= 4000
        assert to.load(tmp_path / "it.json") == thing


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away"
)
def test_who_may_read_a_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "it.json"
    to.save(to.Gaussian(1), path)
    os.chown(path, 1234, 1235)
    path.chmod(0o640)
    to.save(to.Gaussian(2), path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (1234, 1235, 0o640)


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only the superuser gives files away")
def test_members_leave_a_file_to_their_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member may give a file to the group, and not to its owner."""
    path, real = tmp_path / "it.json", os.chown
    to.save(to.Gaussian(1), path)
    os.chown(path, 1234, 1235)
    path.chmod(0o664)

    def member(file: Path, uid: int, gid: int) -> None:
        if uid != -1:
            raise PermissionError
        real(file, uid, gid)

    monkeypatch.setattr(os, "chown", member)
    to.save(to.Gaussian(2), path)
    assert (path.stat().st_gid, path.stat().st_mode & 0o777) == (1235, 0o664)


def test_a_file_that_only_may_be_written_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows flushes no file that is open for reading alone."""
    fcntl = pytest.importorskip("fcntl", reason="tells how a file is open")
    path, real = tmp_path / "it.json", os.fsync
    path.write_text("x")
    path.chmod(0o200)

    def flush(file: int) -> None:
        assert fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        real(file)

    monkeypatch.setattr(os, "fsync", flush)
    to.save(to.Gaussian(1), path)
    assert path.stat().st_mode & 0o777 == 0o200


def test_bounds_of_fractions_still_hold_them(tmp_path: Path) -> None:
    third, tenth = Fraction(1, 3), np.longdouble("0.1")
    for kind, value in (("f", np.array([third], dtype=object)), ("l", np.array([tenth]))):
        to.save(to.Bounds(value, value), tmp_path / kind)
        low, high = to.load(tmp_path / kind)
        exact = Fraction(*value[0].as_integer_ratio())
        assert Fraction(low[0]) <= exact <= Fraction(high[0])


def test_results_of_other_types_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match="columns"):
        to.save(to.sweeps.Table((1,), ((1.0,),)), tmp_path / "it.json")
    to.save(to.sweeps.Table(("a",), ((np.True_,),)), tmp_path / "it.json")
    assert to.load(tmp_path / "it.json")["a"] == [True]


def test_another_group_gains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it.json"
    to.save(to.Gaussian(1), path)
    path.chmod(0o664)
    real = os.stat_result

    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refused)
    kept = path.stat()
    theirs = real([*kept[:5], kept.st_gid + 1, *kept[6:]])
    draft = tmp_path / "draft"
    draft.write_text("x")
    whole_files._hand_over(draft, theirs)
    assert draft.stat().st_mode & 0o777 == 0o604


POLYGON = {"kind": "piecewise-linear", "alpha": [0.0, 0.2, 0.4, 1.0], "beta": [0.9, 0.5, 0.25, 0.0]}


def _polygon(**changed: object) -> str:
    return json.dumps({"schema": 1, "tradeoff": POLYGON | changed})


def test_convex_floats_in_a_file_are_read_without_arithmetic_in_fractions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = np.linspace(0, 1, 2001)
    kept = to.PiecewiseLinear(alpha, (1 - np.sqrt(alpha)) ** 2)
    to.save(kept, tmp_path / "floats.json")
    (tmp_path / "exact.json").write_text(_polygon(), encoding="utf-8")
    exact = to.PiecewiseLinear(*(map(Fraction, POLYGON[side]) for side in ("alpha", "beta")))  # type: ignore[arg-type]
    monkeypatch.setattr(to.PiecewiseLinear, "__init__", None)
    found = to.load(tmp_path / "floats.json")
    assert found == kept
    assert found.complements[0].tolist() == kept.complements[0].tolist()
    assert to.load(tmp_path / "exact.json") == exact
    assert to.load(tmp_path / "exact.json").exact


CHANGES: list[dict[str, object]] = [
    {},
    {"alpha": [0, 0.2, 0.4, 1]},
    {"alpha": [0.0, "1/3", 0.5, 1.0]},
    {"alpha": [0.0, 0.2, 0.6, 1.0], "beta": [0.9, 0.7, 0.3, 0.0]},  # three in a line, but for roundings
    {"alpha": [0.0, 0.25, 0.5, 1.0], "beta": [1.0, 0.75, 0.5, 0.0]},
    {"alpha": [0.0, 0.0, 0.4, 1.0], "beta": [0.9, 0.5, 0.25, 0.0]},
    {"beta": [0.9, 0.5, 0.45, 0.0]},
    {"beta": [0.9, 0.25, 0.0, 0.0]},
    {"beta": [0.9, 0.25, 0.0, 0.5]},
    {"beta": [0.9, 0.25, -0.5, 0.0]},
    {"beta": [1.5, 0.5, 0.25, 0.0]},
    {"alpha": [0.1, 0.2, 0.4, 1.0]},
    {"alpha": [0.0, 0.4, 0.2, 1.0]},
    {"alpha": [0.0, 0.2, 0.4, 1.5]},
    {"alpha": [0.0, 0.2, 1.0]},
    {"alpha": [], "beta": []},
    {"alpha": [0.0], "beta": [0.0]},
    {"alpha": [0.0], "beta": [0.5]},
    {"alpha": [True, 0.2, 0.4, 1.0]},
]


@pytest.mark.parametrize("changed", CHANGES, ids=str)
def test_polygons_in_a_file_are_those_of_the_constructor(
    changed: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> object:
        try:
            return files.CODEC.loads(_polygon(**changed))
        except DomainError as error:
            return str(error)

    quick = read()
    monkeypatch.setattr(exchange, "_convex_multiples", lambda *_: None)
    assert quick == read()


def test_many_vertices_that_are_not_convex_floats_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MAX_VERTICES", 3)
    (tmp_path / "curve.json").write_text(_polygon(beta=[0.9, 0.5, "1/4", "0/1"]), encoding="utf-8")
    assert to.load(tmp_path / "curve.json").exact
    (tmp_path / "curve.json").write_text(_polygon(beta=[0.9, 0.5, "1/3", 0.0]), encoding="utf-8")
    with pytest.raises(DomainError, match=r"or at most 3 vertices, got 4; save PiecewiseLinear.hull"):
        to.load(tmp_path / "curve.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are POSIX")
def test_pipes_without_a_writer_are_refused(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    plan = f'[[mechanism]]\nkind = "custom"\ncurve = "{pipe}"'
    for read in (lambda: to.load(pipe), lambda: to.spec.load(pipe), lambda: to.spec.loads(plan)):
        with pytest.raises(TradeOffError, match="cannot be read: it is a pipe without a writer"):
            read()
    assert main([str(pipe)]) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are POSIX")
@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_pipes_with_a_writer_are_read_to_their_end(tmp_path: Path, pause: float) -> None:
    to.save(to.Gaussian(1) ** 3 @ to.PureDP(0.5), tmp_path / "curve.json")
    reader, writer = os.pipe()
    content = (tmp_path / "curve.json").read_bytes()

    def write() -> None:
        with os.fdopen(writer, "wb", buffering=0) as file:
            for start in range(0, len(content), 50):
                time.sleep(pause / 10)
                file.write(content[start : start + 50])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert to.load(f"/dev/fd/{reader}") == to.load(tmp_path / "curve.json")
    finally:
        thread.join()
        os.close(reader)


@pytest.mark.parametrize("text", ["", "a", "é", "漢字 and 𝛼\r\n𝛽\rend\n", "𝛼" * 50, "\r\n" * 20, "\r"])
@pytest.mark.parametrize("most", [0, 1, 7, 49, 50, 1000])
@pytest.mark.parametrize("keep", [False, True])
def test_read_text_reads_the_characters_that_python_reads(
    text: str, most: int, keep: bool, tmp_path: Path
) -> None:
    (path := tmp_path / "text").write_text(text, encoding="utf-8", newline="")
    with path.open(encoding="utf-8", newline="" if keep else None) as file:
        whole = file.read()
    found = whole_files.read_text(path, most, keep_line_ends=keep)
    assert found[: most + 1] == whole[: most + 1]
    assert (found == whole) if len(whole) <= most else len(found) > most


@pytest.mark.parametrize("content", [b"\xff", b"ab\xe6\xbc", b"a\xffb"])
def test_read_text_refuses_what_is_not_utf8(content: bytes, tmp_path: Path) -> None:
    (path := tmp_path / "text").write_bytes(content)
    with pytest.raises(UnicodeDecodeError):
        whole_files.read_text(path, 100)


def test_a_link_to_itself_is_refused_and_stays(tmp_path: Path) -> None:
    (link := tmp_path / "link").symlink_to(link)
    with pytest.raises(DomainError, match="cannot be written"):
        to.save(to.Gaussian(1), link)
    assert link.is_symlink()
    assert [each.name for each in tmp_path.iterdir()] == ["link"]
