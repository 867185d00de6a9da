import mpmath as mp
import pytest
from matplotlib.figure import Figure

import tradeoff as to
from tradeoff.curves.product import Tensor
from tradeoff.mechanisms import DiscreteGaussian, Gaussian, Laplace, SubsampledGaussian

TARGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize(
    ("target", "mu"),
    [(TARGET, 0.23670438066343572), pytest.param({"mu": 1.0, "failure": 0.0}, 1.0, marks=pytest.mark.slow)],
    ids=str,
)
def test_allocate_two_gaussians_equals_optimum(target, mu):
    """As sum n_i/s_i^2 = mu^2, s_i goes as w_i^(-1/4), and the cost is (sum n_i w_i^(1/2))^2/mu^2."""
    result = to.allocate([(Gaussian, 1, 81.0), to.Part(Gaussian, 3)], target)
    assert result.scales[1] / result.scales[0] == pytest.approx(3.0, rel=1e-6)
    least = (9 + 3) ** 2 / mu**2
    assert least * (1 - 1e-9) <= result.cost <= least * (1 + 1e-5)
    assert result.residual < 1e-5


def test_allocate_mapping_has_counts():
    parts = [to.Part(Laplace, 20), to.Part(Gaussian)]
    assert to.allocate({Laplace: 20, Gaussian: 1}, TARGET).scales == to.allocate(parts, TARGET).scales


@pytest.mark.slow
def test_allocate_two_laplace_beats_grid():
    result = to.allocate([to.Part(Laplace, 20, 10.0), to.Part(Laplace, 20, 1.0)], TARGET)
    best = result.scales[1] / result.scales[0]
    for ratio in (1.0, 1.5, best * 0.99, best, best * 1.01, 2.5):  # none meets the target at a lower cost
        scale = ((1 - 1e-5) * result.cost / (20 * (10 + ratio**2))) ** 0.5
        curve = to.Laplace(1 / scale) ** 20 @ to.Laplace(1 / (ratio * scale)) ** 20
        assert curve.bounds.epsilon(1e-6).lower > 1.0


@pytest.mark.slow
def test_allocate_meets_target_and_is_cheapest():
    def steps(sigma):
        return SubsampledGaussian(sigma, sample_rate=0.01)

    first = to.Part(Laplace(scale=1.0, sensitivity=2.0), 20, 10.0)
    result = to.allocate([first, to.Part(DiscreteGaussian(sigma=1.0)), to.Part(steps, 500, 100.0)], TARGET)
    laplace, discrete, noise = result.scales
    runs = {
        Laplace(scale=laplace, sensitivity=2.0): 20,
        DiscreteGaussian(sigma=discrete): 1,
        steps(noise): 500,
    }
    guarantee = to.Plan(runs).guarantee()
    assert guarantee == result.curve
    assert 1 - 1e-5 < guarantee.epsilon(1e-6) == result.achieved.upper <= 1
    assert result.table["scales"] == ["optimum", "equal scales"]
    assert min(result.table["times the least"]) == 1.0
    assert max(result.table["epsilon"]) <= 1.0


def pure(scale):
    return to.PureDP(1 / scale)


def test_allocate_own_cost_equal_parts_many_rounds_and_unhashable_builds():
    result = to.allocate([Gaussian] * 2, TARGET, lambda s: s[0] + 8 * s[1])  # 1/s^3 is to 1/t^3 as 1 to 8
    assert result.scales[0] / result.scales[1] == pytest.approx(2.0, rel=1e-5)
    assert result.cost == pytest.approx(result.scales[0] + 8 * result.scales[1])
    part = Gaussian(noise_multiplier=2.0)
    result = to.allocate([part] * 3 + [(part, 1, 16.0)], TARGET)
    assert len(set(result.scales)) == 2
    assert result.scales[0] / result.scales[3] == pytest.approx(2.0, rel=1e-6)
    assert result.table["scales"] == ["optimum", "equal scales", "zCDP optimum"]
    assert result.table["times the least"][2] == pytest.approx(1.0, abs=1e-6)
    result = to.allocate([(pure, 10**12 - 9)] + [pure] * 9, {"epsilon": 1.0, "delta": 0.0})
    assert list(result.curve.factors.values()) == [10**12]
    assert to.allocate([Gaussian], {"epsilon": 1e4, "delta": 0.9}).achieved.upper <= 1e4

    class Noise:
        sensitivity: float = 1.0

        def __call__(self, scale):
            return to.Gaussian(self.sensitivity / scale)

    one, two = Noise(), Noise()
    result = to.allocate([one, one, (one, 1, 16.0), two], TARGET)
    assert result.scales[0] == result.scales[1]
    assert result.scales[:2] != result.scales[2:]
    assert result.scales[3] == pytest.approx(result.scales[0], rel=1e-4)
    # Most of the cost is for the second part, so that the first has more noise for nothing.
    for times in (2.0, 10.0):
        result = to.allocate([Gaussian, (Gaussian, 4)], TARGET, cost=lambda s, t=times: max(s[0], t * s[1]))
        assert result.scales[0] > result.scales[1]
        assert result.cost < 0.99 * result.table["cost"][1]
        assert result.achieved.upper <= 1


