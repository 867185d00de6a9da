"""Sphinx configuration: everything that a page needs is in the built folder, and no page asks the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "tradeoff"
author = "The tradeoff developers"
copyright = author  # noqa: A001 - Sphinx names it
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinxcontrib.bibtex"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "tradeoff"
html_static_path = ["_static"]
html_math_renderer = "mathml"
html_show_sphinx = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "unsrt"

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False  # an override without words of its own keeps the contract it overrides
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
maximum_signature_line_length = 90


def mathml(translator: Any, node: nodes.Node) -> None:
    """Write a formula as MathML, which browsers typeset by themselves."""
    block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
