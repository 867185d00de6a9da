"""Randomised answers against counts of all answers."""

import math

import mpmath as mp
import pytest

import tradeoff as to
from tests.mechanisms.reference import (
    has_profile,
)
from tradeoff import mechanisms as m
from tradeoff.errors import DomainError


@pytest.mark.parametrize("epsilon", [1e-12, 1e-15, 5e-324])
def test_randomized_response_keeps_tiny_losses(epsilon):
    curve = m.RandomizedResponse(epsilon=epsilon, categories=3).curve()
    assert curve.bounds.epsilon(0).lower <= epsilon <= curve.bounds.epsilon(0).upper <= epsilon * 1.01


@pytest.mark.parametrize(
    ("flip", "categories"), [(0.25, 2), (0.01, 2), (0.5, 2), (0.4, 3), (0.9, 10), (1e-9, 7)]
)
def test_randomized_response_by_its_flip_probability_has_that_of_its_answers(flip, categories):
    curve, k = m.RandomizedResponse(flip=flip, categories=categories).curve(), categories
    with mp.workdps(40):
        p = [1 - mp.mpf(flip), *[mp.mpf(flip) / (k - 1)] * (k - 1)]
    assert has_profile(curve, p, [p[1], p[0], *p[2:]])


def test_randomized_response_takes_one_of_epsilon_and_flip():
    for keywords in ({}, {"epsilon": 1, "flip": 0.1}):
        with pytest.raises(DomainError, match="either epsilon or flip"):
            m.RandomizedResponse(**keywords)
    for flip in (0, 0.6, 1e-310):
        with pytest.raises(DomainError, match=r"flip|epsilon must be"):
            m.RandomizedResponse(flip=flip)


@pytest.mark.parametrize("categories", [3, 10, 1000])
def test_randomized_response_of_many_categories_is_above_pure_dp(categories):
    curve, pure = m.RandomizedResponse(epsilon=1, categories=categories).curve(), to.PureDP(1)
    assert curve.symmetric
    for alpha in (0.01, 0.1, 0.3, 0.5):
        assert curve.bounds(alpha).lower >= pure.bounds(alpha).lower * (1 - 1e-14)
    total = math.exp(1) + categories - 1
    assert curve.delta(0) == pytest.approx(math.expm1(1) / total, rel=1e-13)
    assert curve.delta(1 + 1e-12) <= 1e-12
    assert curve.bounds.delta(0).upper >= math.expm1(1) / total * (1 - 1e-15)


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-12, 1e-6, 50.0, 700.0])
@pytest.mark.parametrize(
    "make", [m.Staircase, lambda e: m.Staircase(e, 0.9), lambda e: m.SubsetSelection(e, 9, 3), m.Rappor]
)
def test_randomised_answers_at_extreme_losses(make, epsilon):
    curve = make(epsilon).curve()
    assert curve.symmetric
    assert epsilon <= curve.epsilon(0) <= epsilon * (1 + 1e-13) + 1e-13
    assert curve.delta(0) <= to.PureDP(epsilon).delta(0) + 1e-14


def test_subset_selection_of_a_large_loss_is_tight():
    curve = m.SubsetSelection(700, 1000, 100).curve()
    with mp.workdps(60):
        k, d, e = 1000, 100, mp.exp(700)
        true = mp.mpf(d) * (k - d) / (k - 1) * (e - 1) / (d * e + k - d)
        assert true <= curve.bounds.delta(0.0).upper <= true * (1 + mp.mpf("1e-12"))
