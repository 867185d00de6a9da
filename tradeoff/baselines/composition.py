"""Composition theorems for (epsilon, delta): basic, advanced in both forms, optimal for equals."""

from __future__ import annotations

from typing import Any, Literal, get_args

from numpy.typing import ArrayLike

from tradeoff.baselines.result import Baseline, number, probability, rounds
from tradeoff.curves.parameters import choice, losses
from tradeoff.errors import DomainError
from tradeoff.families.approximate_dp import approximate_dp
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import expm1, log, sqrt, total, whole

Form = Literal["heterogeneous", "k-fold"]

_ADAPTIVE = "parameters fixed in advance; mechanisms may be chosen adaptively"


def basic_composition(epsilon: ArrayLike, delta: ArrayLike = 0.0, *, n: Any = 1) -> Baseline:
    """Add up losses and failures, the basic composition (sum eps_j, sum delta_j).

    Parameters
    ----------
    epsilon, delta
        Losses in nats, at least 0, and probabilities in [0, 1], one for each mechanism; they broadcast.
    n
        How often the whole list is composed.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.basic_composition([0.5, 0.25], 1e-6)
    (0.75, 2e-06)-DP by basic composition
    """
    e, d = losses(epsilon, delta)
    times = whole(rounds(n))
    loss, failure = (times * total(e)).upper, min((times * total(d)).upper, 1.0)
    return Baseline(loss, failure, "basic composition", "Dwork, Roth 2014, Theorem 3.16", (_ADAPTIVE,))


def advanced_composition(
    epsilon: ArrayLike, delta: ArrayLike = 0.0, *, n: Any = 1, slack: Any, form: Form = "heterogeneous"
) -> Baseline:
    """Compose with a square root: eps = V/2 + sqrt(2 log(1/slack) V), V = sum eps_j^2; slack + sum delta_j.

    Parameters
    ----------
    epsilon, delta, n
        As in ``basic_composition``.
    slack
        Probability delta' in (0, 1) paid for the square root.
    form
        ``"heterogeneous"``: the formula above. ``"k-fold"``: for k equal mechanisms,
        eps = sqrt(2 k log(1/slack)) eps_0 + k eps_0 (e^eps_0 - 1).

    Notes
    -----
    Heterogeneous: pure eps_j-DP is eps_j^2/2-zCDP (Bun, Steinke 2016), and the Gaussian tail of the loss.
    k-fold: Dwork, Rothblum, Vadhan 2010 (Dwork, Roth 2014, Theorem 3.20). Neither is below basic composition
    for few or lossy mechanisms.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.advanced_composition(0.1, n=100, slack=1e-6)
    (5.75653, 1e-06)-DP by advanced composition
    >>> to.baselines.advanced_composition(0.1, n=100, slack=1e-6, form="k-fold")
    (6.30824, 1e-06)-DP by advanced composition, k-fold
    """
    e, d = losses(epsilon, delta)
    times, paid = whole(rounds(n)), probability("slack", slack)
    choice("form", form, get_args(Form))
    failure = min((paid + times * total(d)).upper, 1.0)
    squares = times * total(map(Bounds, *(Bounds.of(e) ** 2)))
    root = sqrt(-2 * log(paid) * squares)
    if form == "heterogeneous":
        source = "Bun, Steinke 2016, with the sub-Gaussian tail of the loss"
        loss = (squares / 2 + root).upper
        return Baseline(loss, failure, "advanced composition", source, (_ADAPTIVE,))
    if len(e) and (e[0] != e).any():
        raise DomainError(
            f"epsilon must be one number for the k-fold form, got {epsilon!r}; use form='heterogeneous'"
        )
    drift = times * len(e) * (e[0] * expm1(e[0]) if len(e) else 0.0)
    name, source = "advanced composition, k-fold", "Dwork, Roth 2014, Theorem 3.20"
    return Baseline((root + drift).upper, failure, name, source, (_ADAPTIVE, "equal epsilon"))


def optimal_composition(epsilon: Any, delta: Any = 0.0, *, n: Any, at_delta: Any) -> Baseline:
    """Compose n equal (eps, delta)-DP mechanisms optimally: the least epsilon of all of them at ``at_delta``.

    Parameters
    ----------
    epsilon, delta
        Loss in nats and probability of one mechanism.
    n
        How many, an integer from 0.
    at_delta
        Probability of the result, in (0, 1) and at least 1 - (1 - delta)^n. In floats that
        formula may round to just below its value, where epsilon is infinite; give slightly more.

    Notes
    -----
    Kairouz, Oh, Viswanath 2015, Theorem 3.3: f_{eps,0}^n (x) f_{0,delta}^n, whose dual is solved exactly.
    For unequal mechanisms the optimum is #P-hard (Murtagh, Vadhan 2016); compose the curves instead.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.baselines.optimal_composition(0.1, n=100, at_delta=1e-6)
    (4.77457, 1e-06)-DP by optimal composition
    """
    n, target = rounds(n), probability("at_delta", at_delta)
    e, d = number("epsilon", epsilon, 0), number("delta", delta, 0, 1, open_high=False)
    result = (approximate_dp(e, d) ** n).epsilon(target)
    name, source = "optimal composition", "Kairouz, Oh, Viswanath 2015, Theorem 3.3"
    return Baseline(max(float(result), 0.0), target, name, source, (_ADAPTIVE, "equal epsilon and delta"))
