# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-make-configuration: the same bits from any run of the same sweeps, whole files, and plain refusals."""
import json
import os
import signal
import subprocess
import time
import unittest

import harness
from harness import INTERRUPTED, MPIEXEC, NO_OUTPUT, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest
from json_schema import errors

PROGRAM = os.environ["PLAQUETTE_MAKE_CONFIGURATION"]


def run(*arguments, **options):
    return harness.run(*arguments, program=PROGRAM, **options)


class MakeConfigurationTest(CommandLineTest):
    SMALL = ("--lattice", "4x4x2x8", "--beta", "5.8", "--overrelaxation", "2", "--seed", "7")

    def links_of(self, name):
        """What follows the header of a NERSC file."""
        with open(self.path(name), "rb") as file:
            return file.read().partition(b"END_HEADER\n")[2]

    def made(self, name, *arguments, **options):
        """A verified run that writes `name`."""
        result = run(*self.SMALL, "--output", self.path(name), *arguments, **options)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        return result

    def refused(self, status, *arguments):
        result = run(*arguments)
        self.assertEqual(result.status, status, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("plaquette-make-configuration: "), result.err)
        self.assertNotIn("PASSED", result.out)
        return lines[0]


class Bits(MakeConfigurationTest):
    def test_a_run_in_two_parts_ends_where_one_run_does(self):
        self.made("whole", "--sweeps", "6")
        for form in ([], ["--two-row"], ["--format", "ildg"]):
            first = f"first{len(form)}{form[:1]}"
            self.made(first, "--sweeps", "4", *form)
            self.made(f"then{first}", "--sweeps", "2", "--first-sweep", "4", "--start", self.path(first))
            self.assertEqual(self.links_of(f"then{first}"), self.links_of("whole"), form)

    def test_repeating_a_sweeps_number_is_another_run(self):
        self.made("whole", "--sweeps", "4")
        self.made("first", "--sweeps", "2")
        self.made("then", "--sweeps", "2", "--start", self.path("first"))
        self.assertNotEqual(self.links_of("then"), self.links_of("whole"))

    def test_threads_change_nothing(self):
        self.made("one", "--sweeps", "3", "--threads", "1", "--start", "hot", "--anisotropy", "1.5")
        self.made("three", "--sweeps", "3", "--threads", "3", "--start", "hot", "--anisotropy", "1.5")
        self.assertEqual(self.links_of("one"), self.links_of("three"))

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_ranks_change_nothing(self):
        self.made("one", "--sweeps", "3")
        self.made("four", "--sweeps", "3", ranks=4)
        self.made("grid", "--sweeps", "3", "--grid", "2x1x1x2", ranks=4)
        self.assertEqual(self.links_of("one"), self.links_of("four"))
        self.assertEqual(self.links_of("one"), self.links_of("grid"))

    def test_seeds_matter(self):
        for seed in ("1", "2"):
            result = run("--lattice", "4x4x2x2", "--sweeps", "1", "--seed", seed, "--output", self.path(seed))
            self.assertEqual(result.status, SUCCESS, result.err)
        self.assertNotEqual(self.links_of("1"), self.links_of("2"))


class Files(MakeConfigurationTest):
    def test_history_report_and_output_say_the_same(self):
        for form in ("csv", "txt"):
            out = self.made(f"c{form}", "--sweeps", "5", "--measure-every", "2", "--history", self.path(f"h.{form}"),
                            "--json", self.path(f"{form}.json"), "--precision", "32").out
            with open(self.path(f"h.{form}"), encoding="utf-8") as file:
                lines = file.read().splitlines()
            rows = [line.replace(",", " ").split() for line in lines[1:]]
            self.assertEqual([int(row[0]) for row in rows], [0, 2, 4, 5])
            document = self.read_json(f"{form}.json")
            with open(SCHEMA, encoding="utf-8") as file:
                self.assertEqual(errors(document, json.load(file)), [])
            self.assertTrue(document["verified"])
            self.assertEqual([float(row[1]) for row in rows], document["observables"]["plaquette"])
            self.assertEqual(float(rows[-1][1]), document["gauge"]["plaquette"])
            self.assertIn(f"{float(rows[-1][1]):.12f}", out)
            for _, average, spatial, temporal in rows:
                self.assertAlmostEqual(float(average), 0.5 * (float(spatial) + float(temporal)), 14)

    def test_what_is_read_again_is_judged_by_what_rounding_leaves(self):
        """Tolerances follow the digits printed and the numbers stored; the links themselves come back exactly."""
        for name, arguments, header, again in [("u64", [], 2e-12, 1e-14), ("u32", ["--precision", "32"], 2e-8, 5e-9),
                                               ("u32t", ["--precision", "32", "--two-row"], 2e-8, 1e-8),
                                               ("u64i", ["--format", "ildg"], 2e-12, 1e-14)]:
            self.made(name, "--sweeps", "3", "--json", self.path("r.json"), "--force", *arguments)
            checks = {check["name"]: check for check in self.read_json("r.json")["checks"]}
            self.assertEqual(checks["links of the file read again"]["value"], 0.0)
            self.assertEqual(checks["links of the file read again"]["tolerance"], 0.0)
            self.assertLess(checks["plaquette in the file's header"]["tolerance"], header)
            self.assertLess(checks["plaquette of the file read again"]["tolerance"], again)

    def test_no_file_is_needed(self):
        result = run(*self.SMALL, "--sweeps", "1")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertEqual(os.listdir(self.directory), [])

    def test_no_sweep_copies_a_file(self):
        self.made("one", "--sweeps", "2")
        self.made("two", "--sweeps", "0", "--start", self.path("one"))
        self.assertEqual(self.links_of("one"), self.links_of("two"))

    def test_existing_ones_are_kept_unless_forced(self):
        for option in ("--output", "--history", "--json"):
            kept = self.write("kept", b"mine")
            line = self.refused(NO_OUTPUT, *self.SMALL, "--sweeps", "1", option, kept)
            self.assertIn("kept", line)
            with open(kept, "rb") as file:
                self.assertEqual(file.read(), b"mine")
            result = run(*self.SMALL, "--sweeps", "1", option, kept, "--force")
            self.assertEqual(result.status, SUCCESS, result.err)
            with open(kept, "rb") as file:
                self.assertNotEqual(file.read(), b"mine")

    def test_that_cannot_be_written_are_said_before_the_sweeps(self):
        for option in ("--output", "--history", "--json"):
            begin = time.monotonic()
            self.refused(NO_OUTPUT, "--lattice", "8x8x8x8", "--sweeps", "100000", option, self.path("no/where"))
            self.assertLess(time.monotonic() - begin, 30)

    def test_one_file_for_two_outputs_is_refused_before_a_sweep_is_done(self):
        line = self.refused(UNUSABLE, "--sweeps", "100000", "--output", self.path("x"), "--history", self.path("x"))
        self.assertIn("--output and --history", line)


