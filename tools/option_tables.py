#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the tables of options in the READMEs of the programs. A program prints its rows with --help-json; a table stands
between two comments of the README, and validation/cli/option_tables_test.py sees that it is what this tool writes."""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

BEGIN, END = "<!-- options: written by tools/option_tables.py from the rows of the program -->", "<!-- end of options -->"
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
SHARED = "miniapps/README.md"


def rows_of(program):
    """The rows of a program, in the order of --help."""
    done = subprocess.run([program, "--help-json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def code(text):
    """Text in the type of code, for a cell of a table."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def sentence(text):
    """A help text for a cell of a table; the names of options are code, and bars and stars stay what they are."""
    parts = re.split(r"(`[^`]*`|--[a-z][a-z0-9-]*)", text)
    marked = [part if part.startswith("`") else code(part) if part.startswith("--") else re.sub(r"([\\*_<])", r"\\\1", part)
              for part in parts]
    return "".join(marked).replace("|", "\\|")


def table(rows):
    """A table for each section."""
    lines, section = [], None
    for row in rows:
        if row["section"] != section:
            section = row["section"]
            lines += ([""] if lines else []) + [f"**{section}**", "", "| option | default | meaning | `parameters` |", "|---|---|---|---|"]
        name = code(f"{row['option']} {row['type']}".strip())
        lines.append(f"| {name} | {code(row['default'])} | {sentence(row['help'])} | {', '.join(map(code, row['keys']))} |")
    return lines


def shared_rows(programs):
    """The rows that all programs share, once each, in the section of the first program that has them, with the default
    that most of them have."""
    found = {}
    for rows in programs:
        for row in rows:
            if row["of_all_programs"]:
                found.setdefault(row["option"], []).append(row)
    sections = list(dict.fromkeys(same[0]["section"] for same in found.values()))
    once = [dict(same[0], default=collections.Counter(row["default"] for row in same).most_common(1)[0][0])
            for same in found.values()]
    return sorted(once, key=lambda row: sections.index(row["section"]))


def own_table(rows, shared):
    """The table of one program, and which shared options it has with another default, or not at all."""
    lines = table([row for row in rows if not row["of_all_programs"]])
    usual = {row["option"]: row["default"] for row in shared}
    own = {row["option"] for row in rows}
    has = {row["option"]: row["default"] for row in rows if row["of_all_programs"]}
    if not has:
        return lines
    lines += ["", "Options of all programs: [miniapps/README.md](../README.md#options-of-all-programs)."]
    others = [f"`{option}` {code(default) or 'none'}" for option, default in has.items() if default != usual[option]]
    if others:
        lines += ["", "Other defaults of these: " + ", ".join(others) + "."]
    missing = [code(option) for option in usual if option not in own]
    if missing:
        lines += ["", "Not here: " + ", ".join(missing) + "."]
    return lines


def replaced(text, lines, name):
    """The text of a README with these lines between its comments."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"{name}: expected one '{BEGIN}' and then one '{END}'")
    before, after = text[:text.index(BEGIN)], text[text.index(END):]
    return before + BEGIN + "\n" + "\n".join(lines) + "\n" + after


def written(programs, root=ROOT):
    """The READMEs as they should be: {name: (text as it is, text as it should be)}."""
    rows = {os.path.basename(program).removeprefix("plaquette-"): rows_of(program) for program in programs}
    shared = shared_rows(rows.values())
    tables = {f"miniapps/{app}/README.md": own_table(of_app, shared) for app, of_app in rows.items()}
    tables[SHARED] = table(shared)
    result = {}
    for name, lines in tables.items():
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        result[name] = (text, replaced(text, lines, name))
    return result


def main():
    """Writes the tables, or says which are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="all plaquette-* whose READMEs have a table")
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a table is out of date")
    arguments = parser.parse_args()
    late = {name: text for name, (now, text) in written(arguments.programs).items() if now != text}
    for name, text in late.items():
        if not arguments.check:
            with open(os.path.join(ROOT, name), "w", encoding="utf-8") as file:
                file.write(text)
        print(f"{name}: {'out of date' if arguments.check else 'written'}")
    return 1 if arguments.check and late else 0


if __name__ == "__main__":
    sys.exit(main())
