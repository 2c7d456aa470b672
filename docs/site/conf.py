"""Settings of the documentation site; `python docs/build_site.py FOLDER` builds it."""

from __future__ import annotations

project = "context-bench"
author = "the context-bench developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []
myst_heading_anchors = 6
myst_enable_extensions: list[str] = []
suppress_warnings = [
    "misc.highlighting_failure",  # an output with ... between its lines is no JSON and no TOML
]
html_theme = "furo"
html_title = "context-bench"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes of a named tuple would be described twice
default_role = "code"
nitpicky = False
