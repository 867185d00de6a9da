import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import tradeoff as to
from tests.report.layout import check_layout
from tradeoff.errors import DomainError, KindError, MissingExtraError


@pytest.fixture
def ax():
    return Figure().subplots()


def drawn(axes, i):
    """The line of the i-th curve."""
    line = [each for each in axes.get_lines() if each.get_color() != "0.6"][i]
    return line.get_xdata(), line.get_ydata()


def test_axes_in_axes_out(ax):
    assert to.plot(to.Gaussian(1), ax=ax) is ax
    assert ax.get_aspect() == 1
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)
    assert ax.get_legend() is None


def test_perfect_privacy_is_dashed_and_grey(ax):
    to.plot(to.Gaussian(1), ax=ax)
    line = ax.get_lines()[0]
    assert line.get_color() == "0.6"
    assert line.get_linestyle() == "--"
    assert np.array_equal(line.get_ydata(), 1 - line.get_xdata())


def test_the_line_is_the_safe_bound_and_the_band_holds_both(ax):
    curve = to.Laplace(0.3) ** 12
    to.plot(curve, ax=ax)
    x, y = drawn(ax, 0)
    band = ax.collections[0].get_paths()[0].vertices
    lower, upper = curve.lower.bounds(x).lower, curve.upper.bounds(x).upper
    assert np.array_equal(y, lower)
    corners = {tuple(each) for each in band}
    assert all((a, b) in corners for a, b in zip(x, upper, strict=True))
    some = curve.bounds(x[20:-20:30])
    assert np.all(lower[20:-20:30] <= some.upper)
    assert np.all(upper[20:-20:30] >= some.lower)
    assert np.max(upper - lower) < 1e-3


@pytest.mark.parametrize(
    ("curve", "vertices"),
    [
        (to.PiecewiseLinear([0, 0.123456, 1], [0.9, 0.3, 0]), [(0.0, 0.9), (0.123456, 0.3), (1.0, 0.0)]),
        (to.PureDP(1), [(1 / (1 + np.e), 1 / (1 + np.e))]),
        (to.approximate_dp(1, 0.1), [(0.9 / (1 + np.e), 0.9 / (1 + np.e)), (0.9, 0.0)]),
        (to.TotalVariation(0.3), [(0.7, 0.0)]),
        (to.PureDP(1) ** 2, [(1 / (1 + np.e) ** 2, None)]),
    ],
)
def test_vertices_are_drawn(ax, curve, vertices):
    to.plot(curve, ax=ax)
    x, y = drawn(ax, 0)
    for a, b in vertices:
        i = np.argmin(abs(x - a))
        assert x[i] == pytest.approx(a, abs=1e-14)
        assert b is None or y[i] == pytest.approx(b, abs=1e-13)


def test_several_curves_differ_without_colour(ax):
    to.plot(to.Gaussian(0.5), to.Gaussian(1), to.Laplace(1), ax=ax)
    lines = [each for each in ax.get_lines() if each.get_color() != "0.6"]
    assert len({(each.get_linestyle(), str(each._dash_pattern)) for each in lines}) == 3
    assert [each.get_text() for each in ax.get_legend().get_texts()] == [
        r"$\mathrm{G}_{0.5}$",
        r"$\mathrm{G}_{1}$",
        r"$\mathrm{Lap}_{1}$",
    ]


def test_labels(ax):
    to.plot(to.Gaussian(0.5), ax=ax, labels=["half"])
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["half"]
    with pytest.raises(DomainError, match="name 2 curves, and there are 1"):
        to.plot(to.Gaussian(1), labels=["a", "b"], ax=ax)


def test_small_errors_on_log_axes(ax):
    to.plot(to.Gaussian(1), to.PureDP(1), ax=ax, scale="loglog")
    ax.figure.canvas.draw()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    x, y = drawn(ax, 0)
    assert x[0] == 1e-6
    assert ax.get_ylabel() == "power 1 − β"
    bounds = to.Gaussian(1).bounds(x)
    assert np.all(y >= 1 - bounds.upper)
    assert y == pytest.approx(1 - bounds.lower, rel=2e-3)


