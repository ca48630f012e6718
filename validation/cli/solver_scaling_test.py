# SPDX-License-Identifier: BSD-3-Clause
"""Scaling of solves over GPUs: the figures on made-up reports, and the sweep, dry and on ranks of the CPU."""

import json
import os
import subprocess
import sys
import unittest

from plots_test import PLOTS, PYTHON, SKIPPED, FolderTest, made_up_report

sys.path.insert(0, PLOTS)
import boxes  # noqa: E402
import sweep_solvers  # noqa: E402

SOLVER = os.environ["PLAQUETTE_SOLVER"]
MPIEXEC = os.environ.get("PLAQUETTE_MPIEXEC", "")
FIGURES = ("weak", "strong", "efficiency")


def made_up_solve(mode, ranks, gflops, lattice=(8, 8, 8, 16), grid=(1, 1, 1, 1), overlap="on", device="gpu"):
    """Two right-hand sides, one ten per cent faster than the other; together at `gflops`."""
    report = made_up_report()
    batches = [{"columns": [n], "iterations": 10, "seconds": {"min": s, "median": s, "max": s, "samples": 2},
                "gflops": 1.05 * gflops / s} for n, s in enumerate((1.0, 1.1))]
    report["solves"][0].update(precision=mode, batches=batches)
    report.update(app="mixed-precision-solver",
                  machine={"cpu": "none", "ranks": ranks, "threads": 1},
                  parameters={"device": device, "lattice": list(lattice), "grid": list(grid), "gauge": "weak:0.2",
                              "overlap": overlap, "precision": mode, "batch": 1})
    return report


def strong_reports():
    return [made_up_solve("double-half", 1, 100.0), made_up_solve("double-half", 2, 180.0, grid=(1, 1, 1, 2)),
            made_up_solve("double-half", 2, 150.0, grid=(1, 1, 1, 2), overlap="off"),
            made_up_solve("double-half", 4, 300.0, grid=(1, 1, 2, 2)), made_up_solve("single", 1, 60.0),
            made_up_solve("single", 4, 210.0, grid=(1, 1, 1, 4)), made_up_solve("single", 1, 5.0, device="cpu")]


def weak_reports():
    return [made_up_solve("single", 1, 10.0), made_up_solve("single", 2, 20.0, (8, 8, 8, 32), (1, 1, 1, 2)),
            made_up_solve("single", 4, 36.0, (8, 8, 16, 32), (1, 1, 2, 2))]


