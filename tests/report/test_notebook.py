import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import sympy

import tradeoff as to
from tradeoff.errors import TradeOffError
from tradeoff.report.notebook import equation, latex, picture

ROOT = Path(__file__).resolve().parents[2]
START = """
import numpy as np, tradeoff as to
f, m = to.Laplace(0.5), to.mechanisms
scores = np.linspace(-3, 3, 50)
"""
TABLES = {
    "to.compare(f ** 2, ['basic'], delta=[1e-3], epsilon=[], alpha=[])": "lower bound",
    "f.gdp(failure=0.01)": "gap to f (regret), at most",
    "to.Plan({m.Gaussian(noise_multiplier=2): 3})": "Gaussian(noise_multiplier=2.0)",
    "to.calibrate(lambda s: to.Gaussian(1 / s), {'epsilon': 1, 'delta': 1e-2}, tol=0.1)": "crossing lies in",
    "to.allocate([m.Gaussian(noise_multiplier=1)], {'mu': 1, 'failure': 0})": "scales: 1",
    "f.explain(delta=1e-5)": "no engine was used",
    "f.sensitivities(delta=1e-5)": "per 1%",
    "to.verify(to.certify(f, 'delta', 0.1))": "recorded",
    "to.empirical(scores, scores + 2)": "50 null and 50 alternative scores",
    "to.empirical(scores, scores + 2).refutes(f)": "p-value",
    "to.sweep(lambda x: x, {'x': [1, 2]})": "value",
    "to.spec.load('examples/mixed.toml')": "add-remove neighbours",
}
PLAIN = {"f.bounds": "bounds of Lap_{0.5}", "f.bounds(0.5)": "Bounds(lower=", "f(0.5)": "0."}
FORMULAS = [
    to.Identity(),
    to.Gaussian(sympy.Symbol("mu") + 1) @ to.TotalVariation(1e-7),
    to.approximate_dp(1, 0.01),
    to.Laplace(sympy.Symbol("epsilon")),
    to.Gaussian(1) @ to.Laplace(0.1) ** 50,
    to.subsample(to.Gaussian(1), 0.1).symmetrise(assume="either-order"),
    ~(to.subsample(to.Gaussian(1), 0.1) ** 3),
    to.mixture({to.Laplace(0.1) ** 2: 0.25, to.Gaussian(1): 0.75}).symmetrise(assume="profile"),
    to.maximum(to.minimum(to.Gaussian(1), to.PureDP(1)), to.Laplace(1)).group(3),
    to.mechanisms.Skellam(variance=3).curve() ** 2,
    to.PiecewiseLinear([0, 1], [0.5, 0]),
    to.subsample(to.Laplace(1), 0.1) @ to.TotalVariation(0.2),
    to.GaussianMixtures({0: 1}, {0: 0.5, Fraction(1, 3): 0.5}, sigma=2) ** 5,
    to.LocationShift(scipy.stats.gumbel_l(), 1),
]


@pytest.mark.slow
def test_kernel_shows_every_kind_of_object():
    missing = "nbclient and nbformat, of the extra [test], are not installed"
    nbclient, nbformat = (pytest.importorskip(name, reason=missing) for name in ("nbclient", "nbformat"))
    argument = {**TABLES, **PLAIN, "f": "<svg", "f.symbolic()": r"\alpha"}
    cells = [nbformat.v4.new_code_cell(code) for code in (START, *argument)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": ROOT}}
    nbclient.NotebookClient(notebook, kernel_name="python3", startup_timeout=300, resources=where).execute()
    for cell, (code, given) in zip(cells[1:], argument.items(), strict=True):
        (output,) = cell.outputs  # and no warning
        data = output["data"]
        if code in PLAIN:
            assert given in data["text/plain"]
            continue
        kind = "text/latex" if "symbolic" in code else "text/html"
        assert given in data[kind], code
        if code in TABLES:
            assert "<table>" in data[kind]
            assert len(data["text/plain"].splitlines()) < 60


@pytest.mark.parametrize("curve", FORMULAS, ids=repr)
def test_equation_is_balanced_latex(curve):
    written = equation(curve)
    depth = 0
    for brace in re.findall(r"(?<!\\)[{}]", written):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    assert written.count(r"\left") == written.count(r"\right")
    assert not re.search(r"\^\{[^{}]*\}\^", written)  # a double superscript is an error
    assert written.isascii()
    assert f"${sympy.latex(curve)}$" == f"${latex(curve)}$"


def test_equation_follows_the_name_filters_show_a_table_and_no_picture_is_none(monkeypatch):
    formula = r"f(\alpha) = \Phi\left(\Phi^{-1}\left(1 - \alpha\right) - 2\right)"
    assert equation(to.Gaussian(2)) == rf"G_{{2}}:\quad {formula}"
    assert latex(to.approximate_dp(1, 0.01)) == "f_{1, 0.01}"
    assert equation(to.Laplace(1) ** 2) == r"\mathrm{Lap}_{1}^{\otimes 2}"
    filter_ = to.filters.GDPFilter(1)
    filter_.spend(to.Gaussian(0.5))
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", filter_._repr_html_())
    assert cells == ["budget", "1", "spent", "0.5 (to 1e-13)", "remaining", "0.8660254037", "steps", "1"]
    assert to.Gaussian(sympy.Symbol("mu"))._repr_html_() is None
    assert to.Gaussian(1).symbolic()._repr_html_() is None
    assert (to.Laplace(0.1) ** 3).group(2)._repr_html_() is None

    def broken(*_):
        raise TradeOffError("broken")

    monkeypatch.setattr(to.Laplace, "delta_bounds", broken)
    assert to.Laplace(1)._repr_html_() is None


@pytest.mark.parametrize(
    "curve", [to.Gaussian(1), to.subsample(to.PureDP(2), 0.3), to.Gaussian(1) ** 0], ids=repr
)
def test_picture_points_lie_just_below_the_curve(curve):
    ((points,),) = [re.findall(r'points="([^"]*)"', str(picture(curve)))]
    x, y = np.array([pair.split(",") for pair in points.split()], dtype=float).T / 120
    beta = curve(np.clip(x, 0, 1))
    assert np.all(1 - y <= beta + 2e-3)  # a tenth of a pixel
    assert np.all(1 - y >= beta - 2e-2)


@pytest.mark.parametrize(
    "name", ["<b>x</b>", "<script>alert(1)</script>", "a&lt;b", "x$<i>$", r"\href{javascript:alert(1)}{x}"]
)
def test_repr_latex_escapes_names_of_symbols(name):
    symbol = sympy.Symbol(name)
    curve = to.Gaussian(symbol)
    for each in (curve, to.subsample(to.PureDP(symbol), symbol), curve.symbolic()):
        result = each._repr_latex_()
        assert not re.search(r"[<>]|\\href|(?<!\\)&", result)
        assert result.count("$") - result.count(r"\$") == 2
    assert r"G_{\mu_{0}}" in to.Gaussian(sympy.Symbol(r"\mu_{0}"))._repr_latex_()