DELTA = 1e-5


def delta_of(epsilon, mu):
    return mp.ncdf(-epsilon / mu + mu / 2) - mp.exp(epsilon) * mp.ncdf(-epsilon / mu - mu / 2)


def column(table, name):
    at = table.columns.index(name)
    return {(row[0], row[1]): row[at] for row in table.rows}


def between(make, value, delta=DELTA, share=1e-4):
    """Differences of the certified epsilon, of the fourth order."""
    e = [sum(make(value * (1 + k * share)).bounds.epsilon(delta)) / 2 for k in (-2, -1, 1, 2)]
    return (e[0] - 8 * e[1] + 8 * e[2] - e[3]) / (12 * share * value)


@pytest.mark.parametrize("delta", [0.9, 1e-3, 1e-15])
def test_sensitivities_gaussian_product_equals_derivatives(delta):
    with mp.workdps(50):
        mu = mp.sqrt(4 * mp.mpf(0.3) ** 2 + 9 * mp.mpf(0.4) ** 2)
        start = to.Gaussian(float(mu)).epsilon(delta)
        epsilon = mp.findroot(lambda e: delta_of(e, mu) - mp.mpf(delta), start)
        by_mu = mp.diff(lambda m: delta_of(epsilon, m), mu)
        slope = -by_mu / mp.diff(lambda e: delta_of(e, mu), epsilon)
    product = Tensor({to.Gaussian(0.3): 4, to.Gaussian(0.4): 9})  # to.tensor would make one Gaussian of it
    tables = (product.sensitivities(delta=delta), product.sensitivities(epsilon=float(epsilon)))
    for table, answer, truth in zip(tables, ("d epsilon", "d delta"), (slope, by_mu), strict=True):
        result = column(table, answer)
        for m, n in ((0.3, 4), (0.4, 9)):
            assert result[f"G_{{{m}}}", "mu"] == pytest.approx(float(truth * n * m / mu), rel=1e-8)
            assert result[f"G_{{{m}}}", "count"] == pytest.approx(float(truth * m * m / (2 * mu)), rel=1e-8)


def steps(mu=1 / 1.1, p=256 / 60000, n=14062):
    return to.subsample(to.Gaussian(mu), p) ** n


def mix(mu=0.5, epsilon=0.1, p=0.01):
    return to.Gaussian(mu) @ to.Laplace(epsilon) ** 100 @ to.subsample(to.Gaussian(1.0), p) ** 1000


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda v: steps(mu=v), "mu", 1 / 1.1),
        (lambda v: steps(p=v), "p", 256 / 60000),
        (lambda v: mix(mu=v), "mu", 0.5),
        (lambda v: mix(epsilon=v), "epsilon", 0.1),
        (lambda v: ~mix(p=v) @ to.TotalVariation(1e-7), "p", 0.01),
        (lambda v: to.subsample(to.Gaussian(v), 0.5).symmetrise(assume="either-order"), "mu", 2.0),
    ],
)
def test_sensitivities_equal_differences_of_bounds(make, name, value):
    table = make(value).sensitivities(delta=DELTA)
    (result,) = [row[3] for row in table.rows if row[1:3] == (name, value)]
    assert result == pytest.approx(between(make, value), rel=1e-6)


