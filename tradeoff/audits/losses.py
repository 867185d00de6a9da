"""Curves from samples of the privacy loss: an estimate, and bounds on delta."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import rel_entr

from tradeoff.audits.empirical import empirical, sort_scores
from tradeoff.audits.refutation import check_confidence, error_probability
from tradeoff.curves.parameters import Number, Numbers, flattened, shaped
from tradeoff.display import exactly
from tradeoff.errors import DomainError, domain
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import clip, exp, expm1, log, minimum, sum_rows, where
from tradeoff.intervals.roots import find_root
from tradeoff.intervals.rounding import Array
from tradeoff.limits.estimates import ApproximateCurve


@dataclass(frozen=True, repr=False, eq=False)
class LossSample:
    """Independent draws of the privacy loss L = log dQ/dP, some under P and some under Q.

    Parameters
    ----------
    under_p, under_q, confidence : as ``from_losses`` takes them; the draws are kept sorted

    Examples
    --------
    >>> sample = LossSample([-1.0] * 73 + [1.0] * 27, [-1.0] * 27 + [1.0] * 73, confidence=0.9)
    >>> f"{sample.delta(0.0):.3f}"
    '[0.342, 0.584]'

    """

    under_p: Array
    under_q: Array
    confidence: float

    def __post_init__(self) -> None:
        for name, impossible in (("under_p", np.inf), ("under_q", -np.inf)):
            result = sort_scores(f"losses_{name}", getattr(self, name))
            if impossible in result:
                allowed = "less than inf" if impossible > 0 else "greater than -inf"
                remedy = f"L = log dQ/dP = {impossible} has probability 0 under {name[-1].upper()}"
                raise domain(f"losses_{name}", impossible, allowed, remedy)
            object.__setattr__(self, name, result)
        object.__setattr__(self, "confidence", check_confidence(self.confidence))
        for name, exponents, sign in (("under_p", self.under_p, ""), ("under_q", -self.under_q, "-")):
            if _exceeds_one(exponents):
                mean = np.mean(np.exp(np.minimum(exponents, np.log(2))))
                raise DomainError(
                    f"losses_{name} must have a mean of e^{sign}L of at most 1, got {mean:.4g} "
                    f"for min(e^{sign}L, 2); swap losses_under_p and losses_under_q if they are exchanged, "
                    "and give L = log dQ/dP, not log dP/dQ"
                )

    def __repr__(self) -> str:
        return f"LossSample: {self._sizes}, confidence {exactly(self.confidence)}"

    @property
    def _sizes(self) -> str:
        return f"{len(self.under_p)} losses under P and {len(self.under_q)} under Q"

    @cached_property
    def estimate(self) -> ApproximateCurve:
        """Hull of the empirical errors of all tests "reject where the loss is large"; not a bound."""
        result = empirical(self.under_p, self.under_q, self.confidence).estimate
        hypotheses = ("both numbers of losses grow",)
        return replace(result, name="sampled losses", source=self._sizes, hypotheses=hypotheses)

    def delta(self, epsilon: Number | Numbers) -> Bounds:
        r"""Bound delta(epsilon), epsilon in nats, on both sides; each entry alone holds at the confidence.

        Notes
        -----
        :math:`\delta(\varepsilon) = E_Q (1 - e^{\varepsilon - L})_+` for :math:`\varepsilon > 0`, and
        :math:`1 - e^\varepsilon E_P \min(1, e^{L - \varepsilon})` below: means of numbers in :math:`[0, 1]`,
        bounded as in "Probability inequalities for sums of bounded random variables", Hoeffding 1963, Theorem
        1, in its entropy form: :math:`\exp(-n\,\mathrm{kl}(x, \mu))` for a mean :math:`x`.
        """
        flat, shape = flattened("epsilon", epsilon, -np.inf, np.inf)
        lower, upper = np.reshape([tuple(self._delta(each)) for each in flat.tolist()], (-1, 2)).T
        return Bounds(shaped(lower, shape), shaped(upper, shape))

    def _delta(self, epsilon: float) -> Bounds[float]:
        if epsilon > 0:
            exponent = where(self.under_q == np.inf, -np.inf, epsilon - Bounds.of(self.under_q))
            return self._mean(clip(-expm1(exponent), 0.0, 1.0))
        exponent = where(self.under_p == -np.inf, -np.inf, Bounds.of(self.under_p) - epsilon)
        return clip(1 - exp(epsilon) * self._mean(exp(minimum(exponent, 0.0))), 0.0, 1.0)

    def _mean(self, sample: Bounds[Array]) -> Bounds[float]:
        """Bound the mean of a law on [0, 1] from draws of it, half of the allowed error on each side."""
        n = len(sample.lower)
        mean = sum_rows(sample) / n
        cost = float((log(2 / Bounds.of(error_probability(self.confidence))) / n).upper)
        rest = _largest_mean(float((1 - mean).upper), cost)
        return Bounds(float((1 - Bounds.of(rest)).lower), _largest_mean(float(mean.upper), cost))


def _exceeds_one(exponents: Array) -> bool:
    """Refute E[e^X] <= 1 by independent draws of X, with an error of 1e-9 at most, as of six deviations.

    The mean over stakes s of prod_i (1 + s (e^x_i - 1)) has expectation 1 at most, so Markov's inequality
    holds for it ("Estimating means of bounded random variables by betting", Waudby-Smith, Ramdas 2024). At
    s = 1 it is the likelihood ratio of the draws under Q and under P.
    """
    stakes = np.geomspace(1e-3, 1.0, 7)  # from many small excesses of e^L over 1 to few large ones
    with np.errstate(over="ignore", divide="ignore"):
        excess = np.expm1(exponents)
        wealth = max(float(np.sum(np.log1p(stake * excess))) for stake in stakes)
    return wealth > math.log(len(stakes) / 1e-9)


def _largest_mean(mean: float, cost: float) -> float:
    """Return the largest mu with kl(mean, mu) < cost, rounded up: searched in floats, then verified."""
    x = min(max(mean, 0.0), 1.0)
    step = 1e-14  # width of the search: means are known to a millionth or worse
    mu = find_root(lambda mu: float(rel_entr(x, mu) + rel_entr(1 - x, 1 - mu)) - cost, x, 1.0, step)
    rest = 1 - Bounds.of(x)
    while mu < 1 and (x * log(Bounds.of(x) / mu) + rest * log(rest / (1 - Bounds.of(mu)))).lower < cost:
        mu, step = mu + step, 2 * step
    return min(mu, 1.0)


def from_losses(losses_under_p: Numbers, losses_under_q: Numbers, confidence: float = 0.95) -> LossSample:
    r"""Estimate a curve from draws of its privacy loss L = log dQ/dP, and bound delta at given losses.

    Parameters
    ----------
    losses_under_p : independent draws under :math:`P`, in nats; one-dimensional, +inf cannot occur
    losses_under_q : independent draws under :math:`Q`, -inf cannot occur
    confidence : probability in (0, 1) with which ``delta`` holds at one loss

    Returns
    -------
    LossSample
        With ``estimate``, an approximate curve that proves nothing, and ``delta(epsilon)``, bounds. The
        bounds take the draws for exact. Draws that refute :math:`E_P[e^L] \le 1` or
        :math:`E_Q[e^{-L}] \le 1`, as they do with the two arrays exchanged, are refused (draws in order with
        probability :math:`2 \cdot 10^{-9}` at most).

    Examples
    --------
    >>> import numpy as np
    >>> import tradeoff as to
    >>> draws = np.random.default_rng(1).normal(size=10_000)
    >>> sample = to.audits.from_losses(draws - 0.5, draws + 0.5)  # of a Gaussian with mu = 1
    >>> to.Gaussian(1).delta(1.0) in sample.delta(1.0)
    True
    """
    return LossSample(losses_under_p, losses_under_q, confidence)  # type: ignore[arg-type]  # it makes arrays
