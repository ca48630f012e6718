# SPDX-License-Identifier: BSD-3-Clause
"""mixed-precision-solver with --device gpu on several ranks. The propagator of one rank on any process grid, batches
that are timed by themselves, checkpoints; a rank that is killed, signals, the time limit."""
import atexit
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import unittest

from harness import (INTERRUPTED, MPIEXEC, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest, children, ended, read_until, run,
                     start)
from json_schema import errors

with open(SCHEMA, encoding="utf-8") as schema_file:
    SCHEMA_DOCUMENT = json.load(schema_file)

#: Choices of launches, kept from run to run.
TUNING = tempfile.mkdtemp(prefix="plaquette-tuning-")
atexit.register(shutil.rmtree, TUNING, True)
GPU = ["--device", "gpu", "--wait", "block", "--tune-file", os.path.join(TUNING, "tune.json")]
SMALL = [*GPU, "--protocol-seconds", "0,0.02", "--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--csw", "1"]
#: Many seconds, on a GPU too: solves again and again.
LONG = [*GPU, "--lattice", "8x8x8x8", "--gauge", "weak:0.2", "--mass", "-0.2", "--csw", "1", "--precision", "double-half",
        "--rhs", "1", "--repeat", "1000"]
#: What mpirun itself takes to end a job after a rank was lost is about two seconds.
MOST_SECONDS = 20


class SolverOnRanks(CommandLineTest):
    def solved(self, ranks, *arguments):
        result = run(*SMALL, *arguments, "--json", self.path("r.json"), "--force", ranks=ranks)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertRegex(result.last_line(), "^VERIFIED   PASSED ")
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assertEqual(document["machine"]["ranks"], ranks)
        return result, document

    def test_gives_the_propagator_of_one_rank(self):
        for source, ranks, words in (
                (["point"], 2, ["--check"]),
                (["gaussian", "--smearing-radius", "1.5", "--smearing-steps", "3"], 4,
                 ["--grid", "1x2x1x2", "--halo", "staged", "--overlap", "off"])):
            with self.subTest(source=source[0], ranks=ranks):
                problem = ["--precision", "double-half", "--repeat", "0", "--source", *source]
                _, alone = self.solved(1, *problem)
                _, document = self.solved(ranks, *problem, *words)
                # S = M^-1 b to |M^-1| / |S| times residuals of 1e-14, a few 1e-14; a correlator is its square.
                for name in ("pion", "rho"):
                    for a, b in zip(document["observables"][name], alone["observables"][name]):
                        self.assertAlmostEqual(a / b, 1.0, delta=1e-12)
                names = [check["name"] for check in document["checks"]]
                self.assertEqual("operator, GPU against CPU" in names, "--check" in words)

    def test_right_hand_sides_one_after_the_other(self):
        result, document = self.solved(2, "--precision", "single-half", "--rhs", "3", "--batch", "1", "--repeat", "2",
                                       "--overlap", "off", "--halo", "staged")
        solve = document["solves"][0]
        self.assertEqual([batch["columns"] for batch in solve["batches"]], [[0], [1], [2]])
        for batch in solve["batches"]:
            self.assertEqual(batch["seconds"]["samples"], 2)
            self.assertGreater(batch["gflops"], 0)
        # The medians of two samples are their means.
        self.assertAlmostEqual(sum(batch["seconds"]["median"] for batch in solve["batches"]) / solve["seconds"], 1, delta=1e-9)
        self.assertEqual(solve["halo"], {"policy": "staged", "overlap": "off"})
        for figure in document["figures"]:
            self.assertEqual(figure["rhs"], 1)
            self.assertGreater(figure["halo"]["bytes_sent"], 0)
            self.assertGreater(figure["halo"]["seconds_without_communication"], 0)
        for line in ("\nbatches    3, ", "\nhalo       staged, overlap off", " sent by a rank"):
            self.assertIn(line, result.out)

    def test_a_checkpoint_goes_on_on_another_grid(self):
        if "without HDF5" in run(*SMALL, "--checkpoint", self.path("c.h5"), "--dryrun").err:
            self.skipTest("built without HDF5")
        problem = ["--rhs", "4", "--repeat", "1", "--checkpoint", self.path("c.h5"), "--checkpoint-every", "2"]
        self.solved(2, *problem)
        _, document = self.solved(4, *problem, "--overlap", "off", "--batch", "3")
        self.assertEqual([batch["columns"] for batch in document["solves"][0]["batches"]], [[0, 1, 2], [3]])

    def test_more_right_hand_sides_at_once_than_there_are(self):
        result = run(*SMALL, "--rhs", "2", "--batch", "3")
        self.assert_refused(result, UNUSABLE, "--batch", "2", "3")

    def test_a_killed_rank_ends_the_run(self):
        with start(*LONG, "--json", self.path("r.json"), ranks=2) as process:
            out = read_until(process, "plaquette ")
            time.sleep(0.5)
            ranks = children(process.pid)
            self.assertEqual(len(ranks), 2)
            begin = time.monotonic()
            os.kill(ranks[1], signal.SIGKILL)
            result = ended(process, out)
        self.assertLess(time.monotonic() - begin, MOST_SECONDS)
        self.assertNotEqual(result.status, 0)
        self.assertEqual(result.err.count("exited on signal 9"), 1, result.err)
        self.assertNotIn("VERIFIED", result.out)
        self.assertEqual(os.listdir(self.directory), [])

    def assert_stopped(self, result, reason):
        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"), result.out)
        self.assertIn(reason, result.out)
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assertFalse(document["verified"])
        self.assertEqual(len(document["solves"]), 1)

    def test_a_signal_to_one_rank_stops_all(self):
        with start(*LONG, "--json", self.path("r.json"), ranks=2) as process:
            out = read_until(process, "plaquette ")
            time.sleep(0.5)
            os.kill(children(process.pid)[1], signal.SIGTERM)
            self.assert_stopped(ended(process, out), "signal 15")

    def test_the_time_limit_stops_all(self):
        self.assert_stopped(run(*LONG, "--json", self.path("r.json"), "--time-limit", "3", ranks=4), "the time limit of 3 s")


if __name__ == "__main__":
    probe = run(*GPU, "--lattice", "4x4x4x4", "--gauge", "unit", "--rhs", "1", "--repeat", "0")
    if not MPIEXEC or probe.status == UNUSABLE:
        print("skipped:", probe.err.strip() or "built without MPI")
        sys.exit(1 if os.environ.get("PLAQUETTE_REQUIRE_GPU") else 77)
    unittest.main()
