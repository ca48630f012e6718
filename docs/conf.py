# SPDX-License-Identifier: BSD-3-Clause
"""Builds the book and all other pages of the tree as HTML that reads offline, with Sphinx and MyST (Debian:
python3-sphinx, python3-myst-parser): ./plaquette learn book. What is read is Markdown as it stands."""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
project, author, html_title = "Plaquette", "the authors of Plaquette", "Plaquette"
extensions, root_doc = ["myst_parser"], "docs/book/README"
include_patterns = [os.path.relpath(path, ROOT) for pattern in ("*.md", "*/*.md", "*/*/*.md")
                    for path in glob.glob(os.path.join(ROOT, pattern)) if not re.match(r"(build|out|shared)\b", os.path.relpath(path, ROOT))]
html_theme, html_copy_source, html_show_sphinx = "alabaster", False, False
html_theme_options = {"page_width": "1150px", "body_max_width": "850px", "fixed_sidebar": True}
html_sidebars = {"**": ["navigation.html", "searchbox.html"]}
myst_heading_anchors = 3
nitpicky = False
pygments_style, highlight_language = "sphinx", "none"


def other_pages():
    """All pages but the book's chapters, in order."""
    return sorted(name for name in include_patterns if not name.startswith("docs/book/"))


def chapters():
    with open(os.path.join(ROOT, "docs", "book", "chapters.txt"), encoding="utf-8") as file:
        return [line.split()[1] for line in file if line[:1].isdigit()]


def tree(caption, pages):
    lines = "\n".join(os.path.splitext(page)[0] for page in pages)
    return f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{lines}\n```\n"


def read(app, page, source):
    """Adds the table of contents to the first page. Links to sources and folders become text: the tree has them."""
    folder = os.path.dirname(os.path.join(ROOT, page))

    def link(match):
        text, target = match[1], match[2].partition("#")[0]
        keeps = not target or "://" in target or target.endswith((".md", ".png", ".webp"))
        name = os.path.relpath(os.path.join(folder, target), ROOT)
        return match[0] if keeps else text if text.strip("`") == name else f"{text} (`{name}`)"

    source[0] = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, source[0])
    if page == root_doc:
        source[0] += tree("Chapters", chapters()) + tree("Other pages", ["/" + name for name in other_pages()])


def setup(app):
    app.connect("source-read", read)
