"""One process of the search: draw, answer, compare, and print failures as lines that can be pasted."""

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
from typing import Any, NamedTuple

from flint import arb

from tests.fuzz.draw import Drawer
from tests.fuzz.relations import RELATIONS
from tests.fuzz.shrink import as_test
from tests.truth.atoms import TooMany
from tests.truth.built import built, written
from tests.truth.claims import answer_query, refuted
from tests.truth.spec import Spec
from tradeoff.curves.contract import TradeOff
from tradeoff.errors import TradeOffError

LIMIT, PATIENCE = 20.0, 0.3
"""Seconds of CPU after which a question counts as a hang, and after which the oracle is given up."""

SHOWN = 2
"""Findings of one kind that are printed; the others are counted."""

PREAMBLE = (
    "import tradeoff as to; import scipy.stats as st; from fractions import Fraction as F; "
    "from tradeoff.families.discrete import *"
)


_LOST = {"gc_callback", "_remove", "remove", "__del__"}
"""What is called back, by Hypothesis and by weak references: an exception raised there reaches nobody."""


class Case(NamedTuple):
    """A question, where, and the assertion of its test."""

    name: str
    at: object
    check: str

    @classmethod
    def of(cls, question: str, at: float) -> Case:
        """Ask one of the three questions."""
        return cls(question, at, f"answers(spec, built(spec), {question!r}, at) is None")

    def __str__(self) -> str:
        return f"{self.name}({self.at!r})"


class Slow(BaseException):
    """A limit of CPU time passed; not an ``Exception``, so that nothing on the way swallows it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise ``Slow`` inside after so much CPU time of the process."""

    def stop(_number: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code.co_name in _LOST:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
            return
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
    """What was case and what broke, from one seed."""

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
        draw = Drawer(random.Random(seed))
        spec = draw.description()
        self.counts["compositions"] += 1
        built_at = Case("built", None, "built(spec)")
        curve = self.safely(spec, seed, built_at, lambda: built(spec))
        if curve is None:
            return
        alphas, losses = self.oracle(lambda: draw.kinks(spec)) or ([], [])
        lost = self.oracle(lambda: float(spec.mass_at_plus_infinity().mid())) or 0.0
        for case in (
            Case.of("beta", draw.alpha(alphas)),
            Case.of("delta", draw.epsilon(losses)),
            Case.of("epsilon", draw.delta(lost)),
        ):
            self.question(spec, seed, curve, case)
        if draw.chance(0.5):
            return
        relation = draw.random.choices(list(RELATIONS), weights=list(RELATIONS.values()))[0]
        name, at = relation.__name__, f"{seed}:{relation.__name__}"
        case = Case(name, at, f"not [*{name}(spec, Drawer(Random(at)))]")
        self.counts[f"relation {name}"] += 1
        again = Drawer(random.Random(at))
        for wrong in self.safely(spec, seed, case, lambda: list(relation(spec, again))) or []:
            self.report(name, spec, seed, wrong, case)

    def question(self, spec: Spec, seed: str, curve: TradeOff, case: Case) -> None:
        """Ask a question, and hold its answer against the oracle's."""
        claim = self.safely(spec, seed, case, lambda: answer_query(curve, case.name, case.at))
        if claim is None:
            return
        self.counts["questions"] += 1
        truth = self.oracle(lambda: getattr(spec, case.name)(case.at))
        self.counts["truths"] += truth is not None
        wrong = refuted(claim, arb.nan() if truth is None else truth)
        if wrong:
            self.report("refuted", spec, seed, f"f.bounds.{case}  # {wrong}".replace(".beta(", "("), case)

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

    def safely(self, spec: Spec, seed: str, case: Case, question: Callable[[], Any]) -> Any | None:
        """Return the answer; refusals are counted, whatever else escapes is a finding."""
        start = time.process_time()
        try:
            with limited(LIMIT):
                return question()
        except TradeOffError as error:
            self.counts[f"refused: {type(error).__name__}"] += 1
        except Slow:
            self.report("slow", spec, seed, f"{case}  # above {LIMIT:g} s of CPU", case)
        except Exception as error:  # noqa: BLE001 - whatever escapes is what this looks for
            kind = "warning" if isinstance(error, Warning) else "crash"
            self.report(kind, spec, seed, f"{case}  # {type(error).__name__}: {error}", case, str(error))
        finally:
            self.spent[case.name] += time.process_time() - start
        return None

    def report(self, kind: str, spec: Spec, seed: str, line: str, case: Case, message: str = "") -> None:
        """Print a finding and a test of it, made small, unless enough of its kind were."""
        shape = f"{kind} | {case.name} {message.partition('(')[0]} | {written(spec)}"
        shape = re.sub(r"[-+]?\b\d+(\.\d*)?(e[-+]?\d+)?\b", "#", shape)
        self.kinds[shape] += 1
        self.counts[f"FOUND {kind}"] += 1
        if self.kinds[shape] <= SHOWN:
            print(f"# {kind} (seed {seed})\nf = {written(spec)}\n{line}\n", flush=True)  # noqa: T201 - a command
        if self.kinds[shape] == 1 and kind != "slow":
            print(as_test(spec, case.at, case.check), flush=True)  # noqa: T201 - a command
