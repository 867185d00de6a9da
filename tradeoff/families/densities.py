"""Pairs of continuous laws on the line: their curve, of densities or of frozen distributions of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.derived import beta_from_delta
from tradeoff.curves.parameters import number, reals
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Bounds, Pair
from tradeoff.intervals.functions import exp, expm1, where
from tradeoff.intervals.rounding import Array
from tradeoff.pld.real_line import (
    CLOSEST,
    LEAST_LOG,
    PROBES,
    REACH,
    TRUST,
    Density,
    Pieces,
    RealLineLaw,
    find_pieces,
)

FOREIGN = "own "  # prefix of the names of users' own laws: SciPy's names have no space

# Methods that a frozen law shares with its generator, unless it was patched.
_METHODS = frozenset({"pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "support"})

_DEEP = -750.0  # no float has a logarithm below this
_PLAIN = {"loc": 0.0, "scale": 1.0}
Arguments = tuple[tuple[str, float], ...]  # parameters by name, location and scale among them

_FARTHEST = 1e6  # largest loss with a lower bound of its own; mass at infinity bounds delta above it


class RealLinePair(TradeOff):
    """T(P, Q) of two laws on the line, from the law of L in pieces on which it is monotone.

    Pairs of one ``key`` are equal; ``symmetric`` states that both orders have one curve.
    """

    assumptions: tuple[str, ...] = ()
    symmetric: bool = False

    def __init__(
        self,
        law: RealLineLaw,
        name: str,
        key: Hashable,
        assumptions: tuple[str, ...],
        *,
        symmetric: bool = False,
    ) -> None:
        self._law, self.name, self.key = law, name, key
        self.assumptions, self.symmetric = assumptions, symmetric
        self._origin: RealLinePair | None = None

    @cached_property
    def _other(self) -> RealLineLaw:
        return self._law.reversed()

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        size, lower, upper = np.minimum(np.abs(epsilon), _FARTHEST), *np.zeros((2, len(epsilon)))
        for law, chosen in ((self._law, epsilon >= 0), (self._other, epsilon < 0)):
            if chosen.any():
                lower[chosen], upper[chosen] = law.tail(size[chosen])
        lower = np.where(np.abs(epsilon) > _FARTHEST, 0.0, lower)
        # delta(-eps) = 1 - e^-eps + e^-eps delta(eps) of the other order.
        below = np.minimum(epsilon, 0.0)
        low, most = where(
            epsilon >= 0, Bounds(lower, upper), exp(below) * Bounds(lower, upper) - expm1(below)
        )
        lost, far = self.mass_at_infinity, epsilon >= self.sup_loss
        return np.maximum(low, lost.lower), np.where(far, np.minimum(most, lost.upper), most)

    def beta_bounds(self, alpha: Array, tol: float | None) -> Pair:
        return beta_from_delta(self, alpha, tol)

    @property
    def mass_at_plus_infinity(self) -> float:
        return float(self.mass_at_infinity.upper)

    @property
    def mass_at_minus_infinity(self) -> float:
        return float(self._other.mass_at_infinity.upper)

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._law.mass_at_infinity

    @property
    def sup_loss(self) -> float:
        return float(self._law.sup_loss.upper)

    @property
    def sup_loss_lower(self) -> float:
        return float(self._law.sup_loss.lower)

    def inverse(self) -> TradeOff:
        if self.symmetric:
            return self
        other = RealLinePair(self._other, f"inverse({self.name})", ("inverse", self.key), self.assumptions)
        other._origin = self
        return self._origin or other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RealLinePair) and (self.key, self.assumptions) == (
            other.key,
            other.assumptions,
        )

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def notation(self) -> str:
        return self.name


def from_densities(
    p: Callable[[Array], Any],
    q: Callable[[Array], Any],
    breaks: Sequence[float] | None = None,
    support: tuple[float, float] | None = None,
) -> TradeOff:
    """Return the trade-off function T(P, Q) of two laws on the line, given by their densities.

    Parameters
    ----------
    p, q
        Densities (not logarithms): functions that take an array and return one value >= 0 for each entry, and
        that do not change afterwards. Each must integrate to 1 within 1e-9, and is divided by its integral.
    breaks
        Points between which log(q/p) is monotone and both densities are smooth; default: located by scanning.
    support
        Interval outside which both densities are zero; default: the whole line.

    Returns
    -------
    TradeOff
        A curve with ``assumptions``, under which its bounds hold. They are usually 1e-11 apart.

    Notes
    -----
    Between its breaks L = log(q/p) crosses each loss once, so that {L >= t}, the optimal test (Neyman,
    Pearson 1933), is a union of intervals; adaptive quadrature gives their masses.

    Examples
    --------
    >>> import numpy as np
    >>> f = from_densities(lambda x: np.exp(-abs(x)) / 2, lambda x: np.exp(-abs(x - 1)) / 2, breaks=[0, 1])
    >>> round(f.delta(0.5), 9), len(f.assumptions)
    (0.221199217, 2)
    """
    places = None if breaks is None else check_breaks(breaks)
    ends = (-np.inf, np.inf) if support is None else _check_support(support)
    laws = [
        Density(_check_density(density, name), name, ends, cuts=places or (), least_log=LEAST_LOG)
        for name, density in (("p", p), ("q", q))
    ]
    result = find_pieces(laws[0], laws[1], places)
    trust = (
        f"p and q are right to a share of {TRUST:g}, smooth where the quadrature found them so, and 0 where "
        "they return 0."
    )
    names = (str(getattr(each, "__name__", type(each).__name__)) for each in (p, q))
    key = (p, laws[0].mass.tobytes(), q, laws[1].mass.tobytes(), tuple(places or ()), ends)
    words = (trust, *describe_totals(laws), describe_pieces(result, breaks))
    return RealLinePair(result.law, f"T({', '.join(names)})", key, words)


def _check_density(density: Callable[[Array], Any], name: str) -> Callable[[Array], Array]:
    """Return the logarithm of a user's density, which checks its values."""
    if not (callable(density) and isinstance(density, Hashable)):  # curves are compared by its hash
        raise DomainError(
            f"{name} must be a function, got {shown(density)}; give a density that takes an array, "
            "or two laws of scipy.stats to from_scipy"
        )

    def log_density(x: Array) -> Array:
        with np.errstate(all="ignore"):
            result = density(x)
        try:
            value = np.asarray(result, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise DomainError(f"{name} must return real numbers, got {shown(result)}") from error
        if value.shape != x.shape:
            raise DomainError(
                f"{name} must return one value for each of {x.size} points, got {shown(value)}; "
                "give a function that takes an array"
            )
        wrong = ~(value >= 0)
        if wrong.any():
            at, y = x[wrong][0], value[wrong][0]
            raise DomainError(
                f"{name} must be in [0, inf), got {y} at {at:.6g}; give a support without the point"
            )
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(value))

    return log_density


