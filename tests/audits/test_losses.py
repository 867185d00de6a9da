"""Samples of the loss: limits on delta that hold, and a labelled estimate."""

import numpy as np
import pytest

import tradeoff as to
from tradeoff.audits import from_losses
from tradeoff.errors import DomainError, KindError

EPSILONS = np.array([-2.0, -0.5, 0.0, 0.7, 3.0])


def gaussian(mu, n, draws):
    x = draws.normal(size=n)
    return mu * x - mu * mu / 2, mu * x + mu * mu / 2


def test_delta_covers_at_the_confidence():
    draws, missed = np.random.default_rng(2), np.zeros(len(EPSILONS))
    truth = to.Gaussian(1).bounds.delta(EPSILONS)
    for _ in range(25):
        result = from_losses(*gaussian(1.0, 200, draws), 0.8).delta(EPSILONS)
        missed += (result.lower > truth.upper) | (result.upper < truth.lower)
    assert np.all(missed <= 12)  # of 25 at a fifth: more has probability 4e-4


def test_delta_limits_solve_the_entropy_equation():
    # 10 losses of which one is infinite and nine are 0, at epsilon = inf: kl(1/10, limit) = log(40)/10.
    result = from_losses([0.0], [0.0] * 9 + [np.inf]).delta(np.inf)
    assert result.lower < 0.1 < result.upper
    x, cost = 0.1, np.log(40) / 10
    for side in result:
        assert x * np.log(x / side) + (1 - x) * np.log((1 - x) / (1 - side)) == pytest.approx(cost, rel=1e-9)


def test_infinite_losses_and_ends():
    sample = from_losses([-np.inf, 0.0], [np.inf, 0.0])
    assert sample.delta(-np.inf).lower == sample.delta(-np.inf).upper == 1
    assert 0 <= sample.delta(np.inf).lower <= 0.5 <= sample.delta(np.inf).upper <= 1
    assert 0.5 in sample.delta(0.0)
    assert [tuple(sample.delta(e)) for e in EPSILONS] == list(zip(*sample.delta(EPSILONS), strict=True))


def test_many_losses_make_narrow_limits():
    draws = np.random.default_rng(4)
    result = from_losses(*gaussian(1.0, 10**5, draws)).delta(EPSILONS)
    assert np.all(result.width < 0.012)
    assert result.width[-1] < 1e-3  # relative to a small delta


def test_estimate_is_approximate():
    sample = from_losses(*gaussian(1.0, 2000, np.random.default_rng(6)))
    assert sample.estimate(0.3) == pytest.approx(to.Gaussian(1)(0.3), abs=0.05)
    assert "by sampled losses" in repr(sample.estimate)
    with pytest.raises(KindError, match="estimate"):
        sample.estimate @ to.Gaussian(1)


@pytest.mark.parametrize(("mu", "n"), [(1.0, 100), (0.3, 2000), (0.1, 20_000), (3.0, 20)])
def test_exchanged_arrays_are_refused(mu, n):
    under_p, under_q = gaussian(mu, n, np.random.default_rng(9))
    from_losses(under_p, under_q)
    with pytest.raises(DomainError, match="swap losses_under_p and losses_under_q"):
        from_losses(under_q, under_p)
    with pytest.raises(DomainError, match="not log dP/dQ"):
        from_losses(-under_p, -under_q)
    with pytest.raises(DomainError, match=r"losses_under_q must have a mean of e\^-L of at most 1"):
        from_losses(under_p, under_p)


def test_exchanged_arrays_with_large_losses_are_refused_without_warnings():
    draws = np.random.default_rng(3)
    mixed = np.where(draws.random(5000) < 0.01, -800.0, 0.3)
    with pytest.raises(DomainError, match="losses_under_p must have a mean"):
        from_losses(mixed, mixed)
    with pytest.raises(DomainError, match="losses_under_p must have a mean"):
        from_losses([800.0], [800.0])


def test_arrays_in_order_are_refused_rarely():
    # Randomized response at its own loss, where E_P[e^L] = 1 exactly, and a law with infinite losses.
    draws = np.random.default_rng(10)
    for n in (1, 3, 10, 100, 1000):
        for _ in range(100):
            e = 4 * draws.random()
            share = 1 / (1 + np.exp(e))
            from_losses(*(np.where(draws.random(n) < p, e, -e) for p in (share, 1 - share)))
            from_losses(
                np.where(draws.random(n) < 0.5, -np.inf, np.log(2)),
                np.where(draws.random(n) < 0.5, np.inf, -np.log(2)),
            )


def test_delta_of_empty_array_is_empty():
    low, high = to.audits.from_losses([1.0], [1.0]).delta([])
    assert low.shape == high.shape == (0,)


def test_class_checks_losses():
    draws = np.random.default_rng(2).normal(size=200)
    direct = to.audits.LossSample(draws - 0.5, draws + 0.5, 0.95)
    assert direct.delta(1.0) == to.audits.from_losses(draws - 0.5, draws + 0.5).delta(1.0)
    with pytest.raises(DomainError, match="probability 0"):
        to.audits.LossSample(np.array([np.inf]), draws, 0.95)
