import csv
import itertools
import os
import pickle
import runpy
import sys
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tradeoff as to
from tradeoff.accounting.planner import Composition
from tradeoff.errors import DomainError, MissingExtraError, PrecisionError, SweepError, Undecided
from tradeoff.sweeps import Table

EXAMPLES = Path(__file__).parents[2] / "examples"


def product(x, y):
    return x * y


def fails_at_two(x):
    return 1 / (x - 2)


def process(x):
    del x
    return os.getpid()


def test_sweep_last_axis_varies_fastest_and_tables_convert(tmp_path):
    table = to.sweep(product, {"x": [1, 2], "y": (10, 20, 30)})
    assert table.columns == ("x", "y", "value")
    assert table.rows == ((1, 10, 10), (1, 20, 20), (1, 30, 30), (2, 10, 20), (2, 20, 40), (2, 30, 60))
    assert len(table) == 6
    assert next(iter(table)) == {"x": 1, "y": 10, "value": 10}
    assert table == to.sweep(product, {"x": [1, 2], "y": (10, 20, 30)}) == pickle.loads(pickle.dumps(table))
    for error, value in ((PrecisionError("wide", 0.25), "reachable"), (Undecided("close", 0.25), "at")):
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), getattr(copy, value)) == (str(error), 0.25)
    with pytest.raises(AttributeError):
        table.rows = ()
    bounds = to.sweep(lambda mu: to.Gaussian(mu).bounds.delta(1.0), {"mu": [0.5, 1.0]})
    assert bounds.columns == ("mu", "lower", "upper")
    assert bounds["upper"] == [to.Gaussian(mu).delta(1.0) for mu in (0.5, 1.0)]

    def both(mu):
        return {"epsilon": to.Gaussian(mu).epsilon(1e-5), "beta": to.Gaussian(mu)(0.1)}

    assert to.sweep(both, {"mu": np.array([1.0])}).columns == ("mu", "epsilon", "beta")
    table = Table(("name", "value"), (("a,b", 0.1), ("c", float("inf"))))
    assert table.to_dict() == {"name": ["a,b", "c"], "value": [0.1, float("inf")]}
    text = table.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == text
    assert list(csv.reader(text.splitlines())) == [["name", "value"], ["a,b", "0.1"], ["c", "inf"]]
    for name in ("", "missing/table.csv", "x" * 300):
        with pytest.raises(DomainError, match=r"cannot be written: |must be a regular file"):
            table.to_csv(tmp_path / name)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_sweep_failure_names_its_point(n_jobs):
    pytest.importorskip("joblib", reason="the extra 'parallel' is not installed")
    with pytest.raises(SweepError, match="the point x = 2: ZeroDivisionError") as caught:
        to.sweep(fails_at_two, {"x": [1, 2, 3]}, n_jobs=n_jobs)
    assert caught.value.point == {"x": 2}
    assert n_jobs == 2 or isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("backend", ["threading", pytest.param("multiprocessing", marks=pytest.mark.slow)])
def test_sweep_follows_joblib_backend(backend):
    joblib = pytest.importorskip("joblib", reason="the extra 'parallel' is not installed")
    with joblib.parallel_config(backend, n_jobs=2):
        processes = to.sweep(process, {"x": range(4)}, n_jobs=None)["value"]
        assert (set(processes) == {os.getpid()}) == (backend == "threading")
        assert to.sweep(product, {"x": range(40), "y": [1, 2]}, n_jobs=None)["value"][-1] == 78


