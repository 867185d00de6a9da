"""The paragraph for a paper."""

import tradeoff as to


def test_statement_numbers_are_on_the_safe_side():
    plan = to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 3, to.mechanisms.Laplace(scale=5): 1})
    text = to.statement(plan, delta=1e-6)
    f = plan.guarantee()
    epsilon = float(text.split("it is (")[1].split(",")[0])
    advantage = float(text.split("is at most ")[1].split(". ")[0])
    assert f.epsilon(1e-6) <= epsilon < 1.001 * f.epsilon(1e-6)
    assert f.delta(0) <= advantage < 1.001 * f.delta(0)
    assert "3 runs of Gaussian (noise_multiplier = 2) and 1 run of Laplace (scale = 5" in text
    assert "Poisson" not in text


def test_statement_of_a_dominating_curve_has_no_lower_bound():
    text = to.statement(to.mechanisms.ExponentialMechanism(epsilon=0.5), delta=1e-6)
    assert "at least" not in text
    assert "1 run of ExponentialMechanism" in text


def test_statement_names_replaced_records():
    plan = to.Plan({to.mechanisms.Gaussian(noise_multiplier=2): 10}, "replace-one")
    text = to.statement(plan, delta=1e-6)
    assert "differ in the value of one record" in text
    assert "Poisson" not in text
