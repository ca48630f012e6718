# SPDX-License-Identifier: BSD-3-Clause
"""dslash-scaling at its command line: arguments, report, verdict, placement, signals."""
import json
import os
import signal
import subprocess
import time
import unittest
import unittest.mock

from harness import (INTERRUPTED, MPIEXEC, NO_MEMORY, NO_OUTPUT, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest, Result,
                     command, environment, open_boundary_file, run)
from json_schema import errors

PROGRAM = os.environ["PLAQUETTE_DSLASH_SCALING"]
NAME = "plaquette-dslash-scaling"

#: A run of a second.
QUICK = ["--lattice", "4x4x4x8", "--samples", "3", "--operator", "hopping", "--layout", "even-odd", "--precision",
         "single"]
#: One of many seconds.
LONG = ["--lattice", "8x8x8x16", "--samples", "100000", "--operator", "hopping", "--layout", "full"]

with open(SCHEMA, encoding="utf-8") as schema_file:
    SCHEMA_DOCUMENT = json.load(schema_file)


class ScalingTest(CommandLineTest):
    def scaling(self, *arguments, **options):
        return run(*arguments, program=PROGRAM, **options)

    def refused(self, status, words, *arguments, **options):
        result = self.scaling(*arguments, **options)
        self.assertEqual(result.status, status, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith(NAME + ": "), result.err)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn("PASSED", result.out)

    def report(self, *arguments, **options):
        """The result of a run, its report held to the schema, and both to one verdict."""
        result = self.scaling(*arguments, "--json", self.path("r.json"), "--force", **options)
        self.assertTrue(os.path.exists(self.path("r.json")), result.err + result.out)
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        passed = document["verified"]
        self.assertEqual(passed, all(c["passed"] for c in document["checks"]))
        self.assertEqual(passed, result.status == SUCCESS, result.err + result.out)
        lines = result.out.rstrip("\n").split("\n")
        self.assertRegex(lines[-1], r"^VERIFIED   PASSED " if passed else r"^VERIFIED   FAILED ")
        self.assertRegex(lines[-2], r"^FOM        \S+ GFLOP/s     \(.+\)$")
        self.assertEqual(result.out.count("VERIFIED"), 1)
        return result, document


