# SPDX-License-Identifier: BSD-3-Clause
"""The site that tools/book.py writes: links, formulas, chapters in order; in a browser, if there is one, at two widths. Half a
minute: the site is made once, whole, since a link may lead anywhere."""
import functools
import html
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
PHONE, DESK = 390, 1280


def python_with(*modules):
    """The first Python that has these modules, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0:
            return python
    return None


def anchors(text):
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', text))


def broken_links(pages):
    """Links of pages {path: text} to pages, anchors or files that are not there; only(path) says whether a file exists."""
    known, faults = {path: anchors(text) for path, text in pages.items()}, []
    for path, text in pages.items():
        for target in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            target = urllib.parse.unquote(html.unescape(target))
            if re.match(r"(https?|data|mailto):", target):
                continue
            name, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), name.partition("?")[0])) if name else path
            if not os.path.exists(to) and to not in pages:
                faults.append(f"{path}: {target}")
            elif anchor and to in known and anchor not in known[to]:
                faults.append(f"{path}: {target} (no such place)")
    return faults


def raw_markdown(text):
    """What is left of Markdown in the text of a page, outside of code."""
    article = re.search(r"<article[^>]*>(.*?)</article>", text, re.DOTALL)
    body = re.sub(r"<(pre|code|math|title)\b.*?</\1>", "", article[1] if article else text, flags=re.DOTALL)
    body = re.sub(r"<[^>]+>", "", body)
    return re.findall(r"\]\([^)]*\)|```|\*\*\w|(?m:^\s*\| .* \|\s*$)|\\begin|\{math\}", body)


class Checks(unittest.TestCase):
    def test_see_what_is_wrong(self):
        self.assertEqual(raw_markdown("<article><p>all <code>**is**</code> well</p></article>"), [])
        for bad in ("[a](b.md)", "```", "**bold", "| a | b |", r"\begin{aligned}"):
            self.assertEqual(len(raw_markdown(f"<article><p>{bad}</p></article>")), 1, bad)
        page = {"/nowhere/a.html": '<a href="b.html">b</a><a href="#here">c</a><p id="there">'}
        self.assertEqual(len(broken_links(page)), 2)
        page = {"/nowhere/a.html": '<a href="b.html#x">b</a>', "/nowhere/b.html": '<p id="x">'}
        self.assertEqual(broken_links(page), [])


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = python_with("sphinx", "myst_parser", "furo")
        if python is None:
            raise unittest.SkipTest("no Python has sphinx, myst_parser and furo")
        cls.folder = tempfile.TemporaryDirectory()
        made = subprocess.run([python, "-B", os.path.join(ROOT, "tools", "book.py"), cls.folder.name], capture_output=True, text=True)
        if made.returncode:
            raise AssertionError(made.stdout + made.stderr)
        cls.html = os.path.join(cls.folder.name, "html")
        cls.pages = {}
        for folder, _, files in os.walk(cls.html):
            for file in files:
                if file.endswith(".html"):
                    with open(os.path.join(folder, file), encoding="utf-8") as page:
                        cls.pages[os.path.join(folder, file)] = page.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def page(self, name):
        return self.pages[os.path.join(self.html, name)]

    def chapters(self):
        with open(os.path.join(ROOT, "docs", "book", "chapters.txt"), encoding="utf-8") as file:
            return [line.split()[1].replace(".md", ".html") for line in file if line[:1].isdigit()]

    def test_no_link_is_broken(self):
        self.assertGreater(len(self.pages), 100)
        self.assertEqual(broken_links(self.pages), [])

    def test_no_markdown_is_left(self):
        for path, text in self.pages.items():
            if f"{os.sep}source{os.sep}" not in path:
                self.assertEqual(raw_markdown(text), [], path)

    def test_chapters_stand_in_order_with_next_and_previous(self):
        chapters = self.chapters()
        for n, name in enumerate(chapters):
            following = re.search(r'class="next-page" href="([^"]+)"', self.page("docs/book/" + name))
            before = re.search(r'class="prev-page" href="([^"]+)"', self.page("docs/book/" + name))
            self.assertTrue(following and before, name)
            self.assertEqual(before[1], chapters[n - 1] if n else "README.html", name)
            if n + 1 < len(chapters):
                self.assertEqual(following[1], chapters[n + 1], name)

    def test_pictures_of_the_book_are_shown(self):
        with_pictures = [name for name in self.chapters() if "_images/" in self.page("docs/book/" + name)]
        self.assertGreaterEqual(len(with_pictures), 8)

    def test_formulas_are_mathematics(self):
        for name in ("free-field", "wilson", "conjugate-gradients", "even-odd", "multigrid", "overlap"):
            self.assertIn("<math", self.page(f"docs/book/{name}.html"), name)

    def test_sources_ladders_and_notebooks_have_pages(self):
        for ladder in os.listdir(os.path.join(ROOT, "ladder")):
            if not os.path.isdir(os.path.join(ROOT, "ladder", ladder)):
                continue
            page = self.page(f"ladder/{ladder}/index.html")
            self.assertIn('<span class="', page)
            for file in os.listdir(os.path.join(ROOT, "ladder", ladder)):
                self.assertIn(f"source/ladder/{ladder}/{file}.html", page)
                self.assertIn('<span class="', self.page(f"source/ladder/{ladder}/{file}.html"))
            if os.path.exists(os.path.join(ROOT, "docs", "book", "pictures", f"ladder-{ladder}.png")):
                self.assertIn("<img", page)
        for notebook in os.listdir(os.path.join(ROOT, "docs", "book", "notebooks")):
            if notebook.endswith(".py"):
                self.assertIn('<span class="', self.page(f"docs/book/notebooks/{notebook[:-3]}.html"))

    def test_the_first_page_leads_along_three_paths_and_every_page_says_whose_it_is(self):
        for path in ("measure", "learn", "call"):
            self.assertIn(f'href="docs/{path}.html"', self.page("index.html"))
        for path, text in self.pages.items():
            self.assertRegex(text, r"&#169;|©", path)
            self.assertIn("the authors of Plaquette", text, path)

    def test_in_a_browser_at_two_widths(self):
        browser = next((found for found in map(shutil.which, BROWSERS) if found), None)
        if browser is None:
            self.skipTest("no browser: none of " + ", ".join(BROWSERS))
        names = ["index.html", "search.html?q=overlap", "docs/book/wilson.html", "docs/book/multigrid.html", "docs/calling.html",
                 "ladder/dirac-cpu/index.html", "source/ladder/dirac-cpu/1_textbook.cpp.html"]
        frames = "".join(f'<iframe style="border:0" width="{width}" height="800" src="{name}"></iframe>' for width in (PHONE, DESK) for name in names)
        script = """<script>addEventListener("load", () => setTimeout(() => { for (const f of document.querySelectorAll("iframe")) {
          const d = f.contentDocument, menu = d.querySelector(".sidebar-drawer").getBoundingClientRect(), p = document.createElement("pre");
          const found = d.querySelectorAll("#search-results li").length;
          p.textContent = ["FRAME", f.width, f.getAttribute("src"), d.documentElement.scrollWidth, Math.round(menu.right), found].join(" ");
          document.body.append(p); } }, 1500));</script>"""
        with open(os.path.join(self.html, "frames.html"), "w", encoding="utf-8") as file:
            file.write(f"<!DOCTYPE html><html><body>{frames}{script}</body></html>")

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=self.html))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with tempfile.TemporaryDirectory() as profile:
                run = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + profile, "--no-first-run",
                                      "--enable-logging=stderr", "--virtual-time-budget=15000", "--dump-dom",
                                      f"http://127.0.0.1:{server.server_port}/frames.html"], capture_output=True, text=True, timeout=100)
        finally:
            server.shutdown()
            server.server_close()
            os.unlink(os.path.join(self.html, "frames.html"))
        messages = [line for line in run.stderr.split("\n") if ":CONSOLE" in line]
        self.assertEqual(messages, [])
        found = re.findall(r"FRAME (\d+) (\S+) (\d+) (-?\d+) (\d+)", run.stdout)
        self.assertEqual(len(found), 2 * len(names), run.stdout[-500:] + run.stderr[-500:])
        for width, name, content, menu, hits in found:
            self.assertLessEqual(int(content), int(width), f"{name} is wider than its window of {width} pixels")
            if int(width) == PHONE:
                self.assertLessEqual(int(menu), 0, f"{name}: the menu is not folded on a phone")
            else:
                self.assertGreater(int(menu), 100, f"{name}: no menu")
            if name.startswith("search"):
                self.assertGreater(int(hits), 0, "the search finds nothing")


if __name__ == "__main__":
    unittest.main()
