# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints: a run that was killed or stopped, and then continued, leaves the same bits as one that was not."""
import os
import random
import re
import shutil
import signal
import time
import unittest
import zlib

from harness import (INTERRUPTED, MPIEXEC, NO_OUTPUT, SOLVER, SUCCESS, UNUSABLE, CommandLineTest, children, read_until,
                     run, start)

MAKE_CONFIGURATION = os.environ["PLAQUETTE_MAKE_CONFIGURATION"]


class CheckpointTest(CommandLineTest):
    def content(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def finished(self, program, *arguments, **options):
        result = run(*arguments, program=program, **options)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        return result

    def refused(self, program, status, *arguments):
        result = run(*arguments, program=program)
        self.assertEqual(result.status, status, result.err + result.out)
        self.assertEqual(len(result.err.rstrip("\n").split("\n")), 1, result.err)
        self.assertNotIn("VERIFIED   PASSED", result.out)
        return result.err

    def damaged(self, name, place):
        """The file with one bit changed."""
        data = bytearray(self.content(name))
        data[place] ^= 4
        return self.write("damaged", bytes(data))

    def forged(self, name, pattern, value):
        """The file with another value in its state, of the same length, and the checksum made right again."""
        data = self.content(name)
        state = re.search(rb"[0-9a-f]{8}\n(\{.*\})", data, re.DOTALL)
        text = re.sub(pattern, lambda found: found.group(1) + value.ljust(len(found.group(2))), state.group(1), count=1,
                      flags=re.DOTALL)
        self.assertTrue(text != state.group(1), "nothing was replaced")
        self.assertEqual(len(text), len(state.group(1)), "the value is longer than what it replaces")
        text = b"%08x\n" % zlib.crc32(text) + text
        return self.write("forged", data[:state.start()] + text + data[state.end():])


class HeatBath(CheckpointTest):
    RUN = ("--lattice", "8x4x4x8", "--beta", "5.8", "--seed", "7", "--overrelaxation", "2", "--sweeps", "40")

    def make(self, *arguments, **options):
        return self.finished(MAKE_CONFIGURATION, *self.RUN, *arguments, **options)

    def configuration(self, name):
        """A NERSC file but for the line that says when it was written."""
        return re.sub(rb"CREATION_DATE = .*\n", b"", self.content(name))

    def make_whole(self):
        self.make("--output", self.path("whole"), "--history", self.path("whole.csv"))

    def kill_in_mid_run(self, ranks=1, delay=0.0):
        """With a checkpoint after every sweep, so that a kill meets a run anywhere, also while it writes one."""
        with start(*self.RUN, "--checkpoint", self.path("c"), "--checkpoint-every", "1", program=MAKE_CONFIGURATION,
                   ranks=ranks) as process:
            read_until(process, "sweep       plaquette")
            for _ in range(3):
                process.stdout.readline()
            time.sleep(delay)
            for pid in children(process.pid)[-1:] if ranks > 1 else [process.pid]:
                os.kill(pid, signal.SIGKILL)
            process.communicate()

    def assert_continues_to_the_whole(self, *arguments, **options):
        result = self.make("--checkpoint", self.path("c"), "--output", self.path("then"), "--history",
                           self.path("then.csv"), "--force", *arguments, **options)
        self.assertIn("continues ", result.out)
        self.assertEqual(self.configuration("then"), self.configuration("whole"))

    def test_a_killed_run_is_continued(self):
        self.make_whole()
        self.kill_in_mid_run()
        shutil.copy(self.path("c"), self.path("kept"))
        self.assert_continues_to_the_whole()
        self.assertEqual(self.content("then.csv"), self.content("whole.csv"))
        for ranks, arguments in [(2, []), (4, ["--grid", "1x2x1x2"])] if MPIEXEC else []:
            shutil.copy(self.path("kept"), self.path("c"))
            self.assert_continues_to_the_whole(*arguments, ranks=ranks)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_a_run_on_two_ranks_of_which_one_was_killed_is_continued_on_one(self):
        self.make_whole()
        self.kill_in_mid_run(ranks=2)
        self.assert_continues_to_the_whole()

    def test_a_run_killed_again_and_again_is_continued(self):
        self.make_whole()
        source = random.Random(1)
        for _ in range(5):
            self.kill_in_mid_run(delay=source.uniform(0.0, 0.02))
        self.assert_continues_to_the_whole()

    def test_a_stopped_run_is_continued_by_the_same_command(self):
        files = ["--checkpoint", self.path("c"), "--output", self.path("then"), "--history", self.path("then.csv"),
                 "--json", self.path("r.json"), "--measure-every", "7"]
        self.make("--output", self.path("whole"), "--history", self.path("whole.csv"), "--measure-every", "7")
        result = run(*self.RUN, *files, "--time-limit", "1e-3", program=MAKE_CONFIGURATION)
        self.assertEqual(result.status, INTERRUPTED, result.err)
        self.assertFalse(os.path.exists(self.path("then")))
        self.assertFalse(self.read_json("r.json")["verified"])
        self.make(*files)
        self.assertEqual(self.configuration("then"), self.configuration("whole"))
        self.assertEqual(self.content("then.csv"), self.content("whole.csv"))
        self.assertTrue(self.read_json("r.json")["verified"])
        self.assertIn("exists", self.refused(MAKE_CONFIGURATION, NO_OUTPUT, *self.RUN, *files))

    def test_a_run_stopped_after_a_checkpoint_and_killed_later_is_continued_by_the_same_command(self):
        files = ["--checkpoint", self.path("c"), "--checkpoint-every", "1", "--history", self.path("then.csv"),
                 "--json", self.path("r.json")]
        endless = [*self.RUN[:-1], "1000000"]
        for limit in ("0.05", "0.1"):  # every sweep ends with a checkpoint, so each stop comes right after one
            result = run(*endless, *files, "--time-limit", limit, program=MAKE_CONFIGURATION)
            self.assertEqual(result.status, INTERRUPTED, result.err)
        with start(*endless, *files, program=MAKE_CONFIGURATION) as process:
            read_until(process, "sweep       plaquette")
            for _ in range(3):
                process.stdout.readline()
            process.kill()
        result = run(*endless, *files, "--time-limit", "0.05", program=MAKE_CONFIGURATION)
        self.assertEqual(result.status, INTERRUPTED, result.err)

    def test_a_finished_run_goes_on_with_more_sweeps(self):
        self.finished(MAKE_CONFIGURATION, *self.RUN[:-1], "25", "--checkpoint", self.path("c"))
        self.make_whole()
        self.assert_continues_to_the_whole()

    def test_another_run_is_refused(self):
        self.make("--checkpoint", self.path("c"))
        before = self.content("c")
        for change in [("--beta", "5.9"), ("--seed", "8"), ("--overrelaxation", "3"), ("--anisotropy", "2"),
                       ("--start", "hot"), ("--first-sweep", "2"), ("--heatbath", "2")]:
            arguments = list(self.RUN)
            if change[0] in arguments:
                arguments[arguments.index(change[0]) + 1] = change[1]
            else:
                arguments += change
            line = self.refused(MAKE_CONFIGURATION, UNUSABLE, *arguments, "--checkpoint", self.path("c"))
            self.assertIn(change[0].strip("-").replace("-", "_"), line)
        line = self.refused(MAKE_CONFIGURATION, UNUSABLE, *self.RUN[:-1], "39", "--checkpoint", self.path("c"))
        self.assertIn("40", line)
        arguments = list(self.RUN)
        arguments[1] = "8x4x4x4"
        self.assertIn("8x4x4x8", self.refused(MAKE_CONFIGURATION, UNUSABLE, *arguments, "--checkpoint", self.path("c")))
        self.assertEqual(self.content("c"), before)

    def test_a_file_that_is_no_checkpoint_is_refused(self):
        self.make("--checkpoint", self.path("c"), "--output", self.path("ildg"), "--format", "ildg")
        data = self.content("c")
        state = data.index(b'"sweeps_done"')
        for name in [self.path("ildg"), self.write("text", b"no links"), self.write("empty", b""),
                     self.write("half", data[:len(data) // 2]), self.damaged("c", state + 14)]:
            line = self.refused(MAKE_CONFIGURATION, UNUSABLE, *self.RUN, "--checkpoint", name)
            self.assertIn(os.path.basename(name), line)
        line = self.refused(MAKE_CONFIGURATION, UNUSABLE, *self.RUN, "--checkpoint", self.damaged("c", len(data) // 2))
        self.assertIn("checksum", line)

    def test_a_state_that_no_run_leaves_is_refused(self):
        self.make("--checkpoint", self.path("c"))
        history = rb'("history":)(\[.*?\]\])'
        for pattern, value in [(rb'("sweeps_done":)(40)', b"-1"), (rb'("sweeps_done":)(40)', b"{}"),
                               (rb'("sweeps_done":)(40)', b"4."), (history, b"{}"), (history, b"[1]"), (history, b"[[0,2,0,0]]"),
                               (history, b"[[0,0.5,0.5]]"), (history, b"[[-1,0.5,0.5,0.5]]"), (history, b"[[1e30,0.5,0.5,0.5]]"),
                               (history, b"[[3,0.5,0.5,0.5],[2,0.5,0.5,0.5]]"), (history, b"[[41,0.5,0.5,0.5]]"),
                               (history, b"[[0,null,0,0]]"), (history, b"[" * 100 + b"]" * 100)]:
            with self.subTest(value=value):
                line = self.refused(MAKE_CONFIGURATION, UNUSABLE, *self.RUN, "--checkpoint", self.forged("c", pattern, value))
                self.assertIn("forged", line)

    def test_places_that_cannot_be_written_are_said_before_the_sweeps(self):
        self.refused(MAKE_CONFIGURATION, NO_OUTPUT, *self.RUN, "--checkpoint", self.path("no/where"))
        self.refused(MAKE_CONFIGURATION, UNUSABLE, *self.RUN, "--checkpoint", "/dev/null")


class Propagator(CheckpointTest):
    RUN = ("--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--mass", "-0.4", "--csw", "1", "--solver", "cgnr", "--repeat",
           "0")

    def setUp(self):
        super().setUp()
        if "without HDF5" in run("--lattice", "2x2x2x2", "--gauge", "unit", "--read-propagator", "absent.h5").err:
            self.skipTest("built without HDF5")

    def solve(self, *arguments, **options):
        return self.finished(SOLVER, *self.RUN, *arguments, **options)

    def precisions(self):
        words = re.search(r"--precision\s+([\w|-]+)", run("--help").out)[1].split("|")
        self.assertIn("double", words)
        return [word for word in words if not word.startswith("pairs")]  # those are for GPUs

    def test_a_killed_run_is_continued(self):
        for precision in self.precisions():
            with self.subTest(precision=precision):
                solve = ["--precision", precision, "--force"]
                self.solve(*solve, "--propagator", self.path("whole.h5"), "--json", self.path("whole.json"))
                arguments = [*self.RUN, *solve, "--checkpoint", self.path(precision + ".h5"), "--checkpoint-every", "2"]
                with start(*arguments) as process:
                    while not os.path.exists(self.path(precision + ".h5")):
                        self.assertIsNone(process.poll())
                        time.sleep(0.001)
                    process.kill()
                self.finished(SOLVER, *arguments, "--propagator", self.path("then.h5"), "--json",
                              self.path("then.json"))
                self.assertEqual(self.content("then.h5"), self.content("whole.h5"))
                then, whole = (self.read_json(name)["observables"] for name in ("then.json", "whole.json"))
                self.assertEqual(then, whole)

    def test_a_run_stopped_again_and_again_is_continued_by_the_same_command(self):
        """Where a run is stopped in the middle of a batch, the columns that have converged are kept."""
        self.solve("--propagator", self.path("whole.h5"))
        arguments = [*self.RUN, "--checkpoint", self.path("c.h5"), "--checkpoint-every", "12", "--propagator",
                     self.path("then.h5"), "--json", self.path("r.json")]
        stops, limit = 0, 0.002
        while (result := run(*arguments, "--time-limit", str(limit))).status == INTERRUPTED:
            self.assertIn("time limit", result.out)
            if os.path.exists(self.path("then.h5")):  # stopped in what follows the solves
                self.assertEqual(self.content("then.h5"), self.content("whole.h5"))
            stops, limit = stops + 1, 1.15 * limit
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertGreater(stops, 0)
        self.assertEqual(self.content("then.h5"), self.content("whole.h5"))

    def test_a_run_stopped_in_its_timed_solves_is_continued_by_the_same_command(self):
        run_of_many = [*self.RUN[:-1], "1000", "--checkpoint", self.path("c.h5"), "--propagator", self.path("p.h5"),
                       "--json", self.path("r.json")]
        for _ in range(2):
            with start(*run_of_many) as process:
                while not os.path.exists(self.path("c.h5")):
                    self.assertIsNone(process.poll())
                    time.sleep(0.001)
                time.sleep(0.3)
                process.terminate()
                out, err = process.communicate()
                self.assertEqual(process.returncode, INTERRUPTED, out + err)
        with start(*run_of_many) as process:
            time.sleep(0.3)
            process.kill()
        finite = [*self.RUN[:-1], "1", *run_of_many[len(self.RUN):]]
        self.finished(SOLVER, *finite)
        self.assertTrue(self.read_json("r.json")["verified"])
        self.assertIn("exists", self.refused(SOLVER, NO_OUTPUT, *finite))

    def test_the_rate_of_a_continued_run_is_that_of_its_timed_solve(self):
        timed = [*self.RUN[:-1], "1", "--precision", "double"]
        self.finished(SOLVER, *timed, "--json", self.path("whole.json"))
        arguments = [*timed, "--checkpoint", self.path("c.h5"), "--checkpoint-every", "12", "--json", self.path("r.json")]
        stops, limit = 0, 0.01
        while run(*arguments, "--time-limit", str(limit)).status == INTERRUPTED:
            stops, limit = stops + 1, 1.3 * limit
        self.assertGreater(stops, 0)
        whole, then = (self.read_json(name)["solves"][0] for name in ("whole.json", "r.json"))
        self.assertAlmostEqual(then["seconds"] * then["gflops"],
                               whole["seconds"] * whole["gflops"], delta=1e-6)
        self.assertEqual(then["applications"], whole["applications"])

    def test_columns_that_are_kept_are_not_solved_again(self):
        self.solve("--checkpoint", self.path("c.h5"), "--json", self.path("first.json"))
        self.solve("--checkpoint", self.path("c.h5"), "--json", self.path("then.json"))
        first, then = (self.read_json(name)["solves"][0] for name in ("first.json", "then.json"))
        self.assertEqual(first["seconds"], then["seconds"])  # those that the solves took, whenever that was
        self.assertEqual(first["history"], then["history"])
        self.assertEqual(first["columns"], then["columns"])

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_is_continued_on_another_number_of_ranks(self):
        self.solve("--checkpoint", self.path("c.h5"), ranks=2)
        self.solve("--checkpoint", self.path("c.h5"), "--propagator", self.path("one.h5"))
        self.solve("--checkpoint", self.path("c.h5"), "--propagator", self.path("four.h5"), ranks=4)
        one, four = self.content("one.h5"), self.content("four.h5")
        self.assertEqual(len(one), len(four))
        # Ends hold residuals of the reference, whose sums depend on the grid in the last bit; the middle is all numbers.
        self.assertEqual(one[len(one) // 4:3 * len(one) // 4], four[len(four) // 4:3 * len(four) // 4])

    def test_another_problem_is_refused(self):
        self.solve("--checkpoint", self.path("c.h5"))
        before = self.content("c.h5")
        for option, value in [("--mass", "-0.3"), ("--csw", "1.1"), ("--solver", "cgne"), ("--gauge", "weak:0.2")]:
            arguments = list(self.RUN)
            arguments[arguments.index(option) + 1] = value
            self.assertIn("c.h5", self.refused(SOLVER, UNUSABLE, *arguments, "--checkpoint", self.path("c.h5")))
        for change in [("--seed", "2"), ("--precision", "single"), ("--tol", "1e-10"), ("--rhs", "3"),
                       ("--source", "wall"), ("--source-position", "1,0,0,0"), ("--time-bc", "periodic")]:
            line = self.refused(SOLVER, UNUSABLE, *self.RUN, *change, "--checkpoint", self.path("c.h5"))
            self.assertIn("c.h5", line)
        self.assertEqual(self.content("c.h5"), before)
        restarted = ["gcr" if word == "cgnr" else word for word in self.RUN]
        self.finished(SOLVER, *restarted, "--restart-length", "8", "--checkpoint", self.path("g.h5"))
        self.refused(SOLVER, UNUSABLE, *restarted, "--restart-length", "9", "--checkpoint", self.path("g.h5"))

    def test_a_file_that_is_no_checkpoint_is_refused(self):
        self.solve("--checkpoint", self.path("c.h5"), "--propagator", self.path("p.h5"))
        data = self.content("c.h5")
        state = data.index(b'"true_tolerance"')
        for name in [self.path("p.h5"), self.write("text", b"no columns"), self.write("half", data[:len(data) // 2]),
                     self.damaged("c.h5", state + 3)]:
            line = self.refused(SOLVER, UNUSABLE, *self.RUN, "--checkpoint", name)
            self.assertIn(os.path.basename(name), line)

    def test_a_state_that_no_run_leaves_is_refused(self):
        self.solve("--checkpoint", self.path("c.h5"))
        iterations, seconds = rb'("iterations":)([0-9]+)', rb'("seconds":)([0-9.e+-]+)'
        for pattern, value in [(iterations, b"-7"), (rb'("results":)(\[.*\])(?=,"sums")', b"{}"),
                               (rb'("results":)(\[.*\])(?=,"sums")', b"[]"), (rb'("results":)(\[.*\])(?=,"sums")', b"7"),
                               (rb'("columns":)(\[.*?\])', b"[0,0]"), (seconds, b"-1"), (seconds, b"1e300"),
                               (rb'("true_tolerance":)([0-9.e+-]+)', b"2"), (rb'("history":)(\[.*?\])', b"[-1,1]"),
                               (rb'("updates":)(\[\[.*?\]\])', b"[[1e30,1,1]]"), (rb'("iterated":)([0-9.e+-]+)', b"-1"),
                               (rb'("outer_applications":)([0-9]+)', b"-1")]:
            with self.subTest(pattern=pattern, value=value):
                line = self.refused(SOLVER, UNUSABLE, *self.RUN, "--checkpoint", self.forged("c.h5", pattern, value))
                self.assertIn("forged", line)

    def test_a_column_that_was_damaged_is_refused(self):
        self.solve("--checkpoint", self.path("c.h5"))
        # Most of the file is numbers.
        line = self.refused(SOLVER, UNUSABLE, *self.RUN, "--checkpoint", self.damaged("c.h5", 200000))
        self.assertIn("checksum", line)


if __name__ == "__main__":
    unittest.main()