class Arguments(ScalingTest):
    def test_help_names_every_option_and_every_exit_status(self):
        result = self.scaling("--help")
        self.assertEqual(result.status, SUCCESS)
        for word in ["--operator", "--layout", "--precision", "--reconstruct", "--rhs", "--size", "--scaling",
                     "--lattice", "--local-lattice", "--grid", "--preconditioning", "--overlap", "--samples",
                     "--placement", "--latency", "--message-limit", "--halo", "--wait", "--stall-timeout", "--threads", "--gauge", "--mass", "--kappa", "--csw", "--seed", "--json",
                     "--check", "--dryrun", "--time-limit", "--force", "Exit status"]:
            self.assertIn(word, result.out)
        self.assertNotIn("--tol", result.out)

    def test_values_that_cannot_be_used(self):
        for option, value in [("--operator", "dslash"), ("--operator", ""), ("--operator", "hopping,hopping"),
                              ("--layout", "lexicographic"), ("--precision", "quarter"), ("--precision", "double,"),
                              ("--precision", "single,single"), ("--reconstruct", "9"), ("--reconstruct", "18,18"),
                              ("--rhs", "0"), ("--rhs", "1,x"), ("--rhs", "-1"), ("--samples", "2"),
                              ("--overlap", "maybe"), ("--placement", "best"), ("--scaling", "medium"),
                              ("--size", "huge"), ("--local-lattice", "4x4x4"), ("--lattice", "0x4x4x4"),
                              ("--device", "tpu"), ("--preconditioning", "none"), ("--time-limit", "-1")]:
            with self.subTest(option=option, value=value):
                self.refused(UNUSABLE, [option if option != "--lattice" else "0x4x4x4"], option, value)

    def test_arguments_that_do_not_go_together(self):
        for arguments, words in [(["--operator", "wilson", "--layout", "even-odd"], ["--layout"]),
                                 (["--operator", "clover", "--csw", "0"], ["--csw"]),
                                 (["--lattice", "4x4x4x4", "--local-lattice", "4x4x4x4"], ["--local-lattice"]),
                                 (["--lattice", "4x4x4x4", "--size", "nano"], ["--size"]),
                                 (["--lattice", "4x4x4x4", "--grid", "1x1x1x2"], ["2 ranks", "found 1"]),
                                 (["--local-lattice", "3x4x4x4"], ["3x4x4x4"]),
                                 (["--device", "gpu", "--dryrun", "--tune", "x"], ["--tune"]),
                                 (["--tune", "off"], ["--device gpu"]), (["--halo", "staged"], ["--device gpu"]),
                                 (["--wait", "block"], ["--device gpu"]), (["--stall-timeout", "-1"], ["--stall-timeout"]),
                                 (["--latency", "--rhs", "2"], ["--rhs", "--latency"]),
                                 (["--latency", "--size", "nano"], ["--size", "--latency"]),
                                 (["--latency", "--message-limit", "12"], ["--message-limit", "12"]),
                                 (["--message-limit", "64"], ["--message-limit", "--latency"]), (["stray"], ["stray"])]:
            with self.subTest(arguments=arguments):
                self.refused(UNUSABLE, words, *arguments)

    def test_a_device_that_is_not_there(self):
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):
            self.refused(UNUSABLE, ["--device gpu"], *QUICK, "--device", "gpu")
            result = self.scaling(*QUICK, "--device", "gpu", "--dryrun")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("gpu memory", result.out)

    def test_more_memory_than_there_is(self):
        self.refused(NO_MEMORY, ["needs", "available"], "--lattice", "512x512x512x1024", "--operator", "hopping")

    def test_a_report_that_cannot_be_written(self):
        self.refused(NO_OUTPUT, ["/no/such/folder"], *QUICK, "--json", "/no/such/folder/r.json")
        self.write("r.json", b"mine")
        self.refused(NO_OUTPUT, ["exists"], *QUICK, "--json", self.path("r.json"))
        self.refused(UNUSABLE, ["--gauge and --json"], "--gauge", self.path("r.json"), "--json", self.path("r.json"),
                     "--force")

    def test_dryrun_says_what_would_run(self):
        result = self.scaling("--size", "target", "--scaling", "weak", "--dryrun")
        self.assertEqual(result.status, SUCCESS, result.err)
        for word in ["32x32x32x32", "memory", "Gflop", "fewest bytes", "clover_schur", "384.0 MiB", "placement"]:
            self.assertIn(word, result.out)
        self.assertNotIn("VERIFIED", result.out)

    def test_the_ladder_has_the_sizes_of_the_run_rules(self):
        for size, scaling, lattice in [("reference", "strong", "24x24x24x128"), ("target", "strong", "32x32x32x256"),
                                       ("reference", "weak", "24x24x24x32"), ("target", "weak", "32x32x32x32")]:
            out = self.scaling("--size", size, "--scaling", scaling, "--dryrun").out
            self.assertIn(f"lattice    {lattice} ({size}, {scaling})", out)


