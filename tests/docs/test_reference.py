"""What the reference names is there: functions, pages, tests, works; and what is public is described."""

import ast
import functools
import importlib.util
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import tradeoff as to
from tradeoff.mechanisms import KINDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
MODULES = (
    "tradeoff",
    *(f"tradeoff.{name}" for name in ("audits", "baselines", "conversions", "filters", "proofs")),
    *(f"tradeoff.interop.{name}" for name in ("dp_accounting", "fdp", "opacus", "opendp")),
    *(f"tradeoff.{name}" for name in ("limits", "mechanisms", "spec")),
)
WORKS = (DOCS / "references.bib").read_text(encoding="utf-8")


def described():
    """Return public functions and classes by their full names."""
    for module in map(import_module, MODULES):
        for name in getattr(module, "__all__", list(vars(module))):
            thing = getattr(module, name)
            ours = hasattr(module, "__all__") or getattr(thing, "__module__", "") == module.__name__
            if ours and name[0] != "_" and (inspect.isfunction(thing) or inspect.isclass(thing)):
                yield pytest.param(thing, id=f"{module.__name__}.{name}")


def theorem_rows():
    for line in (DOCS / "theorem-index.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) >= 4 and cells[-1] != "test":
            yield pytest.param(*cells[-3:], id=" ".join(cells[:-3])[:60])


@functools.cache
def named_tests(path):
    """Return the tests of a file, those of classes after the name of the class."""
    result = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else []
        result |= {f"{node.name}::{each.name}" for each in inner if isinstance(each, ast.FunctionDef)}
        result |= {node.name} if isinstance(node, ast.FunctionDef) else set()
    return result


@pytest.mark.parametrize(("library", "page", "test"), list(theorem_rows()))
def test_the_theorem_index_names_what_is_there(library, page, test):
    for name in re.findall(r"`([A-Za-z_][\w.]*(?:/[\w.]+)?)`", library):
        if "/" in name:
            assert (ROOT / name).exists()
        else:
            functools.reduce(getattr, name.split("."), to)
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert (DOCS / target).exists()
    for named in re.findall(r"`([^`]+)`", test):
        path, _, name = named.partition("::")
        assert name in named_tests(ROOT / "tests" / path)
    assert all((library, page, test))


def test_every_page_has_its_place_and_works_and_the_table_of_mechanisms_is_filled():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    trees = "\n".join(re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.DOTALL))
    placed = sorted(line for line in trees.splitlines() if line and not line.startswith(":"))
    assert placed == sorted({page.stem for page in PAGES} - {"index"})  # each once
    for key in re.findall(r"\{cite\}`([^`]+)`", text):
        assert f"{{{key}," in WORKS
    for target in re.findall(r"\]\(([\w-]+\.md)\)", text):
        assert (DOCS / target).exists(), target
    spec = importlib.util.spec_from_file_location("mechanism_table", DOCS / "mechanism_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for kind in KINDS.values():
        cells = dict(zip(module.HEAD, module.row(kind), strict=True))
        assert re.match("Exact|Dominating|As exact as the given curves", cells["curve"]), kind
        for author, year in re.findall(r"(?:^|; )([A-Z][\w-]+)[^;]*? (\d{4})", cells["source"]):
            work = rf"author = \{{{author}\b[^\n]*\n[^\n]*\n.*year = \{{{year}\}}"
            assert re.search(work, WORKS), (author, year)
        assert "\n" not in "".join(cells.values())


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(DOCS.glob("tutorial-*.md")), ids=lambda page: page.name)
def test_tutorials_run(page, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = page.read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\} python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert cells
    exec("\n".join(cells), {})


@pytest.mark.parametrize("thing", list(described()))
def test_what_is_public_is_described(thing):
    text = inspect.getdoc(thing) or ""
    assert text
    every = inspect.signature(thing).parameters.values()
    parameters = [each.name for each in every if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if parameters and not inspect.isabstract(thing):
        listed = text.partition("Parameters\n----------\n")[2]
        for name in parameters:
            assert re.search(rf"^(?:[\w, *]+, )?{name}\b", listed, re.MULTILINE), f"{name} is not described"
    if inspect.isfunction(thing) and "interop" not in thing.__module__:  # there examples need the neighbours
        assert ">>>" in text, "no example"