def describe_totals(laws: Sequence[Density]) -> list[str]:
    """Return an assumption for each density that is divided by an integral other than 1."""
    return [
        f"{law.name} integrates to 1 {law.total - 1:+.2g}, taken for the error of a constant."
        for law in laws
        if abs(law.total - 1) > TRUST
    ]


def describe_pieces(pieces: Pieces, breaks: Sequence[float] | None, loc: float = 0.0) -> str:
    """Return the assumption that the log ratio has no other turning points."""
    places = ", ".join(f"{loc + x:.6g}" for x in pieces.turns) or "none"
    how = "found among" if breaks is None else "given, and checked at"
    return (
        f"log(q/p) turns only at these points: {places}; they were {how} {pieces.looked} points, and beyond "
        f"{REACH:.2g} and within {CLOSEST:.2g} of 0 densities go on as in the octaves before."
    )


def check_breaks(places: Any) -> list[float]:
    """Return finite numbers, sorted."""
    result = reals("breaks", places)
    if result.ndim != 1 or not np.isfinite(result).all():
        raise DomainError(f"breaks must be a list of finite numbers, got {shown(places)}")
    return sorted(result.tolist())


def _check_support(support: Any) -> tuple[float, float]:
    result = reals("support", support)
    if result.shape != (2,) or not result[0] < result[1] or result[0] >= REACH or result[1] <= -REACH:
        raise DomainError(
            f"support must be two increasing numbers with a point within {REACH:.2g} between, "
            f"got {shown(support)}"
        )
    return float(result[0]), float(result[1])


