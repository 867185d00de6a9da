"""Pairs of continuous laws on the line: their curve, of densities or of frozen distributions of SciPy.

A ``Density`` is a law whose logarithmic density is integrated, a ``RealLineLaw`` the law of L = log(q/p) of
two of them, in pieces of the line on which L is monotone. Bounds rest on the sentences in ``assumptions``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import number, reals
from tradeoff.errors import DomainError, domain, shown
from tradeoff.intervals.bounds import Array, Bounds, Pair
from tradeoff.pld.real_line import CLOSEST, LEAST_LOG, PROBES, REACH, TRUST, Density, RealLineLaw, find_pieces

_PLAIN = {"loc": 0.0, "scale": 1.0}
Arguments = tuple[tuple[str, float], ...]  # (name, value) of shapes, location and scale


@dataclass(frozen=True, repr=False, eq=False)
class RealLinePair(TradeOff):
    """T(P, Q) of two laws on the line, from the law of L in pieces on which it is monotone.

    ``pair`` identifies the two laws: curves with one are equal, unless ``flipped``, T(Q, P), differs.
    ``symmetric`` states that both orders have one curve.
    """

    _law: RealLineLaw
    name: str
    pair: Hashable
    assumptions: tuple[str, ...] = ()
    symmetric: bool = False
    flipped: bool = False

    def delta_bounds(self, epsilon: Array, tol: float | None) -> Pair:
        most = 1e6  # largest loss with a lower bound of its own; mass at infinity bounds delta above it
        (low, high), positive = np.zeros((2, len(epsilon))), epsilon >= 0
        if positive.any():
            low[positive], high[positive] = self._law.tail(np.minimum(epsilon[positive], most))
        low[epsilon > most] = 0.0
        if not positive.all():
            low[~positive], high[~positive] = self.inverse().inverse_delta(epsilon[~positive])
        lost = self.mass_at_infinity
        high = np.where(epsilon >= self.sup_loss, np.minimum(high, lost.upper), high)
        return np.maximum(low, lost.lower), high

    @property
    def mass_at_infinity(self) -> Bounds[float]:
        return self._law.mass_at_infinity

    @property
    def loss_bounds(self) -> Bounds[float]:
        return self._law.sup_loss

    def inverse(self) -> TradeOff:
        return self if self.symmetric else self._inverse

    @cached_property
    def _inverse(self) -> TradeOff:
        """The other order, cached: a table of divergences needs its whole curve at every order."""
        law = self._law.reversed()
        return RealLinePair(law, self.name, self.pair, self.assumptions, flipped=not self.flipped)

    def _key(self) -> tuple[Hashable, ...]:
        return self.pair, self.flipped, self.assumptions

    @property
    def notation(self) -> str:
        return f"inverse({self.name})" if self.flipped else self.name


def from_densities(
    p: Callable[[Array], Any],
    q: Callable[[Array], Any],
    breaks: Sequence[float] | None = None,
    support: tuple[float, float] | None = None,
) -> TradeOff:
    r"""Return the trade-off function T(P, Q) of two laws on the line, given by their densities.

    Parameters
    ----------
    p, q
        Densities (not logarithms): functions that take an array and return one value >= 0 for each entry, and
        that do not change afterwards. Each must integrate to 1 within 1e-9, and is divided by its integral.
    breaks
        Points between which :math:`\log(q/p)` is monotone and both densities are smooth; default: located by
        scanning.
    support
        Interval outside which both densities are zero; default: the whole line.

    Returns
    -------
    TradeOff
        A curve with ``assumptions``, under which its bounds hold. They are usually 1e-11 apart.

    Notes
    -----
    Between its breaks :math:`L = \log(q/p)` crosses each loss once, so that :math:`\{L \ge t\}`, the optimal
    test (Neyman, Pearson 1933), is a union of intervals; adaptive quadrature gives their masses.

    Examples
    --------
    >>> import numpy as np
    >>> f = from_densities(lambda x: np.exp(-abs(x)) / 2, lambda x: np.exp(-abs(x - 1)) / 2, breaks=[0, 1])
    >>> round(f.delta(0.5), 9), len(f.assumptions)
    (0.221199217, 2)
    """
    places = None if breaks is None else check_breaks(breaks)
    ends = (-np.inf, np.inf)
    if support is not None:
        given = reals("support", support)
        if given.shape != (2,) or not given[0] < given[1] or given[0] >= REACH or given[1] <= -REACH:
            allowed = f"two increasing numbers with a point within {REACH:.2g} between"
            raise domain("support", support, allowed)
        ends = float(given[0]), float(given[1])
    laws = []
    for name, density in (("p", p), ("q", q)):
        if not (callable(density) and isinstance(density, Hashable)):  # curves are compared by its hash
            remedy = "give a density that takes an array, or two laws of scipy.stats to from_scipy"
            raise domain(name, density, "a function", remedy)
        log_density = partial(_log_density, density, name)  # not a local function, which cannot be pickled
        laws.append(Density(log_density, name, ends, cuts=places or (), least_log=LEAST_LOG))
    result = find_pieces(laws[0], laws[1], places)
    trust = (
        f"p and q are right to a share of {TRUST:g}, smooth where their quadrature converges, and 0 where "
        "they return 0."
    )
    names = (str(getattr(each, "__name__", type(each).__name__)) for each in (p, q))
    key = (p, laws[0].mass.tobytes(), q, laws[1].mass.tobytes(), tuple(places or ()), ends)
    words = (trust, *describe_totals(laws), describe_pieces(result, breaks))
    return RealLinePair(result, f"T({', '.join(names)})", key, words)


def _log_density(density: Callable[[Array], Any], name: str, x: Array) -> Array:
    """Return the logarithm of a user's density, and check its values."""
    with np.errstate(all="ignore"):
        try:
            value = reals(f"{name}(x)", density(x))
        except TypeError as error:  # of functions of module math
            raise DomainError(f"{name} must take an array, got {error}; use NumPy") from error
    if value.shape != x.shape:
        raise DomainError(
            f"{name} must return one value for each of {x.size} points, got {shown(value)}; "
            "give a function that takes an array"
        )
    wrong = ~(value >= 0)
    if wrong.any():
        at, y = x[wrong][0], value[wrong][0]
        remedy = "give a density, not its logarithm" if y < 0 else "give a support without the point"
        raise DomainError(f"{name} must be in [0, inf), got {y} at {at:.6g}; {remedy}")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(value))


