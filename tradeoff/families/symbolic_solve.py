"""Closed forms SymPy finds for inverses and profiles; none is returned before it agrees with numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np

from tradeoff.errors import NoClosedForm
from tradeoff.families.later import sympy
from tradeoff.families.symbolic_numbers import Evaluator, least_preimage, trials
from tradeoff.families.symbolic_tangents import Tangents

_CLOSE = 1e-9  # difference from a number found by search, to about twelve digits, that refutes a formula
_PLAIN = 1000  # largest denominator SymPy is asked to simplify with
_LEVELS = (0.02, 0.3, 0.62, 0.9)  # where inverses are compared: both tails, and either side of a kink
_LOSSES = (-2.5, -0.4, 0.0, 0.3, 1.1, 3.0)  # where profiles are: both signs, near 0 and far


def _solutions(equation: Any, unknown: Any) -> list[Any]:
    try:
        found = sympy.solve(equation, unknown)
    except (NotImplementedError, ValueError, TypeError, RecursionError):
        return []
    return [solution for solution in found if isinstance(solution, sympy.Expr) and not solution.has(unknown)]


def _candidates(expression: Any, t: Any, level: Any) -> list[Any]:
    """Return expressions that may be inf{t : f(t) <= level}; of a maximum, the maximum of the inverses."""
    if isinstance(expression, sympy.Max):
        parts = [_candidates(part, t, level) for part in expression.args if part.has(t)]
        choices: list[list[Any]] = [[]]
        for part in parts:
            choices = [[*chosen, one] for chosen in choices for one in part][:16]
        return [sympy.Max(*chosen) for chosen in choices if chosen]
    return [sympy.simplify(solution) for solution in _solutions(expression - level, t)]


def own_inverse(expression: Any, alpha: Any) -> bool:
    """Whether f(f(alpha)) = alpha, refuted by a number or proved by SymPy; False where it can do neither."""
    try:
        if not _inverts(expression, expression, alpha):
            return False
    except NoClosedForm:
        return False
    # Constants such as e^(long fraction) make huge polynomials: what holds for any number holds for them.
    numbers = [c for c in expression.atoms(sympy.exp, sympy.Rational) if c.is_number]
    constants = [c for c in numbers if not c.is_Rational or c.q > _PLAIN]
    x = sympy.Dummy("x", positive=True)
    signs = {c: "positive" if c.is_positive else "real" for c in constants}
    general = expression.xreplace({c: sympy.Dummy("c", **{sign: True}) for c, sign in signs.items()})
    return bool(sympy.simplify(general.subs(alpha, general.subs(alpha, x)) - x) == 0)


def inverse_expression(expression: Any, alpha: Any) -> Any:
    """Return a verified formula for f^-1 in the symbol ``alpha``."""
    t, level = sympy.Dummy("t", positive=True), sympy.Dummy("level", positive=True)
    raw = [solution.subs(level, alpha) for solution in _candidates(expression.subs(alpha, t), t, level)]
    tried = raw + [sympy.Max(0, solution) for solution in raw]
    return _first((each for each in tried if _inverts(each, expression, alpha)), f"inverse of {expression}")


def _first(verified: Iterator[Any], what: str) -> Any:
    """Return the first formula that agrees with numbers."""
    for found in verified:
        return found
    told = f"no closed form of the {what} was found and verified"
    raise NoClosedForm(f"{told}; substitute numbers, and bounds answer")


def _inverts(candidate: Any, expression: Any, alpha: Any) -> bool:
    return all(
        _agree(inverse, level, least_preimage(curve, level))
        for values, curve in trials(expression, alpha)
        for inverse in [Evaluator(candidate.xreplace(values), alpha)]
        for level in _LEVELS
    )


def profile_expression(expression: Any, alpha: Any, epsilon: Any) -> Any:
    """Return a verified formula for delta(eps) = sup_alpha 1 - f(alpha) - e^eps alpha.

    The gain is concave, so its supremum over [0, 1] is its value where f' = -e^eps, or at the nearer end.
    """
    x = sympy.Dummy("x", positive=True)
    f = expression.subs(alpha, x)
    stationary = [sympy.simplify(point) for point in _solutions(sympy.diff(f, x) + sympy.exp(epsilon), x)]
    places = [place for point in stationary for place in (point, sympy.Max(0, sympy.Min(1, point)))]
    raw = [1 - f.subs(x, place) - sympy.exp(epsilon) * place for place in places]
    verified = (each for each in raw if _maximises(each, expression, alpha, epsilon))
    return _first(verified, f"profile of {expression}")


def _maximises(candidate: Any, expression: Any, alpha: Any, epsilon: Any) -> bool:
    losses = np.array(_LOSSES)
    return all(
        _agree(profile, loss, truth)
        for values, curve in trials(expression, alpha)
        for profile in [Evaluator(candidate.xreplace(values), epsilon)]
        for tangents in [Tangents(expression.xreplace(values), alpha, curve)]
        for loss, truth in zip(_LOSSES, tangents.profile(losses)[0], strict=True)
    )


def _agree(candidate: Evaluator, at: float, truth: Any) -> bool:
    value = candidate.at(at, 30)
    return bool(mpmath.isfinite(value) and abs(value - truth) <= _CLOSE)
