# SPDX-License-Identifier: BSD-3-Clause
"""The sweeps over GPUs of multigrid, overlap and nodal-dg: tables and remarks of made-up reports, and real runs
on one and two ranks of the CPU."""

import csv
import json
import os
import subprocess
import sys
import unittest

from plots_test import ENVIRONMENT, PLOTS, PYTHON, SKIPPED, FolderTest, made_up_report

sys.path.insert(0, PLOTS)
import sweep_several as several  # noqa: E402

MPIEXEC = os.environ.get("PLAQUETTE_MPIEXEC", "")
PROGRAMS = {"multigrid": os.environ.get("PLAQUETTE_MULTIGRID", ""), "dg": os.environ.get("PLAQUETTE_NODAL_DG", ""),
            "overlap": os.environ.get("PLAQUETTE_OVERLAP_PROPAGATOR", ""), "hmc": os.environ.get("PLAQUETTE_HMC", "")}


def multigrid_report(ranks, seconds, levels, lattice=(32, 32, 32, 64)):
    report = made_up_report()
    report.update(app="multigrid", figures=[])
    report["machine"] = {"cpu": "none", "ranks": ranks}
    report["parameters"] = {"lattice": list(lattice), "grid": [1, 1, 1, ranks], "device": "gpu", "command": "p"}
    report["solves"] = [{
        "solver": "multigrid", "precision": "double-single", "batch": 1, "seconds_mean": seconds, "iterations_mean": 20.0,
        "levels": [{"lattice": extents, "n": 48, "seconds": value, "operator_applications": 100.0, "krylov_steps": 10,
                    "cycles": 20} for extents, value in levels],
        "setup": {"seconds": {"whole": 3.0 / ranks, "relaxation": 1.0 / ranks}, "whole_from_lattice": 0}}]
    return report


FINE, MIDDLE, COARSE = [32, 32, 32, 64], [8, 8, 8, 16], [4, 4, 4, 8]
ONE = multigrid_report(1, 0.18, [(FINE, 0.12), (MIDDLE, 0.057), (COARSE, 0.018)])
TWO = multigrid_report(2, 0.238, [(FINE, 0.065), (MIDDLE, 0.099), (COARSE, 0.019)])


