# SPDX-License-Identifier: BSD-3-Clause
"""The ladders and the book: the driver finds a wrong rung, rungs are pages, chapters are whole."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BOOK = os.path.join(ROOT, "docs", "book")
MOST_LINES = 120


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def run(variable, *arguments):
    return subprocess.run([os.environ[variable], *arguments, "--seconds", "0"], capture_output=True, text=True, timeout=60)


def rungs():
    return [os.path.relpath(path, ROOT) for path in sorted(glob.glob(os.path.join(ROOT, "ladder", "*", "[0-9]*")))]


#: Functions, and numbers that have a name.
GREEK = {unicodedata.name(chr(code)).split()[-1].lower(): chr(code) for code in range(0x3b1, 0x3ca)}
KNOWN = {"cos", "sin", "ln", "sign", "is", "i", "e", "flux"}


def letters_of(latex):
    """A formula in LaTeX with letters for its commands, and without indices, environments and words."""
    text = re.sub(r"\\(?:begin|end|text)\{[^}]*\}", "", latex)
    text = re.sub(r"_(?:\{[^}]*\}|\\mathrm\{[^}]*\}|\\?\w+)", "", text)
    text = re.sub(r"\\mathrm\{(\w+)\}", r" \1 ", text)
    text = re.sub(r"\\hat\{(\w)\}", " \\1\u0302", text)
    for command in set(re.findall(r"\\([a-z]+)", text)):
        letter = "\u03a3" if command == "sum" else GREEK.get(command, command if command in KNOWN else "")
        text = re.sub(rf"\\{command}(?![a-z])", f" {letter} ", text)
    return text


def symbols_of(chapter):
    """The symbols of a chapter's theory and sentences: without indices, and no words behind a formula."""
    found = set()
    for line in re.findall(r"(?m)^    (.*=.*)$", chapter.split("\n## The program")[0]):
        formula = re.sub(r"\s{3,}(?:[a-z]{3,}|a [a-z]).*", "", line)
        found |= set(re.findall(r"[A-Za-z\u0370-\u03ff]+\u0302?", re.sub(r"_\w+", "", formula)))
    for formula in re.findall(r"(?ms)^```math\n(.*?)^```", chapter):
        found |= set(re.findall(r"[A-Za-z\u0370-\u03ff]+\u0302?", letters_of(formula)))
    sentences = re.sub(r"(?ms)^```.*?^```|(?m:^    .*$)|`[^`]*`|\]\([^)]*\)", "", chapter)
    found |= set(re.findall(r"[\u0370-\u03ff]", sentences))
    found |= set(re.findall(r"(?<![\w.'*])([A-Z])(?=[\s,;:()⁺⁻'_=])(?! [A-Za-z]{2,})", sentences))
    return found - KNOWN


class Driver(unittest.TestCase):
    def test_a_wrong_rung_fails(self):
        for ladder, words in (("off", "rung 2: 2.7e-04 from rung 1, expected at most 1.0e-04"), ("nan", "rung 2"),
                              ("short", "rung 2"), ("nan-oracle", "rung 1")):
            with self.subTest(ladder=ladder):
                result = run("PLAQUETTE_BROKEN_LADDER", ladder)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn("VERIFIED   FAILED", result.stdout)
                self.assertIn(words, result.stdout)

    def test_a_rung_is_shown_with_the_one_below_and_tested_against_the_first(self):
        result = run("PLAQUETTE_BROKEN_LADDER", "off", "--rung", "3")
        self.assertEqual(re.findall(r"^\| (\d) ", result.stdout, re.MULTILINE), ["2", "3"])
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_the_library_finds_the_steps_that_its_coarsest_lattice_needs(self):
        result = run("PLAQUETTE_LADDER", "multigrid", "--size", "nano", "--seed", "7", "--rung", "6")  # 16 steps miss a mode
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_what_is_no_ladder_is_refused(self):
        for arguments in (("dance",), ("dirac-cpu", "--rung", "99"), ("dirac-cpu", "--size", "huge")):
            self.assertEqual(run("PLAQUETTE_LADDER", *arguments).returncode, 2, arguments)

    def test_the_list_names_each_rung_once(self):
        listed = re.findall(r"^  (\d+)  ", run("PLAQUETTE_LADDER").stdout + run("PLAQUETTE_GPU_LADDER").stdout, re.MULTILINE)
        self.assertEqual(len(listed), len(rungs()))

    def test_rows_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.md")
            self.assertEqual(run("PLAQUETTE_LADDER", "dirac-cpu", "--size", "nano", "--rung", "2", "--table", path).returncode, 0)
            self.assertRegex(text_of(path), r"(?m)^\| 2 \| half spinors \| [0-9.]+ \|")
            header = next(line for line in text_of(path).split("\n") if line.startswith("| rung "))
            self.assertIn("\n    " + header + "\n", text_of("docs", "book", "wilson.md"))


