"""One process of the search: draw, ask, compare, and tell what broke as lines that can be pasted."""

from __future__ import annotations

import random
import re
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from flint import arb

from tests.fuzz.draw import Drawer
from tests.fuzz.relations import RELATIONS, ask
from tests.truth.atoms import TooMany
from tests.truth.built import built, written
from tests.truth.claims import refuted
from tests.truth.spec import Spec
from tradeoff.errors import TradeOffError

LIMIT, PATIENCE = 20.0, 0.3
"""Seconds of CPU after which a question counts as a hang, and after which the oracle is given up."""

SHOWN = 2
"""Findings of one kind that are printed; the others are counted."""

PREAMBLE = (
    "import tradeoff as to; import scipy.stats as st; from fractions import Fraction as F; "
    "from tradeoff.families.discrete import *"
)


class Slow(BaseException):
    """A limit of CPU time passed; not an ``Exception``, so that nothing on the way swallows it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise ``Slow`` inside after so much CPU time of the process."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Slow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass
class Search:
    """What was asked and what broke, from one seed."""

    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    """Seconds of CPU by what they went into."""

    def run(self, seconds: float, most: int | None = None) -> None:
        """Search for so much CPU time, or for so many compositions."""
        warnings.simplefilter("error")
        start, index = time.process_time(), 0
        while time.process_time() < start + seconds and (most is None or index < most):
            # Each composition has a seed of its own, so that one can be drawn again without those before it.
            self.composition(f"{self.seed}:{index}")
            index += 1
        self.counts["seconds of CPU"] += round(time.process_time() - start)
        self.counts.update({f"seconds in {name}": round(value) for name, value in self.spent.items()})

    def composition(self, seed: str) -> None:
        """Draw one description; ask it the three questions and, every second time, one relation."""
        draw = Drawer(random.Random(seed))  # noqa: S311 - a search, not a secret
        spec = draw.description()
        self.counts["compositions"] += 1
        curve = self.safely(spec, seed, "built", lambda: built(spec))
        if curve is None:
            return
        alphas, losses = self.oracle(lambda: draw.kinks(spec)) or ([], [])
        lost = self.oracle(lambda: float(spec.q_plus().mid())) or 0.0
        for question, at in (
            ("beta", draw.alpha(alphas)),
            ("delta", draw.epsilon(losses)),
            ("epsilon", draw.delta(lost)),
        ):
            claim = self.safely(spec, seed, f"{question}({at!r})", lambda: ask(curve, question, at))  # noqa: B023 - called at once
            if claim is None:
                continue
            self.counts["questions"] += 1
            truth = self.oracle(lambda: getattr(spec, question)(at))  # noqa: B023 - called at once
            self.counts["truths"] += truth is not None
            wrong = refuted(claim, arb.nan() if truth is None else truth)
            if wrong:
                self.found(
                    "refuted",
                    spec,
                    seed,
                    f"f.bounds{'' if question == 'beta' else '.' + question}({at!r})  # {wrong}",
                    question,
                )
        if draw.chance(0.5):
            return
        relation = draw.random.choices(list(RELATIONS), weights=list(RELATIONS.values()))[0]
        name = relation.__name__
        self.counts[f"relation {name}"] += 1
        for wrong in self.safely(spec, seed, name, lambda: list(relation(spec, draw))) or []:
            self.found(name, spec, seed, wrong, name)

    def oracle(self, question: Callable[[], Any]) -> Any | None:
        """Return what the oracle answers, None where it has no answer in time."""
        start = time.process_time()
        try:
            with limited(PATIENCE):
                return question()
        except (Slow, TooMany, ArithmeticError, ValueError, IndexError, MemoryError, RecursionError) as error:
            self.counts[f"no truth: {type(error).__name__}"] += 1
            return None
        finally:
            self.spent["oracle"] += time.process_time() - start

    def safely(self, spec: Spec, seed: str, what: str, question: Callable[[], Any]) -> Any | None:
        """Return the answer; refusals are counted, whatever else escapes is a finding."""
        start = time.process_time()
        try:
            with limited(LIMIT):
                return question()
        except TradeOffError as error:
            self.counts[f"refused: {type(error).__name__}"] += 1
        except Slow:
            self.found("slow", spec, seed, f"{what}  # above {LIMIT:g} s of CPU", what)
        except Warning as error:
            self.found("warning", spec, seed, f"{what}  # {type(error).__name__}: {error}", f"{what} {error}")
        except Exception as error:  # noqa: BLE001 - whatever escapes is what this looks for
            self.found(
                "crash",
                spec,
                seed,
                f"{what}  # {type(error).__name__}: {error}",
                f"{what} {type(error).__name__} {error}",
            )
        finally:
            self.spent[what.partition("(")[0]] += time.process_time() - start
        return None

    def found(self, kind: str, spec: Spec, seed: str, line: str, group: str) -> None:
        """Print a finding, unless enough of its kind were."""
        shape = re.sub(
            r"[-+]?\b\d+(\.\d*)?(e[-+]?\d+)?\b", "#", f"{kind} | {group.partition('(')[0]} | {written(spec)}"
        )
        self.kinds[shape] += 1
        self.counts[f"FOUND {kind}"] += 1
        if self.kinds[shape] <= SHOWN:
            print(f"# {kind} (seed {seed})\nf = {written(spec)}\n{line}\n", flush=True)  # noqa: T201 - a command
