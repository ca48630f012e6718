# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-overlap-propagator --device gpu: verified, and search spaces lie where --basis says."""
import os
import unittest

import harness
from harness import SUCCESS, UNUSABLE, CommandLineTest

PROGRAM = os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]
TINY = ("--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--seed", "5", "--modes", "6", "--overlap-modes", "2", "--masses",
        "0.4", "--tune", "off", "--device", "gpu", "--force")
SITES = 32


def run(*arguments):
    return harness.run(*TINY, *arguments, program=PROGRAM)


class Basis(CommandLineTest):
    def observables(self, *arguments):
        result = run(*arguments, "--json", self.path("r.json"))
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        return self.read_json("r.json")["observables"]

    def test_search_spaces_lie_where_they_shall(self):
        here = self.observables("--basis", "device", "--overlap-mode-tol", "1e-6", "--until", "overlap-modes")
        self.assertEqual(here["basis_on_host"], {"kernel_bytes": 0, "overlap_bytes": 0})
        there = self.observables("--basis", "host")
        kernel = there["kernel"]
        self.assertGreaterEqual(there["basis_on_host"]["kernel_bytes"],
                                192 * SITES * (kernel["search_space"] + kernel["block"]))
        # Modes of D for propagators are loose: their search has at least 40 vectors in single precision.
        self.assertGreaterEqual(there["basis_on_host"]["overlap_bytes"], 48 * SITES * 40)
        for a, b in zip(here["kernel"]["eigenvalues"], there["kernel"]["eigenvalues"]):
            self.assertAlmostEqual(a, b, places=10)
        for a, b in zip(here["overlap"]["eigenvalues"], there["overlap"]["eigenvalues"]):
            self.assertAlmostEqual(a[1], b[1], places=8)


    def test_solves_are_preconditioned_there_by_multigrid(self):
        result = run("--scheme", "preconditioned", "--preconditioner", "multigrid", "--tol", "1e-4",
                     "--json", self.path("r.json"))
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        self.assertEqual(self.read_json("r.json")["solves"][0]["work"]["clover_solver"], "multigrid")


def device_is_there():
    result = run("--until", "modes")
    return result.status != UNUSABLE, result.err


if __name__ == "__main__":
    found, why = device_is_there()
    if not found and not os.environ.get("PLAQUETTE_REQUIRE_GPU"):
        print(f"skipped: {why}")
        raise SystemExit(77)
    unittest.main()