class Table(FolderTest):
    def put(self, name, report):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(report, file)

    def summarised(self, *arguments, **options):
        result = self.run_script("sweep.py", "multigrid", "--gpus", "1,2", "--no-figures", "--output", self.path("."), *arguments,
                                 **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("scaling.csv"), encoding="utf-8") as file:
            return result.stdout, list(csv.DictReader(file))

    def row(self, rows, figure, part, gpus):
        return next(r for r in rows if (r["figure"], r["part"], r["gpus"]) == (figure, part, str(gpus)))

    def test_says_which_lattice_does_not_shrink(self):
        self.put("row-strong-a-1.json", ONE)
        self.put("row-strong-a-2.json", TWO)
        out, rows = self.summarised()
        self.assertAlmostEqual(float(self.row(rows, "a source, batches of 1", "", 2)["efficiency"]), 0.18 / 2 / 0.238, 3)
        self.assertAlmostEqual(float(self.row(rows, "a source, batches of 1", "32^3x64, n = 48", 2)["efficiency"]), 0.923, 3)
        remarks = [line for line in out.split("\n") if line.startswith("remark")]
        self.assertEqual(len(remarks), 1, out)  # the set-up takes half the time
        self.assertIn("2 GPUs take 238 ms, more than on 1 GPU", remarks[0])
        self.assertIn("Most is lost in '8^3x16, n = 48': 99 ms where 28.5 ms would do", remarks[0])
        with open(self.path("scaling.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| multigrid | strong | 32^3x64 | a source, batches of 1 | 2 | 0.238 | 0.378 |", text)
        self.assertIn("Remark: multigrid", text)

    def test_has_no_remark_where_two_take_half_the_time(self):
        self.put("row-strong-a-1.json", ONE)
        self.put("row-strong-a-2.json", multigrid_report(2, 0.095, [(FINE, 0.062), (MIDDLE, 0.03), (COARSE, 0.01)]))
        self.assertNotIn("remark", self.summarised()[0])

    def test_of_weak_scaling_compares_seconds_and_names_lattices_by_place(self):
        self.put("row-weak-a-1.json", ONE)
        self.put("row-weak-a-2.json", multigrid_report(2, 0.2, [([32, 32, 32, 128], 0.12), ([8, 8, 8, 32], 0.06),
                                                                ([4, 4, 4, 16], 0.02)], (32, 32, 32, 128)))
        _, rows = self.summarised()
        self.assertEqual({row["problem"] for row in rows}, {"32^3x64"})
        self.assertAlmostEqual(float(self.row(rows, "a source, batches of 1", "", 2)["efficiency"]), 0.9, 3)
        self.assertAlmostEqual(float(self.row(rows, "a source, batches of 1", "level 2, n = 48", 2)["efficiency"]), 0.9, 3)

    def test_a_run_that_is_not_verified_is_marked(self):
        self.put("row-strong-a-1.json", {**ONE, "verified": False})
        self.assertEqual({row["verified"] for row in self.summarised()[1]}, {"no"})

    def test_is_all_where_matplotlib_is_not_there(self):
        self.put("row-strong-a-1.json", ONE)
        self.put("row-strong-a-2.json", TWO)
        os.mkdir(self.path("without"))
        with open(self.path("without/matplotlib.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('not here')\n")
        result = subprocess.run([sys.executable, "-B", os.path.join(PLOTS, "sweep.py"), "multigrid", "--gpus", "1,2", "--output",
                                 self.path(".")], capture_output=True, text=True,
                                env={**ENVIRONMENT, "PYTHONPATH": self.path("without")})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("matplotlib is not here", result.stdout)
        self.assertTrue(os.path.exists(self.path("scaling.md")))

    def test_has_a_picture(self):
        self.put("row-strong-a-1.json", ONE)
        self.put("row-strong-a-2.json", TWO)
        result = self.run_script("sweep.py", "multigrid", "--gpus", "1,2", "--output", self.path("."))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(self.path("scaling.png")))

    def test_without_reports_is_refused(self):
        result = self.run_script("sweep.py", "overlap", "--gpus", "1,2", "--output", self.path("."))
        self.assertEqual(result.returncode, 2)
        self.assertIn("found none", result.stderr)


class Commands(FolderTest):
    def commands(self, *arguments):
        result = self.run_script("sweep.py", *arguments, "--dryrun", "--output", self.path("out"))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.strip().split("\n")

    def test_weak_scaling_gives_each_gpu_the_same(self):
        lines = self.commands("multigrid", "--gpus", "1,2,4", "--scaling", "weak")
        self.assertEqual(len(lines), 3)
        self.assertIn("--lattice 32x32x32x256 --grid 1x1x1x4", lines[2])
        self.assertIn("-n 4", lines[2])
        self.assertTrue(all("--device gpu" in line for line in lines), lines)
        self.assertIn("--box 30x30x60 --box-sides=-1,1,-1,1,-1,3", self.commands("dg", "--gpus", "2", "--scaling", "weak")[0])
        self.assertIn("--lattice 24x24x24x64", self.commands("overlap", "--gpus", "2", "--scaling", "strong")[0])

    def test_without_gpus_the_sweeps_are_what_they_were(self):
        self.assertTrue(all("--device cpu" in line for line in self.commands("multigrid", "--parts", "mass")))
        self.assertIn("--order 9", self.commands("dg")[-1])
        self.assertIn("--mesh", self.commands("dg", "--case", "--gpus", "1,2", "--device", "gpu")[-1])

    def test_all_rows_in_one_command(self):
        lines = self.commands("several", "--programs", "bundle")
        for program in ("multigrid", "overlap-propagator", "nodal-dg", "mixed-precision-solver", "hmc"):
            self.assertTrue(any(f"bundle/bin/plaquette-{program}" in line for line in lines), program)
        self.assertEqual(len(lines), 2 * len(several.ROWS["full"]) + 1)  # and links first
        self.assertIn("--sweeps 300", lines[0])
        own = self.commands("several", "--programs", "bundle", "--rows", "bicgstab", "--gauge", "c.lime")
        self.assertIn("--gauge c.lime --seed 2", own[0])
        self.assertNotIn("--lattice", own[0])

    def test_arguments_that_cannot_be_used(self):
        for arguments, word in ((["dg", "--gpus", "2", "--strong", "3x3"], "cells"), (["dg", "--gpus", "2,1"], "growing"),
                                (["multigrid", "--gpus", "2", "--scaling", "slow"], "--scaling"),
                                (["multigrid", "--gpus", "2", "--weak", "4x4"], "--weak"),
                                (["dg", "--gpus", "1", "--device", "both"], "--device"),
                                (["several", "--programs", "b", "--rows", "lattice"], "--rows"),
                                (["hmc", "--steps", "leapfrog"], "SCHEME:STEPS"), (["hmc", "--program", "p", "--parts", "dh"], "--parts")):
            result = self.run_script("sweep.py", *arguments, "--dryrun", "--output", self.path("out"))
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(word, result.stderr)


@unittest.skipUnless(MPIEXEC and all(PROGRAMS.values()), "built without MPI, or without the programs")
class OnRanks(FolderTest):
    """Real runs, of some seconds altogether."""

    def swept(self, kind, *arguments):
        result = self.run_script("sweep.py", kind, "--program", PROGRAMS[kind], "--gpus", "1,2", "--device", "cpu", "--no-figures",
                                 "--output", self.path(kind), "--launcher",
                                 f"{MPIEXEC} --oversubscribe --bind-to none -n {{ranks}}", *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("PASSED"), len(os.listdir(self.path(kind))) - 2, result.stdout)
        with open(os.path.join(self.path(kind), "scaling.csv"), encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_nodal_dg(self):
        rows = self.swept("dg", "--strong", "2x2x2", "--weak", "2x2x2", "--orders", "2", "--steps", "4")
        self.assertEqual({(row["scaling"], row["problem"], row["gpus"]) for row in rows},
                         {(scaling, "48 elements", gpus) for scaling in ("strong", "weak") for gpus in ("1", "2")})
        self.assertIn("exchange", {row["part"] for row in rows})

    def test_multigrid(self):
        rows = self.swept("multigrid", "--scaling", "strong", "--strong", "4x4x4x8", "--heatbath", "weak:0.2", "--rhs", "1",
                          "--batches", "1", "--", "--whole-from", "1", "--setup-iterations", "2", "--setup-refinements", "1")
        self.assertEqual({row["gpus"] for row in rows}, {"1", "2"})
        parts = {row["part"] for row in rows if row["figure"] == "a source, batches of 1"}
        self.assertEqual(parts, {"", "4^3x8, n = 12", "2^4, n = 48"})

    def test_overlap(self):
        rows = self.swept("overlap", "--scaling", "strong", "--strong", "2x2x2x4", "--heatbath", "weak:0.2", "--modes", "2",
                          "--until", "modes")
        self.assertEqual({(row["figure"], row["gpus"]) for row in rows}, {("modes of H", "1"), ("modes of H", "2")})

    def test_hmc(self):
        rows = self.swept("hmc", "--scaling", "strong", "--strong", "4x4x4x4", "--start", "heatbath:5.7:5", "--kappa", "0.12",
                          "--csw", "1", "--splitting", "0.3", "--warm-up", "0.11:1", "--solvers", "cg-double", "--integrator",
                          "omelyan:2(light,heavy,det) omelyan:2(gauge)", "--trajectories", "1", "--", "--tau", "0.5")
        self.assertEqual({row["part"] for row in rows}, {"", "solves, light", "solves, heavy", "forces, links, momenta"})
        self.assertEqual({row["gpus"] for row in rows}, {"1", "2"})

    def test_trajectories_at_several_steps(self):
        result = self.run_script("sweep.py", "hmc", "--program", PROGRAMS["hmc"], "--output", self.path("hmc"), "--lattice", "2x2x2x4",
                                 "--steps", "leapfrog:4,leapfrog:8,omf4:2,omf4:4", "--acceptance", "leapfrog:3,leapfrog:4",
                                 "--trajectories", "20")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("PASSED"), 6, result.stdout)
        self.assertTrue(os.path.exists(self.path("hmc/trajectories.png")))
        for name, count in (("steps-omf4-2", 1), ("acceptance-leapfrog-3", 20)):
            with open(self.path(f"hmc/{name}.json"), encoding="utf-8") as file:
                report = json.load(file)
            self.assertEqual(len(report["observables"]["dh"]), count)
            self.assertEqual(report["parameters"]["integrator"], name.split("-", 1)[1].replace("-", ":") + "(gauge)")


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy, matplotlib and jinja2")
        sys.exit(SKIPPED)
    unittest.main()
