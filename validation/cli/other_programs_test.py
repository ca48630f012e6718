# SPDX-License-Identifier: BSD-3-Clause
"""Propagators of other programs, computed again from their configurations by the mini-app as a user would call it.
Needs the reference data; skipped, and said so, where they are absent."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["PLAQUETTE_SOLVER"]
REFERENCE = os.environ["PLAQUETTE_REFERENCE"]
SKIPPED = 77


def reference():
    with open(os.path.join(REFERENCE, "reference.json"), encoding="utf-8") as file:
        return json.load(file)


class OtherProgramsTest(unittest.TestCase):
    def observables(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            done = subprocess.run([PROGRAM, *arguments, "--repeat", "0", "--json", path], capture_output=True, text=True,
                                  env=dict(os.environ, OMP_WAIT_POLICY="passive"))
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout[-500:])
            with open(path, encoding="utf-8") as file:
                return json.load(file)["observables"]

    def assert_close(self, found, expected, factor, tolerance):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertLessEqual(abs(factor * a - b), tolerance * abs(b))

    def test_milc(self):
        for name, case in reference()["milc_correlators"]["cases"].items():
            with self.subTest(name):
                found = self.observables(
                    "--gauge", os.path.join(REFERENCE, "milc", case["file"]), "--kappa", str(case["kappa"]), "--csw",
                    str(case["csw"]), "--time-bc", case["time_bc"])
                # Seven printed digits, and single-precision links that MILC puts back into SU(3) and this program leaves.
                factor = 1.0 / (4.0 * case["kappa"] ** 2)
                self.assert_close(found["pion"], case["pion"], factor, 1e-6)
                self.assert_close(found["rho"], case["rho_average"], factor, 1e-6)

    def test_chroma_with_a_smeared_source(self):
        expected = reference()["chroma_clover_propagator"]["pion_sum|S|^2"]["m=0.1"]
        found = self.observables(
            "--gauge", os.path.join(REFERENCE, "chroma", "weak_field.lime"), "--mass", "0.1", "--csw", "1.17", "--source",
            "gaussian", "--source-position", "0,0,0,4", "--smearing-radius", "2.0", "--smearing-steps", "5")
        self.assert_close(found["pion"], expected, 1.0, 1e-9)  # eleven printed digits, solved to 1e-12

    def test_tmlqcd(self):
        expected = reference()["tmlqcd_wilson_propagator"]["pion_sum|S|^2"]["0.150"]
        arguments = ("--gauge", os.path.join(REFERENCE, "tmlqcd", "L4T8conf"), "--kappa", "0.15")
        self.assert_close(self.observables(*arguments)["pion"], expected, 1.0, 1e-6)  # stored in single precision
        # |S|^2 does not know in which links the phase of the boundary sits, nor its sign.
        again = self.observables(*arguments, "--boundary-angles=0,0,0,-1")
        self.assert_close(again["pion"], expected, 1.0, 1e-6)


if __name__ == "__main__":
    if not os.path.exists(os.path.join(REFERENCE, "reference.json")):
        print(f"skipped: no reference data at {REFERENCE}")
        sys.exit(SKIPPED)
    unittest.main()
