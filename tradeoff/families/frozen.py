"""Frozen distributions of SciPy, as the two sides of a pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tradeoff.errors import DomainError, shown
from tradeoff.intervals.bounds import Pair
from tradeoff.intervals.quadrature import applied, gauss_legendre
from tradeoff.intervals.rounding import UNIT, Array
from tradeoff.loss.line import REACH, TRUST

_LEAST_TAIL = 1e-290  # tails are followed down to here; below, SciPy's quantiles lose digits to subnormals
_QUANTILES = 600  # quantiles of each tail at which a law is looked at: about two for each power of ten

# Tails down to which cdf and sf are held against their density: what loses digits loses all above.
_LEAST_TOLD, _PANELS = 1e-24, 72

_NODES = 12  # nodes of a panel there: three panels a power of ten of a tail, on which densities are smooth
_BESIDE = 0.382  # where between two quantiles a point is looked at: at no simple share
_MOVED = 4 * UNIT  # share by which (x - loc)/scale may miss: two roundings, and room
_ROOM = 8.0  # by how much more than was seen a tail may err elsewhere
FOREIGN = "own "  # what the name of a law begins with that is not SciPy's: no name of SciPy's has a space

# Methods that a frozen law shares with its generator, unless someone puts others in their place.
_ANSWERS = frozenset({"pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf", "support"})

_PLAIN = {"loc": 0.0, "scale": 1.0}
Function = Callable[[Array], Any]
Arguments = tuple[tuple[str, float], ...]  # parameters by name, location and scale among them


class Frozen:
    """A frozen continuous distribution of ``scipy.stats``, with its name and its arguments."""

    fine = 1e-250  # where (x - loc)/scale has all its digits

    def __init__(self, distribution: Any, name: str = "distribution", origin: object = None) -> None:
        self.name, self.arguments = identify(distribution, name)
        made = deepcopy(distribution.dist) if _is_histogram(distribution) else distribution.dist
        self.distribution = made(**dict(self.arguments))  # which nobody else can change
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
        with np.errstate(over="ignore"):
            low, high = self.distribution.support()
        return float(low), float(high)

    @cached_property
    def bins(self) -> tuple[list[float], bool] | None:
        """What a histogram was given for its bins, and whether these are densities; None of another law."""
        if not _is_histogram(self.distribution):
            return None
        made = vars(self.distribution.dist)
        heights, edges = (np.asarray(each).tolist() for each in made["_histogram"])
        rising = all(low < high for low, high in pairwise(edges)) and np.isfinite(edges).all()
        if not (rising and all(0 <= height < np.inf for height in heights) and any(heights)):
            raise DomainError(
                f"{self} = {shown(made['_histogram'])} is no histogram; give increasing edges, and counts "
                "of at least 0, not all of them 0"
            )
        density, widths = made["_density"], np.diff(edges)
        if density is None:  # as SciPy decides
            density = not np.allclose(widths, widths[0])
        return heights, bool(density)

    @cached_property
    def edges(self) -> tuple[Fraction, ...]:
        """Finite ends of the support, and the edges of a histogram's bins: loc + scale x, exactly."""
        values = dict(self.arguments)
        ends = vars(self.distribution.dist)["_histogram"][1] if self.bins else self._plain.support()
        plain = np.asarray(ends).tolist()
        loc, scale = Fraction(values["loc"]), Fraction(values["scale"])
        return tuple(loc + scale * Fraction(x) for x in plain if np.isfinite(x))

    @cached_property
    def rounded(self) -> tuple[float, ...]:
        """The floats next to edges that are none."""
        return tuple(float(edge) for edge in self._near_edges if Fraction(float(edge)) != edge)

    @property
    def _near_edges(self) -> list[Fraction]:
        """The edges where densities are asked."""
        return [edge for edge in self.edges if abs(edge) <= REACH]

    @cached_property
    def points(self) -> Array:
        """Points that are dense wherever the law has mass, and reach to where it has next to none."""
        tails = self._quantiles(self.distribution, np.geomspace(_LEAST_TAIL, 0.5, _QUANTILES))
        found = np.concatenate([*tails, self._between_edges])
        found = np.clip(found[np.isfinite(found)], -REACH, REACH)
        low, high = (float(x) for x in np.quantile(found, [0.25, 0.75]))
        return np.unique(np.concatenate([found, np.linspace(low, high, _QUANTILES)]))

    def _quantiles(self, law: Any, tail: Array) -> Pair:
        """Return the points below and above which a law has the tails, as far as SciPy finds them."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of quantiles that SciPy does not find, which are left out
            try:
                below, above = (np.asarray(quantile(tail), dtype=float) for quantile in (law.ppf, law.isf))
            # Of SciPy's search in a cdf by quadrature.
            except (ValueError, RuntimeError, ArithmeticError) as error:
                told = f"SciPy finds no quantiles of {self}: {str(error).rstrip('.')}"
                raise DomainError(f"{told}; give its law a _ppf and an _isf") from error
        return below, above

    @property
    def _between_edges(self) -> Array:
        """Middles of the bins of a histogram, however narrow, and the floats next to their edges."""
        edges = np.array(self._near_edges if self.bins else (), dtype=float)
        beside = [np.nextafter(edges, way) for way in (-np.inf, np.inf)]
        return np.concatenate([(edges[:-1] + edges[1:]) / 2, *beside])

    @property
    def _plain(self) -> Any:
        """The law at location 0 and of scale 1."""
        return self.distribution.dist(**{**dict(self.arguments), **_PLAIN})

    @cached_property
    def slack(self) -> tuple[float, float]:
        """What cdf and sf may err by beside their share: what they were seen to, and what rounding moves.

        SciPy takes many a tail as 1 less the other, or by a quadrature of limited accuracy, and asks the law
        at location 0 at (x - loc)/scale; some with a pole at an end take a root or half of that.
        """
        law, moved = self._plain, _PLAIN.items() - set(self.arguments)
        below, above = self._quantiles(law, np.geomspace(_LEAST_TOLD, 0.5, _PANELS))
        low, high = law.support()
        found = []
        for tail, at, end, other in ((law.cdf, below, low, high), (law.sf, above, high, low)):
            x = np.unique(at[(at > low) & (at < high)])
            seen = _missed(law.logpdf, tail, x, float(next(filter(np.isfinite, (end, other)), 0.0)))
            shifted = _shifted(law.logpdf, tail, x, end)
            found.append(seen + (shifted if moved or shifted > TRUST else 0.0))
        return found[0], found[1]

    @property
    def trust(self) -> str:
        """What is assumed of SciPy."""
        each = zip(("cdf", "sf"), self.slack, strict=True)
        slack = " and ".join(f"{name} to {x:.2g}" for name, x in each if x)
        beside = f", and where that is less {slack}" if slack else ""
        return f"SciPy knows cdf and sf of {self} to a share of {TRUST:g}{beside}, and logpdf to {TRUST:g}."

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Name and arguments; of a law that is not SciPy's the object given, and what its cdf was."""
        if not self.name.startswith(FOREIGN):
            return self.name, self.arguments
        return self._origin, self.arguments, self.cdf(self.points).tobytes()

    def shifted(self, shift: float) -> Frozen:
        """Return the law of X + shift for X at location 0."""
        return Frozen(self.distribution.dist(**{**dict(self.arguments), "loc": shift}), origin=self._origin)

    def __str__(self) -> str:
        return told(self.name, self.arguments)


