"""Pairs on the line with rough, light, heavy or cut densities, and with kinks, poles and ends."""

import math
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
import scipy.stats as st
from flint import arb

import tradeoff as to
from tests.truth.claims import check, overlap
from tests.truth.continuous import Gaussian
from tests.truth.line import Normals, Powers
from tests.truth.operators import ReversedPLD
from tradeoff.errors import DomainError, PrecisionError
from tradeoff.families.densities import RealLinePair
from tradeoff.pld.real_line import TRUST, Density, find_pieces

exp = mpmath.exp
UNIT = {"support": (0.0, 1.0)}


def bell(x):
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def normal(mean):
    return lambda x: bell(x - mean)


def periods(number):
    q = lambda x: 1 + np.sin(2 * np.pi * number * x) / 2  # noqa: E731 - a density
    return lambda: to.from_densities(np.ones_like, q, **UNIT), lambda _: 1 / (2 * mpmath.pi)


def powers(a, b):
    """Return delta of density b u^(b - 1) against a u^(a - 1) on (0, 1): u^a is uniform."""
    return Powers(Fraction(b) / Fraction(a), "").delta


def heavy_tails():
    """Pareto's laws of powers .2 and .1."""
    p, q = (lambda x, a=a: a * np.maximum(x, 1.0) ** (-1 - a) * (x >= 1) for a in (0.2, 0.1))
    return lambda: to.from_densities(p, q, support=(1.0, np.inf)), powers(0.2, 0.1)


def weak_pole(weight, a):
    """A uniform law, and it with a little of a power."""

    def density(x):
        return (1 - weight) + weight * a * np.maximum(x, 1e-312) ** (a - 1)

    def truth(epsilon):
        w, power, scale = mpmath.mpf(weight), mpmath.mpf(a), exp(epsilon)
        x = ((scale - 1 + w) / (w * power)) ** (1 / (power - 1))
        return (1 - w) * x + w * x**power - scale * x

    return lambda: to.from_densities(np.ones_like, density, **UNIT), truth


def narrow(s):
    """Two normal laws near 1000, to whose floats nodes are rounded."""
    p, q = (lambda x, at=at: bell((x - at) / s) / s for at in (1000.0, 1000.0 + s))
    support = 1000 - 64 * s, 1000 + 64 * s
    return lambda: to.from_densities(p, q, breaks=[1000.0], support=support), Gaussian(1.0).delta


def overflowing(_):
    """Chi-squared laws of .06 and .05: log q/p = -(p - q) log(x/2) + log gamma(p) - log gamma(q) falls."""
    p, q = (mpmath.mpf(k) / 2 for k in (0.06, 0.05))
    x = 2 * exp((mpmath.loggamma(p) - mpmath.loggamma(q) - 1) / (p - q))
    below = [mpmath.gammainc(a, 0, x / 2, regularized=True) for a in (p, q)]
    return below[1] - mpmath.e * below[0]


def jump(c):
    """None of the nodes sees it: the polynomial through them ends elsewhere than the density."""
    return (
        lambda: to.from_densities(np.ones_like, lambda x: np.where(x < c, 0.5 + c / 2, 1 + c / 2), **UNIT),
        lambda _: mpmath.mpf(c) / 2 * (1 - mpmath.mpf(c)),
    )


def inside_panel(k, c, breaks):
    """Of what is 1e-13 of its panel the tail is known as well as any."""

    def p(x):
        return (k + 1) * np.maximum((x - c) / (1 - c), 0) ** k / (1 - c)

    return lambda: to.from_densities(p, lambda x: (x > c) / (1 - c), breaks=breaks, **UNIT), powers(k + 1, 1)


def narrow_beta(_):
    ratio = mpmath.log(mpmath.beta(510, 490) / mpmath.beta(500, 500))
    place = mpmath.findroot(lambda x: 10 * mpmath.log(x / (1 - x)) - ratio, 0.5)
    tails = [mpmath.betainc(a, b, place, 1, regularized=True) for a, b in ((510, 490), (500, 500))]
    return tails[0] - tails[1]


