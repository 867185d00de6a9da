"""Errors of common slips name the way that works."""

import pytest

import tradeoff as to


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
def test_unknown_attribute_of_a_curve_names_the_right_one(curve, name, message):
    with pytest.raises(AttributeError, match=message):
        getattr(curve, name)
