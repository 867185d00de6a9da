"""Any curve as a mechanism, and additive noise that has exactly a given curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff, operand
from tradeoff.curves.parameters import reals
from tradeoff.errors import DomainError, KindError, domain, shown
from tradeoff.intervals.bounds import Array
from tradeoff.intervals.roots import largest
from tradeoff.mechanisms.base import Adjacency, Mechanism, Order, adjacency_field, mechanism
from tradeoff.mechanisms.fields import real
from tradeoff.operators.pointwise import maximum


@mechanism
class Custom(Mechanism):
    r"""Mechanism with a known trade-off curve: from a paper, another accountant, or a proof of your own.

    Parameters
    ----------
    curve
        Curve of one order of the pair: :math:`T(M(D), M(D')) \ge` ``curve`` for every pair of neighbours in
        that order. With ``adjacency="add-remove"`` :math:`D'` has the record that :math:`D` lacks.
    other_order
        Curve of the other order, :math:`T(M(D'), M(D)) \ge` ``other_order``; by default ``~curve``, which
        always holds. In a plan file both are JSON, in place or the name of a file that contains it.
    adjacency
        ``"add-remove"`` or ``"replace-one"`` if the curves hold for such neighbours only; None for any.

    Notes
    -----
    As exact as the given curves. :math:`T(Q, P) = T(P, Q)^{-1}` (Dong, Roth, Su 2022, Lemma A.2), and
    inversion keeps the order, so that a bound on the other order is one on this order, too:
    :math:`T(M(D), M(D'))` is at least the maximum of ``curve`` and ``~other_order``. Under add/remove one
    order means the same for every such mechanism of a plan, and all share it; else each release may have
    either order, and enters a plan as its own envelope.

    Examples
    --------
    >>> from tradeoff import Gaussian, Plan
    >>> from tradeoff.mechanisms import Custom
    >>> Plan({Custom(Gaussian(0.5)): 4}).guarantee()
    G_{1}
    """

    one_order: TradeOff
    other_order: TradeOff | None = None
    adjacency: Adjacency | None = adjacency_field(default=None)

    def __init__(
        self, curve: TradeOff, other_order: TradeOff | None = None, adjacency: Adjacency | None = None
    ) -> None:
        other = None if other_order is None else _check_curve(other_order)
        vars(self).update(one_order=_check_curve(curve), other_order=other, adjacency=adjacency)
        super().__post_init__()

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


def _check_curve(curve: TradeOff) -> TradeOff:
    """Return a curve without symbols; raise an error of the library for anything else."""
    operand(curve).require_numbers()
    return curve


@mechanism
class CanonicalNoise(Mechanism):
    r"""Canonical noise of a symmetric curve f on one real query: its shift by the sensitivity has curve f.

    Parameters
    ----------
    curve
        Symmetric curve below the identity. In a plan file it is JSON, in place or the name of a file.
    sensitivity : sensitivity of the query, in (0, inf), in its units

    Notes
    -----
    Exact (Awan, Vadhan 2023, Definition 3.7, and Proposition F.6 for the quantile): uniform on the middle
    :math:`[c, 1 - c]` of probabilities, :math:`c = f(c)`, and carried on to either side by
    :math:`F(x - 1) = f(1 - F(x))`. For :math:`f_{\varepsilon,0}` it is the Tulap law, discrete Laplace noise
    plus a uniform one.

    Examples
    --------
    >>> from tradeoff import Gaussian
    >>> noise = CanonicalNoise(Gaussian(1))
    >>> noise.curve(), noise.sample(3, np.random.default_rng(1)).shape
    (G_{1}, (3,))
    """

    target: TradeOff
    sensitivity: float = real("Sensitivity of the query.", "(0, inf)")

    def __init__(self, curve: TradeOff, sensitivity: float = 1.0) -> None:
        vars(self).update(target=_check_curve(curve), sensitivity=sensitivity)
        super().__post_init__()
        if not curve.symmetric:
            raise domain("curve", curve, "symmetric", "use .symmetrise(...)")
        if curve.delta(0.0) == 0:
            raise domain("curve", curve, "below the identity", "no noise gives perfect privacy")

    def curve(self) -> TradeOff:
        return self.target

    def parameters(self) -> dict[str, Any]:
        return {"curve": self.target, "sensitivity": self.sensitivity}

    def _above(self, alpha: Array) -> Array:
        """Bound f from above, so that rounding makes the noise more private, not less."""
        curve = self.target.upper if self.target.composed else self.target
        return np.asarray(curve.bounds(alpha).upper)

    def quantile(self, probability: Any) -> Array:
        """Return the quantiles of the noise, in the units of the query, to the accuracy of f.

        Parameters
        ----------
        probability
            Numbers in (0, 1); the result has their shape. ``DomainError`` if the noise is wider than a
            thousand sensitivities.

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
        size : shape of the result
        rng
            Source of randomness. Floats are rounded, so that an attacker with all their bits may learn
            more than the curve allows: round released values to a grid, or use them in simulations only.
        """
        if not isinstance(rng, np.random.Generator):
            raise KindError(
                f"rng must be a numpy.random.Generator, got {shown(rng)}; use numpy.random.default_rng()"
            )
        try:
            np.broadcast_shapes(size)
        except (TypeError, ValueError) as error:
            raise domain("size", size, "the shape of an array", str(error)) from error
        sign = rng.choice([-1.0, 1.0], size)
        return sign * self._lower(np.exp(-rng.exponential(size=size)) / 2)

    def _lower(self, p: Array) -> Array:
        """Return F^-1(p), p <= 1/2: F^-1(1 - f(p)) - 1 below c = f(c), and (p - 1/2)/(1 - 2 c) from c on."""
        c = largest(lambda c: bool(self._above(np.array([c]))[0] > c), 0.0, 0.5, halvings=60)
        if 1 - 2 * c < 1e-3:  # the inverse of the width, and each unit costs one f
            width = "1000 sensitivities"
            raise DomainError(f"{self!r} has noise of more than {width}; use normal or Laplace noise")
        u, steps = p.ravel().copy(), np.zeros(p.size)
        while (low := u < c).any():
            u[low] = np.maximum(1 - self._above(u[low]), np.nextafter(u[low], 1))
            steps[low] += 1
        return np.reshape(self.sensitivity * ((u - 0.5) / (1 - 2 * c) - steps), p.shape)
