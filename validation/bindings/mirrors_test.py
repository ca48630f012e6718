# SPDX-License-Identifier: BSD-3-Clause
"""The declarations for Fortran and Python are what tools/mirrors.py writes from plaquette.h, and the C compiler agrees with
them. PLAQUETTE_C_COMPILER names it, PLAQUETTE_HEADERS the folder of plaquette/version.h."""
import ctypes
import importlib
import os
import re
import subprocess
import sys
import types
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tools"))
import mirrors  # noqa: E402


def text_of(*path):
    """Returns a file of the source tree."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def is_taken_by_c(lines):
    """Compiles declarations after plaquette.h; returns the compiler's errors."""
    source = f'#include "{ROOT}/{mirrors.HEADER}"\n' + "\n".join(lines) + "\n"
    return subprocess.run([os.environ["PLAQUETTE_C_COMPILER"], "-std=c11", "-fsyntax-only", "-I", os.environ["PLAQUETTE_HEADERS"],
                           "-x", "c", "-"], input=source, capture_output=True, text=True, check=False).stderr


def declarations():
    """Imports _declarations.py without the package, which needs the library."""
    package = types.ModuleType("without_library")
    package.__path__ = [os.path.join(ROOT, "bindings", "python", "plaquette")]
    sys.modules["without_library"] = package
    return importlib.import_module("without_library._declarations")


def layout_of(structures):
    """Yields assertions on sizes and offsets of the structures of ctypes."""
    for name in structures:
        made = getattr(declarations(), mirrors.class_of(name))
        yield f'_Static_assert(sizeof({name}) == {ctypes.sizeof(made)}, "{name}");'
        for member, *_ in [("key",)] if not vars(made).get("_fields_") else made._fields_:
            place = getattr(made, member)
            yield (f'_Static_assert(offsetof({name}, {member}) == {place.offset} && '
                   f'sizeof((({name}*)0)->{member}) == {place.size}, "{name}.{member}");')


def in_c(argument):
    """Writes an argument in C again."""
    kind = ("const " if argument.const else "") + argument.type
    if argument.callback:
        return f"{kind} (*{argument.name})({', '.join(map(in_c, argument.callback))})"
    return f"{kind} {'*' * argument.stars}{argument.name}" + "".join(f"[{extent}]" for extent in argument.extents)


class Mirrors(unittest.TestCase):
    text = text_of(mirrors.HEADER)

    def assert_differ(self, text, *words):
        """Both mirrors of this header are other ones, with these words."""
        self.assertNotEqual(text, self.text)
        for (name, other), word in zip(mirrors.written(text).items(), words):
            self.assertNotEqual(other, text_of(name))
            self.assertTrue(word in other, f"{name}: expected {word!r}")

    def test_are_those_of_the_header(self):
        for name, text in mirrors.written(self.text).items():
            with self.subTest(name=name):
                self.assertEqual(text_of(name), text, "run tools/mirrors.py")

    def test_differ_if_the_header_gains_a_function(self):
        function = "PLAQUETTE_PUBLIC int plaquette_gauge_new(plaquette_gauge gauge, double* numbers, size_t length);\n"
        self.assert_differ(self.text.replace("PLAQUETTE_PUBLIC int plaquette_has_gpu(void);",
                                             "PLAQUETTE_PUBLIC int plaquette_has_gpu(void);" +
                                             function.replace("plaquette_gauge gauge, ", "")),
                           "function plaquette_gauge_new(numbers, length) bind(c)",
                           '"plaquette_gauge_new": (c_int, (c_void_p, c_size_t)),')

    def test_differ_if_members_change_places(self):
        self.assert_differ(self.text.replace("  int order;   /**< of the polynomials, 1 to 9 */\n  int columns;",
                                             "  int columns;\n  int order;"),
                           "columns = 3\n    integer(c_int) :: order", '("columns", c_int), ("order", c_int)')

    def test_are_refused_for_other_c(self):
        for line, word in (("static int x;", "static"), ("PLAQUETTE_PUBLIC void plaquette_x(void);", "void"),
                           ("PLAQUETTE_PUBLIC int plaquette_x(float y);", "float"), ("enum { PLAQUETTE_X };", "}"),
                           ("typedef struct { unsigned x; } plaquette_x;", "unsigned"), ("#pragma once", "pragma"),
                           ("PLAQUETTE_PUBLIC int plaquette_x(double** y);", "double**"),
                           ("#define PLAQUETTE_X_DEFAULTS {sizeof(plaquette_x), 1}", "plaquette_x")):
            with self.subTest(line=line), self.assertRaisesRegex(mirrors.Refused, r"h:3: expected .*, found .*" + re.escape(word)):
                mirrors.header_of("/* a comment\n of two lines */\n" + line + "\n", "h")
        with self.assertRaisesRegex(mirrors.Refused, "expected 5 values in the defaults of plaquette_rule, found 4"):
            mirrors.written(self.text.replace("  int judge; /**<", "  int judge, more; /**<"))

    def test_have_the_places_of_the_compiler(self):
        structures = mirrors.header_of(self.text).structures
        asserted = list(layout_of(structures))
        self.assertGreater(len(asserted), 150)
        self.assertEqual(is_taken_by_c(asserted), "")
        self.assertIn("plaquette_rule.judge", is_taken_by_c(
            [line.replace("judge) == 20", "judge) == 16") for line in asserted]))
        for name in structures:
            self.assertIn(f'_Static_assert(sizeof({name}) == {mirrors.size_of(structures, name)}, "{name}");', asserted)

    def test_have_the_arguments_of_the_compiler(self):
        functions = mirrors.header_of(self.text).functions
        declared = [f"{'const char*' if function.result == 'char' else 'int'} {function.name}"
                    f"({', '.join(map(in_c, function.arguments)) or 'void'});" for function in functions]
        self.assertEqual(len(declared), len(re.findall(r"(?m)^PLAQUETTE_PUBLIC ", self.text)))
        self.assertEqual(is_taken_by_c(declared), "")
        self.assertIn("conflicting types", is_taken_by_c([line.replace("(int code)", "(double code)") for line in declared]))

    def test_have_wrappers_for_text_in_fortran(self):
        module = text_of("bindings", "fortran", "plaquette.f90")
        for function in mirrors.header_of(self.text).functions:
            if mirrors.has_text(function):
                self.assertRegex(module, rf"function {function.name}\(", "plaquette.f90 lacks its wrapper")


if __name__ == "__main__":
    unittest.main()
