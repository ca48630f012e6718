# SPDX-License-Identifier: BSD-3-Clause
"""Settings of Sphinx for the site that tools/book.py writes (./plaquette learn book). Formulas become MathML. Sources of
programs and rungs become pages with colours. A page of the tree keeps its name. Nothing is fetched from a network."""

import html
import inspect
import json
import os
import re

import furo
from docutils.utils.math import latex2mathml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

SITE = os.environ["PLAQUETTE_BOOK"]  # the folder that tools/book.py has filled
with open(os.path.join(SITE, "sources.json"), encoding="utf-8") as listing:
    SOURCES = json.load(listing)  # {path in the tree: its text}

project, author, html_title = "Plaquette", "the authors of Plaquette", "Plaquette"
copyright = "the authors of Plaquette, BSD-3-Clause"  # pylint: disable=redefined-builtin
extensions, root_doc = ["myst_parser"], "index"
html_theme, html_copy_source, html_show_sphinx = "furo", False, False
html_static_path, html_css_files = [os.path.join(SITE, "static")], ["book.css"]
html_math_renderer = "mathml"
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
nitpicky = False
suppress_warnings = ["toc.excluded", "misc.highlighting_failure"]
pygments_style, highlight_language = "tango", "none"


def mathml(text, block):
    """Presentation MathML of LaTeX. Lines that are aligned become a table without their environment."""
    plain = re.sub(r"\\(begin|end)\{aligned\}", "", text).strip()
    if "as_block" in inspect.signature(latex2mathml.tex2mathml).parameters:  # of docutils 0.22 and later
        return latex2mathml.tex2mathml(plain, as_block=block)
    return latex2mathml.tex2mathml(plain, inline=not block)


def visit_inline(writer, node):
    writer.body.append(mathml(node.astext(), block=False))
    raise _skip()


def visit_block(writer, node):
    writer.body.append(f'<div class="math">{mathml(node.astext(), block=True)}</div>\n')
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode  # noqa: PLC0415  (docutils asks that visitors raise it)
    return SkipNode()


def coloured(path, text):
    try:
        lexer = get_lexer_for_filename("a.cpp" if path.endswith(".cu") else path)
    except ClassNotFound:
        lexer = TextLexer()
    return highlight(text, lexer, HtmlFormatter(linenos="inline", anchorlinenos=True, lineanchors="line"))


def pages_of_sources(_app):
    """A page for each source: its name, and its text in colours."""
    for path, text in SOURCES.items():
        up = "../" * (path.count("/") + 1)
        back = f'<p><a href="{up}index.html">Plaquette</a></p>'
        body = f"{back}<h1><code>{html.escape(path)}</code></h1>\n{coloured(path, text)}"
        yield f"source/{path}", {"title": path, "body": body, "parents": [], "prev": None, "next": None}, "page.html"


def drop_broken_script(_app, _page, _template, context, _doctree):
    """Leaves out a script of Furo that Debian packs unbundled: browsers refuse it. Menus and search do not need it."""
    with open(os.path.join(os.path.dirname(furo.__file__), "theme", "furo", "static", "scripts", "furo.js"), encoding="utf-8") as file:
        if file.read(7) == "import ":
            context["script_files"] = [script for script in context["script_files"] if "furo.js" not in str(getattr(script, "filename", script))]


def setup(app):
    app.connect("html-page-context", drop_broken_script, priority=900)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("html-collect-pages", pages_of_sources)
