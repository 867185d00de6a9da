"""What operators make of bounds on their operands, in intervals of 60 digits.

=========== ==================== =====================================================================
kind        parameters           of operands f_i, whose answers are the parts of a certificate
=========== ==================== =====================================================================
``minimum`` ``of``               delta, epsilon and mu are the largest
``maximum`` ``of``               beta is the largest
``mixture`` ``of``, ``weights``  delta = sum w_i delta_i
``group``   ``of``, ``k``        beta = 1 - (1 - f)^(o k)
``thinned`` ``of``, ``p``        beta = p f(alpha) + (1 - p)(1 - alpha), delta = p delta_f(y) or 1 - e^x,
                                 e^y = (e^x - 1 + p)/p
``turned``  ``of`` f^-1, ``p``   the other order of that; p is a number, or text n/d
``order``   ``of`` f, g          how far f falls short of g, by claims of parts: ``shortfall``
=========== ==================== =====================================================================

Of beta and delta one is such a formula. The other is a supremum, 1 - delta(x) - e^x alpha over x, or
1 - beta(alpha) - e^x alpha over alpha: any one place bounds it from below. From above beta and delta(log s)
are convex, so below chords, and rules say what tests and lines of the operands make together. What is
known at one place is also known on one side of it, for delta, epsilon, beta and mu all fall.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from tradeoff.certificates.certificate import Certificate, Description, Question
from tradeoff.certificates.conclusion import crossed, intervals, outwards
from tradeoff.errors import VerificationError, shown

_WRITTEN = 2.0**-51  # relative rounding of weights, which were divided by their sum

# Most neighbours of a group: the steps of its rule, which a forged number would make endless.
_NEIGHBOURS = 10_000

# A rate that is no float, of so many digits as Python reads at once.
_RATIO = re.compile(r"[0-9]{1,4000}/[1-9][0-9]{0,3999}")

_LEAST = {"delta": 0.0, "beta": 0.0, "epsilon": -math.inf, "mu": 0.0, "shortfall": 0.0}
# What holds of every curve, or two.
_MOST = {"delta": 1.0, "beta": 1.0, "epsilon": math.inf, "mu": math.inf, "shortfall": 1.0}

Ends = tuple[Any, Any]  # ends of bounds, numbers or intervals that are exact


def ruled(
    question: Question, value: float, rule: Description, parts: Sequence[Certificate]
) -> tuple[float, float]:
    """Return the bounds that the parts imply, rounded outwards."""
    low, high = getattr(read(rule)(rule, parts), question)(intervals().mpf(value))
    return outwards(max(low, _LEAST[question]), -math.inf), outwards(min(high, _MOST[question]), math.inf)


def read(rule: Description) -> type[Rule]:
    """Return the rule of a description, which has operands, and nothing that the rule does not read."""
    if rule["kind"] not in _RULES:
        raise VerificationError(f"rule: {rule['kind']!r} is none of {', '.join(_RULES)}", "rule")
    made = _RULES[rule["kind"]]
    if rule.keys() != {"kind", "of", *made.parameters}:
        raise VerificationError(f"rule: {rule['kind']} has the parameters {sorted(rule)}", "rule")
    if type(rule["of"]) is not list or not rule["of"] or made.operands not in {0, len(rule["of"])}:
        raise VerificationError(f"rule: {rule['kind']} of {len(rule['of'])} curves is none", "rule")
    return made


class Facts:
    """What is known of one curve."""

    def __init__(self, parts: Iterable[Certificate]) -> None:
        self.parts = list(parts)

    def asked(self, question: Question) -> list[Certificate]:
        return [part for part in self.parts if part.question == question]

    def lower(self, question: Question, at: Any) -> Any:
        """Return a lower bound, from what is asked there or farther on."""
        held = [part.lower for part in self.asked(question) if at <= part.value]
        return max(held, default=_LEAST[question])

    def upper(self, question: Question, at: Any) -> Any:
        held = [part.upper for part in self.asked(question) if part.value <= at]
        return min(held, default=_MOST[question])

    def bounds(self, question: Question, at: Any) -> Ends:
        """Return bounds at all of an interval."""
        return self.lower(question, at.b), self.upper(question, at.a)


class Rule:
    """An operator on curves of which facts are known, and on itself; with 0 ``operands`` on any number."""

    parameters: ClassVar[tuple[str, ...]] = ()
    operands: ClassVar[int] = 0

    def __init__(self, rule: Description, parts: Sequence[Certificate]) -> None:
        self.rule, self.parts = rule, parts
        self.own = Facts(part for part in parts if part.about == rule)
        self.of = [Facts(part for part in parts if part.about == each) for each in rule["of"]]

    def delta(self, x: Any, /) -> Ends:
        """Bound delta, from below by 1 - beta(alpha) - e^x alpha at any alpha asked."""
        mpf, slope = intervals().mpf, intervals().exp(x)
        at = [mpf(part.value) for part in self.parts if part.question == "beta"]
        gains = [(1 - mpf(self.beta(alpha)[1]) - slope * alpha).a for alpha in at]
        return max([*gains, 0.0]), self.least_delta(x)

    def beta(self, alpha: Any, /) -> Ends:
        """Bound beta, from below by 1 - delta(x) - e^x alpha at any x asked."""
        mpf = intervals().mpf
        at = [mpf(part.value) for part in self.parts if part.question == "delta"]
        gains = [(1 - mpf(self.delta(x)[1]) - intervals().exp(x) * alpha).a for x in at]
        return max([*gains, 0.0]), self.least_beta(alpha)

    def epsilon(self, delta: Any, /) -> Ends:
        """Bound epsilon, by what was found of delta itself: where that is flat, equality says nothing."""
        return crossed(delta, [(part.value, part.lower, part.upper) for part in self.own.asked("delta")])

    def mu(self, _failure: Any, /) -> Ends:
        """Bound mu: nothing is known of it, unless a rule says so."""
        return _LEAST["mu"], _MOST["mu"]

    def least_delta(self, x: Any) -> Any:
        """Return an upper bound on delta."""
        return self.own.upper("delta", x)

    def least_beta(self, alpha: Any) -> Any:
        """Return an upper bound on beta."""
        return self.own.upper("beta", alpha)


def _below_chords(points: Iterable[tuple[Any, float]], at: Any) -> Any:
    """Return the least upper bound that points above a convex curve give, which falls."""
    known = [(place, intervals().mpf(height)) for place, height in points]
    left = [point for point in known if point[0] <= at]
    right = [point for point in known if point[0] > at]
    chords = [
        (height + (after - height) * (at - place) / (end - place)).b
        for place, height in left
        for end, after in right
    ]
    return min([*(height.b for _, height in left), *chords], default=1.0)


def _largest(question: Question) -> Callable[[Rule, Any], Ends]:
    """Return the method of a rule by which its answer is the largest of those of operands."""

    def bounded(rule: Rule, at: Any) -> Ends:
        lows, highs = zip(*(f.bounds(question, at) for f in rule.of), strict=True)
        return max(lows), max(highs)

    return bounded


class Minimum(Rule):
    """The hull of the least of curves: its profile is the largest."""

    delta, epsilon, mu = _largest("delta"), _largest("epsilon"), _largest("mu")

    def least_beta(self, alpha: Any) -> Any:
        """Take any test of any of them, or draw one of two."""
        tests = [part for f in self.of for part in f.asked("beta")]
        return _below_chords(((intervals().mpf(part.value), part.upper) for part in tests), alpha)


class Maximum(Rule):
    """The largest of curves: delta(log s) is the hull of the least."""

    beta = _largest("beta")

    def least_delta(self, x: Any) -> Any:
        """Take any line of any of them, or what two say together."""
        lines = [part for f in self.of for part in f.asked("delta")]
        here = [part.upper for part in lines if part.value <= x]  # no chord, whose place is rounded
        exp = intervals().exp
        return min([*here, _below_chords(((exp(part.value), part.upper) for part in lines), exp(x))])


class Mixture(Rule):
    """Of several curves one is drawn, and named."""

    parameters = ("weights",)

    def __init__(self, rule: Description, parts: Sequence[Certificate]) -> None:
        super().__init__(rule, parts)
        mpf = intervals().mpf
        written = [mpf(w) for w in rule["weights"]]
        total, rounded = sum(written, mpf(0)), mpf([1 - _WRITTEN, 1 + _WRITTEN])
        self.weights = [w / total * rounded for w in written]
        if len(written) != len(self.of) or min(rule["weights"]) < 0 or not abs(total - 1) < _WRITTEN:
            raise VerificationError(f"weights: {rule['weights']!r} are none", "weights")

    def delta(self, x: Any) -> Ends:
        lows, highs = zip(*(f.bounds("delta", x) for f in self.of), strict=True)
        return self._average(lows).a, self._average(highs).b

    def _average(self, values: Iterable[Any]) -> Any:
        return sum((w * value for w, value in zip(self.weights, values, strict=True)), intervals().mpf(0))

    def least_beta(self, alpha: Any) -> Any:
        """Add a test of each, whose levels add to alpha at most."""
        tests = [f.asked("beta")[:1] for f in self.of]
        if not all(tests) or self._average(test.value for (test,) in tests).b > alpha:
            return 1.0
        return self._average(test.upper for (test,) in tests).b


class Group(Rule):
    """A type I error that goes from neighbour to neighbour."""

    parameters, operands = ("k",), 1

    @property
    def k(self) -> int:
        k = self.rule["k"]
        if type(k) is not int or not 1 <= k <= _NEIGHBOURS:
            raise VerificationError(f"k: {k!r} is no integer in [1, {_NEIGHBOURS}]", "k")
        return k

    def beta(self, alpha: Any) -> Ends:
        (f,), most, least = self.of, alpha, alpha
        for _ in range(self.k - 1):
            most = 1 - intervals().mpf(f.lower("beta", most.b))
            least = 1 - intervals().mpf(f.upper("beta", least.a))
        return f.lower("beta", most.b), f.upper("beta", least.a)

    def least_delta(self, x: Any) -> Any:
        """Join lines 1 - f(alpha) <= delta + s alpha, one for each neighbour, whose slopes make e^x."""
        lines, total = self.of[0].asked("delta")[: self.k], intervals().mpf(0)
        if len(lines) < self.k or sum((intervals().mpf(line.value) for line in lines), total).b > x:
            return 1.0
        for line in lines:
            total = line.upper + intervals().exp(line.value) * total
        return min(total.b, 1.0)


class Thinned(Rule):
    """Poisson subsampling of a curve, whatever it is."""

    parameters, operands = ("p",), 1

    def __init__(self, rule: Description, parts: Sequence[Certificate]) -> None:
        super().__init__(rule, parts)
        p = rule["p"]
        written = type(p) is str and _RATIO.fullmatch(p)
        rate = Fraction(p) if written or (type(p) in {int, float} and 0 < p <= 1) else Fraction(0)
        if not 0 < rate <= 1:
            raise VerificationError(f"p: {shown(p)} is no rate in (0, 1]", "p")
        self.p = intervals().mpf(rate.numerator) / rate.denominator

    def beta(self, alpha: Any) -> Ends:
        low, high = self.of[0].bounds("beta", alpha)
        rest = (1 - self.p) * (1 - alpha)
        return (self.p * low + rest).a, (self.p * high + rest).b

    def delta(self, x: Any) -> Ends:
        ratio = intervals().exp(x)
        inner, least = (ratio - 1 + self.p) / self.p, 1 - ratio
        if not inner > 0:
            return least.a, max(least.b, self.p.b)
        low, high = self.of[0].bounds("delta", intervals().log(inner))
        return max((self.p * low).a, least.a), max((self.p * high).b, least.b)


class Turned(Thinned):
    """The other order, in terms of g = f^-1: (p u + (1 - p)(1 - g(u)), g(u)) are its points."""

    def beta(self, alpha: Any) -> Ends:
        tests = self.of[0].asked("beta")
        right = [test.upper for test in tests if self._level(test.value, test.lower) <= alpha]
        left = [test.lower for test in tests if self._level(test.value, test.upper) >= alpha]
        return max(left, default=0.0), min(right, default=1.0)

    def _level(self, u: float, g: float) -> Any:
        return self.p * u + (1 - self.p) * (1 - intervals().mpf(g))

    def delta(self, x: Any) -> Ends:
        share = 1 - (1 - self.p) * intervals().exp(x)
        if not share > 0:
            return 0.0, max(share.b, 0)
        y = -intervals().log((intervals().exp(-x) - 1 + self.p) / self.p)
        low, high = self.of[0].bounds("delta", y)
        return (share * low).a, (share * high).b


class Order(Rule):
    """Two curves; the parts are claims about each."""

    operands = 2

    def shortfall(self, _at: Any) -> Ends:
        from tradeoff.certificates.shortfall import fallen

        return fallen(self.rule["of"], self.parts)[:2]


_RULES: dict[str, type[Rule]] = {
    rule.__name__.lower(): rule for rule in (Minimum, Maximum, Mixture, Group, Thinned, Turned, Order)
}
