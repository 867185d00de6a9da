import math
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from flint import acb, arb

from tradeoff.pld.batched import batch_factors
from tradeoff.pld.components import MARGIN, RULE, Component, SamplingRate, panel_rule
from tradeoff.pld.gaussian import GaussianLaw, HalfNormalBase, NormalBase, Trapezoid
from tradeoff.pld.shifts import LaplaceLaw
from tradeoff.pld.transformed import PositivePart, ReversedPLD, SubsampledPLD

BOTH = SubsampledPLD(ReversedPLD(SubsampledPLD(GaussianLaw(0.5), 0.02)), 0.3)
CASES = [
    (SubsampledPLD(GaussianLaw(2 / 3), 0.001), 15.9, 1300.0),
    (ReversedPLD(SubsampledPLD(GaussianLaw(1.0), 1e-4)), 12.0, 5e3),
    *((SubsampledPLD(GaussianLaw(2.5), 0.5), 1.3, 70.0), (SubsampledPLD(GaussianLaw(0.03), 0.4), 0.6, 4e3)),
    *((BOTH, 6.5, 900.0), (ReversedPLD(BOTH), 3.0, 2e3)),
]


def moment(law, z):
    """Integrate phi P^(1-z) Q^z, from the two shares of e^l in the densities."""
    (part,) = law.components() or []
    mu, d, b = arb(part.base.scale), arb(part.d.part), arb(part.b.part)

    def density(x, analytic):
        lift = (mu * x - mu * mu / 2).exp() - 1
        log_p, log_q = ((1 + share * lift).log(analytic=analytic) for share in (d, b))
        return ((1 - z) * log_p + z * log_q - x * x / 2).exp() / (2 * arb.pi()).sqrt()

    start = part.base.scale / 2 if part.base.half else -13.0
    edges = np.linspace(start, 13.0 + float(mu) * abs(float(z.real.mid())), 40)
    return sum((acb.integral(density, acb(a), acb(b)) for a, b in pairwise(edges)), acb(0))


DISTINCT = [SubsampledPLD(GaussianLaw(0.3 + 0.09 * k), 0.2 / (k + 1) ** 3) for k in range(7)]
WHOLE = SubsampledPLD(SubsampledPLD(ReversedPLD(GaussianLaw(1.0)), 0.3), 0.4)
OTHER = SubsampledPLD(ReversedPLD(SubsampledPLD(GaussianLaw(1.1), 0.7)), 0.3)
PRODUCTS = [
    *(([law], c, y, 1) for law, c, y in CASES),
    *((DISTINCT, 4.5, y, 6) for y in (2.0, 90.0, 900.0)),
    *(([ReversedPLD(law) for law in DISTINCT], 4.5, y, 6) for y in (2.0, 90.0, 900.0)),
    ([WHOLE, OTHER], 2.5, 3.0, 2),  # as many operations deep, and alike in all but that share
]
"""Laws, the k-th k times; tilt, frequency, and the most factors that they are batched in."""


@pytest.mark.slow
@pytest.mark.parametrize(("laws", "c", "y", "most"), PRODUCTS)
def test_transforms_of_batches_hold_truth(laws, c, y, most):
    counts = list(range(1, len(laws) + 1))
    factors, powers = batch_factors(laws, counts)
    assert len(factors) <= most
    whole, at, farther, value, off, log_m, log_m_error = acb(0), acb(0), acb(0), acb(0), 0.0, 0.0, 0.0
    ceiling, outside, walked = 0.0, 0.0, 0.0
    for law, n in zip(laws, counts, strict=True):
        base = moment(law, acb(c))
        whole += n * base.log()
        at, farther = (
            x + n * (moment(law, acb(c, s)) / base).log() for x, s in ((at, y), (farther, 1.5 * y))
        )
    for factor, n in zip(factors, powers, strict=True):
        result = factor.transform(c, 42.0)
        assert len(laws) > 1 or result.cost(y) == result.cost(1e9) < 500
        ratio = result.ratio(np.array([0.5 * y, y]))
        value += n * (acb(ratio.log[1].real, ratio.log[1].imag) + acb(0, y * arb(result.mean)))
        off, ceiling = off + n * ratio.error[1], ceiling + n * ratio.ceiling[1]
        outside += n * min(result.far(y), result.bound_from(y))
        walked += n * result.around(np.array([y + 0.2]), 0.2)[0]
        log_m, log_m_error = log_m + n * result.log_m, log_m_error + n * result.log_m_error
    assert abs(whole - log_m).abs_upper() <= log_m_error + 1e-15
    assert abs((value - at).exp() - 1).abs_upper() <= math.expm1(off)
    assert at.real <= min(ceiling, outside, walked) + 1e-15
    assert farther.real <= outside + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("moved", [0.0, MARGIN, -MARGIN])
