import functools
import io
import itertools
import re
import sys
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import tradeoff as to
from tests.report.layout import check_layout
from tradeoff.errors import MissingExtraError, SizeError
from tradeoff.report.compare import compare
from tradeoff.report.plot import figure, heatmap, paper, shared_legend
from tradeoff.report.series import mu_name, name_items
from tradeoff.report.styles import CHANCE, COLUMN, PAGE, dashed, save

EXACT = to.PureDP(0.5) ** 10
CLT = to.limits.clt(EXACT)
BAND = to.limits.berry_esseen(EXACT)
STEP = to.mechanisms.SubsampledGaussian


@pytest.fixture
def ax():
    return Figure().subplots()


def drawn(axes, i):
    """The points of the i-th curve."""
    return [each for each in axes.get_lines() if each.get_color() != CHANCE["color"]][i].get_data()


def legend(axes):
    return [each.get_text() for each in axes.get_legend().get_texts()]


@pytest.mark.slow
def test_plot_line_is_safe_everywhere_and_band_has_both_bounds(ax):
    curve = to.PureDP(0.3) ** 12 @ to.Gaussian(0.5)
    to.plot(curve, ax=ax)
    x, y = drawn(ax, 0)
    band = ax.collections[0].get_paths()[0].vertices
    lower, upper = curve.lower.bounds(x).lower, curve.upper.bounds(x).upper
    assert np.all(y <= lower + 1e-14)
    between = np.union1d(np.geomspace(1e-9, 0.5, 500), 1 - np.geomspace(1e-9, 0.5, 500))
    assert np.all(np.interp(between, x, y) <= curve.bounds(between).upper + 1e-14)  # lines, not chords
    assert np.max(lower - y) < 1e-3
    corners = {tuple(each) for each in band}
    assert all((a, b) in corners for a, b in zip(x, upper, strict=True))
    some = curve.bounds(x[20:-20:30])
    assert np.all((lower[20:-20:30] <= some.upper) & (upper[20:-20:30] >= some.lower))
    assert np.max(upper - lower) < 1e-3


@pytest.mark.slow
def test_plot_dollars_are_text_fonts_of_type_42_and_legends_shared(ax, tmp_path):
    to.plot(to.Gaussian(4), labels=["cost $x_{$"], ax=ax)
    ax.figure.savefig(io.BytesIO())
    made = figure(to.Gaussian(1), title="costs $x_{$ and $5")
    made.savefig(io.BytesIO())
    interactive = to.plot(to.Gaussian(4), labels=["<b>$5 and $6"], interactive=True)
    assert interactive.data[-1].name == "&lt;b&gt;$5 and $6"
    figure(to.Gaussian(1), title="a title").savefig(tmp_path / "one.pdf")
    written = (tmp_path / "one.pdf").read_bytes()
    assert b"/CIDFontType2" in written
    assert b"/Type3" not in written
    with paper(PAGE, 3.8, ncols=2) as (made, (left, right)):
        to.plot(to.Gaussian(1), ax=left, labels=["exact"])
        to.plot(to.Gaussian(2), to.Gaussian(1), ax=right, labels=["exact", "other"])
        shared_legend(made, left, right)
        assert [each.get_text() for each in made.legends[0].get_texts()] == ["exact", "other"]
        assert left.get_legend() is right.get_legend() is None
        check_layout(made)


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
def test_plot_vertices_are_points_of_the_line(ax, curve, vertices):
    to.plot(curve, ax=ax)
    x, y = drawn(ax, 0)
    for a, b in vertices:
        i = np.argmin(abs(x - a))
        assert x[i] == pytest.approx(a, abs=1e-14)
        assert b is None or y[i] == pytest.approx(b, abs=1e-13)


def test_plot_plans_and_mechanisms_show_both_orders_and_mu_rounded_up(ax):
    plan, result = to.Plan({STEP(1, 0.1): 1}), to.Gaussian(1).gdp(1e-6)
    to.plot(STEP(1, 0.1), plan, result, STEP(1, 0.1).curve(), ax=ax, kind="profile")
    x, y = drawn(ax, 0)
    upper = plan.guarantee().bounds.delta(x).upper
    assert np.array_equal(y[upper > 0], upper[upper > 0])
    names = [f"DP-SGD σ = 1, q = 0.1 ({orders})" for orders in ("both orders", "one order")]
    assert [legend(ax)[k] for k in (1, 2, 3)] == [names[0], "μ = 1, failure $10^{-6}$", names[1]]
    for epsilon in (0.1, 0.3, 1.0, 2.0, 5.0):  # mu is rounded up
        result = to.PureDP(epsilon).gdp(failure=1.2345674e-6)
        mu, failure = re.fullmatch(r"μ = ([0-9.]+), failure (.*)", mu_name(result)).groups()
        assert Fraction(result.mu) <= Fraction(mu) <= Fraction(result.mu) * Fraction(1001, 1000)
        assert failure == r"$1.2345674 \times 10^{-6}$"


