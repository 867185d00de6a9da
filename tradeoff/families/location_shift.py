"""Pairs of laws of SciPy: shifts f = T(X, X + theta) of one law, and any two, continuous or discrete.

theta is the shift over the scale of the law. ``choose(gap, a, b)`` is a where gap < 0, else b. A
``RealLinePair`` is a curve by SciPy's densities; ``find_pieces`` cuts its loss log(q/p) into monotone pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from types import SimpleNamespace
from typing import Any

import numpy as np

from tradeoff.balls import Balls, choose, exp, expm1, log, log1p, power, to_balls, upper_float
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MOST, Number, count, number
from tradeoff.curves.piecewise_linear import interpolate
from tradeoff.errors import DomainError, NoClosedForm, SizeError
from tradeoff.families import densities
from tradeoff.families._closed_form import ClosedForm, Formulas
from tradeoff.families.approximate_dp import Identity, TotalVariation
from tradeoff.families.densities import NewScipyLaw, RealLinePair, ScipyLaw, describe_totals
from tradeoff.families.from_masses import from_masses
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import BoundedRange, Laplace
from tradeoff.pld.law import PrivacyLossDistribution
from tradeoff.pld.real_line import find_pieces
from tradeoff.pld.shifts import BoundedRangeLaw, GumbelLaw
from tradeoff.pld.transformed import ReversedPLD

_MIRRORED = {"gumbel_r": "gumbel_l", "gumbel_l": "gumbel_r"}  # each is the other order of the other's shift


def _gumbel_profile(x: Balls, theta: Balls) -> Balls:
    """Return delta of L = theta - (e^theta - 1) E with E ~ Exp(1) under P and Exp(e^theta) under Q."""
    most = (theta - x) / expm1(theta)  # L > x where E < most
    return choose(x - theta, exp(x) * expm1(-most) - expm1(-exp(theta) * most), 0 * x)


def _mirrored_gumbel_profile(x: Balls, theta: Balls) -> Balls:
    """Return (1 - e^-theta) e^(-(x + theta)/(e^theta - 1)) for x >= -theta."""
    return choose(-x - theta, -expm1(-theta) * exp(-(x + theta) / expm1(theta)), -expm1(x))


def _mirrored_gumbel_loss(delta: Balls, theta: Balls) -> Balls:
    """Return the inverse of ``_mirrored_gumbel_profile`` for probabilities in (0, 1)."""
    most = -expm1(-theta)  # delta(-theta)
    return choose(delta - most, -theta - expm1(theta) * log(delta / most), log1p(-delta))


# Laws whose shift has closed forms of f(alpha), delta(x) and epsilon(delta), and a law of L by theta.
_FORMS: dict[str, tuple[Formulas, Callable[[float], PrivacyLossDistribution]]] = {
    "logistic": (BoundedRange.formulas, BoundedRangeLaw),
    "gumbel_r": (Formulas(lambda alpha, t: power(1 - alpha, exp(t)), _gumbel_profile), GumbelLaw),
    "gumbel_l": (
        Formulas(
            lambda alpha, t: 1 - power(alpha, exp(-t)),
            _mirrored_gumbel_profile,
            _mirrored_gumbel_loss,
            largest_loss=None,
        ),
        lambda theta: ReversedPLD(GumbelLaw(theta)),
    ),
}

# Laws whose shift is a curve of another family, by theta.
_CLOSED: dict[str, Callable[[float], TradeOff]] = {
    "norm": Gaussian,
    "laplace": Laplace,
    "uniform": lambda share: TotalVariation(min(share, 1.0)),
}

# Laws of which SciPy's densities are integrated: log-concave ones, and two whose likelihood ratios have known
# extrema. By the arguments: whether they are that, and whether their shifts have one curve in both orders.
_BY_DENSITY: dict[str, Callable[[Mapping[str, float]], tuple[bool, bool]]] = {
    **dict.fromkeys(("expon", "halfnorm", "truncexpon"), lambda _: (True, False)),
    **dict.fromkeys(("hypsecant", "semicircular", "cauchy", "t"), lambda _: (True, True)),
    "truncnorm": lambda law: (True, law["a"] == -law["b"]),
    "triang": lambda law: (True, law["c"] == 0.5),
    "gennorm": lambda law: (law["beta"] >= 1, True),
    "gamma": lambda law: (law["a"] >= 1, False),
    "beta": lambda law: (min(law["a"], law["b"]) >= 1, law["a"] == law["b"]),
}

KNOWN = {*_CLOSED, *_FORMS, *_BY_DENSITY}  # laws whose shifts need no assumption about their shape


def LocationShift(  # noqa: N802 - written as the family it is a member of
    distribution: Any, shift: Number, *, assume_log_concave: bool = False
) -> TradeOff:
    r"""Curve of X against X + shift.

    Where X is log-concave, with distribution function F and shift :math:`\theta`, it is
    :math:`f(\alpha) = F(F^{-1}(1 - \alpha) - \theta)`.

    Parameters
    ----------
    distribution
        Frozen distribution of ``scipy.stats`` with any location and scale. For norm, laplace and uniform the
        result is a Gaussian, Laplace or TotalVariation curve with its parameter rounded up; logistic,
        gumbel_r and gumbel_l have closed forms. For expon, halfnorm, hypsecant, truncexpon, semicircular,
        truncnorm, triang, gennorm with beta >= 1, gamma with a >= 1, beta with a, b >= 1, t and cauchy,
        SciPy's density is integrated numerically, which the curve lists in ``assumptions``.
    shift
        Real number in the unit of the distribution: 1e-290 to 500 times its scale for closed forms, up to
        1e9 times for others. A negative shift gives the other order of the pair.
    assume_log_concave
        Accept another continuous distribution, and assume that its density is log-concave.

    Returns
    -------
    TradeOff
        The curve. It is also valid for every smaller shift in the same direction (see Notes).

    Notes
    -----
    If the density is log-concave, the loss increases with x, so threshold tests are optimal
    (Neyman-Pearson).

    Smaller shifts lose less, for every density that rises up to a mode and falls after it, Student's among
    them: in :math:`\delta(\varepsilon) = \int (p(u) - e^\varepsilon p(u + s))_+ \, du`,
    :math:`\varepsilon \ge 0`, the mode at 0, no integrand falls as :math:`s > 0` grows. Where
    :math:`u + s \ge 0`, :math:`p(u + s)` falls; where :math:`u + s < 0`, :math:`p(u + s) \ge p(u)`, and the
    integrand is 0. The same holds for the mirror image, which is the other order.

    Examples
    --------
    >>> import scipy.stats as st
    >>> LocationShift(st.norm(scale=2), 1), LocationShift(st.uniform(0, 4), 1)
    (G_{0.5}, f_{0,0.25})
    >>> f = LocationShift(st.logistic(scale=2), 1)
    >>> f, round(f(0.25), 6), round(f.delta(0.25), 6)
    (logistic(scale=2) + 1, 0.645339, 0.03509)
    >>> LocationShift(st.cauchy(), 1)
    cauchy + 1 (assumes 1 thing: see .assumptions)
    """
    name, arguments = densities.identify(distribution)
    values, exact = dict(arguments), Fraction(number("shift", shift, open_low=True, open_high=True))
    if exact == 0:
        return Identity()
    closed = _CLOSED.get("laplace" if name == "gennorm" and values["beta"] == 1 else name)
    if closed is not None:
        return closed(upper_float(to_balls(abs(exact) / Fraction(values["scale"]))))
    if name in _FORMS:
        return LogConcaveShift(name, arguments, exact)
    p, step = ScipyLaw(distribution).at(0.0), float(exact)
    is_known, symmetric = _BY_DENSITY[name](values) if name in _BY_DENSITY else (False, False)
    if not (is_known or assume_log_concave):
        raise DomainError(
            f"{p} is not known to be log-concave; known are, in their log-concave shapes, "
            f"{', '.join(sorted(KNOWN))}; if its density is, pass assume_log_concave=True, else "
            "to.from_scipy(X, X + shift) returns the curve of that one pair"
        )
    scale = values["scale"]
    theta, df = number("shift/scale", step / scale, -1e9, 1e9), values.get("df", 1.0)
    extrema: tuple[float, ...] = ()
    if is_known and name in {"cauchy", "t"}:
        # (df + x^2)/(df + (x - theta)^2) is largest and least where x^2 - theta x = df.
        far = math.copysign(abs(theta) + math.hypot(theta, 2 * math.sqrt(df)), theta) / 2
        extrema = tuple(sorted((scale * far, -scale * df / far)))  # the product of the roots is -df
    q = p.at(step)
    law = find_pieces(p.density, q.density, extrema, bounded=bool(extrema))
    symmetric = is_known and symmetric
    assumed = [] if is_known else [f"The density of {p} is log-concave."]
    assumptions = (*assumed, p.trust, *describe_totals([p.density, q.density]))
    key = ("shift", p.key, abs(step) if symmetric else step)
    return RealLinePair(law, _format_shift(str(p), step), key, assumptions, symmetric=symmetric)


class LogConcaveShift(ClosedForm):
    """Shift of a law with closed forms: see ``LocationShift``."""

    def __init__(self, name: str, arguments: densities.Arguments, shift: Fraction) -> None:
        self.name, self.arguments, self.shift = name, arguments, shift
        self.scale = dict(arguments)["scale"]
        self._exact_theta = abs(shift) / Fraction(self.scale)
        # Shifts for which the engines have digits of losses.
        self.theta = number("shift/scale", float(min(self._exact_theta, Fraction(MOST))), 1e-290, 500.0)

    @property
    def _name(self) -> str:
        """Name of the law of unit scale whose shift by theta > 0 has this curve."""
        return _MIRRORED.get(self.name, self.name) if self.shift < 0 else self.name

    @property
    def formulas(self) -> Formulas:  # type: ignore[override]  # of each law
        return _FORMS[self._name][0]

    @property
    def symmetric(self) -> bool:  # type: ignore[override]  # of each law
        return self.name not in _MIRRORED

    def theta_ball(self) -> Balls:
        return to_balls(self._exact_theta)

    @cached_property
    def _law(self) -> PrivacyLossDistribution:
        return _FORMS[self._name][1](self.theta)

    def loss_distribution(self) -> PrivacyLossDistribution:
        # Squares of larger losses, times as many rounds as are counted, overflow floats.
        if max(map(abs, self._law.support)) > 1e50:
            raise NoClosedForm(f"losses of {self!r} are too large for the engines; use f.lower or f.upper")
        return self._law

    def inverse(self) -> TradeOff:
        """Inverse T(Q, P): the shift to the other side."""
        return self if self.symmetric else LogConcaveShift(self.name, self.arguments, -self.shift)

    def group(self, k: int) -> TradeOff:
        """Guarantee for groups of ``k``: the curve of k times the shift.

        The optimal tests reject above a threshold, and 1 - f takes P(X > t) to P(X > t - shift).
        """
        times = count("k", k, 0, MOST)
        return LogConcaveShift(self.name, self.arguments, times * self.shift) if times else Identity()

    def _key(self) -> tuple[Any, ...]:
        # The location does not matter, nor the sign of the shift of a symmetric law.
        scale = tuple((name, value) for name, value in self.arguments if name != "loc")
        return self.name, scale, abs(self.shift) if self.symmetric else self.shift

    @property
    def notation(self) -> str:
        return _format_shift(densities.format_law(self.name, self.arguments), self.shift)


def _format_shift(law: str, shift: float | Fraction) -> str:
    return f"{law} {'-' if shift < 0 else '+'} {abs(float(shift)):.6g}"


_MAX_OUTCOMES = 100_000  # of a discrete law


def from_scipy(p: Any, q: Any, breaks: Sequence[float] | None = None) -> TradeOff:
    r"""Trade-off function T(P, Q) of two distributions of ``scipy.stats``.

    Parameters
    ----------
    p, q
        Frozen distributions such as ``norm(1, 2)``, or distributions of SciPy's second kind: ``Normal``,
        ``Mixture``, ``truncate(X, a, b)`` and others. Both are continuous or both discrete.
    breaks
        Points between which :math:`\log(q/p)` is monotone, for continuous laws; default: located by scanning.

    Returns
    -------
    TradeOff
        A closed form where the pair has one, and a curve in fractions of two laws whose densities are steps,
        ``uniform`` and ``rv_histogram``; else a curve with ``assumptions``: that SciPy's log-densities are
        right to 1e-12, and that :math:`\log(q/p)` has no other extrema than those located. Discrete laws are
        curves in fractions, of exact masses (``binom``, ``geom``, ``nbinom``, ``poisson``) or of SciPy's;
        of infinitely many outcomes those below 1e-300 are left out, and count as an infinite loss.

    Raises
    ------
    DomainError
        If p or q is not such a distribution, only one is discrete, or :math:`\log(q/p)` has other extrema
        than breaks.
    SizeError
        If discrete laws have more than 100 000 outcomes, or the bins of two histograms cut each other into
        fractions without a common denominator of reasonable length.

    Notes
    -----
    The optimal test rejects where :math:`\log(q/p)` is large (Neyman, Pearson 1933): a union of intervals.

    Examples
    --------
    >>> from scipy.stats import binom, norm
    >>> from_scipy(norm(0, 2), norm(1, 2))
    G_{0.5}
    >>> f = from_scipy(norm(), norm(scale=2))
    >>> f
    T(norm, norm(scale=2)) (one order) (assumes 3 things: see .assumptions)
    >>> round(from_scipy(binom(10, 0.5), binom(10, 0.6)).delta(0.5), 6)
    0.098907
    """
    p, q = _as_frozen(p), _as_frozen(q)
    discrete = [hasattr(law, "pmf") and hasattr(law, "dist") for law in (p, q)]
    if all(discrete):
        return _integer_pair(p, q)
    if any(discrete):
        raise DomainError(
            f"p and q must both be discrete or both continuous, got only {'pq'[discrete[1]]} with a pmf; "
            "one outcome distinguishes such laws, and their curve is TotalVariation(1)"
        )
    first, second = (
        (NewScipyLaw if hasattr(law, "iccdf") else ScipyLaw)(law, role) for law, role in ((p, "p"), (q, "q"))
    )
    places = None if breaks is None else densities.check_breaks(breaks)
    names, loc = f"T({first}, {second})", 0.0
    if breaks is None and first.values and second.values:
        if first.key == second.key:
            return Identity()
        start, stop = first.values["loc"], second.values["loc"]
        is_exact = Fraction(stop - start) == Fraction(stop) - Fraction(start)
        is_shift = (first.name, first.values) == (second.name, {**second.values, "loc": start})
        if is_exact and is_shift and first.name in KNOWN:
            return LocationShift(first.distribution, stop - start)
        if first.steps[0] and second.steps[0]:  # both densities are steps
            cuts = np.array(sorted({*first.steps[0], *second.steps[0]}))
            return from_masses(_masses_between(first, cuts), _masses_between(second, cuts))
        if is_exact:  # floats are closest near 0
            loc, first, second = start, first.at(0.0), second.at(stop - start)
    laws = first.density, second.density
    law = find_pieces(*laws, places)
    assumptions = dict.fromkeys(
        (first.trust, second.trust, *describe_totals(laws), densities.describe_pieces(law, breaks, loc))
    )
    key = first.key, second.key, tuple(places or ())
    return RealLinePair(law, names, key, tuple(assumptions))


def _as_frozen(law: Any) -> Any:
    """Return a distribution of SciPy's second kind as a frozen one, where it is normal or discrete."""
    import scipy.stats

    if not hasattr(law, "iccdf"):
        return law
    if isinstance(law, scipy.stats.Normal) and not np.ndim(law.support()[0]):
        return scipy.stats.norm(float(law.mu), float(law.sigma))
    if all(each.__name__ != "DiscreteDistribution" for each in type(law).__mro__):
        return law
    methods = {name: getattr(law, name) for name in ("median", "support", "pmf", "cdf")}
    dist = SimpleNamespace(name=type(law).__name__)
    return SimpleNamespace(**methods, sf=law.ccdf, dist=dist, args=(law,), kwds={})


