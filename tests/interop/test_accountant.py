"""The accountant with dp_accounting's interface."""

from __future__ import annotations

import dp_accounting as dp
import pytest
from dp_accounting.pld import PLDAccountant

import tradeoff as to

STEP = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0))


def test_accountant_composes_as_a_plan_does() -> None:
    accountant = to.interop.dp_accounting.Accountant()
    accountant.compose(STEP, 1000).compose(dp.LaplaceDpEvent(20.0), 10)
    step = to.mechanisms.SubsampledGaussian(noise_multiplier=1, sample_rate=0.01)
    f = to.Plan({step: 1000, to.mechanisms.Laplace(scale=20): 10}).guarantee()
    assert accountant.get_epsilon(1e-5) == f.epsilon(1e-5)
    assert accountant.get_delta(1.0) == f.delta(1.0)
    assert accountant.compose(STEP).get_epsilon(1e-5) > f.epsilon(1e-5)


def test_accountant_is_within_the_error_of_dp_accounting() -> None:
    ours = to.interop.dp_accounting.Accountant().compose(STEP, 100).get_epsilon(1e-5)
    assert PLDAccountant().compose(STEP, 100).get_epsilon(1e-5) == pytest.approx(ours, rel=1e-3)


@pytest.mark.parametrize("relation", ["REPLACE_ONE", "REPLACE_SPECIAL"])
def test_accountant_uses_its_neighbouring_relation(relation: str) -> None:
    accountant = to.interop.dp_accounting.Accountant(dp.NeighboringRelation[relation])
    factor = 2 if relation == "REPLACE_ONE" else 1
    assert accountant.compose(dp.GaussianDpEvent(4.0)).guarantee == to.Gaussian(factor / 4)


def test_accountant_calibrates_in_dp_accounting() -> None:
    def four(sigma: float) -> dp.DpEvent:
        return dp.SelfComposedDpEvent(dp.GaussianDpEvent(sigma), 4)

    sigma = dp.calibrate_dp_mechanism(to.interop.dp_accounting.Accountant, four, 1.0, 1e-5)
    assert to.Gaussian(2 / sigma).epsilon(1e-5) <= 1
    assert to.Gaussian(2.001 / sigma).epsilon(1e-5) > 1


def test_accountant_unsupported_event_is_an_error_of_dp_accounting() -> None:
    accountant = to.interop.dp_accounting.Accountant()
    assert not accountant.supports(dp.UnsupportedDpEvent())
    with pytest.raises(dp.UnsupportedEventError, match="UnsupportedDpEvent"):
        accountant.compose(dp.UnsupportedDpEvent())


def test_accountant_without_events_has_no_loss() -> None:
    accountant = to.interop.dp_accounting.Accountant()
    assert (accountant.get_epsilon(0.0), accountant.get_delta(0.0)) == (0.0, 0.0)
