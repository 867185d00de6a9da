"""Curves of any description against balls, and the range of every curve against its law."""

import contextlib
from fractions import Fraction as F  # noqa: N817 - vertices are read more easily
from math import nextafter

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gennorm

import tradeoff as to
from tests.strategies import curves, edge_alphas, edge_deltas, edge_epsilons, in_time, specs
from tests.truth.atoms import DiscreteGaussian, DiscreteLaplace, PureDP, TotalVariation
from tests.truth.balls import ball
from tests.truth.built import built, written
from tests.truth.claims import answers, check, check_range, refuted
from tests.truth.continuous import Gaussian, Gumbel, Laplace, Logistic
from tests.truth.line import Normals
from tests.truth.mixtures import NormalMixtures
from tests.truth.operators import Maximum, Minimum, Mixture, Product, ReversedPLD, Subsampled
from tests.truth.polygons import Hull, Polygon
from tradeoff.errors import NoClosedForm, TradeOffError

many = settings(max_examples=2 * settings.default.max_examples)
"""Closed forms and sums of atoms, cheap to ask."""


def check_answer(spec, question, at, **how):
    wrong = answers(spec, built(spec), question, at, **how)
    assert wrong is None, (question, at, wrong)


@pytest.mark.slow
@many
@given(specs, edge_alphas, edge_epsilons, edge_deltas)
def test_answers_hold_the_truth(spec, alpha, epsilon, delta):
    for question, at in (("beta", alpha), ("delta", epsilon), ("epsilon", delta)):
        in_time(lambda question=question, at=at: check_answer(spec, question, at))
    in_time(lambda: check_range(built(spec), spec))


@pytest.mark.slow
@many
@given(specs)
def test_masses_at_infinity(spec):
    """Q(L = inf) lies in its bounds, which are the eight units apart that the ends of the curve are charged.

    Of densities nothing is known where both are below 1e-300, which may be a long way: bounds of integrated
    pairs may be 1e-289 apart, those of formulas 1e-298, others 1e-300; and where one of two functions is 0 in
    floats, as that of N(0, 1) is from 38.6 on, of which N(20, 1) has 1e-77.
    """
    text = written(spec)
    most = 1e-298 if "symbolic" in text else 1e-300
    most = 1e-289 if "from_" in text or "LocationShift" in text else most
    most = 1e-70 if "from_densities" in text else most

    def wrong():
        curve = built(spec)
        claims = (
            (curve.mass_at_infinity, spec.mass_at_plus_infinity()),
            ((~curve).mass_at_infinity, spec.mass_at_minus_infinity()),
        )
        far = next((m for m, _ in claims if m.upper - m.lower > 8 * 2.0**-53 * m.upper + most), None)
        return f"{far} is wide" if far else next(filter(None, (refuted(*claim) for claim in claims)), None)

    assert in_time(wrong) is None


@given(curves, st.booleans())
def test_the_range_of_every_curve(curve, turn):
    with contextlib.suppress(NoClosedForm):
        check_range(~curve if turn else curve)


def approximate(epsilon, delta):
    """f_{eps,delta} = f_{eps,0} (x) f_{0,delta}."""
    return Product(((PureDP(epsilon), 1), (TotalVariation(delta), 1)))


def power(spec, n):
    return Product(((spec, n),))


def shifted(spec, rate):
    """The other order of subsampling."""
    return ReversedPLD(Subsampled(spec, rate))


SHARP = Polygon((0.0, 0.5, 1.0), (1.0, 0.5 - 1e-8, 0.0))
BLUNT = Polygon((0.0, 0.5, 1.0), (1.0, 0.5 - 1e-5, 0.0))
SHORT = Polygon((0.0, 0.25, 0.75), (1.0, 0.25, 0.0))
"""Ends before 1: P-mass 1/4 at -inf."""

LEAKY = {
    "approximate": shifted(approximate(1.0, 0.01), 0.9),
    "approximate-steep": shifted(approximate(3.0, 0.3), 0.9),
    "total-variation": shifted(TotalVariation(0.01), 0.9),
    "total-variation-half": shifted(TotalVariation(0.3), 0.5),
    "polygon": shifted(SHORT, 0.5),
    "product": shifted(Product(((SHORT, 2), (TotalVariation(0.1), 1))), 0.7),
    "mixture": shifted(Mixture(((0.5, TotalVariation(0.1)), (0.5, PureDP(1.0)))), 0.6),
    "twice": shifted(Subsampled(ReversedPLD(Subsampled(TotalVariation(0.2), 0.5)), 0.25), 0.5),
}
"""P-mass at -inf, thinned and reversed: sup L is log 1/(1 - p)."""


