"""Answer one question in the interpreter of one library: ``python -P harness.py ADAPTER < question.json``.

The question is a JSON object: ``factors``, ``kind`` ("epsilon", "beta" or "allocation", an epsilon of random
allocation), ``at``, ``setting``, ``memory`` (bytes), ``timeout`` (CPU seconds). The answer comes as JSON
lines, each written at once, so that what is known survives a limit: first the versions and the cost of the
import, then the first answer, then the same composed object queried again nearby. Seconds are those of CPU.

An adapter is a script with ``PACKAGE`` and, for each kind it answers, a function ``epsilon(factors, delta,
**setting)``, ``beta(factors, alpha, **setting)`` or ``allocation`` like ``epsilon``, that composes and
returns a function of delta or alpha.
That function returns ``value`` and whichever of ``lower`` and ``upper`` the library claims.
``NotImplementedError`` declines, with a reason.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of ru_maxrss."""

PATIENCE = 5.0
"""Seconds of a first answer above which no second one is measured."""


def peak() -> float:
    """Return the largest resident set of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / 2**20


def print_line(**line: Any) -> None:
    """Write one line of the answer past whatever the library prints."""
    sys.__stdout__.write(json.dumps(line) + "\n")
    sys.__stdout__.flush()


def load(path: Path) -> ModuleType:
    """Import an adapter from its file.

    Adapters bear the names of the libraries, and must not shadow them.
    """
    spec = importlib.util.spec_from_file_location("adapter", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(adapter: ModuleType, question: dict[str, Any]) -> None:
    """Compose, answer, answer again; print the seconds of each."""
    compose = getattr(adapter, question["kind"], None)
    if compose is None:
        raise NotImplementedError(f"does not answer {question['kind']}")
    start = time.process_time()
    query = compose(question["factors"], question["at"], **question["setting"])
    result = query(question["at"])
    seconds = time.process_time() - start
    print_line(first={**result, "seconds": seconds, "mebibytes": peak()})
    if seconds < PATIENCE:
        start = time.process_time()
        query(question["at"] * 1.25)
        print_line(later={"seconds": time.process_time() - start})


def main() -> None:
    """Read the question, limit memory and CPU time, answer."""
    question = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (question["memory"], question["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (question["timeout"], question["timeout"] + 1))
    sys.path.append(str(Path(__file__).parents[1]))  # adapters share ``peers.pld``
    warnings.simplefilter("ignore")
    start = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            adapter = load(Path(sys.argv[1]))
            version = importlib.metadata.version(adapter.PACKAGE)
            print_line(
                imported={"version": version, "seconds": time.process_time() - start, "mebibytes": peak()}
            )
            answer(adapter, question)
        except NotImplementedError as reason:
            print_line(declined=str(reason) or "not implemented")
        except MemoryError:
            print_line(failed=f"needs more than {question['memory'] / 2**30:.0f} GiB")
        except Exception as error:  # noqa: BLE001 - whatever a library raises is its answer
            print_line(failed=f"{type(error).__name__}: {error}".splitlines()[0][:160])
    os._exit(0)  # no time for interpreters that tidy up gigabytes


if __name__ == "__main__":
    main()