def zero_of_a_density(epsilon):
    r = exp(-mpmath.mpf(epsilon) / 2)
    inside = mpmath.erf(r / mpmath.sqrt(2))
    return inside - exp(epsilon) * (inside - 2 * r * mpmath.npdf(r))


def rayleigh(scale, other):
    """x^2/2 s^2 is exponential."""
    laws = (st.rayleigh(scale=each) for each in (scale, other))
    return partial(to.from_scipy, *laws), Powers((Fraction(scale) / Fraction(other)) ** 2, "").delta


def nodes_at_an_end(end):
    """Of u = distance/width 2 u of density against 3 u^2."""
    way = 1 if end > 0 else -1
    p, q = (lambda x, k=k: (k + 1) * np.maximum(way * (end - x), 0) ** k for k in (2, 1))
    return lambda: to.from_densities(p, q, support=tuple(sorted((end, end - way)))), powers(3, 2)


def root(x):
    """Density x^-1/2/2, its pole left out."""
    return np.where(x > 0, 0.5 / np.sqrt(np.where(x > 0, x, 1.0)), 0.0)


def pole_at_0(pole):
    return lambda: to.from_densities(np.ones_like, pole, **UNIT), powers(1, 0.5)


def scaled_laplace(scale):
    p, q = (lambda x, at=at: np.exp(-np.abs(x - at) / scale) / 2 / scale for at in (0.0, scale))
    return lambda: to.from_densities(p, q), lambda _: 1 - exp(-0.5)


def student(df, shift):
    """Return delta of Student's law of 1 or 3 degrees and its shift, from the roots of q - e^eps p."""

    def below(x):
        angle = mpmath.atan(x / mpmath.sqrt(df))
        return (angle + (mpmath.sin(2 * angle) / 2 if df == 3 else 0)) / mpmath.pi

    def truth(epsilon):
        ratio = exp(mpmath.mpf(2 * epsilon) / (df + 1))
        a, b, c = 1 - ratio, ratio * shift, df - ratio * df - ratio * mpmath.mpf(shift) ** 2
        if a == 0:
            return 2 * below(mpmath.mpf(shift) / 2)
        if b * b <= a * c:  # no loss is at most, or none is above epsilon
            return max(-mpmath.expm1(epsilon), 0)
        low, high = sorted((-b + sign * mpmath.sqrt(b * b - a * c)) / a for sign in (1, -1))
        p, q = (below(high - at) - below(low - at) for at in (0, shift))
        return q - exp(epsilon) * p if a < 0 else 1 - q - exp(epsilon) * (1 - p)

    return truth


def of_scipy(p, q, truth):
    return lambda: to.from_scipy(p, q), truth if callable(truth) else lambda _: truth


