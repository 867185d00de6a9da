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
from tradeoff.loss.together import together

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


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("y", [2.0, 90.0, 900.0])
def test_rows_of_distinct_factors_are_their_product(turned: bool, y: float) -> None:
    laws: list[LossLaw] = [Thinned(GaussianLaw(0.3 + 0.09 * k), 0.2 / (k + 1) ** 3) for k in range(7)]
    laws, counts, c = [Reversed(law) if turned else law for law in laws], list(range(1, 8)), 4.5
    factors, powers = together(laws, counts)
    assert len(factors) < len(laws)
    whole, at, off, value, ceiling, beyond, walked = acb(0), acb(0), 0.0, acb(0), 0.0, 0.0, 0.0
    for law, n in zip(laws, counts, strict=True):
        base = moment(law, acb(c))
        whole += n * base.log()
        at += n * (moment(law, acb(c, y)) / base).log()
    log_m, log_m_error = 0.0, 0.0
    for factor, n in zip(factors, powers, strict=True):
        found = factor.transform(c, 42.0)
        assert found is not None
        ratio = found.ratio(np.array([0.5 * y, y]))
        value += n * (acb(ratio.log[1].real, ratio.log[1].imag) + acb(0, y * arb(found.mean)))
        off += n * ratio.error[1]
        ceiling += n * ratio.ceiling[1]
        beyond += n * min(found.far(y), found.beyond(y))
        walked += n * found.around(np.array([y + 0.2]), 0.2)[0]
        log_m, log_m_error = log_m + n * found.log_m, log_m_error + n * found.log_m_error
    assert abs(whole - log_m).abs_upper() <= log_m_error + 1e-15
    assert abs((value - at).exp() - 1).abs_upper() <= math.expm1(off)
    assert at.real <= min(ceiling, beyond, walked) + 1e-15


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


def test_a_guess_where_a_line_holds_nothing_but_rounding() -> None:
    f = to.subsample(to.Gaussian(1 / 1.5), 0.001) ** 100
    assert f.bounds.epsilon(1e-8).width < 5e-9


def test_few_rarely_sampled_steps() -> None:
    f = to.subsample(to.Gaussian(1 / 1.5), 0.001) ** 100
    found = f.bounds.epsilon(1e-6, tol=1e-8)
    assert found.lower <= 0.02923935036 + 5e-12
    assert found.upper >= 0.02923935036 - 5e-12
