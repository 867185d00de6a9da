import math
from fractions import Fraction as F  # noqa: N817 - vertices are read more easily

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from hypothesis import assume, example, given
from hypothesis import strategies as st

import tradeoff as to
from tests.strategies import log_uniform
from tests.truth.atoms import Law, PureDP
from tests.truth.balls import ball
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.continuous import Laplace
from tests.truth.operators import Mixture, ReversedPLD, Subsampled
from tests.truth.operators import Product as Of
from tests.truth.polygons import Polygon
from tradeoff import Bounds
from tradeoff.accounting.exact import ExactEngine, ProfileSumEngine
from tradeoff.accounting.planner import Composition
from tradeoff.pld.discrete import AtomicLaw, binomial_law
from tradeoff.pld.shifts import LaplaceLaw

PAIR = Polygon((F(0), F(3, 4), F(1)), (F(3, 5), F(1, 10), F(0)))  # both losses negative, and Q(L = inf) > 0
MANY = Polygon(*zip(*((F(k, 130), (1 - F(k, 130)) ** 2) for k in range(131)), strict=True))
bases = st.one_of(
    st.builds(lambda e, n: Of(((PureDP(e), n),)), log_uniform(1e-3, 20.0), st.integers(1, 3)), st.just(PAIR)
)
rates = st.one_of(log_uniform(1e-8, 0.5), log_uniform(1e-9, 0.5).map(lambda p: 1 - p))
specs = st.one_of(
    bases,
    st.builds(Subsampled, bases, rates),
    st.builds(Subsampled, bases, rates).map(ReversedPLD),
    st.tuples(bases, bases)
    .filter(lambda ab: ab[0] != ab[1])
    .map(lambda ab: Mixture(((0.25, ab[0]), (0.75, ab[1])))),
)


@given(
    st.lists(st.tuples(specs, st.integers(1, 3)), min_size=1, max_size=2),
    st.floats(-3, 30),
    log_uniform(1e-12, 0.999),
)
@example([(ReversedPLD(Subsampled(PureDP(20.0), 1 - 1e-9)), 1)], 19.6, 0.1)
@example([(MANY, 2)], 0.3, 0.99)  # a sum of two factors
def test_exact_delta_and_beta_hold_truth(factors, epsilon, alpha):
    spec = Of(tuple(factors))
    result = Composition([built(one).laws()[0] for one, _ in factors], [n for _, n in factors]).exact
    if result is None:
        assert (MANY, 2) not in factors
        return
    (low,), (high,) = result.answer("delta", np.array([epsilon]), None)
    check(Bounds(low, high), spec.delta(epsilon))
    (low,), (high,) = result.answer("beta", np.array([alpha]), None)
    check(Bounds(low, high), spec.beta(alpha))


@given(
    st.lists(st.tuples(specs, st.integers(1, 2)), min_size=1, max_size=2),
    log_uniform(1e-3, 30.0),
    *(st.floats(-30, 30), log_uniform(1e-12, 0.999), log_uniform(1e-30, 0.999)),
)
@example([(PAIR, 2)], 0.3, -5.0, 0.999, 1e-9)
@example([(ReversedPLD(Subsampled(PureDP(20.0), 1 - 1e-9)), 1)], 1e-3, 19.6, 0.1, 0.9)
@example([(PureDP(0.1), 3)], 0.2, 0.4999999, 1e-9, 1e-20)
def test_exact_sum_of_laplace_profiles_holds_truth(factors, scale, epsilon, alpha, delta):
    factors = [*factors, (Laplace(scale), 1)]
    spec = Of(tuple(factors))
    result = Composition([built(one).laws()[0] for one, _ in factors], [n for _, n in factors])
    assert isinstance(result.exact, ProfileSumEngine)
    for x in (epsilon, -epsilon):
        check(answered(result, "delta", x), spec.delta(x), relative=1e-9, absolute=1e-13)
    for x in (alpha, 1 - alpha):
        check(answered(result, "beta", x), spec.beta(x))
    for x in (delta, 1 - delta):
        if spec.mass_at_plus_infinity() < ball(x) < 1:
            check(answered(result, "epsilon", x), spec.epsilon(x))


