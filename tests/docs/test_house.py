"""What the house rules let a machine measure; ``ruff`` holds the lines to 110 columns."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "tradeoff").rglob("*.py"))
LONGEST = 600


def constants(path):
    """Return the numbers that a module names with neither a docstring under them nor a comment at them."""
    source = path.read_text(encoding="utf-8")
    lines, body = ["", *source.splitlines()], ast.parse(source).body
    result = []
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or not (
            named(statement) and chosen(statement)
        ):
            continue
        under = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        above = lines[statement.lineno - 1].startswith("#")
        same_line = any("#" in line for line in lines[statement.lineno : (statement.end_lineno or 0) + 1])
        if not (under or above or same_line):
            result.append(statement)
    return result


def named(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return any(re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name) for name in names)


def chosen(statement):
    """Return whether the value is a number somebody chose, and not derived, a table or a name."""
    made = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)
    parts = list(ast.walk(statement.value)) if statement.value else []
    numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
    return all(isinstance(part, made) for part in parts) and not any(isinstance(n, str) for n in numbers)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_keeps_the_house_rules(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    assert "noqa: SLF001" not in text, "private access across modules"
    assert not [ast.unparse(each)[:60] for each in constants(path)], "constants without their reason"