def _masses_between(law: ScipyLaw, cuts: Any) -> list[Fraction]:
    """Return the masses between consecutive cuts, which include the edges, of a density that is steps."""
    edges, masses = law.steps
    cdf = np.array([cuts[0] - 1, *edges]), np.array([Fraction(0), *accumulate(masses, initial=Fraction(0))])
    return [*np.diff(interpolate(cuts, *cdf))]


def _integer_pair(p: Any, q: Any) -> TradeOff:
    """Return the curve of two laws on the integers."""
    with np.errstate(all="ignore"):
        spans = [_outcome_range(law) for law in (p, q)]
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        if max(-low, high) > MOST:
            raise DomainError(f"outcomes must be in [-2^53, 2^53], got those from {low} to {high}")
        if not high - low < _MAX_OUTCOMES:
            raise SizeError(
                f"p and q must have at most {_MAX_OUTCOMES} outcomes, got those from {low} to {high}; "
                "merge those in the tails, and give masses to from_masses"
            )
        exact = [_masses_by_ratios(law, *span) for law, span in zip((p, q), spans, strict=True)]
        if all(exact):
            curve = from_masses(*exact)
            curve.is_rounded = True  # to 1e-297, which must not refute an order
            return curve
        outcomes = np.arange(low, high + 1)
        masses = []
        for law in (p, q):  # all others are one outcome of this law alone
            listed: dict[Any, float] = dict(zip(outcomes.tolist(), law.pmf(outcomes).tolist(), strict=True))
            rest = float(law.cdf(outcomes[0] - 1) + law.sf(outcomes[-1]))
            masses.append({**listed, ("outside", id(law)): rest})
    return from_masses(*masses).assuming("SciPy's pmf, divided by its sum, is that of the laws.")


