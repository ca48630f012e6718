# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose kernels or solves cheat while they are timed, where PLAQUETTE_CHEAT is set: what is timed is what is
verified, so they fail. The same programs pass where it is not."""
import os
import sys
import unittest

from harness import FAILED, SUCCESS, CommandLineTest, run

DSLASH = os.environ["PLAQUETTE_CHEATING_DSLASH"]
SOLVER = os.environ["PLAQUETTE_CHEATING_SOLVER"]
DEVICE = os.environ.get("PLAQUETTE_CHEATING_DEVICE", "cpu")


class Cheats(CommandLineTest):
    def verdict(self, *arguments, program):
        """The checks that fail where the program cheats. Without the cheat it passes."""
        os.environ.pop("PLAQUETTE_CHEAT", None)
        honest = run(*arguments, program=program)
        self.assertEqual(honest.status, SUCCESS, honest.out + honest.err)
        os.environ["PLAQUETTE_CHEAT"] = "yes"
        self.addCleanup(os.environ.pop, "PLAQUETTE_CHEAT", None)
        result = run(*arguments, program=program)
        self.assertEqual(result.status, FAILED, result.out + result.err)
        self.assertIn("VERIFIED   FAILED", result.out)
        return [line for line in result.out.splitlines() if line.endswith("FAILED")]

    def test_an_operator_that_skips_calls_it_has_seen(self):
        for arguments in (["--operator", "hopping", "--layout", "even-odd", "--precision", "single,half"],
                          ["--operator", "clover_schur", "--precision", "double", "--rhs", "3"]):
            with self.subTest(arguments=arguments):
                failed = self.verdict(*arguments, "--lattice", "4x4x4x8", "--samples", "3", "--gauge", "weak:0.2",
                                      "--device", DEVICE, *self.protocol(), program=DSLASH)
                self.assertTrue(any("last timed output" in line for line in failed), failed)

    def test_solves_that_leave_zero_once_they_are_timed(self):
        for precision in ("double", "double-half"):
            with self.subTest(precision=precision):
                failed = self.verdict("--lattice", "4x4x4x8", "--gauge", "weak:0.2", "--mass", "0.2", "--rhs", "2",
                                      "--repeat", "2", "--precision", precision, "--device", DEVICE, *self.protocol(),
                                      program=SOLVER)
                self.assertTrue(any("timed solves" in line for line in failed), failed)

    def protocol(self):
        return ["--protocol-seconds", "0,0", "--tune", "off"] if DEVICE == "gpu" else []


def there_is_no_gpu():
    result = run("--lattice", "4x4x4x4", "--gauge", "unit", "--device", "gpu", "--samples", "3", "--operator", "norm2",
                 "--protocol-seconds", "0,0", program=DSLASH)
    return "no GPU was found" in result.err


if __name__ == "__main__":
    if DEVICE == "gpu" and "PLAQUETTE_REQUIRE_GPU" not in os.environ and there_is_no_gpu():
        print("skipped: no GPU was found")
        sys.exit(77)
    unittest.main()
