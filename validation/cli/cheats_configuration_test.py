# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-make-configuration that leaves updates out, or whose clock is slow: it fails. The same program passes where
PLAQUETTE_CHEAT is not set."""
import json
import os
import unittest
from unittest import mock

from harness import FAILED, SUCCESS, CommandLineTest, run

PROGRAM = os.environ["PLAQUETTE_CHEATING_CONFIGURATION"]
ARGUMENTS = ["--lattice", "4x4x4x4", "--seed", "3", "--threads", "1", "--force"]


class ConfigurationCheats(CommandLineTest):
    def run_as(self, cheat, *arguments, sweeps=60):
        with mock.patch.dict(os.environ, PLAQUETTE_CHEAT=cheat):
            return run(*ARGUMENTS, "--sweeps", str(sweeps), *arguments, program=PROGRAM)

    def fails(self, cheat, check, sweeps=60):
        result = self.run_as(cheat, sweeps=sweeps)
        self.assertEqual(result.status, FAILED, result.out + result.err)
        failed = [line for line in result.out.splitlines() if line.endswith("FAILED")]
        self.assertTrue(any(line.startswith(check) for line in failed), failed)

    def test_the_honest_program_passes_and_says_which_sweeps_were_judged(self):
        drawn = set()
        for _ in range(3):
            result = self.run_as("", "--json", self.path("r.json"))
            self.assertEqual(result.status, SUCCESS, result.out + result.err)
            with open(self.path("r.json"), encoding="utf-8") as file:
                draws = [d["number"] for d in json.load(file)["draws"] if d["of"] == "sweep"]
            # One of each ten.
            self.assertEqual([number // 10 for number in draws], list(range(6)))
            drawn.add(tuple(draws))
        self.assertEqual(len(drawn), 3)

    def test_each_sweep_of_a_short_run_is_judged(self):
        result = self.run_as("", "--json", self.path("r.json"), sweeps=4)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        with open(self.path("r.json"), encoding="utf-8") as file:
            self.assertEqual([d["number"] for d in json.load(file)["draws"]], [0, 1, 2, 3])
        result = self.run_as("", sweeps=0)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)

    def test_updates_that_are_left_out(self):
        again = "drawn sweeps made again"
        self.fails("no-over-relaxation", again)
        self.fails("few-sweeps", again)
        self.fails("half-a-bath", again, sweeps=6)  # all are judged: no chance

    def test_a_clock_that_goes_half_as_fast(self):
        self.fails("slow-clock", "seconds by two clocks")


if __name__ == "__main__":
    unittest.main()
