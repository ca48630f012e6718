# SPDX-License-Identifier: BSD-3-Clause
"""Figures of several GPUs, with what --dryrun expects and what was measured, and the sweep over GPUs: on made-up reports, and
on a made-up program where there is no GPU."""

import os
import re
import subprocess
import sys
import unittest

from plots_test import ENVIRONMENT, PLOTS, PYTHON, SKIPPED, FolderTest, made_up_report

sys.path.insert(0, PLOTS)
import boxes  # noqa: E402
import run_estimate  # noqa: E402
import run_queue  # noqa: E402

RESULTS = os.path.join(PLOTS, "..", "validation", "results")
MEASURED = os.path.join(RESULTS, "h200.tar.xz", "h200", "four")
#: The program whose --dryrun holds the performance model.
PROGRAM = os.environ["PLAQUETTE_DSLASH_SCALING"]
MODEL = ("--program", PROGRAM, "--card", "H200")
FLOPS, BYTES = 1320, 576


class Grids(unittest.TestCase):
    def test_are_those_of_the_library(self):
        self.assertEqual(boxes.smallest_surface_grid((32, 32, 32, 64), 4), (1, 1, 1, 4))
        self.assertEqual(boxes.smallest_surface_grid((8, 8, 8, 8), 4), (1, 1, 2, 2))
        self.assertIsNone(boxes.smallest_surface_grid((8, 8, 8, 8), 3))
        self.assertEqual(boxes.grid_of_local_box((32, 32, 32, 32), 16), (1, 1, 1, 16))