class ScipyLaw:
    """A frozen continuous distribution of ``scipy.stats``, with its name and its arguments."""

    def __init__(self, distribution: Any, role: str = "distribution", origin: Any = None) -> None:
        self.name, self.arguments = identify(distribution, role)
        self.origin, self.values = origin or distribution.dist, dict(self.arguments)
        self.distribution = self.origin(**self.values)  # which the caller cannot change
        low, high = map(float, self.distribution.support())
        if not low < high:  # NaN, which SciPy answers instead of refusing shapes
            raise DomainError(f"{self} must have shape parameters in range, got the support ({low}, {high})")
        self.support = low, high

    @cached_property
    def bins(self) -> tuple[list[float], list[float], bool] | None:
        """Edges and heights of a histogram, and whether these are densities; None of another law."""
        import scipy.stats

        if type(self.origin) is not scipy.stats.rv_histogram:
            return None
        heights, edges = (np.asarray(each).tolist() for each in vars(self.origin)["_histogram"])
        rising = np.isfinite(edges).all() and all(low < high for low, high in pairwise(edges))
        if not (rising and all(0 <= height < np.inf for height in heights) and any(heights)):
            raise DomainError(
                f"{self} must have increasing edges, and counts of at least 0, not all of them 0, "
                f"got {shown(vars(self.origin)['_histogram'])}"
            )
        density, widths = vars(self.origin)["_density"], np.diff(edges)
        return edges, heights, not np.allclose(widths, widths[0]) if density is None else bool(density)

    @cached_property
    def density(self) -> Density:
        """The law as a density that is integrated."""
        loc, scale = self.values["loc"], self.values["scale"]
        cuts = [loc + scale * edge for edge in self.bins[0]] if self.bins else []
        centres = [(loc, scale), *((end, scale) for end in self.support if np.isfinite(end))]
        with np.errstate(all="ignore"):
            low, middle, high = map(float, self.distribution.ppf([0.25, 0.5, 0.75]))
        if np.isfinite([low, middle, high]).all():
            centres.append((middle, high - low))
        plain = self.bins[0] if self.bins else self.origin(**{**self.values, **_PLAIN}).support()
        exact = {Fraction(loc) + Fraction(scale) * Fraction(float(x)) for x in plain if np.isfinite(x)}
        rounded = [end for end in (*self.support, *cuts) if np.isfinite(end) and Fraction(end) not in exact]
        # Some logarithms are taken of a density that underflows, and are -inf too early.
        probes = loc + scale * np.append(-PROBES, PROBES)
        logs = self._log_density(probes[(probes > self.support[0]) & (probes < self.support[1])])
        underflows = np.isneginf(logs).any() and np.min(logs, initial=0.0, where=np.isfinite(logs)) > _DEEP
        least = LEAST_LOG if underflows else -np.inf
        return Density(
            self._log_density, str(self), self.support, centres, cuts, rounded=rounded, least_log=least
        )

    def _log_density(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(self.distribution.logpdf(x), dtype=float)

    @property
    def trust(self) -> str:
        """Assumption on SciPy's density."""
        return f"SciPy's logpdf of {self} is right to {TRUST:g}."

    @property
    def key(self) -> tuple[object, ...]:
        """Name and arguments; of a law that is not SciPy's the generator, and its integrals."""
        if not self.name.startswith(FOREIGN):
            return self.name, self.arguments
        return self.origin, self.arguments, self.density.mass.tobytes()

    def at(self, loc: float) -> ScipyLaw:
        """Return the law at another location."""
        return ScipyLaw(self.origin(**{**self.values, "loc": loc}), origin=self.origin)

    def __str__(self) -> str:
        return format_law(self.name, self.arguments)


def format_law(name: str, arguments: Arguments) -> str:
    """Format a law with the arguments that are not the default ones."""
    each = ", ".join(f"{key}={value:.6g}" for key, value in arguments if value != _PLAIN.get(key))
    return f"{name}({each})" if each else name


def identify(distribution: Any, role: str = "distribution") -> tuple[str, Arguments]:
    """Return the name of a frozen SciPy distribution and its arguments, defaults included.

    The name of a user's own law has a prefix, as it may be that of one of SciPy's.
    """
    import scipy.stats

    if not (hasattr(distribution, "dist") and hasattr(distribution, "logpdf")):
        kind = "frozen continuous distribution of scipy.stats, such as norm(scale=2)"
        raise DomainError(f"{role} must be a {kind}, got {shown(distribution)}")
    if type(distribution) is not type(scipy.stats.norm()) or vars(distribution).keys() & _METHODS:
        raise DomainError(
            f"{role} must have no methods or settings of its own, got {shown(distribution)}; "
            "give its densities to from_densities"
        )
    generator = distribution.dist
    shapes = [name.strip() for name in (generator.shapes or "").split(",") if name.strip()]
    values: dict[str, Any] = {
        **_PLAIN,
        **dict(zip([*shapes, "loc", "scale"], distribution.args, strict=False)),
    }
    values.update(distribution.kwds)
    try:
        result = {name: float(value) for name, value in values.items()}
    except (TypeError, ValueError, OverflowError) as error:
        raise DomainError(
            f"parameters of {generator.name} must be single numbers, got {shown(values)}"
        ) from error
    number(f"loc of {generator.name}", result["loc"], open_low=True, open_high=True)
    number(f"scale of {generator.name}", result["scale"], 0, open_low=True, open_high=True)
    same: Any = getattr(scipy.stats, generator.name, None)
    ours = type(generator) is type(same) and (generator.a, generator.b) == (same.a, same.b)
    return str(generator.name) if ours else FOREIGN + str(generator.name), tuple(sorted(result.items()))
