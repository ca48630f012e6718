# SPDX-License-Identifier: BSD-3-Clause
"""Signals and the time limit: every program ends with what there is, and says so, on any number of ranks."""
import json
import os
import signal
import time
import unittest

from harness import (INTERRUPTED, MPIEXEC, SCHEMA, SOLVER, CommandLineTest, children, ended, read_until, run, start)
from json_schema import errors

MAKE_CONFIGURATION = os.environ["PLAQUETTE_MAKE_CONFIGURATION"]
DSLASH_SCALING = os.environ["PLAQUETTE_DSLASH_SCALING"]

#: A solve of many seconds: random links, in the middle of the spectrum, to a residual at the edge of double precision.
LONG = ["--lattice", "8x8x8x16", "--gauge", "random", "--mass", "-2", "--solver", "cgnr", "--tol", "1e-15",
        "--rhs", "2", "--repeat", "0"]
ENDLESS_HEAT_BATH = ["--lattice", "8x8x8x8", "--gauge", "heatbath:6:10000000"]
ENDLESS_SAMPLES = ["--lattice", "8x8x8x16", "--samples", "100000", "--operator", "hopping", "--layout", "full"]
ENDLESS_SWEEPS = ["--lattice", "8x8x8x8", "--sweeps", "10000000", "--measure-every", "10000000"]


