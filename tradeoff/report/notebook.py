"""Curves in a notebook: the normal form and the closed form in LaTeX, a small picture beside the name."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from html import escape
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from tradeoff.curves.derived import Derived
from tradeoff.curves.parameters import written as parameter
from tradeoff.curves.piecewise_linear import PiecewiseLinear
from tradeoff.curves.product import Tensor
from tradeoff.families.bounded_range import BoundedRange
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.gaussian_mixtures import GaussianMixtures
from tradeoff.families.identity import Identity
from tradeoff.families.laplace import Laplace
from tradeoff.families.location_shift import LogConcaveShift
from tradeoff.families.pure_dp import PureDP
from tradeoff.families.total_variation import TotalVariation
from tradeoff.operators.assumed import Assumed
from tradeoff.operators.beta_operator import BetaOperator
from tradeoff.operators.group import Group
from tradeoff.operators.inverse import Inverse
from tradeoff.operators.mixture import Mixture
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import Envelope, ProfileSymmetrised
from tradeoff.symbolic.formula import Symbolic


def latex(curve: Any) -> str:
    r"""Return the normal form as LaTeX without dollars; what has no notation stands as text.

    Examples
    --------
    >>> import tradeoff as to
    >>> print(latex(to.Gaussian(1) @ to.Laplace(0.1) ** 50))
    G_{1} \otimes \mathrm{Lap}_{0.1}^{\otimes 50}
    """
    if type(curve) in _FORMS:
        return _FORMS[type(curve)](curve)
    if isinstance(curve, Derived):
        inside = [*map(latex, curve.operands), *(_text(str(each)) for each in curve.parameters)]
        return rf"\operatorname{{{curve.name}}}{_inside(*inside)}"
    return _text(repr(curve))


def equation(curve: Any) -> str:
    """Return the normal form, and f(alpha) where that is a closed form, as LaTeX without dollars."""
    if isinstance(curve, Symbolic):
        return rf"f\left({_number(curve.alpha)}\right) = {latex(curve)}"
    f, delta = _without_leak(curve)
    kept = "" if delta is None else f"1 - {_number(delta)}"
    if not kept:
        beta = _closed(f, r"\alpha")
    elif isinstance(f, PureDP):
        beta = _lines(f, r"\alpha", kept, "0, ")
    elif inner := _closed(f, rf"\frac{{\alpha}}{{{kept}}}"):
        beta = rf"\left({kept}\right) {_inside(inner)} \text{{ where }} \alpha \le {kept}"
    else:
        beta = None
    return rf"{latex(curve)}:\quad f(\alpha) = {beta}" if beta else latex(curve)


def _without_leak(curve: Any) -> tuple[Any, Any]:
    """Return f and delta of f (x) f_{0,delta}; of another curve itself and None."""
    if isinstance(curve, Tensor) and sorted(curve.factors.values()) == [1, 1]:
        for f, leak in permutations(curve.factors):
            if isinstance(leak, TotalVariation):
                return f, leak.delta_0
    return curve, None


def _number(value: Any, *, bracket: bool = True) -> str:
    """Return a parameter with six digits, a short fraction, or as SymPy writes it, a sum in brackets."""
    if isinstance(value, Fraction) and 1 < value.denominator < _LONGEST:
        return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    if getattr(value, "free_symbols", ()):
        import sympy

        names = {s: _text(s.name) for s in value.free_symbols if _UNSAFE_NAME.search(s.name)}
        written = str(sympy.latex(value, symbol_names=names))
        return _inside(written) if value.is_Add and bracket else written
    text = f"{float(value):.6g}" if hasattr(value, "xreplace") else parameter(value)
    digits, _, power = text.lower().partition("e")
    if not power:
        return digits.replace("inf", r"\infty")
    return ("" if digits == "1" else rf"{digits} \cdot ") + f"10^{{{int(power)}}}"


def _text(words: str) -> str:
    r"""Return words as \text{...}; signs with a meaning stand outside, where all know them."""
    inner = re.sub(
        r"[\\{}_^$&#%~<>]", lambda sign: rf"}}{_SIGNS.get(sign[0], chr(92) + sign[0])}\text{{", words
    )
    return rf"\text{{{inner}}}"


# Signs that a backslash does not make plain.
_SIGNS = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim ", "<": r"\lt ", ">": r"\gt "}

# Names of symbols that SymPy writes as they are, and that a page would read as HTML or as a link.
_UNSAFE_NAME = re.compile(r"[<>&$#%~]|\\(href|html|class|style|css|require)")


def _inside(*parts: str) -> str:
    return rf"\left({', '.join(parts)}\right)"


def _power(curve: Any, exponent: str) -> str:
    """Return a power, in brackets where the base has a power or is a sum or a product."""
    base = latex(curve)
    single = type(curve) in _SINGLE or (isinstance(curve, Subsampled) and not curve.flipped)
    return f"{base if single else _inside(base)}^{{{exponent}}}"


def _product(curve: Tensor) -> str:
    f, delta = _without_leak(curve)
    if isinstance(f, PureDP):
        return rf"f_{{{_number(f.epsilon_0)}, {_number(delta)}}}"
    powers = (_power(f, rf"\otimes {n}") if n > 1 else latex(f) for f, n in curve.factors.items())
    return r" \otimes ".join(powers)


def _subsampled(curve: Subsampled) -> str:
    p = _number(curve.p)
    one_order = rf"\left({p}\, {latex(curve.operands[0])} + (1 - {p})\, \mathrm{{Id}}\right)"
    return f"{one_order}^{{-1}}" if curve.flipped else one_order


def _envelope(curve: Envelope) -> str:
    """Return C_p(f), or the hull of the minimum of both orders."""
    f = curve.operands[0]
    if isinstance(f, Subsampled) and f.operands[0].symmetric:
        return rf"C_{{{_number(f.p)}}}{_inside(latex(f.operands[0]))}"
    return rf"\min\left\{{\,\cdot\,, \cdot^{{-1}}\right\}}^{{**}}{_inside(latex(f))}"


def _mixture(curve: Mixture) -> str:
    parts = (rf"{_number(w)}\colon {latex(f)}" for f, w in zip(curve.operands, curve.weights, strict=True))
    return rf"\operatorname{{mixture}}{_inside(*parts)}"


def _set(name: str, parts: Iterable[str]) -> str:
    return rf"{name}\left\{{{', '.join(parts)}\right\}}"


def _normal(f: GaussianMixtures) -> str:
    """Return T(P, Q) of two mixtures of normal laws."""
    variance = rf"{_number(f.sigma)}^2" if f.sigma != 1 else "1"
    sides = (
        " + ".join(
            rf"{'' if w == 1 else _number(w)}\mathcal{{N}}{_inside(_number(a), variance)}"
            for a, w in sorted(side.items())
        )
        for side in (f.null, f.alternative)
    )
    return rf"T{_inside(*sides)}"


# Notations of the literature (Dong, Roth, Su 2022), by the class of the curve.
_FORMS: Mapping[type, Callable[[Any], str]] = {
    Identity: lambda _: r"\mathrm{Id}",
    Gaussian: lambda f: rf"G_{{{_number(f.mu)}}}",
    Laplace: lambda f: rf"\mathrm{{Lap}}_{{{_number(f.epsilon_0)}}}",
    PureDP: lambda f: rf"f_{{{_number(f.epsilon_0)}, 0}}",
    TotalVariation: lambda f: rf"f_{{0, {_number(f.delta_0)}}}",
    BoundedRange: lambda f: rf"\mathrm{{BR}}_{{{_number(f.epsilon_0)}}}",
    GaussianMixtures: _normal,
    Symbolic: lambda f: _number(f.expr, bracket=False),
    Tensor: _product,
    Subsampled: _subsampled,
    Envelope: _envelope,
    ProfileSymmetrised: lambda f: rf"\operatorname{{Symm}}{_inside(latex(f.operands[0]))}",
    Inverse: lambda f: _power(f.operands[0], "-1"),
    Group: lambda f: rf"1 - \left(1 - {latex(f.operands[0])}\right)^{{\circ {f.k}}}",
    Maximum: lambda f: _set(r"\max", map(latex, f.operands)),
    HullOfMinimum: lambda f: _set(r"\min", map(latex, f.operands)) + "^{**}",
    Mixture: _mixture,
    Assumed: lambda f: rf"{latex(f.operands[0])}\ \text{{(with assumptions)}}",
}

_SINGLE = {Identity, Gaussian, Laplace, PureDP, TotalVariation, BoundedRange}  # one letter with an index


def _laplace(f: Laplace, a: str) -> str:
    e = _number(f.epsilon_0)
    cases = (
        rf"1 - e^{{{e}}} {a} & {a} < e^{{-{e}}}/2",
        rf"e^{{-{e}}} / \left(4 {a}\right) & e^{{-{e}}}/2 \le {a} \le 1/2",
        rf"e^{{-{e}}} \left(1 - {a}\right) & {a} > 1/2",
    )
    return r"\begin{cases} " + r" \\ ".join(cases) + r" \end{cases}"


def _vertices(f: PiecewiseLinear, a: str) -> str | None:
    """Return the largest of the lines through neighbouring vertices, where these are few."""
    points = list(zip(f.alpha.tolist(), f.beta.tolist(), strict=True))
    if len(points) > _MOST_VERTICES:
        return None
    lines = [_line((y - v) / (u - x), x, y, a) for (x, y), (u, v) in pairwise(points)]
    return _set(r"\max", lines if points[-1][0] == 1 else [*lines, "0"])


def _line(slope: Any, x: Any, y: Any, a: str) -> str:
    return f"{_number(y + slope * x)} - {'' if slope == 1 else _number(slope)} {a}"


def _shift(f: LogConcaveShift, a: str) -> str | None:
    e = f"e^{{{_number(f.theta)}}}"
    match f.name, f.shift > 0:
        case "logistic", _:
            return rf"\frac{{1 - {a}}}{{1 - {a} + {e} {a}}}"
        case ("gumbel_r", True) | ("gumbel_l", False):
            return rf"\left(1 - {a}\right)^{{{e}}}"
        case ("gumbel_r", False) | ("gumbel_l", True):
            return rf"1 - {_inside(a)}^{{1/{e}}}"
    return None


def _mixed(f: Subsampled, a: str) -> str | None:
    """Return p f + (1 - p) (1 - a), in the order in which that is the curve."""
    inner, p = _closed(f.operands[0], a), _number(f.p)
    return None if f.flipped or inner is None else rf"{p} {_inside(inner)} + (1 - {p}) \left(1 - {a}\right)"


def _largest(f: Maximum, a: str) -> str | None:
    parts = [_closed(each, a) for each in f.operands]
    return None if None in parts else _set(r"\max", map(str, parts))


def _lines(f: PureDP, a: str, kept: str = "1", floor: str = "") -> str:
    e = _number(f.epsilon_0)
    return rf"\max\left\{{{floor}{kept} - e^{{{e}}} {a}, e^{{-{e}}} \left({kept} - {a}\right)\right\}}"


def _closed(f: Any, a: str) -> str | None:
    """Return f at an argument, where that is a closed form."""
    return _BETA[type(f)](f, a) if type(f) in _BETA else None


# Closed forms of f at an argument.
_BETA: Mapping[type, Callable[[Any, str], str | None]] = {
    Identity: lambda _, a: f"1 - {a}",
    Gaussian: lambda f, a: rf"\Phi\left(\Phi^{{-1}}\left(1 - {a}\right) - {_number(f.mu)}\right)",
    Laplace: _laplace,
    PureDP: _lines,
    TotalVariation: lambda f, a: rf"\max\left\{{0, 1 - {_number(f.delta_0)} - {a}\right\}}",
    LogConcaveShift: _shift,
    PiecewiseLinear: _vertices,
    Subsampled: _mixed,
    Maximum: _largest,
}

_MOST_VERTICES = 7  # of a polygon whose lines are written out: they fill one line of a page
_LONGEST = 1000  # denominator below which a fraction is written as one
_SIZE = 120  # side of a picture in pixels: four lines of text
_ALPHAS = (1 - np.cos(np.linspace(0.0, np.pi, 61))) / 2  # of its points: closer at the ends, where it turns
_TURNS = 6  # rounds of questions: of 2^k slopes each, 63 in all, half of them where the curve is symmetric
_ENOUGH = 3  # rounds without which there is no picture: 7 tangents look like a curve
_SECONDS = 0.5  # time of the processor after which no more is asked: how busy the machine is changes nothing
_FACTORS = 16  # distinct factors up to which one question is quick


def picture(curve: Any) -> str | None:
    """Return a picture of the curve beside its name, as HTML; None where it has symbols, or takes long.

    Its 61 points lie on the largest of certified lines 1 - delta(eps) - e^eps alpha below the curve.
    """
    try:
        beta = None if _is_slow(curve) else _points(curve)
    except Exception:  # noqa: BLE001 - whatever goes wrong in a picture, the name is still there
        return None
    if beta is None:
        return None
    indexed = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", escape(repr(curve)))
    name = re.sub(r"\^(\d+)", r"<sup>\1</sup>", indexed)
    points = " ".join(f"{_SIZE * a:.1f},{_SIZE * (1 - b):.1f}" for a, b in zip(_ALPHAS, beta, strict=True))
    style = 'fill="none" stroke="currentColor"'
    return (
        '<div style="display:flex;align-items:center;gap:1em">'
        f'<svg style="flex:none;width:{_SIZE}px" viewBox="-2 -2 {_SIZE + 4} {_SIZE + 4}" role="img">'
        "<title>type II error against type I error</title>"
        f'<path d="M0 0V{_SIZE}H{_SIZE}" {style} stroke-width="1"/>'
        f'<path d="M0 0L{_SIZE} {_SIZE}" {style} stroke-width="0.7" stroke-dasharray="4 3" opacity="0.5"/>'
        f'<polyline points="{points}" {style} stroke-width="1.8"/></svg><span>{name}</span></div>'
    )


def _is_slow(curve: Any) -> bool:
    """Whether one question may take seconds, or a formula answers."""
    parts = curve.operands if isinstance(curve, Derived) else curve.factors
    return (
        bool(curve.free_symbols)
        or isinstance(curve, Symbolic)
        or (isinstance(curve, BetaOperator) and any(part.composed for part in parts))
        or len(parts) > _FACTORS
        or any(part is not curve and _is_slow(part) for part in parts)
    )


def _points(curve: Any) -> Any:
    """Return beta from below, by lines of slopes that fill the quadrant ever closer; None if too few."""
    end = time.thread_time() + _SECONDS

    def late(*_: int) -> None:
        if time.thread_time() > end:
            raise TimeoutError

    beta, turn = np.zeros(len(_ALPHAS)), 0
    with suppress(TimeoutError):
        while turn < _TURNS:
            share = (np.arange(2**turn) + 0.5) / 2**turn
            slopes = np.tan(share[share >= 0.5 * curve.symmetric] * np.pi / 2)
            start = 1 - curve.bounds.delta(np.log(slopes), progress=late).upper
            for s, c in zip(slopes, start, strict=True):  # lines below f, and of a symmetric f mirrored
                mirrored = (c - _ALPHAS) / s if curve.symmetric else 0.0
                beta = np.maximum(beta, np.maximum(c - s * _ALPHAS, mirrored))
            turn += 1
            late()
    return beta if turn >= _ENOUGH else None