@pytest.mark.parametrize(
    ("law", "c"),
    [
        *((SubsampledPLD(GaussianLaw(2.0), 0.01), 3.0), (SubsampledPLD(GaussianLaw(0.1), 0.7), -4.0)),
        *((SubsampledPLD(GaussianLaw(6.0), 0.3), 1.5), (GaussianLaw(1.0), 5.0), (ReversedPLD(BOTH), 3.0)),
    ],
)
def test_half_line_rules_err_within_bounds(law, c, moved):
    """Sums of nodes, in balls, leave the integral by the bound on the rule, and the nodes' own errors."""
    for half in (PositivePart(law), ReversedPLD(PositivePart(law))):
        (part,) = half.components() or []
        z = acb(c + moved, 20.0)
        true, whole = moment(half, z), abs(moment(half, acb(z.real)))
        for digits in (6.0, 15.0, 40.0):
            for nodes in (part.base.nodes(part, c, 20.0, digits), part.base.nodes(part, c, None, digits)):
                total, rounding = acb(0), arb(0)
                for loss, log_p, slack, error in zip(*(each.tolist() for each in nodes[:4]), strict=True):
                    term = (acb(log_p) + z * acb(loss)).exp()
                    total, rounding = total + term, rounding + abs(term) * math.expm1(slack + abs(z) * error)
                assert abs(true - total) <= nodes.quadrature * whole + rounding


