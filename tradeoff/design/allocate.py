"""Noise scales of many mechanisms under one guarantee, at the least cost.

At the optimum a unit of the guarantee costs the same wherever it is saved: with x_i = log scale_i, d log
cost/dx_i is proportional to -d epsilon/dx_i (Karush, Kuhn, Tucker). The latter are the prices, the former the
savings. Both are estimates; that the scales returned meet the target is not: a common factor is chosen by
certified answers alone.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning
from scipy.optimize import NoConvergence, anderson
from scipy.special import logsumexp, ndtri

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import MAX_COUNT, MIN_PROBABILITY, count, number
from tradeoff.curves.product import tensor
from tradeoff.design.calibration import Search, advise_target, read_target
from tradeoff.design.sensitivities import STEP, Integral, integral
from tradeoff.display import Displayed, TextTable
from tradeoff.errors import (
    DomainError,
    KindError,
    PlanError,
    PrecisionError,
    SizeError,
    advise_keywords,
    called,
    domain,
    shown,
)
from tradeoff.families.discrete import DiscreteGaussianCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds, decimal
from tradeoff.mechanisms.base import Mechanism, by_number
from tradeoff.mechanisms.plan import Plan
from tradeoff.operators.tabulate import both_orders
from tradeoff.sweeps import Table

Cost = Callable[[Sequence[float]], float]
Release = TradeOff | Mechanism | Plan  # made from a scale


@dataclass(frozen=True)
class Part:
    """Releases whose noise scale is to be chosen.

    Parameters
    ----------
    build
        From a scale to a curve, a mechanism or a plan, more private as the scale grows; or a mechanism whose
        one ``noise_multiplier``, ``sigma`` or ``scale`` is replaced. All curves of one order are
        taken in the same order of the pair, as tied mechanisms are; make others their envelope first.
    count : how often it runs, an integer from 1; equal parts together at most :math:`10^{12}` times
    weight : cost of a unit of squared scale relative to other parts, in (0, inf)

    Examples
    --------
    >>> from tradeoff.mechanisms import Laplace
    >>> Part(Laplace, count=20, weight=10.0).count
    20
    """

    build: Callable[[float], Release] | Mechanism
    count: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.build, TradeOff) or not callable(self.build):
            raise KindError(f"build must be a function of a scale or a mechanism, got {shown(self.build)}")
        weight = number("weight", self.weight, 0, open_low=True, open_high=True)
        vars(self).update(count=count("count", self.count, 1), weight=weight)

    def curve(self, scale: float, adjacencies: set[str]) -> TradeOff:
        """Return its curve in one order of the pair, and add its adjacency to ``adjacencies``."""
        made: Any
        if isinstance(self.build, Mechanism):
            given = self.build.parameters()
            names = ("noise_multiplier", "sigma", "scale")
            name = next((each for each in names if isinstance(given.get(each), float | Fraction)), "")
            if not name:
                remedy = "give a function of a scale"
                raise KindError(f"{self.build!r} must have a number {', '.join(names)}; {remedy}")
            made = type(self.build)(**{**given, name: scale})
        else:
            made = called("build", by_number(self.build), scale)
        if isinstance(made, TradeOff):
            made.require_numbers()
            return made
        if not isinstance(made, Mechanism | Plan):
            raise KindError(f"build must return a curve, a mechanism or a plan, got {shown(made)}")
        adjacencies.update(filter(None, [made.adjacency]))
        plan = made if isinstance(made, Plan) else Plan({made: 1}, made.adjacency or "add-remove")
        return plan.curve()


@dataclass(frozen=True, repr=False)
class Allocation(Displayed):
    """Scales, one a part, that meet a target at the least ``cost`` tried; prints as its table.

    ``achieved`` are certified bounds on the guarantee ``curve``: the upper one meets the target.
    ``residual`` estimates how far, relatively, prices over savings are from equal. ``evaluations`` counts the
    compositions computed. ``table`` has the optimum, equal scales, and the optimum of zero-concentrated
    privacy where all noise is Gaussian, each made to meet the same certified target by a common factor.
    """

    scales: tuple[float, ...]
    cost: float
    achieved: Bounds[float]
    curve: TradeOff
    residual: float
    evaluations: int
    table: Table

    def grid(self) -> TextTable:
        shown = [decimal(scale, ".6g", up=True) for scale in self.scales[:8]]
        more = f", ... {len(self.scales) - 8} more" if len(self.scales) > 8 else ""
        return self.table.grid()._replace(notes=[f"scales: {', '.join(shown)}{more}"])


class _Problem:
    """Parts, with one variable in x = log scale for equal ones, their cost and their guarantee.

    ``parts``, ``rounds`` (``counts`` in floats) and ``log_weights`` have an entry for each variable, and
    ``variable_of`` the variable of each part given.
    """

    power = 4.0  # prices over savings go as scale^-4 for Gaussian noise and squared errors: a step is exact
    apart = 1e-3  # step in log-scales of differences of certified answers, and of a cost
    farthest = 60.0  # most that a logarithm of a scale moves

    def __init__(self, parts: Sequence[Part], given: Mapping[str, float], cost: Cost | None) -> None:
        """Read the target, and merge parts with the same ``build`` and weight unless there is a ``cost``."""
        self.target, self.custom_cost, self.evaluations = read_target(given), cost, 0
        self.name = next((name for name in ("epsilon", "mu") if name in given), "")
        if not self.name or not number(self.name, given[self.name]) > 0:
            allowed = "{'epsilon': ..., 'delta': ...} or {'mu': ..., 'failure': ...}"
            raise DomainError(f"target must be {allowed} with a loss above 0, got {shown(given)}")
        self.delta, self.failure = number("delta", given.get("delta", 0)), given.get("failure")
        kinds: list[Any] = list(range(len(parts)))
        if cost is None:
            kinds = [(p.build if isinstance(p.build, Hashable) else id(p.build), p.weight) for p in parts]
        rounds: dict[Any, int] = {}
        for kind, part in zip(kinds, parts, strict=True):  # in integers: floats would lose rounds
            rounds[kind] = rounds.get(kind, 0) + part.count
        distinct = list(rounds)
        self.variable_of = np.array([distinct.index(kind) for kind in kinds])
        self.parts = [parts[kinds.index(kind)] for kind in distinct]
        self.rounds = [count("the count of equal parts", n, 1, MAX_COUNT) for n in rounds.values()]
        self.counts = np.array(self.rounds, dtype=float)
        self.log_weights = np.log([part.weight for part in self.parts])

    def scales(self, x: Array) -> tuple[float, ...]:
        return tuple(np.exp(x)[self.variable_of].tolist())

    def cost(self, x: Array) -> float:
        """Return the cost, the user's, or the sum of weight count scale^2, in (0, inf)."""
        with np.errstate(over="ignore", under="ignore"):
            if self.custom_cost is not None:
                value = called("cost", self.custom_cost, self.scales(x))
                return number("the cost", value, 0, open_low=True, open_high=True)
            squares = float(np.exp(logsumexp(self.log_savings(x))))
        if not 0 < squares < math.inf:
            raise domain("the cost", squares, "(0, inf)", "multiply all weights by one number")
        return squares

    def log_savings(self, x: Array) -> Array:
        """Return the logarithms of d log cost/dx, up to one constant; NaN or -inf where nothing is saved."""
        if self.custom_cost is None:
            return np.asarray(self.log_weights + np.log(self.counts) + 2 * x)
        steps = self.apart * np.eye(len(x))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log([math.log(self.cost(x + step) / self.cost(x - step)) for step in steps])

    def curves(self, x: Array) -> list[TradeOff]:
        """Return the curve of one round for each variable, in one order of the pair."""
        adjacencies: set[str] = set()
        result = [
            p.curve(scale, adjacencies) for p, scale in zip(self.parts, np.exp(x).tolist(), strict=True)
        ]
        if len(adjacencies) > 1:
            named = " and ".join(sorted(adjacencies))
            raise PlanError(f"parts must have the same adjacency, got {named}; choose one")
        return result

    def order(self, x: Array) -> TradeOff:
        return tensor(zip(self.curves(x), self.rounds, strict=True))

    def guarantee(self, x: Array) -> TradeOff:
        return self.order(x).symmetrise(assume="either-order")

    def bound_answer(self, x: Array) -> Bounds[float]:
        """Bound the epsilon, or mu, of the guarantee; by no bounds where they cannot be certified."""
        self.evaluations += 1
        try:
            return self.target.answer(self.guarantee(x), None)
        except PrecisionError:
            return Bounds(-math.inf, math.inf)

    def rho(self) -> Array:
        """Return zCDP's rho of every part at scale 1, if it is Gaussian and goes as scale^-2; else NaN."""

        def rho(curve: TradeOff) -> float:
            total = 0.0
            for factor, n in curve.factors.items():
                match factor:
                    case Gaussian(mu=mu):
                        total += n * mu * mu / 2
                    case DiscreteGaussianCurve(sigma=sigma, shift=shift):
                        total += n * (shift / sigma) ** 2 / 2
                    case _:
                        return math.nan
            return total

        one, two = (np.array([rho(c) for c in self.curves(np.full(len(self.parts), x))]) for x in (0.0, 1.0))
        return np.where(np.isclose(one, two * math.e**2), one, np.nan)

    def prices(self, x: Array) -> tuple[Array, float]:
        """Return -d answer/dx, up to a factor, and the answer.

        By the integral of delta in the order that loses more; without one, by differences of answers.
        """
        answer, where = None, {"delta": self.delta} if self.delta else {}
        if self.name == "mu":
            answer, where = Bounds(-math.inf, math.inf), {}
            self.evaluations += 1
            with suppress(PrecisionError):
                result = self.guarantee(x).gdp(failure=self.failure)
                # Where it touches f, G_mu (x) f_{0,failure} has the slope -e^loss.
                loss = -result.mu * float(ndtri(result.tight_at / (1 - result.failure))) - result.mu**2 / 2
                answer, where = result.bounds, {"epsilon": loss} if math.isfinite(loss) else {}
        integrals = list[Integral]()  # of each order; none where only differences are possible
        if where:
            self.evaluations += 1
            with suppress(SizeError):
                # change of delta by a Gaussian added to a product of atoms, for prices only
                integrals = [integral(each, accuracy=1e-3, **where) for each in both_orders(self.order(x))]
        if not integrals:
            steps = self.apart * np.eye(len(x))
            each = [self.bound_answer(x - step).upper - self.bound_answer(x + step).upper for step in steps]
            return np.array(each), (answer or self.bound_answer(x)).upper
        pairs = zip(*(self.curves(x + math.log1p(sign * STEP)) for sign in (-1, 1)), strict=True)
        sides = [(one.loss, one.delta, k == 0, one) for k, one in enumerate(integrals)]
        _, _, forward, worse = max(sides)  # the order that loses more
        moves = [(low, high) if forward else (~low, ~high) for low, high in pairs]
        gains = [n * worse.change(*move) for n, move in zip(self.counts, moves, strict=True)]
        prices = np.array([-worse.gain(gain, of="epsilon") for gain in gains])
        return prices, answer.upper if answer else worse.loss

    def unequal(self, x: Array) -> tuple[Array, float]:
        """Return log(price/saving) for each, shares of their sums: 0 is best; and log answer/wanted."""
        prices, answer = self.prices(x)
        savings = self.log_savings(x)
        # A cost may be flat here, and steep farther out: that part is to have more noise.
        flat = np.isneginf(savings)
        # A cost that is flat here may rise within a step of 10 in log-scales, a factor of 22,000.
        flat[flat] = [self.cost(x + 10.0 * step) > self.cost(x) for step in np.eye(len(x))[flat]]
        for i in np.flatnonzero(~((prices > 0) & (np.isfinite(savings) | flat))[self.variable_of]):
            raise DomainError(
                f"parts[{i}] must be more private, and cost more, at a larger scale; leave it out"
            )
        short = math.log(max(answer, MIN_PROBABILITY)) - math.log(self.target.wanted)
        return np.log(prices / np.sum(prices)) - (savings - logsumexp(savings)), short

    def optimum(self, x: Array) -> Array:
        """Return x where prices are equal to savings and the target is met, nearly, or the best seen."""
        seen: list[tuple[float, Array]] = []  # (largest move, x)

        def step(x: Array) -> Array:
            unequal, short = self.unequal(np.clip(x, -self.farthest, self.farthest))
            moved: Array = np.clip(unequal / self.power, -1.0, 1.0) + min(max(short, -1.0), 1.0)
            seen.append((float(np.max(np.abs(moved))), x.copy()))
            return moved

        # Far from the optimum prices may fail; near it Anderson's first check divides infinities, or stalls.
        stalled = suppress(NoConvergence, LinAlgError, DomainError)
        with warnings.catch_warnings(), stalled, np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore", LinAlgWarning)
            options: dict[str, Any] = {"alpha": 1.0, "maxiter": 20, "line_search": None}
            # residual at which prices are equal: the cost is flat there, and off by its square
            anderson(cast(Any, step), x, f_tol=1e-6, **options)
        return min(seen, key=lambda pair: pair[0], default=(0.0, x))[1]

    def meet(self, x: Array) -> tuple[Array, Bounds[float]]:
        """Return x moved by one number so that the certified answer meets the target, and hardly more."""
        # a factor in narrower bounds than 1e-6 of itself takes more questions and gains less
        met, _ = Search(
            self.target, lambda factor: self.bound_answer(x + math.log(factor)), 1e-6, farthest=self.farthest
        ).run(None)
        return x + math.log(met.x), met.answer


