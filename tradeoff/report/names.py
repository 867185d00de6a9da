"""Names of curves, plans and mechanisms in legends: their parameters in the symbols of papers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np

from tradeoff.baselines import Baseline
from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import assuming
from tradeoff.display import exactly, rounded, typeset_power
from tradeoff.families.gaussian import Gaussian
from tradeoff.gdp import Reduction
from tradeoff.intervals.bounds import Bounds
from tradeoff.limits import ApproximateCurve, BerryEsseen
from tradeoff.mechanisms import Mechanism, Plan, SubsampledGaussian
from tradeoff.operators.subsample import Subsampled
from tradeoff.report.answers import factors
from tradeoff.report.methods import Claim

_SYMBOLS = {
    "noise_multiplier": "σ",
    "sigma": "σ",
    "sample_rate": "q",
    "scale": "b",
    "epsilon": "ε",
    "delta": "δ",
}


def name_items(items: Sequence[Any]) -> list[str]:
    """Return a name for each item, with enough digits that different items have different names.

    Examples
    --------
    >>> import tradeoff as to
    >>> name_items([to.dp_sgd(sigma, sample_rate=256 / 60000, steps=14062) for sigma in (1.1, 0.9)])
    ['DP-SGD σ = 1.1, q = 0.0043, ×14062', 'DP-SGD σ = 0.9, q = 0.0043, ×14062']
    """
    for digits in (2, 4, 6, 17):  # the fewest with which all names differ
        names = [_name(each, digits) for each in items]
        if len(
            {(name, getattr(each, "symmetric", True)) for name, each in zip(names, items, strict=True)}
        ) == len(items):
            break
    return names


def _name(item: Any, digits: int) -> str:
    match item:
        case ApproximateCurve():
            name = f"{item.name} (estimate)"
        case BerryEsseen() | Baseline() | Claim():
            name = item.name
        case Reduction():
            name = mu_name(item)
        case Plan():
            name = _joined([(_mechanism(each, digits), n) for each, n in item.mechanisms.items()])
        case Mechanism():
            name = _mechanism(item, digits)
        case tuple() | Bounds():
            name = "between two curves"
        case TradeOff():
            name = _curve(item, digits)
        case _:
            name = typeset(repr(item).split("\n")[0])
    return name


def _curve(curve: TradeOff, digits: int) -> str:
    """Return the normal form of a curve, of one with sampled Gaussian steps the names of its factors."""
    parts = factors(curve)
    if not any(isinstance(f, Subsampled) and isinstance(f.operands[0], Gaussian) for f in parts):
        return typeset(curve.notation + assuming(curve.assumptions))
    names = []
    for f, n in parts.items():
        match f:
            case Subsampled(operands=(Gaussian(mu=mu),), p=p):
                names.append((_mechanism(SubsampledGaussian(1 / float(mu), float(p)), digits), n))
            case _:
                names.append((typeset(f"{f.notation}^{n}".removesuffix("^1")), 1))
    return _joined(names, " ⊗ ") + assuming(curve.assumptions)


def _mechanism(mechanism: Mechanism, digits: int) -> str:
    """Return the words of a mechanism's class, and the parameters that are not its defaults."""
    kind = type(mechanism)
    words = "DP-SGD" if kind is SubsampledGaussian else re.sub("(?<=[a-z])(?=[A-Z])", " ", kind.__name__)
    defaults = {name: each.default for name, each in signature(kind).parameters.items()}
    given = {k: v for k, v in mechanism.parameters().items() if k != "adjacency" and v != defaults.get(k)}
    texts = (f"{_SYMBOLS.get(k, k.replace('_', ' '))} = {_value(v, digits)}" for k, v in given.items())
    return f"{words} {', '.join(texts)}".strip()


def _value(value: Any, digits: int) -> str:
    if isinstance(value, Mechanism):
        return _mechanism(value, digits)
    if not isinstance(value, float):
        return typeset(value.notation if isinstance(value, TradeOff) else str(value))
    text = f"{value:.12g}"
    return number(float(text if len(text) <= 6 else f"{value:.{digits}g}"))


def _joined(parts: list[tuple[str, int]], sign: str = " and ") -> str:
    if len(parts) > 3:  # more do not fit into a legend
        return f"composition of {len(parts)} kinds of mechanisms"
    return sign.join(f"{name}, ×{n}" if n > 1 else name for name, n in parts) or "no mechanism"


def mu_name(reduction: Reduction) -> str:
    """Return the name of the Gaussian curve of a reduction."""
    return f"μ = {number(float(rounded(reduction.mu, 'upper', 4)))}, failure {number(reduction.failure)}"


def number(value: float) -> str:
    """Write a number with all its digits, a small one as a power of ten for matplotlib.

    Examples
    --------
    >>> number(0.5), number(1e-6)
    ('0.5', '$10^{-6}$')
    """
    if value == 0 or abs(value) >= 1e-3:
        return exactly(value)
    power = typeset_power(np.format_float_scientific(value, trim="-"), r"\times")
    return f"${power}$"


def typeset(name: str) -> str:
    """Set G_{0.5} and Lap_{0.1}^50 in a curve's normal form as formulas, and cut a name after two lines."""
    if match := re.fullmatch(r"either-order envelope of \[(.*)\]", name):
        name = f"{match[1]}, either order"
    # 88 characters are two lines below a column
    short = textwrap.shorten(name, 88 + name.count("_{"), placeholder=" …")  # braces take no space

    def formula(match: re.Match[str]) -> str:
        base, index, power, alone = match.groups()
        exponent = f"^{{{power or alone}}}" if power or alone else ""
        return f"${exponent}$" if base is None else rf"$\mathrm{{{base}}}_{{{index}}}{exponent}$"

    return re.sub(r"([A-Za-z]+)_\{([^{}$\s]*)\}(?:\^(\d+))?|\^(\d+)", formula, short)