class Refusals(MakeConfigurationTest):
    def test_numbers_and_words_that_cannot_be_used(self):
        for option, value in (("--beta", "nan"), ("--beta", "-1"), ("--beta", "six"), ("--beta", "inf"),
                              ("--anisotropy", "0"), ("--anisotropy", "-2"), ("--sweeps", "-1"), ("--sweeps", "1.5"),
                              ("--sweeps", "1e400"), ("--overrelaxation", "-1"), ("--seed", "-1"), ("--seed", "1e3"),
                              ("--lattice", "4x4x4"), ("--lattice", "4x4x4x3"), ("--lattice", "0x4x4x4"),
                              ("--grid", "2x1x1x1"), ("--format", "milc"), ("--precision", "16"),
                              ("--measure-every", "0"), ("--start", ""), ("--start", self.path("none")),
                              ("--first-sweep", "100000001"), ("--nonsense", "1")):
            line = self.refused(UNUSABLE, "--sweeps", "1", f"{option}={value}")
            self.assertTrue(option in line or os.path.basename(value) in line or "ranks" in line, line)

    def test_third_rows_cannot_be_left_out_of_ildg(self):
        self.assertIn("--two-row", self.refused(UNUSABLE, "--sweeps", "1", "--format", "ildg", "--two-row"))

    def test_ways_to_write_what_is_not_written(self):
        for way in (["--format", "ildg"], ["--precision", "32"], ["--two-row"]):
            self.assertIn("--output", self.refused(UNUSABLE, "--sweeps", "1", *way))

    def test_a_start_that_is_no_configuration(self):
        self.assertIn("text", self.refused(UNUSABLE, "--start", self.write("text", b"no links here")))

    def test_a_start_of_another_lattice(self):
        self.made("small", "--sweeps", "1")
        line = self.refused(UNUSABLE, "--lattice", "4x4x4x4", "--start", self.path("small"))
        self.assertIn("4x4x2x8", line)

    def test_a_start_that_was_damaged(self):
        self.made("good", "--sweeps", "1")
        with open(self.path("good"), "rb") as file:
            data = bytearray(file.read())
        data[-5] ^= 1
        self.refused(UNUSABLE, "--start", self.write("bad", bytes(data)))

    def test_open_boundaries_are_no_start(self):
        start = self.write("open", harness.open_boundary_file())
        line = self.refused(UNUSABLE, "--start", start, "--beta", "6", "--sweeps", "1", "--output", self.path("out"))
        self.assertIn("open boundaries", line)
        self.assertFalse(os.path.exists(self.path("out")))


class Interruption(MakeConfigurationTest):
    ENDLESS = ("--sweeps", "10000000", "--measure-every", "10000000")

    def assert_checkpoint(self, status, out, name):
        """What was written is a configuration from which the run can be continued."""
        self.assertEqual(status, INTERRUPTED, out)
        self.assertIn("VERIFIED   FAILED", out)
        done = out.partition("--first-sweep ")[2].split()[0]
        self.assertGreater(int(done), 0)
        self.made("by_hand", "--sweeps", done)
        self.assertEqual(self.links_of(name), self.links_of("by_hand"))

    def test_the_time_limit_leaves_a_checkpoint(self):
        result = run(*self.SMALL, *self.ENDLESS, "--time-limit", "0.5", "--output", self.path("c"))
        self.assert_checkpoint(result.status, result.out, "c")

    def test_a_signal_leaves_a_checkpoint(self):
        arguments = [PROGRAM, *self.SMALL, *self.ENDLESS, "--output", self.path("c")]
        with subprocess.Popen(arguments, env=harness.environment(), text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            out = ""
            while "\n       0  " not in out:  # the first measurement: the sweeps begin
                line = process.stdout.readline()
                self.assertNotEqual(line, "", out)
                out += line
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            out += process.stdout.read()
            process.wait(timeout=60)
        self.assert_checkpoint(process.returncode, out, "c")


if __name__ == "__main__":
    unittest.main()
