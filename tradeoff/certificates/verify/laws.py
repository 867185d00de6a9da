"""Laws of L rebuilt from their descriptions, as parts; nothing here comes from what answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from flint import arb, fmpq

from tradeoff.certificates.description import Description
from tradeoff.certificates.verify.parts import MOST, Atoms, Bell, Comb, Part, Slab, theta
from tradeoff.certificates.verify.report import require

Law = tuple[Part, ...]


def law(what: Description) -> Law:
    """Return the law of a description, in the precision of the context."""
    return _MAKE[what["kind"]](what)


def at_infinity(parts: Law, side: int) -> arb:
    """Return P(L = -inf) (side 0) or Q(L = inf) (side 1)."""
    pairs = [pair for part in parts if isinstance(part, Atoms) for pair in zip(part.p, part.q, strict=True)]
    return sum((pair[side] for pair in pairs if pair[1 - side].is_zero()), arb(0))


def _rational(text: Any) -> arb:
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


def _positive(what: Description, name: str) -> arb:
    value = arb(what[name])
    require(name, value > 0 and value.is_finite(), f"{what[name]!r} is not positive")
    return value


def _gaussian(what: Description) -> Law:
    return (Bell((arb(1), arb(0)), (arb(0), arb(1)), True, (arb(0), _positive(what, "mu"))),)


def _mixtures(what: Description) -> Law:
    m, p, q = ([Fraction(text) for text in what[name]] for name in ("means", "p", "q"))
    require("means", all(a < b for a, b in pairwise(m)) and len(m) > 1, "the means do not rise")
    for name, side in (("p", p), ("q", q)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(side) == len(m), "the weights are none")
    turns = [q[j] * p[i] - q[i] * p[j] for i, j in combinations(range(len(m)), 2)]
    require("means", min(turns) >= 0, "the ratio of the mixtures does not rise")
    return (Bell(tuple(map(_rational, p)), tuple(map(_rational, q)), True, tuple(map(_rational, m))),)


def _laplace(what: Description) -> Law:
    e = _positive(what, "epsilon")
    far = (-e).exp() / 2
    slab = Slab((arb(1), arb(0)), (arb(0), arb(1)), True, e)
    return Atoms((arb(1) / 2, far), (far, arb(1) / 2)), slab


def _response(what: Description) -> Law:
    far = (-_positive(what, "epsilon")).exp()
    near = 1 / (1 + far)
    return (Atoms((near, far * near), (far * near, near)),)


def _rounds(what: Description) -> Law:
    n, (one,) = int(what["rounds"]), _response(what)
    require("rounds", 0 < n < MOST and n == what["rounds"], f"{what['rounds']!r} is not in [1, {MOST})")
    ways = list(binomial(one.p, n))
    return (Atoms(tuple(ways), tuple(reversed(ways))),)


def binomial(masses: Sequence[arb], n: int) -> Iterator[arb]:
    """Yield C(n, k) masses_0^(n-k) masses_1^k."""
    term, ratio = masses[0] ** n, masses[1] / masses[0]
    for k in range(n + 1):
        yield term
        term = term * ratio * (n - k) / (k + 1)


def _discrete_gaussian(what: Description) -> Law:
    sigma, shift = _positive(what, "sigma"), what["shift"]
    require("shift", isinstance(shift, int) and shift > 0, f"{shift!r} is not a positive integer")
    means, step = (arb(0), shift / sigma), 1 / sigma
    return (Comb((arb(1), arb(0)), (arb(0), arb(1)), True, means, step, theta(step).log()),)


def _written(what: Description) -> Law:
    logs = list(zip(what["log_p"], what["loss"], strict=True))
    p = [arb(a).exp() for a, _ in logs] + [arb(what["p_minus"]), arb(0)]
    q = [(arb(a) + arb(loss)).exp() for a, loss in logs] + [arb(0), arb(what["q_plus"])]
    return (Atoms(tuple(p), tuple(q)),)


def _thinned(what: Description) -> Law:
    r = _positive(what, "p")
    require("p", r <= 1, f"{what['p']!r} is above 1")
    return tuple(part.changed(lambda a, b: (a, (1 - r) * a + r * b)) for part in law(what["base"]))


def _reversed(what: Description) -> Law:
    return tuple(part.turned() for part in law(what["base"]))


def _mixed_laws(what: Description) -> Law:
    found: list[Part] = []
    for weight, each in what["parts"]:
        w = arb(weight)
        require("parts", w > 0, f"{weight!r} is no weight")
        found += [part.changed(lambda a, b, w=w: (w * a, w * b)) for part in law(each)]  # type: ignore[misc]  # a default of a lambda has no type
    return tuple(found)


_MAKE: dict[str, Callable[[Description], Law]] = {
    "gaussian": _gaussian,
    "gaussian mixtures": _mixtures,
    "laplace": _laplace,
    "response": _response,
    "rounds": _rounds,
    "discrete gaussian": _discrete_gaussian,
    "atoms": _written,
    "thinned": _thinned,
    "reversed": _reversed,
    "mixed": _mixed_laws,
}