B33 = 2.0**-33
SLOW = [pytest.mark.slow]
PANELS = [
    (0.1, 4.67700984232314e-9, (1.0, 5.0)),
    (3.0, 0.46985515887472173, (1.0, 20.0)),
    (7.0, 0.9983872466691337, (1.0, 11.0, 33.0, 36.5, 60.0)),
]
PLACES = (0.40208452693776586, 0.3495038076728312, 0.44220111583194066, 0.316581419227307, 0.7)
CASES = [
    *(pytest.param(*periods(number), (0.0,), None, marks=SLOW) for number in (32, 128)),
    (*heavy_tails(), (1.0, 5.0, 15.0, 30.0), None),
    *((*weak_pole(w, a), (0.5, 5.0, 60.0), None) for w, a in ((1e-12, 0.5), (1e-11, 0.9), (1e-10, 0.2))),
    *((*inside_panel(1, 0.4, breaks), (1.0, 11.0, 28.0, 36.5, 40.0), None) for breaks in (None, [0.4])),
    *((*narrow(s), (0.5, 3.0, 6.0, 20.0), None) for s in (2.0**-5, 2.0**-10, 2.0**-18)),
    (*of_scipy(st.chi2(0.06), st.chi2(0.05), overflowing), (1.0,), 1e-3),
    *((*jump(c), (0.0,), None) for c in PLACES),
    *((*inside_panel(k, c, breaks), at, None) for k, c, at in PANELS for breaks in (None, [c])),
    (
        lambda: to.from_densities(st.beta(500, 500).pdf, st.beta(510, 490).pdf, support=(0, 1)),
        narrow_beta,
        (0.0,),
        1e-10,
    ),
    (
        lambda: to.from_densities(lambda x: (x - 0.7) ** 2 * normal(0.7)(x), normal(0.7)),
        zero_of_a_density,
        (1.0, 10.0, 20.0, 40.0),
        None,
    ),
    # What has no float inside; ends that are not floats.
    (*of_scipy(st.beta(1, 1, loc=1e6), st.uniform(1e6 + B33, 1), B33), (45.0,), None),
    (*of_scipy(st.beta(1, 1), st.uniform(2.0**-52, 1), 2.0**-52), (45.0,), None),
    (*of_scipy(st.beta(1, 2, 1e6, 0.1), st.uniform(1e6, 0.1), math.exp(-25) / 4), (25.0,), None),
    (*of_scipy(st.beta(1, 2, 1e3, 0.3), st.uniform(1e3, 0.3), math.exp(-30) / 4), (30.0,), None),
    (*of_scipy(st.beta(1, 1, 1e6, 0.3), st.uniform(1e6, 0.5), 0.4), (50.0,), None),
    (*of_scipy(st.beta(1, 1, 1e6, 0.1), st.uniform(1e6, 0.2), 0.5), (50.0,), None),
    (*of_scipy(st.beta(2, 2, 1e6, 0.3), st.uniform(1e6, 0.5), 0.4), (50.0,), None),
    (*of_scipy(st.uniform(1e6, 2), st.triang(0.3123, 1e6, 2), (1 - exp(0.693) / 2) ** 2), (0.693,), None),
    *((*rayleigh(2 * s, 1.5 * s), (0.0, 0.1, 0.3), 1e-10) for s in (1, 1e-200)),
    *((*rayleigh(*pair), (0.0, 0.1, 0.3), 1e-10) for pair in ((3.0, 2.5), (1e30, 8e29))),
    *((*nodes_at_an_end(end), (2.0, 10.0, 20.0, 30.0, 40.0, 60.0), None) for end in (1.0, -1.0, 1e3)),
    *(
        (*pole_at_0(pole), (5.0, 20.0, 25.0, 40.0), 1e-11)
        for pole in (lambda x: 0.5 / np.sqrt(np.maximum(x, 1e-280)), root)
    ),
    *((*scaled_laplace(scale), (0.0,), None) for scale in (1e9, 1e25)),
    (lambda: to.LocationShift(st.t(3), 1.5), student(3, 1.5), (-6.0, -0.3, 0.0, 0.2, 0.7, 1.0, 2.5), 1e-11),
    (lambda: to.LocationShift(st.cauchy(7, 2), -1), student(1, 0.5), (-6.0, -0.3, 0.0, 0.2, 0.7, 2.5), 1e-11),
]


