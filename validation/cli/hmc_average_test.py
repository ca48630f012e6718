# SPDX-License-Identifier: BSD-3-Clause
"""A chain of plaquette-hmc with two flavours has the plaquette that was published, within 4 errors by blocks."""
import csv
import os
import sys
import unittest

import harness
from harness import SUCCESS, CommandLineTest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "plots"), os.path.join(ROOT, "validation", "campaigns")]
from blocked_errors import blocked_error  # noqa: E402
from hmc_averages import CASES  # noqa: E402

PROGRAM = os.environ["PLAQUETTE_HMC"]
TRAJECTORIES, LEFT_OUT = 140, 20
# Steps and solvers are given, so that the chain does not depend on trials.
CHEAP = ["--integrator", "omelyan:5(det,light) omelyan:1(gauge)", "--solvers", "cg-double", "--cg-force-tolerance", "1e-5"]


class Average(CommandLineTest):
    def test_the_plaquette_of_two_flavours_is_the_published_one(self):
        options, _, expected, _ = CASES["clover-5.6"]
        result = harness.run(*options, *CHEAP, "--seed", 57, "--trajectories", TRAJECTORIES, "--history", self.path("h.csv"),
                             program=PROGRAM)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        self.assertRegex(result.out, r"\nplaquette, 0\.5905 by tmLQCD's sample, in both errors .* passed")
        with open(self.path("h.csv"), encoding="ascii", newline="") as file:
            values = [float(row["plaquette"]) for row in csv.DictReader(file)][LEFT_OUT:]
        mean, own = sum(values) / len(values), blocked_error(values)
        published, error = expected["plaquette"]
        self.assertLess(own, 3e-3)  # else the chain says nothing
        self.assertLessEqual(abs(mean - published), 4.0 * (own ** 2 + error ** 2) ** 0.5, f"{mean} +- {own}")


if __name__ == "__main__":
    unittest.main()
