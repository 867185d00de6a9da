#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9", "uv"]
# ///
"""The checks of the pipeline, each in an environment of its own: ``nox``; ``nox --list`` names all."""

from __future__ import annotations

import shutil
import tarfile
import time
import zipfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@nox.session
def checks(session: nox.Session) -> None:
    """Lint, format, types, import contracts."""
    session.install(".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run all tests, the slow ones too; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("python", "-m", "pytest", "-q", *session.posargs)
    session.run("python", "-m", "pytest", "-q", "-m", "slow")


@nox.session(python=PYTHONS[0], default=False)
def lowest(session: nox.Session) -> None:
    """Run all tests with the oldest dependencies that ``pyproject.toml`` allows, extras among them."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    extras = project["optional-dependencies"]
    names = ("arrow", "parallel", "plot", "pandas", "dp-accounting", "cli")
    allowed = [*project["dependencies"], *(each for name in names for each in extras[name])]
    oldest = [each.replace(">=", "==") for each in allowed if ">=" in each]
    session.install(".[test]", *oldest)
    session.run("python", "-m", "pytest", "-q", "-m", "", *session.posargs)


@nox.session(python="3.13", default=False)
def colab(session: nox.Session) -> None:
    """Run all tests with the releases that a notebook of Google Colab has installed."""
    session.install(".[test]", "numpy==2.1.3", "scipy==1.16.3", "matplotlib==3.10.0", "pandas==2.2.3")
    session.run("python", "-m", "pytest", "-q", "-m", "", *session.posargs)


@nox.session(default=False)
def package(session: nox.Session) -> None:
    """Build sdist and wheel, and compare their content with the files in git."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    session.run("python", "-m", "twine", "check", "--strict", *map(str, Path("dist").iterdir()))
    known = set(str(session.run("git", "ls-files", external=True, silent=True)).split())
    (wheel,), (sdist,) = Path("dist").glob("*.whl"), Path("dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    if packed != {name for name in known if name.startswith("tradeoff/")}:
        session.error(f"the wheel is not the package: {sorted(packed ^ known)[:20]}")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()} - {"PKG-INFO", ""}
    if packed != known:
        session.error(f"the sdist is not the repository: {sorted(packed ^ known)}")


@nox.session(python=PYTHONS, default=False)
def wheel(session: nox.Session) -> None:
    """Run the tests against the wheel that ``nox -s package`` built, far from the package of the checkout."""
    (built,) = Path("dist").glob("*.whl")
    session.install(f"{built}[test]")
    copy = Path(session.create_tmp()) / "checkout"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(".", copy, ignore=shutil.ignore_patterns(".*", "dist", "tradeoff", "_build"))
    session.chdir(copy)
    session.run("python", "-c", "import tradeoff; assert 'site-packages' in tradeoff.__file__")
    session.run("python", "-m", "pytest", "-q", "tests", *session.posargs)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Measure which lines the tests reach, in a quarter of an hour on two cores; branches take five."""
    session.install(".[test]")
    session.run("python", "-m", "pytest", "-q", "--cov", "--cov-report=term:skip-covered", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the pages; a warning is an error."""
    session.install(".[docs]")
    session.run("sphinx-build", "-W", "docs", "docs/_build")


DRAWN = ("tests/truth", "tests/laws", "tests/intervals")
"""Tests that draw curves and numbers."""

SEARCHES = {
    "relations": ("-m", "tests.fuzz", "--seconds", "3600", "--seed"),
    "properties": ("-m", "pytest", "-q", "--hypothesis-profile=thorough", *DRAWN, "--hypothesis-seed"),
    "trusted": ("-m", "tests.truth.trusted", "--seconds", "600", "--seed"),
}
"""What searches without end, up to its seed."""


@nox.session(default=False)
@nox.parametrize("search", [*SEARCHES])
def fuzz(session: nox.Session, search: str) -> None:
    """Search for broken promises, each time from another seed, or from that after ``--``."""
    session.install(".[test]")
    seed = session.posargs[0] if session.posargs else str(int(time.time()))
    session.run("python", *SEARCHES[search], seed)


MUTATED = {
    "intervals": ("tests/intervals",),
    "loss": ("tests/accounting", "tests/golden"),
    "composition": ("tests/accounting", "tests/golden"),
}
"""Rooms whose tests are tried on mutants, and the tests that see each."""

CHANGES = {
    "ReplaceBinaryOperator_.*": "Add_Sub|Sub_Add|Mul_Div|Div_Mul|Pow_Mul",
    "ReplaceComparisonOperator_.*": "Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt|Eq_NotEq",
    "ReplaceUnaryOperator_.*": "USub_UAdd",
    "RemoveDecorator": "",
    "ExceptionReplacer": "",
}
"""Changes that are left out, and which of their kind are made all the same: others say the same again."""

MUTANTS = """[cosmic-ray]
module-path = "tradeoff/{room}"
timeout = 120.0
excluded-modules = []
test-command = "python -m pytest -q -n 0 -x -p no:cacheprovider {tests}"
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = [{without}]
"""


@nox.session(default=False)
@nox.parametrize("room", [*MUTATED])
def mutants(session: nox.Session, room: str) -> None:
    """Change a room in one place at a time, in place, and print the changes that no test notices."""
    session.install(".[test]", "cosmic-ray")
    session.install("--no-deps", "--editable", ".")
    without = (
        f"core/{kind.removesuffix('.*')}(?!({kept})$).*" if kept else f"core/{kind}"
        for kind, kept in CHANGES.items()
    )
    config, found = (str(Path(session.create_tmp()) / f"{room}.{end}") for end in ("toml", "sqlite"))
    Path(config).write_text(
        MUTANTS.format(
            room=room, tests=" ".join(MUTATED[room]), without=", ".join(f'"{each}"' for each in without)
        ),
        encoding="utf-8",
    )
    session.run("cosmic-ray", "init", config, found)
    session.run("cr-filter-operators", found, config)
    session.run("cosmic-ray", "exec", config, found, env={"CI": "true"})
    session.run("cr-report", "--surviving-only", "--show-diff", found)


if __name__ == "__main__":
    nox.main()