def test_plot_estimates_are_dashed_and_labelled(ax):
    to.plot(CLT, EXACT, to.Gaussian(1), to.Laplace(1), ax=ax)
    estimate, *_ = lines = ax.get_lines()[1:]
    assert estimate.get_linestyle() == "--"
    assert estimate.get_label() == "CLT (estimate)"
    assert len({(each.get_linestyle(), str(each._dash_pattern)) for each in lines}) == 4
    assert legend(ax)[1:] == [r"$\mathrm{f}_{0.5,0}^{10}$", r"$\mathrm{G}_{1}$", r"$\mathrm{Lap}_{1}$"]
    assert len(ax.collections) == 3  # a band for each but the estimate
    to.plot(CLT, ax=ax)
    assert ax.get_lines()[-1].get_label() == "CLT (estimate)"
    alike = STEP(1, 0.1).curve(), ~STEP(1, 0.1).curve(), to.Gaussian(1), to.Gaussian(1 + 1e-9)
    assert len(set(legend(to.plot(*alike, ax=Figure().subplots())))) == 4


@pytest.mark.parametrize("kind", ["tradeoff", "roc", "profile"])
def test_plot_band_or_pair_of_curves_is_filled_between_its_sides(ax, kind):
    to.plot(BAND, ax=ax, kind=kind)
    x, y = drawn(ax, 0)
    low, high = BAND.delta(x) if kind == "profile" else BAND.bounds(x)
    if kind == "roc":
        low, high = 1 - high, 1 - low
    filled = {tuple(each) for each in ax.collections[0].get_paths()[0].vertices}
    k = len(x) // 3
    assert {(x[k], low[k]), (x[k], high[k])} <= filled
    assert y[k] == pytest.approx(low[k] if kind == "tradeoff" else high[k], abs=1e-15)
    for pair in (EXACT.tabulate(), to.Bounds(*EXACT.tabulate())):
        axes = to.plot(to.Gaussian(1), pair, ax=Figure().subplots())
        x, y = drawn(axes, 1)
        assert np.array_equal(y, EXACT.lower.bounds(x).lower)
        assert legend(axes)[1] == "between two curves"


def test_plot_error_matches_formula_and_marks_unsafe_part(ax):
    one, other = to.PureDP(1), to.approximate_dp(0.5, 0.2)
    to.plot(one, other, ax=ax, kind="error", labels=["one", "other"])
    line, mark = ax.get_lines()
    x, e = line.get_data()

    def beta(alpha, epsilon, delta):  # Wasserman, Zhou 2010, Proposition 3
        steep, flat = 1 - delta - np.exp(epsilon) * alpha, np.exp(-epsilon) * (1 - delta - alpha)
        return np.maximum(np.maximum(steep, flat), 0)

    error = beta(x, 0.5, 0.2) - beta(x, 1, 0)
    assert np.nan_to_num(e) == pytest.approx(np.abs(error), abs=1e-14)
    assert np.array_equal(np.isfinite(mark.get_ydata()), error > 1e-15)
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[1] >= np.nanmax(e)


def test_plot_error_shows_the_width_of_the_exact_bounds(ax):
    to.plot(EXACT, CLT, ax=ax, kind="error")
    x, e = ax.get_lines()[0].get_data()
    low, high = EXACT.bounds(x)
    beta = CLT(x)
    assert np.array_equal(np.nan_to_num(e), np.maximum(np.fmax(beta - high, low - beta), 0))
    assert legend(ax) == ["CLT (estimate)"]  # it is not seen
    to.plot(EXACT.tabulate(), CLT, ax=ax, kind="error")
    assert "between two curves: width of its bounds" in ax.get_legend_handles_labels()[1]