@pytest.mark.parametrize("part", LEAKY.values(), ids=LEAKY)
class TestLeakThinnedAndTurned:
    def test_answers(self, part):
        for delta in (0.0, 1e-12, 1e-3, 0.1):
            check_answer(part, "epsilon", delta)
        check_answer(power(part, 5), "epsilon", 1e-6)
        check_range(built(part), part)

    def test_whole_curves(self, part):
        curve = built(part)
        for alpha in (0.01, 0.249, 0.3, 0.9):
            for one, spec in ((curve, part), (built(ReversedPLD(part)), ReversedPLD(part))):
                sides = one.lower.bounds(alpha).lower, one.upper.bounds(alpha).upper
                check(to.Bounds(*sides), spec.beta(alpha))
        for epsilon in (-1.0, 0.0, 0.5):
            sides = curve.upper.bounds.delta(epsilon).lower, curve.lower.bounds.delta(epsilon).upper
            check(to.Bounds(*sides), part.delta(epsilon))

    def test_operators_of_it(self, part):
        mixed = Mixture(((0.5, part), (0.5, PureDP(0.5))))
        for spec, question, at in (
            *((mixed, "epsilon", 1e-3), (mixed, "beta", 0.249), (Maximum((part, PureDP(0.7))), "beta", 0.3)),
            (Minimum((part, PureDP(0.7))), "epsilon", 1e-3),
            (Product(((part, 1), (SHORT, 1))), "beta", 0.249),
            (Product(((mixed, 1), (PureDP(0.3), 2))), "delta", 0.3),
            (Subsampled(Product(((part, 1), (PureDP(0.3), 2))), 0.5), "epsilon", 1e-3),
        ):
            check_answer(spec, question, at)


def test_verdicts_on_leaking_curves_are_consistent():
    assert to.PureDP(2.0) >= built(LEAKY["approximate-steep"])
    low, high = built(Subsampled(approximate(1.0, 0.01), 0.5)).gdp(failure=0.006).regret_bounds
    assert low <= high