def law_of(losses, log_p):
    """Return atoms in balls; what they lack of 1 is at infinity."""
    exact = lambda x: arb(mp.nstr(x, 45)) if isinstance(x, mp.mpf) else ball(x)  # noqa: E731 - of two lists
    pairs = [(exact(v).exp(), (exact(v) + exact(x)).exp()) for x, v in zip(losses, log_p, strict=True)]
    return Law(pairs, 1 - sum(q for _, q in pairs), 1 - sum(p for p, _ in pairs))


def answered(product, question, at):
    """Return the bounds of the exact engine alone."""
    (low,), (high,) = product.exact.answer(question, np.array([at]), None)
    return Bounds(low, high)


@pytest.mark.parametrize(("log_mass", "size"), [(-40.0, 200), (-40.0, 2000), (-300.0, 200), (-690.0, 2000)])
def test_exact_delta_with_tiny_atoms_holds_truth(log_mass, size):
    """Each of many atoms adds less than the logarithm of the tail can show.

    Together they add 1e-12 to 1e-10 of it.
    """
    share = 0.49 * float(np.spacing(-log_mass))
    log_p = np.append(np.full(size, log_mass + math.log(share)), log_mass)
    loss = 5 + 1e-3 / size * np.arange(size + 1)
    atoms = law_of(loss, map(arb, log_p.tolist()))
    law = AtomicLaw(np.append(-1e-3, loss), np.append(float((1 - atoms.sums[-1][0]).log()), log_p))
    (low,), (high,) = ExactEngine(law, 0.0).answer("delta", np.array([4.9]), None)
    check(Bounds(low, high), atoms.stick(ball(4.9).exp()) - atoms.at_plus)


@pytest.mark.parametrize(("epsilon", "n"), [(0.1, 10**6), (1.0, 50_000)])
def test_binomial_law_leaves_out_nothing_visible(epsilon, n):
    """Between those likely under P and those likely under Q all stay."""
    law = binomial_law(epsilon, n)
    assert len(law.loss) <= n
    for tilt in (0, 1):
        assert abs(np.sum(np.exp(law.log_p + tilt * law.loss)) - 1) <= np.max(law.atoms.slack)


@given(log_uniform(0.05, 20.0), st.integers(1, 12), st.integers(0, 12), st.integers(-3, 3))
def test_exact_beta_next_to_vertex_holds_truth(epsilon, n, vertex, steps):
    """A few floats from P(L > l_k), where f turns by whole factors of e^epsilon."""
    spec = Of(((PureDP(epsilon), n),))
    corner = float(spec.law.sums[min(vertex, n)][0])
    alpha = corner + steps * float(np.spacing(corner))
    if 0 < alpha < 1:
        check(answered(Composition([binomial_law(epsilon, n)], [1]), "beta", alpha), spec.beta(alpha))


@given(
    *(st.integers(2, 40), log_uniform(1e-16, 0.5), st.booleans(), log_uniform(1e-17, 1e-3)),
    *(st.floats(-200, -1), st.floats(0.01, 1), st.floats(-1, 1), st.floats(-1, 1)),
)
@example(5, 0.011, False, 1e-17, -150.0, 0.2, 1.0, 0.5)
@example(5, 0.011, True, 1e-17, -150.0, 0.2, -1.0, -0.5)
def test_exact_beta_between_close_atoms_holds_truth(many, leak, near_one, tiny, loss, share, off, at):
    """Sums of equal losses differ by a unit; a steeper atom lies just behind some that are tiny.

    Masses are known to 1e-13 of themselves: the truth has ``off`` of that more in the steepest.
    """
    slack, some = 1e-13, leak / 2
    first, last = (some, 1 - 2 * leak) if near_one else (0.9 - leak, leak)
    masses = [first, *[min(tiny, 0.01 / many)] * many, last]
    assume(last > 0)
    losses = [loss - 1, *(loss + 64 * np.spacing(loss) * np.arange(-many, 0)), loss - share * loss]
    logs = np.log(masses)
    given, log_p = law_of(losses, map(arb, logs.tolist())), [*map(arb, logs.tolist())]
    for k, sign in ((0, -1), (-1, 1)):
        log_p[k] += (sign * off * slack * min(first, last) / log_p[k].exp()).log1p()
    ends, alpha = [float(given.at_minus), float(given.at_plus)], last * (1 + at * slack)
    if min(ends) < 1e-3 or not 0 < alpha < 1:
        return
    # The rest of both is at infinite losses, which leaves beta to the atoms alone.
    law = AtomicLaw(np.array(losses), logs, *ends, np.full(len(losses), slack))
    (low,), (high,) = ExactEngine(law, law.mass_at_plus_infinity).answer("beta", np.array([alpha]), None)
    check(Bounds(low, high), law_of(losses, log_p).curve(ball(alpha)))