@pytest.mark.parametrize(("make", "truth", "epsilons", "width"), CASES)
def test_delta_contains_truth(make, truth, epsilons, width):
    curve = make()
    for epsilon in epsilons:
        result = curve.bounds.delta(epsilon)
        with mpmath.workdps(60):
            check(result, truth(epsilon))
            assert width is None or result.upper <= truth(epsilon) + width
    flipped = (~curve).bounds.delta([-45.0, 45.0])
    assert (flipped.lower <= flipped.upper).all()
    assert (~curve).inverse() == curve


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("loc", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("a", [0.054712659020224326, 0.5, 1.5, 2.0, 5.0])
def test_delta_of_power_laws_contains_truth(a, loc, flipped):
    spec, pair = Powers(a, "beta", loc), [st.uniform(loc=loc), st.beta(a, 1, loc=loc)]
    curve, spec = (to.from_scipy(*pair[::-1]), ReversedPLD(spec)) if flipped else (to.from_scipy(*pair), spec)
    for epsilon in (0.0, 1.0, 5.0, 12.0, 25.0, 40.0):
        check(curve.bounds.delta(epsilon), spec.delta(epsilon))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        pytest.param(periods(512)[0], r"got \d+;", marks=SLOW),
        (narrow(2.0**-30)[0], "place poles and narrow peaks at 0"),
    ],
)
def test_from_densities_of_unresolved_laws_raises(make, message):
    with pytest.raises(DomainError, match=message):
        make()


@pytest.mark.parametrize("support", [(-50.0, 50.0), (-30.0, 50.0), (-1e3, 1e6)])
def test_delta_with_underflow_inside_support_contains_gaussian(support):
    curve, epsilon = to.from_densities(normal(0), normal(1), support=support), [0.0, 1.0, 3.0]
    result, known = curve.bounds.delta(epsilon), to.Gaussian(1).bounds.delta(epsilon)
    assert overlap(result, known)
    assert np.all(result.upper <= known.upper + 1e-10)
    assert curve.epsilon(1e-5) == pytest.approx(to.Gaussian(1).epsilon(1e-5), abs=1e-9)


@pytest.mark.parametrize("mean", [0.26865111791036106, *np.linspace(0.05, 0.7, 8)])
@pytest.mark.parametrize("scale", [0.9, 0.97, 0.99])
def test_sup_loss_of_flat_maxima_is_enclosed(mean, scale):
    low, high = to.from_scipy(st.norm(), st.norm(mean, scale)).loss_bounds
    assert low <= Normals(float(mean), scale).sup_loss() <= high <= low + 1e-10


@pytest.mark.slow
def test_sup_loss_of_unbounded_losses_is_infinite():
    curve = to.from_scipy(st.beta(1, 2), st.uniform())  # L = -log 2(1 - x): delta = e^-eps/4
    assert curve.sup_loss == math.inf
    assert curve.bounds.delta(37.0).upper >= math.exp(-37) / 4
    with pytest.raises(PrecisionError, match="use a larger delta"):
        curve.epsilon(1e-18)
    assert not to.from_scipy(st.beta(2, 1, loc=1e6), st.uniform(loc=1e6)) >= to.PureDP(22.2)
    assert all(periods(number)[0]().sup_loss >= math.log(1.5) for number in (32, 128))
    for scale, other in ((3.0, 2.5), (1e30, 8e29), (2e-200, 1.5e-200)):
        assert rayleigh(scale, other)[0]().sup_loss >= 2 * math.log(scale / other)


def test_sup_loss_next_to_common_zero_is_infinite():
    """L goes on as -log|x| where both densities are below all floats, a millionth of a billionth wide."""
    curve = to.from_scipy(st.dgamma(30), st.dgamma(29))
    assert curve.sup_loss == math.inf
    assert curve.bounds.delta(37.0).upper > 0  # Q(|x| < e^-35) is about e^-1050


def test_delta_counts_mass_between_a_zero_and_the_next_float():
    """Q - e^40 P of L = log(2/x) > 40, x = y - 1: t^2/6, t = 2 e^-40, where floats are 2e-16 apart."""
    curve = to.from_densities(st.gamma(3, loc=1).pdf, st.gamma(2, loc=1).pdf)
    assert curve.delta(40.0) >= (2 * math.exp(-40.0)) ** 2 / 6 * (1 - 1e-9)


def test_epsilon_of_kinks_and_poles_contains_truth():
    kinked = to.from_scipy(st.uniform(0, 2), st.triang(0.3, scale=2))  # slopes 1/.6 and 1/1.4, height 1
    check(kinked.bounds.epsilon(0.0), mpmath.log(2), 0.0, 1e-10)
    between = to.from_densities(lambda x: ((x - 0.7) - 3e-17) ** 2 * normal(0.7)(x), normal(0.7))
    assert between.sup_loss == math.inf