def _masses_by_ratios(law: Any, low: int, high: int) -> dict[Any, Fraction]:
    """Return masses from ``low`` to ``high`` by the ratios of neighbours, to 1e-297; {} if unknown."""
    import scipy.stats

    ratios: dict[str, Callable[..., Fraction]] = {
        "binom": lambda k, n, p: (n - k) * p / ((k + 1) * (1 - p)),
        "geom": lambda _, p: 1 - p,
        "nbinom": lambda k, n, p: (k + n) * (1 - p) / (k + 1),
        "poisson": lambda k, mu: mu / (k + 1),
    }
    name, dist = law.dist.name, law.dist
    known: Any = getattr(scipy.stats, str(name), None)  # a law of the user's may have its name
    if name not in ratios or type(dist) is not type(known) or (dist.a, dist.b) != (known.a, known.b):
        return {}
    names = [*dist.shapes.split(", "), "loc"]
    given = {"loc": 0, **dict(zip(names, law.args, strict=False)), **law.kwds}
    shapes, loc = [Fraction(float(given[each])) for each in names[:-1]], given["loc"]
    if loc != int(loc) or (name != "poisson" and not 0 < shapes[-1] < 1):
        return {}
    weights = [1 << 2000]
    for k in range(low, high):
        ratio = ratios[name](k - int(loc), *shapes)
        weights.append(weights[-1] * ratio.numerator // ratio.denominator)
    # At most 10^5 steps lead to a mass below 1e-300, so that ratios past it are at most 1 - 1/150 if they
    # fall, else 1 - p, and all outcomes there, one of this law, weigh at most 150 or 1/p times the last.
    most = max(256, math.ceil(1 / shapes[-1])) if name == "nbinom" else 256
    ends = zip((weights[0], weights[-1]), (low, high), law.support(), strict=True)
    rest = Fraction(most * sum(weight + 256 for weight, at, end in ends if at != end), sum(weights))
    share = (1 - rest) / sum(weights)
    return {("outside", id(law)): rest, **{low + i: w * share for i, w in enumerate(weights)}}


def _outcome_range(law: Any) -> tuple[int, int]:
    """Return integers (low, high) with at most 1e-300 of the law's mass outside, or too far apart to list."""
    median, (low, high) = law.median(), law.support()
    if np.ndim(median) or not np.isfinite(median):  # SciPy returns NaN for parameters out of range
        given = ", ".join([*map(repr, law.args), *(f"{name}={value!r}" for name, value in law.kwds.items())])
        raise DomainError(
            f"{law.dist.name}({given}) must be a law on the integers, got the median "
            f"{np.asarray(median).tolist()}; give one number in its range for each parameter"
        )
    if abs(median) > MOST:  # SciPy's functions refuse integers above 2^63
        raise DomainError(f"outcomes must be in [-2^53, 2^53], got the median {median:g}")
    ends = []
    for sign, end, tail in ((-1, low, law.cdf), (1, high, law.sf)):
        place = int(median)
        for k in range(_MAX_OUTCOMES.bit_length() + 1):
            place = int(median) + sign * 2**k
            if sign * (place - end) >= 0 or max(tail(place), law.pmf(place)) <= 1e-300:
                break
        ends.append(sign * min(sign * place, sign * end))
    return int(ends[0]), int(ends[1])
