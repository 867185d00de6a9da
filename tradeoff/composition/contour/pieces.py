"""A law of L as smooth pieces and atoms, in a form that every operator keeps.

A piece has densities dP = k (1 - d + d e^l) phi and dQ = k (1 - b + b e^l) phi over a base phi with loss l, and g = b - d.
Thinning, reversal and mixture change b, d, their complements, g and k by products and positive sums: nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.changed import Mixed, Reversed, Thinned
from tradeoff.loss.gaussian import GaussianLaw
from tradeoff.loss.laplace import LaplaceLaw
from tradeoff.loss.law import LossLaw

_STEEP = 30.0


class Logs(NamedTuple):
    """Logarithms of both densities over the base, and the loss L, whose absolute error is ``error``."""

    p: Array
    q: Array
    loss: Array
    error: Array


class Share(NamedTuple):
    """A number of [0, 1] and its complement, each to full relative accuracy."""

    part: float
    rest: float


_ALL, _NONE = Share(1.0, 0.0), Share(0.0, 1.0)


@dataclass(frozen=True)
class Piece:
    """One smooth piece over the whole line of a Gaussian base, or over the open interval of a Laplace base."""

    base: GaussianLaw | LaplaceLaw
    k: float = 1.0
    g: float = 1.0
    b: Share = _ALL
    d: Share = _NONE

    @property
    def pure(self) -> bool:
        """Whether L is plus or minus the base loss."""
        return abs(self.g) == 1

    def thinned(self, p: float) -> Piece:
        """Return the piece with Q replaced by (1 - p) P + p Q."""
        b = Share((1 - p) * self.d.part + p * self.b.part, (1 - p) * self.d.rest + p * self.b.rest)
        return replace(self, g=p * self.g, b=b)

    def reversed(self) -> Piece:
        """Return the piece with P and Q exchanged."""
        return replace(self, g=-self.g, b=self.d, d=self.b)

    def weighted(self, weight: float) -> Piece:
        """Return the piece as a part of a mixture."""
        return replace(self, k=weight * self.k)

    def logs(self, base_loss: Array, error: Array) -> Logs:
        """Return log dP, log dQ (over k phi) and L at base losses known to ``error``."""
        log_p, log_q = _log_mixed(self.d, base_loss), _log_mixed(self.b, base_loss)
        odds = (
            self.g
            * np.expm1(np.minimum(base_loss, _STEEP))
            * np.exp(np.where(base_loss < _STEEP, np.minimum(-log_p, 700.0), 0.0))
        )
        near = (np.abs(odds) < 0.5) & (base_loss < _STEEP)
        loss = np.where(near, np.log1p(np.where(near, odds, 0.0)), log_q - log_p)
        steep = np.abs(slope(self.b, base_loss, log_q) - slope(self.d, base_loss, log_p))  # |dL/dl|
        rounding = (16 + 4 * np.abs(log_p)) * np.abs(loss) + np.where(
            near, 0.0, 8 * (np.abs(log_p) + np.abs(log_q))
        )
        return Logs(log_p, log_q, loss, UNIT * rounding + steep * error)


def pieces(law: LossLaw) -> list[Piece] | None:
    """Return the smooth pieces of a law (its atoms are ``law.atoms``), or None where its density has no closed form."""
    if isinstance(law, GaussianLaw | LaplaceLaw):
        return [Piece(law)]
    if isinstance(law, Thinned):
        return _each(law.base, lambda piece: piece.thinned(law.p))
    if isinstance(law, Reversed):
        return _each(law.base, Piece.reversed)
    if isinstance(law, Mixed):
        return _mixed([_each(inner, partial(Piece.weighted, weight=weight)) for weight, inner in law.parts])
    return None if law.continuous else []


def _each(law: LossLaw, change: Callable[[Piece], Piece]) -> list[Piece] | None:
    inner = pieces(law)
    return None if inner is None else [change(piece) for piece in inner]


def _mixed(parts: list[list[Piece] | None]) -> list[Piece] | None:
    known = [part for part in parts if part is not None]
    return [piece for part in known for piece in part] if len(known) == len(parts) else None


def _log_mixed(share: Share, loss: Array) -> Array:
    """Return log(1 - s + s e^loss) to a few units of its terms, wherever the loss lies."""
    if share.part == 0 or share.rest == 0:
        return (share.rest == 0) * loss
    middle = np.log1p(share.part * np.expm1(np.clip(loss, -1.0, _STEEP)))
    below = np.log(share.rest + share.part * np.exp(np.minimum(loss, 0.0)))
    far = np.maximum(loss, _STEEP)
    above = far + np.log(share.part + share.rest * np.exp(-far))
    return np.where(loss > _STEEP, above, np.where(loss < -1.0, below, middle))


def slope(share: Share, loss: Array, log_mixed: Array) -> Array:
    """Return s e^loss/(1 - s + s e^loss), the derivative of log(1 - s + s e^loss)."""
    return share.part * np.exp(np.minimum(loss - log_mixed, -np.log(share.part) if share.part > 0 else 0.0))


def exponents(share: Share, power: float) -> tuple[float, float]:
    """Return the range of power * slope over all losses."""
    return (
        (0.0, 0.0)
        if share.part == 0
        else (power, power)
        if share.rest == 0
        else (min(power, 0.0), max(power, 0.0))
    )
