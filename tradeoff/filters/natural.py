"""The filter that is not built: stopping when the composed curve would cross any target is not private."""

from __future__ import annotations

from typing import Any, Self

from tradeoff.curves.contract import TradeOff
from tradeoff.errors import KindError
from tradeoff.families.gaussian import Gaussian


class FDPFilter:
    """Refused: a filter that composes curves along the path and stops at a target f is not f-DP.

    Parameters
    ----------
    target
        Whatever it is, it is refused.

    Raises
    ------
    KindError
        Always; the message says which filter does the job.

    Notes
    -----
    Answers with different curves after different answers can each stay above f, while the whole, which an
    observer sees with the path, does not: a first randomised response, after one answer a leak with
    probability 0.01 and after the other a diluted randomised response, all with delta(1) = 0.01 along their
    paths, have delta(1) = 0.01495 together. What a Gaussian target has left is one number r, and every path
    is held to the same G_r.

    Examples
    --------
    >>> from tradeoff import PureDP, filters
    >>> filters.FDPFilter(PureDP(1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tradeoff.errors.KindError: a filter for an arbitrary f-DP target is not private: ...
    """

    def __new__(cls, target: Any) -> Self:
        """Refuse."""
        mu = f"({target.mu:g})" if isinstance(target, Gaussian) else ""
        other = "" if isinstance(target, TradeOff) else f" ({target!r} is not even a curve)"
        raise KindError(
            f"a filter for an arbitrary f-DP target is not private{other}: the curves composed along each "
            "path may all stay above the target while the adaptive whole does not (two answers, delta(1) = "
            "0.01 along either path, 0.01495 together); a Gaussian target has none of this: use "
            f"GDPFilter{mu} or ResidueFilter{mu}, or a filter in epsilon, rho or Renyi divergence"
        )
