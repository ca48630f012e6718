# SPDX-License-Identifier: BSD-3-Clause
"""multigrid at its command line: arguments, table, report, verdict, setups in files, ranks."""
import json
import math
import os
import signal
import time
import unittest

import harness
from harness import (INTERRUPTED, MPIEXEC, NO_CONVERGENCE, NO_OUTPUT, SCHEMA, SOLVER, SUCCESS, UNUSABLE, CommandLineTest,
                     ended, read_until, run, start)
from json_schema import errors

PROGRAM = os.environ["PLAQUETTE_MULTIGRID"]
DEVICE = os.environ.get("PLAQUETTE_DEVICE", "cpu")
NAME = "plaquette-multigrid"

#: A run of a second.
QUICK = ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--device", DEVICE]

#: The same without what only costs time in tests of other things.
CHEAP = ["--rhs", "1", "--reference", "none", "--trials", "0", "--modes", "0"]
FAST = [*QUICK, "--vectors", "8", "--trials", "0", "--modes", "0"]

with open(SCHEMA, encoding="utf-8") as schema_file:
    SCHEMA_DOCUMENT = json.load(schema_file)


#: What is done on the host alone, or what other runs hold on other devices.
on_host = unittest.skipIf(DEVICE == "gpu", "held by the test of the CPU")