@advise_keywords(partial(advise_target, "allocate(parts", loss=("epsilon", "mu")))
def allocate(
    parts: Sequence[Part | Callable[[float], Release] | Mechanism | tuple[Any, ...]],
    target: Mapping[str, float],
    cost: Cost | None = None,
) -> Allocation:
    r"""Split one guarantee among parts: noise scales that meet it, certified, at the least cost.

    They are the cheapest of three: the optimum (a local one, where there are several), equal scales, and the
    zCDP optimum.

    Parameters
    ----------
    parts
        The releases: each a ``Part``, its arguments ``(build, count, weight)``, or a ``build`` alone. Parts
        with the same ``build`` and weight have one scale.
    target
        ``{"epsilon": ..., "delta": ...}`` or ``{"mu": ..., "failure": ...}``, for both orders of the pair;
        without ``failure`` it is 1e-10, and 0 for a Gaussian curve.
    cost
        From the scales, one a part, to a positive number that grows smoothly with each; at a kink the best
        scales tried are reported. Default: the sum of
        :math:`\text{weight} \cdot \text{count} \cdot \text{scale}^2`.

    Examples
    --------
    >>> from tradeoff.mechanisms import Gaussian
    >>> result = allocate([(Gaussian, 1, 16.0), (Gaussian, 1, 1.0)], {"epsilon": 1, "delta": 1e-6})
    >>> round(result.scales[1] / result.scales[0], 6), result.achieved.upper <= 1
    (2.0, True)
    """
    if not isinstance(parts, Iterable):
        raise KindError(f"parts must be a list of functions, mechanisms or to.Part, got {shown(parts)}")
    listed: list[Any] = list(parts.items() if isinstance(parts, Mapping) else parts)
    if not listed:
        raise DomainError("parts must have at least one entry, got none")
    made = [Part(*p) if isinstance(p, tuple) and 0 < len(p) <= len(fields(Part)) else p for p in listed]
    given = [p if isinstance(p, Part) else Part(p) for p in made]
    if not (cost is None or callable(cost)):
        raise KindError(f"cost must be a function of the scales, got {shown(cost)}; leave it out for squares")
    problem = _Problem(given, target, cost)
    n = len(problem.parts)
    met = {"equal scales": problem.meet(np.zeros(n))}
    rho = problem.rho()
    if cost is None and np.all(rho > 0):
        # the least sum of weight count scale^2 with the sum of count rho scale^-2 of equal scales
        shape = (np.log(rho) - problem.log_weights) / problem.power
        each, equal = np.log(problem.counts * rho), met["equal scales"][0]
        shape += (logsumexp(each - 2 * shape) - logsumexp(each - 2 * equal)) / 2
        met["zCDP optimum"] = problem.meet(shape)
    if n > 1:
        start = min((x for x, _ in met.values()), key=problem.cost)
        met = {"optimum": problem.meet(problem.optimum(start)), **met}
    x, achieved = min(met.values(), key=lambda pair: problem.cost(pair[0]))
    least = problem.cost(x)
    residual = float(np.max(np.abs(problem.unequal(x)[0]))) if n > 1 else 0.0
    costs = {name: problem.cost(at) for name, (at, _) in met.items()}
    rows = tuple((name, c, c / least, met[name][1].upper) for name, c in costs.items())
    table = Table(("scales", "cost", "times the least", problem.name), rows, estimated=True)
    scales, curve = problem.scales(x), problem.guarantee(x)
    return Allocation(scales, least, achieved, curve, residual, problem.evaluations, table)
