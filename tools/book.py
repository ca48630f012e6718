#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the book, the ladders and all other pages of the tree as a site that reads offline: book.py OUT. It needs
Sphinx, MyST and Furo (Debian: python3-sphinx, python3-myst-parser, furo). OUT/html/index.html is the first page.

Pages stay Markdown in the tree. Links to sources lead to pages with colours. Rows of output become tables, notebooks and
ladders become pages."""

import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

import notebook

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURES = (".png", ".webp", ".svg")
SOURCES = ("ladder/*/*.*", "ladder/*.*", "examples/*.*", "miniapps/*/*.?pp", "cpu_ref/*/*textbook*", "docs/book/notebooks/*.py",
           "docs/book/exercises/*", "common/concepts.hpp", "common/solvers/*.hpp")
CHAPTER = "docs/book/"
PATHS = ("measure", "learn", "call")
CSS = """
.math { overflow-x: auto; margin: 1em 0; } .math math { font-size: 1.15em; }
.math mtd { text-align: left; padding: 0.2em 0.4em; }
.table-wrapper { overflow-x: auto; } article h1 { overflow-wrap: anywhere; } article code { overflow-wrap: anywhere; }
.highlight .linenos { color: #888; padding-right: 1em; user-select: none; } .highlight a { color: inherit; text-decoration: none; }
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def chapters():
    """The files of the chapters, in their order."""
    return [CHAPTER + line.split()[1] for line in read("docs/book/chapters.txt").split("\n") if line[:1].isdigit()]


def ladders():
    return sorted(os.path.basename(folder) for folder in glob.glob(os.path.join(ROOT, "ladder", "*")) if os.path.isdir(folder))


def pages():
    """All pages of the tree, by path."""
    found = [os.path.relpath(path, ROOT) for pattern in ("*.md", "*/*.md", "*/*/*.md") for path in glob.glob(os.path.join(ROOT, pattern))]
    return sorted(path for path in found if not re.match(r"(build|out|shared)\b", path))


class Site:
    def __init__(self, out):
        self.out, self.source = out, os.path.join(out, "source")
        self.pages = pages()
        self.sources = {os.path.relpath(path, ROOT) for pattern in SOURCES for path in glob.glob(os.path.join(ROOT, pattern))
                        if os.path.isfile(path) and not path.endswith(".md")}

    def write(self, path, text):
        """Writes a page; one that has not changed keeps its time, so that Sphinx leaves it."""
        full = os.path.join(self.source, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if not os.path.exists(full) or open(full, encoding="utf-8").read() != text:  # pylint: disable=consider-using-with
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)

    def is_source(self, name):
        """Whether the tree has this text file; it gets a page then."""
        full = os.path.join(ROOT, name)
        if name in self.sources:
            return True
        if name.startswith("..") or name.endswith((".md", ".xz", ".nersc", *PICTURES)) or not os.path.isfile(full) or os.path.getsize(full) > 200_000:
            return False
        self.sources.add(name)
        return True

    def href(self, page, name):
        return os.path.relpath(f"source/{name}.html", os.path.dirname(page) or ".")

    def link(self, page, text, target):
        """A link of a page, to what the site has: a page, a ladder, a picture, a source; else the text alone."""
        path, _, anchor = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if not path or "://" in target or name in self.pages:
            return f"[{text}]({target})"
        if os.path.dirname(name) == "ladder" and os.path.basename(name) in ladders():
            return f"[{text}]({path.rstrip('/')}/index.md)"
        if name.endswith(PICTURES):
            self.picture(name)
            return f'<a href="{os.path.relpath("_static/" + name.replace("/", "-"), os.path.dirname(page) or ".")}">{text.strip("`")}</a>'
        if os.path.isfile(os.path.join(ROOT, name, "README.md")):
            return f"[{text}]({path.rstrip('/')}/README.md)"
        if self.is_source(name):
            return f'<a href="{self.href(page, name)}">{text.strip("`")}</a>'
        return text if text.strip("`") == name else f"{text} (`{name}`)"

    def picture(self, name):
        to = os.path.join(self.out, "static", name.replace("/", "-"))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, name), to)

    def code(self, page, match):
        """A path in code that names a source: a link to its page."""
        name = match[1]
        if "/" in name and not name.startswith((".", "/")) and self.is_source(name):
            return f'<a href="{self.href(page, name)}"><code>{name}</code></a>'
        return match[0]

    def line(self, page, text):
        parts = re.split(r"((?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)\s]+\))", text)
        for n, part in enumerate(parts):
            match = re.fullmatch(r"\[(.*)\]\(([^)\s]+)\)", part) if n % 2 else None
            parts[n] = self.link(page, match[1], match[2]) if match else self.words(page, part)
        return "".join(parts)

    def words(self, page, text):
        """Text outside of links: code that names a source becomes a link; in the book U_μ gets its index."""
        parts = re.split(r"(`[^`]*`)", text)
        for n, part in enumerate(parts):
            if n % 2:
                parts[n] = re.sub(r"^`([\w./-]+)`$", lambda m: self.code(page, m), part)
            elif page.startswith(CHAPTER):
                parts[n] = re.sub(r"(?<![\w/])([^\W\d_])_(\w{1,5})(?!\w)", r"\1<sub>\2</sub>", part)
        return "".join(parts)

    def page(self, name, text):
        """The text of a page for the site. Blocks of code stay as they are, but for rows of output and formulas."""
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text):
            picture = os.path.normpath(os.path.join(os.path.dirname(name), target))
            to = os.path.join(self.source, picture)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, picture), to)
        lines, fenced = [], False
        for line in text.split("\n"):
            if line.startswith("```"):
                line = "```{math}" if line == "```math" else line
                fenced = not fenced
            elif not fenced and not re.match(r" {4}\S", line):
                line = self.line(name, line)
            lines.append(line)
        return tables_of_output("\n".join(lines))

    def add_pages(self):
        for name in self.pages:
            self.write(name, self.page(name, read(name)))

    def add_ladders(self):
        titles = dict(re.findall(r"(?m)^\| \[([\w-]+)\]\([\w-]+\) \| ([^|]*?) \|", read("ladder/README.md")))
        for name in ladders():
            page = f"ladder/{name}/index.md"
            files = sorted(os.listdir(os.path.join(ROOT, "ladder", name)), key=lambda f: (int(f.split("_")[0]) if f[:1].isdigit() else 99, f))
            lines = [f"# Ladder: {name}", "", f"{titles.get(name, name).capitalize()}, from the formula to the fast kernel. "
                     f"`./plaquette learn {name}` tests and times all rungs here. [How to climb](../README.md)", ""]
            picture = next((p for p in (os.path.join(ROOT, "out", "book", name + ".png"),
                                        os.path.join(ROOT, "docs", "book", "pictures", f"ladder-{name}.png")) if os.path.exists(p)), None)
            if picture:
                to = os.path.join(self.source, "ladder", name, "rungs.png")
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copyfile(picture, to)
                lines += ["![The time of each rung, and what it gains on the rung below](rungs.png)", "",
                          f"*[The tables of all ladders](../README.md#gains) name the machine. `./plaquette learn {name}` draws the picture of yours.*", ""]
            for file in files:
                text = read(f"ladder/{name}/{file}")
                href = self.href(page, f"ladder/{name}/{file}")
                idea = " ".join(part.strip("/ ") for part in re.findall(r"(?m)^// (?!SPDX)(.*)$", text.split("#include")[0]))
                lines += [f'## <a href="{href}">{file}</a>', "", plain(idea), ""]
                if file[:1].isdigit():
                    body = re.sub(r"^(//[^\n]*\n)+", "", text).strip("\n")
                    lines += ["```cpp", body, "```", ""]
            self.write(page, "\n".join(lines))

    def add_notebooks(self):
        self.notebooks = []
        for path in sorted(glob.glob(os.path.join(ROOT, "docs", "book", "notebooks", "*.py"))):
            name = "docs/book/notebooks/" + os.path.basename(path)[:-3]
            lines = []
            with open(path, encoding="utf-8") as file:
                for cell in notebook.cells_of(file.read()):
                    is_text = cell["cell_type"] == "markdown"
                    lines += [self.page(name + ".md", cell["source"]) if is_text else f"```python\n{cell['source']}\n```", ""]
            self.write(name + ".md", "\n".join(lines))
            self.notebooks.append(name)

    def add_index(self):
        rest = [name for name in self.pages if name not in chapters() and not re.match(r"(docs/(book/README|measure|learn|call)|ladder/README|README)\.md", name)]
        programs = [name for name in rest if re.fullmatch(r"miniapps/([\w-]+/)?README\.md", name)]
        guides = [name for name in rest if name.startswith("docs/") or name in ("RUN_RULES.md", "recipes/README.md")]
        others = [name for name in rest if name not in programs and name not in guides]
        text = self.page("README.md", read("README.md"))
        text += tree("Three paths", [f"docs/{path}.md" for path in PATHS])
        text += tree("Chapters", ["docs/book/README.md", *chapters()])
        text += tree("Notebooks", self.notebooks)
        text += tree("Ladders", ["ladder/README.md", *(f"ladder/{name}/index.md" for name in ladders())])
        text += tree("Programs", programs) + tree("Guides", guides) + tree("Notes", others)
        self.write("index.md", text)
        full = os.path.join(self.source, "README.md")
        if os.path.exists(full):
            os.unlink(full)  # the first page has its text

    def make(self):
        self.add_pages()
        self.add_ladders()
        self.add_notebooks()
        self.add_index()
        # README.md is the first page: links to it lead there.
        for path in glob.glob(os.path.join(self.source, "**", "*.md"), recursive=True):
            up = os.path.relpath(self.source, os.path.dirname(path))
            with open(path, encoding="utf-8") as file:
                text = file.read()
            to = text.replace(f"]({os.path.join(up, 'README.md')}", f"]({os.path.join(up, 'index.md')}") if up != "." else text.replace("](README.md", "](index.md")
            if to != text:
                self.write(os.path.relpath(path, self.source), to)
        os.makedirs(os.path.join(self.out, "static"), exist_ok=True)
        with open(os.path.join(self.out, "static", "book.css"), "w", encoding="utf-8") as file:
            file.write(CSS)
        with open(os.path.join(self.out, "sources.json"), "w", encoding="utf-8") as file:
            json.dump({name: read(name) for name in sorted(self.sources)}, file)


def plain(text):
    """A comment of a source as text of a page: no character of it is markup."""
    return re.sub(r"([\\`*_<>\[\]#|~])", r"\\\1", text)


def tables_of_output(text):
    """Rows with bars that stand in a block of code become a table."""
    def table(match):
        rows = [line.strip() for line in match[0].strip("\n").split("\n")]
        columns = rows[0].count("|") - 1
        return "\n" + "\n".join([rows[0], "|" + "---|" * columns, *rows[1:]]) + "\n"
    return re.sub(r"(?m)(?:^ {4}\|.*\|[ ]*\n)+", table, text)


def tree(caption, names):
    lines = "\n".join(re.sub(r"\.md$", "", name) for name in names)
    return f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n{lines}\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    out = os.path.abspath(parser.parse_args().out)
    Site(out).make()
    command = [sys.executable, "-B", "-m", "sphinx", "-q", "-W", "--keep-going", "-c", os.path.join(ROOT, "docs"), "-b", "html", "-d",
               os.path.join(out, "doctrees"), os.path.join(out, "source"), os.path.join(out, "html")]
    sys.exit(subprocess.run(command, env={**os.environ, "PLAQUETTE_BOOK": out}, check=False).returncode)


if __name__ == "__main__":
    main()