def made_up_run(lattice, gpus, seconds, scaling="strong", operators=("hopping",), device="gpu", threads=8, **parameters):
    """A report of dslash-scaling; `seconds` of a hop in single precision on the whole lattice."""
    report = made_up_report()
    sites = lattice[0] * lattice[1] * lattice[2] * lattice[3]
    grid = (boxes.smallest_surface_grid(lattice, gpus) if scaling == "strong" else
            boxes.grid_of_local_box([32, 32, 32, 32], gpus))
    local = [length // n for length, n in zip(lattice, grid)]
    figures = []
    for operator in operators:
        for precision, factor in (("single", 1.0), ("half", 0.55), ("double", 2.0)):
            time = seconds * factor
            figure = {"operator": operator, "layout": "even-odd", "precision": precision, "reconstruct": 12, "rhs": 1,
                      "lattice": list(lattice), "device": device, "ranks": gpus, "threads": threads,
                      "seconds": {"min": time, "median": time, "max": time, "samples": 5},
                      "gflops": 1e-9 * FLOPS * sites / 2 / time, "gbytes_per_s": 1e-9 * BYTES * sites / 2 / time,
                      "fraction_of_copy": 0.9}
            if device == "gpu":
                figure["protocol"] = "sustained"
            if gpus > 1 and device == "gpu":
                figure["halo"] = {"overlap": "on", "bytes_sent": 1e6, "exposed_seconds": 0.1 * time,
                                  "exchange_seconds": 0.3 * time, "hidden_seconds": 0.2 * time,
                                  "seconds_without_overlap": 1.2 * time, "seconds_without_communication": 0.9 * time,
                                  "policy": "peer", "recorded": True}
            figures.append(figure)
    report.update(app="dslash-scaling", solves=[], observables={}, figures=figures,
                  parameters={"scaling": scaling, "device": device, "lattice": list(lattice), "local_lattice": local,
                              "grid": list(grid), "halo": "auto", "wait": "spin", "overlap": "on",
                              "placement": {"policy": "none"}, **parameters})
    return report


def made_up_latencies():
    report = made_up_report()
    sizes = [8 * 4 ** n for n in range(13)]
    kinds = {"host_to_device pinned sync": (8e-6, 50e9), "host_to_device pageable sync": (10e-6, 8e9),
             "device_to_host pinned async": (9e-6, 50e9), "peer_copy 0 to 1": (12e-6, 380e9),
             "peer_store 0 to 1": (9e-6, 370e9), "peer_store 0 to 2": (9e-6, 370e9), "mpi": (1e-6, 9e9),
             "exchange staged": (40e-6, 7e9), "host_copy": (5e-8, 20e9)}
    report.update(app="dslash-scaling", solves=[], observables={}, figures=[],
                  parameters={"device": "gpu"},
                  latencies={"copy_gbytes_per_s": 4280.0,
                             "transfers": [{"kind": kind, "bytes": b, "seconds": latency + b / rate, "times": 9}
                                           for kind, (latency, rate) in kinds.items() for b in sizes],
                             "launches": [{"kind": "stream", "seconds": 2e-6}, {"kind": "graph", "seconds": 7e-7},
                                          {"kind": "waited", "seconds": 7e-6}]})
    return report


def all_reports():
    rate = 1e-9 / 14  # seconds a site
    reports = [made_up_run((32, 32, 32, 64), gpus, 2 ** 21 * rate / gpus * 1.1) for gpus in (1, 2, 4)]
    for gpus in (1, 2, 4):
        grid = boxes.grid_of_local_box([32, 32, 32, 32], gpus)
        reports.append(made_up_run(tuple(32 * n for n in grid), gpus, 2 ** 20 * rate * 1.02, "weak"))
    reports.append(made_up_run((16, 16, 32, 32), 1, 2 ** 18 * rate))
    reports.append(made_up_run((32, 32, 32, 64), 4, 2 ** 21 * rate / 3, halo="staged"))
    for figure in reports[-1]["figures"]:
        figure["halo"]["policy"] = "staged"
    reports.append(made_up_run((32, 32, 32, 64), 4, 2 ** 21 * rate / 2, placement={"policy": "bad"}))
    reports.append(made_up_run((24, 24, 24, 32), 2, 1e-5, operators=("axpy", "dot", "norm2")))
    reports.append(made_up_run((32, 32, 32, 64), 1, 2e-2, device="cpu", threads=64))
    reports.append(made_up_latencies())
    return reports


class Figures(FolderTest):
    SCRIPTS = ("gpu_scaling.py", "policies.py", "latency.py", "vectors.py", "model.py", "cores_per_gpu.py")

    def test_each_is_drawn(self):
        paths = self.written(all_reports())
        for script in self.SCRIPTS:
            picture = self.path(script + ".png")
            result = self.run_script(script, *paths, *(MODEL if script == "model.py" else ()), "--output", picture)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "")
            with open(picture, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_each_refuses_reports_that_have_nothing_for_it_in_a_line(self):
        paths = self.written([made_up_report()])
        for script in self.SCRIPTS:
            result = self.run_script(script, *paths, *(MODEL if script == "model.py" else ()), "--output", self.path("p.png"))
            self.assertEqual(result.returncode, 2, script)
            self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)

    def test_what_is_expected_is_within_15_percent_of_what_was_measured_on_four_gpus(self):
        result = self.run_script("model.py", MEASURED, "--output", self.path("m.png"), "--program", PROGRAM)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreaterEqual(len(re.findall(r" 4 hopping +(?:single|half) ", result.stdout)), 7, result.stdout)
        self.assertLessEqual(float(re.search(r"within ([\d.]+)% of", result.stdout)[1]), 15.0, result.stdout)

    def test_what_cannot_be_expected_is_refused_in_a_line(self):
        for arguments, word in ((("--program", "/no/such/program", "--card", "H200"), "--program"),
                                (("--program", PROGRAM), "--card")):
            result = self.run_script("model.py", *self.written(all_reports()), "--output", self.path("m.png"), *arguments)
            self.assertEqual(result.returncode, 2, result.stdout)
            self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)

    def test_a_point_of_one_scaling_serves_the_other(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import gpu_data as g\n"
                "lines = g.lines(g.points(g.loaded(sys.argv[2:])))\n"
                "case = ('hopping', 'even-odd', 'single', 12, 1)\n"
                "gpus = {problem[0]: [p.gpus for p in line] for (problem, c), line in lines.items() if c == case}\n"
                "assert gpus == {'weak': [1, 2], 'strong': [1, 2]}, gpus\n")
        reports = [made_up_run((32, 32, 32, 64), gpus, 1e-4 / gpus) for gpus in (1, 2)]
        reports.append(made_up_run((32, 32, 32, 32), 1, 5e-5, "weak"))
        result = subprocess.run([PYTHON, "-B", "-c", code, PLOTS, *self.written(reports)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_page_has_the_figures(self):
        page = self.path("page.html")
        result = self.run_script("report.py", *self.written(all_reports()), "--html", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for title in ("Scaling over GPUs", "Ways to exchange halos", "Latencies", "Vector operations",
                      "CPU cores"):
            self.assertTrue(title in text, title)


class Sweep(FolderTest):
    def sweep(self, *arguments):
        return self.run_script("sweep.py", "gpu", "--program", "/no/such/program", "--output", self.path("out"), *arguments)

    def test_dryrun_prints_the_commands(self):
        result = self.sweep("--dryrun", "--gpus", "1,4", "--launcher", "srun -n {ranks}", "--", "--samples", "5")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.strip().split("\n")
        for words in (["srun -n 4", "--local-lattice 32x32x32x32"], ["srun -n 4", "--lattice 32x32x32x256"],
                      ["--halo nccl"], ["--halo staged --wait block"], ["--placement bad"], ["taskset", "--wait spin"], ["srun -n 2", "--latency"],
                      ["--operator axpy,dot,norm2"], ["--lattice 16x16x16x16"], ["--device cpu"]):
            self.assertTrue(any(all(word in line for word in words) for line in lines), words)
        self.assertEqual(len(lines), len(set(lines)))
        self.assertRegex(lines.pop(), r"^# \d+ runs, about \d+ s$")
        for line in lines:  # the samples of operators mean nothing to latencies, which refuse them
            self.assertEqual("--samples" in line, "--latency" not in line, line)
            self.assertRegex(line, r" +# about \d+ s$")

    def test_parts_can_be_chosen(self):
        result = self.sweep("--dryrun", "--parts", "latency", "--gpus", "1")
        self.assertEqual(len(result.stdout.strip().split("\n")), 2)
        self.assertNotIn("mpirun", result.stdout)

    def test_figures_and_page_are_made_of_a_folder(self):
        nothing = self.run_script("sweep.py", "figures", "--output", self.path("."))
        self.assertEqual(nothing.returncode, 2)
        self.assertIn("found none", nothing.stderr)
        for n, path in enumerate(self.written(all_reports())):
            os.rename(path, self.path(f"gpu-{n}.json"))
        result = self.run_script("sweep.py", "figures", "--output", self.path("."))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("picture    "), 5, result.stdout)
        self.assertNotIn("no picture", result.stdout)
        self.assertTrue(os.path.exists(self.path("report.html")))

    def test_what_weak_and_strong_scaling_have_in_common_is_run_once(self):
        words = ["--dryrun", "--weak", "8x8x8x8", "--strong", "8x8x8x16,8x8x8x32", "--launcher", "srun -n {ranks}"]
        result = self.sweep(*words, "--parts", "weak,strong")
        self.assertEqual(result.stdout.count("--local-lattice"), 1, result.stdout)  # on 2 and 4 GPUs it is strong scaling
        self.assertEqual(result.stdout.count("--lattice"), 6, result.stdout)
        alone = self.sweep(*words, "--parts", "weak")
        self.assertEqual(alone.stdout.count("--local-lattice"), 3, alone.stdout)

    def test_side_by_side_one_gpu_comes_first_and_all_of_them_second(self):
        result = self.sweep("--dryrun", "--parts", "strong,latency", "--side-by-side", "4", "--cores", "64", "--launcher",
                            "srun -n {ranks}")
        lines = result.stdout.strip().split("\n")[:-1]
        self.assertTrue(all("--threads 16" in line for line in lines), result.stdout)
        gpus = [line.partition("srun -n ")[2][:1] or "1" for line in lines]
        self.assertEqual(gpus, ["1"] * 3 + ["4"] * 3 + ["2"] * 3 + ["2"], result.stdout)
        together = float(result.stdout.split()[-2])
        one_after_the_other = self.sweep("--dryrun", "--parts", "strong,latency", "--cores", "64").stdout
        self.assertLess(together, float(one_after_the_other.split()[-2]))

    def test_arguments_that_cannot_be_used(self):
        for arguments, word in ((["--parts", "all"], "--parts"), (["--gpus", "2,1"], "growing"), (["--gpus", "x"], "--gpus")):
            result = self.sweep("--dryrun", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(word, result.stderr)


#: Stands for dslash-scaling: sleeps as told by FAKE_SECONDS, waits until FAKE_TOGETHER runs have begun, and leaves a made-up
#: report.
FAKE_PROGRAM = """#!{python}
import json, os, sys, time
if "--version" in sys.argv:
    print("plaquette-dslash-scaling 0 (revision 123)")
    sys.exit(0)
with open("{log}", "a", encoding="utf-8") as log:
    log.write(" ".join([os.environ.get("CUDA_VISIBLE_DEVICES", "all"), "begins"]) + "\\n")
time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
for _ in range(600):
    with open("{log}", encoding="utf-8") as log:
        if log.read().count("begins") >= int(os.environ.get("FAKE_TOGETHER", "0")):
            break
    time.sleep(0.1)
else:
    sys.exit(70)
report = {report!r}
report["app"], report["build"], report["solves"] = "dslash-scaling", {{"revision": "123", "dirty": False}}, []
report["parameters"]["command"] = " ".join(sys.argv[:sys.argv.index("--json")])
with open(sys.argv[sys.argv.index("--json") + 1], "w", encoding="utf-8") as file:
    json.dump(report, file)
with open("{log}", "a", encoding="utf-8") as log:
    log.write("ends\\n")
"""


class FakeSweep(FolderTest):
    """The sweep with a made-up program in the folder of a bundle."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.path("bundle/bin"))
        program = self.path("bundle/bin/plaquette-dslash-scaling")
        with open(program, "w", encoding="utf-8") as file:
            file.write(FAKE_PROGRAM.format(python=sys.executable, log=self.path("log"), report=made_up_report()))
        os.chmod(program, 0o755)

    def sweep(self, *arguments, seconds=0.0, together=0, output="out", figures=False):
        """Figures take seconds each time: most sweeps leave them out."""
        with open(self.path("log"), "w", encoding="utf-8"):
            pass
        drawn = [] if figures else ["--no-figures"]
        environment = {**ENVIRONMENT, "FAKE_SECONDS": str(seconds), "FAKE_TOGETHER": str(together), "CUDA_VISIBLE_DEVICES": ""}
        return self.run_script("sweep.py", "gpu", *drawn, "--programs", self.path("bundle"), "--output", self.path(output),
                               "--gpus", "1", *arguments, env=environment)

    def log(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return file.read().split("\n")[:-1]

    def test_a_bundle_s_programs_are_found(self):
        result = self.sweep("--parts", "kernels", "--kernels", "8x8x8x8", figures=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.log(), [" begins", "ends"])
        self.assertTrue(os.path.exists(self.path("out/report.html")))
        os.remove(self.path("bundle/bin/plaquette-dslash-scaling"))
        missing = self.sweep("--parts", "kernels", "--kernels", "8x8x8x8")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("--programs: expected plaquette-dslash-scaling", missing.stderr)

    def test_runs_on_different_gpus_go_side_by_side(self):
        words = ["--parts", "kernels", "--kernels", "8x8x8x8,8x8x8x16,8x8x16x16", "--side-by-side", "2"]
        result = self.sweep(*words, together=2)  # alone the first would not end
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        log = self.log()
        self.assertEqual(sorted(log[:2]), ["0 begins", "1 begins"])
        self.assertIn(log[2:].index("ends"), (0, 1))
        self.assertEqual(log.count("ends"), 3)
        self.assertEqual(result.stdout.count("PASSED"), 3, result.stdout)

    def test_a_time_limit_leaves_out_and_ends_runs_and_the_next_sweep_goes_on(self):
        words = ["--parts", "kernels", "--kernels", "8x8x8x8,8x8x8x16", "--", "--tune", "off", "--protocol-seconds", "0,0"]
        late = self.sweep("--time-limit", "1", *words)
        self.assertEqual(late.returncode, 6, late.stdout + late.stderr)
        self.assertEqual(late.stdout.count("left out"), 2, late.stdout)
        slow = self.sweep("--time-limit", "5", *words, seconds=60)  # about 3 s each, as the sweep thinks
        self.assertEqual(slow.returncode, 70, slow.stdout + slow.stderr)
        self.assertIn("the time is over", slow.stdout)
        self.assertEqual(self.log(), [" begins"])
        one = self.sweep("--parts", "kernels", "--kernels", "8x8x8x8", *words[4:])
        self.assertEqual(one.returncode, 0, one.stdout + one.stderr)
        both = self.sweep(*words)
        self.assertEqual((both.returncode, both.stdout.count("(was there)")), (0, 1), both.stdout + both.stderr)
        elsewhere = self.sweep("--done", self.path("out"), *words, output="other")
        self.assertEqual((elsewhere.returncode, elsewhere.stdout.count("(was there)")), (0, 2), elsewhere.stdout)
        self.assertEqual([name for name in os.listdir(self.path("other")) if name.endswith(".json")], [])
        other = self.sweep("--done", self.path("out"), *words[:-1], "0,1", output="third")  # not what was done there
        self.assertEqual((other.returncode, other.stdout.count("PASSED")), (0, 2), other.stdout + other.stderr)
        self.assertNotIn("(was there)", other.stdout)
        self.assertIn("--time-limit", self.sweep("--time-limit", "never").stderr)


class Messages(unittest.TestCase):
    def test_the_line_that_says_why_a_run_failed(self):
        bar = "-" * 70
        for lines, expected in ((["noise", "plaquette-x: no", "more"], "plaquette-x: no"), (["one", "last"], "last"), ([], ""),
                                ([bar, "a warning", "of two lines", bar, bar, "mpirun will not", "for a reason", bar],
                                 "mpirun will not"), (["cut off", bar], "cut off")):
            self.assertEqual(run_queue.why(lines), expected)


class Estimates(unittest.TestCase):
    COMMAND = ["p", "--device", "gpu", "--lattice", "16x16x16x32", "--operator", "hopping", "--precision", "single,half",
               "--protocol-seconds", "0.5,0.5"]

    def test_a_kernel_is_tuned_once(self):
        estimator = run_estimate.Estimator()
        first, second = (estimator.seconds(self.COMMAND, 1, 4, 4) for _ in range(2))
        self.assertAlmostEqual(first - second, 2 * run_estimate.TUNING)
        self.assertGreater(second, run_estimate.START + 2 * (0.5 + 0.5))

    def test_more_work_takes_longer(self):
        def seconds(command, *where):
            return run_estimate.Estimator().seconds(command, *where)

        solve = ["p", "--device", "gpu", "--lattice", "24x24x24x128", "--precision", "double-half", "--rhs", "6"]
        self.assertGreater(seconds(solve, 1, 16, 16), seconds(solve, 1, 64, 64))
        self.assertGreater(seconds([*solve, "--repeat", "9"], 4, 16, 64), seconds(solve, 4, 16, 64))
        self.assertGreater(seconds([*solve[:2], "cpu", *solve[3:]], 1, 64, 64), seconds(solve, 1, 64, 64))
        self.assertGreater(seconds([*self.COMMAND[:4], "32x32x32x32", *self.COMMAND[5:]], 1, 4, 4),
                           seconds(self.COMMAND, 1, 4, 4))


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy, matplotlib and jinja2")
        sys.exit(SKIPPED)
    unittest.main()
