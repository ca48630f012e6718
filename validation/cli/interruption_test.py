# SPDX-License-Identifier: BSD-3-Clause
"""Signals and the time limit: the run ends with what there is, and says so."""
import signal
import time
import unittest

from harness import INTERRUPTED, CommandLineTest, Result, run, start

#: A solve of many seconds: a large lattice, far below zero mass, to a residual at the edge of double precision.
LONG = ["--lattice", "16x16x16x16", "--gauge", "weak:0.3", "--mass", "-1.5", "--solver", "cgnr", "--tol", "1e-15",
        "--rhs", "4", "--repeat", "0"]
ENDLESS_HEAT_BATH = ["--lattice", "8x8x8x8", "--gauge", "heatbath:6:10000000"]


class Stop(CommandLineTest):
    def assert_stopped_in_the_solve(self, result, reason):
        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"), result.out)
        document = self.read_json("r.json")
        self.assertFalse(document["verified"])
        self.assertTrue(any(reason in c["name"] for c in document["checks"]), document["checks"])
        self.assertEqual(document["observables"], {})
        residual = document["solves"][0]["residual"]
        self.assertEqual(document["solves"][0]["columns"][0]["status"], "interrupted")
        self.assertGreater(residual["reference"], 0)

    def test_at_the_time_limit_in_the_solve(self):
        result = run(*LONG, "--time-limit", "1", "--json", self.path("r.json"))
        self.assert_stopped_in_the_solve(result, "time limit")

    def test_at_the_time_limit_in_the_heat_bath(self):
        self.assert_refused(run(*ENDLESS_HEAT_BATH, "--time-limit", "0.5"), INTERRUPTED, "time limit", "heat bath")

    def stopped_by(self, number, arguments, until):
        with start(*arguments) as process:
            out = ""
            while until not in out:
                line = process.stdout.readline()
                self.assertNotEqual(line, "", process.stderr.read() if process.poll() is not None else "")
                out += line
            time.sleep(0.5)
            process.send_signal(number)
            rest, err = process.communicate(timeout=60)

        class Completed:
            returncode, stdout, stderr = process.returncode, out + rest, err

        return Result(Completed)

    def test_at_a_signal_in_the_solve(self):
        for number in [signal.SIGTERM, signal.SIGINT]:
            with self.subTest(signal=number):
                result = self.stopped_by(number, [*LONG, "--json", self.path("r.json"), "--force"], "plaquette ")
                self.assert_stopped_in_the_solve(result, f"signal {int(number)}")

    def test_at_a_signal_in_the_heat_bath(self):
        result = self.stopped_by(signal.SIGTERM, ENDLESS_HEAT_BATH, "iteration ")
        self.assert_refused(result, INTERRUPTED, "signal 15", "heat bath")


if __name__ == "__main__":
    unittest.main()