@pytest.mark.parametrize(
    ("scale", "kind"),
    [("linear", "tradeoff"), ("loglog", "tradeoff"), ("linear", "profile"), ("loglog", "profile")],
)
def test_many_long_names_go_below_the_plot(scale, kind):
    figure = Figure(figsize=(4.8, 4.8), layout="constrained")
    curves = [
        to.Identity(),
        to.TotalVariation(0.2),
        to.Gaussian(20),
        to.subsample(to.Gaussian(1.0), 0.1),
        to.PureDP(3),
        to.Laplace(0.5),
    ]
    names = [f"curve {i}, of which there is a great deal to be said in its name" for i in range(6)]
    axes = to.plot(*curves, ax=figure.subplots(), labels=names, scale=scale, kind=kind)
    check_layout(figure)
    assert axes.get_legend().get_window_extent().y1 < axes.bbox.y0
    lines = axes.get_lines()[-6:]
    assert len({str(each._dash_pattern) for each in lines}) == 6
    assert lines[0].get_color() == "black"


def test_a_short_curve_beside_a_long_one_is_drawn_finely(ax):
    to.plot(to.Gaussian(20), to.PureDP(0.5), ax=ax, kind="profile")
    x, y = drawn(ax, 1)
    assert np.count_nonzero(y > 0) > 150
    assert x[-1] == drawn(ax, 0)[0][-1]


@pytest.mark.parametrize(
    "curve",
    [
        to.Gaussian(1),
        to.PureDP(1),
        to.approximate_dp(1, 0.1),
        to.Identity(),
        to.TotalVariation(0.2),
        to.TotalVariation(1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", ["linear", "loglog"])
def test_profiles(ax, curve, scale):
    to.plot(curve, ax=ax, kind="profile", scale=scale)
    ax.figure.canvas.draw()
    assert ax.get_yscale() == "log"
    x, y = drawn(ax, 0)
    upper = curve.bounds.delta(x).upper
    assert np.array_equal(y[upper > 0], upper[upper > 0])


@pytest.mark.parametrize(
    ("thing", "advice"),
    [
        (to.mechanisms.Laplace(scale=10), r"mechanism.*\.curve\(\)"),
        (to.Plan({}), r"Plan, not a curve.*\.guarantee\(\)"),
        (0.5, "not a trade-off function"),
    ],
)
def test_only_curves_are_drawn(ax, thing, advice):
    with pytest.raises(KindError, match=advice):
        to.plot(thing, ax=ax)
    with pytest.raises(KindError, match=advice):
        to.plot(to.Gaussian(1), thing, ax=ax)


@pytest.mark.parametrize("scale", ["linear", "loglog"])
def test_scores_are_drawn_with_their_band_beside_a_claim(ax, scale):
    draws = np.random.default_rng(1)
    audit = to.empirical(draws.normal(size=300), draws.normal(1, 1, 200))
    to.plot(to.Gaussian(1), audit, ax=ax, scale=scale)
    x, y = drawn(ax, 1)
    beta = y if scale == "linear" else 1 - y
    seen = np.isfinite(beta)
    assert beta[seen] == pytest.approx(np.asarray(audit.estimate(x))[seen])
    assert np.all(beta[seen] >= audit.band.lower(x)[seen])
    assert np.all(beta[seen] <= audit.band.upper.bounds(x).upper[seen] + 1e-12)
    assert ax.get_legend().get_texts()[1].get_text().startswith("Empirical: 300 null and 200")
    with pytest.raises(DomainError, match="upper"):
        to.plot(audit, ax=ax, kind="profile")


def test_unknown_scales_and_kinds(ax):
    with pytest.raises(DomainError, match="scale = 'log'"):
        to.plot(to.Gaussian(1), ax=ax, scale="log")
    with pytest.raises(DomainError, match="kind = 'roc'"):
        to.plot(to.Gaussian(1), ax=ax, kind="roc")


def test_matplotlib_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"tradeoff\[plot\]"):
        to.plot(to.Gaussian(1))


def test_a_figure_of_its_own():
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    axes = to.plot(to.Gaussian(1))
    assert axes.figure.get_size_inches().tolist() == [4.8, 4.8]
    plt.close(axes.figure)