def told(name: str, arguments: Arguments) -> str:
    """Write a law with the arguments that are not the usual ones."""
    each = ", ".join(f"{key}={value:.6g}" for key, value in arguments if value != _PLAIN.get(key))
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
        kind = "frozen continuous distribution of scipy.stats, such as norm(scale=2)"
        raise DomainError(f"{role} = {shown(distribution)} is not a {kind}")
    _refuse_changed(distribution, role)
    generator = distribution.dist
    shapes = [name.strip() for name in (generator.shapes or "").split(",") if name.strip()]
    values = {**_PLAIN, **dict(zip([*shapes, "loc", "scale"], distribution.args, strict=False))}
    values.update(distribution.kwds)
    try:
        found = {name: float(value) for name, value in values.items()}
    except (TypeError, ValueError) as error:
        raise DomainError(f"{generator.name}: parameters must be single numbers, not arrays") from error
    except OverflowError as error:
        raise DomainError(f"{generator.name}: a parameter is beyond the floats") from error
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


def _missed(logpdf: Function, tail: Function, x: Array, end: float) -> float:
    """Return what a tail misses the integrals of the density by, on panels where these are known.

    Quantiles are where a tail that is rounded is right: the panels are between points beside.
    """
    with np.errstate(all="ignore"):
        x = x[:-1] + _BESIDE * np.diff(x)
        middle, value = _middle(x[:-1], x[1:], end), np.asarray(tail(x), dtype=float)
        mass = _integral(logpdf, x[:-1], middle, end) + _integral(logpdf, middle, x[1:], end)
        known = np.abs(_integral(logpdf, x[:-1], x[1:], end) - mass) <= TRUST * mass
        missed = np.abs(np.abs(np.diff(value)) - mass) - TRUST * (value[1:] + value[:-1] + mass)
    return _ROOM * float(np.max(missed, initial=0.0, where=known & (missed > 0)))


def _shifted(logpdf: Function, tail: Function, x: Array, end: float) -> float:
    """Return what two roundings of a point move a tail by, beyond its share, and next to a finite end."""
    with np.errstate(all="ignore"):
        moved = np.exp(np.asarray(logpdf(x)) + np.log(_MOVED * np.abs(x)))  # densities may be no floats
        most = np.max(moved, initial=0.0, where=moved > TRUST / 2 * np.asarray(tail(x)))
        last = end - np.copysign(_MOVED * abs(end), end - x[0]) if np.isfinite(end) and len(x) else end
        return float(most) + (float(tail(np.array([last]))[0]) if last != end else 0.0)


def _middle(start: Array, stop: Array, end: float) -> Array:
    """Return the points half-way between others, by the distance from an end if they lie to one side."""
    near, far = start - end, stop - end
    return np.asarray(np.where(near * far > 0, end + np.sign(near) * np.sqrt(near * far), (start + stop) / 2))


def _integral(logpdf: Function, start: Array, stop: Array, end: float) -> Array:
    """Return integrals over panels, in the logarithm of the distance from an end as ``_middle``."""
    node, weight = gauss_legendre(_NODES)
    near, far = (start - end)[:, None], (stop - end)[:, None]
    half = np.log(far / near) / 2
    distance = np.sqrt(near * far) * np.exp(half * node)
    plain = (stop - start)[:, None] / 2
    aside = near * far > 0
    x = np.where(aside, end + np.sign(near) * distance, (start + stop)[:, None] / 2 + plain * node)
    slope = np.where(aside, np.abs(half) * distance, plain)
    return applied(np.exp(np.asarray(logpdf(x), dtype=float) + np.log(slope)), weight)


def _is_histogram(distribution: Any) -> bool:
    import scipy.stats

    return type(distribution.dist) is scipy.stats.rv_histogram


def _name(generator: Any) -> str:
    import scipy.stats

    same: Any = getattr(scipy.stats, generator.name, None)
    ours = type(generator) is type(same) and (generator.a, generator.b) == (same.a, same.b)
    return str(generator.name) if ours else FOREIGN + str(generator.name)
