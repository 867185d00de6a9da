"""Sphinx configuration."""

project = "tradeoff"
author = "The tradeoff developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_static_path = ["_static"]
html_title = "tradeoff"
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
