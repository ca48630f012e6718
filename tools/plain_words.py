#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds sentences of documents and comments that a reader stumbles over. They have more than 30 words, or words that
only this project uses. tools/words.txt has these, with plain ones; tools/grammar.txt has grammar that leaves a noun out.

    tools/plain_words.py                      the whole tree: the worst sentences and their share
    tools/plain_words.py README.md miniapps   some files or folders
    tools/plain_words.py --since HEAD~3       only lines added since then
    tools/plain_words.py --grammar docs       the grammar as well
    tools/plain_words.py --most 2             exit status 1 if more than 2% of the sentences are such

Text in code blocks and tables is not read."""

import argparse
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
MOST_WORDS = 30
C_LIKE = (".cpp", ".hpp", ".cu", ".cuh")
C_HEADER = ".h"
HASH_COMMENTS = (".cmake", ".sh", ".yaml", "CMakeLists.txt", "plaquette")
LEFT_OUT = ("validation/results/", "LICENSE")

Sentence = collections.namedtuple("Sentence", "path line text")
Finding = collections.namedtuple("Finding", "sentence words phrases")

ABBREVIATIONS = {"e.g.", "i.e.", "cf.", "al.", "vs.", "etc.", "eq.", "fig.", "sec.", "phys.", "comput.", "commun.", "rev."}
BULLET = re.compile(r"^(?:[-*+]|\d+\.)\s+")


# --- Paragraphs: lists of (line, text) --------------------------------------------------------------------------------


def of_markdown(lines):
    """Paragraphs and items; headings, tables, code and pictures end one."""
    paragraph, in_code = [], False
    for number, line in lines:
        text = line.strip()
        if text.startswith("```"):
            in_code = not in_code
            text = ""
        indented_code = line.startswith("    ") and not paragraph
        if in_code or indented_code or not text or text[0] in "|#<" or text.startswith("!["):
            yield paragraph
            paragraph = []
        elif BULLET.match(text):
            yield paragraph
            paragraph = [(number, BULLET.sub("", text))]
        else:
            paragraph.append((number, text))
    yield paragraph


def comment_of(line, marker):
    """(text of the comment on a line, whether code stands before it), or None."""
    place = 0
    while (place := line.find(marker, place)) >= 0:
        before = line[:place]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0 and not before.endswith(":"):
            return line[place:].lstrip("/!<#:").strip(), bool(before.strip())
        place += 1
    return None


def of_comments(lines, marker):
    """Comments of lines that follow each other; one behind code stands alone, and so does a Doxygen command."""
    paragraph = []
    for number, line in lines:
        found = None if line.startswith("#!") else comment_of(line, marker)
        text, behind_code = found or ("", False)
        command = re.match(r"\\(\w+)\s*", text)
        if not text or behind_code or command or BULLET.match(text):
            yield paragraph
            paragraph = []
        if command:
            text = text[command.end():]
        text = BULLET.sub("", text)
        if text:
            paragraph.append((number, text))
        if behind_code:
            yield paragraph
            paragraph = []
    yield paragraph


def of_block_comments(lines):
    """Comments between /* and */; each ends its paragraph, and so do an empty line, an item and a Doxygen command."""
    paragraph, inside = [], False
    for number, line in lines:
        for part in re.split(r"(/\*|\*/)", line):
            text = part.strip().lstrip("*!<").strip() if inside and part != "*/" else ""
            command = re.match(r"\\(\w+)\s*", text)
            if not text or command or BULLET.match(text):
                yield paragraph
                paragraph = []
            if part in ("/*", "*/"):
                inside = part == "/*"
                continue
            text = BULLET.sub("", text[command.end():] if command else text)
            if text:
                paragraph.append((number, text))
    yield paragraph


def of_docstrings(lines):
    """Texts between three quotes in Python; lines that are set in are examples."""
    paragraph, quoted, skipped = [], False, False
    for number, line in lines:
        text, quotes = line.strip(), line.count('"""')
        if skipped:
            quoted = skipped = quotes % 2 == 0
            continue
        if quotes and not quoted and not text.startswith(('"""', 'r"""', 'f"""')):
            quoted = quotes % 2 == 1  # a text that is no description
            skipped = quoted
            yield paragraph
            paragraph = []
            continue
        if quotes and not quoted:
            text = text.partition('"""')[2].partition('"""')[0].strip()
        elif quotes:
            text = text.partition('"""')[0].strip()
        inside = quoted or quotes
        quoted ^= quotes % 2 == 1
        if not inside or not text or (not quotes and re.match(r"\s{2,}\S+.*\s{2,}", line)):
            yield paragraph
            paragraph = []
        else:
            paragraph.append((number, text))
    yield paragraph


def paragraphs(path, lines):
    name = os.path.basename(path)
    if name.endswith(".md"):
        yield from of_markdown(lines)
    elif name.endswith(C_LIKE):
        yield from of_comments(lines, "//")
    elif name.endswith(C_HEADER):
        yield from of_block_comments(lines)
    elif name.endswith(".py"):
        yield from of_comments(lines, "#")
        yield from of_docstrings(lines)
    elif name.endswith(HASH_COMMENTS):
        yield from of_comments(lines, "#")


# --- Sentences --------------------------------------------------------------------------------------------------------


