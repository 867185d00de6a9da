"""The result of a limit theorem without an error bound: a curve of estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, limited
from tradeoff.curves.parameters import Number, Numbers
from tradeoff.errors import KindError
from tradeoff.operators.unary import assumed


@dataclass(frozen=True)
class ApproximateCurve:
    """Estimate of a trade-off function, on neither side of the truth.

    It has ``curve(alpha)``, ``delta(epsilon)`` and ``epsilon(delta)`` only. Products, powers, orders,
    symmetrisation and filters raise ``KindError``, a ``TypeError``: an estimate guarantees nothing.

    Parameters
    ----------
    shape
        The trade-off function used as the estimate.
    name
        Name of the method.
    source
        Paper and number of the theorem.
    hypotheses
        Limits under which the estimate becomes exact.
    of
        The curve that is approximated, if there is one.
    mu
        The estimate's Gaussian parameter, if its shape is a G_mu up to masses at infinity.

    Examples
    --------
    >>> import tradeoff as to
    >>> estimate = to.limits.clt(to.Laplace(0.1) ** 400)
    >>> estimate
    ≈ G_{1.96878} by CLT
    >>> estimate @ to.Gaussian(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tradeoff.errors.KindError: ...
    """

    shape: TradeOff
    name: str
    source: str
    hypotheses: tuple[str, ...] = ()
    of: TradeOff | None = None
    mu: float | None = None

    def __call__(self, alpha: Number | Numbers) -> Any:
        """Estimate f(alpha) for alpha in [0, 1]: neither a lower nor an upper bound."""
        return self.shape(alpha)

    def delta(self, epsilon: Number | Numbers) -> Any:
        """Estimate delta(epsilon), epsilon in nats."""
        return self.shape.delta(epsilon)

    def epsilon(self, delta: Number | Numbers) -> Any:
        """Estimate epsilon(delta), in nats."""
        return self.shape.epsilon(delta)

    @property
    def symmetric(self) -> bool:
        """Whether the estimate is the same for both orders of the pair."""
        return self.shape.symmetric

    def trusted(self) -> TradeOff:
        """Return the estimate as an ordinary curve; the caller vouches for its error."""
        return limited(assumed(self.shape, self.of.assumptions) if self.of else self.shape, BOUND)

    def envelope(self, of: TradeOff) -> ApproximateCurve:
        """Return the estimate for ``of``, the either-order envelope of the curve approximated here."""
        return replace(self, shape=self.shape.symmetrise(assume="either-order"), of=of)

    def _refuse(self, *_: object) -> NoReturn:
        raise KindError(
            f"the {self.name}'s curve is an estimate that can under-report privacy loss, so it enters no "
            "product, order or filter; use the exact curve for the certified number (its delta, epsilon and "
            "bounds), or take .trusted() at your own risk"
        )

    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __ge__ = __le__ = __gt__ = __lt__ = __invert__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        # Other methods of curves and mechanisms get the same explanation.
        if not name.startswith("_") and (name in {"curve", "gdp"} or hasattr(TradeOff, name)):
            self._refuse()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"≈ {self.shape!r} by {self.name}"
