"""Errors of common slips name the way that works."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tradeoff as to
from tradeoff import mechanisms as m


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: to.Gaussian(1) + to.Gaussian(2), "composed by @ and"),
        (lambda: to.Gaussian(1) * 10, "composed by @ and"),
        (lambda: 10 * to.Gaussian(1), "composed by @ and"),
        (lambda: m.Gaussian(noise_multiplier=2) * 10, r"or compose mechanisms in Plan\({mechanism: count}\)"),
        (lambda: m.Gaussian(noise_multiplier=2) + m.Laplace(scale=1), "is a mechanism, not a curve"),
        (lambda: to.sweep(abs, sigma=[1, 2]), r"'sigma'; write sweep\(function, {'sigma': \[1, 2\]}\)"),
        (
            lambda: to.calibrate(to.Gaussian, epsilon=1, delta=0.1),
            r"'epsilon'; write calibrate\(build, {'epsilon': 1, 'delta': 0.1}\)",
        ),
        (
            lambda: to.certify(to.Gaussian(1), delta=0.1),
            r"'delta'; write certify\(curve, \"epsilon\", delta\)",
        ),
        (lambda: m.SubsampledGaussian(sigma=1, sample_rate=0.1), "did you mean noise_multiplier"),
        (lambda: m.SubsampledGaussian(1, q=0.1), "no parameter 'q'; did you mean sample_rate?"),
        (lambda: m.Gaussian(noise_multiplier=1, steps=3), r"steps'; the number of runs is that of a Plan"),
        (
            lambda: m.Gaussian(2),
            r"by name, as in Gaussian\(noise_multiplier=2\); the curve tradeoff.Gaussian\(mu\)",
        ),
        (lambda: m.Laplace(10), r"by name, as in Laplace\(scale=10\); the curve tradeoff.Laplace\(epsilon\)"),
        (lambda: m.Laplace(epsilon=1), "no parameter 'epsilon'; scale is the sensitivity over epsilon"),
        (lambda: m.Laplace(scales=1), "did you mean scale?"),
        (lambda: m.PureDP(alpha=1), "its parameters are epsilon"),
        (
            lambda: to.dp_sgd(sigma=1, q=0.1, num_steps=9),
            "noise_multiplier?.*sample_rate?.*did you mean steps?",
        ),
    ],
)
def test_unknown_operator_or_keyword_names_the_right_one(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dpsgd", "did you mean dp_sgd"),
        ("compose", "compose curves with f @ g"),
        ("SubsampledGaussian", r"use tradeoff\.mechanisms\.SubsampledGaussian"),
        ("epsilon", r"use f\.epsilon\(delta\)"),
        ("from_history", r"use tradeoff\.interop\.opacus"),
        ("nothing", "no attribute 'nothing'$"),
    ],
)
def test_unknown_attribute_of_the_package_names_the_right_one(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(to, name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("beta", r"use f\(alpha\)"),
        ("eps", r"use f\.epsilon\(delta\)"),
        ("roc", r'use f\.tpr\(fpr\), or tradeoff\.plot\(f, kind="roc"\)'),
        ("compose", r"use f @ g and f \*\* n"),
        ("guarantee", "covers both orders"),
        ("nothing", "no attribute 'nothing'$"),
    ],
)
@pytest.mark.parametrize("curve", [to.Gaussian(1), to.Laplace(1) @ to.Gaussian(1), to.PureDP(1)], ids=repr)
def test_unknown_attribute_of_a_curve_names_the_right_one(
    curve: to.TradeOff, name: str, message: str
) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(curve, name)
