"""The proof behind the GDP filter made runnable: one normal draw answers every adaptive Gaussian query."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.errors import BudgetExceeded, DomainError, domain
from tradeoff.filters.base import SLACK
from tradeoff.filters.shared import Shared, numbers
from tradeoff.intervals.rounding import Array

# What is left, of 1, below which it is put down to rounding: a thousand times what squares may pass 1 by, so
# that they move no variance by more than 1/1000; covariances of smaller m are below 4e-5.
_SPENT = 1e3 * SLACK


class GaussianSimulator(Shared):
    """Answer adaptive m_1, m_2, ... with sum m_i^2 <= 1 from one W_0 ~ N(b, 1), by independent N(b m_i, 1).

    Parameters
    ----------
    draw
        W_0, a number or an array: each entry is a run of its own.
    rng
        Source of all further randomness, which knows nothing of b.

    Notes
    -----
    W_i = m_i W_0 + U_i with Cov(U) = I - m m^T, factored by Cholesky row by row. With s_i = m_1^2 + ... +
    m_i^2, U_i given the past is normal with mean -m_i sum_{j<i} m_j U_j/(1 - s_{i-1}) and variance (1 -
    s_i)/(1 - s_{i-1}), so a round costs O(1); where next to nothing is left it is taken for a fresh N(0, 1).
    As the answers are made of one draw of N(b, 1), whatever the rule, the interaction is a post-processing of
    a 1-GDP release (Smith, Thakurta 2022, the proof of Theorem 1). In floating point: for simulation and
    proof, not for release. Threads may share a simulator; a copy, a pickle and a forked child go on with the
    same draws.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> simulator = GaussianSimulator(rng.normal(size=100_000), rng)
    >>> first = simulator.answer(0.6)
    >>> second = simulator.answer(np.where(first > 0, 0.8, 0.1))
    >>> bool(abs(np.corrcoef(first, second)[0, 1]) < 0.02), bool(abs(np.var(second) - 1) < 0.03)
    (True, True)
    """

    def __init__(self, draw: ArrayLike, rng: np.random.Generator) -> None:
        self._draw = np.array(numbers("draw", draw))
        if not np.all(np.isfinite(self._draw)):
            raise DomainError("draw holds a number that is not finite; give draws of N(b, 1)")
        if not hasattr(rng, "normal"):
            raise domain(
                "rng", rng, "the generators of numpy.random", "give one, such as numpy.random.default_rng(1)"
            )
        self._rng = rng
        self._left = np.ones_like(self._draw)  # 1 - s
        self._sum = np.zeros_like(self._draw)  # of m_j U_j

    @property
    def remaining(self) -> Any:
        """Return 1 - s, what the squares of further m may add up to."""
        return _plain(np.maximum(self._left, 0.0))

    def answer(self, m: ArrayLike) -> Any:
        """Answer the next query in each run: N(b m, 1), independent of the answers before.

        Parameters
        ----------
        m
            Finite numbers, one for each run or one for all; they may depend on earlier answers.

        Raises
        ------
        BudgetExceeded
            If the squares pass 1 in some run; nothing is drawn.
        DomainError
            If ``m`` is not made of finite numbers, or does not fit the runs.
        """
        m = self._shaped(numbers("m", m))
        with self._lock.once():
            after = self._after(m)
            # Where next to nothing is left m is as small, and U_i as good as a fresh N(0, 1).
            some = self._left > _SPENT
            before = np.where(some, self._left, 1.0)
            ratio = np.where(some, np.maximum(after, 0.0) / before, 1.0)
            u = -m * self._sum / before + np.sqrt(ratio) * self._rng.normal(size=m.shape)
            self._left, self._sum = after, self._sum + m * u
        return _plain(m * self._draw + u)

    def _shaped(self, m: Array) -> Array:
        try:
            return np.broadcast_to(m, self._draw.shape)
        except ValueError as error:
            shapes = f"m has shape {m.shape}, and the runs {self._draw.shape}"
            raise DomainError(f"{shapes}; give one m for each run or one for all") from error

    def _after(self, m: Array) -> Array:
        """Return what is left after m, at most a rounding below 0, which is kept: roundings do not add up."""
        if not np.all(np.isfinite(m)):
            raise DomainError("m holds a number that is not finite")
        with np.errstate(over="ignore"):  # more than all is refused just below
            after = self._left - m**2
        if np.any(after < -SLACK):
            k = int(np.argmin(after))
            left, size = float(self._left.flat[k]), float(m.flat[k])
            asked = size * size  # inf where a power would raise
            raise BudgetExceeded(
                f"m^2 = {asked:.6g} is more than the {left:.6g} left in run {k}", 1 - left, asked, left, 1.0
            )
        return np.asarray(after)


def _plain(x: Array) -> Any:
    return x if x.ndim else float(x)
