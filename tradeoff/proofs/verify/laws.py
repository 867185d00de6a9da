"""Laws of the privacy loss rebuilt from their descriptions, as parts in ball arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from flint import arb, ctx, fmpq

from tradeoff.proofs.certificate import Description
from tradeoff.proofs.verify.parts import MAX_ATOMS, Atoms, Bell, Part, Slab
from tradeoff.proofs.verify.report import require

Law = tuple[Part, ...]

_MASS_TOLERANCE = 2.0**-20  # by which masses that are written as logarithms may miss a total of 1
_WEIGHT_TOLERANCE = 2.0**-50  # by which the weights of a mixture may miss 1, for each of them
_MAX_NESTING = 16  # laws inside laws


def read_law(description: Description, depth: int = 0) -> Law:
    """Return the law of a description, in the precision of the context; no key may be left unread."""
    kind = description["kind"]
    known = {
        **_LAWS,
        "thinned": (None, ("p", "base")),
        "reversed": (None, ("base",)),
        "mixed": (None, ("parts",)),
    }
    require("law", kind in known, f"kind must be one of {', '.join(known)}, got {kind!r}")
    require("law", depth < _MAX_NESTING, f"laws must be nested at most {_MAX_NESTING} deep")
    make, keys = known[kind]
    require("law", description.keys() <= {"kind", *keys}, f"{kind} has unknown keys: {sorted(description)}")
    if make is not None:
        return make(description)
    if kind == "mixed":
        weights = [real(weight, "parts", 0.0) for weight, _ in description["parts"]]
        off, most = float(abs(sum(weights, arb(0)) - 1)), len(weights) * _WEIGHT_TOLERANCE
        require("parts", off <= most, f"weights must add to 1, and miss it by {off!r}")
        shares = zip(_shares(weights), description["parts"], strict=True)
        return tuple(part.mapped(w, w * 0, w) for w, (_, law) in shares for part in read_law(law, depth + 1))
    base = read_law(description["base"], depth + 1)
    if kind == "reversed":
        return tuple(part.swapped() for part in base)
    r = real(description["p"], "p", 0.0)
    require("p", r <= 1, f"must be in (0, 1], got {description['p']!r}")
    return tuple(part.mapped(arb(1), 1 - r, r) for part in base)


def infinite_mass(parts: Law) -> arb:
    """Return Q(L = inf)."""
    pairs = [pair for part in parts if isinstance(part, Atoms) for pair in zip(part.p, part.q, strict=True)]
    return sum((q for p, q in pairs if p.is_zero()), arb(0))


def real(number: Any, name: str, low: float = -math.inf) -> arb:
    """Return a finite number above ``low``."""
    finite = type(number) in {int, float} and math.isfinite(number) and number > low
    require(name, finite, f"must be a finite number above {low:g}, got {number!r}")
    return arb(number)


def _rational(text: Any) -> arb:
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


def gaussian_square(description: Description) -> arb | None:
    """Return the square of mu of a Gaussian in either order, or None of another law."""
    while description["kind"] == "reversed":
        description = description["base"]
    if description["kind"] != "gaussian":
        return None
    once = description.keys() in ({"kind", "mu"}, {"kind", "square"})
    require("mu", once, "must be given once, or its square")
    square = (
        _rational(description["square"])
        if "square" in description
        else real(description["mu"], "mu", 0.0) ** 2
    )
    require("square", square > 0, f"must be positive, got {description!r}")
    return square


def _gaussian(description: Description) -> Law:
    square = gaussian_square(description)
    assert square is not None  # noqa: S101 - by its kind
    return (Bell((arb(1), arb(0)), (arb(0), arb(1)), rising=True, means=(arb(0), square.sqrt())),)


def _mixtures(description: Description) -> Law:
    m, p, q = ([Fraction(text) for text in description[name]] for name in ("means", "p", "q"))
    require("means", all(a < b for a, b in pairwise(m)) and len(m) > 1, "must increase")
    for name, side in (("p", p), ("q", q)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(side) == len(m), "must be weights of sum 1")
    determinants = [q[j] * p[i] - q[i] * p[j] for i, j in combinations(range(len(m)), 2)]
    require("means", min(determinants) >= 0, "the ratio of the weights must increase")
    return (Bell(tuple(map(_rational, p)), tuple(map(_rational, q)), True, tuple(map(_rational, m))),)


def _laplace(description: Description) -> Law:
    e = real(description["epsilon"], "epsilon", 0.0)
    far = (-e).exp() / 2
    slab = Slab((arb(1), arb(0)), (arb(0), arb(1)), True, e)
    return Atoms((arb(1) / 2, far), (far, arb(1) / 2)), slab


def _response(description: Description) -> Law:
    far = (-real(description["epsilon"], "epsilon", 0.0)).exp()
    near = 1 / (1 + far)
    return (Atoms((near, far * near), (far * near, near)),)


def _discrete_gaussian(description: Description) -> Law:
    sigma, shift = real(description["sigma"], "sigma", 0.0), description["shift"]
    require("shift", type(shift) is int and shift > 0, f"must be a positive integer, got {shift!r}")
    reach = math.ceil(float(sigma) * math.sqrt(1.4 * ctx.prec)) + 1  # deviations beyond which 2^-prec lies
    few = reach + shift < MAX_ATOMS // 2
    require("sigma", few, f"integer noise of {2 * reach} atoms is more than {MAX_ATOMS}")
    terms = [(-((arb(k) / sigma) ** 2) / 2).exp() for k in range(reach + shift + 1)]
    ratio = (-reach / sigma**2).exp()
    rest = arb(0).union(2 * terms[reach] * ratio / (1 - ratio))
    total = terms[0] + 2 * sum(terms[1 : reach + 1], arb(0)) + rest
    each = [terms[abs(k)] / total for k in range(-reach - shift, reach + shift + 1)]
    return (Atoms(tuple(each[shift:]), tuple(each[:-shift]), (rest / total).upper()),)


def _atoms(description: Description) -> Law:
    """Return atoms by log_p and the loss, whose masses are divided by their sums under P and under Q."""
    infinite = [real(description[f"mass_at_{side}_infinity"], side) for side in ("minus", "plus")]
    require("mass_at_infinity", min(infinite) >= 0, "masses at infinity must not be negative")
    p, q = [infinite[0], arb(0)], [arb(0), infinite[1]]
    for written, at in zip(description["log_p"], description["loss"], strict=True):
        log_p = real(written, "log_p")
        p, q = [*p, log_p.exp()], [*q, (log_p + real(at, "loss")).exp()]
    for name, side in (("log_p", p), ("loss", q)):
        off = float(abs(sum(side, arb(0)) - 1).upper())
        require(name, off <= _MASS_TOLERANCE, f"masses must add to 1, and miss it by {off!r}")
    return (Atoms(_shares(p), _shares(q)),)


def _shares(masses: Sequence[arb]) -> tuple[arb, ...]:
    total = sum(masses, arb(0))
    return tuple(mass / total for mass in masses)


def _masses(description: Description) -> Law:
    for side in ("p", "q"):
        each = [Fraction(mass) for mass in description[side]]
        require(side, min(each) >= 0 and sum(each) == 1, "must be masses of sum 1")
    pairs = [(_rational(a), _rational(b)) for a, b in zip(description["p"], description["q"], strict=True)]
    p, q = zip(*pairs, strict=True)
    return (Atoms(p, q),)


# The reader of each kind of law that is not made of others, and the keys that it reads.
_LAWS: dict[str, tuple[Callable[[Description], Law], tuple[str, ...]]] = {
    "gaussian": (_gaussian, ("mu", "square")),
    "gaussian mixtures": (_mixtures, ("means", "p", "q")),
    "laplace": (_laplace, ("epsilon",)),
    "response": (_response, ("epsilon",)),
    "discrete gaussian": (_discrete_gaussian, ("sigma", "shift")),
    "atoms": (_atoms, ("loss", "log_p", "mass_at_minus_infinity", "mass_at_plus_infinity")),
    "masses": (_masses, ("p", "q")),
}
