"""The table of risks against 40 digits, enumerated attackers and its own curve."""

import mpmath
import numpy as np
import pytest

import tradeoff as to


def truths(mu, prior):
    """Risks of G_mu in closed form, in the order of the table."""
    mu, prior = mpmath.mpf(mu), mpmath.mpf(prior)

    def quantile(p):
        return mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(p) - 1)

    def power(alpha):
        return mpmath.ncdf(quantile(alpha) + mu)

    least = mpmath.ncdf(quantile(0.25) - mu)  # false-positive rate that a recall of 1/4 needs
    loss = mu * (mu / 2 - quantile(1e-3))
    threshold = mu / 2 - mpmath.log(prior / (1 - prior)) / mu
    return [
        *(power(0.01), power(0.01) / mpmath.mpf(0.01), 2 * mpmath.ncdf(mu / 2) - 1, power(0.125)),
        prior / 4 / (prior / 4 + (1 - prior) * least),
        1 / (1 + (1 - prior) / prior * mpmath.exp(-loss)),
        (1 - prior) * mpmath.ncdf(-threshold) + prior * mpmath.ncdf(threshold - mu),
    ]


@pytest.mark.parametrize("mu", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_risks_of_a_gaussian_enclose_closed_forms(mu, prior):
    table = to.Gaussian(mu).risks(fpr=0.01, baseline=0.125, prior=prior, recall=0.25, outcome=1e-3)
    with mpmath.workdps(40):
        exact = truths(mu, prior)
    for row, truth in zip(table, exact, strict=True):
        assert row["lower"] <= truth <= row["upper"], row
        assert row["risk"] == "posterior" or row["upper"] - row["lower"] <= 1e-9 * max(truth, 1)


def test_risks_of_bounded_losses_are_bounded_by_their_supremum():
    table = to.PureDP(1.5).risks(prior=0.2)
    most = 1 / (1 + 4 * np.exp(-1.5))
    assert all(row["upper"] <= most + 1e-9 for row in table if row["risk"] in {"posterior", "precision"})


def test_risks_of_one_order_take_the_prior_of_the_alternative():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    row = list(to.from_masses(p.tolist(), q.tolist()).risks(prior=0.2))[-1]
    assert row["lower"] <= np.minimum(0.8 * p, 0.2 * q).sum() + 1e-12
    assert row["upper"] >= np.minimum(0.8 * p, 0.2 * q).sum() - 1e-12
    assert row["upper"] - row["lower"] < 1e-9


def test_risks_of_a_leak_are_certain_outside_it():
    table = to.TotalVariation(0.1).risks(outcome=[0.01, 0.2], recall=[0.1, 0.5])
    assert [row["upper"] for row in table if row["risk"] == "posterior"] == [1.0, 0.5]
    assert next(row for row in table if row["risk"] == "precision")["upper"] == 1


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_success_bounds_reconstruction_of_a_uniform_secret(k, epsilon):
    """Randomised response on k values is the channel of a guess that is right with e^eps/(e^eps + k - 1)."""
    right = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    curve = to.mechanisms.RandomizedResponse(epsilon, k).curve()
    table = curve.risks(baseline=1 / k)
    (row,) = (row for row in table if row["risk"].startswith("re-identification"))
    assert right <= row["upper"] * (1 + 1e-12)


def test_risks_print_rounded_outward_and_export():
    table = to.Gaussian(1).risks(fpr=[0.01, 0.1], baseline=0.5)
    assert repr(table).splitlines()[0].split() == ["risk", "at", "lower", "upper"]
    assert r"\\toprule".replace("\\\\", "\\") in table.to_latex()
    assert table.to_csv().count("\n") == len(table) + 1
    assert "<table>" in table._repr_html_()
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: the extra [pandas] has it")
    assert list(pandas.DataFrame(table.to_dict()).columns) == ["risk", "at", "lower", "upper"]
