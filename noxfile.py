"""The checks of the pipeline, each in an environment of its own: ``nox``."""

from __future__ import annotations

import nox

nox.options.sessions = ["checks", "tests"]
PYTHONS = ["3.11", "3.12", "3.13"]


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
    """Run the tests; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the pages; a warning is an error."""
    session.install(".[docs]")
    session.run("sphinx-build", "-W", "docs", "docs/_build")
