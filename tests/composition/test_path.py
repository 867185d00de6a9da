"""The path beside the line against integrals in ball arithmetic, and few rarely sampled steps."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from flint import acb, arb

import tradeoff as to
from tradeoff.loss.changed import Reversed, Thinned
from tradeoff.loss.components import MARGIN
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.law import LossLaw

BOTH = Thinned(Reversed(Thinned(GaussianLaw(0.5), 0.02)), 0.3)
CASES = [
    (Thinned(GaussianLaw(2 / 3), 0.001), 15.9, 1300.0),
    (Reversed(Thinned(GaussianLaw(1.0), 1e-4)), 12.0, 5e3),
    (Thinned(GaussianLaw(2.5), 0.5), 1.3, 70.0),
    (Thinned(GaussianLaw(0.03), 0.4), 0.6, 4e3),
    (BOTH, 6.5, 900.0),
    (Reversed(BOTH), 3.0, 2e3),
]


def moment(law: LossLaw, z: acb) -> acb:
    """Integrate phi P^(1-z) Q^z, from the two shares of e^l in the densities."""
    (part,) = law.components() or []
    mu, d, b = arb(part.base.scale), arb(part.d.part), arb(part.b.part)

    def density(x: acb, analytic: bool) -> acb:
        lift = (mu * x - mu * mu / 2).exp() - 1
        log_p, log_q = ((1 + share * lift).log(analytic=analytic) for share in (d, b))
        return ((1 - z) * log_p + z * log_q - x * x / 2).exp() / (2 * arb.pi()).sqrt()

    edges = np.linspace(-13.0, 13.0 + float(mu) * abs(float(z.real.mid())), 40)
    return sum((acb.integral(density, acb(a), acb(b)) for a, b in pairwise(edges)), acb(0))


@pytest.mark.parametrize(("law", "c", "y"), CASES)
def test_the_transform_and_what_bounds_it(law: LossLaw, c: float, y: float) -> None:
    found = law.transform(c, 42.0)
    assert found is not None
    assert found.cost(y) == found.cost(1e9) < 500
    whole = moment(law, acb(c))
    at, beyond = (moment(law, acb(c, s)) / whole for s in (y, 1.5 * y))
    ratio = found.ratio(np.array([y]))
    value = at * acb(0, -y * arb(found.mean)).exp()
    assert (acb(ratio.log[0].real, ratio.log[0].imag).exp() - value).abs_upper() <= abs(value) * math.expm1(
        ratio.error[0]
    )
    assert abs(at) <= math.exp(ratio.ceiling[0])
    assert abs(at) <= math.exp(found.far(y))
    assert abs(beyond) <= math.exp(found.far(y))
    assert abs(moment(law, acb(c, y + 0.3)) / whole) <= math.exp(found.around(np.array([y]), 0.3)[0]) + 1e-15


@pytest.mark.parametrize("digits", [6.0, 15.0])
@pytest.mark.parametrize("moved", [0.0, MARGIN, -MARGIN])
def test_the_remainder(digits: float, moved: float) -> None:
    law = Thinned(GaussianLaw(1.0), 0.01)
    (part,) = law.components() or []
    nodes, z = part.base.path(part, 3.0, digits), complex(3.0 + moved, 80.0)
    assert nodes is not None
    rule = np.sum(np.exp(nodes.log_p + z * nodes.loss))
    assert abs(moment(law, acb(z.real, z.imag)) - acb(rule.real, rule.imag)) <= nodes.quadrature * abs(
        moment(law, acb(z.real))
    )


def test_few_rarely_sampled_steps() -> None:
    f = to.subsample(to.Gaussian(1 / 1.5), 0.001) ** 100
    found = f.bounds.epsilon(1e-6, tol=1e-8)
    assert found.lower <= 0.02923935036 + 5e-12
    assert found.upper >= 0.02923935036 - 5e-12
