from dataclasses import dataclass

import mpmath as mp
import pytest
import sympy
from scipy.optimize import brentq

import tradeoff as to
from tradeoff.errors import DomainError
from tradeoff.mechanisms import DiscreteGaussian, Gaussian, Laplace, SubsampledGaussian

TARGET = {"epsilon": 1.0, "delta": 1e-6}


def gaussian_mu(epsilon, delta):
    def over(m):
        return mp.ncdf(m / 2 - epsilon / m) - mp.exp(epsilon) * mp.ncdf(-m / 2 - epsilon / m) - delta

    return brentq(lambda m: float(over(mp.mpf(m))), 0.1, 1.0, xtol=1e-14)


@pytest.mark.parametrize(
    ("target", "mu"),
    [
        (TARGET, gaussian_mu(1.0, 1e-6)),
        pytest.param({"mu": 1.0, "failure": 0.0}, 1.0, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_allocate_two_gaussians_equals_optimum(target, mu):
    """As sum n_i/s_i^2 = mu^2, s_i goes as w_i^(-1/4), and the cost is (sum n_i w_i^(1/2))^2/mu^2."""
    result = to.allocate([(Gaussian, 1, 81.0), to.Part(Gaussian, 3)], target)
    assert result.scales[1] / result.scales[0] == pytest.approx(3.0, rel=1e-6)
    least = (9 + 3) ** 2 / mu**2
    assert least * (1 - 1e-9) <= result.cost <= least * (1 + 1e-5)
    assert result.residual < 1e-5


@pytest.mark.slow
def test_allocate_two_laplace_beats_grid():
    result = to.allocate([to.Part(Laplace, 20, 10.0), to.Part(Laplace, 20, 1.0)], TARGET)
    best = result.scales[1] / result.scales[0]
    for ratio in (
        1.0,
        1.5,
        best * 0.99,
        best,
        best * 1.01,
        2.5,
    ):  # at a lower cost none of them meets the target
        scale = ((1 - 1e-5) * result.cost / (20 * (10 + ratio**2))) ** 0.5
        curve = to.Laplace(1 / scale) ** 20 @ to.Laplace(1 / (ratio * scale)) ** 20
        assert curve.bounds.epsilon(1e-6).lower > 1.0


@pytest.mark.slow
def test_allocate_meets_target_and_is_cheapest():
    sgd = {"sample_rate": 0.01}
    parts = [
        to.Part(Laplace(scale=1.0, sensitivity=2.0), 20, 10.0),
        to.Part(DiscreteGaussian(sigma=1.0)),
        to.Part(lambda s: SubsampledGaussian(s, **sgd), 500, 100.0),
    ]
    result = to.allocate(parts, TARGET)
    laplace, discrete, noise = result.scales
    plan = to.Plan(
        {
            Laplace(scale=laplace, sensitivity=2.0): 20,
            DiscreteGaussian(sigma=discrete): 1,
            SubsampledGaussian(noise, **sgd): 500,
        }
    )
    assert plan.guarantee() == result.curve
    assert 1 - 1e-5 < plan.guarantee().epsilon(1e-6) == result.achieved.upper <= 1
    assert result.table["scales"] == ["optimum", "equal scales"]
    assert min(result.table["times the least"]) == 1.0
    assert max(result.table["epsilon"]) <= 1.0


def test_allocate_equal_parts_share_a_scale():
    result = to.allocate(
        [Gaussian(noise_multiplier=2.0)] * 3 + [(Gaussian(noise_multiplier=2.0), 1, 16.0)], TARGET
    )
    assert len(set(result.scales)) == 2
    assert result.scales[0] / result.scales[3] == pytest.approx(2.0, rel=1e-6)
    assert result.table["scales"] == ["optimum", "equal scales", "zCDP optimum"]
    assert result.table["times the least"][2] == pytest.approx(1.0, abs=1e-6)


def test_allocate_counts_rounds_exactly():
    def pure(scale):
        return to.PureDP(1 / scale)

    target = {"epsilon": 1.0, "delta": 0.0}
    result = to.allocate([(pure, 10**12 - 9)] + [pure] * 9, target)
    assert list(result.curve.factors.values()) == [10**12]
    for parts, total in (
        ([(pure, 10**12)] + [pure] * 9, 10**12 + 9),
        ([(pure, 2**62)] * 2, 2**63),
        ([(Gaussian, 10**20)], 10**20),
    ):
        with pytest.raises(DomainError, match=f"must be an integer from 1 to {10**12}, got {total}"):
            to.allocate(parts, target)


def test_allocate_unhashable_builds_differ_by_identity():
    @dataclass
    class Noise:
        sensitivity: float = 1.0

        def __call__(self, scale):
            return to.Gaussian(self.sensitivity / scale)

    one, two = Noise(), Noise()
    result = to.allocate([one, one, (one, 1, 16.0), two], TARGET)
    assert result.scales[0] == result.scales[1]
    assert result.scales[:2] != result.scales[2:]
    assert result.scales[3] == pytest.approx(result.scales[0], rel=1e-4)


def test_allocate_raising_function_is_named():
    with pytest.raises(DomainError, match=r"build\(1.0\) raised ZeroDivisionError: .* by zero"):
        to.allocate([lambda s: s / 0], TARGET)
    with pytest.raises(DomainError, match=r"cost\(.*\) raised ZeroDivisionError: .* by zero"):
        to.allocate([Gaussian], TARGET, lambda scales: scales[0] / 0)


def test_allocate_own_cost():
    parts = [to.Part(Gaussian), to.Part(Gaussian)]
    result = to.allocate(parts, TARGET, lambda s: s[0] + 8 * s[1])  # 1/s^3 is to 1/t^3 as 1 to 8
    assert result.scales[0] / result.scales[1] == pytest.approx(2.0, rel=1e-5)
    assert result.cost == pytest.approx(result.scales[0] + 8 * result.scales[1])


def test_allocate_ends_of_range():
    assert to.allocate([Gaussian], {"epsilon": 1e4, "delta": 0.9}).achieved.upper <= 1e4
    with pytest.raises(to.errors.SymbolError, match="free symbols"):
        to.allocate([lambda s: to.Gaussian(sympy.Symbol("x") / s)], {"mu": 1})


@pytest.mark.parametrize("times", [2.0, 10.0])
def test_allocate_cost_flat_at_equal_scales(times):
    """Most of the cost is for the second part, so that the first has more noise for nothing."""
    result = to.allocate([Gaussian, (Gaussian, 4)], TARGET, cost=lambda s: max(s[0], times * s[1]))
    assert result.scales[0] > result.scales[1]
    assert result.cost < 0.99 * result.table["cost"][1]
    assert result.achieved.upper <= 1
    with pytest.raises(DomainError, match=r"parts\[0\] must be more private, and cost more"):
        to.allocate([Gaussian, (Gaussian, 4)], TARGET, cost=lambda s: s[1])
