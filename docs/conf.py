"""Sphinx configuration: all that a page needs is in the built folder, nothing in the network."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from plotly.offline import get_plotlyjs
from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature
from sympy import Symbol

sys.path.insert(0, str(Path(__file__).parent))

from mechanism_table import table

from tradeoff import Gaussian, Identity, Laplace, PureDP, TotalVariation, __version__
from tradeoff.report.notebook import equation

FAMILIES = (Identity, Gaussian, Laplace, PureDP, TotalVariation)

project = "tradeoff"
author = "The tradeoff developers"
copyright = author  # noqa: A001 - Sphinx names it
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tradeoff {__version__}"
html_static_path = ["_static"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_css_files = ["site.css"]

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["dollarmath", "substitution"]
myst_substitutions = {"mechanisms": table()}
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

autodoc_typehints = "none"
autodoc_inherit_docstrings = False  # an override without words of its own keeps the contract it overrides
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
suppress_warnings = ["ref.python"]  # two classes are named Calibration, and Plan is in two modules


def mathml(translator: Any, node: nodes.Node) -> None:
    """Write a formula as MathML, which browsers typeset by themselves."""
    block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def bars(_app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """Escape the bars of |x|, which would be substitutions; examples and code stay as they are."""
    example = False
    for index, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        parts = line.split("``")
        parts[::2] = [part if example else part.replace("|", r"\|") for part in parts[::2]]
        lines[index] = "``".join(parts)


def parameters(
    _app: Sphinx, _what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    """Put each text of ``name : text`` on a line of its own, as napoleon takes it for a type."""
    inside, result = False, []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        inside = line == "Parameters" if following.startswith("---") else inside
        name, colon, text = line.partition(" : ")
        is_short = inside and bool(colon) and not line.startswith(" ")
        result += [name, f"    {text}"] if is_short else [line]
    lines[:] = result


def formula(_app: Sphinx, what: str, _name: str, thing: Any, _options: object, lines: list[str]) -> None:
    """Put the closed form of a family, with symbols for its parameters, below the first line."""
    if what == "class" and thing in FAMILIES:
        names = [name.removesuffix("_0") for name in inspect.signature(thing).parameters]
        closed_form = equation(thing(*(Symbol(name, positive=True) for name in names)))
        lines[1:1] = ["", ".. math::", "", f"   {closed_form}", ""]


def signature(*event: Any) -> tuple[str, str] | None:
    """Sign a class by its ``__init__``, also where a ``__new__`` takes anything."""
    _app, what, _name, thing, *_ = event
    if what != "class" or thing.__new__ is object.__new__ or not thing.__module__.startswith("tradeoff"):
        return None
    return stringify_signature(inspect.signature(thing), show_annotation=False), ""


def plotly_script(app: Sphinx, error: Exception | None) -> None:
    """Write the script of interactive figures to the built site, which loads nothing from elsewhere."""
    if error is None:
        (Path(app.outdir) / "_static" / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas, the changes to docstrings, and the script of figures."""
    app.connect("build-finished", plotly_script)
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
    app.connect("autodoc-process-docstring", parameters, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", bars)
    app.connect("autodoc-process-docstring", formula)
    app.connect("autodoc-process-signature", signature)
