#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""An exercise of the book: the mistake fails its test, the solution passes it. Only sources that a patch concerns are
compiled, from copies, by the commands of the build; all else is linked as it was built.

    tools/exercise.py BUILD FOLDER NUMBER [PATCHES]     BUILD: of ninja, with the exercise's target; FOLDER: for the copies"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
EXERCISES = os.path.join(ROOT, "docs", "book", "exercises")
BUILD = ""  # a folder


def run(*words, folder=None, **more):
    return subprocess.run(words, cwd=folder or BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, **more)


def run_well(*words, **more):
    result = run(*words, **more)
    if result.returncode != 0:
        sys.exit(f"exercise: {' '.join(words)}\n{result.stdout}")
    return result.stdout


def commands_of(target):
    """Returns {source: words that compile it} of a target, and the words that link it."""
    compiled, linked = {}, []
    for line in run_well("ninja", "-t", "commands", target).split("\n"):
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


class Program:
    def __init__(self, target, folder, kept):
        self.folder, self.kept = folder, kept  # kept: {text of a source: its object}, where both patches leave the same
        self.compiled, self.linked = commands_of(target)
        words, where = list(self.linked), os.path.join(folder, "linked.txt")
        words[words.index("-o") + 1] = os.path.join(folder, "program")
        run_well(*words, "-Wl,-Map=" + where)
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
        words = [word for word in words if not word.startswith(("-M", "-Werror")) and not word.endswith((".d", ".o")) or word == new]
        if "-include" not in words:  # a precompiled header fits its own flags alone
            words.insert(words.index("-c"), "-O1")  # behind -O3 and in its place
        words.insert(next(n for n, word in enumerate(words) if word.startswith("-I")), "-I" + self.folder)
        run_well(*words)
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
        run_well(*words)
        return program


def outcome(kind, name, program, arguments, folder, patches, kept):
    """Builds the program with one patch, and returns what its test says."""
    patch, folder = os.path.join(patches, f"{name}.{kind}.patch"), os.path.join(folder, name, kind)
    shutil.rmtree(folder, ignore_errors=True)
    for path in files_of(patch):
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, path), os.path.join(folder, path))
    # The folder is no part of a repository here, wherever it lies.
    run_well("git", "apply", patch, folder=folder, env={**os.environ, "GIT_DIR": os.path.join(folder, "none")})
    built = Program(program, folder, kept)
    sources = sources_of(files_of(patch), built.compiled, built.members)
    if all(source not in built.compiled for source in sources):  # rungs that are compiled together: the first one too
        sources.append(os.path.relpath(glob.glob(os.path.join(ROOT, os.path.dirname(sources[0]), "1_*.cpp"))[0], ROOT))
    return run(built.build(sources), *arguments, env={"OMP_WAIT_POLICY": "passive", **os.environ})


def main():
    global BUILD
    BUILD, folder, number = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    patches = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else EXERCISES
    with open(os.path.join(EXERCISES, "exercises.txt"), encoding="utf-8") as file:
        name, _, _, program, *arguments = next(line.split()[1:] for line in file if line.startswith(number + " "))
    kept = {}
    for kind in ("mistake", "solution"):
        print(f"exercise {number}  {kind}: docs/book/exercises/{name}.{kind}.patch, files in {os.path.join(folder, name, kind)}")
        result = outcome(kind, name, program, arguments, folder, patches, kept)
        print("test        " + " ".join([program, *arguments]))
        if kind == "mistake":
            print("\n".join(re.findall("(?m)^.*(?:Failure|differs|which is|FAILED).*$", result.stdout)[:4]))
        right = result.returncode == 0 and "PASSED" in result.stdout and "Running 0 tests" not in result.stdout
        if not (result.returncode == 1 if kind == "mistake" else right):
            print(result.stdout + f"EXERCISE   FAILED     (the {kind} should {'fail' if kind == 'mistake' else 'pass'} the test, whose output stands above)")
            sys.exit(1)
    print("EXERCISE   PASSED     (the test fails with the mistake and passes with the solution)")


if __name__ == "__main__":
    main()
