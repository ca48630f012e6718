# SPDX-License-Identifier: BSD-3-Clause
"""The second exercise of the chapter on the free field: on its lattice the iterations of BiCGstab grow like 1/m, and CGNR
needs more."""
import json
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")


def exercise():
    """The lattice and the masses that the chapter names."""
    with open(os.path.join(ROOT, "docs", "book", "free-field.md"), encoding="utf-8") as file:
        found = re.search(r"(?m)^2\. On a lattice of (\S+) take a mass of ([\d., ]+), and", file.read())
    return found[1], [float(mass) for mass in found[2].split(",")]


def iterations(lattice, mass, solver):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "free.json")
        run = subprocess.run([os.environ["PLAQUETTE_SOLVER"], "--gauge", "unit", "--lattice", lattice, "--mass", str(mass), "--solver", solver,
                              "--repeat", "0", "--json", path], capture_output=True, text=True)
        if run.returncode:
            raise AssertionError(run.stdout + run.stderr)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["solves"][0]["iterations"]


class FreeField(unittest.TestCase):
    def test_iterations_grow_like_one_over_the_mass(self):
        lattice, masses = exercise()
        found = [iterations(lattice, mass, "bicgstab") for mass in masses]
        slopes = [(a - b) / (1 / m - 1 / n) for a, b, m, n in zip(found, found[1:], masses, masses[1:])]
        for slope in slopes:
            self.assertTrue(12 <= slope <= 20, f"iterations {found}, slopes {slopes}")
        self.assertGreater(iterations(lattice, masses[0], "cgnr"), 1.2 * found[0])


if __name__ == "__main__":
    unittest.main()
