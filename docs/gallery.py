"""Draw the gallery: ``python docs/gallery.py [FOLDER]`` writes every figure as SVG, always the same bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[1]))

import tradeoff as to
from docs.drawing import families, gdp_bound, supporting_lines
from examples import accuracy_first
from tradeoff.report.figures import inset, paper, shared_legend
from tradeoff.report.heatmap import heatmap
from tradeoff.report.methods import Claim
from tradeoff.report.saving import save
from tradeoff.report.styles import EXACT, PAGE, dashed, number

FOLDER = Path(__file__).with_name("_static") / "gallery"
DELTA = 1e-3
VIEWS = (("tradeoff", "linear"), ("tradeoff", "loglog"), ("profile", "linear"))


def composition() -> Figure:
    """Draw ten f_{eps,0} and Laplace queries, their CLT, the tightest (eps, delta) curve (DRS, Section 3)."""
    bases = (("(ε, 0)-DP", to.PureDP(1 / np.sqrt(10)), 0.05), ("Laplace", to.Laplace(1 / np.sqrt(10)), 0.016))
    with paper(PAGE, 3.75, columns=2) as (figure, panels):
        for axes, (name, base, width) in zip(panels, bases, strict=True):
            whole = base**10
            others = {
                "CLT": to.limits.clt(whole),
                f"tightest (ε, {number(DELTA)})-DP": to.approximate_dp(whole.epsilon(DELTA), DELTA),
            }
            to.plot(whole, *others.values(), ax=axes, labels=["10-fold, exact", *others])
            inset(axes, whole, others, centre=0.32, width=width)
            axes.set_title(f"{name}, ε = 1/√10, ten times")
        shared_legend(figure, *panels)
    return figure


def standard_families() -> Figure:
    """Draw f_{eps,delta} and G_mu for a few parameters."""
    pairs = ((0.5, 0.0), (1.0, 0.0), (1.0, 0.1), (3.0, 0.1))
    with paper(PAGE, 3.55, columns=2) as (figure, (left, right)):
        families(left, {f"ε = {e:g}, δ = {d:g}": to.approximate_dp(e, d) for e, d in pairs})
        families(right, {f"μ = {mu:g}": to.Gaussian(mu) for mu in (0.5, 1.0, 3.0, 6.0)})
        left.set_title("(ε, δ)-DP")
        right.set_title("Gaussian DP")
    return figure


def lines() -> Figure:
    """Draw a curve with the lines of four (eps, delta) pairs that support it."""
    with paper(height=3.4) as (figure, axes):
        supporting_lines(axes, to.Gaussian(1.0), (0.0, 0.5, 1.0, 2.0), label="Gaussian DP, μ = 1")
    return figure


def mnist() -> Figure:
    """Draw DP-SGD on MNIST: exact bounds, the CLT, and the moments accountant."""
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000)
    steps = 14062
    exact = to.Plan({step: steps}).guarantee()
    others = {
        "CLT": to.limits.dp_sgd_clt(step.sample_rate, step.noise_multiplier, steps),
        "moments accountant": moments(step, steps),
    }
    with paper(PAGE, 2.7, columns=3) as (figure, panels):
        for axes, (kind, scale) in zip(panels, VIEWS, strict=True):
            to.plot(exact, *others.values(), ax=axes, labels=["exact", *others], kind=kind, scale=scale)
        panels[0].set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        panels[2].set(ylim=(1e-10, 1.5), box_aspect=1)
        shared_legend(figure, *panels)
        figure.suptitle(
            "DP-SGD on MNIST: sample rate 256/60000, noise multiplier 1.1, 14,062 steps", fontsize=8
        )
    return figure


def under_reporting() -> Figure:
    """Draw the epsilon of the CLT and the exact one against the sample rate, p sqrt(steps) held fixed."""
    noise, delta, scale = 0.8, 1e-6, 0.005 * np.sqrt(1000)
    steps = np.unique(np.geomspace(3, 100_000, 28).round().astype(int))
    rates = scale / np.sqrt(steps)
    exact = np.array(
        [_guarantee(noise, p, n).bounds.epsilon(delta) for p, n in zip(rates, steps, strict=True)],
        dtype=object,
    )
    lower, upper = (
        np.array([getattr(each, side) for each in exact], dtype=float) for side in ("lower", "upper")
    )
    clt = np.array(
        [
            to.limits.dp_sgd_clt(float(p), noise, int(n)).epsilon(delta)
            for p, n in zip(rates, steps, strict=True)
        ]
    )
    with paper(height=2.9) as (figure, axes):
        axes.fill_between(rates, lower, upper, color="0.72", linewidth=0)
        axes.plot(rates, upper, label="exact", **EXACT)
        axes.plot(rates, clt, label="CLT", **dashed(0))
        axes.set(
            xscale="log", xlabel="sample rate p", ylabel=f"ε at δ = {number(delta)} (nats)", ylim=(0, None)
        )
        axes.set_title(f"DP-SGD, σ = {noise:g}, p √steps = {scale:.3f}")
        axes.legend(loc="upper left")
        axes.annotate(
            "the CLT under-reports",
            (rates[4], clt[4]),
            (0, -11),
            textcoords="offset points",
            ha="right",
            fontsize="small",
        )
    return figure


def reduction() -> Figure:
    """Draw curves with the Gaussian curve certified below each."""
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=0.8, sample_rate=0.005)
    with paper(PAGE, 3.55, columns=2) as (figure, (left, right)):
        gdp_bound(left, (to.Laplace(0.5) ** 4).gdp(1e-10))
        gdp_bound(right, to.Plan({step: 1000}).guarantee().gdp(1e-4), scale="loglog")
        left.set_title("Laplace, ε = 0.5, four times")
        right.set_title("DP-SGD, σ = 0.8, p = 0.005, 1000 steps")
    return figure


def views() -> Figure:
    """Draw one curve in three views: type II errors, ROC, and small type I errors."""
    exact = to.Laplace(0.2) ** 25
    with paper(PAGE, 2.3, columns=3) as (figure, panels):
        views = (("tradeoff", "linear"), ("roc", "linear"), ("tradeoff", "loglog"))
        for axes, (kind, scale) in zip(panels, views, strict=True):
            to.plot(exact, to.limits.clt(exact), ax=axes, labels=["exact", "CLT"], kind=kind, scale=scale)
        for axes in panels[:2]:
            axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    return figure


def comparison() -> Figure:
    """Draw every method for four hundred Laplace queries."""
    return to.compare(to.Laplace(0.1) ** 400).figure()


def moments(step: to.mechanisms.SubsampledGaussian, steps: int) -> Claim:
    """Return the moments accountant.

    Renyi divergence at whole orders t, delta = exp((t - 1)(D_t - eps)) (Abadi et al. 2016).
    """
    from scipy.special import gammaln, logsumexp

    p, sigma = step.sample_rate, step.noise_multiplier
    orders = np.arange(2, 129)
    logs = []
    for t in orders:
        k = np.arange(t + 1)
        terms = (
            gammaln(t + 1)
            - gammaln(k + 1)
            - gammaln(t - k + 1)
            + k * np.log(p)
            + (t - k) * np.log1p(-p)
            + k * (k - 1) / (2 * sigma**2)
        )
        logs.append(steps * logsumexp(terms))

    def delta(epsilon: np.ndarray) -> np.ndarray:
        return np.minimum(
            np.exp(np.min(np.array(logs)[:, None] - (orders - 1)[:, None] * epsilon, axis=0)), 1.0
        )

    pairs = np.linspace(0.0, 30.0, 1501)

    def beta(alpha: np.ndarray) -> np.ndarray:
        """Take the best of all curves f_{eps,delta(eps)}."""
        kept, scale = 1 - delta(pairs)[:, None], np.exp(pairs)[:, None]
        return np.max(np.maximum(kept - scale * alpha, (kept - alpha) / scale), axis=0).clip(0, 1)

    return Claim("moments accountant", "bound", beta, delta)


def _guarantee(noise: float, rate: float, steps: int) -> to.TradeOff:
    return to.Plan({to.mechanisms.SubsampledGaussian(noise, float(rate)): int(steps)}).guarantee()


def errors() -> Figure:
    """Draw how far limit theorems are from the exact curve, and where they claim too much."""
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60000)
    dp_sgd, ten = to.Plan({step: 14062}).guarantee(), to.PureDP(1 / np.sqrt(10)) ** 10
    with paper(PAGE, 3.1, columns=2) as (figure, (left, right)):
        items = (ten, to.limits.clt(ten), to.limits.berry_esseen(ten))
        names = ["exact", "CLT", "Berry-Esseen"]
        to.plot(*items, ax=left, labels=names, kind="error")
        sgd_clt = to.limits.dp_sgd_clt(step.sample_rate, step.noise_multiplier, 14062)
        to.plot(dp_sgd, sgd_clt, ax=right, labels=names[:2], kind="error", scale="loglog")
        left.set_title("(ε, 0)-DP, ε = 1/√10, ten times")
        right.set_title("DP-SGD on MNIST, σ = 1.1, 60 epochs")
        shared_legend(figure, left, right)
    return figure


def one_is_private() -> Figure:
    """Draw a guarantee and three curves of which one keeps it (DRS, Figure 2)."""
    f = to.Gaussian(1.0)
    curves = (to.Laplace(0.7), to.approximate_dp(0.3, 0.25), to.Gaussian(1.8))
    with paper(height=3.5) as (figure, axes):
        labels = ["f", *(f"{'' if curve >= f else 'not '}f-DP" for curve in curves)]
        to.plot(f, *curves, ax=axes, labels=labels)
        alpha = np.linspace(0, 1, 201)
        axes.fill_between(alpha, f(alpha), 1 - alpha, color="0.93", linewidth=0, zorder=0)
    return figure


def scaling() -> Figure:
    """Draw f and f (x) f_{0,delta}, which is f drawn smaller by 1 - delta (DRS, Section 3)."""
    f, delta = to.Gaussian(1.0), 0.25
    with paper(height=3.5) as (figure, axes):
        to.plot(f, f @ to.TotalVariation(delta), ax=axes, labels=["f", f"f ⊗ $f_{{0,\\delta}}$, δ = {delta}"])
        for alpha in (0.0, 0.07, 0.2, 0.31, 0.5, 0.76, 1.0):
            end = np.array([alpha, float(f(alpha))])
            axes.plot(*zip([0, 0], end, strict=True), color="0.8", linewidth=0.5, zorder=0)
            arrow = {"arrowstyle": "-|>", "color": "0.45", "linewidth": 0.6, "mutation_scale": 6}
            axes.annotate("", (1 - delta) * end, end, arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0})
    return figure


def subsampling() -> Figure:
    """Draw C_p of G_1.8 and of f_{3,0.1} beside the classical amplification (DRS, Section 4)."""
    with paper(PAGE, 3.75, columns=2) as (figure, (left, right)):
        f, p = to.Gaussian(1.8), 0.35
        sampled = to.subsample(f, p)
        whole = sampled.symmetrise(assume="either-order")
        names = ["$C_p(f)$", "f", "$f_p = pf + (1-p)$Id", "$f_p^{-1}$"]
        to.plot(whole, f, sampled, ~sampled, ax=left, labels=names)
        left.set_title(f"f = $G_{{{f.mu}}}$, p = {p}")
        (epsilon, delta), p = (3.0, 0.1), 0.2
        f = to.approximate_dp(epsilon, delta)
        whole = to.subsample(f, p).symmetrise(assume="either-order")
        classical = to.approximate_dp(np.log1p(p * np.expm1(epsilon)), p * delta)
        to.plot(whole, f, classical, ax=right, labels=["$C_p(f)$", "f", "classical theorem"])
        right.set_title(f"f = $f_{{{epsilon:g},{delta}}}$, p = {p}")
    return figure


def symmetrised() -> Figure:
    """Draw both cases of Symm: the hull of the minimum, and the maximum (DRS, Appendix)."""
    f = to.subsample(to.Gaussian(2.0), 0.4)
    with paper(PAGE, 3.75, columns=2) as (figure, panels):
        for axes, curve, case in zip(panels, (f, ~f), ("hull of the minimum", "maximum"), strict=True):
            names = ["Symm(f)", "f", "$f^{-1}$"]
            to.plot(curve.symmetrise(assume="profile"), curve, ~curve, ax=axes, labels=names)
            axes.plot([0, 1], [0, 1], color="0.8", linewidth=0.6, zorder=0)
            alpha = np.linspace(0.01, 0.99, 981)
            beta = curve(alpha)
            k = np.argmin(alpha + beta)
            axes.plot(alpha[k], beta[k], "o", color="0.2", markersize=3)
            place = {"xytext": (-3, -9), "textcoords": "offset points", "ha": "right", "fontsize": "small"}
            axes.annotate("slope −1", (alpha[k], beta[k]), **place)
            axes.set_title(case)
    return figure


PUBLISHED = ((1.3, 15, 1.19, 0.23), (1.1, 60, 3.01, 0.57), (0.7, 45, 7.10, 1.13))
"""Noise multiplier, epochs, epsilon of the moments accountant at delta = 1e-5, mu of the CLT: as printed."""


def published() -> Figure:
    """Draw the three published settings of DP-SGD on MNIST, with what was claimed and what holds."""
    delta, rate, size = 1e-5, 256 / 60000, 60000
    with paper(PAGE, 2.8, columns=3) as (figure, panels):
        for axes, (sigma, epochs, moments_epsilon, mu) in zip(panels, PUBLISHED, strict=True):
            steps = epochs * size // 256
            exact = _guarantee(sigma, rate, steps)
            clt = to.limits.dp_sgd_clt(rate, sigma, steps)
            pair = to.approximate_dp(moments_epsilon, delta)
            to.plot(exact, clt, pair, ax=axes, labels=["exact", "CLT", "moments accountant's pair"])
            said = (
                f"ε at δ = {number(delta)}",
                f"exact {exact.epsilon(delta):.2f}",
                f"CLT {clt.epsilon(delta):.2f} (μ = {mu})",
                f"moments {moments_epsilon:.2f}",
            )
            axes.text(0.98, 0.98, "\n".join(said), ha="right", va="top", fontsize="small")
            axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), title=f"σ = {sigma}, {epochs} epochs")
        shared_legend(figure, *panels)
    return figure


def orders() -> Figure:
    """Draw two pairs whose Renyi divergences are ordered and whose curves are not (DRS, Appendix)."""
    epsilon = 1.0
    response, gauss = to.PureDP(epsilon), to.Gaussian(epsilon)
    names = [f"randomised response, ε = {epsilon:g}", f"Gaussian, μ = {epsilon:g}"]
    a = np.geomspace(0.1, 30, 60)
    with paper(PAGE, 3.3, columns=2) as (figure, (left, right)):
        for curve, name, look in zip((response, gauss), names, (EXACT, dashed(0)), strict=True):
            left.plot(a, [curve.renyi(float(each)) for each in a], label=name, **look)
        left.set(xscale="log", yscale="log", xlabel="order a", ylabel="Rényi divergence $D_a$ (nats)")
        left.set_box_aspect(1)
        to.plot(response, gauss, ax=right, labels=names)
        left.set_title("less at every order …")
        right.set_title("… and not the more private")
        shared_legend(figure, left, right)
    return figure


def noise_and_rate() -> Figure:
    """Draw epsilon of DP-SGD over noise multiplier and sample rate."""

    def epsilon(sigma: float, p: float) -> to.Bounds:
        return _guarantee(sigma, p, 1000).bounds.epsilon(1e-5)

    table = to.sweep(epsilon, {"sigma": np.linspace(0.7, 2.5, 16), "p": np.geomspace(1e-3, 0.05, 14)})
    with paper(4.4, 3.2) as (figure, axes):
        heatmap(table, ax=axes, label=f"ε at δ = {number(1e-5)}, 1000 steps", levels=(0.1, 0.3, 1, 3, 10, 30))
        axes.set(xlabel="noise multiplier σ", ylabel="sample rate p")
    return figure


GALLERY = {
    "composition": composition,
    "families": standard_families,
    "supporting-lines": lines,
    "mnist": mnist,
    "under-reporting": under_reporting,
    "reduction": reduction,
    "views": views,
    "comparison": comparison,
    "errors": errors,
    "one-is-private": one_is_private,
    "scaling": scaling,
    "subsampling": subsampling,
    "symmetrised": symmetrised,
    "published": published,
    "orders": orders,
    "heat-map": noise_and_rate,
    "accuracy-first-sketch": accuracy_first.sketch,
    "accuracy-first-counts": accuracy_first.counts_released,
    "accuracy-first-sweep": accuracy_first.sweep,
}


def main(folder: Path = FOLDER) -> None:
    """Write every figure into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in GALLERY.items():
        save(figure(), folder / f"{name}.svg")


if __name__ == "__main__":
    main(*(Path(each) for each in sys.argv[1:]))
