"""Curves in a notebook: normal form and closed form as LaTeX, and a small picture with the name."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from html import escape
from itertools import permutations
from typing import Any

import numpy as np

from tradeoff.curves.contract import Derived
from tradeoff.curves.parameters import written as parameter
from tradeoff.curves.product import Tensor
from tradeoff.display import typeset_power
from tradeoff.families.approximate_dp import Identity, PureDP, TotalVariation
from tradeoff.families.gaussian import Gaussian
from tradeoff.families.laplace import Laplace
from tradeoff.operators.pointwise import HullOfMinimum, Maximum
from tradeoff.operators.subsample import Subsampled
from tradeoff.operators.symmetrise import Envelope
from tradeoff.operators.tabulate import BetaOperator
from tradeoff.operators.unary import Inverse
from tradeoff.symbolic.formula import Symbolic


def latex(curve: Any) -> str:
    """Return the normal form as LaTeX without dollars; a curve without a notation is text."""
    if type(curve) in _FORMS:
        return _FORMS[type(curve)](curve)
    if hasattr(type(curve), "pattern"):
        name = re.sub("[A-Z][a-z]+|BR", r"\\mathrm{\g<0>}", curve.pattern).replace(",", ", ")
        return name % _number(getattr(curve, curve.parameter))
    if isinstance(curve, Derived):
        flat = (", ".join(map(str, p)) if isinstance(p, tuple) else str(p) for p in curve.parameters)
        inside = [*map(latex, curve.operands), *map(_text, flat)]
        return rf"\operatorname{{{curve.name}}}{_brackets(*inside)}"
    return _text(curve.notation)


def equation(curve: Any) -> str:
    """Return the normal form, and f(alpha) where that is a closed form, as LaTeX without dollars."""
    if isinstance(curve, Symbolic):
        return rf"f\left({_number(curve.alpha)}\right) = {latex(curve)}"
    f, delta = _split_delta(curve)
    mass = "1" if delta is None else f"1 - {_number(delta)}"
    if isinstance(f, PureDP):
        e, floor = _number(f.epsilon_0), "" if delta is None else "0, "
        lines = rf"{mass} - e^{{{e}}} \alpha, e^{{-{e}}} \left({mass} - \alpha\right)"
        beta = rf"\max\left\{{{floor}{lines}\right\}}"
    elif type(f) not in _BETA:
        return latex(curve)
    elif delta is None:
        beta = _BETA[type(f)](f, r"\alpha")
    else:
        inner = _BETA[type(f)](f, rf"\frac{{\alpha}}{{{mass}}}")
        beta = rf"\left({mass}\right) {_brackets(inner)} \text{{ where }} \alpha \le {mass}"
    return rf"{latex(curve)}:\quad f(\alpha) = {beta}"


def _split_delta(curve: Any) -> tuple[Any, Any]:
    """Return f and delta of f (x) f_{0,delta}, or the curve and None."""
    if isinstance(curve, Tensor) and sorted(curve.factors.values()) == [1, 1]:
        for f, other in permutations(curve.factors):
            if isinstance(other, TotalVariation):
                return f, other.delta_0
    return curve, None


def _number(value: Any, *, bracket: bool = True) -> str:
    """Write a parameter with six digits, as a short fraction, or as SymPy does, a sum in brackets."""
    if isinstance(value, Fraction) and 1 < value.denominator < 1000:  # longer ones as decimals
        return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    if getattr(value, "free_symbols", ()):
        import sympy

        # Names that a page would read as HTML or as a link.
        unsafe = r"[<>&$#%~]|\\(href|html|class|style|css|require)"
        names = {s: _text(s.name) for s in value.free_symbols if re.search(unsafe, s.name)}
        written = str(sympy.latex(value, symbol_names=names))
        return _brackets(written) if value.is_Add and bracket else written
    text = f"{float(value):.6g}" if hasattr(value, "xreplace") else parameter(value)
    return typeset_power(text).replace("inf", r"\infty")


def _text(words: str) -> str:
    r"""Return words as \text{...}; characters with a meaning in LaTeX are outside of it."""
    # Characters that a backslash does not escape.
    signs = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim ", "<": r"\lt ", ">": r"\gt "}
    inner = re.sub(
        r"[\\{}_^$&#%~<>]", lambda sign: rf"}}{signs.get(sign[0], chr(92) + sign[0])}\text{{", words
    )
    return rf"\text{{{inner}}}"


def _brackets(*parts: str) -> str:
    """Return parts, separated by commas, in brackets as high as they are."""
    return rf"\left({', '.join(parts)}\right)"


def _power(curve: Any, exponent: str) -> str:
    """Return a power, in brackets where the base has a power or is a sum or a product."""
    base = latex(curve)
    has_symbol = isinstance(curve, Identity) or hasattr(type(curve), "pattern")
    single = has_symbol or (isinstance(curve, Subsampled) and not curve.flipped)
    return f"{base if single else _brackets(base)}^{{{exponent}}}"


def _product(curve: Tensor) -> str:
    r"""Return f_{epsilon,delta} for pure and total variation together, else f^{\otimes n} of all factors."""
    f, delta = _split_delta(curve)
    if isinstance(f, PureDP):
        return rf"f_{{{_number(f.epsilon_0)}, {_number(delta)}}}"
    powers = (_power(f, rf"\otimes {n}") if n > 1 else latex(f) for f, n in curve.factors.items())
    return r" \otimes ".join(powers)


def _subsampled(curve: Subsampled) -> str:
    p = _number(curve.p)
    one_order = rf"\left({p}\, {latex(curve.operands[0])} + (1 - {p})\, \mathrm{{Id}}\right)"
    return f"{one_order}^{{-1}}" if curve.flipped else one_order


def _envelope(curve: Envelope) -> str:
    """Return C_p(f) of a sampled symmetric f, else min{f, f^-1}**."""
    f = curve.operands[0]
    if isinstance(f, Subsampled) and f.operands[0].symmetric:
        return rf"C_{{{_number(f.p)}}}{_brackets(latex(f.operands[0]))}"
    return rf"\min\left\{{\,\cdot\,, \cdot^{{-1}}\right\}}^{{**}}{_brackets(latex(f))}"


# LaTeX of a curve, in the notation of the literature (Dong, Roth, Su 2022), by its class.
_FORMS: Mapping[type, Callable[[Any], str]] = {
    Identity: lambda _: r"\mathrm{Id}",
    Symbolic: lambda f: _number(f.expr, bracket=False),
    Tensor: _product,
    Subsampled: _subsampled,
    Envelope: _envelope,
    Inverse: lambda f: _power(f.operands[0], "-1"),
    Maximum: lambda f: rf"\max\left\{{{', '.join(map(latex, f.operands))}\right\}}",
    HullOfMinimum: lambda f: rf"\min\left\{{{', '.join(map(latex, f.operands))}\right\}}^{{**}}",
}


# LaTeX of f(a) in closed form, by the class of f, with the LaTeX of a.
_BETA: Mapping[type, Callable[[Any, str], str]] = {
    Identity: lambda _, a: f"1 - {a}",
    Gaussian: lambda f, a: rf"\Phi\left(\Phi^{{-1}}\left(1 - {a}\right) - {_number(f.mu)}\right)",
    Laplace: lambda f, a: (
        rf"\begin{{cases}} 1 - e^{{\varepsilon}} {a} & {a} < e^{{-\varepsilon}}/2 \\ "
        rf"e^{{-\varepsilon}} / \left(4 {a}\right) & e^{{-\varepsilon}}/2 \le {a} \le 1/2 \\ "
        rf"e^{{-\varepsilon}} \left(1 - {a}\right) & {a} > 1/2 \end{{cases}}"
    ).replace(r"\varepsilon", _number(f.epsilon_0)),
    TotalVariation: lambda f, a: rf"\max\left\{{0, 1 - {_number(f.delta_0)} - {a}\right\}}",
}

_ALPHAS = (1 - np.cos(np.linspace(0.0, np.pi, 61))) / 2  # of a picture: closer at the ends, where curves bend


def picture(curve: Any) -> str | None:
    """Return a picture of certified lines below the curve, with its name, as HTML; None if it is slow.

    The lines are 1 - delta(log s) - s alpha at 63 slopes s. It is None for curves with symbols, too.
    """
    end = time.thread_time() + 0.5  # processor time, which does not depend on other programs

    def stop_late(*_: int) -> None:
        if time.thread_time() > end:
            raise TimeoutError

    if _is_slow(curve):
        return None
    share = (np.arange(63) + 0.5) / 63  # fewer tangents do not look like a curve
    slopes = np.tan(share[share >= 0.5 * curve.symmetric] * np.pi / 2)[:, None]
    try:
        start = 1 - curve.bounds.delta(np.log(slopes), progress=stop_late).upper
    except Exception:  # noqa: BLE001 - a picture that fails, or takes too long, must not hide the name
        return None
    lines = start - slopes * _ALPHAS  # below f, and of a symmetric f mirrored
    mirrored = (start - _ALPHAS) / slopes if curve.symmetric else 0.0
    beta = np.max(np.maximum(lines, mirrored), axis=0, initial=0.0)
    indexed = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", escape(repr(curve)))
    name = re.sub(r"\^(\d+)", r"<sup>\1</sup>", indexed)
    size = 120  # pixels of a side: four lines of text
    points = " ".join(f"{size * a:.1f},{size * (1 - b):.1f}" for a, b in zip(_ALPHAS, beta, strict=True))
    style = 'fill="none" stroke="currentColor"'
    return (
        '<div style="display:flex;align-items:center;gap:1em">'
        f'<svg style="flex:none;width:{size}px" viewBox="-2 -2 {size + 4} {size + 4}" role="img">'
        "<title>type II error against type I error</title>"
        f'<path d="M0 0V{size}H{size}" {style} stroke-width="1"/>'
        f'<path d="M0 0L{size} {size}" {style} stroke-width="0.7" stroke-dasharray="4 3" opacity="0.5"/>'
        f'<polyline points="{points}" {style} stroke-width="1.8"/></svg><span>{name}</span></div>'
    )


def _is_slow(curve: Any) -> bool:
    """Return whether one question may take seconds, or only a formula answers."""
    parts = curve.operands if isinstance(curve, Derived) else curve.factors
    return (
        bool(curve.free_symbols)
        or isinstance(curve, Symbolic)
        or (isinstance(curve, BetaOperator) and any(part.composed for part in parts))
        or len(parts) > 16  # one question of more is slow
        or any(part is not curve and _is_slow(part) for part in parts)
    )
