"""Frozen distributions of SciPy, as the two sides of a pair."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tradeoff.errors import DomainError, shown
from tradeoff.intervals.rounding import Array
from tradeoff.loss.line import REACH, TRUST

_LEAST_TAIL = 1e-290
"""Tails are followed down to here; below, SciPy's quantiles lose their digits to subnormal numbers."""

_QUANTILES = 600
"""Quantiles of each tail at which a law is looked at: about two for each power of ten."""

FOREIGN = "own "
"""What the name of a law begins with that is not SciPy's: no name of SciPy's has a space."""

_ANSWERS = frozenset({"pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "support"})
"""Methods that a frozen law shares with its generator, unless someone puts others in their place."""

Arguments = tuple[tuple[str, float], ...]
"""Parameters by name, location and scale among them."""


class Frozen:
    """A frozen continuous distribution of ``scipy.stats``, with its name and its arguments."""

    def __init__(self, distribution: Any, name: str = "distribution", origin: object = None) -> None:
        self.name, self.arguments = identify(distribution, name)
        self.distribution = distribution.dist(**dict(self.arguments))  # which nobody else can change
        self._origin = origin or distribution.dist
        own = self.distribution
        self.cdf, self.sf = own.cdf, own.sf
        if not self.support[0] <= self.support[1]:  # NaN, which SciPy answers instead of refusing shapes
            raise DomainError(f"{self} is no law: its support is {self.support}; give shapes in their range")

    def logpdf(self, x: Array) -> Array:
        """Log-density; SciPy's looks at (x - loc)/scale, which may round into the support."""
        inside = (x >= self.support[0]) & (x <= self.support[1])
        return np.where(inside, self.distribution.logpdf(x), -np.inf)

    @cached_property
    def support(self) -> tuple[float, float]:
        """Ends of the support."""
        low, high = self.distribution.support()
        return float(low), float(high)

    @cached_property
    def rounded(self) -> tuple[float, ...]:
        """Ends of the support that are no floats: loc + scale x, x the end of the law at 0 and of scale 1."""
        values = dict(self.arguments)
        plain = self.distribution.dist(**{**values, "loc": 0.0, "scale": 1.0}).support()
        ends = [(float(x), end) for x, end in zip(plain, self.support, strict=True) if np.isfinite(end)]
        loc, scale = Fraction(values["loc"]), Fraction(values["scale"])
        return tuple(end for x, end in ends if loc + scale * Fraction(x) != Fraction(end))

    @cached_property
    def points(self) -> Array:
        """Points that are dense wherever the law has mass, and reach to where it has next to none."""
        tail = np.geomspace(_LEAST_TAIL, 0.5, _QUANTILES)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of quantiles that SciPy does not find, which are left out
            try:
                tails = [quantile(tail) for quantile in (self.distribution.ppf, self.distribution.isf)]
            except (ValueError, RuntimeError) as error:  # of SciPy's search in a cdf by quadrature
                said = str(error).rstrip(".")
                raise DomainError(
                    f"SciPy finds no quantiles of {self}: {said}; give its law a _ppf and an _isf"
                ) from error
        found = np.concatenate([np.asarray(each, dtype=float) for each in tails])
        found = np.clip(found[np.isfinite(found)], -REACH, REACH)
        low, high = (float(x) for x in np.quantile(found, [0.25, 0.75]))
        return np.unique(np.concatenate([found, np.linspace(low, high, _QUANTILES)]))

    @property
    def trust(self) -> str:
        """What is assumed of SciPy."""
        return f"SciPy knows cdf and sf of {self} to a share of {TRUST:g}, and logpdf to {TRUST:g}."

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Name and arguments; of a law that is not SciPy's the object given, and what its cdf was."""
        if not self.name.startswith(FOREIGN):
            return self.name, self.arguments
        return self._origin, self.arguments, self.cdf(self.points).tobytes()

    def shifted(self, shift: float) -> Frozen:
        """Return the law of X + shift for X at location 0."""
        values = {**dict(self.arguments), "loc": shift}
        return Frozen(self.distribution.dist(**values), origin=self._origin)

    def __str__(self) -> str:
        return told(self.name, self.arguments)


def told(name: str, arguments: Arguments) -> str:
    """Write a law with the arguments that are not the usual ones."""
    plain = {"loc": 0.0, "scale": 1.0}
    each = ", ".join(f"{key}={value:.6g}" for key, value in arguments if value != plain.get(key))
    return f"{name}({each})" if each else name


def looked_at(p: Frozen, q: Frozen) -> Array:
    """Return the points of both laws; of a tail that both have, up to where the first density underflows."""
    x = np.union1d(p.points, q.points)
    with np.errstate(all="ignore"):
        seen = np.flatnonzero((p.logpdf(x) > -np.inf) & (q.logpdf(x) > -np.inf))
    if len(seen) == 0:
        return x
    first = seen[0] if p.support[0] == q.support[0] == -np.inf else 0
    last = seen[-1] if p.support[1] == q.support[1] == np.inf else len(x)
    return np.asarray(x[first : last + 1])


def identify(distribution: Any, role: str = "distribution") -> tuple[str, Arguments]:
    """Return the name of a frozen SciPy distribution and its arguments, defaults included.

    A user's own law may be called as one of SciPy's, and all that are called nothing are "Distribution": its
    name is set apart.
    """
    if not (hasattr(distribution, "dist") and hasattr(distribution, "logpdf")):
        raise DomainError(
            f"{role} = {shown(distribution)} is not a frozen continuous distribution of "
            "scipy.stats, such as norm(scale=2)"
        )
    _refuse_changed(distribution, role)
    generator = distribution.dist
    shapes = [name.strip() for name in (generator.shapes or "").split(",") if name.strip()]
    values = {"loc": 0.0, "scale": 1.0}
    values.update(zip([*shapes, "loc", "scale"], distribution.args, strict=False))
    values.update(distribution.kwds)
    try:
        found = {name: float(value) for name, value in values.items()}
    except TypeError as error:
        raise DomainError(f"{generator.name}: parameters must be single numbers, not arrays") from error
    if not (np.isfinite(found["loc"]) and 0 < found["scale"] < np.inf):
        given = f"loc = {found['loc']}, scale = {found['scale']}"
        raise DomainError(f"{generator.name}: {given} is outside the reals and (0, inf)")
    return _name(generator), tuple(sorted(found.items()))


def _refuse_changed(distribution: Any, role: str) -> None:
    """Refuse what a name, a generator and arguments do not tell: methods of its own, a parameterization."""
    import scipy.stats

    if type(distribution) is not type(scipy.stats.norm()) or vars(distribution).keys() & _ANSWERS:
        raise DomainError(
            f"{role} = {shown(distribution)} has methods or settings of its own beside those of its law; "
            "give its densities to from_densities"
        )


def _name(generator: Any) -> str:
    import scipy.stats

    same: Any = getattr(scipy.stats, generator.name, None)
    ours = type(generator) is type(same) and (generator.a, generator.b) == (same.a, same.b)
    return str(generator.name) if ours else FOREIGN + str(generator.name)
