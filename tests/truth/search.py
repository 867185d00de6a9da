"""Suprema of concave functions and roots of falling ones, enclosed."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from tests.truth.balls import ENOUGH, hull, positive

Function = Callable[[arb], arb]

FAR = arb(2) ** 60
"""Places beyond which no crossing is looked for."""

ROUNDS = 400
"""Halvings after which a search stops where it is; its ball is then as wide as the bracket."""


def small(width: arb, value: arb) -> bool:
    """Whether a width is below what a float could notice."""
    return bool(width <= abs(value) * arb(2) ** -ENOUGH)


def arithmetic(a: arb, b: arb) -> arb:
    """Return the middle of two numbers."""
    return ((a + b) / 2).mid()


def geometric(a: arb, b: arb) -> arb:
    """Return the middle of two positive numbers in orders of magnitude."""
    return ((a.log() + b.log()) / 2).exp().mid()


def greatest(g: Function, low: arb, high: arb, middle: Callable[[arb, arb], arb] = arithmetic) -> arb:
    """Enclose the supremum of a concave g over [low, high].

    With m between l and r, g lies left of m below the secant through m and r, and right of m below the one
    through l and m: the supremum is at most g(m) + max{(g(m) - g(r)) (m - l)/(r - m), (g(m) - g(l)) (r -
    m)/(m - l)}. Where balls do not decide on which side it is, the same secants bound the rest.
    """
    left, right = low, high
    at_left, at_right, best = g(left), g(right), middle(left, right)
    at_best = aside = g(best)
    for _ in range(ROUNDS):
        below, above = middle(left, best), middle(best, right)
        at_below, at_above = g(below), g(above)
        if at_below > at_best:
            right, at_right, best, at_best = best, at_best, below, at_below
        elif at_above > at_best:
            left, at_left, best, at_best = best, at_best, above, at_above
        else:
            if not (at_below <= at_best and at_above <= at_best):
                aside = aside.max(at_below + positive(at_below - at_best) * (below - left) / (best - below))
                aside = aside.max(at_above + positive(at_above - at_best) * (right - above) / (above - best))
            left, at_left, right, at_right = below, at_below, above, at_above
        rise = (at_best - at_right) * (best - left) / (right - best)
        fall = (at_best - at_left) * (right - best) / (best - left)
        room = rise.max(fall).max(arb(0))
        if small(room, at_best) or not room.is_finite() or aside > at_best + room:
            break
    return hull(at_best, (at_best + room).max(aside))


def crossing(falling: Function, level: arb) -> arb:
    """Enclose inf{x : g(x) <= level} of a falling g on the line, by doubling and halving; NaN if far out."""
    low, high = arb(-1), arb(1)
    while not falling(low) > level and low > -FAR:
        low *= 2
    while not falling(high) <= level and high < FAR:
        high *= 2
    if not (falling(low) > level and falling(high) <= level):
        return arb.nan()
    for _ in range(ROUNDS):
        x = arithmetic(low, high)
        value = falling(x)
        if value > level:
            low = x
        elif value <= level:
            high = x
        else:
            break
        if small(high - low, x):
            break
    return hull(low, high)