def test_plot_style_and_user_settings_are_kept(ax):
    to.plot(to.Gaussian(1), CLT, ax=ax, c="red", linewidth=3)
    assert [(each.get_color(), each.get_linewidth()) for each in ax.get_lines()[1:]] == [("red", 3)] * 2
    with mpl.rc_context({"font.size": 11}):
        assert figure(to.Gaussian(1)).axes[0].xaxis.label.get_size() == 11
        assert to.plot(to.Gaussian(1), style="paper").xaxis.label.get_size() == 8
    with mpl.rc_context({"font.family": ["serif"], "figure.figsize": [5, 5]}):
        made = figure(to.Gaussian(1))
        assert made.get_size_inches().tolist() == [5, 5]
        assert made.axes[0].spines["top"].get_visible() is False
        assert made.axes[0].title.get_family() == ["serif"]


@pytest.mark.parametrize("scale", ["linear", pytest.param("loglog", marks=pytest.mark.slow)])
def test_plot_scores_show_estimate_and_band(scale):
    draws = np.random.default_rng(1)
    audit = to.empirical(draws.normal(size=300), draws.normal(1, 1, 200))
    ax, other = Figure().subplots(2)
    to.plot(to.Gaussian(1), audit, ax=ax, scale=scale)
    x, y = drawn(ax, 1)
    beta = y if scale == "linear" else 1 - y
    seen = np.isfinite(beta)
    assert beta[seen] == pytest.approx(np.asarray(audit.estimate(x))[seen])
    assert np.all(beta[seen] >= audit.band.lower(x)[seen])
    assert np.all(beta[seen] <= audit.band.upper.bounds(x).upper[seen] + 1e-12)
    assert legend(ax)[1].startswith("Empirical: 300 null and 200")
    to.plot(audit, ax=other, kind="profile")
    assert other.collections[0].get_paths()[0].vertices[:, 1].min() < other.get_ylim()[0]


@pytest.mark.parametrize("kind", ["tradeoff", "profile", "roc", "error"])
def test_plot_interactive_draws_the_same_lines(kind):
    pytest.importorskip("plotly", reason="plotly, the extra [report], is not installed")
    made = to.plot(EXACT, CLT, kind=kind, interactive=True, width=3)
    data = [each for each in made.data if each.name and "CLT" in each.name and "claims" not in each.name]
    assert [(each.name, each.line.width) for each in data] == [("CLT (estimate)", 3)]
    assert made.layout.yaxis.type == ("log" if kind in ("profile", "error") else "linear")
    x, y = np.array(data[0].x), np.array(data[0].y, dtype=float)
    if kind != "error":
        true = {"tradeoff": CLT, "roc": lambda a: 1 - CLT(a), "profile": CLT.delta}[kind](x)
        assert np.nan_to_num(y) == pytest.approx(true)
    if kind == "tradeoff":
        exact = next(each for each in made.data if each.name == "f<sub>0.5,0</sub><sup>10</sup>")
        assert all(text.startswith("β ≥ ") for text in exact.text)
        assert np.array_equal(np.array(exact.y), EXACT.bounds(np.array(exact.x)).lower)


def sized(width, **words):
    """Return a drawn figure of a width."""
    with mpl.rc_context({"figure.figsize": [width, width + 0.1]}):
        made = figure(to.TotalVariation(0.3), **words)
    made.draw_without_rendering()
    return made


plain = functools.cache(sized)
TITLES = "50 Laplace, 200 subsampled Gaussian, 10 Gaussian, 5 pure-DP", "W" * 200, "costs $5 and " * 20


@pytest.mark.parametrize("title", [*TITLES, "word " * 199, "漢" * 300])
@pytest.mark.parametrize("width", [COLUMN, 2.0, PAGE])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_figure_title_is_complete_and_outside_the_axes(title, width):
    made = sized(width, title=title)
    shown = made._suptitle.get_text().replace("\n", "").replace(" ", "")
    assert shown == title.replace(" ", "").replace("$", r"\$")
    assert made.get_figwidth() == width
    assert made.axes[0].bbox.height == pytest.approx(plain(width).axes[0].bbox.height, rel=0.02)
    box = made._suptitle.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= made.bbox.width
    assert made.axes[0].bbox.y1 <= box.y0 < box.y1 <= made.bbox.height


LABELS = [
    ["a very long label of many words that goes on and on and on", "x" * 60],
    [r"$\mathrm{Lap}_{0.5}^{50}$ ⊗ $G_{1}$ ⊗ $f_{0.1, 0}$ and some more words of a label", "short"],
    ["W" * 40, "W" * 26],
]


@pytest.mark.parametrize("width", [2.2, COLUMN, PAGE])
@pytest.mark.parametrize("labels", LABELS)
def test_plot_long_labels_are_complete(labels, width):
    with paper(width, width + 1) as (made, axes):
        to.plot(to.Gaussian(1), to.PureDP(1), ax=axes, labels=labels)
    check_layout(made)


