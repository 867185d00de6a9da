"""Integer noise made of counts: Skellam and binomial noise against their shifts."""

from __future__ import annotations

from dataclasses import dataclass

from tradeoff.curves.parameters import MOST, count, number
from tradeoff.curves.tensor import LawCurve
from tradeoff.loss.discrete import AtomicLaw


class CountCurve(LawCurve):
    """Log-concave integer noise that is the same to both sides, against its shift."""

    @property
    def symmetric(self) -> bool:
        return True


@dataclass(frozen=True, repr=False, eq=True)
class SkellamCurve(CountCurve):
    """Testing x against x + shift for x the difference of two Poisson counts.

    Parameters
    ----------
    variance
        Variance of x, the sum of both means, in (0, 1e6]; above, the law has too many atoms to list.
    shift
        Integer shift >= 1.

    Notes
    -----
    P(x = k) = e^-v I_|k|(v) is log-concave, as the convolution of laws that are.

    Examples
    --------
    >>> from tradeoff.families.counts import SkellamCurve
    >>> round(SkellamCurve(100.0, 1).delta(0.1), 9)
    0.008762069
    """

    variance: float
    shift: int = 1

    def __post_init__(self) -> None:
        variance = number("variance", self.variance, 0, open_low=True, open_high=True)
        object.__setattr__(self, "variance", variance)
        object.__setattr__(self, "shift", count("shift", self.shift, 1, MOST))

    def loss_law(self) -> AtomicLaw:
        from tradeoff.loss.counts import skellam_law  # which loads mpmath

        return skellam_law(self.variance, self.shift)

    def __repr__(self) -> str:
        return f"Skellam({self.variance:.6g}{f', shift {self.shift}' if self.shift > 1 else ''})"


@dataclass(frozen=True, repr=False, eq=True)
class BinomialCurve(CountCurve):
    """Testing x against x + shift for x the number of heads among fair coins.

    Parameters
    ----------
    coins
        Number of coins, from 1; coins times shift at most 2^20.
    shift
        Integer shift from 1 to the number of coins.

    Examples
    --------
    >>> from tradeoff.families.counts import BinomialCurve
    >>> BinomialCurve(10, 1).q_plus, round(BinomialCurve(10, 1).delta(1.0), 9)
    (0.0009765625, 0.025487207)
    """

    coins: int
    shift: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "coins", count("coins", self.coins, 1, MOST))
        object.__setattr__(self, "shift", count("shift", self.shift, 1, self.coins))

    @property
    def q_plus(self) -> float:
        return self.loss_law().q_plus

    @property
    def sup_loss(self) -> float:
        return self.loss_law().enclosure[1]

    @property
    def least_sup_loss(self) -> float:
        law = self.loss_law()
        return float(law.loss[-1] - law.loss_error[-1])

    def loss_law(self) -> AtomicLaw:
        from tradeoff.loss.counts import binomial_noise_law

        return binomial_noise_law(self.coins, self.shift)

    def __repr__(self) -> str:
        return f"Bin({self.coins}{f', shift {self.shift}' if self.shift > 1 else ''})"
