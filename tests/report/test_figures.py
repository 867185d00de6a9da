"""Figures: safe lines, distinct styles, no overlapping text, reproducible bytes."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest

import tradeoff as to
from tests.report.layout import check_layout
from tradeoff.errors import DomainError
from tradeoff.report.compare import compare
from tradeoff.report.plot import paper, shared_legend
from tradeoff.report.styles import PAGE, dashed, save

EXACT = to.PureDP(0.5) ** 10


def line(axes, label):
    return next(each for each in axes.get_lines() if each.get_label() == label)


@pytest.mark.parametrize("kind", ["tradeoff", "profile", "roc"])
@pytest.mark.parametrize("scale", ["linear", "loglog"])
def test_plot_exact_line_is_the_safe_bound_in_every_view(kind, scale):
    with paper() as (figure, axes):
        to.plot(EXACT, to.limits.clt(EXACT), ax=axes, kind=kind, scale=scale, labels=["exact", "CLT"])
        x, y = line(axes, "exact").get_data()
        lower, upper = EXACT.bounds.delta(x) if kind == "profile" else EXACT.bounds(x)
        if kind == "profile":
            assert np.array_equal(y, np.where(upper > 0, upper, np.nan), equal_nan=True)
        else:  # from whole curves, which hold between the points drawn too
            beta = y if (kind, scale) == ("tradeoff", "linear") else 1 - y
            assert np.all(beta <= upper)
            assert beta == pytest.approx(lower, abs=2e-4)
        assert line(axes, "exact").get_color() == "black"
        assert line(axes, "exact").get_linestyle() == "-"
        assert line(axes, "CLT").get_linestyle() == "--"
        check_layout(figure)


def test_dashed_styles_differ_in_grey():
    def grey(colour):
        return float(np.dot(mpl.colors.to_rgb(colour), (0.2126, 0.7152, 0.0722)))

    styles = [dashed(i) for i in range(10)]
    assert len({each["linestyle"] for each in styles}) == 10
    assert all(each["linestyle"] != "-" for each in styles)
    assert all(abs(grey(a["color"]) - grey(b["color"])) > 0.05 for a, b in itertools.pairwise(styles))
    assert all(grey(each["color"]) < 0.6 for each in styles)


def test_plot_inset_shows_its_window():
    with paper() as (_, axes):
        to.plot(EXACT, to.limits.clt(EXACT), ax=axes, labels=["exact", "CLT"], inset=(0.25, 0.35))
        (window,) = axes.child_axes
        assert window.get_xlim() == pytest.approx((0.25, 0.35))
        assert window.get_ylim() == pytest.approx((EXACT(0.35), EXACT(0.25)), rel=1e-4)
        assert window.texts[0].get_text().startswith("α ×4\nβ ×")
    with pytest.raises(DomainError, match="inset must be two type I errors"):
        to.plot(EXACT, inset=(0.5, 0.2))


@pytest.mark.slow
def test_shared_legend_merges_panels():
    with paper(PAGE, 3.8, columns=2) as (figure, (left, right)):
        to.plot(to.Gaussian(1), ax=left, labels=["exact"])
        to.plot(to.Gaussian(2), to.Gaussian(1), ax=right, labels=["exact", "other"])
        shared_legend(figure, left, right)
        assert [each.get_text() for each in figure.legends[0].get_texts()] == ["exact", "other"]
        assert left.get_legend() is right.get_legend() is None
        check_layout(figure)


def test_comparison_figure_has_a_panel_for_each_method():
    result = compare(EXACT, ["clt", "basic", "edgeworth"], delta=[1e-3], epsilon=[], alpha=[])
    figure = result.figure()
    titles = [f"{row.name}: {row.verdict}" for row in result]
    assert [axes.get_title() for axes in figure.axes] == titles
    for axes, row in zip(figure.axes, result, strict=True):
        exact, method = axes.get_lines()
        assert exact.get_linewidth() > 1.5 * method.get_linewidth()
        assert (method.get_color() == "#b3261e") == row.under_reports
    width, height = figure.get_size_inches() * figure.dpi
    figure.draw_without_rendering()
    for axes in figure.axes:
        box = axes.get_tightbbox()
        assert box.x0 >= 0
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1


@pytest.fixture(scope="module")
def twice():
    def one():
        with paper() as (figure, axes):
            to.plot(to.Gaussian(1.0), to.Laplace(1.0), ax=axes)
        return figure

    return one(), one()


@pytest.mark.parametrize("ending", [".svg", pytest.param(".pdf", marks=pytest.mark.slow), ".png"])
def test_save_same_figure_gives_the_same_bytes(tmp_path, twice, ending):
    for name, figure in zip(("one", "two"), twice, strict=True):
        save(figure, tmp_path / f"{name}{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
