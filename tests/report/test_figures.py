"""Figures: safe lines, distinct styles, no overlapping text, reproducible bytes."""

import importlib.util
import itertools
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import tradeoff as to
from docs.drawing import families, family, gdp_bound, supporting_lines
from tests.report.layout import check_layout
from tradeoff.report.compare import compare
from tradeoff.report.figures import inset, paper, shared_legend
from tradeoff.report.saving import save
from tradeoff.report.styles import PAGE, dashed

GALLERY = Path(__file__).parents[2] / "docs" / "gallery.py"
EXACT = to.PureDP(0.5) ** 10
CHEAP = (
    "families",
    "supporting-lines",
    "mnist",
    "one-is-private",
    "scaling",
    "orders",
    "accuracy-first-sketch",
)


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", GALLERY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    assert len({(str(family(i, 5)["linestyle"])) for i in range(5)}) == 5


def test_supporting_lines_touch_and_never_cross():
    with paper() as (_, axes):
        supporting_lines(axes, to.Gaussian(1.0), (0.0, 1.0))
        for each in (each for each in axes.get_lines() if each.get_linewidth() == 0.9):
            (x0, x1), (y0, y1) = each.get_data()
            alpha = np.linspace(x0, x1, 2001)
            gap = to.Gaussian(1.0).bounds(alpha).upper - (y0 + (y1 - y0) * (alpha - x0) / (x1 - x0))
            assert gap.min() > -1e-12
            assert gap.min() < 1e-5


def test_supporting_lines_labels_have_a_safe_delta():
    curve, epsilons = to.Gaussian(1.0), (0.0, 0.5, 1.0, 1.0000004)
    with paper() as (_, axes):
        supporting_lines(axes, curve, epsilons)
        names = [each.get_label() for each in axes.get_lines() if each.get_label().startswith("ε")]
    for name, epsilon in zip(names, epsilons, strict=True):
        said, delta = (float(part.split(" = ")[1]) for part in name.split(", "))
        assert said == epsilon
        assert curve.delta(epsilon) <= delta <= curve.delta(epsilon) * 1.1


def test_gdp_bound_is_below_and_touches():
    result = to.Laplace(1.0).gdp(1e-6)
    with paper() as (_, axes):
        gdp_bound(axes, result)
        dot = axes.get_lines()[-1]
        assert dot.get_xdata()[0] == result.tight_at
        assert dot.get_ydata()[0] == pytest.approx(result.curve(result.tight_at), abs=1e-6)
    with paper() as (_, axes):
        gdp_bound(axes, result, kind="profile")
        assert np.all(
            axes.get_lines()[-1].get_ydata() >= result.of.bounds.delta(axes.get_lines()[-1].get_xdata()).lower
        )


def test_inset_shows_its_window():
    with paper() as (_, axes):
        to.plot(EXACT, ax=axes)
        window = inset(axes, EXACT, {}, centre=0.3, width=0.1)
        assert window.get_xlim() == pytest.approx((0.25, 0.35))
        assert window.get_ylim() == pytest.approx((EXACT(0.35), EXACT(0.25)), rel=1e-4)
        assert window.texts[0].get_text().startswith("α ×4\nβ ×")


@pytest.mark.slow
def test_shared_legend_merges_panels():
    with paper(PAGE, 3.8, columns=2) as (figure, (left, right)):
        to.plot(to.Gaussian(1), ax=left, labels=["exact"])
        to.plot(to.Gaussian(2), to.Gaussian(1), ax=right, labels=["exact", "other"])
        shared_legend(figure, left, right)
        assert [each.get_text() for each in figure.legends[0].get_texts()] == ["exact", "other"]
        assert left.get_legend() is right.get_legend() is None
        check_layout(figure)


def test_comparison_figure_names_every_method():
    result = compare(EXACT, ["clt", "basic"], delta=[1e-3], epsilon=[], alpha=[])
    figure = result.figure()
    assert [each.get_text() for each in figure.legends[0].get_texts()] == [
        "exact",
        "clt",
        "basic",
    ]
    check_layout(figure)


def test_families_show_corners():
    with paper() as (_, axes):
        families(axes, {"a": to.approximate_dp(1.0, 0.1), "b": to.PureDP(1.0)})
        assert np.any(np.isclose(line(axes, "b").get_xdata(), 1 / (1 + np.e), atol=1e-14))


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEAP)
def test_gallery_text_does_not_overlap(gallery, name):
    check_layout(gallery.GALLERY[name]())


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


def test_every_figure_of_the_gallery_is_on_its_page(gallery):
    page = (GALLERY.parent / "gallery.md").read_text(encoding="utf-8")
    for name in gallery.GALLERY:
        assert f"_static/gallery/{name}.svg" in page
        assert (gallery.FOLDER / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
