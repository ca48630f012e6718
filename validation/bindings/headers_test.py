# SPDX-License-Identifier: BSD-3-Clause
"""Every public declaration of the headers for callers has a comment: headers_test.py HEADER... Where doxygen is installed, a
test with it looks closer (target docs)."""
import re
import sys


def undocumented(path):
    """Yields numbers and text of the lines that begin a declaration without a comment."""
    lines = open(path, encoding="utf-8").read().split("\n")
    in_comment = in_group = is_private = is_documented = False
    number = 0
    while number < len(lines):
        line = lines[number].strip()
        begin = number
        number += 1
        if in_comment or line.startswith(("/*", "///")):
            in_comment = (in_comment or line.startswith("/*")) and "*/" not in line
            in_group = (in_group or "@{" in line) and "@}" not in line
            is_documented = line.startswith("///") or "*/" in line and "/* " not in line
            continue
        if not line:
            is_documented = False
            continue
        if lines[begin].startswith("  ") and (path.endswith(".h") or line.startswith("return")):  # fields of C, bodies
            continue
        is_private = (is_private or line == "private:") and not lines[begin].startswith("}")
        is_macro = re.match(r"#define PLAQUETTE_\w+(_DEFAULTS|\b.*attribute)", line)
        if is_private or (re.match(r"#|//|namespace|inline namespace|extern|public:|[{}]|struct \w+;|enum \{", line) and not is_macro):
            while lines[number - 1].endswith("\\"):
                number += 1
            if line.startswith("enum {"):  # of C: a list of names
                while "}" not in lines[number - 1]:
                    number += 1
            is_documented = False
            continue
        text = lines[begin]
        opens_scope = re.match(r"(struct|class|typedef struct) ?\w*( final)?( : .*)? ?\{$", line)
        while not (opens_scope or is_macro) and not re.search(r"[;}]\s*(//.*|/\*.*)?$", lines[number - 1]):
            text += lines[number]
            number += 1
        while is_macro and lines[number - 1].endswith("\\"):
            number += 1
        if not (is_documented or in_group or re.search(r"///<|/\*\*<", text)):
            yield begin + 1, line
        is_documented = False


def main():
    """Prints what has no comment and fails where there is any."""
    found = [f"{path}:{number}: expected a comment on: {line}" for path in sys.argv[1:] for number, line in undocumented(path)]
    print("\n".join(found) or "every declaration has a comment")
    sys.exit(1 if found else 0)


main()