@pytest.mark.parametrize(
    ("law", "c"),
    [
        *((GaussianLaw(0.5), 0.1), (LaplaceLaw(2.0), 3.0), (LaplaceLaw(2.0), 20.0), (LaplaceLaw(1e-4), 0.5)),
        *((ReversedPLD(SubsampledPLD(GaussianLaw(1.0), 0.3)), 3.0), (BOTH, 6.5)),
    ],
)
def test_tail_bounds_mass_and_variation(law, c):
    """Masses are from below, and variations from above those of any points, ends among them."""
    (part,) = law.components() or []
    base, mu, d, b = part.base, arb(part.base.scale), arb(part.d.part), arb(part.b.part)
    normal = isinstance(base, NormalBase)
    x = base.grid(part, c, 1000)

    def density(x, analytic):
        lift = (mu * x - mu * mu / 2 if normal else x).exp() - 1
        log_p, log_q = ((1 + share * lift).log(analytic=analytic) for share in (d, b))
        log_phi = -x * x / 2 - (2 * arb.pi()).log() / 2 if normal else -(x - x_0) / 2 - arb(4).log()
        return ((1 - c) * log_p + c * log_q + log_phi).exp()

    def height(x):
        """Return the density in L, over dL/dx = mu |g| e^l/(p q)."""
        rise = (mu * x - mu * mu / 2 if normal else x).exp()
        p, q = (1 + share * (rise - 1) for share in (d, b))
        return density(acb(x), False).real * p * q / (mu * abs(b - d) * rise)

    x_0 = arb(x[0]) if not normal else arb(0)
    ends = (arb(-40), arb(40)) if normal else (arb(x[0]), arb(x[-1]))
    edges = [ends[0], *map(arb, x[::50].tolist()), ends[1]]
    cells = [acb.integral(density, acb(start), acb(stop)).real for start, stop in pairwise(edges)]
    whole, heights = sum(cells, arb(0)), [height(arb(at)) for at in x.tolist()]
    result = base.tail(part, c, float(whole.log().mid()), 1e-13)
    steps = [abs(stop - start) for start, stop in pairwise(heights)]
    for k in range(0, len(x), 50):
        assert result.mass[k] <= sum(cells[1 + k // 50 :], arb(0)) / whole
        assert result.variation[k] >= sum(steps[k:], heights[k] + heights[-1]) / whole
    assert result.mass[0] > 0.9


GROWTHS = [
    *((0.591, 1.0, 0.999952, 0.32, 1.0, 0.0, 0.62), (6.172, 1e-4, 0.99915, -1.82, 0.0, 3.03, 0.21)),
    *((6.859, 0.0063, 0.9983, 0.99, 3.9, 3.21, 0.22), (1.625, 0.0, 0.99942, -0.75, 96.0, 0.0, 0.92)),
    *((6.084, 0.9993, 0.44, 29.73, 0.0, 0.0, 0.24), (0.806, 1.0, 0.0, 29.59, 2.1, 6.81, 1.24)),
    *((7.47, 0.93, 0.0, 0.52, 0.0, 5.23, 0.07), (0.301, 1.1e-4, 0.9999949, 29.55, 0.0, 7.47, 1.94)),
]
"""mu, shares of P and of Q, tilt, frequency, start and width of a panel: each needs a term of the bound."""


@pytest.mark.parametrize(("mu", "d", "b", "c", "y", "start", "width"), GROWTHS)
def test_growth_bounds_integrand_on_ellipse(mu, d, b, c, y, start, width):
    part = Component(HalfNormalBase(mu), 1.0, b - d, SamplingRate(b, 1 - b), SamplingRate(d, 1 - d))
    nodes, _ = panel_rule(part, c, y, (start, start + width), start + width + 1 + mu / 2)
    radius, rho = mp.mpf(width) / 2 / (len(nodes) // RULE), mp.mpf(4)

    def logs(t):
        """Return log|phi p|, log|q/p| and arg(q/p)."""
        p, q = (1 + mp.mpf(share) * mp.expm1(mu * t) for share in (d, b))
        return -((t + mp.mpf(mu) / 2) ** 2).real / 2 + mp.log(abs(p)), mp.log(abs(q / p)), mp.arg(q / p)

    with mp.workdps(50):
        for middle in (start + radius, start + width - radius):
            for turn in np.linspace(0, np.pi, 33).tolist():
                ring = rho * mp.expj(turn)
                log, odds, angle = logs(middle + radius * (ring + 1 / ring) / 2)
                for power in (c - MARGIN, c, c + MARGIN, 0.0):
                    for end in (middle - radius, middle + radius):
                        own, loss, _ = logs(end)
                        assert log - own + power * (odds - loss) + y * abs(angle) <= 25


@pytest.mark.parametrize("flipped", [False, True])
def test_left_out_bounds_mass_beyond_ends(flipped):
    """One end is as near as is allowed, and the other far off."""
    h, spare, c = 0.25, 3.0, 3.0
    first, last = (-12, 80) if flipped else (-60, 25)
    x = h * np.arange(first, last + 1.0)
    tails, _ = Trapezoid(h, first, last, spare, 42.0).left_out(-x * x / 2, x - 0.5, c)
    near = False
    for power in (c - MARGIN, c, c + MARGIN, 0.0):
        terms = {k: mp.exp(-((h * k) ** 2) / 2 + mp.mpf(power) * (h * k - 0.5)) for k in range(-200, 200)}
        outside = mp.fsum(term for k, term in terms.items() if not first <= k <= last) / max(terms.values())
        assert outside <= tails.item()
        near |= outside > tails.item() / 10
    assert near


@pytest.mark.parametrize("epsilon", [0.1, 5.0, 60.0])
def test_interval_nodes_err_within_slack(epsilon):
    """Those next to the ends of a panel too."""
    (part,) = ReversedPLD(SubsampledPLD(LaplaceLaw(epsilon), 0.3)).components() or []
    nodes = part.base.nodes(part, 2.0, 3.0, 42.0)
    legendre = [arb.legendre_p_root(RULE, RULE - k, weight=True) for k in range(1, RULE + 1)]
    panels = len(nodes.loss) // RULE
    radius = arb(epsilon) / panels
    for panel in {0, panels // 2, panels - 1}:
        for k, (at, weight) in enumerate(legendre, RULE * panel):
            x = -arb(epsilon) + radius * (2 * panel + 1 + at)
            log_p = (arb(0.3) * x.expm1()).log1p()
            assert abs(nodes.loss[k] + log_p) <= nodes.error[k]
            log_p += (weight * radius / 4).log() - (x + epsilon) / 2
            assert abs(nodes.log_p[k] - log_p) <= nodes.slack[k]
