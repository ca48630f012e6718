# SPDX-License-Identifier: BSD-3-Clause
"""The exercises of the book: each mistake fails its test, each solution passes it (tools/exercise.py)."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("PLAQUETTE_BUILD", "")
EXERCISES = os.path.join(ROOT, "docs", "book", "exercises")
SKIPPED = 77


def exercise(number, *patches):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "exercise.py"), BUILD, folder, number, *patches],
                              capture_output=True, text=True, timeout=250)


class Exercises(unittest.TestCase):
    def test_each_mistake_fails_and_each_solution_passes(self):
        for patch in glob.glob(EXERCISES + "/*.solution.patch"):
            with open(os.path.join(EXERCISES, "exercises.txt"), encoding="utf-8") as file:
                number = next(line.split()[0] for line in file if f" {os.path.basename(patch).split('.')[0]} " in line)
            with self.subTest(patch=patch):
                result = exercise(number)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertIn("EXERCISE   PASSED", result.stdout)

    def test_a_mistake_that_passes_is_told(self):
        with tempfile.TemporaryDirectory() as patches:
            shutil.copy(os.path.join(EXERCISES, "twisted-mass.solution.patch"), os.path.join(patches, "twisted-mass.mistake.patch"))
            result = exercise("1", patches)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("the mistake should fail the test", result.stdout)


if __name__ == "__main__":
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        print("skipped: not a build of ninja")
        sys.exit(SKIPPED)
    unittest.main()
