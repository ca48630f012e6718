#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the mirrors of plaquette.h: constants, structures and functions for Fortran (bindings/fortran/plaquette_c.inc) and
for ctypes (bindings/python/plaquette/_declarations.py). Both files are committed, so that an installation and a wheel need
no tool; the test bindings.mirrors finds one that is out of date. The tool reads the C that plaquette.h uses: enums with values,
typedefs of structures, functions, and initialisers named *_DEFAULTS. It refuses anything else, and names the line.

Pointers mean, in Fortran and in ctypes:
  const char*                         text; Fortran's wrapper in plaquette.f90 calls the interface c_*
  name[n]                             an array of n
  number* before a length or a count  an array: of pairs (complex) or of reals in Fortran, any address in ctypes
  results, propagators                arrays of structures
  other number*, structure*           one number or structure"""

import argparse
import collections
import math
import os
import re
import sys
import textwrap

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
HEADER = "bindings/c/plaquette.h"
FORTRAN, PYTHON = "bindings/fortran/plaquette_c.inc", "bindings/python/plaquette/_declarations.py"

# type of C: (bytes, Fortran, ctypes)
NUMBERS = {"int": (4, "integer(c_int)", "c_int"), "int32_t": (4, "integer(c_int32_t)", "c_int32"),
           "int64_t": (8, "integer(c_int64_t)", "c_int64"), "uint64_t": (8, "integer(c_int64_t)", "c_uint64"),
           "size_t": (8, "integer(c_size_t)", "c_size_t"), "double": (8, "real(c_double)", "c_double")}
# Arrays whose elements are pairs re, im, by the name of the argument, or of function and argument.
PAIRS = {"numbers", "x", "b", "g", "in", "out", "factors", "products", "vectors", "plaquette_meson.correlator",
         "plaquette_meson_along.correlator", "plaquette_nucleon.correlator"}
# Arrays of reals or of pairs, for which Fortran takes c_loc.
EITHER = {"plaquette_from_source.correlator"}
STRUCTURES = {"results", "propagators"}  # arrays of structures
# Structures that C fills by a function; in Fortran new ones have these values.
LAYOUTS = """
#define PLAQUETTE_LINK_LAYOUT_DEFAULTS {sizeof(plaquette_link_layout), PLAQUETTE_DOUBLE, 0, 0, {0, 0, 0, 0}, {0, 0, 0, 0}, \\
  6, 2, 1, NULL, {{1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}}}
#define PLAQUETTE_SPINOR_LAYOUT_DEFAULTS {sizeof(plaquette_spinor_layout), PLAQUETTE_DEGRAND_ROSSI, 0, 0, {0, 0, 0, 0}, \\
  6, 2, 1, 0, NULL}