KINKS = {  # left of the kink of randomised response, in steps of a share
    (37.0, 8.533047625744065e-17): 2.0**-53,
    (300.0, 5.148200222412013e-131): 2.0**-52,
    (700.0, 9.859676543759770e-305): 2.0**-52,
}
LEAK = TotalVariation(0.1)
CORNER = Polygon(
    (0.0, 0.25000000125, 0.49999999925, 0.7499999995, 1.0),
    (1.0, 0.749999996125, 0.49999999550000007, 0.24999999737500003, 0.0),
)
FAR = NormalMixtures(((0, 1),), ((0.25, 0.75), (1, 0.25)), 0.26)
NESTED = (
    Subsampled(Subsampled(Normals(0.014813461238868009, 0.5), 0.9974229533791541), 0.9999687069096055),
    Subsampled(Subsampled(TotalVariation(1e-17), 0.08994179159958811), 6.447045488074208e-06),
)
CASES = [
    *(
        (PureDP(e), "beta", [kink, nextafter(kink, 0)])
        for e, kink in ((20.0, 2.0611536181902017e-09), (50.0, 1.928749847963918e-22))
    ),
    (PureDP(5.0), "beta", [0.006692850924284855 - k * 2.0**-60 for k in range(-3, 12)]),
    *((PureDP(e), "beta", [at * (1 - k * u) for k in range(-3, 12)]) for (e, at), u in KINKS.items()),
    (power(PureDP(0.01), 100), "beta", [1 - 2.0**-53, 1 - 2.0**-50]),
    (power(PureDP(0.3), 1000), "beta", [1 - 2.0**-53, 1 - 1e-12]),
    (power(Subsampled(PureDP(3e-5), 1e-12), 30), "beta", [1 - 2.0**-53]),
    # between atoms of about the same loss
    (power(ReversedPLD(DiscreteGaussian(0.3, 3)), 3), "beta", [0.011376889690811617, 0.01137688969081162]),
    (power(PureDP(700.0), 2), "beta", [2e-304, 1.9e-304, 1e-304]),
    (power(PureDP(720.0), 3), "delta", [0.0, 719.0, 721.0, 1e3]),
    (Product(((PureDP(1.0), 1), (LEAK, 300))), "beta", [1.8739277038847906e-15, 1e-15]),
    (Product(((PureDP(0.3), 2), (TotalVariation(1 - 2.0**-53), 3))), "beta", [1e-49, 1e-48]),
    *((power(polygon, 30), "delta", [0.0]) for polygon in (SHARP, BLUNT)),
    *((DiscreteLaplace(*of), "epsilon", [1e-40, 0.0]) for of in ((3.0,), (0.7,), (49.0,), (1.1, 5))),
    (Gaussian(37.7), "beta", [0.5, 0.1, 0.999]),
    (Gaussian(0.5), "delta", [18.6, 18.7, 18.8, 19.0, 30.0]),
    (Subsampled(Subsampled(Gaussian(1.0), 1e-200), 1e-150), "delta", [1e-300, 0.0, 1.0]),
    # left of the zero of a polygon
    *(
        (Polygon((F(0), F(1, k), end), (F(1), F(1, k), F(0))), "beta", [float(nextafter(end, 0))])
        for k, end in ((4, F(3, 5)), (6, F(5, 7)), (8, F(7, 9)))
    ),
    # fractions next to floats, and mixtures far out
    (Hull((0.8,), (F(7, 50),)), "beta", [0.8]),
    (Hull((F(4, 5), F(1, 6), F(0), F(2, 15)), (0.04, 0.0, 0.6, 0.46)), "beta", [nextafter(1 / 6, 0)]),
    (ReversedPLD(Hull((0.93, 0.1, 0.53), (F(2, 5), F(33, 100), F(7, 25)))), "beta", [0.33]),
    pytest.param(
        *(NormalMixtures(((0, 1),), ((0.25, 0.75), (1, 0.25)), 0.26), "epsilon", [1.5e-290]),
        marks=pytest.mark.slow,
    ),
    (NormalMixtures(((0.0, 0.5), (1.2, 0.5)), ((0.0, 1),), 0.65), "epsilon", [1 - 2.0**-53]),
    (NormalMixtures(((0, 1),), ((0, 0.75), (1, 0.25)), 2.5), "delta", [745.0]),
    *((law(0.06579574767703295, 3.0), "epsilon", [0.0]) for law in (Gumbel, Logistic)),
    # a corner that floats take for none: slopes are 1 + 1.05e-8 and 2e-16 less
    (Subsampled(CORNER, 0.9999984028032929), "epsilon", [1.5689171162303623e-269]),
    # rates of samples of samples are no floats: their product was rounded up
    (NESTED[0], "beta", [0.9999999999993305]),
    (NESTED[1], "delta", [1.8538858142503027]),
    *(
        (Subsampled(Subsampled(Subsampled(Laplace(0.5), rate), 0.9), rate), question, points)
        for rate in (0.3, 0.7, 1e-3)
        for question, points in (("delta", [-0.1, 0.0, 0.2]), ("epsilon", [1e-3]), ("beta", [0.1, 0.2, 0.4]))
    ),
]


@pytest.mark.parametrize(("spec", "question", "points"), CASES)
def test_the_answer_holds_the_truth(spec, question, points):
    for at in points:
        check_answer(spec, question, at)
    if isinstance(spec, Gumbel | Logistic | Subsampled):
        check_range(built(spec), spec)


@pytest.mark.parametrize("polygon", [SHARP, BLUNT, SHORT], ids=["1e-8", "1e-5", "short"])
@pytest.mark.parametrize("method", [pytest.param("contour", marks=pytest.mark.slow), "lattice", "exact"])
@pytest.mark.parametrize("n", [1, 30])
def test_engines_know_the_losses_of_polygons(polygon, method, n):
    spec = power(polygon, n)
    for question, at in (("delta", 0.0), ("delta", 1e-9), ("epsilon", 1e-12), ("epsilon", 1e-30)):
        with contextlib.suppress(TradeOffError):
            check_answer(spec, question, at, method=method)