class Stop(CommandLineTest):
    def assert_stopped(self, result, reason):
        """Status 6; table, report and last line agree that nothing is verified, and one check says why."""
        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"), result.out)
        self.assertIn(reason, result.out)
        document = self.read_json("r.json")
        with open(SCHEMA, encoding="utf-8") as file:
            self.assertEqual(errors(document, json.load(file)), [])
        self.assertFalse(document["verified"])
        reasons = [c["name"] for c in document["checks"] if not c["passed"] and reason in c["name"]]
        self.assertEqual(len(reasons), 1, document["checks"])
        return document

    def assert_stopped_in_the_solve(self, result, reason):
        document = self.assert_stopped(result, reason)
        self.assertEqual(document["observables"], {})
        self.assertEqual(document["solves"][0]["columns"][0]["status"], "interrupted")
        self.assertGreater(document["solves"][0]["residual"]["reference"], 0)

    def assert_stopped_in_the_heat_bath(self, result, reason):
        document = self.assert_stopped(result, reason)
        self.assertEqual(document["solves"], [])
        self.assertTrue(any("heat bath" in c["name"] for c in document["checks"]))

    def assert_stopped_in_the_samples(self, result, reason):
        self.assertEqual(self.assert_stopped(result, reason)["figures"], [])

    def assert_stopped_in_the_sweeps(self, result, reason):
        document = self.assert_stopped(result, reason)
        self.assertGreater(document["gauge"]["sweeps_done"], 0)
        self.assertTrue(os.path.exists(self.path("c")))

    def programs(self):
        """Program, arguments, the line after which it is stopped, and what is expected then."""
        report = ["--json", self.path("r.json"), "--force"]
        return [(SOLVER, LONG + report, "plaquette ", self.assert_stopped_in_the_solve),
                (SOLVER, ENDLESS_HEAT_BATH + report, "iteration ", self.assert_stopped_in_the_heat_bath),
                (DSLASH_SCALING, ENDLESS_HEAT_BATH + report, "halo ", self.assert_stopped_in_the_heat_bath),
                (DSLASH_SCALING, ENDLESS_SAMPLES + report, "plaquette ", self.assert_stopped_in_the_samples),
                (MAKE_CONFIGURATION, [*ENDLESS_SWEEPS, "--checkpoint", self.path("c"), *report], "sweep       plaquette",
                 self.assert_stopped_in_the_sweeps)]

    def each_stopped_by(self, number, whom, ranks, programs=None):
        """`whom` takes the started process and returns those that get the signal."""
        for program, arguments, until, assert_stopped in programs or self.programs():
            with self.subTest(program=os.path.basename(program), until=until, signal=number):
                with start(*arguments, program=program, ranks=ranks) as process:
                    out = read_until(process, until)
                    time.sleep(0.3)
                    for pid in whom(process):
                        os.kill(pid, number)
                    assert_stopped(ended(process, out), f"signal {int(number)}")

    def test_at_a_signal(self):
        self.each_stopped_by(signal.SIGTERM, lambda process: [process.pid], ranks=1)
        # All programs have one handler for both.
        self.each_stopped_by(signal.SIGINT, lambda process: [process.pid], ranks=1, programs=self.programs()[:1])

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_at_a_signal_to_one_of_two_ranks(self):
        self.each_stopped_by(signal.SIGTERM, lambda process: children(process.pid)[1:], ranks=2)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_at_a_signal_that_mpirun_hands_on(self):
        self.each_stopped_by(signal.SIGUSR1, lambda process: [process.pid], ranks=2)

    def test_at_the_time_limit(self):
        for ranks in [1, 2] if MPIEXEC else [1]:
            for program, arguments, until, assert_stopped in self.programs():
                with self.subTest(program=os.path.basename(program), until=until, ranks=ranks):
                    result = run(*arguments, "--time-limit", "0.7", program=program, ranks=ranks)
                    assert_stopped(result, "the time limit of 0.7 s")

    def test_in_the_smearing(self):
        """Minutes of steps; the stages that follow ask as well, and come too late."""
        stout = ["--lattice", "8x8x8x8", "--gauge", "weak:0.1", "--stout-steps", "1000"]
        source = ["--lattice", "8x8x8x8", "--gauge", "weak:0.1", "--mass", "0.3", "--source", "gaussian",
                  "--smearing-steps", "100000"]
        for program, arguments, stage, ranks in ((SOLVER, [*stout, "--mass", "0.3"], " during stout smearing", 2),
                                                 (DSLASH_SCALING, stout, " during stout smearing", 1),
                                                 (SOLVER, source, "", 1), (SOLVER, source, "", 2)):
            with self.subTest(program=os.path.basename(program), stage=stage, ranks=ranks):
                result = run(*arguments, "--time-limit", "0.5", "--json", self.path("r.json"), "--force", program=program,
                             ranks=ranks if MPIEXEC else 1)
                document = self.assert_stopped(result, f"the time limit of 0.5 s{stage}")
                self.assertEqual([c["status"] for s in document["solves"] for c in s["columns"]],
                                 [] if stage else ["interrupted"] * 12)

    def test_a_stopped_operator_run_does_not_block_the_same_run(self):
        same = ["--lattice", "4x4x4x4", "--operator", "hopping", "--samples", "3", "--json", self.path("r.json")]
        self.assert_stopped(run(*same, "--time-limit", "1e-6", program=DSLASH_SCALING), "the time limit")
        other = run(*same, "--seed", "3", program=DSLASH_SCALING)
        self.assertIn("exists", other.err)
        result = run(*same, program=DSLASH_SCALING)
        self.assertEqual(result.status, 0, result.err)

    def test_within_a_combined_sweep(self):
        """One of minutes: the links are those before it."""
        result = run("--lattice", "16x16x16x8", "--start", "cold", "--sweeps", "1", "--heatbath", "1", "--overrelaxation",
                     "1000", "--time-limit", "0.5", "--json", self.path("r.json"), "--output", self.path("u"),
                     program=MAKE_CONFIGURATION)
        document = self.assert_stopped(result, "the time limit of 0.5 s")
        self.assertEqual((document["gauge"]["sweeps_done"], document["gauge"]["plaquette"]), (0, 1.0))
        self.assertTrue(os.path.exists(self.path("u")))

    def test_at_a_time_limit_shorter_than_the_set_up(self):
        for program, arguments, until, _ in self.programs():
            with self.subTest(program=os.path.basename(program), until=until):
                begin = time.monotonic()
                result = run(*arguments, "--time-limit", "1e-6", program=program)
                self.assert_stopped(result, "the time limit of 1e-06 s")
                self.assertLess(time.monotonic() - begin, 30)


if __name__ == "__main__":
    unittest.main()
