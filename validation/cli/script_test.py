# SPDX-License-Identifier: BSD-3-Clause
"""The script at the root: its verbs and its help, what it needs of the machine, and that bundles hold what their tests
import."""
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SCRIPT = os.path.join(ROOT, "plaquette")
CLI = os.path.dirname(os.path.abspath(__file__))


def run(*arguments, script=SCRIPT, path=None, cwd=None):
    bash = shutil.which("bash")
    environment = {**os.environ, "PLAQUETTE_INSTALL": "no", **({"PATH": path} if path else {})}
    return subprocess.run([bash, script, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cwd,
                          env=environment, timeout=60)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Script(unittest.TestCase):
    def test_help_names_every_verb(self):
        verbs = re.findall(r"^  ([a-z]+)(?: \|.*)?\) [a-z_]+ ", text_of(SCRIPT), re.MULTILINE)
        self.assertGreater(len(verbs), 8)
        shown = run("help")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for verb in verbs:
            self.assertIn("./plaquette " + verb, shown.stdout)

    def test_each_verb_has_a_help(self):
        for verb in re.findall(r"^  ([a-z]+)\) [a-z_]+ ", text_of(SCRIPT), re.MULTILINE):
            for word in ("--help", "-h"):
                with self.subTest(verb=verb, word=word):
                    result = run(verb, word)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    self.assertIn(verb, result.stdout.split("\n")[0])
        result = run("kernel", "--help").stdout
        for kernel in ("hopping", "hermitian", "coarse", "transfer", "dg", "basis", "few-fields"):
            self.assertIn(f" kernel {kernel} ", result)
        self.assertNotIn("learn", result)

    def test_the_script_is_verbs_and_little_else(self):
        self.assertLessEqual(text_of(SCRIPT).count("\n"), 250)

    def test_what_is_no_verb_is_refused_in_a_line(self):
        result = run("dance")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, "plaquette: 'dance' is not a verb; ./plaquette help lists them\n")

    def test_arguments_that_cannot_be_are_refused_before_anything_is_built(self):
        for arguments, words in ((("test", "none"), "is no label"), (("run", "none"), "no mini-app 'none'"),
                                 (("run", "-n", "0", "bench"), "expected a number of ranks"),
                                 (("bench", "--device", "abacus"), "--device is cpu or gpu"),
                                 (("bundle",), "bundle --gpu"), (("bundle", "--gpu", "--arch"), "--arch: which?"),
                                 (("wheel", "--arch", "90"), "say --gpu too"), (("wheel", "--fast"), "unknown argument"),
                                 (("wheel", "a", "b"), "one DIR, got 'a' and 'b'"), (("package", "--rpm"), "unknown argument"),
                                 (("kernel", "flying"), "kernel: which?"),
                                 (("kernel", "-history", "x"), "unknown argument '-history'"),
                                 (("dance", "--help"), "'dance' is not a verb"),
                                 (("learn", "99"), "there is no chapter 99"), (("learn", "dance"), "no ladder 'dance'"),
                                 (("learn", "solvers", "x"), "RUNG is a number"),
                                 (("learn", "notebook", "dance"), "no notebook 'dance'"),
                                 (("learn", "exercise", "99"), "there is no exercise 99"),
                                 (("kernel", "hopping", "triple", "18"), "PRECISION is one of double single half"),
                                 (("sweep", "coarse", "slow"), "sweep coarse takes nothing or 'quick'"),
                                 (("demo", "dance"), "demo takes nothing, 'multigrid' or 'overlap'"),
                                 (("test", "--gpu", "--bundle", "/none"), "is no bundle")):
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)

    def test_it_is_found_from_anywhere_and_through_a_link(self):
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "p")
            os.symlink(SCRIPT, link)
            self.assertEqual(run("help", script=link, cwd=folder).stdout, run("help").stdout)

    def test_a_bundle_is_run_on_a_machine_with_nothing_but_bash(self):
        with tempfile.TemporaryDirectory() as folder:
            tools = os.path.join(folder, "tools")
            os.mkdir(tools)
            for tool in ("bash", "dirname", "realpath", "env"):
                os.symlink(shutil.which(tool), os.path.join(tools, tool))
            program = os.path.join(folder, "run")
            with open(program, "w", encoding="utf-8") as file:
                file.write('#!/usr/bin/env bash\necho "ran $*"\nexit 3\n')
            os.chmod(program, 0o755)
            result = run("test", "--gpu", "--bundle", folder, "--only", "gpu_blas", path=tools)
            self.assertEqual((result.returncode, result.stdout), (3, "ran --only gpu_blas\n"), result.stderr)

    @unittest.skipUnless(hasattr(sys, "stdlib_module_names"), "Python 3.10 knows which modules are its own")
    def test_bundles_hold_what_their_tests_import(self):
        packed = re.search(r'validation/cli/\{([^}]*)\}\.py', text_of(os.path.join(ROOT, "tools", "bundle.sh")))
        names = [os.path.basename(path) for pattern in packed.group(1).split(",")
                 for path in glob.glob(os.path.join(CLI, pattern + ".py"))]
        self.assertIn("gpu_apps_test.py", names)
        for name in names:
            for node in ast.walk(ast.parse(text_of(os.path.join(CLI, name)))):
                modules = ([alias.name for alias in node.names] if isinstance(node, ast.Import) else
                           [node.module] if isinstance(node, ast.ImportFrom) else [])
                for module in modules:
                    self.assertTrue(module.split(".")[0] in sys.stdlib_module_names or module + ".py" in names,
                                    f"{name} imports {module}, which bundles do not hold")


if __name__ == "__main__":
    unittest.main()