@pytest.mark.parametrize(
    ("losses", "masses", "ends", "slack", "position", "alpha", "truth"),
    [
        # the mass at -inf is known to 16 units; errors of mass and loss multiply
        ([-20, 0], [3e-17, 0.75], (0.25, 0.25), [1e-16, 5.3e-16], 0.0, 0.7499999999999999, 5.223e-16),
        ([-1], [2 / 3], (1 / 3, 0.6321205588281902), [0.5], 1e-12, 1e-20, 0.36787944117180985),
    ],
)
def test_exact_beta_charges_declared_errors(losses, masses, ends, slack, position, alpha, truth):
    law = AtomicLaw(np.array(losses, float), np.log(masses), *ends, np.array(slack), position=position)
    (low,), (high,) = ExactEngine(law, ends[1]).answer("beta", np.array([alpha]), None)
    assert low <= truth <= high


NEARLY = 1 - 1e-9
"""Share of an error that is used: what is left is more than the roundings of this file."""

NOTHING = 1e-30
"""Far below the errors that are declared: what 50 digits leave of sums of masses is less."""


def drawn(rng):
    """Return losses and P-masses, and a law that misstates them within the errors it declares."""
    k = int(rng.integers(2, 5))
    loss = [mp.mpf(x) for x in np.sort(rng.normal(0, 10 ** rng.uniform(-1, 0.7), k)).tolist()]
    mass = [mp.mpf(x) for x in rng.dirichlet(np.ones(k)).tolist()]
    whole = mp.fsum(mass) * rng.choice([1, 1.125])  # the rest lies at -infinity
    mass = [p / whole for p in mass]
    most = mp.fsum(p * mp.exp(x) for x, p in zip(loss, mass, strict=True))
    loss = [x - mp.log(most) - rng.choice([0.0, 0.03125]) for x in loss]  # the rest at +infinity
    slack, position = 10 ** rng.uniform(-6, -1.5, 2)
    up, right = rng.choice([-1, 1], (2, k)) if rng.random() < 0.7 else np.full((2, k), rng.choice([-1, 1]))
    given = np.array([float(x) for x in loss]) + NEARLY * position * right
    log_p = np.array([float(mp.log(p / (1 + NEARLY * slack * s))) for p, s in zip(mass, up, strict=True)])
    ends = 1 - mp.fsum(mass), 1 - mp.fsum(p * mp.exp(x) for x, p in zip(loss, mass, strict=True))
    ends, order = [float(end) if end > 1e-30 else 0.0 for end in ends], np.argsort(given)
    whole = AtomicLaw(given[order], log_p[order], *ends, np.full(k, slack), position=float(position))
    return loss, mass, whole


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7))
def test_engines_charge_declared_errors(seed):
    rng = np.random.default_rng(seed)
    with mp.workdps(50):
        loss, mass, law = drawn(rng)
        n = int(rng.integers(1, 5))
        product = Composition([law], [n])
        spread = np.sqrt(n) * float(max(map(abs, loss)))
        ends = n * float(min(loss)), n * float(max(loss))
        x = np.concatenate([rng.normal(0, 1, 3) * spread, [0.9 * ends[1], 1.2 * ends[1], 1.2 * ends[0]]])
        sums = law_of(loss, map(mp.log, mass)).power(n)
        truth = [sums.stick(ball(epsilon).exp()) for epsilon in x.tolist()]
        alpha = rng.uniform(0, 1, 3)
        missed = [sums.curve(ball(each)) for each in alpha.tolist()]
        levels = np.array([float(d) for d in truth[:4]])
        levels = levels[(levels > law.mass_at_plus_infinity * n * (1 + 1e-9)) & (levels < 1)]
        assert product.exact is not None
        for engine in (product, product.exact, product.lattice, product.contour):
            for question, at, right in (("delta", x, truth), ("beta", alpha, missed)):
                low, high = engine.answer(question, at, None)
                for least, true, most in zip(low.tolist(), right, high.tolist(), strict=True):
                    assert least <= true + NOTHING
                    assert true <= most + NOTHING
            low, high = engine.answer("epsilon", levels, None)
            for least, level, most in zip(low.tolist(), levels.tolist(), high.tolist(), strict=True):
                assert most == np.inf or sums.stick(ball(most).exp()) <= level + NOTHING
                assert least == -np.inf or sums.stick(ball(least).exp()) >= level - NOTHING


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))])
def test_exact_sum_of_laplace_profiles_charges_declared_errors(seed):
    rng = np.random.default_rng(seed)
    with mp.workdps(50):
        loss, mass, law = drawn(rng)
        n, scale = int(rng.integers(1, 4)), float(10 ** rng.uniform(-2, 1))
        product = Composition([LaplaceLaw(scale), law], [1, n])
        x = np.concatenate([rng.normal(0, np.sqrt(n) * float(max(map(abs, loss))), 6), [0.9 * scale, -scale]])
        atoms = law_of(loss, map(mp.log, mass)).power(n)
        for epsilon in x.tolist():
            s = ball(epsilon).exp()
            smooth = [q * Laplace(scale).stick(s * p / q) for p, q in atoms.pairs]
            low, high = answered(product, "delta", epsilon)
            assert low <= sum(smooth, atoms.at_plus) + NOTHING
            assert sum(smooth, atoms.at_plus) <= high + NOTHING


