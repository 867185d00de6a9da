"""What proves a claim: a contour, exact sums, a closed form or a lattice, with the numbers that fix it."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Evidence:
    """Base of all evidence."""

    kind: ClassVar[str]

    def rows(self) -> Rows:
        """Return what a reader wants to see."""
        return []

    @classmethod
    def read(cls, content: dict[str, Any]) -> Self:
        """Make it from what JSON held."""
        return cls(**content)


@dataclass(frozen=True)
class Line(Evidence):
    """A vertical contour Re z = c with ``nodes`` frequencies, ``step`` apart from 0 on.

    ``log_m`` is K(c), ``cut`` bounds the product beyond the last node, ``tau`` is the mu of an added
    Gaussian. ``left`` and ``right`` are points c' with K(c') from above, for Chernoff's bound on other
    periods.
    """

    kind: ClassVar[str] = "contour"

    c: float
    step: float
    nodes: int
    log_m: float
    log_m_error: float
    cut: float
    tau: float
    left: tuple[float, float]
    right: tuple[float, float]

    def rows(self) -> Rows:
        return [
            ("tilt c", f"{self.c!r}, log M = {self.log_m!r} +- {self.log_m_error:.3g}"),
            ("nodes", f"{self.nodes}, step {self.step!r}"),
            ("truncation", f"|product| <= {self.cut:.3g} beyond |Im z| = {self.step * (self.nodes - 1):.6g}"),
            ("aliasing", ", ".join(f"log M({c:.6g}) <= {log_m:.6g}" for c, log_m in (self.left, self.right))),
            ("blur", f"tau = {self.tau:.3g}"),
        ]

    @classmethod
    def read(cls, content: dict[str, Any]) -> Self:
        return cls(**{**content, "left": tuple(content["left"]), "right": tuple(content["right"])})


@dataclass(frozen=True)
class Sums(Evidence):
    """All atoms of the product: how many, and the largest relative error of their masses."""

    kind: ClassVar[str] = "exact"

    atoms: int
    slack: float

    def rows(self) -> Rows:
        return [("atoms", f"{self.atoms}, masses known to {self.slack:.3g}")]


@dataclass(frozen=True)
class Formula(Evidence):
    """A closed form of a single law, evaluated in double: the claim's ``ulps`` say how wide it is."""

    kind: ClassVar[str] = "closed-form"


@dataclass(frozen=True)
class OnNodes:
    """One factor on ``offset + h index``: P-masses times e^(theta node - log_scale), from above and below.

    Vectors are little-endian, compressed, in base 64. ``top`` is the Q-mass of the upper side at infinity,
    ``shift`` bounds the rounding of the nodes.
    """

    nodes: int
    index: str
    over: str
    under: str
    offset: float
    count: int
    top: float
    shift: float
    log_scale: float


@dataclass(frozen=True)
class Lattice(Evidence):
    """A tilted lattice: ``theta``, spacing ``h``, window (first node, nodes) of the sum, and all factors.

    ``rounding`` is the 2-norm error of the transform above and below; ``low_tail`` and ``high_tail`` bound
    the tilted mass that the lower side's window aliases, ``over_tail`` what the upper side's leaves out.
    """

    kind: ClassVar[str] = "lattice"

    theta: float
    h: float
    window: tuple[int, int]
    factors: tuple[OnNodes, ...]
    rounding: tuple[float, float]
    low_tail: float
    high_tail: float
    over_tail: float

    def rows(self) -> Rows:
        nodes = ", ".join(str(factor.nodes) for factor in self.factors)
        return [
            ("tilt theta", repr(self.theta)),
            ("lattice", f"h = {self.h!r}, factors on {nodes} nodes"),
            ("window", f"{self.window[1]} nodes from {self.window[0]}"),
            ("rounding", f"{self.rounding[0]:.3g} above, {self.rounding[1]:.3g} below"),
            ("aliasing", f"{self.low_tail:.3g} and {self.high_tail:.3g} below, {self.over_tail:.3g} above"),
        ]

    @classmethod
    def read(cls, content: dict[str, Any]) -> Self:
        factors = tuple(OnNodes(**factor) for factor in content["factors"])
        return cls(
            **{
                **content,
                "window": tuple(content["window"]),
                "rounding": tuple(content["rounding"]),
                "factors": factors,
            }
        )


def packed(vector: Any, kind: str) -> str:
    """Write a vector as text."""
    return base64.b64encode(zlib.compress(np.asarray(vector).astype(kind).tobytes())).decode("ascii")


def unpacked(text: str, kind: str) -> Any:
    """Read a vector that ``packed`` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), dtype=kind)


KINDS: dict[str, type[Evidence]] = {one.kind: one for one in (Line, Sums, Formula, Lattice)}
