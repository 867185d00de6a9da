"""How large the library is, and how much of it one question enters.

    python benchmarks/structure.py

Prints lines, files, functions and constants, the largest circle of imports (late ones included, those for
type checkers not), the files, functions and depth of a later epsilon of DP-SGD, and the seconds of
``import tradeoff`` and of the first epsilon in a fresh process.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.glob("tradeoff/**/*.py")}
QUESTION = "(to.subsample(to.Gaussian(1 / 1.1), 0.01) ** 1000).epsilon(1e-5)"


def count_lines(folder: str) -> int:
    """Count the lines of all Python files of a folder."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob(f"{folder}/**/*.py"))


def constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names in capitals that a module assigns."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = [x.id for each in targets if each for x in ast.walk(each) if isinstance(x, ast.Name)]
        yield from (name for name in names if name.strip("_").isupper())


def imports(path: Path) -> set[Path]:
    """Return the files of the library that a file imports; of a package its ``__init__``."""
    result, skipped = set(), set[ast.AST]()
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped |= {inner for each in node.body for inner in ast.walk(each)}
        if isinstance(node, ast.ImportFrom) and node.module and node not in skipped:
            package = ROOT / node.module.replace(".", "/")
            inside = [package / f"{each.name}.py" for each in node.names]
            files = TREES.keys() & inside
            if len(files) < len(inside):  # a name of the module
                files |= {package.with_suffix(".py"), package / "__init__.py"}
            result |= files & TREES.keys()
    return result - {ROOT / "tradeoff/__init__.py"}


def largest_circle() -> int:
    """Return the number of files in the largest set that import each other, directly or not; 1 for none."""
    direct, reached = {path: imports(path) for path in TREES}, {}
    for path in TREES:
        seen, left = set[Path](), [path]
        while left:
            new = direct[left.pop()] - seen
            seen |= new
            left += new
        reached[path] = seen
    return max(1, *(sum(path in reached[other] for other in reached[path]) for path in TREES))


def walk() -> tuple[int, int, int, int]:
    """Return files, functions and depth of a later epsilon, and functions before the engines are chosen."""
    import tradeoff as to

    (to.subsample(to.Gaussian(0.7), 0.02) ** 10).epsilon(1e-5)  # engines are loaded
    seen, stack, depth, before = dict[Any, None](), list[Any](), 0, 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal depth, before
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT / "tradeoff")):
            return
        if event == "return" and stack:
            stack.pop()
        if event == "call":
            stack.append(code)
            depth = max(depth, len(stack))
            if code.co_qualname == "Composition.__init__":
                before = before or len(seen)
            if "<" not in code.co_name:  # comprehensions and lambdas have no name
                seen[code.co_filename, code.co_qualname] = None

    f = to.subsample(to.Gaussian(1 / 1.1), 0.01) ** 1000
    sys.setprofile(profile)
    f.epsilon(1e-5)
    sys.setprofile(None)
    return len({file for file, _ in seen}), len(seen), depth, before


def seconds(code: str) -> float:
    """Return the least time of five fresh processes, less that of an empty one."""

    def least(code: str) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
            times.append(time.perf_counter() - started)
        return min(times)

    return least(code) - least("")


def main() -> None:
    """Print every number in a row."""
    sys.path.insert(0, str(ROOT))
    texts = {path: path.read_text(encoding="utf-8") for path in TREES}
    functions = sum(len(re.findall(r"^\s*(?:async )?def ", text, re.MULTILINE)) for text in texts.values())
    counted = [path for path in TREES if path.relative_to(ROOT).parts[1] not in {"pld", "accounting"}]
    units = sum(len(re.findall(r"\b(?:UNIT|UNITS|TINY|SUBNORMAL)\b", texts[path])) for path in counted)
    files, entered, depth, before = walk()
    rows: dict[str, object] = {
        "lines of source": count_lines("tradeoff"),
        "lines of proofs": count_lines("tradeoff/proofs"),
        "lines of tests": count_lines("tests"),
        "files": len(TREES),
        "functions": functions,
        "constants of modules": sum(len([*constants(tree)]) for tree in TREES.values()),
        "units named outside the engines": units,
        "files of the largest circle of imports": largest_circle(),
        "one epsilon: files": files,
        "one epsilon: functions": entered,
        "one epsilon: depth": depth,
        "one epsilon: functions before the engines": before,
        "seconds of the import": f"{seconds('import tradeoff'):.3f}",
        "seconds of the first epsilon": f"{seconds(f'import tradeoff as to; {QUESTION}'):.3f}",
    }
    for name, value in rows.items():
        print(f"{name:42} {value}")


if __name__ == "__main__":
    main()
