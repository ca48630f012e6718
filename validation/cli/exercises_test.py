# SPDX-License-Identifier: BSD-3-Clause
"""The exercises of the book: the mistake fails its test, the solution passes it. Only sources that a patch concerns are
compiled, from copies, by the commands of the build; all else is linked as it was built."""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("PLAQUETTE_BUILD", "")
EXERCISES = os.path.join(ROOT, "docs", "book", "exercises")
SKIPPED = 77


def run(*words, folder=BUILD, **more):
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=100, **more)


def commands_of(target):
    """Returns {source: words that compile it} of a target, and the words that link it."""
    compiled, linked = {}, []
    for line in run("ninja", "-t", "commands", target, check=True).stdout.split("\n"):
        if f" -o {target} " in line:
            linked = shlex.split(line.split(" && ")[1])
        elif " -c " in line:
            words = shlex.split(line)
            compiled[os.path.relpath(os.path.realpath(words[-1]), ROOT)] = words
    return compiled, linked


def files_of(patch):
    with open(patch, encoding="utf-8") as file:
        return re.findall(r"(?m)^\+\+\+ b/(.*)$", file.read())


def sources_of(files, compiled, members):
    """Returns the sources to compile: patched ones, and those that include a patched header and are in the program."""
    sources = [name for name in files if name.endswith(".cpp")]
    for header in (name for name in files if name.endswith(".hpp")):
        for name in compiled:
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                if f'#include "{header}"' in file.read() and name not in sources and f"/{os.path.basename(name)}.o" in members:
                    sources.append(name)
    return sources


class Exercise:
    def __init__(self, target, folder, kept):
        self.folder, self.kept = folder, kept  # kept: {text of a source: its object}, where both patches leave the same
        self.compiled, self.linked = commands_of(target)
        words, where = list(self.linked), os.path.join(folder, "linked.txt")
        words[words.index("-o") + 1] = os.path.join(folder, "program")
        run(*words, "-Wl,-Map=" + where, check=True)
        with open(where, encoding="utf-8") as file:  # of what the linker takes: object files, and members of libraries
            self.members = re.sub(r"\.a\(", "/", file.read())

    def object_of(self, source):
        """Compiles a source, or its copy where there is one. Returns what was built of it, and the new object."""
        unity = next((name for name in self.compiled if f"unity_{source.split('/')[1]}_" in name), None)
        words = list(self.compiled.get(source) or self.compiled[unity])
        old, new = words[words.index("-o") + 1], os.path.join(self.folder, source.replace("/", "-") + ".o")
        copy = os.path.join(self.folder, source)
        words[words.index("-o") + 1], words[-1] = new, copy if os.path.exists(copy) else os.path.join(ROOT, source)
        with open(words[-1], encoding="utf-8") as file:
            text = file.read()
        if text in self.kept:
            return old, self.kept[text]
        words = [word for word in words if not word.startswith("-M") and not word.endswith((".d", ".o")) or word == new]
        words.insert(words.index("-c"), "-O1")  # behind -O3 and in its place
        words.insert(next(n for n, word in enumerate(words) if word.startswith("-I")), "-I" + self.folder)
        result = run(*words)
        assert result.returncode == 0, result.stderr
        if not any(os.path.exists(os.path.join(self.folder, header)) for header in re.findall('#include "(.*)"', text)):
            self.kept[text] = new
        return old, new

    def build(self, sources):
        """Returns the program that has these sources in place of those that were built."""
        program, words = os.path.join(self.folder, "program"), list(self.linked)
        words[words.index("-o") + 1] = program
        first = next(n for n, word in enumerate(words) if word.endswith(".o"))
        for source in sources:
            old, new = self.object_of(source)
            if old in words:
                words.remove(old)
            words.insert(first, new)  # before the libraries, whose copy is then not taken
        result = run(*words)
        assert result.returncode == 0, result.stderr
        return program


class Exercises(unittest.TestCase):
    def outcome(self, line, kind, folder, kept):
        name, (program, *arguments) = line.split()[1], line.split()[4:]
        patch, folder = os.path.join(EXERCISES, f"{name}.{kind}.patch"), os.path.join(folder, kind)
        for path in files_of(patch):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, path), os.path.join(folder, path))
        applied = run("git", "apply", patch, folder=folder, env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(folder)})
        self.assertEqual(applied.returncode, 0, applied.stderr)
        exercise = Exercise(program, folder, kept)
        sources = sources_of(files_of(patch), exercise.compiled, exercise.members)
        if all(source not in exercise.compiled for source in sources):  # rungs that are compiled together: the first one too
            sources.append(os.path.relpath(glob.glob(os.path.join(ROOT, os.path.dirname(sources[0]), "1_*.cpp"))[0], ROOT))
        return run(exercise.build(sources), *arguments)


def add_test(line):
    def test(self):
        kept = {}
        with tempfile.TemporaryDirectory() as folder:
            wrong, right = (self.outcome(line, kind, folder, kept) for kind in ("mistake", "solution"))
        self.assertEqual(wrong.returncode, 1, wrong.stdout + wrong.stderr)
        self.assertRegex(wrong.stdout, "FAILED")
        self.assertEqual(right.returncode, 0, right.stdout + right.stderr)
        self.assertRegex(right.stdout, "PASSED")
        self.assertNotIn("Running 0 tests", right.stdout)

    setattr(Exercises, "test_" + line.split()[1].replace("-", "_"), test)


with open(os.path.join(EXERCISES, "exercises.txt"), encoding="utf-8") as file:
    for row in file:
        if row[0].isdigit():
            add_test(row.strip())

if __name__ == "__main__":
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        print("skipped: not a build of ninja")
        sys.exit(SKIPPED)
    unittest.main()