class Pages(unittest.TestCase):
    def test_rungs_are_pages_that_name_themselves(self):
        self.assertGreater(len(rungs()), 8)
        for path in rungs():
            self.assertLessEqual(text_of(path).count("\n"), MOST_LINES, path)
            self.assertIn(path, text_of(path), f"{path}: expected its own name in its first comment")

    def test_chapters_are_whole(self):
        lines = [line.split() for line in text_of("docs", "book", "chapters.txt").split("\n") if line[:1].isdigit()]
        self.assertEqual([int(line[0]) for line in lines], list(range(1, len(lines) + 1)))
        self.assertEqual({line[1] for line in lines} | {"README.md"}, {os.path.basename(p) for p in glob.glob(BOOK + "/*.md")})
        for number, name, ladder, *rung in lines:
            text = text_of("docs", "book", name)
            self.assertTrue(text.startswith(f"# {number}. "), name)
            for heading in ("The program", "What to expect", "What to watch", "Exercises"):
                self.assertIn(f"\n## {heading}\n", text, name)
            self.assertEqual(len(re.findall(r"(?m)^\d\. ", text.split("## Exercises")[1])), 3, f"{name}: three exercises")
            self.assertRegex(text.split("## What to expect")[1].split("\n## ")[0], r"(?m)^    \S", f"{name}: lines of the output")
            for rows in re.findall(r"(?:^    \|.*\n)+", text, re.MULTILINE):
                self.assertIn("| rung | | ns a ", rows, f"{name}: the header of the rows")
                self.assertEqual(len({row.count("|") for row in rows.strip().split("\n")}), 1, name)
            self.assertIn(name, text_of("docs", "book", "README.md"))
            if ladder != "-":
                self.assertTrue(rung[0] == "0" or glob.glob(os.path.join(ROOT, "ladder", ladder, rung[0] + "_*")), name)

    def test_symbols_are_defined_where_they_stand(self):
        self.assertEqual(symbols_of("# 1. Title\n\n    Y_a = ω X⁺ e        the rest\n\n## The program"), {"Y", "X", "ω"})
        self.assertEqual(symbols_of("```math\n\\hat{Y}_a = \\frac{\\omega}{2} \\sum_\\mu X^+ e \\cos q & &\\text{the rest}\n```\n"),
                         {"Y\u0302", "X", "ω", "Σ", "q"})
        for path in sorted(glob.glob(BOOK + "/*.md")):
            text = text_of(path)
            defined = set(re.findall(r"\*\*([^*]+)\*\*", "".join(re.findall(r"(?m)^\| Symbols (?:.*\n\|)*.*", text))))
            self.assertLessEqual(symbols_of(text), defined, f"{path}: each symbol stands in bold in the table 'Symbols'")

    def test_pictures_are_as_wide_as_a_page_and_small(self):
        for pattern in ("docs/book/pictures/*", "plots/*.png", "miniapps/*/*.png", "validation/results/*.png"):
            for path in glob.glob(os.path.join(ROOT, pattern)):
                with open(path, "rb") as file:
                    data = file.read()
                self.assertLessEqual(len(data), 60000, path)
                if path.endswith(".png"):
                    self.assertLessEqual(int.from_bytes(data[16:20], "big"), 850, path)

    def test_patches_of_exercises_apply(self):
        folder = os.path.join(BOOK, "exercises")
        lines = [line.split() for line in text_of(folder, "exercises.txt").split("\n") if line[:1].isdigit()]
        self.assertEqual([int(line[0]) for line in lines], list(range(1, len(lines) + 1)))
        patches = {f"{line[1]}.{kind}.patch" for line in lines for kind in ("mistake", "solution")}
        self.assertEqual(patches | {"exercises.txt"}, set(os.listdir(folder)))
        for number, _, chapter, *_ in lines:
            self.assertIn(f"`./plaquette learn exercise {number}`", text_of("docs", "book", chapter))
        for patch in sorted(patches):
            result = subprocess.run(["git", "apply", "--check", os.path.join(folder, patch)], cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, f"{patch} does not fit the tree any more: {result.stderr}")

    def test_notebooks_are_made_of_their_text(self):
        for source in glob.glob(os.path.join(BOOK, "notebooks", "*.py")):
            with tempfile.TemporaryDirectory() as folder:
                to = os.path.join(folder, "notebook.ipynb")
                subprocess.run([sys.executable, os.path.join(ROOT, "tools", "notebook.py"), source, to], check=True)
                cells = json.loads(text_of(to))["cells"]
            self.assertEqual(len(cells), text_of(source).count("# %%"))
            code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
            compile(code, source, "exec")
            self.assertNotIn("%%", code)
            self.assertTrue(all(line in text_of(source) for cell in cells for line in cell["source"].split("\n")))
            self.assertTrue(cells[0]["source"].startswith("# "))

    def test_names_in_chapters_exist(self):
        for path in glob.glob(BOOK + "/*.md") + [os.path.join(ROOT, "docs", "glossary.md"), os.path.join(ROOT, "ladder", "README.md")]:
            for name in re.findall(r"`((?:common|cpu_ref|gpu|ladder|miniapps|validation|plots|data|docs)/[\w./-]+)`", text_of(path)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, name)), f"{path}: {name}")


if __name__ == "__main__":
    unittest.main()