class Figures(FolderTest):
    def drawn(self, figure, reports):
        return self.run_script("solver_scaling.py", *self.written(reports), "--figure", figure, "--output",
                               self.path("p.png"), "--force")

    def refused(self, figure, reports):
        result = self.drawn(figure, reports)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)
        return result.stderr

    def test_each_is_drawn(self):
        for figure in FIGURES:
            result = self.drawn(figure, strong_reports() + weak_reports())
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            with open(self.path("p.png"), "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_they_stand_on_the_page(self):
        page = self.path("page.html")
        result = self.run_script("report.py", *self.written(strong_reports() + weak_reports()), "--html", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for title in ("Weak scaling of solves", "Strong scaling of solves", "Parallel efficiency of solves"):
            self.assertEqual(text.count(title), 1, title)
        # On more ranks, and with the overlap off, the same is solved: lattices, modes and devices, once each.
        self.assertEqual(text.count("Effective mass: "), 5)

    def test_what_cannot_be_drawn_is_refused_in_a_line(self):
        self.assertIn("no verified solves", self.refused("strong", [made_up_report()]))
        self.assertIn("several numbers of ranks", self.refused("strong", strong_reports()[:1]))
        self.assertIn("weak", self.refused("weak", strong_reports()))
        broken = strong_reports()[0]
        del broken["solves"][0]["batches"]
        self.assertIn("batches", self.refused("strong", [broken]))
        failed = strong_reports()
        for report in failed:
            report["verified"] = False
        self.assertIn("no verified solves", self.refused("strong", failed))

    def test_rates_and_efficiencies_are_those_of_the_reports(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import solver_scaling as s\n"
                "found = s.points(sys.argv[2:])\n"
                "lines = s.lines(found)\n"
                "assert [problem[0] for problem in lines] == ['strong'], lines\n"
                "series = lines[('strong', (8, 8, 8, 16), 'weak:0.2')]\n"
                "assert set(series) == {('double-half', 'on'), ('double-half', 'off'), ('single', 'on')}, series\n"
                "line = series[('double-half', 'on')]\n"
                "assert [round(s.rate(p), 9) for p in line] == [100.0, 180.0, 300.0], [s.rate(p) for p in line]\n"
                "assert [round(e, 9) for e in s.efficiency(line)] == [1.0, 0.9, 0.75]\n"
                "off = series[('double-half', 'off')]\n"
                "assert [p.ranks for p in off] == [1, 2] and round(s.efficiency(off)[1], 9) == 0.75\n"
                "assert max(line[0].gflops) > 100.0 > min(line[0].gflops)\n")
        result = subprocess.run([PYTHON, "-B", "-c", code, PLOTS, *self.written(strong_reports())], capture_output=True,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)


class Sweep(FolderTest):
    def sweep(self, *arguments):
        launcher = f"{MPIEXEC or 'mpirun'} --oversubscribe --bind-to none -n {{ranks}}"
        own, _, rest = " ".join(arguments).partition(" -- ")
        return self.run_script("sweep.py", "solvers", "--program", SOLVER, "--output", self.path("out"), "--launcher",
                               launcher, *own.split(), "--", *rest.split())

    def test_boxes_are_put_together_across_their_smallest_faces(self):
        self.assertEqual(boxes.grid_of_local_box([24, 24, 24, 32], 2), (1, 1, 1, 2))
        self.assertEqual(boxes.grid_of_local_box([32, 16, 16, 16], 2), (2, 1, 1, 1))
        self.assertEqual(sweep_solvers.weak_problem("32x32x32x32", 1), ["--lattice", "32x32x32x32", "--grid", "1x1x1x1"])

    def test_dryrun_prints_the_commands(self):
        result = self.sweep("--dryrun", "--gpus", "1,4", "--modes", "single,double-half", "--weak", "8x8x8x8", "--strong",
                            "8x8x8x16", "--", "--repeat", "1", "--tune-file", "t.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.strip().split("\n")
        self.assertRegex(lines.pop(), r"^# \d+ runs, about \d+ s$")
        self.assertEqual(len(lines), 2 * (2 + 4) + 2)  # one rank has no overlap to switch off
        for line in lines[:-2]:
            self.assertIn("--device gpu", line)
            self.assertIn("--rhs 6 --batch 1", line)
            self.assertIn("--repeat 1 --tune-file t.json", line)
            self.assertEqual("-n 4" in line, "weak-8x8x8x8-4" in line or "strong-8x8x8x16-4" in line)
        common = self.sweep("--dryrun", "--parts", "strong,weak", "--gpus", "1,2", "--modes", "single", "--weak", "8x8x8x8",
                            "--strong", "8x8x8x16")
        self.assertNotIn("weak-8x8x8x8-2", common.stdout)  # that is strong scaling on two GPUs
        for line in lines[-2:]:
            self.assertIn("--device cpu", line)
            self.assertIn("--repeat 1 --json", line)

    def test_arguments_that_cannot_be_used(self):
        for arguments, word in [(["--gpus", "2,1"], "growing"), (["--parts", "some"], "--parts"), (["--weak", "8x8"], "8x8"),
                                (["--rhs", "0"], "positive")]:
            result = self.sweep("--dryrun", *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(word, result.stderr)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_runs_every_point_once_and_draws(self):
        words = ["--device", "cpu", "--gpus", "1,2", "--modes", "double-half", "--weak", "4x4x4x4", "--strong", "4x4x8x8",
                 "--rhs", "2", "--mass", "0.1", "--", "--repeat", "1"]
        result = self.sweep(*words)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("PASSED"), 6, result.stdout)
        for figure in FIGURES:
            self.assertTrue(os.path.exists(self.path(f"out/solver-{figure}.png")), result.stdout)
        with open(self.path("out/solve-cpu-weak-4x4x4x4-2-double-half-off.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["parameters"]["lattice"], [4, 4, 4, 8])
        self.assertEqual(report["parameters"]["overlap"], "off")
        self.assertEqual([batch["columns"] for batch in report["solves"][0]["batches"]], [[0], [1]])
        again = self.sweep("--no-figures", *words)
        self.assertEqual(again.stdout.count("(was there)"), 6, again.stdout + again.stderr)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy, matplotlib and jinja2")
        sys.exit(SKIPPED)
    unittest.main()
