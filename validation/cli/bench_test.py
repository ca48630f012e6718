# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-bench: one case, and options that would be passed over in silence."""
import json
import os
import time
import unittest

import harness
import json_schema
from harness import SUCCESS, UNUSABLE, CommandLineTest

PROGRAM = os.environ["PLAQUETTE_BENCH"]


def run(*arguments):
    return harness.run(*arguments, program=PROGRAM)


class BenchTest(CommandLineTest):
    def test_one_case_is_timed_and_verified(self):
        result = run("--lattice", "4x4x4x4", "--precision", "half", "--reconstruct", "12", "--samples", "3", "--json",
                     self.path("one.json"))
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        with open(os.environ["PLAQUETTE_REPORT_SCHEMA"], encoding="utf-8") as file:
            self.assertEqual(json_schema.errors(self.read_json("one.json"), json.load(file)), [])
        self.assertIn("4x4x4x4", result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)

    def test_options_of_the_other_device_or_of_one_case_are_refused(self):
        for arguments, expected in [(("--gauge", "unit"), "--gauge: expected --device gpu with it"),
                                    (("--rows", "blas"), "--rows: expected --device gpu with it"),
                                    (("--delta", "0.1"), "--delta: expected --device gpu with it"),
                                    (("--device", "gpu", "--large"), "--large: expected --device cpu with it"),
                                    (("--device", "gpu", "--rhs", "2"), "--rhs: expected --device cpu with it"),
                                    (("--precision", "half"), "--precision: expected --lattice with it")]:
            with self.subTest(arguments=arguments):
                result = run(*arguments)
                self.assertEqual(result.status, UNUSABLE, result.err + result.out)
                self.assertEqual(result.err, "plaquette-bench: " + expected + "\n")

    def test_a_lattice_that_cannot_be_is_refused_before_anything_is_measured(self):
        result = run("--lattice", "4x4x4x3")
        self.assertEqual((result.status, result.out), (UNUSABLE, ""), result.err)
        self.assertIn("4x4x4x3", result.err)

    def test_a_signal_ends_it_with_what_there_is(self):
        with harness.start("--json", self.path("r.json"), program=PROGRAM) as process:
            harness.read_until(process, "lattice ")
            process.terminate()
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, harness.INTERRUPTED, out + err)
        self.assertIn("run was not stopped by signal 15", [c["name"][:32] for c in self.read_json("r.json")["checks"]])

    def test_a_signal_in_the_last_row_is_heeded_in_two_seconds(self):
        with harness.start("--lattice", "16x16x16x16", "--samples", "1000", program=PROGRAM) as process:
            harness.read_until(process, "lattice ")
            time.sleep(1)
            begin = time.monotonic()
            process.terminate()
            out, err = process.communicate(timeout=60)
            self.assertLess(time.monotonic() - begin, harness.two_seconds())
        self.assertEqual(process.returncode, harness.INTERRUPTED, out + err)
        self.assertIn("VERIFIED   FAILED", out)

    def test_seconds_of_a_gpus_protocol_are_said_once(self):
        for arguments in (("--protocol-seconds", "0,0"), ("--idle-seconds", "1")):
            with self.subTest(arguments=arguments):
                self.assertIn("--device gpu", run(*arguments).err)
        both = run("--device", "gpu", "--protocol-seconds", "0,0", "--idle-seconds", "1")
        self.assertEqual(both.status, UNUSABLE)
        self.assertIn("--idle-seconds: expected no --protocol-seconds", both.err)


if __name__ == "__main__":
    unittest.main()
