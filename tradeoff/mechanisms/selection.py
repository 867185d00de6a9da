"""Private choice of one of several candidates: what is known of it is pure, or a bounded range."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number
from tradeoff.families.bounded_range import BoundedRange
from tradeoff.families.identity import Identity
from tradeoff.families.pure_dp import PureDP
from tradeoff.intervals.functions import rational
from tradeoff.mechanisms.base import LOSS, Mechanism, within, words

# Losses outside are too small to matter, or have no e^eps among the floats: there f_{eps,0} serves.
_LEAST, _MOST = 1e-12, 700.0


@dataclass(frozen=True)
class Selection(Mechanism):
    """A choice that is epsilon-DP, and of which no more is known."""

    exact = False
    epsilon: float = field(metadata=LOSS)

    def curve(self) -> TradeOff:
        return PureDP(self.epsilon)


@dataclass(frozen=True)
class ExponentialMechanism(Selection):
    """Choice with probability proportional to e^(eps u/(2 Delta)), u the utility, Delta its sensitivity.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf): where utilities can only rise, or only fall, weights e^(eps u/Delta) have
        it.

    Raises
    ------
    DomainError
        If ``epsilon`` is out of range.

    Notes
    -----
    Dominating, and the best that holds of one choice: the losses of a pair of neighbours lie in [t - eps, t]
    for some t in [0, eps], a bounded range (Durfee, Rogers 2019), and the curve is the hull of the minimum
    over t (``BoundedRange``). As it is below the curve of every t, products of it hold also where each t is
    chosen in view of earlier answers. Below 1e-12 and above 700 nats it is f_{eps,0}, which is lower.

    Examples
    --------
    >>> round((ExponentialMechanism(epsilon=0.1).curve() ** 100).epsilon(1e-6), 4)
    2.6118
    >>> round((PureDP(0.1) ** 100).epsilon(1e-6), 4)
    4.7746
    """

    kind = "exponential-mechanism"

    def curve(self) -> TradeOff:
        return bounded_range(self.epsilon)


@dataclass(frozen=True)
class ReportNoisyMax(Selection):
    """Index of the greatest utility after independent noise on each, of scale 2 Delta/eps.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf): where utilities can only rise, or only fall, the scale Delta/eps has it.
    noise
        ``"gumbel"``, ``"laplace"`` or ``"exponential"``.

    Raises
    ------
    DomainError
        If a parameter is out of range.

    Notes
    -----
    Dominating. Gumbel noise is the exponential mechanism, and has its curve (Durfee, Rogers 2019).
    Exponential noise is permute-and-flip (Ding et al. 2021), and of it and of Laplace noise (Dwork, Roth
    2014, Claim 3.9) only pure DP is proved.

    Examples
    --------
    >>> ReportNoisyMax(epsilon=1, noise="laplace").curve()
    f_{1,0} (not exact)
    """

    kind = "report-noisy-max"

    noise: str = field(default="gumbel", metadata=words("gumbel", "laplace", "exponential"))

    def curve(self) -> TradeOff:
        return bounded_range(self.epsilon) if self.noise == "gumbel" else PureDP(self.epsilon)


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """Candidates in random order, each taken with probability e^(eps (u - max u)/(2 Delta)).

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf).

    Raises
    ------
    DomainError
        If ``epsilon`` is out of range.

    Notes
    -----
    Dominating: pure DP only (McKenna, Sheldon 2020). Of two candidates that trade places its losses are
    +-log(2 e^(eps/2) - 1), a range above eps: the curve of the exponential mechanism would not be safe.

    Examples
    --------
    >>> PermuteAndFlip(epsilon=1).curve()
    f_{1,0} (not exact)
    """

    kind = "permute-and-flip"


@dataclass(frozen=True)
class AboveThreshold(Selection):
    """Index of the first query above a noisy threshold: the sparse vector technique up to its first stop.

    Parameters
    ----------
    epsilon
        Loss in nats, in [0, inf), of noise 2 Delta/eps on the threshold and 4 Delta/eps on every query.

    Raises
    ------
    DomainError
        If ``epsilon`` is out of range.

    Notes
    -----
    Dominating: pure DP, however many queries lie below the threshold (Dwork, Roth 2014, Theorem 3.23; of the
    variants in print several are not private, Lyu, Su, Li 2017). Count it once for every stop, after which
    the noise on the threshold is drawn anew.

    Examples
    --------
    >>> AboveThreshold(epsilon=0.5).curve()
    f_{0.5,0} (not exact)
    """

    kind = "above-threshold"


@dataclass(frozen=True)
class RepeatAndSelect(Selection):
    """Best of a random number of runs of one eps-DP mechanism, as in the private choice of hyperparameters.

    Parameters
    ----------
    epsilon
        Loss of one run in nats, in [0, inf).
    shape
        Shape eta > -1 of the truncated negative binomial law of the number of runs: 0 logarithmic, 1
        geometric. Its mean does not matter.

    Raises
    ------
    DomainError
        If a parameter is out of range, or (2 + eta) eps overflows.

    Notes
    -----
    Dominating: f_{(2 + eta) eps, 0} (Papernot, Steinke 2022, Corollary 3; Liu, Talwar 2019 for eta = 1). With
    x the probability of a run at most as good as y, the outcome y has density x' (1 - (1 - gamma) x)^(-1 -
    eta) up to a constant, and either factor turns by at most e^eps between neighbours, once and 1 + eta
    times.

    Examples
    --------
    >>> RepeatAndSelect(epsilon=0.1, shape=1).curve()
    f_{0.3,0} (not exact)
    """

    kind = "repeat-and-select"

    shape: float = field(default=1.0, metadata=within(-1, open_low=True, open_high=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        number("(2 + shape) epsilon", self._loss, 0, open_high=True)

    @property
    def _loss(self) -> float:
        return float(rational((2 + Fraction(self.shape)) * Fraction(self.epsilon)).upper)

    def curve(self) -> TradeOff:
        return PureDP(self._loss)


def bounded_range(epsilon: float) -> TradeOff:
    """Return the least curve of a pair whose losses lie in an interval of this length, or one below it.

    >>> bounded_range(1.0), bounded_range(1000.0)
    (BR_{1}, f_{1000,0})
    """
    if epsilon == 0:
        return Identity()
    return BoundedRange(epsilon) if _LEAST <= epsilon <= _MOST else PureDP(epsilon)