class Multigrid(CommandLineTest):
    def multigrid(self, *arguments, **options):
        return run(*arguments, program=PROGRAM, **options)

    def refused(self, words, *arguments, status=UNUSABLE, **options):
        result = self.multigrid(*arguments, **options)
        self.assertEqual(result.status, status, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith(NAME + ": "), result.err)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertNotIn("PASSED", result.out)

    def report(self, *arguments, **options):
        result = self.multigrid(*arguments, "--json", self.path("r.json"), "--force", **options)
        self.assertTrue(os.path.exists(self.path("r.json")), result.err + result.out)
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assertEqual(document["verified"], result.status == SUCCESS, result.err + result.out)
        lines = result.out.rstrip("\n").split("\n")
        self.assertRegex(lines[-1], r"^VERIFIED   PASSED " if document["verified"] else r"^VERIFIED   FAILED ")
        self.assertRegex(lines[-2], r"^FOM        \S+ solves/s     \(.+\)$")
        return result, document

    @on_host
    def test_help_names_the_options(self):
        text = self.multigrid("--help").out
        for word in ["--aggregates", "--vectors", "--levels", "--cycle", "--smoother", "--setup-iterations",
                     "--save-setup", "--load-setup", "--batches", "--reference", "--kappa", "--gauge"]:
            self.assertIn(word, text)

    def test_a_run_without_further_options_solves_and_says_what_it_took(self):
        result, document = self.report(*QUICK, "--rhs", "3", "--check")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        solves = document["solves"]
        self.assertEqual([(s["solver"], s["batch"]) for s in solves],
                         [("multigrid", 1), ("bicgstab", 1), ("multigrid", 3), ("bicgstab", 3)])
        for solve in solves:
            self.assertTrue(solve["converged"])
            self.assertEqual(len(solve["columns"]), 3)
            for column in solve["columns"]:
                self.assertLessEqual(column["residual"]["reference"], 1e-10)
                self.assertGreater(column["error_over_residual"], 0.05)
                self.assertLess(column["error_over_residual"], 100.0)
        # The errors of both solvers are of one size where the residuals are.
        self.assertLess(solves[0]["iterations"], 20)
        self.assertGreater(solves[1]["iterations"], solves[0]["iterations"])
        levels = solves[0]["levels"]
        self.assertEqual([level["lattice"] for level in levels], [[4, 4, 4, 8], [2, 2, 2, 2]])
        self.assertGreater(levels[0]["cycles"], 0)
        self.assertGreater(levels[1]["krylov_steps"], 0)
        self.assertGreater(solves[0]["setup"]["seconds"]["whole"], 0.0)
        self.assertGreater(solves[0]["setup"]["memory_bytes"], 0.0)
        self.assertIn("speed_up", solves[0])
        names = [check["name"] for check in document["checks"]]
        self.assertIn("level 1: coarse operator is P^+ M P", names)
        self.assertEqual([f["operator"] for f in document["figures"]], 2 * ["solve by multigrid", "solve by bicgstab"])
        for figure in document["figures"]:
            self.assertGreater(figure["gflops"], 0.0)
            self.assertGreater(figure["gbytes_per_s"], 0.0)

    def test_the_outer_operator_works_by_pairs_on_a_gpu(self):
        pairs = [*FAST, "--rhs", "1", "--precision", "pairs"]
        if DEVICE == "cpu":
            return self.refused(["pairs of floats", "--device gpu"], *pairs)
        self.refused(["--precision pairs", "--outer-precision single"], *pairs, "--outer-precision", "double")
        result, document = self.report(*pairs)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertEqual([s["precision"] for s in document["solves"]], ["pairs-half", "pairs-half"])
        _, in_double = self.report(*FAST, "--rhs", "1", "--reference", "none")
        iterations = [d["solves"][0]["iterations"] for d in (document, in_double)]
        self.assertLessEqual(abs(iterations[0] - iterations[1]), 1)

    @on_host
    def test_every_level_is_the_one_above_between_its_vectors(self):
        result, document = self.report(*QUICK, *CHEAP, "--aggregates", "2x2x2x2,1x2x1x2", "--vectors", "8,6", "--check")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        checks = {c["name"]: c for c in document["checks"]}
        for level in (1, 2):
            for name in ("restriction undoes prolongation", "coarse operator is P^+ M P"):
                check = checks[f"level {level}: {name}"]
                self.assertLess(check["tolerance"], 20 * check["value"])

    def test_batches_give_the_iterations_of_single_sources(self):
        _, document = self.report(*FAST, "--rhs", "5", "--batches", "1,5", "--reference", "none")
        one, all_at_once = document["solves"]
        for a, b in zip(one["columns"], all_at_once["columns"]):
            self.assertLessEqual(abs(a["iterations"] - b["iterations"]), 1)

    def test_levels_and_cycles_are_chosen_at_run_time(self):
        _, document = self.report(*QUICK, "--rhs", "1", "--modes", "0", "--aggregates", "2x2x2x2,1x2x1x2", "--vectors", "8,6", "--cycle",
                                  "v", "--smoother", "mr", "--pre", "2", "--reference", "none")
        levels = document["parameters"]["levels"]
        self.assertEqual([level["lattice"] for level in levels], [[4, 4, 4, 8], [2, 2, 2, 4], [2, 1, 2, 2]])
        self.assertEqual([level["n"] for level in levels[1:]], [16, 12])
        self.assertEqual(document["parameters"]["cycle"], "v")
        _, document = self.report(*QUICK, "--rhs", "1", "--vectors", "8", "--smoother", "multiplicative-schwarz", "--post",
                                  "2", "--coarsest-solver", "ca-gcr", "--coarsest-modes", "3", "--reference", "none",
                                  "--setup-solver", "cgnr", "--setup-tolerance", "1e-3", "--null-space", "last")
        self.assertEqual(document["parameters"]["smoother"], "multiplicative-schwarz")
        self.assertEqual(document["parameters"]["null_space"], "last")
        self.assertEqual(document["parameters"]["setup_refinements"], 3)
        self.assertEqual(document["solves"][0]["setup"]["stages"], 0)
        self.assertEqual(document["parameters"]["coarsest_solver"], "ca-gcr")
        self.assertEqual(document["parameters"]["setup_solver"], "cgnr")
        self.assertEqual(document["parameters"]["setup_tolerance"], 1e-3)
        self.assertLess(document["solves"][0]["iterations"], 20)

    def test_coarse_lattices_live_with_cpu_or_gpu(self):
        if DEVICE == "cpu":
            self.refused(["--coarse-device", "--device gpu"], *QUICK, "--coarse-device", "gpu")
            _, document = self.report(*QUICK, *CHEAP, "--vectors", "8", "--correction", "additive")
            self.assertEqual(document["solves"][0]["setup"]["cycle"]["additive_on"], 0)
            return
        three = [*QUICK, "--rhs", "2", "--batches", "2", "--aggregates", "2x2x2x2,1x2x1x2", "--vectors", "8,6",
                 "--reference", "none", "--modes", "0"]
        iterations = {}
        for place, correction in [("gpu", "multiplicative"), ("cpu", "multiplicative"), ("cpu", "additive"), ("auto", "")]:
            more = ["--correction", correction, "--trials", "0"] if correction else []
            result, document = self.report(*three, "--coarse-device", place, *more, "--check")
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            solve, setup = document["solves"][0], document["solves"][0]["setup"]
            iterations[place, correction] = solve["iterations"]
            self.assertIn("cycle: that of the CPU library", [check["name"] for check in document["checks"]])
            if place == "auto":
                tried = setup["placements"]
                self.assertEqual([(p["offload_from_level"], p["additive"]) for p in tried],
                                 [(0, False), (1, False), (1, True), (2, False), (2, True)])
                self.assertEqual({p["columns"] for p in tried}, {2})  # as many as are solved at once
                best = min(tried, key=lambda p: p["seconds"] / -math.log(p["rate"]))
                self.assertEqual(setup["offload_from_level"], best["offload_from_level"])
                self.assertEqual(setup["cycle"]["additive_on"] is not None, best["additive"])
            else:
                self.assertEqual(setup["placements"], [])
                self.assertEqual(setup["offload_from_level"], 1 if place == "cpu" else 0)
                self.assertEqual(setup["cycle"]["additive_on"], 0 if correction == "additive" else None)
        # Loops on the CPU end where their residual allows it, those on a GPU after their number of steps.
        on_gpu = iterations["gpu", "multiplicative"]
        self.assertLessEqual(abs(iterations["cpu", "multiplicative"] - on_gpu), 3)
        self.assertGreater(iterations["cpu", "additive"], on_gpu)
        self.assertLessEqual(iterations["cpu", "additive"], 3 * on_gpu)

    def test_small_lattices_are_whole_on_every_rank(self):
        self.refused(["--whole-from 3", "at most 1"], *QUICK, *CHEAP, "--whole-from", "3")
        self.refused(["--whole-from", "some"], *QUICK, *CHEAP, "--whole-from", "some")
        if DEVICE == "gpu":
            self.refused(["--whole-from", "--coarse-device"], *QUICK, *CHEAP, "--whole-from", "1", "--coarse-device", "auto")
        if not MPIEXEC:
            return
        three = [*QUICK, "--rhs", "1", "--aggregates", "2x2x2x2,1x2x1x2", "--vectors", "8,6", "--reference", "none",
                 "--cycle", "k", "--modes", "0", "--trials", "0", "--check"]
        iterations = {}
        staged = ["--halo", "staged"] if DEVICE == "gpu" else []  # the host sees to messages: nothing is recorded
        runs = [("never", 2, []), ("2", 2, staged), ("auto", 2, [])]
        for whole, ranks, more in runs + ([("1", 2, []), ("auto", 1, [])] if DEVICE == "cpu" else []):
            result, document = self.report(*three, "--whole-from", whole, *more, ranks=ranks)
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            setup = document["solves"][0]["setup"]
            iterations[whole] = document["solves"][0]["iterations"]
            tried = setup["divisions"]
            if whole == "auto" and ranks == 2:
                self.assertEqual([t["whole_from_lattice"] for t in tried], [0, 1, 2])
                is_faster = tried[setup["whole_from_lattice"]]["seconds"] < tried[0]["seconds"]
                self.assertEqual("are too small to gain from more ranks: divided among them" in result.out, is_faster, result.out)
                self.assertIn(", taken", result.out)
                chosen = tried[setup["whole_from_lattice"]]
                self.assertLessEqual(chosen["seconds"], min(t["seconds"] for t in tried) / 0.96)
            else:
                self.assertEqual(tried, [])
                self.assertEqual(setup["whole_from_lattice"], int(whole) if whole.isdigit() else 0)
        self.assertEqual(len(set(iterations.values())), 1, iterations)

    @on_host
    def test_dry_run_computes_nothing(self):
        result = self.multigrid("--lattice", "32x32x32x64", "--gauge", "weak:0.2", "--dryrun")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("32x32x32x64 -> 8x8x8x16 with n = 48 -> 4x4x4x8 with n = 48", result.out)
        self.assertNotIn("VERIFIED", result.out)

    @on_host
    def test_bad_input_is_refused_in_one_line(self):
        self.refused(["--load-setup"], *QUICK, "--load-setup", "0")
        self.refused(["--mass", "4 + m is zero"], "--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--mass", "-4")
        self.refused(["--aggregates: ", "3x2x2x2", "do not divide"], *QUICK, "--aggregates", "3x2x2x2")
        self.refused(["vectors", "96"], *QUICK, "--aggregates", "2x2x2x2", "--vectors", "97")
        self.refused(["--batches", "3"], *QUICK, "--rhs", "3", "--batches", "4")
        self.refused(["aggregates"], *QUICK, "--aggregates", "2x2x2x2", "--vectors", "8,8")
        self.refused(["--vectors"], *QUICK, "--vectors", "few")
        self.refused(["--cycle"], *QUICK, "--cycle", "f")
        self.refused(["--setup-solver"], *QUICK, "--setup-solver", "cg")
        self.refused(["--setup-tolerance", "chebyshev"], *QUICK, "--setup-solver", "chebyshev", "--setup-tolerance", "0.1")
        self.refused(["--rhs"], *QUICK, "--rhs", "13")
        self.refused(["--explain", "--json"], *QUICK, "--explain")

    @on_host
    def test_numbers_of_vectors_are_compared_in_one_run(self):
        _, document = self.report(*QUICK, "--rhs", "3", "--batches", "3", "--schedules", "8,16", "--modes", "0", "--trials", "0")
        solves = document["solves"]
        self.assertEqual([(s["solver"], s.get("vectors")) for s in solves],
                         [("multigrid", "8"), ("bicgstab", None), ("multigrid", "16")])
        self.assertEqual([s["levels"][1]["n"] for s in solves if "levels" in s], [16, 32])
        for solve in (solves[0], solves[2]):
            self.assertIn("speed_up", solve)
            self.assertGreater(solve["setup"]["seconds"]["whole"], 0.0)
            for level in solve["levels"]:
                self.assertGreater(level["operator_applications"], 0)
                self.assertGreater(level["flops"], 0)
        self.refused(["--schedules"], *QUICK, "--schedules", "8,16", "--vectors", "8")
        self.refused(["193"], *QUICK, "--schedules", "8,193")

    @on_host
    def test_low_modes_tell_an_exceptional_configuration(self):
        """A weak field at negative mass has real modes below zero."""
        exceptional = ["--lattice", "4x4x4x8", "--gauge", "weak:0.02", "--mass", "-0.35", "--csw", "1", "--device", DEVICE,
                       "--rhs", "1", "--trials", "0"]
        self.refused(["exceptional", "--stout-steps", "--exceptional solve"], *exceptional)
        # Massless free quarks have constant modes of eigenvalue zero.
        self.refused(["exceptional", "singular"], "--lattice", "4x4x4x4", "--gauge", "unit", "--mass", "0", "--csw", "0",
                     "--time-bc", "periodic", "--rhs", "1")
        # BiCGstab stalls where M has real modes below zero. That is said, and is no failure of multigrid.
        result, document = self.report(*exceptional, "--exceptional", "solve", "--reference-iterations", "50")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(document["solves"][0]["null_space"]["exceptional"])
        self.assertIn("remark     exceptional", result.out)
        self.assertIn("remark     bicgstab leaves source 0", result.out)
        self.assertFalse(document["solves"][1]["converged"])
        self.assertNotIn("speed_up", document["solves"][0])
        # A positive mass is regular.
        result, document = self.report(*exceptional[:4], "--mass", "0.02", *exceptional[6:], "--reference", "none",
                                       "--explain")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.explains(document["solves"][0]["explanation"])
        modes = document["solves"][0]["null_space"]["modes"]
        self.assertEqual(len(modes), 4)
        self.assertFalse(document["solves"][0]["null_space"]["exceptional"])
        for mode in modes:
            self.assertLess(mode["missed"], 0.2)

    def explains(self, why):
        """Cycles take an error out that relaxation leaves; what it leaves P holds; vectors that are cut hold low modes."""
        errors = why["errors"]
        self.assertLess(errors["cycle"][-1], 1e-3 * errors["relaxation"][-1])
        self.assertLess(errors["missed"][-1], 0.5 * errors["missed"][0])
        cut, whole, random = (why["coherence"][key] for key in ("cut", "whole", "random"))
        self.assertEqual(len(cut), 25)
        for a, b in zip(cut, cut[1:]):
            self.assertLessEqual(b, a)
        self.assertLess(cut[-1], whole[-1])
        self.assertLess(whole[-1], random[0])
        for row, kept in zip(why["picture"]["mode"], why["picture"]["kept"]):
            self.assertEqual(len(row), len(kept))

    @on_host
    def test_no_convergence_is_said_and_is_no_success(self):
        result, document = self.report(*FAST, "--rhs", "1", "--max-iterations", "2", "--reference", "none")
        self.assertEqual(result.status, NO_CONVERGENCE, result.out)
        self.assertIn("no convergence: multigrid", result.err)
        self.assertRegex(result.out, r"remark     a cycle leaves 0\.\d\d of the residual: more --max-iterations")
        self.assertFalse(document["solves"][0]["converged"])

    def test_a_setup_is_saved_and_loaded(self):
        result = self.multigrid(*QUICK, *CHEAP, "--aggregates", "2x2x2x2,2x2x2x2",
                                "--vectors", "8,6", "--save-setup", self.path("s.h5"))
        if "without HDF5" in result.err:
            self.assertEqual(result.status, UNUSABLE)
            return
        self.assertEqual(result.status, SUCCESS, result.err)
        self.refused(["exists"], *QUICK, "--save-setup", self.path("s.h5"), status=NO_OUTPUT)
        _, fresh = self.report(*QUICK, *CHEAP, "--aggregates", "2x2x2x2,2x2x2x2",
                               "--vectors", "8,6")
        _, loaded = self.report(*QUICK, *CHEAP, "--load-setup", self.path("s.h5"))
        self.assertEqual(loaded["solves"][0]["iterations"], fresh["solves"][0]["iterations"])
        self.assertEqual(loaded["solves"][0]["setup"]["seconds"]["relaxation"], 0.0)
        self.assertEqual(fresh["parameters"]["null_space"], "stages")
        self.assertEqual([d["solves"][0]["setup"]["stages"] for d in (fresh, loaded)],
                         [1 + fresh["parameters"]["setup_refinements"], 0])
        if MPIEXEC and DEVICE == "cpu":
            _, ranks = self.report(*QUICK, *CHEAP, "--load-setup", self.path("s.h5"),
                                   "--check", ranks=2)
            self.assertLessEqual(abs(ranks["solves"][0]["iterations"] - fresh["solves"][0]["iterations"]), 1)
        # Another mass: the vectors serve it, and are fitted to it.
        heavier = [word.replace("0.125", "0.118") for word in QUICK]
        result, other = self.report(*heavier, *CHEAP, "--load-setup", self.path("s.h5"),
                                    "--refresh", "2")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("made at mass 0", result.out)
        self.assertEqual(other["solves"][0]["setup"]["mass_of_vectors"], 0.0)
        self.assertGreater(other["solves"][0]["setup"]["seconds"]["refinement"], 0.0)
        self.assertEqual(other["solves"][0]["setup"]["stages"], 3)  # the loaded ones and two refinements
        # Other links, another action, another lattice, another file, a cut one.
        self.refused(["another action", "c_R 0.9", "found 1"], *QUICK[:-3], "0.9", "--device", DEVICE, "--load-setup",
                     self.path("s.h5"))
        self.refused(["another action", "phase t"], *QUICK, "--time-bc", "periodic", "--load-setup", self.path("s.h5"))
        self.refused(["--refresh", "--load-setup"], *QUICK, "--refresh", "1")
        self.refused(["another configuration", "checksum"], *QUICK, "--seed", "2", "--load-setup", self.path("s.h5"))
        self.refused(["s.h5"], *QUICK[2:], "--lattice", "8x4x4x8", "--load-setup", self.path("s.h5"))
        with open(self.path("s.h5"), "rb") as whole, open(self.path("cut.h5"), "wb") as cut:
            cut.write(whole.read()[:2000])
        self.refused(["cut.h5"], *QUICK, "--load-setup", self.path("cut.h5"))
        self.refused(["absent.h5"], *QUICK, "--load-setup", self.path("absent.h5"))

    def test_correlators_are_those_of_the_solver(self):
        """Of the twelve columns, in whatever batches; made by another program of other solutions."""
        result, document = self.report(*FAST, "--batches", "5", "--reference", "none")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        ours = document["observables"]
        self.assertIn("solutions are the bits that were judged", [c["name"] for c in document["checks"]])
        if DEVICE == "cpu":
            arguments = [a for a in QUICK if a not in ("--device", DEVICE)]
            other = run(*arguments, "--tol", "1e-10", "--repeat", "0", "--json", self.path("s.json"), program=SOLVER)
            self.assertEqual(other.status, SUCCESS, other.err + other.out)
            theirs = self.read_json("s.json")["observables"]
            self.assertEqual(ours["source_time"], theirs["source_time"])
            for name in ("pion", "rho"):
                self.assertEqual(len(ours[name]), 8)
                for a, b in zip(ours[name], theirs[name]):
                    self.assertLess(abs(a / b - 1), 1e-8)  # the residual times a condition number of some tens
        _, document = self.report(*FAST, "--rhs", "3", "--reference", "none")
        self.assertEqual(document["observables"], {})

    def test_heavy_quarks_are_solved_or_refused(self):
        heavy = ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--csw", "1", "--device", DEVICE, *CHEAP]
        self.refused(["mass 5e+07", "--smoother mr"], *heavy, "--kappa", "1e-8")
        self.refused(["--tol", "below 1"], *QUICK, "--tol", "1")
        if DEVICE == "cpu":
            for mass in (["--kappa", "1e-8", "--smoother", "mr"], ["--mass", "1e7", "--smoother", "gcr"], ["--mass", "5000"]):
                result, _ = self.report(*heavy, *mass, "--check")
                self.assertEqual(result.status, SUCCESS, result.err + result.out)

    #: A coarsest solve of many seconds.
    LONG = ["--lattice", "8x8x8x8", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--aggregates", "2x2x2x2",
            "--coarsest-steps", "1000", "--coarsest-tolerance", "0", "--rhs", "12", "--batches", "12", "--reference", "none"]

    def assert_stopped(self, began, limit, result, reason, ranks=1):
        self.assertLess(began(), limit + 4 * ranks)  # 2 s of the program, and the start of others
        self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
        self.assertRegex(result.last_line(), "^VERIFIED   FAILED ")
        document = self.read_json("r.json")
        self.assertEqual([c["name"] for c in document["checks"] if not c["passed"]], [f"run was not stopped by {reason}"])

    @on_host
    def test_a_long_coarsest_solve_heeds_the_time_limit_in_every_stage(self):
        report = ["--json", self.path("r.json"), "--force"]
        setup = self.multigrid(*self.LONG[:10], *CHEAP, "--save-setup", self.path("s.h5"))
        if "without HDF5" in setup.err:
            self.skipTest("built without HDF5")
        self.assertEqual(setup.status, SUCCESS, setup.err)
        load = [*self.LONG[:8], *self.LONG[10:], "--load-setup", self.path("s.h5")]
        stages = {"null vectors": [*self.LONG, "--setup-iterations", "100000", "--setup-tolerance", "0"],
                  "polynomial": [*self.LONG, "--setup-iterations", "100000", "--setup-solver", "chebyshev"],
                  "refinement": [*self.LONG, "--setup-iterations", "0"],
                  "trial": load,
                  "low modes": [*load, "--trials", "0", "--modes", "12"],
                  "modes of the coarsest lattice": [*load, "--trials", "0", "--modes", "0", "--coarsest-modes", "200"],
                  "solve": [*load, "--trials", "0", "--modes", "0"],
                  "ca-gcr": [*load, "--trials", "0", "--modes", "0", "--coarsest-solver", "ca-gcr"],
                  "relaxation": [*load, "--trials", "0", "--modes", "0", "--smoother", "mr", "--post", "100"]}
        for stage, arguments in stages.items():
            for ranks in [1, 2] if MPIEXEC and stage in ("refinement", "solve") else [1]:
                with self.subTest(stage=stage, ranks=ranks):
                    began = harness.seconds_of_programs()
                    result = self.multigrid(*arguments, *report, "--time-limit", "1", ranks=ranks)
                    self.assert_stopped(began, 1, result, "the time limit of 1 s", ranks)

    @on_host
    def test_a_long_coarsest_solve_heeds_a_signal(self):
        with start(*self.LONG, "--json", self.path("r.json"), program=PROGRAM) as process:
            out = read_until(process, "plaquette ")
            time.sleep(1)
            began = harness.seconds_of_programs()
            os.kill(process.pid, signal.SIGTERM)
            self.assert_stopped(began, 0, ended(process, out), "signal 15 (Terminated)")

    @on_host
    def test_a_stopped_run_does_not_block_the_same_run(self):
        arguments = [*FAST, "--rhs", "2", "--json", self.path("r.json"), "--save-setup", self.path("s.h5")]
        stopped = self.multigrid(*arguments, "--time-limit", "1e-6")
        if "without HDF5" in stopped.err:
            arguments = arguments[:-2]
            stopped = self.multigrid(*arguments, "--time-limit", "1e-6")
        self.assertEqual(stopped.status, INTERRUPTED, stopped.err)
        self.write("s.h5", b"as the stopped run may have left it")
        other = [a if a != "0.125" else "0.12" for a in arguments]
        self.refused(["exists"], *other, status=NO_OUTPUT)  # another run's
        again = self.multigrid(*arguments)
        self.assertEqual(again.status, SUCCESS, again.err + again.out)
        self.refused(["exists"], *arguments, status=NO_OUTPUT)  # one that came to its end

    def test_ranks_solve_as_one_does(self):
        if not MPIEXEC or DEVICE != "cpu":
            return
        _, one = self.report(*FAST, "--rhs", "1", "--reference", "none", "--check")
        _, two = self.report(*FAST, "--rhs", "1", "--reference", "none", "--check", ranks=2)
        self.assertLessEqual(abs(one["solves"][0]["iterations"] - two["solves"][0]["iterations"]), 1)


if __name__ == "__main__":
    unittest.main()