"""
CLASSES = {"plaquette_progress": "Reached", "plaquette_heatbath": "HeatBath"}  # names in Python that are not by the rule

Declaration = collections.namedtuple("Declaration", "type const stars name extents callback", defaults=((), None))
Function = collections.namedtuple("Function", "result name arguments")
Header = collections.namedtuple("Header", "enums structures defaults functions")


class Refused(ValueError):
    """Text that is not in the C of plaquette.h."""


class Parser:
    """Reads tokens of a header into its `enums`, `structures`, `defaults` and `functions`."""

    def __init__(self, text, name=HEADER):
        self.name, self.at = name, 0
        self.enums, self.structures, self.defaults, self.functions = [], {}, {}, []
        text = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment.group()), text, flags=re.S)
        lines = text.split("\n")
        self.tokens = [(token, number) for number, line in self._code(lines)
                       for token in re.findall(r"\w+|\S", line)] + [("", len(lines))]
        while self.tokens[self.at][0]:
            self._statement()

    def refuse(self, number, expected, found):
        """Raises Refused with the line."""
        raise Refused(f"{self.name}:{number}: expected {expected}, found '{found.strip()}'")

    def _code(self, lines):
        """Yields the numbered lines that are not the preprocessor's; keeps the initialisers of *_DEFAULTS."""
        number, hidden, depth = 0, 0, 0
        while number < len(lines):
            begin, line = number + 1, lines[number]
            while line.endswith("\\") and number + 1 < len(lines):
                number += 1
                line = line[:-1] + lines[number]
            number += 1
            if not line.lstrip().startswith("#"):
                if not hidden:
                    yield begin, line
                continue
            made = re.match(r"#define (PLAQUETTE_\w+_DEFAULTS) +(\{ *sizeof\((\w+)\).*\})$", line.rstrip())
            if re.match(r"#if(def __cplusplus|ndef PLAQUETTE_H| defined\(__GNUC__\))$", line.rstrip()):
                depth += 1
                hidden = depth if "cplusplus" in line else hidden
            elif re.match(r"#endif\s*$", line):
                hidden = 0 if hidden == depth else hidden
                depth -= 1
            elif made:
                self.defaults[made.group(3)] = (begin, made.group(2))
            elif not re.match(r"#include [<\"][\w/.]+[>\"]|#define PLAQUETTE_(H|PUBLIC)\b|#else", line):
                self.refuse(begin, "#include, an initialiser {sizeof(structure), ...} or the guards of this header", line)

    def _next(self, expected=None, pattern=None):
        token, number = self.tokens[self.at]
        if (expected and token != expected) or (pattern and not re.fullmatch(pattern, token)):
            self.refuse(number, f"'{expected}'" if expected else f"a token like {pattern}", token)
        self.at += 1
        return token

    def _is(self, token):
        if self.tokens[self.at][0] != token:
            return False
        self.at += 1
        return True

    def _statement(self):
        token, number = self.tokens[self.at]
        if self._is("enum"):
            self._next("{")
            values = []
            while not self._is("}"):
                name = self._next(pattern=r"PLAQUETTE_\w+")
                self._next("=")
                values.append((name, int(self._next(pattern=r"\d+"))))
                if not self._is(","):
                    self._next("}")
                    break
            self._next(";")
            self.enums.append(values)
        elif self._is("typedef"):
            self._next("struct")
            self._next("{")
            members = []
            while not self._is("}"):
                members += self._declared()
            self.structures[self._next(pattern=r"plaquette_\w+")] = members
            self._next(";")
        elif self._is("PLAQUETTE_PUBLIC"):
            result = self._base()
            stars = self._stars()
            if (result, stars) not in ((("int", False), 0), (("char", True), 1)):
                self.refuse(number, "a function that returns int or const char*", result[0] + "*" * stars)
            name = self._next(pattern=r"plaquette_\w+")
            self.functions.append(Function(result[0], name, self._arguments()))
            self._next(";")
        else:
            self.refuse(number, "enum, typedef struct or PLAQUETTE_PUBLIC", token)

    def _base(self):
        const = self._is("const")
        token, number = self.tokens[self.at]
        if token not in NUMBERS and token not in ("char", "void") and token not in self.structures:
            self.refuse(number, "a type of this header: " + ", ".join([*NUMBERS, "char, void or a structure"]), token)
        self.at += 1
        return token, const

    def _stars(self):
        stars = 0
        while self._is("*"):
            stars += 1
        return stars

    def _declarator(self, base):
        number = self.tokens[self.at][1]
        stars, extents = self._stars(), []
        name = self._next(pattern=r"[a-z]\w*")
        while self._is("["):
            extents.append(int(self._next(pattern=r"\d+")))
            self._next("]")
        one = stars == (1 if base[0] in ("char", "void") else 0)
        if (not one and not (stars == 1 or base[0] == "void" and stars == 2)) or (extents and stars):
            self.refuse(number, "a value, a pointer or an array of numbers", f"{base[0]}{'*' * stars} {name}")
        return Declaration(*base, stars, name, tuple(extents))

    def _declared(self):
        base = self._base()
        members = [self._declarator(base)]
        while self._is(","):
            members.append(self._declarator(base))
        self._next(";")
        return members

    def _arguments(self):
        self._next("(")
        if self.tokens[self.at][0] == "void" and self.tokens[self.at + 1][0] == ")":
            self.at += 2
            return []
        arguments = []
        while True:
            base = self._base()
            if self._is("("):
                self._next("*")
                name = self._next(pattern=r"[a-z]\w*")
                self._next(")")
                arguments.append(Declaration(*base, 1, name, (), self._arguments()))
            else:
                arguments.append(self._declarator(base))
            if not self._is(","):
                self._next(")")
                return arguments


def header_of(text, name=HEADER):
    """Reads a header."""
    parser = Parser(text, name)
    defaults = {of: value for of, (_, value) in [*Parser(LAYOUTS, "tools/mirrors.py").defaults.items(), *parser.defaults.items()]}
    for of, (number, _) in parser.defaults.items():
        if of not in parser.structures:
            parser.refuse(number, "a structure of this header", of)
    return Header(parser.enums, parser.structures, defaults, parser.functions)


def array_names(function):
    """Names of the arguments that are arrays of unknown length: pointers to numbers before a length or a count, and arrays
    of structures."""
    names, run = set(), []
    for argument in function.arguments:
        if argument.stars == 1 and not argument.callback and (argument.type in NUMBERS or argument.name in PAIRS):
            run.append(argument.name)
        else:
            if argument.name in ("length", "count") and not argument.stars:
                names.update(run)
            run = []
        if argument.stars and argument.name in STRUCTURES:
            names.add(argument.name)
    return names


