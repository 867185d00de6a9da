"""Frozen distributions of SciPy, as the two sides of a pair."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.curves.parameters import number
from tradeoff.errors import DomainError, shown
from tradeoff.intervals.rounding import Array
from tradeoff.pld.density import LEAST_LOG, PROBES, TRUST, Density

FOREIGN = "own "  # what the name of a law begins with that is not SciPy's: no name of SciPy's has a space

# Methods that a frozen law shares with its generator, unless it was patched.
_METHODS = frozenset({"pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "support"})

_DEEP = -750.0  # no float has a logarithm below this
_PLAIN = {"loc": 0.0, "scale": 1.0}
Arguments = tuple[tuple[str, float], ...]  # parameters by name, location and scale among them


class ScipyLaw:
    """A frozen continuous distribution of ``scipy.stats``, with its name and its arguments."""

    def __init__(self, distribution: Any, role: str = "distribution", origin: Any = None) -> None:
        self.name, self.arguments = identify(distribution, role)
        self.origin, self.values = origin or distribution.dist, dict(self.arguments)
        self.distribution = self.origin(**self.values)  # which the caller cannot change
        low, high = map(float, self.distribution.support())
        if not low < high:  # NaN, which SciPy answers instead of refusing shapes
            raise DomainError(f"{self} must have shapes in their range, got the support ({low}, {high})")
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
        # Some logarithms are those of a density that underflows, and are not known below the floats.
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
        """What is assumed of SciPy."""
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