def test_certificates_hold_the_truth():
    left = PureDP(20.0), "beta", 2.0611536181902017e-09  # of the kink
    for spec, question, at in ((power(SHARP, 30), "delta", 0.0), left):
        certificate = to.certify(built(spec), question, at)
        check(to.Bounds(certificate.lower, certificate.upper), getattr(spec, question)(at))
    assert to.verify(certificate).checks


FIRST = Polygon(
    (0.0, 0.20130150776468425, 0.656414098057629, 1.0), (1.0, 0.5234975059834637, 0.10338352045224619, 0.0)
)
OTHER = Polygon(
    (0.0, 0.3346984417708473, 0.6776335182532572, 1.0), (1.0, 0.3519850805790674, 0.024619692604943677, 0.0)
)
THIRD = Polygon(
    (0.0, 0.022573263837337015, 0.5221477815500385, 1.0), (1.0, 0.9391174742459593, 0.2835596283062588, 0.0)
)
FOURTH = Polygon(
    (0.0, 0.052966783891225354, 0.630153472647375, 1.0), (1.0, 0.7471537115203837, 0.21207446157691556, 0.0)
)
TURNED = Polygon(
    (0.0, 0.019073148358191887, 0.5190097561429583, 1.0), (1.0, 0.4505659028475978, 0.08463711917955807, 0.0)
)
AGAIN = Polygon(
    (0.0, 0.25630167709508583, 0.7706047407753389, 1.0), (1.0, 0.5047810262431112, 0.07457280577721298, 0.0)
)


@pytest.mark.parametrize(
    ("operator", "one", "two", "alpha"),
    [
        *(("maximum", FIRST, OTHER, 0.28694617296276215), ("maximum", THIRD, FOURTH, 0.44779084067518693)),
        ("both-orders", TURNED, None, 0.2682100535775944),
        *(("both-orders", AGAIN, None, 0.19037035314969225), ("minimum", FIRST, OTHER, 0.28694617296276215)),
        ("either-order", TURNED, None, 0.2682100535775944),
    ],
)
def test_crossings_of_polygons_in_floats(operator, one, two, alpha):
    f = built(one)
    result = getattr(to, operator)(f, built(two)) if two else f.symmetrise(assume=operator)
    join = Polygon.maximum if operator in {"maximum", "both-orders"} else Polygon.minimum
    for at in (alpha, nextafter(alpha, 0), nextafter(alpha, 1), alpha / 2, 1 - alpha):
        check(result.bounds(at), join(one, two or one.inverse()).beta(at))


def test_whole_curves_of_a_maximum_are_not_crossed():
    curve = to.maximum(built(FIRST), built(OTHER), to.Gaussian(1.0))
    alpha = np.linspace(0, 1, 301)
    assert np.all(curve.lower.bounds(alpha).lower <= curve.upper.bounds(alpha).upper)


def test_a_symbolic_curve_rounds_down():
    alpha = sympy.Symbol("alpha")
    for at in (1e-70, 1e-17, 5e-324):
        check(to.Symbolic(1 - alpha, alpha).bounds(at), 1 - ball(at))
        check(to.Symbolic((1 - alpha) ** 2, alpha).bounds(at), (1 - ball(at)) ** 2)


def test_a_line_is_the_unit_of_fractions():
    line = to.PiecewiseLinear.hull([F(1, 6)], [F(14, 15)])
    assert line**2**20 == line @ line == line
    assert to.PiecewiseLinear([0.0, 1.0], [1.0, 0.0]) @ to.Gaussian(1.0) == to.Gaussian(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lattice", None])
def test_all_mass_lies_inside_the_edges_of_a_flat_loss(method):
    """Of a mixture of separated normal laws L is flat to the last digit over nine tenths of P."""
    low, high = (to.GaussianMixtures({0: 1}, {0: 0.9, 1: 0.1}, 0.05) ** 2).bounds.delta(1.0, method=method)
    assert low <= 0.19 * (1 + 1e-12)
    assert high >= 0.19 - 1e-7


def test_tails_of_powers_near_a_normal_law():
    """SciPy's incomplete gamma function errs by 900 units there."""
    shift = to.LocationShift(gennorm(1.9996370122067444), 0.002717678484146232)
    assert shift.bounds(0.06873969007334392).lower <= 0.93075007779527157
    shift = to.LocationShift(gennorm(1.999144373737342), 1.048782707324428)
    assert shift.bounds(0.5).upper >= 0.0690518609080845
