"""An answer does not depend on earlier or simultaneous questions: equal curves give equal bits."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import reduce
from operator import matmul

import numpy as np
import pytest
import scipy.stats

import tradeoff as to
from tradeoff.accounting.options import OPTIONS, QueryOptions, set_context
from tradeoff.errors import PrecisionError
from tradeoff.families.discrete import DiscreteGaussianCurve


def step():
    return to.subsample(to.Gaussian(1 / 1.1), 0.01)


CURVES = {
    "gaussian": lambda: to.Gaussian(1.0),
    "laplace": lambda: to.Laplace(0.7),
    "approximate": lambda: to.approximate_dp(0.5, 1e-3),
    "location shift": lambda: to.LocationShift(scipy.stats.logistic(), 0.5),
    "piecewise linear": lambda: to.PiecewiseLinear([0, Fraction(1, 3), 1], [1, Fraction(1, 3), 0]),
    "subsampled": step,
    "mixture": lambda: to.mixture({to.Gaussian(1.0): 0.3, to.Laplace(1.0): 0.7}),
    "maximum": lambda: to.maximum(to.Laplace(0.5) ** 3, to.Gaussian(1.0)),
    "group": lambda: to.Laplace(0.4).group(3),
    "few rounds": lambda: to.Laplace(0.5) ** 3,
    "no decay": lambda: to.Laplace(0.1) ** 100,
    "integers": lambda: DiscreteGaussianCurve(3.0, 1) ** 20,
    "exact sums": lambda: to.PureDP(0.1) ** 50,
    "dpsgd": lambda: step() ** 1000,
    "leaking": lambda: step() ** 100 @ to.TotalVariation(1e-4),
    "several": lambda: step() ** 300 @ to.Laplace(0.1) ** 10 @ to.Gaussian(0.5),
    "envelope": lambda: (step() ** 300).symmetrise(assume="either-order"),
    "thinned product": lambda: to.subsample(to.Laplace(0.3) ** 5, 0.1),
}
AT = {
    "delta": (0.7, -0.4, 0.0, 0.71, 2.5),
    "epsilon": (1e-5, 0.02, 0.6, 1.1e-5),
    "beta": (0.3, 1e-4, 0.93, 0.31),
}

NAMES = [pytest.param(name, marks=pytest.mark.slow) if name == "maximum" else name for name in CURVES]

QUESTIONS = [(kind, at) for kind, every in AT.items() for at in every]


def answer(f, kind, at, **how):
    """Return both sides, or the message of the error."""
    ask = f.bounds if kind == "beta" else getattr(f.bounds, kind)
    try:
        return tuple(ask(at, **how))
    except PrecisionError as error:
        return str(error)


def barrage(f):
    """Ask much: in the neighbourhood, at once, more narrowly, and with less memory."""
    answer(f, "delta", np.linspace(0, 1, 11))
    answer(f, "beta", np.array([0.29, 0.32]))
    answer(f, "epsilon", np.array([0.9e-5, 0.03]))
    answer(f, "delta", 0.69, tol=1e-6)
    answer(f, "delta", 0.7, memory=2**22)


@pytest.fixture(scope="module")
def fresh():
    known = {}

    def answers(name):
        if name not in known:  # every question to a curve of its own
            known[name] = {(kind, at): answer(CURVES[name](), kind, at) for kind, at in QUESTIONS}
        return known[name]

    return answers


@pytest.mark.parametrize("name", NAMES)
def test_answers_do_not_depend_on_earlier_questions(name, fresh):
    curve = CURVES[name]()
    barrage(curve)
    assert {each: answer(curve, *each) for each in reversed(QUESTIONS)} == fresh(name)


@pytest.mark.parametrize("name", NAMES)
def test_array_entries_equal_scalar_answers(name, fresh):
    for kind, every in AT.items():
        low, high = answer(CURVES[name](), kind, np.array(every))
        assert [fresh(name)[kind, at] for at in every] == list(zip(low.tolist(), high.tolist(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_pickled_copies_and_threads_give_equal_answers(name, fresh):
    curve = CURVES[name]()
    answer(curve, "delta", 0.69)
    copy = pickle.loads(pickle.dumps(curve))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda each: answer(copy, *each), QUESTIONS))
    assert dict(zip(QUESTIONS, answers, strict=True)) == fresh(name)


POINTS = np.linspace(0, 1, 41)
PRODUCTS = {
    "kinds": [step() ** 300, to.Laplace(0.1) ** 10, to.Gaussian(0.5)],
    "digits": [*(DiscreteGaussianCurve(s, 1) ** 4 for s in (3.0, 3.0 + 1e-9)), to.Laplace(0.2) ** 4],
    "polygons": [to.PiecewiseLinear(POINTS, (1 - POINTS) ** power) ** 4 for power in (2.0, 2.0 + 1e-9)],
}
"""Factors of several kinds, or printed alike."""


@pytest.mark.parametrize("factors", PRODUCTS.values(), ids=PRODUCTS)
def test_the_order_of_factors_does_not_matter(factors):
    one, other = (reduce(matmul, each, to.Identity()) for each in (factors, factors[::-1]))
    assert one == other
    for kind, at in QUESTIONS[::3]:
        assert answer(one, kind, at) == answer(other, kind, at)


def test_whole_curves_are_kept_for_last_four_choices_of_options():
    f, made = to.Gaussian(1.0), []
    for memory, jobs in ((2**20, 1), (2**21, 1), (2**22, 1), (2**22, 2), (2**22, 3), (2**23, 1), (2**20, 1)):
        with set_context(OPTIONS, QueryOptions(memory=memory, jobs=jobs)):
            made.append(f.lower)
    assert made[3] is made[4] is not made[2]  # two and three jobs are one choice
    assert made[0] is not made[-1]  # the oldest of five was dropped
