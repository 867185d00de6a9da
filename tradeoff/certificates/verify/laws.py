"""Laws of L rebuilt from their descriptions, as parts; nothing here comes from what answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from flint import arb, ctx, fmpq

from tradeoff.certificates.certificate import Description
from tradeoff.certificates.verify.parts import MOST, Atoms, Bell, Comb, Part
from tradeoff.certificates.verify.report import require
from tradeoff.certificates.verify.shifts import (
    GeneralisedNormal,
    Gumbel,
    HyperbolicSecant,
    Logistic,
    Noise,
    Shift,
    Slab,
)

Law = tuple[Part, ...]

_WRITTEN = 2.0**-53  # relative rounding of numbers in a certificate
_OFF = 2.0**-20  # most that masses may miss 1 by, however many units the logarithms of the faintest have


def law(what: Description) -> Law:
    """Return the law of a description, in the precision of the context."""
    make, _ = _LAWS[what["kind"]]
    return make(what)


def told(what: Description) -> None:
    """Require a description to say nothing that is not read."""
    kind = what["kind"]
    require("law", kind in _LAWS, f"{kind!r} is none of {', '.join(_LAWS)}")
    _, read = _LAWS[kind]
    require("law", what.keys() <= {"kind", *read.split()}, f"{kind} has the parameters {sorted(what)}")
    for each in (what.get("base"), *(law for _, law in what.get("parts", ()))):
        if each is not None:
            told(each)


def at_infinity(parts: Law, side: int) -> arb:
    """Return P(L = -inf) (side 0) or Q(L = inf) (side 1)."""
    pairs = [pair for part in parts if isinstance(part, Atoms) for pair in zip(part.p, part.q, strict=True)]
    return sum((pair[side] for pair in pairs if pair[1 - side].is_zero()), arb(0))


def discrete(parts: Law) -> bool:
    """Whether all its losses can be listed."""
    return all(isinstance(part, Atoms | Comb) for part in parts)


def real(number: Any, name: str, low: float = -math.inf) -> arb:
    """Return a number above ``low`` that is one: no text, of which Arb makes balls, and not infinite."""
    good = isinstance(number, int | float) and math.isfinite(number) and number > low
    require(name, good, f"{number!r} is no finite number above {low:g}")
    return arb(number)


def _rational(text: Any) -> arb:
    value = Fraction(text)
    return arb(fmpq(value.numerator, value.denominator))


def bell(mu: arb) -> Law:
    """Return two normal laws mu apart."""
    return (Bell((arb(1), arb(0)), (arb(0), arb(1)), True, (arb(0), mu)),)


def _shift_of(what: Description) -> arb:
    """Return mu of a Gaussian, of which that or its square is recorded."""
    require("mu", ("mu" in what) != ("square" in what), f"{what!r} has not just one of mu and square")
    if "mu" in what:
        return real(what["mu"], "mu", 0.0)
    square = _rational(what["square"])
    require("square", square > 0, f"{what!r} has no positive square")
    return square.sqrt()


def square_of(what: Description) -> arb | None:
    """Return the square of mu of a Gaussian, whose orders are one; None of another law."""
    same = what["base"] if what["kind"] == "reversed" else what
    return _shift_of(same) ** 2 if same["kind"] == "gaussian" else None


def _mixtures(what: Description) -> Law:
    m, p, q = ([Fraction(text) for text in what[name]] for name in ("means", "p", "q"))
    require("means", all(a < b for a, b in pairwise(m)) and len(m) > 1, "the means do not rise")
    for name, side in (("p", p), ("q", q)):
        require(name, min(side) >= 0 and sum(side) == 1 and len(side) == len(m), "the weights are none")
    turns = [q[j] * p[i] - q[i] * p[j] for i, j in combinations(range(len(m)), 2)]
    require("means", min(turns) >= 0, "the ratio of the mixtures does not rise")
    return (Bell(tuple(map(_rational, p)), tuple(map(_rational, q)), True, tuple(map(_rational, m))),)


def _laplace(what: Description) -> Law:
    e = real(what["epsilon"], "epsilon", 0.0)
    far = (-e).exp() / 2
    slab = Slab((arb(1), arb(0)), (arb(0), arb(1)), True, e)
    return Atoms((arb(1) / 2, far), (far, arb(1) / 2)), slab


def _response(what: Description) -> Law:
    far = (-real(what["epsilon"], "epsilon", 0.0)).exp()
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
    sigma, shift = real(what["sigma"], "sigma", 0.0), what["shift"]
    require("shift", isinstance(shift, int) and shift > 0, f"{shift!r} is not a positive integer")
    means, step = (arb(0), shift / sigma), 1 / sigma
    return (Comb((arb(1), arb(0)), (arb(0), arb(1)), True, means, step, _theta(step).log()),)


def _theta(step: arb) -> arb:
    """Return sum over all k of e^(-(k step)^2/2)."""
    last = math.ceil((2 * ctx.prec) ** 0.5 / float(step)) + 2
    require("sigma", last < MOST, f"integer noise of {2 * last} atoms is more than {2 * MOST}")
    terms = [(-((k * step) ** 2) / 2).exp() for k in range(1, last + 1)]
    ratio = (-(last * step) * step).exp()
    return 1 + 2 * (sum(terms, arb(0)) + arb(0).union(terms[-1] * ratio / (1 - ratio)))


def _written(what: Description) -> Law:
    """Return atoms; their masses under P add to 1, and under Q: sum p (e^loss - 1) = P(-inf) - Q(inf).

    They do so when divided by what they add to: of a law whose masses miss 1 by a unit a power says nothing.
    Small losses are differences of masses, which the masses alone do not hold: a loss known to units of log p
    only, not of itself, shows here. Allowed are a few units of every number written.
    """
    p_minus, q_plus = real(what["p_minus"], "p_minus"), real(what["q_plus"], "q_plus")
    require("q_plus", p_minus >= 0 and q_plus >= 0, "a mass at infinity is negative")
    p, q, lost, change = [p_minus, arb(0)], [arb(0), q_plus], 1 - p_minus, q_plus - p_minus
    unsure, allowed = 64 * p_minus, 64 * (p_minus + q_plus)
    for written, at in zip(what["log_p"], what["loss"], strict=True):
        log_p, loss = real(written, "log_p"), real(at, "loss")
        p, q, units = [*p, log_p.exp()], [*q, (log_p + loss).exp()], 16 + 4 * abs(log_p)
        more = q[-1] - p[-1] if loss > 1 else p[-1] * loss.expm1()  # e^loss may be too large for its product
        lost, change = lost - p[-1], change + more
        unsure += p[-1] * units
        allowed += abs(more) * units + 16 * abs(loss) * q[-1]  # by the derivatives in log p and in the loss
    for name, off, most in (("log_p", lost, unsure), ("loss", change, allowed)):
        allows = (most * _WRITTEN + arb(1e-290)).min(_OFF)
        require(name, abs(off) <= allows, f"masses are off by {float(off)!r}")
    return (Atoms(_shares(p), _shares(q)),)


def _shares(masses: Sequence[arb]) -> tuple[arb, ...]:
    """Return what masses are of their sum, which is 1 but for roundings."""
    total = sum(masses, arb(0))
    return tuple(mass / total for mass in masses)


def _masses(what: Description) -> Law:
    """Return atoms with fractions for masses, which add to 1 under P and under Q."""
    for side in ("p", "q"):
        each = [Fraction(mass) for mass in what[side]]
        require(side, min(each) >= 0 and sum(each) == 1, "the masses are no law")
    p, q = zip(*zip(what["p"], what["q"], strict=True), strict=True)
    return (Atoms(tuple(map(_rational, p)), tuple(map(_rational, q))),)


def _shift(what: Description) -> Law:
    theta = _rational(what["theta"])
    require("theta", theta > 0, f"{what['theta']!r} is not positive")
    require("power", ("power" in what) == (what["density"] == "gennorm"), f"{what!r} is no law")
    power = [real(what["power"], "power", 1.0)] if "power" in what else []
    return (Shift((arb(1), arb(0)), (arb(0), arb(1)), _NOISES[what["density"]](theta, *power)),)


# Laws of X, by their names in SciPy, at scale 1.
_NOISES: dict[str, Callable[..., Noise]] = {
    "logistic": Logistic,
    "hypsecant": HyperbolicSecant,
    "gumbel": Gumbel,
    "gennorm": GeneralisedNormal,
}


def _thinned(what: Description) -> Law:
    r = real(what["p"], "p", 0.0)
    require("p", r <= 1, f"{what['p']!r} is above 1")
    return tuple(part.changed(lambda a, b: (a, (1 - r) * a + r * b)) for part in law(what["base"]))


def _mixed_laws(what: Description) -> Law:
    found: list[Part] = []
    weights = [real(weight, "parts", 0.0) for weight, _ in what["parts"]]
    off = abs(sum(weights, arb(0)) - 1)
    require("parts", off <= 4 * len(weights) * _WRITTEN, f"the weights are off by {float(off)!r}")
    for w, (_, each) in zip(_shares(weights), what["parts"], strict=True):
        found += [part.changed(lambda a, b, w=w: (w * a, w * b)) for part in law(each)]  # type: ignore[misc]  # a default of a lambda has no type
    return tuple(found)


# How each law is made, and what it is told by.
_LAWS: dict[str, tuple[Callable[[Description], Law], str]] = {
    "gaussian": (lambda what: bell(_shift_of(what)), "mu square"),
    "gaussian mixtures": (_mixtures, "means p q"),
    "laplace": (_laplace, "epsilon"),
    "response": (_response, "epsilon"),
    "rounds": (_rounds, "epsilon rounds"),
    "discrete gaussian": (_discrete_gaussian, "sigma shift"),
    "atoms": (_written, "loss log_p p_minus q_plus"),
    "masses": (_masses, "p q"),
    "shift": (_shift, "density theta power"),
    "thinned": (_thinned, "p base"),
    "reversed": (lambda what: tuple(part.turned() for part in law(what["base"])), "base"),
    "mixed": (_mixed_laws, "parts"),
}
