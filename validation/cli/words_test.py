# SPDX-License-Identifier: BSD-3-Clause
"""Words of documents and comments: what tools/plain_words.py finds in made-up text, and how much of the tree it may find;
and that documents name files that exist."""
import glob
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
#: With --grammar: the first page, the book, pages of programs and of ladders, and public headers.
PLAIN = ["README.md", "RUN_RULES.md", "docs", "ladder/README.md", "miniapps/*/README.md", "bindings/c/plaquette.h",
         "bindings/cpp/plaquette", "bindings/python/README.md"]
MOST_WITH_GRAMMAR = 1.0
LONG = "word " * 31


def sentences_of(name, text):
    return [s.text for s in plain_words.sentences(name, list(enumerate(text.split("\n"), 1)))]


def found_in(name, text, grammar=()):
    every = plain_words.sentences(name, list(enumerate(text.split("\n"), 1)))
    return [(f.sentence.line, f.words, [phrase for phrase, _ in f.phrases])
            for f in plain_words.findings(every, plain_words.read_table(), grammar)]


def grammar_in(text):
    return [phrase for _, _, phrases in found_in("a.md", text, plain_words.read_table("grammar.txt")) for phrase in phrases]


class Sentences(unittest.TestCase):
    def test_of_markdown(self):
        text = "# Title of it\nOne is here. Two\nis there.\n- an item; not two\n```\ncode. Code.\n```\n| a table |\n\nK. Wilson wrote, e.g. this."
        self.assertEqual(sentences_of("a.md", text), ["One is here.", "Two is there.", "an item; not two", "K. Wilson wrote, e.g. this."])

    def test_of_comments_in_c(self):
        text = ('/// Returns it. \\f$x\\f$\n/// \\param n  how many\nint f(int n);  // a remark\nauto s = "// no comment";\n'
                "auto u = \"http://a.b\"; // and one: Two\n")
        self.assertEqual(sentences_of("a.hpp", text), ["Returns it.", "\\f$x\\f$", "n how many", "a remark", "and one:", "Two"])

    def test_of_block_comments_in_a_header_of_c(self):
        text = ("/** \\file\n   One is here. Two\n   is there.\n *\n * And\n * more.\n\n   - an item; not two */\nint a; /**< Three\n  ends. */ int b;\n"
                "/* ---- Four */ int c; /* five */\n")
        self.assertEqual(sentences_of("a.h", text),
                         ["One is here.", "Two is there.", "And more.", "an item; not two", "Three ends.", "---- Four", "five"])

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

    def test_every_line_of_the_tables_has_an_expression_and_plain_words(self):
        self.assertGreater(len(plain_words.read_table()), 20)
        self.assertGreater(len(plain_words.read_table("grammar.txt")), 5)
        for pattern, plain in plain_words.read_table() + plain_words.read_table("grammar.txt"):
            self.assertTrue(pattern.pattern and plain, pattern.pattern)


class Grammar(unittest.TestCase):
    def test_nouns_that_are_left_out(self):
        for text, phrase in [
                ("What a setup takes serves the solves.", "What a"), ("It keeps what varies fast.", "what varies"),
                ("See what it was.", "what it"), ("Add those of another.", "those of"), ("It is that of the halo.", "is that of"),
                ("That of a file counts.", "That of a"), ("Its row and that of rung 2 differ.", "and that of")]:
            self.assertEqual(grammar_in(text), [phrase], text)

    def test_where_that_means_if(self):
        for text, phrase in [
                ("It stops where one has stopped.", "where one has"), ("Where none is given, it is 1.", "Where none is"),
                ("One is drawn where the name does not say.", "where the name does not"),
                ("It is 0 where a site has no link.", "where a site has no")]:
            self.assertIn(phrase, grammar_in(text), text)
        self.assertEqual(grammar_in("It is refused where not all fit."), ["where not"])

    def test_plain_text_has_none(self):
        for text in ("What does it cost?", "**What is printed**:", "**What the halo costs** (`halo`).", "See `what it is` there.",
                     "The memory where fields live is full.", "Each sum is read where it lies.", "Ask those people, and that office.",
                     "It shows what changed.", "The loop where the links are multiplied is long.", "[What can it do](a.md) in one page."):
            self.assertEqual(grammar_in(text), [], text)

    def test_it_is_not_searched_unless_told(self):
        self.assertEqual(found_in("a.md", "What a setup takes serves the solves."), [])


class Tree(unittest.TestCase):
    def check(self, most, *arguments):
        result = subprocess.run([sys.executable, "-B", TOOL, "--most", str(most), "--show", "20", *arguments], capture_output=True,
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

    def test_grammar_of_pages_and_public_headers(self):
        paths = [os.path.relpath(path, ROOT) for name in PLAIN for path in glob.glob(os.path.join(ROOT, name))]
        self.assertGreater(len(paths), len(PLAIN))
        self.check(MOST_WITH_GRAMMAR, "--grammar", *paths)

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
            with open(os.path.join(folder, "a.h"), "w", encoding="utf-8") as file:
                file.write("/** Old one.\n   Another. */\nint a;\n")
            git("add", "a.h")
            git("commit", "-q", "-m", "two", "a.h")
            with open(os.path.join(folder, "a.h"), "w", encoding="utf-8") as file:
                file.write("/** Old one.\n   New one.\n   Another. */\nint a;\nint b;\n")
            root, plain_words.ROOT = plain_words.ROOT, folder
            try:
                texts = plain_words.added_lines("HEAD", [])
                self.assertIsNone(plain_words.added_lines("no-such-revision", []))
            finally:
                plain_words.ROOT = root
            self.assertEqual([s.text[-4:] for s in plain_words.sentences("a.md", texts["a.md"])], ["new."])
            self.assertEqual([(s.line, s.text) for s in plain_words.sentences("a.h", texts["a.h"])], [(2, "New one.")])


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