@pytest.mark.parametrize(
    ("items", "names"),
    [
        ([to.Plan({STEP(1.1, 256 / 60000): 14062})], ["DP-SGD σ = 1.1, q = 0.0043, ×14062"]),
        ([to.Plan({STEP(1.1, 256 / 60000): 14062}).guarantee()], ["DP-SGD σ = 1.1, q = 0.0043, ×14062"]),
        *(
            ([STEP(1, q) for q in rates], [f"DP-SGD σ = 1, q = {rate}" for rate in shown])
            for rates, shown in (
                ((0.12341, 0.12349), (0.1234, 0.1235)),
                ((0.0031111, 0.0031112), (0.0031111, 0.0031112)),
            )
        ),
        ([to.mechanisms.Laplace(scale=2.0), to.mechanisms.PureDP(1)], ["Laplace b = 2", "Pure DP ε = 1"]),
        ([to.Gaussian(1) @ to.subsample(to.Gaussian(1), 0.5)], [r"$\mathrm{G}_{1}$ ⊗ DP-SGD σ = 1, q = 0.5"]),
    ],
)
def test_name_items_have_the_parameters_that_differ(items, names):
    assert sorted(name_items([*items, to.Gaussian(2)])[:-1]) == sorted(names)


@pytest.mark.parametrize(("columns", "width"), [(1, 3.3), (2, 7.0)])
def test_plot_columns_set_the_width_and_long_legends_fit(columns, width):
    plans = [to.Plan({STEP(sigma, 256 / 60000): 14062}) for sigma in (1.1, 0.9)]
    axes = to.plot(*plans, style="paper", columns=columns)
    axes.figure.draw_without_rendering()
    check_layout(axes.figure)
    assert axes.figure.get_figwidth() == width
    assert axes.figure._repr_png_().startswith(b"\x89PNG")
    assert axes.get_legend().get_window_extent().width < axes.figure.bbox.width


def test_plot_lines_that_coincide_are_both_seen_and_styles_differ_in_grey(ax):
    to.plot(to.Gaussian(1), to.Gaussian(1.0 + 1e-9), ax=ax)
    wide, thin = ax.get_lines()[1:]
    assert wide.get_linewidth() >= 2 * thin.get_linewidth()
    assert (wide.is_dashed(), thin.is_dashed()) == (False, True)
    assert thin.get_path_effects()
    assert thin.get_zorder() > wide.get_zorder()

    def grey(colour):
        return float(np.dot(mpl.colors.to_rgb(colour), (0.2126, 0.7152, 0.0722)))

    styles = [dashed(i) for i in range(10)]
    assert len({each["linestyle"] for each in styles}) == 10
    assert all(each["linestyle"] != "-" for each in styles)
    assert all(abs(grey(a["color"]) - grey(b["color"])) > 0.05 for a, b in itertools.pairwise(styles))
    assert all(grey(each["color"]) < 0.6 for each in styles)


MU, DELTA = [0.5, 1.0, 1.5, 2.0], [1e-9, 1e-6, 1e-3]
TABLE = to.sweep(lambda mu, delta: to.Gaussian(mu).bounds.epsilon(delta), {"mu": MU, "delta": DELTA})


def test_heatmap_cells_are_answers_lines_have_labels_and_infinite_values_are_masked(ax):
    assert to.plot(TABLE, ax=ax, cmap="Greys") is ax
    cells = ax.collections[0]
    expected = [[to.Gaussian(mu).epsilon(delta) for mu in MU] for delta in DELTA]
    assert np.array_equal(cells.get_array().reshape(3, 4), expected)
    assert cells.get_cmap().name == "Greys"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mu", "delta")
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert ax.figure.axes[1].get_ylabel() == "upper bound"
    assert len(ax.texts) >= 3
    check_layout(to.plot(TABLE).figure)
    ax, other = Figure().subplots(2)
    heatmap(TABLE, "lower", levels=[2, 6], label="at least", ax=ax)
    assert {each.get_text() for each in ax.texts} == {"2", "6"}
    assert ax.figure.axes[2].get_ylabel() == "at least"
    table = to.sweep(lambda x, y: np.inf if x == y == 1 else x + y, {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0]})
    heatmap(table, ax=other)
    assert other.collections[0].get_array().mask.sum() == 1


