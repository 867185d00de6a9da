"""A law of L as smooth pieces and atoms, in a form that every operator keeps.

A piece has densities dP = k (1 + d v) phi and dQ = k (1 + b v) phi over a base phi, with v = e^l - 1, l the base loss and
g = b - d. Thinning, reversal and mixture change (g, b, d, k) by products and positive sums: nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tradeoff.engines.density import GaussianLaw, LaplaceLaw
from tradeoff.engines.law import LossLaw, Mixed, Reversed, Thinned
from tradeoff.numerics.rounding import UNIT, Array

_STEEP = 30.0


class Logs(NamedTuple):
    """Logarithms of both densities over the base, and the loss L, whose absolute error is ``error``."""

    p: Array
    q: Array
    loss: Array
    error: Array


@dataclass(frozen=True)
class Piece:
    """One smooth piece over the whole line of a Gaussian base, or over the open interval of a Laplace base."""

    base: GaussianLaw | LaplaceLaw
    k: float = 1.0
    g: float = 1.0
    b: float = 1.0
    d: float = 0.0

    @property
    def pure(self) -> bool:
        """Whether L is plus or minus the base loss."""
        return abs(self.g) == 1

    def thinned(self, p: float) -> Piece:
        """Return the piece with Q replaced by (1 - p) P + p Q."""
        return replace(self, g=p * self.g, b=(1 - p) * self.d + p * self.b)

    def reversed(self) -> Piece:
        """Return the piece with P and Q exchanged."""
        return replace(self, g=-self.g, b=self.d, d=self.b)

    def logs(self, base_loss: Array, error: Array) -> Logs:
        """Return log dP, log dQ (over k phi) and L at base losses known to ``error``."""
        log_p, log_q = _log_mixed(self.d, base_loss), _log_mixed(self.b, base_loss)
        odds = self.g * np.expm1(np.minimum(base_loss, _STEEP)) * np.exp(np.where(base_loss < _STEEP, np.minimum(-log_p, 700.0), 0.0))
        near = (np.abs(odds) < 0.5) & (base_loss < _STEEP)
        loss = np.where(near, np.log1p(np.where(near, odds, 0.0)), log_q - log_p)
        slope = np.abs(share(self.b, base_loss, log_q) - share(self.d, base_loss, log_p))  # |dL/dl|
        rounding = 16 * np.abs(loss) + np.where(near, 0.0, 8 * (np.abs(log_p) + np.abs(log_q)))
        return Logs(log_p, log_q, loss, UNIT * rounding + slope * error)


def pieces(law: LossLaw) -> list[Piece] | None:
    """Return the smooth pieces of a law (its atoms are ``law.atoms``), or None where its density has no closed form."""
    if isinstance(law, GaussianLaw | LaplaceLaw):
        return [Piece(law)]
    if isinstance(law, Thinned):
        return _each(law.base, lambda piece: piece.thinned(law.p))
    if isinstance(law, Reversed):
        return _each(law.base, Piece.reversed)
    if isinstance(law, Mixed):
        return _mixed([_each(inner, lambda piece, w=w: replace(piece, k=w * piece.k)) for w, inner in law.parts])  # type: ignore[misc]  # binds w
    return None if law.continuous else []


def _each(law: LossLaw, change: Callable[[Piece], Piece]) -> list[Piece] | None:
    inner = pieces(law)
    return None if inner is None else [change(piece) for piece in inner]


def _mixed(parts: list[list[Piece] | None]) -> list[Piece] | None:
    known = [part for part in parts if part is not None]
    return [piece for part in known for piece in part] if len(known) == len(parts) else None


def _log_mixed(share: float, loss: Array) -> Array:
    """Return log(1 - share + share e^loss) to a few units of its terms, wherever the loss lies."""
    if share in {0.0, 1.0}:
        return share * loss
    middle = np.log1p(share * np.expm1(np.clip(loss, -1.0, _STEEP)))
    below = np.log((1 - share) + share * np.exp(np.minimum(loss, 0.0)))
    far = np.maximum(loss, _STEEP)
    above = far + np.log(share + (1 - share) * np.exp(-far))
    return np.where(loss > _STEEP, above, np.where(loss < -1.0, below, middle))


def share(weight: float, loss: Array, log_mixed: Array) -> Array:
    """Return w e^loss/(1 - w + w e^loss), the derivative of log(1 - w + w e^loss)."""
    return weight * np.exp(np.minimum(loss - log_mixed, -np.log(weight) if weight > 0 else 0.0))


def exponents(weight: float, power: float) -> tuple[float, float]:
    """Return the range of power * share over all losses."""
    return (0.0, 0.0) if weight == 0 else (power, power) if weight == 1 else (min(power, 0.0), max(power, 0.0))