@pytest.mark.parametrize("law", [st.gamma(3), st.lognorm(1), st.beta(2, 2), st.rayleigh(), st.weibull_min(2)])
def test_mass_at_infinity_of_half_line_laws_is_close(law):
    result = to.from_scipy(law, st.norm()).mass_at_infinity
    low, high = law.support()
    truth = st.norm.cdf(low) + st.norm.sf(high)
    assert list(result) == pytest.approx([truth, truth], rel=1e-10)


LOSSES = np.array([-6.0, -1.0, -0.3, 0.0, 0.2, 0.7, 1.0, 2.5, 12.0])
ALPHAS = np.array([0.0, 1e-8, 0.01, 0.3, 0.8, 0.999, 1.0])


# Generic pairs against closed forms: breaks keep them from being recognised.

KNOWN = {
    "laplace": (lambda: to.from_scipy(st.laplace(), st.laplace(0.75), breaks=[0, 0.75]), to.Laplace(0.75)),
    "uniform": (lambda: to.from_scipy(st.uniform(), st.uniform(0.25), breaks=[]), to.TotalVariation(0.25)),
    "exponential": (
        lambda: to.LocationShift(st.expon(), 0.5),
        to.PiecewiseLinear([0, np.exp(-0.5)], [1.0, 0.0]),
    ),
    "densities": (
        lambda: to.from_densities(lambda x: np.exp(-np.abs(x)) / 2, lambda x: np.exp(-np.abs(x - 0.75)) / 2),
        to.Laplace(0.75),
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "laplace" else name for name in KNOWN]
)
def test_generic_pair_contains_closed_form(name):
    make, g = KNOWN[name]
    f = make()
    assert isinstance(f, RealLinePair)
    for result, truth in (
        (f.bounds.delta(LOSSES), g.bounds.delta(LOSSES)),
        (f.bounds(ALPHAS), g.bounds(ALPHAS)),
    ):
        assert overlap(result, truth, 1e-15)
        assert np.all(result.width <= 2e-6)
    assert f.bounds.delta(LOSSES).lower.tolist() == [f.bounds.delta(epsilon).lower for epsilon in LOSSES]
    assert f.sup_loss >= g.loss_bounds.lower
    assert f.loss_bounds.lower <= g.sup_loss
    assert overlap(f.mass_at_infinity, g.mass_at_infinity)
    if name in {"laplace", "uniform", "exponential"}:
        result, truth = (f**4).bounds.delta([0.0, 1.0]), (g**4).bounds.delta([0.0, 1.0])
        assert overlap(result, truth)
        assert np.all(result.width <= 5e-3 * truth.upper)


def test_largest_loss_of_cauchy_shift_contains_truth():
    """A disc maps the pair to U, uniform, and the Poisson kernel (1 - r^2)/(1 - 2 r cos U + r^2)."""
    f = to.LocationShift(st.cauchy(), 1.0)
    with mpmath.workdps(40):
        r = 1 / mpmath.sqrt(5)
        top = mpmath.log((1 + r) / (1 - r))
        assert f.loss_bounds.lower <= top <= f.sup_loss
    assert f.delta(float(top) + 1e-9) < 1e-100
    assert f.symmetric