def size_of(structures, name):
    """Bytes of a structure on machines with 64 bits."""
    end, widest = 0, 1
    for member in structures[name]:
        alignment = 8 if member.stars else NUMBERS[member.type][0]
        end = -(-end // alignment) * alignment + alignment * math.prod(member.extents)
        widest = max(widest, alignment)
    return -(-end // widest) * widest


# ---- Fortran

def wrapped(line, indent="      "):
    """Lines of a Fortran statement, of 120 characters at most."""
    parts = [part.replace("\0", " ") for part in textwrap.wrap(line.replace(" = ", "\0=\0"), 118, subsequent_indent=indent,
                                                              break_long_words=False, break_on_hyphens=False)]
    return [part + " &" for part in parts[:-1]] + parts[-1:]


def values_of(text):
    """The values of an initialiser in braces, nested lists of texts."""
    stack = [[]]
    for token in re.findall(r"sizeof\(\w+\)|[{}]|[^{},\s]+", text):
        if token == "{":
            stack.append([])
        elif token == "}":
            last = stack.pop()
            stack[-1].append(last)
        else:
            stack[-1].append(token)
    return stack[0][0]


def fortran_value(member, value):
    """A value for a member."""
    if isinstance(value, list):
        if len(member.extents) == 2:
            values = ["(" + ", ".join(fortran_value(member, number) for number in pair) + ")" for pair in value]
        else:
            values = [fortran_value(member, one) for one in value]
        return values[0] if len(set(values)) == 1 else f"[{', '.join(values)}]"
    if value == "NULL":
        return "c_null_ptr"
    if member.type == "double":
        return f"{value}_c_double"
    return value.lower()


def fortran_type(header, name):
    """A derived type whose members have the defaults of C, else 0."""
    members, size = header.structures[name], size_of(header.structures, name)
    given = values_of(header.defaults[name]) if name in header.defaults else [None] * len(members)
    if len(given) != len(members):
        raise Refused(f"{HEADER}: expected {len(members)} values in the defaults of {name}, found {len(given)}")
    lines = [f"  type, bind(c) :: {name}"]
    for member, value in zip(members, given):
        kind, extents = NUMBERS.get(member.type, (0, ""))[1], member.extents
        if member.stars:
            kind = "type(c_ptr)"
        elif len(extents) == 2:
            if member.type != "double" or extents[1] != 2:
                raise Refused(f"{HEADER}: {name}: expected [n][2] doubles, found {member.name}{list(extents)}")
            kind, extents = "complex(c_double_complex)", extents[:1]
        if member.name == "size":
            text = str(size)
        elif value is None:
            text = "c_null_ptr" if member.stars else "0"
        else:
            text = fortran_value(member, value)
        shape = f"({extents[0]})" if extents else ""
        lines += wrapped(f"    {kind} :: {member.name}{shape} = {text}")
    return lines + ["  end type"]


def fortran_argument(function, argument, arrays):
    """The declaration of an argument. A scalar that C fills is intent(out); what it may leave as it was is intent(inout)."""
    name, key, in_or = argument.name, f"{function.name}.{argument.name}", "intent(in)" if argument.const else "intent(inout)"
    if argument.callback:
        return f"type(c_funptr), value :: {name}"
    if argument.type == "char":
        return f"character(kind=c_char), {in_or} :: {name}(*)"
    if argument.stars == 2:
        return f"type(c_ptr), intent(out) :: {name}"
    kind = NUMBERS[argument.type][1] if argument.type in NUMBERS else f"type({argument.type})"
    if name in arrays:
        if key in EITHER:
            return f"type(c_ptr), value :: {name}"
        if argument.type in ("double", "void") and (name in PAIRS or key in PAIRS):
            kind = "complex(c_double_complex)"
        return f"{kind}, {in_or} :: {name}(*)"
    if argument.type == "void":
        return f"type(c_ptr), value :: {name}"
    out = in_or if argument.const else "intent(out)"
    if argument.extents:
        return f"{kind}, {out if argument.type in NUMBERS else in_or} :: {name}({argument.extents[0]})"
    if argument.stars:
        return f"{kind}, {out if argument.type in NUMBERS else in_or} :: {name}"
    return f"{kind}, value :: {name}"


def has_text(function):
    """Whether a function takes or returns text."""
    return function.result == "char" or any(argument.type == "char" for argument in function.arguments)


def fortran_function(function):
    """An interface body."""
    own, label = function.name, ""
    if has_text(function):
        own, label = function.name.replace("plaquette_", "c_", 1), f", name='{function.name}'"
    result = "type(c_ptr)" if function.result == "char" else "integer(c_int)"
    names = ", ".join(argument.name for argument in function.arguments)
    lines = wrapped(f"    {result} function {own}({names}) bind(c{label})", " " * 8)
    arrays = array_names(function)
    return lines + ["      import"] + ["      " + fortran_argument(function, argument, arrays)
                                       for argument in function.arguments] + ["    end function"]


def fortran(header):
    """The text of plaquette_c.inc."""
    lines = ["! SPDX-License-Identifier: BSD-3-Clause",
             "! Constants, types and interfaces of plaquette.h, for plaquette.f90. Written by tools/mirrors.py: do not edit."]
    for values in header.enums:
        lines += wrapped("  integer(c_int), parameter :: " + ", ".join(f"{name.lower()} = {value}" for name, value in values))
    for name in header.structures:
        lines += ["", *fortran_type(header, name)]
    lines += ["", "  interface"]
    for function in header.functions:
        lines += fortran_function(function)
    return "\n".join(lines + ["  end interface"]) + "\n"


# ---- Python

def class_of(name):
    """The name of a structure in Python."""
    return CLASSES.get(name) or "".join(part.capitalize() for part in name.split("_")[1:])


def python_type(declared, arrays=(), is_member=False):
    """The type of a member or of an argument in ctypes."""
    if declared.callback:
        return "c_void_p"
    if declared.type == "char":
        return "c_char_p"
    if declared.stars == 2:
        return "POINTER(c_void_p)"
    is_number = declared.type in NUMBERS
    if declared.type == "void" or (is_number and declared.stars and (is_member or declared.name in arrays)):
        return "c_void_p"
    kind = NUMBERS[declared.type][2] if is_number else class_of(declared.type)
    return f"POINTER({kind})" if declared.stars else " * ".join([kind, *map(str, reversed(declared.extents))])


def filled(begin, parts, end):
    """Lines of the parts, with commas, which do not break inside of a part."""
    text = begin + ", ".join(part.replace(" ", "\0") for part in parts) + end
    return [line.replace("\0", " ") for line in textwrap.wrap(text, 120, subsequent_indent=" " * len(begin), break_on_hyphens=False)]


def python_class(name, members):
    """A class of ctypes."""
    if [member.name for member in members] == ["key"]:
        return [f"class {class_of(name)}(Handle):", "    pass"]
    base = "Options" if members[0].name == "size" else "ctypes.Structure"
    fields = [f'("{member.name}", {python_type(member, is_member=True)})' for member in members]
    return [f"class {class_of(name)}({base}):", *filled("    _fields_ = [", fields, "]")]


def python(header):
    """The text of _declarations.py."""
    lines = ["# SPDX-License-Identifier: BSD-3-Clause",
             '"""Constants, structures and functions of plaquette.h. Written by tools/mirrors.py: do not edit."""',
             "import ctypes", "from ctypes import (POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint64,",
             "                    c_void_p)", "from typing import Any, Dict, Tuple", "",
             "from ._structure import Handle, Options", ""]
    for values in header.enums:
        lines += [f"{name.replace('PLAQUETTE_', '', 1)} = {value}" for name, value in values]
    for name, members in header.structures.items():
        lines += ["", "", *python_class(name, members)]
    lines += ["", ""]
    for function in header.functions:
        for argument in function.arguments:
            if argument.callback:
                kinds = ", ".join([NUMBERS[argument.type][2], *map(python_type, argument.callback)])
                lines.append(f"{class_of(function.name)} = ctypes.CFUNCTYPE({kinds})")
    lines += ["", "# name: (type of the result, types of the arguments)", "FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {"]
    for function in header.functions:
        kinds = [python_type(argument, array_names(function)) for argument in function.arguments]
        result = "c_char_p" if function.result == "char" else "c_int"
        lines += filled(f'    "{function.name}": ({result}, (', kinds, ",))," if len(kinds) == 1 else ")),")
    return "\n".join(lines + ["}"]) + "\n"


def written(text):
    """The mirrors of a header: {name: text}."""
    header = header_of(text)
    return {FORTRAN: fortran(header), PYTHON: python(header)}


def main():
    """Writes the mirrors, or says which are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a mirror is out of date")
    arguments = parser.parse_args()
    late = False
    with open(os.path.join(ROOT, HEADER), encoding="utf-8") as file:
        try:
            mirrors = written(file.read())
        except Refused as refused:
            print(f"mirrors.py: {refused}", file=sys.stderr)
            return 2
    for name, should in mirrors.items():
        path = os.path.join(ROOT, name)
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != should:  # pylint: disable=consider-using-with
            late = True
            if not arguments.check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(should)
            print(f"{name}: {'out of date' if arguments.check else 'written'}")
    return 1 if arguments.check and late else 0


if __name__ == "__main__":
    sys.exit(main())
