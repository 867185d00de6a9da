"""Questions to a curve with both sides of the answer: checked at the door, limited as asked, refused where too wide."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from tradeoff.composition.options import (
    MEMORY,
    METHODS,
    Method,
    Progress,
    QueryOptions,
    answering,
    query_options,
)
from tradeoff.curves.dispatch import operator
from tradeoff.curves.parameters import count, number, reals
from tradeoff.errors import DomainError, NoClosedForm, PrecisionError, domain, shown
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import clip
from tradeoff.intervals.rounding import Array

if TYPE_CHECKING:
    from tradeoff.curves.contract import TradeOff

MEGABYTE = 2**20
_MOST_JOBS = 1024
"""More workers than any machine has cores for; joblib would start them all."""


class How(TypedDict, total=False):
    """How a question is to be answered.

    ``method`` forces one engine ("closed-form", "exact", "lattice" or "contour"); ``memory`` is the most
    working memory in bytes, 1 GiB unless said; ``progress`` is called with (entries settled, entries asked); ``n_jobs``
    shares the factors of a product with very many distinct ones through joblib (None: as joblib is configured).
    """

    method: Method
    memory: int
    progress: Progress
    n_jobs: int | None


class Certified:
    """Questions to a curve with both sides of the answer.

    Each takes ``tol``, the width its bounds must reach (absolute for epsilon, relative for delta, and for beta relative to
    min(beta, 1 - alpha - beta)), and the keywords of ``How``. Without ``tol`` the answer is as good as a second or so allows.

    Examples
    --------
    >>> import tradeoff as to
    >>> f = to.Laplace(0.1) ** 100
    >>> f.bounds.epsilon(1e-5, tol=1e-7).width < 1e-7
    True
    >>> both = [to.Gaussian(1).bounds.delta(1.0, method=method) for method in ("lattice", "contour")]
    >>> all(to.Gaussian(1).delta(1.0) in bounds for bounds in both)
    True
    """

    __slots__ = ("_curve",)

    def __init__(self, curve: TradeOff) -> None:
        self._curve = curve

    def __call__(self, alpha: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Bounds:
        """Bound f(alpha)."""
        return self._ask("alpha", alpha, (0.0, 1.0), tol, how, "_beta")

    def delta(self, epsilon: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Bounds:
        """Bound delta(epsilon)."""
        return self._ask("epsilon", epsilon, (-np.inf, np.inf), tol, how, "_delta")

    def epsilon(self, delta: ArrayLike, *, tol: float | None = None, **how: Unpack[How]) -> Bounds:
        """Bound epsilon(delta)."""
        return self._ask("delta", delta, (0.0, 1.0), tol, how, "_epsilon")

    @staticmethod
    def _limits(how: How) -> QueryOptions:
        """Return the limits asked for, checked; a question inside a question inherits those it does not state."""
        asked: dict[str, Any] = {"jobs" if name == "n_jobs" else name: value for name, value in how.items()}
        method, progress, jobs = (asked.get(name) for name in ("method", "progress", "jobs"))
        if not (method is None or (isinstance(method, str) and method in METHODS)):
            moved = (
                "; saddle-point bounds are those of to.limits.saddle_point(f)"
                if method == "saddle-point"
                else ""
            )
            raise DomainError(f"method = {shown(method)} is none of {', '.join(METHODS)}{moved}")
        if asked.pop("memory", None) is not None:
            asked["memory"] = count("memory", how["memory"], 1)
            if asked["memory"] < MEGABYTE:
                raise DomainError(
                    f"memory = {asked['memory']} is below one MiB, {MEGABYTE} bytes; the usual is {MEMORY}"
                )
        if not (progress is None or callable(progress)):
            raise DomainError(
                f"progress = {shown(progress)} cannot be called; give a function of (settled, asked)"
            )
        if jobs is not None and count("n_jobs", jobs, -_MOST_JOBS, _MOST_JOBS) == 0:
            raise domain("n_jobs", jobs, "the integers but 0", "give how many workers, or -1 for one a core")
        return replace(query_options(), **asked)

    def _by_engine(self, method: str) -> Certified:
        """Return the questions to the same curve as an engine sees it, where it would answer by a closed form."""
        if method == "closed-form":
            if self._curve.composed:
                raise NoClosedForm(
                    f"{self._curve!r} has no closed form; leave method out, or force one of the engines"
                )
            return self
        return self if self._curve.composed else Certified(operator("by_engine")(self._curve))

    def _ask(
        self, name: str, value: ArrayLike, span: tuple[float, float], tol: float | None, how: How, hook: str
    ) -> Bounds:
        limits, method = self._limits(how), how.get("method")
        self._curve.require_numbers()
        tol = None if tol is None else number("tol", tol, 0, open_low=True)
        array = reals(name, value)
        flat = array.ravel()
        wrong = np.flatnonzero(~((flat >= span[0]) & (flat <= span[1])))
        if len(wrong):
            listed = ", ".join(
                f"{name}[{i}] = {flat[i]}" if array.ndim else f"{name} = {flat[i]}" for i in wrong[:5]
            )
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            raise DomainError(f"{listed}{more} outside [{span[0]:g}, {span[1]:g}]")
        asked = self if method is None else self._by_engine(method)
        with answering(limits):
            lower, upper = getattr(asked, hook)(flat, tol)
        if array.ndim == 0:
            return Bounds(float(lower[0]), float(upper[0]))
        return Bounds(lower.reshape(array.shape), upper.reshape(array.shape))

    def _beta(self, alpha: Array, tol: float | None) -> Pair:
        lower, upper = self._curve._beta(alpha, tol)  # noqa: SLF001 - the two classes are one contract
        upper = np.minimum(upper, 1 - alpha)  # 1 - alpha is exact or rounded to nearest, and f <= 1 - alpha
        upper = np.where(alpha > 0, np.nextafter(upper, 1.0), upper)
        lower, upper = np.clip(lower, 0.0, upper), np.clip(upper, 0.0, 1.0)
        first, last = alpha == 0, alpha == 1
        least, most = self._start()
        lower, upper = (
            np.where(first, np.maximum(lower, least), lower),
            np.where(first, np.minimum(upper, most), upper),
        )
        lower, upper = np.where(last, 0.0, np.minimum(lower, upper)), np.where(last, 0.0, upper)
        # The ends are known as well as floats say 1 - q, whatever is asked of them.
        scale = np.where(first | last, np.inf, np.minimum(upper, np.maximum(1 - alpha - lower, 0.0)))
        return _reached("alpha", alpha, lower, upper, tol, scale)

    def _start(self) -> Bounds:
        """Bound f(0) = 1 - Q(L = inf): exactly 1 where no loss is infinite."""
        return clip(1 - self._curve.mass_at_infinity, 0.0, 1.0)

    def _delta(self, epsilon: Array, tol: float | None) -> Pair:
        lower, upper = np.ones(len(epsilon)), np.ones(len(epsilon))
        top = epsilon == np.inf
        lower[top], upper[top] = clip(self._curve.mass_at_infinity, 0.0, 1.0)
        finite = np.isfinite(epsilon)
        if finite.any():
            low, high = self._curve._delta(epsilon[finite], tol)  # noqa: SLF001 - as above
            lower[finite], upper[finite] = np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
        return _reached("epsilon", epsilon, lower, upper, tol, upper)

    def _epsilon(self, delta: Array, tol: float | None) -> Pair:
        """Bound the least epsilon: infinite below Q(L = inf), sup L there, and unknown where floats cannot tell which."""
        leak, top = self._curve.mass_at_infinity, self._curve.sup_loss
        lower, upper = np.full(len(delta), -np.inf), np.full(len(delta), -np.inf)
        outside = (delta <= leak.upper) & (delta < 1)
        lower[outside] = np.where(
            delta[outside] < leak.lower, np.inf, self._curve.least_sup_loss if leak.width == 0 else -np.inf
        )
        upper[outside] = np.where(delta[outside] >= leak.upper, top, np.inf)
        inner = ~outside & (delta < 1)
        if inner.any():
            lower[inner], upper[inner] = self._curve._epsilon(delta[inner], tol)  # noqa: SLF001 - as above
            upper[inner] = np.minimum(upper[inner], top)
            unknown = np.flatnonzero(inner & np.isposinf(upper))
            if len(unknown):
                listed = ", ".join(f"{delta[i]:.3g}" for i in unknown[:5])
                raise PrecisionError(
                    f"no finite epsilon can be certified at delta = {listed}; ask a larger delta", np.inf
                )
        return _reached("delta", delta, lower, upper, tol, np.ones(len(delta)))


def _reached(name: str, at: Array, lower: Array, upper: Array, tol: float | None, scale: Array) -> Pair:
    """Return the bounds, or raise if some entry is wider than ``tol``."""
    if tol is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            width = np.where(lower == upper, 0.0, (upper - lower) / np.where(scale > 0, scale, 1.0))
        wide = np.flatnonzero(width > tol)
        if len(wide):
            worst = float(np.max(width))
            raise PrecisionError(
                f"tol = {tol:g} not reached at {name} = {at[wide[:5]].tolist()}; reachable here: {worst:.3g}",
                worst,
            )
    return lower, upper
