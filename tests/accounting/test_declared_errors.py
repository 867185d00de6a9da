"""Masses and losses that err as much as their law declares: bounds of every engine contain the exact sums."""

import mpmath as mp
import numpy as np
import pytest
from flint import arb

from tests.truth.atoms import Law
from tests.truth.balls import ball
from tradeoff.accounting.planner import Composition
from tradeoff.pld.discrete import AtomicLaw

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
    log_p = [float(mp.log(p / (1 + NEARLY * slack * s))) for p, s in zip(mass, up, strict=True)]
    ends = 1 - mp.fsum(mass), 1 - mp.fsum(p * mp.exp(x) for x, p in zip(loss, mass, strict=True))
    mass_at_minus_infinity, mass_at_plus_infinity = (float(end) if end > 1e-30 else 0.0 for end in ends)
    order = np.argsort(given)
    law = AtomicLaw(
        given[order],
        np.array(log_p)[order],
        mass_at_minus_infinity,
        mass_at_plus_infinity,
        np.full(k, slack),
        position=float(position),
    )
    return loss, mass, law


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_engines_charge_declared_errors(seed):
    rng = np.random.default_rng(seed)
    with mp.workdps(50):
        loss, mass, law = drawn(rng)
        n = int(rng.integers(1, 5))
        product = Composition([law], [n])
        spread = np.sqrt(n) * float(max(map(abs, loss)))
        ends = n * float(min(loss)), n * float(max(loss))
        x = np.concatenate([rng.normal(0, 1, 3) * spread, [0.9 * ends[1], 1.2 * ends[1], 1.2 * ends[0]]])
        both = [(p, p * mp.exp(x)) for x, p in zip(loss, mass, strict=True)]
        pairs = [tuple(arb(mp.nstr(each, 45)) for each in pair) for pair in both]
        sums = Law(pairs, 1 - sum(q for _, q in pairs), 1 - sum(p for p, _ in pairs)).power(n)
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
