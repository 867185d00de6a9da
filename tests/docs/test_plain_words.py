"""Check names, docstrings, messages and pages for words that a reader of NumPy would have to learn."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


def sources():
    return sorted((ROOT / "tradeoff").rglob("*.py"))


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def name_nodes(tree):
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Attribute(attr=name):
                yield node.lineno, name


def sentences(tree):
    """Yield the first lines of docstrings and the messages of errors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield getattr(node, "lineno", 1), (ast.get_docstring(node) or "").split("\n\n")[0]
        elif isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_source_uses_plain_words(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wrong = [f"{line}: name {name}" for line, name in name_nodes(tree) if name.strip("_") in NAMES]
    wrong += [f"{n}: {m.group()!r} in {text!r}" for n, text in sentences(tree) for m in WORDS.finditer(text)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", ["tests", "examples", "benchmarks", "docs"])
def test_names_outside_the_library_are_nouns(folder):
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py")}
    names = ((path, *each) for path, tree in trees.items() for each in name_nodes(tree))
    wrong = [f"{path.name}:{line}: {name}" for path, line, name in names if name.strip("_") in NAMES]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_page_uses_plain_words(path):
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    statements = [(n, line) for n, line in lines if not line.endswith("?")]  # questions may begin with what
    wrong = [f"{n}: {m.group()!r}" for n, line in statements for m in WORDS.finditer(line)]
    assert not wrong, "\n".join(wrong)