def describe_totals(laws: Sequence[Density]) -> list[str]:
    """Return an assumption for each density that is divided by an integral other than 1."""
    return [
        f"{law.name} integrates to 1 {law.total - 1:+.2g}, taken for the error of a constant: "
        "if a peak was missed instead, delta is too small by its mass."
        for law in laws
        if abs(law.total - 1) > TRUST
    ]


def describe_pieces(law: RealLineLaw, breaks: Sequence[float] | None, loc: float = 0.0) -> str:
    """Return the assumption that log(q/p) has no other extrema; places are printed relative to -``loc``."""
    places = ", ".join(f"{loc + x:.6g}" for x in law.extrema) or "none"
    how = "located among" if breaks is None else "given, and checked at"
    return (
        f"log(q/p) has no extrema but these: {places}; they were {how} {law.evaluated} points, and outside "
        f"{REACH:.2g} and within {CLOSEST:.2g} of 0 densities go on as in the octaves before."
    )


def check_breaks(places: Any) -> list[float]:
    """Return finite numbers, sorted."""
    result = reals("breaks", places)
    if result.ndim != 1 or not np.isfinite(result).all():
        raise domain("breaks", places, "a list of finite numbers")
    return sorted(result.tolist())


class ScipyLaw:
    """A frozen continuous distribution of ``scipy.stats``; ``values`` are its arguments by name."""

    def __init__(self, distribution: Any, role: str = "distribution") -> None:
        self.name, self.arguments = identify(distribution, role)
        self.origin, self.values = distribution.dist, dict(self.arguments)
        self.distribution = self.origin(**self.values)  # which the caller cannot change
        low, high = map(float, self.distribution.support())
        if not low < high:  # NaN, which SciPy answers instead of refusing shapes
            raise DomainError(f"{self} must have shape parameters in range, got the support ({low}, {high})")
        self.support = low, high

    @cached_property
    def steps(self) -> tuple[list[Fraction], list[Fraction]]:
        """Edges, and the masses between, which add to 1, of ``uniform`` and histograms; else empty lists."""
        import scipy.stats

        edges, heights, is_density = [0.0, 1.0], [1.0], False
        if isinstance(self.origin, scipy.stats.rv_histogram):
            heights, edges = (np.asarray(each).tolist() for each in vars(self.origin)["_histogram"])
            rising = np.isfinite(edges).all() and all(low < high for low, high in pairwise(edges))
            if not (rising and all(0 <= height < np.inf for height in heights) and any(heights)):
                raise DomainError(
                    f"{self} must have increasing edges, and counts of at least 0, not all of them 0, "
                    f"got {shown(vars(self.origin)['_histogram'])}"
                )
            density, widths = vars(self.origin)["_density"], np.diff(edges)
            # heights per length, by SciPy's own rule
            is_density = not np.allclose(widths, widths[0]) if density is None else bool(density)
        elif self.name != "uniform":
            return [], []
        loc, scale = Fraction(self.values["loc"]), Fraction(self.values["scale"])
        places = [loc + scale * Fraction(edge) for edge in edges]
        sizes = (high - low if is_density else 1 for low, high in pairwise(places))
        masses = [Fraction(height) * size for height, size in zip(heights, sizes, strict=True)]
        total = sum(masses)
        return places, [mass / total for mass in masses]

    @cached_property
    def density(self) -> Density:
        """The law as a density that is integrated, finest about ``centres`` of (location, scale)."""
        loc, scale = self.values["loc"], self.values["scale"]
        cuts = [*map(float, self.steps[0])]  # jumps
        centres = [(loc, scale), *((end, scale) for end in self.support if np.isfinite(end))]
        with np.errstate(all="ignore"):
            low, middle, high = map(float, self.distribution.ppf([0.25, 0.5, 0.75]))
        if np.isfinite([low, middle, high]).all():
            centres.append((middle, high - low))
        # Ends and jumps are known exactly where they are loc + scale x, x a float, and a float themselves.
        plain = self.origin(**{**self.values, **_PLAIN}).support()
        exact = {Fraction(loc) + Fraction(scale) * Fraction(float(x)) for x in plain if np.isfinite(x)}
        exact.update(self.steps[0])
        rounded = [end for end in (*self.support, *cuts) if np.isfinite(end) and Fraction(end) not in exact]
        # Some logarithms are taken of a density that underflows, and are -inf too early.
        probes = loc + scale * np.append(-PROBES, PROBES)
        logs = self._log_density(probes[(probes > self.support[0]) & (probes < self.support[1])])
        underflows = np.isneginf(logs).any() and np.min(logs, initial=0.0, where=np.isfinite(logs)) > -750.0
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
        """Name, arguments, and the bins of a histogram."""
        return self.name, self.arguments, str(self.steps)

    def at(self, loc: float) -> ScipyLaw:
        """Return the law at another location."""
        return ScipyLaw(self.origin(**{**self.values, "loc": loc}))

    def __str__(self) -> str:
        return format_law(self.name, self.arguments)


