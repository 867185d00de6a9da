import numpy as np
import pytest

import tradeoff as to
from tests.report.layout import check_layout
from tradeoff.errors import DomainError
from tradeoff.report.plot import heatmap, paper

MU, DELTA = [0.5, 1.0, 1.5, 2.0], [1e-9, 1e-6, 1e-3]
TABLE = to.sweep(lambda mu, delta: to.Gaussian(mu).bounds.epsilon(delta), {"mu": MU, "delta": DELTA})


@pytest.fixture
def ax():
    with paper(4.4, 3.2) as (_, axes):
        yield axes


def test_heatmap_cells_are_answers_and_lines_have_labels(ax):
    assert to.plot(TABLE, ax=ax, cmap="Greys") is ax
    cells = ax.collections[0]
    expected = [[to.Gaussian(mu).epsilon(delta) for mu in MU] for delta in DELTA]
    assert np.array_equal(cells.get_array().reshape(3, 4), expected)
    assert cells.get_cmap().name == "Greys"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mu", "delta")
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert ax.figure.axes[1].get_ylabel() == "upper bound"
    assert len(ax.texts) >= 3
    check_layout(ax.figure)


def test_heatmap_takes_column_levels_and_label(ax):
    heatmap(TABLE, "lower", levels=[2, 6], label="at least", ax=ax)
    assert {each.get_text() for each in ax.texts} == {"2", "6"}
    assert ax.figure.axes[1].get_ylabel() == "at least"


@pytest.mark.slow
def test_heatmap_log_axis_of_few_decades_has_readable_ticks(ax):
    grid = {"noise": list(np.geomspace(0.6, 4, 5)), "delta": [1e-9, 1e-6, 1e-3]}
    heatmap(to.sweep(lambda noise, delta: noise * delta, grid), levels=[1e-7, 1e-4], ax=ax)
    ax.figure.canvas.draw()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    shown = [each.get_text() for which in ("major", "minor") for each in ax.get_xticklabels(which=which)]
    assert {"1", "2"} <= set(shown) <= {"", "0.1", "0.2", "0.5", "1", "2", "5", "10"}
    assert "1e-06" not in {each.get_text() for each in ax.get_yticklabels()}
    check_layout(ax.figure)


def test_heatmap_masks_infinite_values(ax):
    table = to.sweep(lambda x, y: np.inf if x == y == 1 else x + y, {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0]})
    heatmap(table, ax=ax)
    assert ax.collections[0].get_array().mask.sum() == 1


def table(answer, **grid):
    return to.sweep(lambda **_: answer, grid)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (table(1.0, x=[1.0, 2.0]), "must have two parameters and an answer"),
        (table(1.0, x=[1.0, 2.0], y=[1.0, 2.0], z=[1.0, 2.0]), "column must be one of .*, got 'upper'"),
        (table(1.0, x=[1.0, 2.0], y=[1.0]), "must be a grid of two or more values each, got 2 rows"),
        (table(1.0, x=["a", "b"], y=[1.0, 2.0]), "x must be an array of real numbers"),
        (table(np.inf, x=[1.0, 2.0], y=[1.0, 2.0]), "must have a finite value"),
    ],
)
def test_heatmap_other_tables_raise(ax, table, words):
    with pytest.raises(DomainError, match=words):
        to.plot(table, ax=ax)
