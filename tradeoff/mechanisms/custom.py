"""Any curve as a mechanism, and noise made for a curve: additive, and of that curve exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import choice, reals
from tradeoff.errors import DomainError, KindError, domain, shown
from tradeoff.intervals.roots import largest
from tradeoff.intervals.rounding import Array
from tradeoff.mechanisms.base import SIZE, Adjacency, Mechanism, Order
from tradeoff.operators.pointwise import maximum


@dataclass(frozen=True, init=False, repr=False)
class Custom(Mechanism):
    """Mechanism of which a trade-off curve is known: from a paper, another accountant, a proof of one's own.

    Parameters
    ----------
    curve
        Curve of one order of the pair: T(M(D), M(D')) >= ``curve`` for every pair of neighbours in that
        order. With ``adjacency="add-remove"`` D' has the record that D lacks.
    other_order
        Curve of the other order, T(M(D'), M(D)) >= ``other_order``; left out, it is ``~curve``, which always
        holds. In a plan file both are JSON, in place or the name of a file that holds it.
    adjacency
        ``"add-remove"`` or ``"replace-one"`` where the curves hold for such neighbours only; left out, for
        any.

    Raises
    ------
    KindError
        If a mechanism or anything else stands where a curve is wanted.
    DomainError
        If ``adjacency`` is none of these.

    Notes
    -----
    As exact as what is given. T(Q, P) = T(P, Q)^-1 (Dong, Roth, Su 2022, Lemma A.2), and inversion keeps the
    order, so that what is known of the other order says something of this one: T(M(D), M(D')) >= max{curve,
    ~other_order}. Under add/remove one order means the same for every such mechanism of a plan, and all turn
    together; else each release may turn on its own, and enters a plan as its own envelope.

    Examples
    --------
    >>> from tradeoff import Gaussian, Plan
    >>> from tradeoff.mechanisms import Custom
    >>> Plan({Custom(Gaussian(0.5)): 4}).guarantee()
    G_{1}
    """

    kind = "custom"

    one_order: TradeOff
    other_order: TradeOff | None = None
    adjacency: Adjacency | None = None

    def __init__(
        self, curve: TradeOff, other_order: TradeOff | None = None, adjacency: Adjacency | None = None
    ) -> None:
        if adjacency is not None:
            choice("adjacency", adjacency, get_args(Adjacency))
        object.__setattr__(self, "one_order", stated(curve))
        object.__setattr__(self, "other_order", other_order if other_order is None else stated(other_order))
        object.__setattr__(self, "adjacency", adjacency)

    @property
    def order(self) -> Order:
        if self.curve().symmetric:
            return "symmetric"
        return "tied" if self.adjacency == "add-remove" else "free"

    @property
    def exact(self) -> bool:
        return self.one_order.exact and self.other_order in (None, self.one_order.inverse())

    def curve(self) -> TradeOff:
        if self.other_order is None:
            return self.one_order
        return maximum(self.one_order, self.other_order.inverse())

    def parameters(self) -> dict[str, Any]:
        named = {**super().parameters(), "curve": self.one_order}
        return {name: named[name] for name in ("curve", "other_order", "adjacency") if name in named}


def stated(curve: TradeOff) -> TradeOff:
    """Return a curve that has numbers in all its places."""
    operand(curve).require_numbers()
    return curve


# Least 1 - 2c, c = f(c), of noise that can be drawn: it is as wide as the inverse, and a step is one f.
_LEAST_SPREAD = 1e-3


@dataclass(frozen=True, init=False, repr=False)
class CanonicalNoise(Mechanism):
    """Canonical noise of a symmetric curve f on one real query: its shift by the sensitivity has the curve f.

    Parameters
    ----------
    curve
        Symmetric curve below the identity. In a plan file it is JSON, in place or the name of a file.
    sensitivity
        Sensitivity of the query, in (0, inf), in its units.

    Raises
    ------
    KindError
        If ``curve`` is none.
    DomainError
        If it is not symmetric or is the identity, or ``sensitivity`` is out of range.

    Notes
    -----
    Exact (Awan, Vadhan 2023, Definition 3.7, and Proposition F.6 for the quantile): uniform on the middle
    [c, 1 - c] of probabilities, c = f(c), and carried on to either side by F(x - 1) = f(1 - F(x)).
    For f_{eps,0} it is the Tulap law, discrete Laplace noise plus a uniform one.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> noise = CanonicalNoise(Gaussian(1))
    >>> noise.curve(), noise.sample(3, np.random.default_rng(1)).shape
    (G_{1}, (3,))
    """

    kind = "canonical-noise"

    target: TradeOff
    sensitivity: float = field(metadata=SIZE)

    def __init__(self, curve: TradeOff, sensitivity: float = 1.0) -> None:
        object.__setattr__(self, "target", stated(curve))
        object.__setattr__(self, "sensitivity", sensitivity)
        super().__post_init__()
        if not curve.symmetric:
            raise DomainError(f"curve = {curve!r} speaks for one order; give .symmetrise(...) of it")
        if curve.delta(0.0) == 0:
            raise DomainError(f"curve = {curve!r} lets nothing be told: no noise has it; give a lower curve")

    @property
    def exact(self) -> bool:
        return self.target.exact

    def curve(self) -> TradeOff:
        return self.target

    def parameters(self) -> dict[str, Any]:
        return {"curve": self.target, "sensitivity": self.sensitivity}

    def _above(self, alpha: Array) -> Array:
        """Bound f from above, so that what rounding changes is more private, not less."""
        curve = self.target.upper if self.target.composed else self.target
        return np.asarray(curve.bounds(alpha).upper)

    def quantile(self, probability: Any) -> Array:
        """Return the quantiles of the noise, in the units of the query, to the accuracy of f.

        Parameters
        ----------
        probability
            Numbers in (0, 1); their shape is that of the answer.

        Raises
        ------
        DomainError
            If a number is outside, or the noise is wider than a thousand sensitivities.

        Examples
        --------
        >>> from tradeoff import PureDP
        >>> CanonicalNoise(PureDP(np.log(3)), sensitivity=2).quantile([0.25, 0.5]).round(9).tolist()
        [-1.0, 0.0]
        """
        p = reals("probability", probability)
        if not np.all((p > 0) & (p < 1)):
            raise domain("probability", probability, "(0, 1)")
        return np.where(p < 0.5, 1, -1) * self._lower(np.minimum(p, 1 - p)) + 0.0

    def sample(self, size: int | tuple[int, ...], rng: np.random.Generator) -> Array:
        """Return independent noise, in the units of the query.

        Parameters
        ----------
        size
            Shape of the answer.
        rng
            Source of randomness. Floats are rounded, so that an attacker who sees all their bits may learn
            more than the curve says: round what is released to a grid, or use it in simulations.

        Raises
        ------
        DomainError
            If the noise is wider than a thousand sensitivities, or no array has the shape.
        KindError
            If ``rng`` is no generator of NumPy.
        """
        if not isinstance(rng, np.random.Generator):
            raise KindError(f"rng = {shown(rng)} is no numpy.random.Generator; give default_rng()")
        try:
            np.broadcast_shapes(size)
        except (TypeError, ValueError) as error:
            raise DomainError(f"size = {shown(size)} is no shape of an array: {error}") from error
        sign = rng.choice([-1.0, 1.0], size)
        return sign * self._lower(np.exp(-rng.exponential(size=size)) / 2)

    def _lower(self, p: Array) -> Array:
        """Return quantiles of probabilities up to 1/2: F^-1(p) = F^-1(1 - f(p)) - 1 below c = f(c)."""
        c = largest(lambda c: bool(self._above(np.array([c]))[0] > c), 0.0, 0.5, halvings=60)
        if 1 - 2 * c < _LEAST_SPREAD:
            raise DomainError(
                f"{self!r} is noise of more than {1 / _LEAST_SPREAD:g} sensitivities; use a "
                "normal or Laplace law"
            )
        u, steps = p.ravel().copy(), np.zeros(p.size)
        while (low := u < c).any():
            u[low] = np.maximum(1 - self._above(u[low]), np.nextafter(u[low], 1))
            steps[low] += 1
        return np.reshape(self.sensitivity * ((u - 0.5) / (1 - 2 * c) - steps), p.shape)