@pytest.mark.parametrize(("shift", "n"), [(3.0, 10), (1.0, 5), (0.3, 2)])
@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-8, 1e-11])
def test_epsilon_next_to_sup_of_laplace_and_atoms_is_narrow(shift, n, delta):
    epsilon = (to.Laplace(shift) @ to.PureDP(1.0) ** n).bounds.epsilon(delta)
    # Next to the supremum only the largest loss of the atoms counts.
    last = 1 / (1 + (-ball(1)).exp()) ** n
    truth = ball(shift) + n + 2 * (1 - ball(delta) / last).log()
    check(epsilon, truth, relative=1e-13)


@pytest.mark.parametrize("rare", [F(1, 10**20), F(1, 10**60)])
def test_epsilon_left_of_a_flat_profile_of_laplace_and_atoms_is_narrow(rare):
    mass = F(21, 200)  # of Q, nearly all of it at a loss of 44 or 136
    f = to.Laplace(2.0) @ to.from_masses([rare, 1 - rare], [mass, 1 - mass])
    pairs = [(ball(rare), ball(mass)), (1 - ball(rare), 1 - ball(mass))]
    for delta in (0.11, 0.2):
        epsilon = f.bounds.epsilon(delta)
        assert epsilon.width < 1e-12
        sides = [sum(q * Laplace(2.0).stick(ball(x).exp() * p / q) for p, q in pairs) for x in epsilon]
        assert sides[1] <= delta <= sides[0]


def test_epsilon_next_to_the_mass_at_infinity_of_laplace_and_atoms_is_narrow():
    """Rounding is more than what delta is above that mass."""
    f = to.Laplace(0.3) @ to.PiecewiseLinear([0, 0.1, 1], [0.7, 0.4, 0])
    assert f.bounds.epsilon(0.3 * (1 + 1e-14)).width < 1e-6
