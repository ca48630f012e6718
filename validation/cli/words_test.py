# SPDX-License-Identifier: BSD-3-Clause
"""Words of documents and comments: what tools/plain_words.py finds in made-up text, and how much of the tree it may find;
and that documents name files that exist."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOOL = os.path.join(ROOT, "tools", "plain_words.py")
sys.path.insert(0, os.path.dirname(TOOL))
import plain_words  # noqa: E402

READMES = ["README.md", "miniapps", "docs"]
#: Per cent of the sentences that may be found. New text keeps below 2 (.ci/run); lower these when text was mended.
MOST = {"tree": 4.3, "documents": 2.0, "readmes": 1.0}
LONG = "word " * 31


def sentences_of(name, text):
    return [s.text for s in plain_words.sentences(name, list(enumerate(text.split("\n"), 1)))]


def found_in(name, text):
    every = plain_words.sentences(name, list(enumerate(text.split("\n"), 1)))
    return [(f.sentence.line, f.words, [phrase for phrase, _ in f.phrases])
            for f in plain_words.findings(every, plain_words.read_table())]


class Sentences(unittest.TestCase):
    def test_of_markdown(self):
        text = "# Title of it\nOne is here. Two\nis there.\n- an item; not two\n```\ncode. Code.\n```\n| a table |\n\nK. Wilson wrote, e.g. this."
        self.assertEqual(sentences_of("a.md", text), ["One is here.", "Two is there.", "an item; not two", "K. Wilson wrote, e.g. this."])

    def test_of_comments_in_c(self):
        text = ('/// Returns it. \\f$x\\f$\n/// \\param n  how many\nint f(int n);  // a remark\nauto s = "// no comment";\n'
                "auto u = \"http://a.b\"; // and one: Two\n")
        self.assertEqual(sentences_of("a.hpp", text), ["Returns it.", "\\f$x\\f$", "n how many", "a remark", "and one:", "Two"])

    def test_of_python_and_shell(self):
        text = '#!/usr/bin/python3\n"""One line."""\nTEXT = """no\ndescription"""\n# a comment\ndef f():\n    """Two\n    lines."""\n'
        self.assertEqual(sentences_of("a.py", text), ["a comment", "One line.", "Two lines."])
        self.assertEqual(sentences_of("a.sh", '# says\necho "#no" # behind\n'), ["says", "behind"])


class Findings(unittest.TestCase):
    def test_long_sentences(self):
        self.assertEqual(found_in("a.md", LONG + "end."), [(1, 32, [])])
        self.assertEqual(found_in("a.md", "word " * 29 + "end."), [])

    def test_words_of_the_table_but_not_in_code(self):
        for text in ("It is computed anew.", "What was asked for.", "The host waits in vain.", "One beside another.",
                     "at the next look of the host"):
            self.assertEqual(len(found_in("a.md", text)), 1, text)
        for text in ("Take `look_every` as it is.", "See what it looks like.", "It looks for files."):
            self.assertEqual(found_in("a.md", text), [], text)

    def test_every_line_of_the_table_has_an_expression_and_plain_words(self):
        table = plain_words.read_table()
        self.assertGreater(len(table), 20)
        for pattern, plain in table:
            self.assertTrue(pattern.pattern and plain, pattern.pattern)


class Tree(unittest.TestCase):
    def check(self, most, *paths):
        result = subprocess.run([sys.executable, "-B", TOOL, "--most", str(most), "--show", "20", *paths], capture_output=True,
                                text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout, r"of [1-9]\d+ sentences")

    def test_the_whole_tree(self):
        self.check(MOST["tree"])

    def test_documents(self):
        documents = [os.path.relpath(path, ROOT) for path in markdown_files()]
        self.check(MOST["documents"], *documents)

    def test_readmes_of_the_suite_and_of_the_mini_apps_and_the_book(self):
        self.check(MOST["readmes"], *[os.path.relpath(path, ROOT) for path in markdown_files()
                                      if os.path.relpath(path, ROOT).split(os.sep)[0] in READMES])

    def test_too_many_are_a_failure(self):
        result = subprocess.run([sys.executable, "-B", TOOL, "--most", "0.01", "--show", "1"], capture_output=True, text=True,
                                timeout=100)
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_only_new_lines_are_read_since_a_revision(self):
        def git(*arguments):
            return subprocess.run(["git", "-C", folder, "-c", "user.name=n", "-c", "user.email=e", *arguments],
                                  capture_output=True, text=True, check=False)

        with tempfile.TemporaryDirectory() as folder:
            try:
                git("init", "-q")
            except FileNotFoundError:
                self.skipTest("git was not found")
            with open(os.path.join(folder, "a.md"), "w", encoding="utf-8") as file:
                file.write(LONG + "old.\n")
            git("add", "a.md")
            git("commit", "-q", "-m", "one")
            with open(os.path.join(folder, "a.md"), "a", encoding="utf-8") as file:
                file.write("\n" + LONG + "new.\n")
            root, plain_words.ROOT = plain_words.ROOT, folder
            try:
                texts = plain_words.added_lines("HEAD", [])
                self.assertIsNone(plain_words.added_lines("no-such-revision", []))
            finally:
                plain_words.ROOT = root
            self.assertEqual([s.text[-4:] for s in plain_words.sentences("a.md", texts["a.md"])], ["new."])


def git_here(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False).stdout.strip()


def markdown_files():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not name.startswith((".", "build")) and name not in ("out", "shared") or
                      os.path.relpath(os.path.join(folder, name), ROOT) == "miniapps/shared"]
        for name in files:
            if name.endswith(".md"):
                yield os.path.join(folder, name)


def headings(path):
    """The names by which links lead to headings of a page."""
    with open(path, encoding="utf-8") as file:
        return [re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in re.findall(r"(?m)^#+ (.*)$", file.read())]


class Documents(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in markdown_files():
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
                if target.startswith("http"):
                    continue
                to = os.path.join(os.path.dirname(path), target) if target else path
                self.assertTrue(os.path.exists(to), f"{path}: {target}")
                if heading and to.endswith(".md"):
                    self.assertIn(heading, headings(to), f"{path}: {target}#{heading}")

    def test_pictures_come_from_a_revision_of_this_tree(self):
        """A PNG on a page names the revision of its data (plots/style.py), which this history has; drawings have none."""
        drawings = re.compile(r"(hop|lanes|schur|halo|reliable|ladder-[\w-]+)\.png$")
        found = {}
        for path in markdown_files():
            with open(path, encoding="utf-8") as file:
                for target in re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", file.read()):
                    picture = os.path.normpath(os.path.join(os.path.dirname(path), target))
                    if not drawings.search(picture):
                        with open(picture, "rb") as data:
                            found[picture] = re.findall(rb"tEXtSource\0([0-9a-f]{40})", data.read())
        self.assertGreaterEqual(len(found), 5)
        for picture, revisions in found.items():
            self.assertEqual(len(revisions), 1, f"{picture}: expected the revision of its data; scripts of plots/ write it")
        if not shutil.which("git") or git_here("rev-parse", "--is-shallow-repository") != "false":
            self.skipTest("no whole history of git")
        for picture, (revision,) in found.items():
            self.assertEqual(git_here("cat-file", "-t", revision.decode()), "commit", f"{picture}: its revision is not in this history")

    def test_notes_are_pages(self):
        for path in markdown_files():
            if os.path.basename(path) == "NOTES.md":
                with open(path, encoding="utf-8") as file:
                    self.assertLessEqual(len(file.readlines()), 60, path)


if __name__ == "__main__":
    unittest.main()
