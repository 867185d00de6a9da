"""Check modules and pages: words that a reader of NumPy would have to learn, long files, bare constants."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "tradeoff").rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONGEST = 600
NAMES = {"found", "held", "told", "asked", "beyond", "dear", "faint", "heard", "said", "going"}
"""Not nouns: a variable is named by what it holds, a function by a verb and its object."""

PATTERNS = (
    r"at hand|dear|faint|letters|beside|whole numbers?|nought|wrongly accus\w+|is none of",
    r"(?<!there )(?:is|are) no(?! (?:longer|more|less|larger|greater|smaller|better|worse))",
    r"hands? out|handed out|giv(?:es?|en) away|stands? (?:in|at|next|there|alone)",
    r"(?:says?|tells?|knows?|hears?|speaks?) (?:so|what|which|how|of|nothing|that|whether|it)",
    r"asks? (?:of|what|more|it)",
    r"(?:what|who) (?:is|are|was|were|has|have|does|it|they|the|one|no|every)",
    r"(?:what|who) (?:comes?|goes|lies|may|can|cannot)",
)
WORDS = re.compile(rf"\b(?:{'|'.join(PATTERNS)})\b", re.IGNORECASE)


def wrong_names(text):
    """Yield the names that are not nouns, with their lines."""
    if not re.search(rf"\b_*(?:{'|'.join(NAMES)})_*\b", text):
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                pass
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Attribute(attr=name):
                pass
            case _:
                continue
        if name.strip("_") in NAMES:
            yield f"{node.lineno}: name {name}"


def sentences(tree):
    """Yield the first lines of docstrings and the messages of errors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield getattr(node, "lineno", 1), (ast.get_docstring(node) or "").split("\n\n")[0]
        elif isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def bare_constants(text, body):
    """Yield the numbers that a module names with neither a docstring under them nor a comment at them."""
    lines = ["", *text.splitlines()]
    for statement, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and is_named(statement) and is_chosen(statement):
            docstring = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
            comment = any("#" in line for line in lines[statement.lineno : (statement.end_lineno or 0) + 1])
            if not (docstring or comment or lines[statement.lineno - 1].startswith("#")):
                yield ast.unparse(statement)[:60]


def is_named(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return any(re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name) for name in names)


def is_chosen(statement):
    """Return whether the value is a number somebody chose, and not derived, a table or a name."""
    made = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.operator, ast.unaryop, ast.expr_context)
    parts = list(ast.walk(statement.value)) if statement.value else []
    numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
    return all(isinstance(part, made) for part in parts) and not any(isinstance(n, str) for n in numbers)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_source_uses_plain_words_and_keeps_the_house_rules(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    wrong = [f"{n}: {m.group()!r} in {part!r}" for n, part in sentences(tree) for m in WORDS.finditer(part)]
    wrong += wrong_names(text)
    assert not wrong, "\n".join(wrong)
    assert len(text.splitlines()) <= LONGEST
    assert "noqa: SLF001" not in text, "private access across modules"
    assert not [*bare_constants(text, tree.body)], "constants without their reason"


@pytest.mark.parametrize("folder", ["tests", "examples", "benchmarks", "docs"])
def test_names_outside_the_library_are_nouns(folder):
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py")}
    wrong = [f"{name}:{each}" for name, text in texts.items() for each in wrong_names(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_uses_plain_words(path):
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    statements = [(n, line) for n, line in lines if not line.endswith("?")]  # questions may begin with what
    wrong = [f"{n}: {m.group()!r}" for n, line in statements for m in WORDS.finditer(line)]
    assert not wrong, "\n".join(wrong)