@pytest.mark.slow
def test_two_jobs_return_the_same_in_order_and_the_example_draws(tmp_path, monkeypatch):
    """Threads are closed: joblib kills processes, which may break a thread of loky."""
    joblib = pytest.importorskip("joblib", reason="the extra 'parallel' is not installed")
    grid = {"x": range(50), "y": range(4)}
    with joblib.parallel_config("threading", n_jobs=2):
        rows = to.sweeps.stream(product, grid, n_jobs=None)
        assert [next(rows) for _ in range(6)] == list(to.sweep(product, grid))[:6]
        rows.close()
    assert list(to.sweeps.stream(product, grid, n_jobs=2)) == list(to.sweep(product, grid))
    grid = {"mu": [0.5, 1.0], "delta": [1e-5, 1e-9]}
    function = lambda mu, delta: to.Gaussian(mu).epsilon(delta)  # noqa: E731 - a lambda must travel too
    assert to.sweep(function, grid, n_jobs=2) == to.sweep(function, grid)
    assert os.getpid() not in to.sweep(process, {"x": range(4)}, n_jobs=2)["value"]
    with pytest.raises(SweepError, match="use n_jobs=1"):
        to.sweep(lambda n: (i for i in range(n)), {"n": [1, 2]}, n_jobs=2)
    with pytest.raises(SweepError, match=r"cannot pickle '_thread.lock' object; use n_jobs=1$"):
        to.sweep(partial(pow, threading.Lock()), {"n": [1, 2]}, n_jobs=2)
    with joblib.parallel_config("multiprocessing"), pytest.raises(SweepError, match="use n_jobs=1"):
        to.sweep(lambda n: n, {"n": [1, 2]}, n_jobs=2)
    pytest.importorskip("matplotlib", reason="the extra 'plot' is not installed")
    monkeypatch.setattr(sys, "argv", ["phase_diagram.py", "2", "2", "2", "--out", str(tmp_path / "phase")])
    runpy.run_path(str(EXAMPLES / "phase_diagram.py"), run_name="__main__")
    rows = list(csv.DictReader((tmp_path / "phase.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 8
    assert all(0 < float(row["lower"]) <= float(row["upper"]) for row in rows)
    assert "</svg>" in (tmp_path / "phase.svg").read_text(encoding="utf-8")


def epsilon(sigma, rate, steps, delta):
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=sigma, sample_rate=rate)
    return to.Plan({step: steps}).guarantee().bounds.epsilon(delta)


def whole_curve(e0, epsilon):
    return (to.PureDP(e0) ** 5).lower.bounds.delta(epsilon)


@pytest.mark.parametrize(
    ("function", "grid"),
    [
        (epsilon, {"sigma": [1.1], "rate": [0.01], "steps": [200, 300], "delta": [1e-5, 1.1e-5, 1e-7]}),
        pytest.param(whole_curve, {"e0": [0.5], "epsilon": [0.0, 0.5]}, marks=pytest.mark.slow),
    ],
    ids=["products", "whole curves"],
)
def test_sweep_answers_equal_single_calls(function, grid):
    """To the last bit, in any order and process."""
    points = [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
    alone = [tuple(function(**point)) for point in points]
    table = to.sweep(function, grid)
    assert list(zip(table["lower"], table["upper"], strict=True)) == alone
    parallel = to.sweep(function, {name: values[::-1] for name, values in grid.items()}, n_jobs=2)
    assert list(zip(parallel["lower"], parallel["upper"], strict=True)) == alone[::-1]


def test_sweep_composes_equal_products_once_and_streams_rows_before_a_failure(monkeypatch):
    composed = []
    compose = Composition.__init__

    def counted(self, laws, counts, **options):
        composed.append((*map(type, laws), *counts))
        compose(self, laws, counts, **options)

    monkeypatch.setattr(Composition, "__init__", counted)
    grid = {"sigma": [1.1], "rate": [0.01], "steps": [200, 300], "delta": [1e-5, 1e-7]}
    to.sweep(epsilon, grid)
    assert len(composed) == len(set(composed)) == 4  # both orders, two counts
    epsilon(1.1, 0.01, 300, 1e-5)
    assert len(composed) == 6  # nothing outlives the sweep
    rows = to.sweeps.stream(fails_at_two, {"x": [0, 1, 2, 3]})
    assert [next(rows), next(rows)] == [{"x": 0, "value": -0.5}, {"x": 1, "value": -1.0}]
    with pytest.raises(SweepError, match="x = 2"):
        next(rows)
    monkeypatch.setitem(sys.modules, "joblib", None)
    assert to.sweep(product, {"x": [2], "y": [3]})["value"] == [6]
    with pytest.raises(MissingExtraError, match=r"tradeoff\[parallel\]"):
        to.sweep(product, {"x": [2], "y": [3]}, n_jobs=2)


@pytest.mark.parametrize("arguments", [[], ["sweep.csv"]])
def test_ray_example_runs(arguments, tmp_path, monkeypatch, capsys):
    joblib = pytest.importorskip("joblib", reason="the extra 'parallel' is not installed")
    register = partial(joblib.register_parallel_backend, "ray", joblib._parallel_backends.SequentialBackend)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=lambda **_: None))
    monkeypatch.setitem(sys.modules, "ray.util", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray.util.joblib", SimpleNamespace(register_ray=register))
    monkeypatch.setattr(sys, "argv", ["sweep_ray.py", *arguments])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / "sweep_ray.py"), run_name="__main__")
    assert "noise_multiplier" in capsys.readouterr().out
    assert [each.name for each in tmp_path.iterdir()] == arguments