def ends_sentence(word, following):
    """Whether a sentence ends with `word`: at a full stop, and at a colon or semicolon before a capital letter."""
    bare = word.rstrip(")\"'`*_")
    if bare.endswith((".", "!", "?")):
        return bare.lower() not in ABBREVIATIONS and not re.fullmatch(r"[A-Z]\.", bare) and not following[:1].islower()
    return bare.endswith((":", ";")) and (following[:1].isupper() or following[:1] in "`(")


def sentences(path, lines):
    for paragraph in paragraphs(path, lines):
        words = [(number, word) for number, text in paragraph for word in text.split()]
        begin = 0
        for n, (_, word) in enumerate(words):
            following = words[n + 1][1] if n + 1 < len(words) else ""
            if not following or ends_sentence(word, following):
                yield Sentence(path, words[begin][0], " ".join(w for _, w in words[begin:n + 1]))
                begin = n + 1


def count_words(text):
    return sum(bool(re.search(r"[A-Za-z]{2}", word)) or word in ("a", "A", "I") for word in text.split())


def read_table(name="words.txt"):
    """[(expression, plain words)] of a file of tools/"""
    table = []
    with open(os.path.join(ROOT, "tools", name), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, _, plain = line.partition("=>")
                table.append((re.compile(pattern.strip(), re.IGNORECASE), plain.strip()))
    return table


def findings(found, table, grammar=()):
    """The sentences that are long, have a word of the table or, unless they are questions, grammar of the second table."""
    for sentence in found:
        text = re.sub(r"`[^`]*`", "`code`", sentence.text)
        searched = table if text.rstrip(")\"'`*_").endswith("?") else [*table, *grammar]
        phrases = [(match.group(0), plain) for pattern, plain in searched if (match := pattern.search(text))]
        words = count_words(text)
        if words > MOST_WORDS or phrases:
            yield Finding(sentence, words, phrases)


# --- Files ------------------------------------------------------------------------------------------------------------


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, errors="replace", check=False)


def all_lines(paths):
    """{path: [(number, line)]} of files that git knows, or of a folder without git."""
    listed = git("ls-files", "--", *paths)
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    if not names or names == [""]:
        tops = paths or ["."]
        names = [os.path.relpath(os.path.join(folder, name), ROOT) for top in tops
                 for folder, _, files in os.walk(os.path.join(ROOT, top)) for name in files]
        names = [name for name in names if not re.match(r"(build|out|\.)[^/]*/", name)]
        names += [path for path in paths if os.path.isfile(os.path.join(ROOT, path))]
    texts = {}
    for name in sorted(set(names)):
        place = os.path.join(ROOT, name)
        if not name or name.startswith(LEFT_OUT) or not os.path.isfile(place):
            continue
        if name.endswith((".md", ".py", C_HEADER, *C_LIKE, *HASH_COMMENTS)):
            with open(place, encoding="utf-8", errors="replace") as file:
                texts[name] = list(enumerate(file.read().split("\n"), 1))
    return texts


def added_lines(revision, paths):
    """The same of lines added since a revision; None where there is no such revision."""
    shown = git("diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--", *paths)
    if shown.returncode != 0:
        return None
    texts, name, number = {}, None, 0
    for line in shown.stdout.split("\n"):
        if line.startswith("+++ "):
            name = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line).group(1))
        elif line.startswith("+") and name and not name.startswith(LEFT_OUT):
            texts.setdefault(name, []).append((number, line[1:]))
            number += 1
    for name in texts:
        if name.endswith(C_HEADER):
            texts[name] = in_block_comments(name, {number for number, _ in texts[name]})
    return texts


def in_block_comments(name, numbers):
    """The lines of a file; the others than `numbers` keep only the marks of comments."""
    return [(number, line if number in numbers else "".join(re.findall(r"/\*|\*/", line))) for number, line in all_lines([name])[name]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files and folders, from the root of the tree (default: all)")
    parser.add_argument("--since", metavar="REVISION", help="only lines added since then")
    parser.add_argument("--grammar", action="store_true", help="find the grammar of tools/grammar.txt as well")
    parser.add_argument("--most", type=float, metavar="PERCENT", help="fail where more of the sentences are found; one always may")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="of the worst (default: %(default)s)")
    options = parser.parse_args()
    texts = added_lines(options.since, options.paths) if options.since else all_lines(options.paths)
    if texts is None:
        print(f"plain_words.py: there is no revision {options.since}: nothing was read")
        return 0
    every = [sentence for path, lines in texts.items() for sentence in sentences(path, lines)]
    grammar = read_table("grammar.txt") if options.grammar else []
    found = sorted(findings(every, read_table(), grammar), key=lambda f: -f.words - 15 * len(f.phrases))
    for finding in found[:options.show]:
        phrases = "".join(f"; '{phrase}': {plain}" for phrase, plain in finding.phrases)
        print(f"{finding.sentence.path}:{finding.sentence.line}: {finding.words} words{phrases}\n    {finding.sentence.text[:200]}")
    share = 100 * len(found) / max(1, len(every))
    print(f"{len(found)} of {len(every)} sentences ({share:.2f}%) are long or have a word of the table{'s' if grammar else ''}")
    return int(options.most is not None and len(found) > max(1, options.most * len(every) / 100))


if __name__ == "__main__":
    sys.exit(main())
