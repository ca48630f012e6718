# SPDX-License-Identifier: BSD-3-Clause
"""The sweep and the figures of scaling: on made-up reports, and on real runs of the smallest size."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from plots_test import ENVIRONMENT, PLOTS, PYTHON, SKIPPED, FolderTest, made_up_report

PROGRAM = os.environ["PLAQUETTE_DSLASH_SCALING"]
SOLVER = os.environ["PLAQUETTE_SOLVER"]
MPIEXEC = os.environ.get("PLAQUETTE_MPIEXEC", "")


def made_up_scaling(scaling, ranks, threads, gflops, placement="good"):
    """A report of dslash-scaling on `ranks` ranks: two precisions, a halo where there are several ranks."""
    report = made_up_report()
    halo = {"overlap": "on", "bytes_sent": 1000.0, "pack_seconds": 1e-6, "exposed_seconds": 2e-6,
            "unpack_seconds": 1e-6, "exchange_seconds": 9e-6, "hidden_seconds": 7e-6, "seconds_without_overlap": 3e-5}
    figures = [{"operator": "hopping", "layout": "even-odd", "precision": precision, "reconstruct": 18, "rhs": 1,
                "lattice": [8, 8, 8, 8], "device": "cpu", "ranks": ranks, "threads": threads,
                "seconds": {"min": 2e-5, "median": 2.5e-5, "max": 3e-5, "samples": 3}, "gflops": gflops * factor,
                "gbytes_per_s": 1.0, "fraction_of_copy": 0.5 * factor, "fraction_of_fma_peak": 0.1,
                **({"halo": halo} if ranks > 1 else {})} for precision, factor in (("single", 1.0), ("double", 0.5))]
    report.update(app="dslash-scaling", solves=[], observables={}, figures=figures,
                  parameters={"scaling": scaling, "lattice": [8, 8, 8, 8], "placement": {"policy": placement}})
    return report


class SweepTest(FolderTest):
    def refused(self, script, *arguments):
        result = self.run_script(script, *arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        return result.stderr


class Figures(SweepTest):
    def reports(self, points):
        paths = []
        for n, point in enumerate(points):
            paths.append(self.path(f"{n}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(made_up_scaling(*point), file)
        return paths

    def test_each_is_drawn_of_few_and_of_many_points(self):
        few = [("strong", 1, 1, 10.0), ("strong", 2, 1, 19.0)]
        many = [(scaling, 2 ** n, t, 10.0 * 2 ** n * t, placement) for scaling in ("strong", "weak") for n in range(5)
                for t in (1, 4) for placement in ("good", "bad")]
        for points in (few, many):
            paths = self.reports(points)
            for script in ("scaling.py", "bandwidth.py", "halo.py"):
                picture = self.path(script + ".png")
                result = self.run_script(script, *paths, "--output", picture, "--force")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(result.stderr, "")
                with open(picture, "rb") as file:
                    self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_without_ranks_there_is_no_halo_to_draw(self):
        message = self.refused("halo.py", *self.reports([("strong", 1, 2, 10.0)]), "--output", self.path("p.png"))
        self.assertIn("several ranks", message)

    def test_reports_of_other_apps_are_not_drawn(self):
        with open(self.path("r.json"), "w", encoding="utf-8") as file:
            json.dump(made_up_report(), file)
        for script in ("scaling.py", "bandwidth.py", "halo.py"):
            message = self.refused(script, self.path("r.json"), "--output", self.path("p.png"))
            self.assertIn("r.json", message)
            self.assertEqual(message.strip().count("\n"), 0)

    def test_a_figure_without_its_numbers_is_refused_in_a_line(self):
        report = made_up_scaling("strong", 1, 1, 10.0)
        del report["figures"][0]["gflops"]
        with open(self.path("r.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
        message = self.refused("scaling.py", self.path("r.json"), "--output", self.path("p.png"))
        self.assertIn("gflops", message)
        self.assertEqual(message.strip().count("\n"), 0)

    def test_lines_and_efficiencies_are_those_of_the_points(self):
        code = ("import sys, json; sys.path.insert(0, sys.argv[1]); import scaling_data as s\n"
                "found = [p for p in s.points(sys.argv[2:]) if p.precision == 'single']\n"
                "lines = dict(s.lines(found))\n"
                "assert set(lines) == {'ranks of 1 thread', 'threads of one rank'}, lines\n"
                "assert [s.cores(p) for p in lines['ranks of 1 thread']] == [1, 2, 4]\n"
                "assert s.efficiency(lines['ranks of 1 thread']) == [1.0, 0.9, 0.75]\n"
                "assert s.efficiency(lines['threads of one rank']) == [1.0, 0.5]\n")
        paths = self.reports([("strong", 4, 1, 30.0), ("strong", 1, 1, 10.0), ("strong", 2, 1, 18.0),
                              ("strong", 1, 2, 10.0)])
        result = subprocess.run([PYTHON, "-B", "-c", code, PLOTS, *paths], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)


class Sweep(SweepTest):
    #: A run of a second.
    SHORT = ["--size", "nano", "--operators", "hopping", "--precisions", "single", "--reconstruct", "18", "--placement",
             "none"]

    def sweep(self, *arguments, launcher=None):
        launcher = launcher or f"{MPIEXEC or 'mpirun'} --oversubscribe --bind-to none -n {{ranks}}"
        own, _, rest = " ".join(arguments).partition(" -- ")
        return self.run_script("sweep.py", "scaling", "--program", PROGRAM, "--output", self.path("out"), "--launcher",
                               launcher, *own.split(), "--", *(rest.split() or ["--samples", "3"]))

    def reports(self):
        return sorted(name for name in os.listdir(self.path("out")) if name.endswith(".json"))

    def test_dryrun_prints_the_commands_and_runs_nothing(self):
        result = self.sweep("--dryrun", "--points", "1x1,4x2,1x8", launcher="srun -N {nodes} -n {ranks} -c {threads}")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.strip().split("\n")
        self.assertEqual(len(lines), 5)  # 1 x 8 is no point of weak scaling
        self.assertTrue(lines[1].startswith("OMP_NUM_THREADS=2 srun -N 4 -n 4 -c 2 " + PROGRAM), lines[1])
        self.assertIn("--size small --scaling strong --threads 2", lines[1])
        self.assertTrue(lines[2].startswith("OMP_NUM_THREADS=8 " + PROGRAM), lines[2])
        self.assertFalse(os.path.exists(self.path("out")))
        strong = self.sweep("--dryrun", "--size", "device", "--points", "1x1,2x1").stdout.strip().split("\n")
        self.assertEqual([line.count("--size device --scaling strong") for line in strong], [1, 1])
        self.assertIn("expected --scaling strong", self.sweep("--dryrun", "--size", "node", "--scaling", "weak").stderr)

    def test_arguments_that_cannot_be_used(self):
        for arguments, word in [(["--points", "2"], "RANKSxTHREADS"), (["--points", "0x1"], "RANKSxTHREADS"),
                                (["--size", "huge"], "huge"), (["--ranks-per-node", "0"], "positive")]:
            result = self.sweep(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(word, result.stderr)
        self.assertIn("braces", self.sweep("--points", "2x1", launcher="mpirun {hosts}").stderr)

    def test_runs_every_point_once_and_draws(self):
        points = "1x1,2x1,1x2" if MPIEXEC else "1x1,1x2"
        result = self.sweep(*self.SHORT, "--points", points)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count("PASSED"), 5 if MPIEXEC else 3, result.stdout)
        self.assertEqual(len(self.reports()), 5 if MPIEXEC else 3)
        self.assertTrue(os.path.exists(self.path("out/scaling-nano.png")))
        self.assertTrue(os.path.exists(self.path("out/bandwidth-nano.png")))
        self.assertEqual(os.path.exists(self.path("out/halo-nano.png")), bool(MPIEXEC))
        if MPIEXEC:
            with open(self.path("out/scaling-weak-nano-2x1-none.json"), encoding="utf-8") as file:
                report = json.load(file)
            self.assertEqual(report["machine"]["ranks"], 2)
            self.assertEqual(sorted(report["parameters"]["lattice"]), [8, 8, 8, 16])

        before = {name: os.stat(self.path("out/" + name)).st_mtime_ns for name in self.reports()}
        again = self.sweep(*self.SHORT, "--points", points)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout.count("(was there)"), len(before))
        self.assertEqual(before, {name: os.stat(self.path("out/" + name)).st_mtime_ns for name in self.reports()})

    def test_reports_of_other_arguments_stay_and_those_that_failed_are_made_again(self):
        one = [*self.SHORT, "--points", "1x1", "--scaling", "strong", "--no-figures"]
        self.assertEqual(self.sweep(*one).returncode, 0)
        name = self.path("out/" + self.reports()[0])
        other = self.sweep(*one, "--", "--samples", "4")
        self.assertEqual(other.returncode, 2)
        self.assertIn("--force", other.stderr)
        self.assertEqual(other.stderr.strip().count("\n"), 0)
        forced = self.sweep(*one, "--force", "--", "--samples", "4")
        self.assertEqual(forced.returncode, 0, forced.stderr)
        with open(name, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["figures"][0]["seconds"]["samples"], 4)
        report["verified"] = False
        with open(name, "w", encoding="utf-8") as file:
            json.dump(report, file)
        repaired = self.sweep(*one, "--", "--samples", "4")
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertNotIn("was there", repaired.stdout)
        with open(name, encoding="utf-8") as file:
            report = json.load(file)
        self.assertTrue(report["verified"])
        report["build"]["revision"] = "0000000"
        with open(name, "w", encoding="utf-8") as file:
            json.dump(report, file)
        self.assertNotIn("was there", self.sweep(*one, "--", "--samples", "4").stdout)
        self.assertIn("was there", self.sweep(*one, "--", "--samples", "4").stdout)

    def test_tells_what_a_run_failed_of(self):
        result = self.sweep(*self.SHORT, "--points", "1x1", "--", "--mass", "heavy")
        self.assertEqual(result.returncode, 2)
        self.assertIn("exit status 2", result.stdout)
        self.assertIn("--mass", result.stdout)

    def test_ends_at_a_signal_and_goes_on_later(self):
        command = [PYTHON, "-B", os.path.join(PLOTS, "sweep.py"), "scaling", "--program", PROGRAM, "--output",
                   self.path("out"), *self.SHORT, "--points", "1x1", "--", "--samples", "100000"]
        with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            while not os.path.isdir(self.path("out")):
                time.sleep(0.05)
            time.sleep(1.5)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 6, err)
        self.assertIn("goes on", err)

    def test_solver_sweep_still_makes_its_table(self):
        result = self.run_script("sweep.py", "solver", "--program", SOLVER, "--output", self.path("out"), "--lattices",
                                 "4x4x4x4", "--precisions", "double", "--", "--gauge", "weak:0.2", "--mass", "0.5",
                                 "--rhs", "1", "--repeat", "1")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("PASSED", result.stdout)
        self.assertEqual(self.reports(), ["4x4x4x4-double-bicgstab-1ranks.json"])


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy, matplotlib and jinja2")
        sys.exit(SKIPPED)
    unittest.main()