def test_sensitivities_of_counts_delta_envelopes_and_pure_dp():
    f = mix() @ to.TotalVariation(1e-7)
    result = column(f.sensitivities(delta=DELTA), "d epsilon")
    step = column((f @ to.Laplace(0.1)).sensitivities(delta=DELTA), "d epsilon")
    gain = (f @ to.Laplace(0.1)).epsilon(DELTA) - f.epsilon(DELTA)
    assert (result["Lap_{0.1}", "count"] + step["Lap_{0.1}", "count"]) / 2 == pytest.approx(gain, rel=1e-4)
    lost = between(lambda v: mix() @ to.TotalVariation(v), 1e-7, share=1e-2)
    assert result["f_{0,1e-07}", "delta"] == pytest.approx(lost, rel=1e-5)
    assert len((to.PureDP(0.06) @ ~steps(1.3, 0.05, 1)).sensitivities(epsilon=0.105)) == 5
    both = steps().symmetrise(assume="either-order").sensitivities(delta=DELTA)
    one = steps().sensitivities(delta=DELTA)
    assert [(f"{factor} (one order)", *numbers) for factor, *numbers in both.rows] == list(one.rows)
    assert both.columns == one.columns
    table = mix().sensitivities(delta=DELTA)
    axes = table.plot(ax=Figure().subplots())
    assert [bar.get_width() for bar in axes.patches] == sorted(table["per 1%"], key=abs)
    assert axes.get_yticklabels()[-1].get_text() == "Lap_{0.1}: epsilon"
    result = column(to.PureDP(1.0).sensitivities(delta=DELTA), "d epsilon")
    with mp.workdps(30):  # epsilon = e + log(1 - delta (1 + e^-e))
        truth = mp.diff(lambda e: e + mp.log(1 - mp.mpf(DELTA) * (1 + mp.exp(-e))), mp.mpf(1))
    assert result["f_{1,0}", "epsilon"] == pytest.approx(float(truth), rel=1e-7)
    # There delta = 2^-n (1 - e^(eps - n e)) but for little, so that eps gains n; phases turn far there.
    for epsilon, n, delta in ((0.3, 5, 1e-5), (0.6, 6, 1e-5), (0.05, 5, 1e-5), (0.3, 10, 1e-7)):
        table = (to.Laplace(epsilon) ** n).sensitivities(delta=delta)
        assert table["d epsilon"][0] == pytest.approx(n, rel=1e-4)


@pytest.mark.parametrize(
    "p", [*(pytest.param(1 - x, marks=pytest.mark.slow) for x in (1e-5, 1e-6)), 1 - 1e-8]
)
def test_sensitivities_near_end_of_range(p):
    (result,) = [row[3] for row in steps(p=p, mu=1.0, n=1).sensitivities(delta=0.1).rows if row[1] == "p"]
    one = [to.subsample(to.Gaussian(1.0), at).bounds.epsilon(0.1, tol=1e-12) for at in (0.999, p)]
    assert result == pytest.approx((sum(one[1]) - sum(one[0])) / (2 * (p - 0.999)), rel=2e-3)
    lost = to.Gaussian(1.0) @ to.TotalVariation(p)
    (result,) = [row[3] for row in lost.sensitivities(epsilon=0.1).rows if row[1] == "delta"]
    assert result == pytest.approx(1 - to.Gaussian(1.0).delta(0.1), rel=2e-3)


@pytest.mark.slow
def test_sensitivities_of_a_maximum_irrelevant_or_without_slope():
    """Whole curves, 1e-3 wide, do not resolve a hundredth of a parameter."""

    def curve(mu):
        return to.maximum(to.Gaussian(mu) @ to.Laplace(0.5), to.PureDP(2))

    (slope,) = [row["d epsilon"] for row in curve(1).sensitivities(delta=1e-3) if row["parameter"] == "mu"]
    low, high = (curve(mu).epsilon(1e-3, tol=1e-8) for mu in (1 - 1e-3, 1 + 1e-3))
    assert slope == pytest.approx((high - low) / 2e-3, rel=1e-2)
    rows = to.mixture({to.Gaussian(1) @ to.Laplace(0.5): 0.5, to.PureDP(0.3): 0.5}).sensitivities(delta=1e-3)
    slopes = {row["value"]: row["d epsilon"] for row in rows if row["parameter"] != "count"}
    assert slopes[0.3] == 0
    assert slopes[1.0] > slopes[0.5] > 0
    steps = lambda v: to.subsample(to.Laplace(v), 0.1) ** 5  # noqa: E731 - its line takes too many nodes
    low, high = (steps(v).epsilon(DELTA, tol=1e-9) for v in (0.999, 1.001))
    assert steps(1).sensitivities(delta=DELTA)["d epsilon"][0] == pytest.approx((high - low) / 2e-3, rel=1e-5)
    with pytest.raises(to.errors.DomainError, match="too large for the smoothing"):
        (to.Gaussian(2e-6) @ to.PureDP(100.0)).sensitivities(epsilon=100.0)
