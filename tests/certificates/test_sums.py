"""Atoms of a product are told apart, and summed beside one law; nodes of lattices and lines are summed up."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, ctx

import tradeoff as to
from tradeoff.certificates.verify.contour import Line
from tradeoff.certificates.verify.direct import Sums, _joined
from tradeoff.certificates.verify.lattice import Lattice
from tradeoff.certificates.verify.product import Product
from tradeoff.errors import VerificationError
from tradeoff.families.discrete import DiscreteGaussianCurve, DiscreteLaplaceCurve

CASES: dict[str, tuple[to.TradeOff, Any, float]] = {
    # losses of 1e-16 are not joined, which would leave nothing of delta
    "mu of losses of 1e-16": (to.subsample(DiscreteLaplaceCurve(1.0, 4), 1e-16), "mu", 1e-5),
    "losses of 1e-300": (to.subsample(DiscreteGaussianCurve(5.0, 4), 1e-300), "epsilon", 1e-310),
    "rounds": (to.subsample(DiscreteGaussianCurve(0.122, 5), 1e-9) ** 5 @ to.PureDP(0.001), "mu", 1e-2),
    # atoms beside a density move the loss at which that is asked
    "many atoms": (to.Laplace(0.002) @ DiscreteGaussianCurve(1.1, 3) ** 56, "delta", 60.0),
    "a line": (to.Laplace(0.7) @ to.PureDP(0.3) ** 4, "beta", 0.2),
    "a line through an atom": (to.approximate_dp(0.3, 1e-5) ** 2, "beta", 0.95),
    # losses that are equal but for their rounding are joined: a share of 1 - delta = 1e-31 is unsure
    "next to no delta is missing": (to.Gaussian(14.2) @ DiscreteLaplaceCurve(0.364, 3) ** 15, "delta", -1.5),
    "unbounded losses": (to.subsample(to.Gaussian(1.0), 0.3) @ to.PureDP(0.2) ** 3, "delta", -0.3),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_certified_is_proved_by_atoms(name: str) -> None:
    proofs = to.verify(to.certify(*CASES[name])).proofs
    assert any("atoms" in text for text in proofs)
    assert not any("contour" in text or "lattice" in text for text in proofs)


def test_no_claim_is_above_one() -> None:
    certificate = to.certify(to.PureDP(800.0), "delta", 0.0)
    assert certificate.upper == certificate.claims[0].upper == 1.0


@pytest.mark.parametrize("x", [-1.7, -0.4, 0.0, 0.95, 1.5, 2.5])
def test_sums_beside_a_law_are_those_of_each_atom(x: float) -> None:
    response = {"law": {"kind": "response", "epsilon": 0.3}, "count": 3}
    with ctx.workprec(128):
        sums = Sums([{"law": {"kind": "laplace", "epsilon": 0.7}, "count": 1}, response])
        near = 1 / (1 + (-arb(0.3)).exp())
        masses = [math.comb(3, k) * near ** (3 - k) * (1 - near) ** k for k in range(4)]
        truth = sum((q * laplace(x - (3 - 2 * k) * arb(0.3)) for k, q in enumerate(masses)), arb(0))
        delta = sums.delta(x)
        assert delta.overlaps(truth)
        assert delta.rad() < 1e-30
        assert (delta + sums.short_of_one(x)).overlaps(arb(1))


def laplace(y: arb) -> arb:
    """Return delta of two Laplace laws 0.7 apart."""
    if y <= -arb(0.7):
        return 1 - y.exp()
    return arb(0) if y >= arb(0.7) else 1 - ((y - arb(0.7)) / 2).exp()


@pytest.mark.parametrize("x", [-40.0, -1.5, 3.0, 60.0])
def test_joined_atoms_are_a_share_of_what_delta_lacks(x: float) -> None:
    """1 - delta(x) is the sum of q Q(L <= y) + e^x p P(L > y) over all ways to share rounds."""
    mu, near, n = 14.0, (0.5, 0.5 + 2.0**-50), 20
    with ctx.workprec(512):
        told = [{"law": {"kind": "response", "epsilon": each}, "count": n} for each in near]
        sums = Sums([{"law": {"kind": "gaussian", "mu": mu}, "count": 1}, *told])
        truth = arb(0)
        for j, k in itertools.product(range(n + 1), repeat=2):
            p = arb(math.comb(n, j) * math.comb(n, k))
            loss = (n - 2 * j) * arb(near[0]) + (n - 2 * k) * arb(near[1])
            for each, many in zip(near, (j, k), strict=True):
                p *= arb(each).exp() ** many / (1 + arb(each).exp()) ** n
            y = (x - loss) / mu
            truth += p * (loss.exp() * normal(y - mu / 2) + arb(x).exp() * normal(-y - mu / 2))
        assert 0 < sums.apart < 1e-13
        found = sums.short_of_one(x)
        assert found.overlaps(truth)
        assert found.rad() < 1e-12 * truth


def normal(x: arb) -> arb:
    """Return P(N < x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def test_beta_is_the_supremum_of_lines() -> None:
    with ctx.workprec(128):
        sums = Sums(
            [
                {"law": {"kind": kind, "epsilon": 0.5}, "count": n}
                for kind, n in (("laplace", 1), ("response", 4))
            ]
        )
        low, high = sums.beta(0.2)
        lines = [1 - sums.delta(at) - arb(at).exp() * 0.2 for at in np.linspace(-3, 3, 601).tolist()]
        best = max(float(line) for line in lines)
        assert best - 1e-15 <= float(high)
        assert float(low) <= best + 1e-4
        assert float(high - low) < 1e-20


def test_joined_losses_are_apart_by_more_than_nothing() -> None:
    with ctx.workprec(4096):
        near = 1 + arb(10) ** -400
        atoms = [(arb(1), near if k % 2 else arb(1)) for k in range(300)]
        joined, apart = _joined([*atoms, (arb(1), arb(3))], 0.0)
        assert len(joined) == 2
        assert apart > 0


def test_a_lattice_is_asked_only_where_a_loss_is_known_to_half_a_step() -> None:
    with ctx.workprec(128):
        lattice = Lattice([{"law": {"kind": "laplace", "epsilon": 0.5}, "count": 2}], 2**8, 1.0, 1e-3)
        low, high = lattice.delta(0.3)
        assert low <= high
        for rad in (lattice.step, 0.3):
            lattice.sums.unknown = [(arb(1), arb(1, rad))]
            with pytest.raises(VerificationError, match="no loss"):
                lattice.delta(0.3)


@pytest.mark.parametrize("x", [0.7, 1.0, 4.0])
def test_a_line_holds_the_sum_over_its_nodes(x: float) -> None:
    """Multiples of a step are no floats: the kernel is that of the nodes at which M is known."""
    with ctx.workprec(128):
        line = Line(Product([{"law": {"kind": "gaussian", "mu": 1.0}, "count": 1}], -40.0), x, middle=False)
        total, bump = acb(0), acb(0)
        for k, value in enumerate(line.values):
            z = acb(arb(line.c), arb(line.step) * k)
            term = (value if k else value / 2) * (-(z - line.c) * arb(x)).exp()
            total, bump = total + term / (z * (z - 1)), bump + term
        for found, true in zip(line._summed(arb(x)), (total, bump), strict=True):
            assert found.overlaps(true)
            assert found.real.rad() < 1e-30