class Report(ScalingTest):
    def test_of_open_boundaries_says_so(self):
        result, document = self.report("--gauge", self.write("open", open_boundary_file()), "--samples", "3")
        self.assertIn("remark     open boundaries", result.out)
        self.assertTrue(document["gauge"]["open_boundary"])

    def test_of_every_operator(self):
        result, document = self.report("--lattice", "4x4x4x8", "--samples", "3", "--check", "--rhs", "1,3")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertEqual(document["app"], "dslash-scaling")
        seen = {(f["operator"], f["layout"], f["precision"], f["rhs"]) for f in document["figures"]}
        for precision in ["single", "double"]:
            for rhs in [1, 3]:
                for operator, layout in [("hopping", "even-odd"), ("hopping", "full"), ("wilson", "full"),
                                         ("clover", "full"), ("wilson_schur", "even-odd"),
                                         ("clover_schur", "even-odd")]:
                    self.assertIn((operator, layout, precision, rhs), seen)
        names = [c["name"] for c in document["checks"]]
        for f in document["figures"]:
            name = f"{f['operator']} {f['layout']} {f['precision']} {f['reconstruct']} N={f['rhs']}"
            self.assertIn(name, names)
            self.assertIn(name + ", adjoint", names)
            self.assertGreater(f["gflops"], 0)
            self.assertGreater(f["fraction_of_copy"], 0)
            self.assertGreater(f["fraction_of_fma_peak"], 0)
            self.assertEqual(f["seconds"]["samples"], 3)
            self.assertLessEqual(f["seconds"]["min"], f["seconds"]["median"])
            self.assertNotIn("halo", f)  # one rank
        headline = document["figures"][0]
        self.assertEqual(document["fom"]["what"], "hopping even-odd single 18 N=1")
        self.assertEqual(document["fom"]["value"], headline["gflops"])
        # 1320 flops against 768 bytes, as the field counts them
        self.assertAlmostEqual(headline["gflops"] / headline["gbytes_per_s"], 1320 / 768, delta=1e-9)

    def test_of_vector_operations(self):
        _, document = self.report("--lattice", "4x6x8x4", "--samples", "3", "--operator", "axpy,dot,norm2", "--precision",
                                  "double,single,half", "--rhs", "1,3", "--reconstruct", "18,12")
        # 3 operations, 2 layouts, 3 precisions, 2 numbers of columns; the list of links is none of their business
        self.assertEqual(len(document["figures"]), 36)
        for f in document["figures"]:
            self.assertEqual(f["reconstruct"], 0)
            flops, numbers = {"axpy": (96, 72), "dot": (96, 48), "norm2": (48, 24)}[f["operator"]]
            if f["precision"] != "half":
                size = 8 if f["precision"] == "double" else 4
                self.assertAlmostEqual(f["gflops"] / f["gbytes_per_s"], flops / (numbers * size), delta=1e-9)
        self.assertEqual(document["fom"]["what"], "axpy even-odd double N=1")

    def test_of_latencies(self):
        for ranks in (1, 3) if MPIEXEC else (1,):
            result = self.scaling("--latency", "--message-limit", "1000", "--json", self.path("l.json"), "--force",
                                  ranks=ranks)
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            document = self.read_json("l.json")
            self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
            transfers = document["latencies"]["transfers"]
            self.assertEqual({t["kind"] for t in transfers}, {"host_copy", "mpi"} if ranks > 1 else {"host_copy"})
            self.assertEqual(sorted({t["bytes"] for t in transfers}), [8, 32, 128, 512, 1000])
            self.assertEqual(document["figures"], [])
            self.assertEqual(document["fom"]["unit"], "GB/s")

    def test_headline_is_that_of_the_first_of_each_list(self):
        _, document = self.report("--lattice", "4x4x4x4", "--samples", "3", "--precision", "double,single",
                                  "--operator", "hopping,clover_schur", "--rhs", "2,1", "--preconditioning",
                                  "asymmetric")
        self.assertEqual(document["fom"]["what"], "hopping even-odd double 18 N=2")
        _, document = self.report("--lattice", "4x4x4x4", "--samples", "3", "--operator", "clover", "--precision",
                                  "single")
        self.assertEqual(document["fom"]["what"], "clover full single 18 N=1")

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_on_ranks_has_a_halo_and_the_same_checks(self):
        values = []
        for ranks, grid in [(1, "1x1x1x1"), (2, "auto"), (4, "1x2x1x2")]:
            with self.subTest(grid=grid):
                result, document = self.report(*QUICK, "--grid", grid, "--overlap", "on", ranks=ranks)
                self.assertEqual(result.status, SUCCESS, result.err + result.out)
                figure = document["figures"][0]
                self.assertEqual(figure["ranks"], ranks)
                self.assertEqual("halo" in figure, ranks > 1)
                # the operator has the same bits on any grid; the mean that its error is divided by agrees to rounding
                values.append(next(c["value"] for c in document["checks"] if c["name"].startswith("hopping")))
        for value in values[1:]:
            self.assertAlmostEqual(value / values[0], 1.0, delta=1e-12)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_halo_with_and_without_overlap(self):
        for overlap in ["on", "off"]:
            _, document = self.report(*QUICK, "--grid", "1x1x1x2", "--overlap", overlap, "--rhs", "3", ranks=2)
            figure = document["figures"][0]
            halo = figure["halo"]
            self.assertEqual(halo["overlap"], overlap)
            # two faces of 4 x 4 x 4 / 2 sites, half-spinors of 12 reals of 4 bytes, 3 right-hand sides
            self.assertEqual(halo["bytes_sent"], 2 * 32 * 12 * 4 * 3)
            self.assertGreater(halo["pack_seconds"], 0)
            self.assertGreater(halo["exposed_seconds"], 0)
            self.assertLess(halo["pack_seconds"] + halo["unpack_seconds"], figure["seconds"]["max"])
            self.assertAlmostEqual(halo["hidden_seconds"], halo["exchange_seconds"] - halo["exposed_seconds"])
            if overlap == "off":
                self.assertEqual(halo["hidden_seconds"], 0)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_local_lattice_times_grid_is_the_lattice(self):
        _, document = self.report("--local-lattice", "4x4x4x2", "--grid", "1x2x1x1", *QUICK[2:], ranks=2)
        self.assertEqual(document["parameters"]["lattice"], [4, 8, 4, 2])
        self.assertEqual(document["parameters"]["scaling"], "weak")
        _, document = self.report("--local-lattice", "4x4x4x2", *QUICK[2:], ranks=2)  # cut along a longest direction
        self.assertIn(document["parameters"]["lattice"], [[8, 4, 4, 2], [4, 8, 4, 2], [4, 4, 8, 2]])