@pytest.mark.parametrize(("p_sign", "q_sign"), [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_tail_of_perturbed_densities_contains_truth(p_sign, q_sign):
    """Exponential laws of rates 2 and 1, as wrong as is assumed: L = x - log 2, delta = e^-epsilon/4."""

    def law(rate, sign):
        return lambda x: np.log(rate) - rate * x + 0.99 * TRUST * sign * np.sin(3 * x)

    sides = [Density(law(r, s), "p", (0.0, np.inf)) for r, s in ((2, p_sign), (1, q_sign))]
    epsilon = np.array([0.0, 0.3, 5.0, 100.0, 300.0])
    check(find_pieces(*sides, ()).tail(epsilon), [(-arb(at)).exp() / 4 for at in epsilon.tolist()])


@pytest.mark.parametrize("mean", [0.23058311218021607, 0.5, 2.7217437736763572, 18.0])
def test_delta_of_underflowing_densities_contains_truth(mean):
    p, q = st.norm(), st.norm(mean)
    for f in (to.from_scipy(p, q, breaks=[]), to.from_densities(p.pdf, q.pdf, breaks=[])):
        for epsilon in (1, 2, 2.434, 95, 100, 200, 700, 1000):
            check(f.bounds.delta(epsilon), Gaussian(mean).delta(epsilon))


def test_from_scipy_of_known_pairs_returns_families():
    assert to.from_scipy(st.norm(1, 2), st.norm(2, 2)) == to.Gaussian(0.5)
    assert to.from_scipy(st.laplace(), st.laplace()) == to.Identity()
    assert to.from_scipy(st.t(3), st.t(3, 1)) == to.LocationShift(st.t(3), 1)
    assert to.from_scipy(st.uniform(), st.uniform(5)) == to.TotalVariation(1)
    assert to.from_scipy(st.norm(), st.norm(0, 2)) == to.from_scipy(st.norm(), st.norm(0, 2))
    assert to.from_scipy(st.norm(), st.norm(0, 2)) != to.from_scipy(st.norm(), st.norm(0, 3))


def test_assumptions_list_unproved_facts():
    f = to.from_scipy(st.norm(), st.norm(0, 2))
    assert [sentence[:5] for sentence in f.assumptions] == ["SciPy", "SciPy", "log(q"]
    assert [len(to.LocationShift(law, 1).assumptions) for law in (st.t(3), st.norm())] == [1, 0]
    word = to.LocationShift(st.genlogistic(2.0), 1, assume_log_concave=True)
    assert "log-concave" in word.assumptions[0]
    assert word.assumptions == (word**2 @ to.Gaussian(1)).assumptions == (~word).assumptions
    f = to.from_densities(bell, lambda x: (1 - 5e-10) * bell(x - 1))
    assert f.assumptions[1].startswith(
        "q integrates to 1 -5e-10, taken for the error of a constant: if a peak"
    )
    assert "none" in scaled_laplace(1e9)[0]().assumptions[-1]
    one, two = (to.from_densities(st.norm.pdf, normal(1.0), breaks=b) for b in (None, []))
    assert one.assumptions != two.assumptions
    assert one != two
    assert set((one @ two).assumptions) == {*one.assumptions, *two.assumptions}


@pytest.mark.slow
def test_from_densities_of_disjoint_equal_and_distant_laws():
    box = lambda a: lambda x: 1.0 * ((x >= a) & (x <= a + 1))  # noqa: E731 - three boxes
    assert to.from_densities(box(0), box(2)).delta(3.0) == 1
    assert to.from_densities(box(0), box(0)).delta(0.0) < 1e-10
    far = to.from_scipy(st.norm(), st.norm(0, 100))
    assert far.bounds.epsilon(0.5).width < 0.05 * far.epsilon(0.5)
    # log-concave, and beyond every float: losses of cauchy against a narrow law are bounded by tails alone
    narrow = to.from_scipy(st.norm(0, 1e-3), st.cauchy())
    near, far = narrow.bounds.delta(650.0), narrow.bounds.delta(750.0)
    assert 0.9 * near.upper < far.lower < far.upper < near.lower


def test_changing_a_frozen_law_keeps_the_curve():
    law = st.t(5, scale=2)
    curve, other = (to.from_scipy(st.t(5), each) for each in (law, st.t(5, scale=2)))
    law.kwds["scale"] = 1.01
    assert curve.bounds.delta(0.1) == other.bounds.delta(0.1)