@pytest.mark.slow
def test_heatmap_log_axis_of_few_decades_has_readable_ticks(ax):
    grid = {"noise": list(np.geomspace(0.6, 4, 5)), "delta": [1e-9, 1e-6, 1e-3]}
    heatmap(to.sweep(lambda noise, delta: noise * delta, grid), levels=[1e-7, 1e-4], ax=ax)
    ax.figure.canvas.draw()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    low, high = ax.get_xlim()
    labels = ax.get_xticklabels(which="both")
    shown = [each.get_text() for each in labels if low <= each.get_position()[0] <= high]
    assert {"1", "2"} <= set(shown) <= {"", "0.1", "0.2", "0.5", "1", "2", "5", "10"}
    assert "1e-06" not in {each.get_text() for each in ax.get_yticklabels()}
    check_layout(ax.figure)


@pytest.mark.parametrize("kind", ["tradeoff", "profile", "roc"])
@pytest.mark.parametrize(
    ("curve", "scale"), [(EXACT, "linear"), (EXACT, "loglog"), (to.Gaussian(1), "loglog")]
)
def test_plot_exact_line_is_the_safe_bound_in_every_view(kind, curve, scale):
    with paper() as (made, axes):
        to.plot(curve, CLT, ax=axes, kind=kind, scale=scale, labels=["exact", "CLT"])
        exact, clt = axes.get_lines()[-2:]
        x, y = exact.get_data()
        lower, upper = curve.bounds.delta(x) if kind == "profile" else curve.bounds(x)
        if kind == "profile":
            assert np.array_equal(y, np.where(upper > 0, upper, np.nan), equal_nan=True)
        else:  # from whole curves, which hold between the points drawn too
            beta = y if (kind, scale) == ("tradeoff", "linear") else 1 - y
            assert np.all(beta <= upper)
            assert beta == pytest.approx(lower, abs=2e-4)
            if scale == "loglog":
                label = {"tradeoff": "power 1 − β", "roc": "true positive rate 1 − β"}[kind]
                assert (x[0], axes.get_ylabel()) == (1e-6, label)
                assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
                assert 1 - beta == pytest.approx(1 - lower, rel=2e-3)
        assert (exact.get_label(), exact.get_color(), exact.get_linestyle()) == ("exact", "black", "-")
        assert (clt.get_label(), clt.get_linestyle()) == ("CLT", "--")
        check_layout(made)


def test_plot_insets_panels_of_a_comparison_and_missing_libraries(monkeypatch):
    with paper() as (_, axes):
        to.plot(EXACT, CLT, ax=axes, labels=["exact", "CLT"], inset=(0.25, 0.35))
        (window,) = axes.child_axes
        assert window.get_xlim() == pytest.approx((0.25, 0.35))
        assert window.get_ylim() == pytest.approx((EXACT(0.35), EXACT(0.25)), rel=1e-4)
        assert window.texts[0].get_text().startswith("α ×4\nβ ×")
    result = compare(EXACT, ["clt", "basic", "edgeworth"], delta=[1e-3], epsilon=[], alpha=[])
    figure = result.figure()
    assert [axes.get_title() for axes in figure.axes] == [f"{row.name}: {row.verdict}" for row in result]
    for axes, row in zip(figure.axes, result, strict=True):
        exact, method = axes.get_lines()
        assert exact.get_linewidth() > 1.5 * method.get_linewidth()
        assert (method.get_color() == "#b3261e") == row.under_reports
    width, height = figure.get_size_inches() * figure.dpi
    check_layout(figure)
    for box in (axes.get_tightbbox() for axes in figure.axes):
        assert 0 <= box.x0 <= box.x1 <= width + 1
        assert box.y1 <= height + 1
    for module, message, interactive in (
        ("matplotlib.pyplot", r"tradeoff\[plot\]", False),
        ("plotly.graph_objects", r"interactive plots need plotly: .*tradeoff\[report\]", True),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(MissingExtraError, match=message):
                to.plot(to.Gaussian(1), interactive=interactive)

    def refused(*_, **__):
        raise SizeError("too large")

    monkeypatch.setattr("tradeoff.report.plot.paint", refused)  # other errors are not translated
    with pytest.raises(SizeError, match=r"^too large"):
        to.plot(to.Gaussian(1))
    assert to.plot(to.Gaussian(1), labels=np.array(["a"]), interactive=True)


@pytest.mark.parametrize("ending", [".svg", pytest.param(".pdf", marks=pytest.mark.slow), ".png"])
def test_save_same_figure_gives_the_same_bytes(tmp_path, ending):
    for name in ("one", "two"):
        with paper() as (made, axes):
            to.plot(to.Gaussian(1.0), to.Laplace(1.0), ax=axes)
        save(made, tmp_path / f"{name}{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