class Placement(ScalingTest):
    def places(self, *arguments, topology=None, **options):
        settings = dict(os.environ)
        if topology:
            os.environ["HWLOC_SYNTHETIC"] = topology
        try:
            _, document = self.report(*QUICK, *arguments, **options)
        finally:
            os.environ.clear()
            os.environ.update(settings)
        placement = document["parameters"]["placement"]
        if placement["hwloc"] == "none":
            self.skipTest("built without hwloc")
        return placement

    def test_good_binds_each_thread_to_a_core(self):
        placement = self.places("--placement", "good", "--threads", "2")
        self.assertTrue(placement["ranks"][0]["bound"])
        cores = placement["ranks"][0]["cores"]
        self.assertEqual(len(set(cores)), min(2, placement["host"]["cores"]))

    def test_none_leaves_threads_alone(self):
        placement = self.places("--threads", "2")
        self.assertEqual(placement["policy"], "none")
        if placement["host"]["cores"] > 1:
            self.assertFalse(placement["ranks"][0]["bound"])

    def test_bad_says_what_it_does_instead_on_one_node(self):
        placement = self.places("--placement", "bad", "--threads", "2")
        if placement["host"]["numa_nodes"] == 1:
            self.assertIn("one", placement["note"])
            self.assertEqual(len(set(placement["ranks"][0]["cores"])), 1)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_on_a_machine_of_two_nodes(self):
        for policy in ["good", "bad"]:
            placement = self.places("--placement", policy, "--threads", "3", ranks=2,
                                    topology="pack:2 [numa] core:4 pu:1")
            self.assertEqual([r["numa_nodes"] for r in placement["ranks"]], [[0, 0, 0], [1, 1, 1]])
            memory = [[-1] * 3, [-1] * 3] if policy == "good" else [[1] * 3, [0] * 3]
            self.assertEqual([r["memory_nodes"] for r in placement["ranks"]], memory)


class Stop(ScalingTest):
    def assert_stopped(self, result, reason):
        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"), result.out)
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assertFalse(document["verified"])
        self.assertTrue(any(reason in c["name"] for c in document["checks"]), document["checks"])

    def test_at_the_time_limit(self):
        begin = time.monotonic()
        self.assert_stopped(self.scaling(*LONG, "--time-limit", "1", "--json", self.path("r.json")), "time limit")
        self.assertLess(time.monotonic() - begin, 30)

    def test_at_a_signal(self):
        with subprocess.Popen(command([*LONG, "--json", self.path("r.json")], program=PROGRAM), env=environment(),
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            out = ""
            while "GFLOP/s" not in out:
                line = process.stdout.readline()
                self.assertNotEqual(line, "")
                out += line
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            rest, err = process.communicate(timeout=60)

        class Completed:
            returncode, stdout, stderr = process.returncode, out + rest, err

        self.assert_stopped(Result(Completed), "signal 15")


if __name__ == "__main__":
    unittest.main()
