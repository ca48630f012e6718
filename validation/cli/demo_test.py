# SPDX-License-Identifier: BSD-3-Clause
"""What the demo draws: on three of its configurations the pion is lighter than the rho, by more than the error of the
difference."""
import json
import math
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
CONFIGURATIONS = 3


def demo_problem():
    with open(os.path.join(ROOT, "tools", "demo.sh"), encoding="utf-8") as file:
        return re.search(r"^readonly demo_problem=\(([^)]*)\)", file.read(), re.MULTILINE)[1].split()


def folded(values):
    return [float(values[t]) + float(values[-t % len(values)]) for t in range(len(values) // 2 + 1)]


class Demo(unittest.TestCase):
    def test_the_pion_is_lighter_than_the_rho(self):
        differences = []
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(1, CONFIGURATIONS + 1):
                path = os.path.join(folder, f"{seed}.json")
                run = subprocess.run([os.environ["PLAQUETTE_SOLVER"], *demo_problem(), "--threads", "1", "--seed", str(seed),
                                      "--json", path], capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
                with open(path, encoding="utf-8") as file:
                    found = json.load(file)["observables"]
                pion, rho = folded(found["pion"]), folded(found["rho"])
                differences.append(math.log(rho[3] / rho[5]) / 2 - math.log(pion[3] / pion[5]) / 2)
        mean = sum(differences) / CONFIGURATIONS
        error = math.sqrt(sum((d - mean) ** 2 for d in differences) / (CONFIGURATIONS * (CONFIGURATIONS - 1)))
        self.assertGreater(mean, 3 * error, differences)
        self.assertTrue(0.08 < mean < 0.25, differences)


if __name__ == "__main__":
    unittest.main()