class NewScipyLaw(ScipyLaw):
    """A continuous distribution of SciPy's second kind, such as ``Normal`` or ``Mixture``."""

    def __init__(self, distribution: Any, role: str) -> None:
        self.distribution, self.values, self.arguments = distribution, {}, ()
        low, high = distribution.support()
        text = " ".join(str(distribution).split())
        self.name = text.replace("( [ ", "([").replace(", ], ", "], ").replace(", )", ")")
        if np.ndim(low) or not low < high:
            raise DomainError(f"{role} must be one law with parameters in range, got {shown(distribution)}")
        self.support = float(low), float(high)

    @cached_property
    def density(self) -> Density:
        """The law as a density that is integrated; its ends count as rounded."""
        parts = getattr(self.distribution, "components", [self.distribution])
        ends = {float(end) for part in parts for end in part.support() if np.isfinite(end)}
        with np.errstate(all="ignore"):
            quartiles = np.array([part.icdf([0.25, 0.5, 0.75]) for part in parts])
        spread = quartiles[:, 2] - quartiles[:, 0]
        centres = [*zip(quartiles[:, 1].tolist(), spread.tolist(), strict=True)]
        centres += [(end, float(np.max(spread))) for end in ends]
        return Density(self._log_density, self.name, self.support, centres, sorted(ends), rounded=[*ends])

    @property
    def key(self) -> tuple[object, ...]:
        return self.name, self.density.mass.tobytes()  # a printed array has not all its digits


def format_law(name: str, arguments: Arguments) -> str:
    """Format a law with the arguments that are not the default ones."""
    each = ", ".join(f"{key}={value:.6g}" for key, value in arguments if value != _PLAIN.get(key))
    return f"{name}({each})" if each else name


def identify(distribution: Any, role: str = "distribution") -> tuple[str, Arguments]:
    """Return the name of a frozen distribution of SciPy and its arguments, defaults included."""
    import scipy.stats

    if not (hasattr(distribution, "dist") and hasattr(distribution, "logpdf")):
        kind = "a frozen continuous distribution of scipy.stats, such as norm(scale=2)"
        raise domain(role, distribution, kind)
    generator = distribution.dist
    known: Any = getattr(scipy.stats, str(generator.name), None)
    # It may also be a law of the user's, of the same name.
    is_known = type(generator) is type(known) and (generator.a, generator.b) == (known.a, known.b)
    if type(distribution) is not type(scipy.stats.norm()) or not (
        is_known or isinstance(generator, scipy.stats.rv_histogram)
    ):
        kind, remedy = (
            "a law of scipy.stats without settings of its own",
            "give its densities to from_densities",
        )
        raise domain(role, distribution, kind, remedy)
    shapes = [name.strip() for name in (generator.shapes or "").split(",") if name.strip()]
    given = dict(zip([*shapes, "loc", "scale"], distribution.args, strict=False))
    values: dict[str, Any] = {**_PLAIN, **given, **distribution.kwds}
    result = {name: number(f"{name} of {generator.name}", value) for name, value in values.items()}
    number(f"loc of {generator.name}", result["loc"], open_low=True, open_high=True)
    number(f"scale of {generator.name}", result["scale"], 0, open_low=True, open_high=True)
    return str(generator.name if is_known else "rv_histogram"), tuple(sorted(result.items()))
