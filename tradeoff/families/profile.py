"""A curve from finitely many (epsilon, delta) guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tradeoff.curves.parameters import number
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.functions import exp
from tradeoff.intervals.polygon import ONE, Line, envelope, whole


class Profile:
    """Where a curve is given by its profile: conjugation from the dual to the primal."""

    @staticmethod
    def from_epsilon_delta(guarantees: Mapping[float, float]) -> PiecewiseLinear:
        """Greatest symmetric curve implied by (eps, delta)-DP at every listed pair: max of f_{eps,delta}.

        Parameters
        ----------
        guarantees
            ``{epsilon: delta}`` with epsilon >= 0 in nats and delta in [0, 1], valid in both orders.

        Returns
        -------
        PiecewiseLinear
            max over the pairs of max{0, 1 - delta - e^eps alpha, e^-eps (1 - delta - alpha)}, in fractions;
            e^eps is a float rounded up, and so the curve below (Dong, Roth, Su 2022, Proposition 2.11 and
            2.12).

        Raises
        ------
        DomainError
            If the mapping is empty, or a pair is outside its range.

        Examples
        --------
        >>> from tradeoff import Profile
        >>> f = Profile.from_epsilon_delta({0.5: 0.01, 1.0: 1e-5})
        >>> round(f.epsilon(1e-5), 12)
        1.0
        """
        if not isinstance(guarantees, Mapping):
            raise DomainError(f"guarantees = {shown(guarantees)} is no mapping; write {{epsilon: delta}}")
        if not guarantees:
            raise DomainError("no guarantee given: list at least one {epsilon: delta}")
        epsilon = [number("epsilon", e, 0, 700) for e in guarantees]
        delta = [number("delta", d, 0, 1) for d in guarantees.values()]
        lines: list[Line] = []
        for e, d in zip(epsilon, delta, strict=True):
            slope, kept = whole(float(exp(e).upper)), ONE - whole(d)
            lines += [(slope, ONE, kept), (ONE, slope, kept)]
        corners = [(Fraction(x, d), Fraction(y, d)) for x, y, d in envelope(lines)]
        return PiecewiseLinear(*zip(*corners, strict=True))
