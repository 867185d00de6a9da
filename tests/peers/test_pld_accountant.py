"""Every number that PLD-Accountant's tests pin (DPBayes/PLD-Accountant, tests/), to their seven places.

``test_compute_delta.py``, ``test_compute_epsilon.py`` and their twins ``_var``; the ``_compatibility`` files
repeat these. R adds or removes a record, S replaces one. Where one question has several numbers they are for
windows L = 20, L = 40, and a grid nx = 1e5 instead of 1e6.
"""

import numpy as np
import pytest

import tradeoff as to
from tests.peers.agreement import holds, replaced
from tradeoff import mechanisms as m

PLACES = 5e-8


def steps(relation, sigma, rate, n):
    if relation == "R":
        return to.subsample(to.Gaussian(1 / sigma), rate) ** n
    return replaced(sigma, 1, rate) ** n


def kinds(relation, n):
    """Return ten steps each of the first n of ten kinds."""
    adjacency = "add-remove" if relation == "R" else "replace-one"
    each = list(zip(np.linspace(1.6, 1.8, 10), np.linspace(0.05, 0.06, 10), strict=True))[:n]
    plan = {m.SubsampledGaussian(sigma, rate, adjacency=adjacency): 10 for sigma, rate in each}
    return to.Plan(plan, adjacency).guarantee()


@pytest.mark.parametrize(
    ("curve", "question", "at", "numbers"),
    [
        (steps("R", 2.0, 0.01, 10_000), "delta", 1.0, [0.010224911209191894, 0.010224911126651472]),
        (steps("R", 2.0, 0.01, 100_000), "delta", 1.0, [0.39205728853284305]),
        (steps("R", 2.0, 0.01, 10_000), "delta", 0.8, [0.022850339595771204]),
        (steps("R", 2.0, 0.02, 10_000), "delta", 1.0, [0.14991732969314892]),
        (steps("S", 2.0, 0.01, 10_000), "delta", 1.0, [0.1282093857106282, 0.12820938556632053]),
        (steps("S", 2.0, 0.01, 10_000), "delta", 1.0, [0.1282093810636456]),
        (steps("S", 2.0, 0.01, 10_000), "delta", 0.8, [0.16803207353601804]),
        (steps("S", 1.0, 0.01, 10_000), "delta", 1.0, [0.556809673151891]),
        (steps("S", 2.0, 0.02, 10_000), "delta", 1.0, [0.5113118821506575]),
        (kinds("R", 10), "delta", 1.0, [0.0007824006722393885, 0.0007824006547443852, 0.0007824000947941229]),
        (kinds("R", 10), "delta", 0.8, [0.0030814519279194538]),
        (kinds("R", 9), "delta", 1.0, [0.0005014987387132376]),
        (kinds("S", 10), "delta", 1.0, [0.026891238748125684, 0.026891238632122155, 0.026891234920482492]),
        (kinds("S", 9), "delta", 0.8, [0.039256512455315]),
        (steps("R", 2.0, 0.01, 10_000), "epsilon", 1e-6, [2.446733916332568]),
        (steps("R", 2.0, 0.01, 10_000), "epsilon", 1e-5, [2.162704603256141]),
        (steps("S", 2.0, 0.01, 10_000), "epsilon", 1e-5, [4.396030629364786]),
        (steps("S", 1.0, 0.01, 10_000), "epsilon", 1e-6, [11.956857696159513]),
        (steps("S", 2.0, 0.005, 10_000), "epsilon", 1e-6, [2.26528666506213]),
        (kinds("R", 10), "epsilon", 1e-3, [0.9658229984720059, 0.9658230049986837, 0.9658230533746907]),
        (kinds("R", 9), "epsilon", 1e-3, [0.9092052395489234]),
        (kinds("S", 10), "epsilon", 1e-3, [1.849343750228688, 1.8493437498330085, 1.8493437767177145]),
        (kinds("S", 9), "epsilon", 1e-4, [2.157488007444617]),
    ],
)
def test_values_of_the_accountant_agree(curve, question, at, numbers):
    bounds = getattr(curve.bounds, question)(at)
    assert all(holds(bounds, number, PLACES) for number in numbers)
    assert bounds.width < (1e-8 if question == "epsilon" else 1e-9)


@pytest.mark.parametrize(
    ("curve", "question", "at", "pinned", "off"),
    [
        # get_delta_R, grid 1e5; get_delta_S, where the window wraps.
        (steps("R", 2.0, 0.01, 10_000), "delta", 1.0, 0.010224761247217004, -1e-7),
        (steps("S", 2.0, 0.01, 100_000), "delta", 1.0, 0.8205538014405241, -1e-6),
        # get_epsilon_R: grid 1e5, window 20, and ten kinds.
        (steps("R", 2.0, 0.01, 10_000), "epsilon", 1e-6, 2.4467323179602007, -1e-6),
        (steps("R", 1.0, 0.02, 10_000), "epsilon", 1e-6, 15.64135722007042, -3.8e-4),
        (kinds("R", 10), "epsilon", 1e-4, 1.2658081375076573, -8e-8),
        # get_epsilon_S: one question three ways, and where the window wraps.
        (steps("S", 2.0, 0.01, 10_000), "epsilon", 1e-6, 4.907397768991888, -4e-7),
        (steps("S", 2.0, 0.01, 10_000), "epsilon", 1e-6, 4.907397523232251, -6e-7),
        (steps("S", 2.0, 0.01, 10_000), "epsilon", 1e-6, 4.9073978692869344, -3e-7),
        (steps("S", 2.0, 0.01, 100_000), "epsilon", 1e-6, 19.0867527960459, -0.42),
        # Too large, and so safe: windows again.
        (steps("R", 1.0, 0.01, 10_000), "delta", 1.0, 0.2391763947364977, 3e-5),
        (steps("R", 2.0, 0.01, 10_000), "epsilon", 1e-6, 2.446734047007243, 1e-7),
        (steps("R", 2.0, 0.01, 100_000), "epsilon", 1e-6, 8.984848512304165, 1e-6),
        (steps("R", 1.0, 0.01, 10_000), "epsilon", 1e-6, 6.907422808389587, 3e-5),
        # examples/simple_usage_example.py, in comments: the numbers belong to other parameters.
        (steps("R", 4.0, 0.01, 1000), "delta", 1.0, 4.243484012034273e-06, 4e-6),
        (steps("S", 4.0, 0.01, 1000), "epsilon", 1e-5, 1.9931200626285734, 1.4),
    ],
)
def test_values_of_the_accountant_differ_by_its_error(curve, question, at, pinned, off):
    """What is pinned is off by more than its seven places, below the truth or above: estimates, no bounds."""
    bounds = getattr(curve.bounds, question)(at)
    assert pinned - bounds.lower < off if off < 0 else pinned - bounds.upper > off


def test_bounds_are_tight_where_the_grid_fails():
    # Contours in double, written for this alone, give 19.51387046139 and 0.820555011.
    curve = steps("S", 2.0, 0.01, 100_000)
    assert holds(curve.bounds.delta(1.0), 0.820555011, 1e-8)
    assert 19.51387046139 in curve.bounds.epsilon(1e-6)
    assert curve.bounds.epsilon(1e-6).width < 1e-9
    # The example for adding, by the trapezoidal rule on a contour; its comment has 4.2e-6.
    far = steps("R", 4.0, 0.01, 1000).bounds.delta(1.0)
    assert holds(far, 1.0062142477e-34, 1e-43)
    assert far.width < 1e-42
