"""Normal noise on sums over time: one sensitivity, one Gaussian; or records in secret bins."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.hooks import BOUND, PAIR, limited
from tradeoff.curves.parameters import MOST, count
from tradeoff.errors import DomainError, domain
from tradeoff.families.discrete import AllocatedCurve, CorrelatedCurve
from tradeoff.families.gaussian import Gaussian
from tradeoff.intervals.bounds import Array, Bounds
from tradeoff.intervals.functions import exp, expm1, log, rational, sqrt, sum_rows
from tradeoff.intervals.functions import total as total_of
from tradeoff.mechanisms.base import Adjacency, Mechanism, loss, mechanism, root
from tradeoff.mechanisms.fields import in_interval, integer, one_of, parameter, real, tuple_of
from tradeoff.pld.allocated_laws import bound_gram, group_bins
from tradeoff.pld.allocation import STEEPEST
from tradeoff.pld.units import bound_product


@mechanism
class TreeAggregation(Mechanism):
    r"""All running sums of a stream by a binary tree of noisy sums: DP-FTRL.

    Exact: :math:`G_\mu` with :math:`\mu^2 = S^2/\sigma^2`, :math:`\sigma` the noise multiplier, where
    :math:`S^2` is the largest sum, over the complete nodes of all trees, of the squared number of the
    record's steps in the node. One participation gives :math:`\lfloor\log_2(\text{steps})\rfloor + 1` (Dwork,
    Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011); several are Kairouz et al. 2021, Appendix D, here
    maximised over all steps that the separation allows, in integers. It holds also where steps are chosen in
    view of earlier sums. Steps keep their place: neighbours change the contribution of a record in its steps,
    to 0 or another one.

    Participations are not runs: ``Plan({tree: 6})`` is six trees with one participation each.

    >>> TreeAggregation(noise_multiplier=3, steps=500).guarantee()
    G_{1}
    >>> keyboard = TreeAggregation(noise_multiplier=7, steps=2000, participations=6, separation=313)
    >>> keyboard.squared_sensitivity, round(keyboard.guarantee().epsilon(1e-10), 3)
    (79, 8.526)
    """

    noise_multiplier: float = real(
        "Standard deviation of the noise of a node over the l2-norm of the change of one step.", "(0, inf]"
    )
    steps: int = integer("Length of the stream.", high=math.inf)
    participations: int = integer(
        "Most steps in which one record takes part; for more use ``MatrixMechanism``.",
        high=128,  # finding the worst steps takes up to a few seconds
        default=1,
    )
    separation: int = integer(
        "Least distance of two steps in which one record takes part: 1 allows consecutive steps; the number "
        "of batches of an epoch is for records that keep their place in every epoch. If a library counts the "
        "steps *between* two participations, add 1.",
        high=math.inf,
        default=1,
    )
    restarts: tuple[int, ...] = parameter(
        "Numbers of steps after which a new tree begins, below ``steps``: ``[2000, 4000]``.",
        "increasing list of int",
        partial(tuple_of, check=partial(count, low=1, high=MOST), kind="integers"),
        default=(),
    )
    completion: bool = parameter(
        "Whether a tree that is followed by another is completed by steps without data, so that its last sum "
        "has less noise (Honaker 2015). More nodes are released then, so more privacy is lost.",
        "bool",
        lambda _, value: value,
        default=False,
    )

    def _check(self) -> None:
        if not isinstance(self.completion, bool):
            raise domain("completion", self.completion, "True or False")
        if self.participations > 1:
            count("steps", self.steps, 1, MOST)
        if any(first >= second for first, second in pairwise(self.restarts)):
            raise domain("restarts", list(self.restarts), "increasing")
        if self.restarts and self.restarts[-1] >= self.steps:
            raise DomainError(
                f"restarts must be below steps = {self.steps}, got {self.restarts[-1]}; leave it out"
            )

    @property
    def squared_sensitivity(self) -> int:
        """Squared l2-norm of the change of all nodes, for changes of norm 1 in every step of a record."""
        apart = self.separation if self.participations > 1 else self.steps
        nodes: list[tuple[int, int]] = []  # roots: of a completed tree one, else one a binary digit
        for start, end in pairwise((0, *self.restarts, self.steps)):
            data = end - start
            if self.completion and end < self.steps:
                nodes.append(((data - 1).bit_length(), data))
            else:
                levels = reversed(range(data.bit_length()))
                nodes += [(level, 1 << level) for level in levels if data >> level & 1]
        return _largest_sum(tuple(nodes), self.participations, apart)

    def curve(self) -> TradeOff:
        return Gaussian(loss(root(Fraction(self.squared_sensitivity)), self.noise_multiplier))


# Largest sum by (participations, number of steps after the node that the last of them does not allow).
Sums = dict[tuple[int, int], int]


@lru_cache(maxsize=64)
def _largest_sum(nodes: tuple[tuple[int, int], ...], most: int, apart: int) -> int:
    """Return the largest sum over nodes of the squared number of steps in which a record takes part.

    ``nodes`` are the roots of all trees in order, each (level, number of leaves with data); ``most`` steps
    are at least ``apart`` from each other. A root's tree, of 2^level leaves, counts all its nodes. A node of
    at most ``apart`` leaves holds at most one of the steps, and which one does not matter, so that the first
    allowed is the best. Larger nodes join the sums of both halves.
    """

    @cache
    def within(level: int, data: int, early: int) -> Sums:
        """Return the sums in a node whose first ``early`` steps are not allowed."""
        half = 1 << level >> 1
        if 2 * half <= apart or level == 0 or early >= data:
            once = {(1, max(early + apart - data, 0)): level + 1} if early < data else {}
            return {(0, max(early - data, 0)): 0, **once}
        halves = ((level - 1, min(data, half)), (level - 1, max(data - half, 0)))
        return {(n, late): total + n * n for (n, late), total in along(halves, early).items()}

    def along(row: tuple[tuple[int, int], ...], early: int) -> Sums:
        """Return the sums in a row of nodes, the first ``early`` steps of which are not allowed."""
        best: Sums = {(0, early): 0}
        for level, data in row:
            joined: Sums = {}
            for (n, between), total in best.items():
                for (more, late), rest in within(level, data, between).items():
                    key = n + more, late
                    if n + more <= most:
                        joined[key] = max(joined.get(key, 0), total + rest)
            # A sum is dropped if one that allows more steps, with as many participations, is as large.
            best, largest = {}, dict.fromkeys(range(most + 1), -1)
            for (n, late), total in sorted(joined.items()):
                if total > largest[n]:
                    best[n, late] = largest[n] = total
        return best

    return max(along(nodes, 0).values())


Strategy = tuple[float, ...] | tuple[tuple[float, ...], ...]


def _check_strategy(name: str, value: Any) -> Strategy:
    """Return the first column of a Toeplitz matrix, or the rows of a lower triangular one, as tuples."""
    try:
        rows = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        rows = np.zeros(())
    if rows.ndim not in {1, 2} or rows.size == 0 or not np.isfinite(rows).all():
        raise domain(name, value, "a list of finite numbers, or of rows of them")
    if rows.ndim == 2 and (rows.shape[0] != rows.shape[1] or np.triu(rows, 1).any()):
        raise domain(name, value, "square and lower triangular", "a Toeplitz matrix is its first column")
    in_interval("[1e-9, 1e9]")(f"the largest entry of {name}", float(np.max(np.abs(rows))))
    return tuple(rows.tolist()) if rows.ndim == 1 else tuple(map(tuple, rows.tolist()))


def strategy_sensitivity(
    strategy: Any, *, steps: int | None = None, separation: int = 1, participations: int | None = None
) -> float:
    r"""Return the sensitivity of a strategy matrix C to a record in steps some way apart, rounded up.

    Parameters
    ----------
    strategy
        Rows of a lower triangular matrix, or the first column of a Toeplitz matrix, without zeros at its end:
        ``[1, 0.5]`` has two bands. That of a buffered linear Toeplitz matrix is ``blt_strategy``.
    steps : number of steps, at most 4096, for a Toeplitz matrix
    separation : least distance of two steps in which one record takes part: 1 allows consecutive steps
    participations : most steps in which one record takes part; by default as many as the separation allows

    Notes
    -----
    It is the largest norm of :math:`C u`, for changes :math:`u` of norm 1, also vectors, in the steps of the
    record.

    Exact where columns at least the separation apart are orthogonal, as of a matrix with as many bands: the
    largest sum of squared norms of columns (Choquette-Choo, Ganesh, McKenna et al. 2023, Algorithm 3). Exact
    for Toeplitz matrices whose entries fall from the diagonal on and are not negative: products of two
    columns fall with their distance and with the later step, so that the steps :math:`0, b, 2b, \ldots` are
    the worst (Kalinin, Lampert 2024, Theorem 2). Of other matrices it is an upper bound: steps are chosen
    anew for each row of the absolute values of :math:`C^\top C`, and for the rows (Choquette-Choo, Ganesh,
    McKenna et al. 2023, Algorithm 4).

    Examples
    --------
    >>> round(strategy_sensitivity([1, 0.5], steps=100, separation=10) ** 2, 9)  # 10 columns of 1.25 each
    12.5
    >>> round(strategy_sensitivity(blt_strategy([0.5], [0.5], 4), separation=2), 4)
    1.7897
    """
    checked = _check_strategy("strategy", strategy)
    is_toeplitz = not isinstance(checked[0], tuple)
    n = count("steps", len(checked) if steps is None else steps, 1, 4096)
    if not is_toeplitz and n != len(checked):
        raise domain("steps", steps, f"the number of rows, {len(checked)}")
    apart = count("separation", separation, 1, MOST)
    most = -(-n // apart)
    most = min(most, count("participations", most if participations is None else participations, 1, MOST))
    matrix = np.array(checked)
    if is_toeplitz:
        from scipy.linalg import toeplitz  # its import takes 0.03 s

        matrix = np.asarray(toeplitz(np.pad(matrix, (0, n))[:n], np.zeros(n)))
    if is_toeplitz and np.all(np.diff(matrix[:, 0]) <= 0) and np.min(matrix) >= 0:
        square = float(total_of(sum_rows(Bounds.of(matrix[:, : most * apart : apart])) ** 2).upper)
    else:
        low, high = bound_product(matrix.T, matrix)
        products = np.maximum(-low, high)
        far = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) >= apart
        # Column i adds its products with all columns of the record, of orthogonal ones its own square alone.
        each = np.diag(products) if not products[far].any() else _most_of(products, apart, most)
        square = float(_most_of(each[None, :], apart, most)[0])
    return root(Fraction(square))


def _most_of(rows: Array, apart: int, most: int) -> Array:
    """Bound the largest sum of at most ``most`` entries >= 0 of each row, at least ``apart`` places apart."""
    n = rows.shape[1]
    if apart == 1 and most >= n:
        return np.asarray(sum_rows(Bounds.of(rows)).upper)
    best = np.zeros((len(rows), n + apart))  # from each place on, of so many entries as loops are done
    for _ in range(most):
        best[:, :n] = np.nextafter(rows + best[:, apart : apart + n], np.inf)
        best = np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(best[:, 0])


def blt_strategy(decay: Any, scale: Any, steps: int) -> tuple[float, ...]:
    """Return the first column of a buffered linear Toeplitz matrix: 1, then sum_k scale_k decay_k^(t - 1).

    Parameters
    ----------
    decay, scale : decay of each buffer, in [0, 1], and its scale (McMahan, Xu, Zhang 2024, section 3)
    steps : number of steps

    Examples
    --------
    >>> blt_strategy([0.5, 0.25], [0.25, 0.5], 4)
    (1.0, 0.75, 0.25, 0.09375)
    """
    rates, scales = np.atleast_1d(np.asarray(decay, float)), np.atleast_1d(np.asarray(scale, float))
    if rates.shape != scales.shape or not ((rates >= 0) & (rates <= 1)).all():
        raise domain("decay", decay, "numbers in [0, 1], one for each scale")
    times = np.arange(count("steps", steps, 1, MOST) - 1)
    return (1.0, *(rates[None, :] ** times[:, None] @ scales).tolist())


@mechanism
class MatrixMechanism(Mechanism):
    r"""Linear queries A x = B C x released as B (C x + z), z normal: matrix factorisation, DP-FTRL, BandMF.

    Exact with a sensitivity: :math:`B` is post-processing, and :math:`C x + z` is one Gaussian mechanism,
    :math:`\mu` the sensitivity over the noise multiplier (Li et al. 2015; for :math:`C` lower triangular also
    where :math:`x` is chosen in view of earlier sums: Denisov et al. 2022, Theorem 2.1).

    With balls in bins each record draws one of the bins, once for all epochs, and takes part in the steps
    that are its bin modulo the number of bins. Bin :math:`i` adds :math:`m_i`, the sum of the columns of
    :math:`\lvert C\rvert` for its steps over the noise multiplier, and ``curve()`` is :math:`T` of
    :math:`N(0, I)` and the mean of the :math:`N(m_i, I)`, between those of Gram matrices of groups of bins:
    hockey-sticks of both orders grow in each entry (Kahane 1986; proof in ``tradeoff.pld.allocated_laws``).
    Contributions of norm 1 have no larger products than the :math:`m_i` in each row of :math:`C`, whatever
    earlier outputs they are chosen by: row after row, the same derivative moves them to the :math:`m_i`.
    Equal ones attain the :math:`m_i` if no entry is negative; else the lower ends of ``bounds`` are those of
    contributions equal in a group of bins, and orthogonal between groups. So both ends hold for the
    mechanism, which is exact if bins are exchangeable: for :math:`C = I` it is ``BallsInBins``. Other
    sampling schemes are in ``docs/sampled-mechanisms.md``.

    >>> MatrixMechanism(noise_multiplier=4, sensitivity=2).curve()
    G_{0.5}
    >>> banded = MatrixMechanism(
    ...     noise_multiplier=4, strategy=[1, 0.5], scheme="balls-in-bins", bins=10, epochs=10
    ... )
    >>> bounds = banded.guarantee().bounds.epsilon(1e-5)
    >>> bounds.lower < bounds.upper < MatrixMechanism(4, 12.5**0.5).guarantee().epsilon(1e-5)
    True
    """

    noise_multiplier: float = real(
        "Standard deviation of :math:`z` over the l2-norm of the change of one step.", "(0, inf]"
    )
    sensitivity: float | None = real(
        "Largest norm of :math:`C u` over all changes :math:`u` of neighbours, with changes of norm 1 in "
        "single steps: with one participation the largest column norm of :math:`C`; "
        "``strategy_sensitivity`` has others. Leave it out where a strategy is given.",
        "[0, inf)",
        default=None,
    )
    strategy: Strategy | None = parameter(
        ":math:`C` for balls in bins: the rows of a lower triangular matrix of bins times epochs steps, or "
        "the first column of a Toeplitz matrix, without zeros at its end.",
        "list of float, or of lists of them",
        _check_strategy,
        default=None,
    )
    scheme: Literal["balls-in-bins"] | None = one_of(
        "How records choose their steps, where a strategy is given.", "balls-in-bins", default=None
    )
    bins: int | None = integer("Number of batches, the steps of an epoch.", default=None)
    epochs: int | None = integer("Number of passes over the batches.", default=None)

    def _check(self) -> None:
        if (self.strategy is None) == (self.sensitivity is None):
            given = "both" if self.strategy else "neither"
            raise DomainError(f"MatrixMechanism takes one of sensitivity and strategy, got {given}")
        for name in ("scheme", "bins", "epochs"):
            if (getattr(self, name) is None) != (self.strategy is None):
                needed = "given with a strategy" if self.strategy else "left out without a strategy"
                raise DomainError(f"{name} must be {needed}, got {getattr(self, name)!r}")
        if self.strategy and self.bins and self.epochs:
            steps, size = self.bins * self.epochs, len(self.strategy)
            if steps * self.bins > 2**25:  # 256 MiB of columns
                raise domain("bins", self.bins, f"so few that bins^2 epochs is at most {2**25}")
            if size > steps or (isinstance(self.strategy[0], tuple) and size != steps):
                raise DomainError(f"strategy must have bins * epochs = {steps} steps, got {size}")

    @property
    def adjacency(self) -> Adjacency | None:
        return None if self.strategy is None else "add-remove"

    def curve(self) -> TradeOff:
        if self.strategy is None:
            return Gaussian(loss(self.sensitivity, self.noise_multiplier))
        # Gram matrices of the columns: the curve of the greater one is below f.
        above, below = bound_gram(self.strategy, self.bins or 1, self.epochs or 1)
        diagonal, others = np.diag(above), above[~np.eye(len(above), dtype=bool)]
        mu = loss(root(Fraction(float(np.max(diagonal)))), self.noise_multiplier)  # rounded up
        slack = np.max(above - below)
        # Exact if no entry is negative, so that both agree to rounding, and bins are exchangeable: equal on
        # the diagonal, and off it.
        alone = len(above) == 1
        exact = alone or (mu <= STEEPEST and max(np.ptp(diagonal), np.ptp(others)) <= slack)
        tightness = PAIR if exact and slack <= 1e-9 * np.max(above) else BOUND
        if alone or not 0 < mu <= STEEPEST:  # one bin, or the record's is made public: a curve below f
            return limited(Gaussian(mu), tightness)
        if tightness == PAIR and others[0] == 0:  # orthogonal and of one norm
            return AllocatedCurve(mu, len(above))
        square = Bounds.of(self.noise_multiplier) ** 2
        curve = CorrelatedCurve(
            group_bins((Bounds.of(above) / square).upper, above=True),
            group_bins((Bounds.of(below) / square).lower, above=False),
        )
        return limited(curve, tightness)


@mechanism
class LastIterate(Mechanism):
    r"""Noisy gradient descent over all data whose last iterate alone is released.

    Dominating, by shifted interpolation (Bok, Su, Altschuler 2024, their results on NoisyGD). A process that
    starts at one run :math:`m` steps before the end and ends at the other has to make up
    :math:`c^m \cdot \text{diameter} + s\,(1 + c + \cdots + c^{m-1})` by shifts :math:`a_j`, weighted by
    :math:`c^j`; the last step costs :math:`G_{a/\sigma}` each. By Cauchy and Schwarz the least sum of squares
    is the square of this number over :math:`1 + c^2 + \cdots + c^{2(m-1)}`. At :math:`m =` ``steps`` both
    runs start alike, and the diameter does not enter: :math:`\mu^2 = (1 - c^t)(1 + c)/((1 + c^t)(1 - c))`
    over the square of the noise multiplier, exact for unconstrained strongly convex losses. Any :math:`m`
    gives a bound; the least of some hundred is taken.

    >>> LastIterate(noise_multiplier=10, steps=100).curve()
    G_{1} (not exact)
    >>> LastIterate(noise_multiplier=10, steps=10**9, contraction=0.5).curve()
    G_{0.173205} (not exact)
    >>> LastIterate(noise_multiplier=10, steps=10**9, diameter=25).curve()
    G_{1} (not exact)
    """

    exact = False
    noise_multiplier: float = real(
        r"Standard deviation of the noise of a step over the distance :math:`s` by which neighbours move a "
        r"step: :math:`n \sigma/L` for noise :math:`\sigma` on the mean gradient of :math:`n` records, of "
        r"which one moves it by :math:`L/n`.",
        "(0, inf]",
    )
    steps: int = integer("Number of steps.", high=math.inf)
    contraction: float = real(
        r"Factor :math:`c` by which a step shrinks distances: "
        r":math:`\max(\lvert 1 - \eta m\rvert, \lvert 1 - \eta M\rvert)` for losses that are "
        r":math:`m`-strongly convex and :math:`M`-smooth, 1 for convex ones with :math:`\eta \le 2/M`.",
        "[0, 1]",
        default=1.0,
    )
    diameter: float = real(
        "Diameter of the set to which iterates are projected, in units of :math:`s`; "
        "infinite without projection.",
        "[0, inf]",
        default=math.inf,
    )

    def curve(self) -> TradeOff:
        whole_run, most = self._shift(rational(self.steps), 0.0), float(min(self.steps, MOST))
        best = min(max(self.diameter, 1.0), most)  # of convex losses: (diameter + m)^2/m is least there
        last_steps = np.append(np.geomspace(1.0, most, 400), [np.floor(best), np.ceil(best)])
        part = self._shift(Bounds.of(np.minimum(np.floor(last_steps), most)), self.diameter)
        return Gaussian(loss(min(whole_run.upper, float(np.min(part.upper))), self.noise_multiplier))

    def _shift(self, m: Bounds, diameter: float) -> Bounds:
        """Bound (c^m diameter + sum of c^j)/sqrt(sum of c^2j), j < m: mu times the noise multiplier."""
        if self.contraction == 1:
            return (diameter + m) / sqrt(m)
        rate = log(self.contraction)
        one_minus = 1 - Bounds.of(self.contraction)
        squares = -expm1(2 * rate * m) / (one_minus * (1 + Bounds.of(self.contraction)))
        return (exp(rate * m) * diameter - expm1(rate * m) / one_minus) / sqrt(squares)
