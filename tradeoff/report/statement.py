"""The paragraph on privacy for a paper: mechanisms, guarantee, its meaning for a person, and caveats."""

from __future__ import annotations

from tradeoff._version import __version__
from tradeoff.curves.parameters import number
from tradeoff.display import rounded
from tradeoff.errors import KindError, shown
from tradeoff.intervals.bounds import Bounds
from tradeoff.mechanisms.base import Mechanism
from tradeoff.mechanisms.plan import Plan

_NEIGHBOURS = {
    "add-remove": "differ by adding or removing one record",
    "replace-one": "differ in the value of one record",
}


def statement(plan: Plan | Mechanism, *, delta: float, failure: float = 1e-10) -> str:
    r"""Return a paragraph that states the guarantee of a plan, for a paper, numbers rounded to the safe side.

    It covers the mechanisms, :math:`(\varepsilon, \delta)`, :math:`\mu`, membership attacks, and the limits
    of the guarantee.

    Parameters
    ----------
    plan
        A plan, or a mechanism that runs once.
    delta
        Probability in (0, 1] at which epsilon is stated.
    failure
        Failure probability of the Gaussian guarantee, in [0, 1].

    Examples
    --------
    >>> import tradeoff as to
    >>> print(to.statement(to.dp_sgd(1.1, batch_size=256, dataset_size=60_000, epochs=60), delta=1e-5))
    ... # doctest: +NORMALIZE_WHITESPACE
    The release consists of 14,063 runs of SubsampledGaussian (noise_multiplier = 1.1, sample_rate =
    0.00426667). For data sets that differ by adding or removing one record, it is (2.382, 1e-05)-DP (the
    exact epsilon is at least 2.381) and 0.5926-GDP except with probability 1e-10. A membership attack with a
    false-positive rate of 1 % has a true-positive rate of at most 4.03 %, and the advantage of any attack
    (true-positive minus false-positive rate) is at most 0.2245. Numbers are certified bounds, computed with
    tradeoff 0.1.0. The guarantee requires that every batch is an independent Poisson sample; it does not hold
    for shuffled batches. It covers one record, not several records of one person, and not the choice of
    hyperparameters on the same data.
    """
    if isinstance(plan, Mechanism):
        plan = Plan({plan: 1}, plan.adjacency or "add-remove")
    if not isinstance(plan, Plan):
        raise KindError(f"plan must be a Plan or a mechanism, got {shown(plan)}")
    delta = number("delta", delta, 0, 1, open_low=True)
    f = plan.guarantee()
    epsilon, power = f.bounds.epsilon(delta), 100 * (1 - Bounds.of(f(0.01)))
    least = rounded(max(epsilon.lower, 0.0), "lower", 4)
    most, mu = rounded(max(epsilon.upper, 0.0), "upper", 4), rounded(f.gdp(failure=failure).mu, "upper", 4)
    described = []
    for mechanism, n in plan.mechanisms.items():  # the neighbours have a sentence of their own
        given = [
            f"{k} = {v:.6g}" if isinstance(v, float) else f"{k} = {v}"
            for k, v in mechanism.parameters().items()
            if k != "adjacency" and (k, v) != ("group_size", 1)
        ]
        runs = f"{n:,} run{'s' * (n != 1)} of {type(mechanism).__name__}"
        described.append(f"{runs} ({', '.join(given)})")
    *others, last = described or [""]
    listed = f"{', '.join(others)} and {last}" if others else last
    both = f" (the exact epsilon is at least {least})" if f.exact else ""
    sentences = [
        f"The release consists of {listed}.",
        f"For data sets that {_NEIGHBOURS[plan.adjacency]}, it is ({most}, {delta:g})-DP{both}",
        f"and {mu}-GDP except with probability {failure:g}.",
        "A membership attack with a false-positive rate of 1 % has a true-positive rate of at most",
        f"{rounded(power.upper, 'upper', 3)} %, and the advantage of any attack (true-positive minus",
        f"false-positive rate) is at most {rounded(f.delta(0.0), 'upper', 4)}.",
        f"Numbers are certified bounds, computed with tradeoff {__version__}.",
        *(f"They assume: {each}" for each in f.assumptions),
    ]
    if any(getattr(m, "scheme", None) == "poisson" for m in plan.mechanisms):
        sentences.append("The guarantee requires that every batch is an independent Poisson sample;")
        sentences.append("it does not hold for shuffled batches.")
    sentences.append("It covers one record, not several records of one person,")
    sentences.append("and not the choice of hyperparameters on the same data.")
    return " ".join(sentences)
