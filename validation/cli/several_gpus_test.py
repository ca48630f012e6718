# SPDX-License-Identifier: BSD-3-Clause
"""The performance model of several GPUs, its figures and those beside it, and the sweep over GPUs: on made-up reports, and
on a made-up program where there is no GPU."""

import os
import re
import sys
import unittest

from plots_test import PLOTS, PYTHON, SKIPPED, FolderTest, made_up_report

sys.path.insert(0, PLOTS)
import performance_model as model  # noqa: E402

MEASURED = os.path.join(PLOTS, "..", "validation", "results", "h200", "four")
CASE = ("hopping", "even-odd", "single", 12, 1)
FLOPS, BYTES = 1320, 576


def made_up_machine(**changes):
    """A microsecond and a nanosecond a site of one GPU; round numbers elsewhere."""
    values = {"times": {CASE: [(2 ** n, 1e-6 + 1e-9 * 2 ** n) for n in range(8, 26)]}, "copy": 4e12,
              "peer_bandwidth": 400e9, "peer_latency": 2e-6, "fill": 3e-6,
              "exchanges": {"staged": [(8, 20e-6), (2 ** 20, 100e-6), (2 ** 24, 1e-3)]}, "network_bandwidth": 50e9,
              "network_latency": 10e-6, "gpus_per_host": 8}
    return model.Machine(**{**values, **changes})


class Model(unittest.TestCase):
    def apply(self, lattice, grid, machine=None, case=CASE, **options):
        return model.application(model.Problem(case, lattice, grid), machine or made_up_machine(), **options)

    def test_one_gpu_is_what_was_measured(self):
        result = self.apply((16, 16, 16, 16), (1, 1, 1, 1))
        self.assertAlmostEqual(result.seconds, 1e-6 + 1e-9 * 2 ** 16, delta=1e-15)
        self.assertEqual(result.bytes_sent, 0)

    def test_times_are_those_of_the_formula(self):
        result = self.apply((16, 16, 16, 32), (1, 1, 1, 2))
        alone = 1e-6 + 1e-9 * 2 ** 16
        sent = 2 * (16 ** 3 // 2) * 48  # two faces of one parity, half-spinors of 12 numbers of 4 bytes
        self.assertEqual(result.bytes_sent, sent)
        exchange = 2 * 2e-6 + sent / 400e9
        read = 2 * (16 ** 3 // 2) * 96 / 4e12
        self.assertAlmostEqual(result.exchange, exchange, delta=1e-15)
        self.assertAlmostEqual(result.interior, alone * 14 / 16, delta=1e-15)
        self.assertAlmostEqual(result.seconds, 3e-6 + max(alone * 14 / 16 + read, exchange) + alone / 8, delta=1e-12)
        self.assertAlmostEqual(result.without_overlap, 6e-6 + max(read, exchange) + alone, delta=1e-12)

    def test_messages_of_the_host_cost_kernels_of_their_own(self):
        slow = self.apply((16, 16, 16, 32), (1, 1, 1, 2), made_up_machine(gpus_per_host=1, network_bandwidth=1e9))
        sent = 2 * (16 ** 3 // 2) * 48
        read = 2 * (16 ** 3 // 2) * 96 / 4e12
        self.assertAlmostEqual(slow.exchange, 10e-6 + sent / 1e9, delta=1e-12)
        self.assertAlmostEqual(slow.seconds, 9e-6 + read + slow.exchange + slow.boundary, delta=1e-12)
        self.assertAlmostEqual(slow.without_overlap, 6e-6 + read + slow.exchange + slow.alone, delta=1e-12)

    def test_staged_exchanges_are_those_that_were_measured(self):
        result = self.apply((16, 16, 16, 32), (1, 1, 1, 2), way="staged")
        self.assertGreater(result.exchange, 20e-6)
        self.assertLess(result.exchange, 100e-6 + 1e-9)
        self.assertGreater(result.without_overlap, result.exchange + result.alone)

    def test_a_schur_complement_is_two_hops(self):
        case = ("clover_schur", "even-odd", "single", 12, 1)
        machine = made_up_machine(times={case: [(2 ** 16, 1e-3)]})
        one = self.apply((16, 16, 16, 32), (1, 1, 1, 2))
        self.assertEqual(self.apply((16, 16, 16, 32), (1, 1, 1, 2), machine, case).bytes_sent, 2 * one.bytes_sent)

    def test_a_box_without_an_interior_has_only_a_boundary(self):
        result = self.apply((4, 4, 4, 4), (2, 2, 2, 2))
        self.assertEqual(result.interior, 0)
        self.assertAlmostEqual(result.boundary, result.alone)

    def test_more_bandwidth_and_less_latency_are_never_slower(self):
        base = self.apply((32, 32, 32, 64), (1, 1, 2, 2))
        for change in ({"peer_bandwidth": 800e9}, {"peer_latency": 0.0}, {"fill": 0.0}, {"copy": 8e12}):
            other = self.apply((32, 32, 32, 64), (1, 1, 2, 2), made_up_machine(**change))
            self.assertLessEqual(other.seconds, base.seconds)
            self.assertLessEqual(other.without_overlap, base.without_overlap)

    def test_weak_scaling_without_communication_is_perfect(self):
        free = made_up_machine(peer_bandwidth=1e30, peer_latency=0.0, fill=0.0, copy=1e30)
        for grid in ((1, 1, 1, 2), (1, 1, 2, 2), (2, 2, 2, 2)):
            lattice = tuple(16 * n for n in grid)
            result = self.apply(lattice, grid, free)
            self.assertAlmostEqual(result.seconds / result.alone, 1.0, delta=1e-12)

    def test_grids_are_those_of_the_library(self):
        self.assertEqual(model.smallest_surface_grid((32, 32, 32, 64), 4), (1, 1, 1, 4))
        self.assertEqual(model.smallest_surface_grid((8, 8, 8, 8), 4), (1, 1, 2, 2))
        self.assertIsNone(model.smallest_surface_grid((8, 8, 8, 8), 3))
        self.assertEqual(model.volume(model.grid_of_local_box((32, 32, 32, 32), 16)), 16)

    def test_neighbours_of_a_host(self):
        # On a 2 x 2 grid of hosts of two, the pairs along x are together.
        inside, outside = model.most_bytes_between_hosts([1.0, 10.0, 0.0, 0.0], (2, 2, 1, 1), 2)
        self.assertEqual((inside, outside), (2.0, 20.0))
        self.assertEqual(model.most_bytes_between_hosts([1.0, 10.0, 0.0, 0.0], (2, 2, 1, 1), 4), (22.0, 0.0))

    def test_interpolation_passes_through_its_points(self):
        table = [(10, 1.0), (100, 10.0), (1000, 20.0)]
        for place, value in table:
            self.assertEqual(model.interpolated(table, place), value)
        self.assertAlmostEqual(model.interpolated(table, 31.6227766), 3.16227766, delta=1e-6)
        self.assertAlmostEqual(model.interpolated(table, 2000), 40.0)
        self.assertEqual(model.interpolated(table, 1), 1.0)
        self.assertAlmostEqual(model.interpolated(table, 5, 0.5), 0.75)
        self.assertEqual(model.interpolated(table, 5, 2.0), 1.0)


def made_up_run(lattice, gpus, seconds, scaling="strong", operators=("hopping",), device="gpu", threads=8, **parameters):
    """A report of dslash-scaling; `seconds` of a hop in single precision on the whole lattice."""
    report = made_up_report()
    sites = lattice[0] * lattice[1] * lattice[2] * lattice[3]
    grid = (model.smallest_surface_grid(lattice, gpus) if scaling == "strong" else
            model.grid_of_local_box([32, 32, 32, 32], gpus))
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
        grid = model.grid_of_local_box([32, 32, 32, 32], gpus)
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
            result = self.run_script(script, *paths, "--output", picture)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "")
            with open(picture, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")

    def test_each_refuses_reports_that_have_nothing_for_it_in_a_line(self):
        paths = self.written([made_up_report()])
        for script in self.SCRIPTS:
            result = self.run_script(script, *paths, "--output", self.path("p.png"))
            self.assertEqual(result.returncode, 2, script)
            self.assertEqual(result.stderr.strip().count("\n"), 0, result.stderr)

    def test_the_model_s_table_has_its_distance_from_what_was_measured(self):
        result = self.run_script("model.py", *self.written(all_reports()), "--output", self.path("m.png"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"the model is within [\d.]+% of what was measured with the overlap on, [\d.]+% with it off")
        self.assertRegex(result.stdout, r"strong, 32\^3x64 +4 +peer +hopping +single")
        self.assertRegex(result.stdout, r"strong, 32\^3x64 +4 +staged +hopping +single")

    def test_the_model_is_within_15_percent_of_what_was_measured_on_four_gpus(self):
        paths = [os.path.join(MEASURED, name) for name in sorted(os.listdir(MEASURED)) if name.endswith(".json")]
        for protocol in ("sustained", "cool"):
            result = self.run_script("model.py", *paths, "--output", self.path(protocol + ".png"), "--protocol", protocol)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreaterEqual(result.stdout.count(" peer "), 7, result.stdout)
            on, off = re.search(r"within ([\d.]+)% .*, ([\d.]+)% with it off", result.stdout).groups()
            self.assertLessEqual(max(float(on), float(off)), 15.0, result.stdout)

    def test_assumptions_that_cannot_be(self):
        for option, value in (("--gpus-per-host", "0"), ("--network-gbytes", "-1"), ("--network-latency", "-1"), ("--fill", "-1")):
            result = self.run_script("model.py", *self.written(all_reports()), "--output", self.path("m.png"), option, value)
            self.assertEqual(result.returncode, 2)
            self.assertIn(option, result.stderr)

    def test_the_page_has_the_figures(self):
        page = self.path("page.html")
        result = self.run_script("report.py", *self.written(all_reports()), "--html", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for title in ("Scaling over GPUs", "Performance model", "Ways to exchange halos", "Latencies", "Vector operations",
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
        for line in lines:  # the samples of operators mean nothing to latencies, which refuse them
            self.assertEqual("--samples" in line, "--latency" not in line, line)

    def test_parts_can_be_chosen(self):
        result = self.sweep("--dryrun", "--parts", "latency", "--gpus", "1")
        self.assertEqual(len(result.stdout.strip().split("\n")), 1)
        self.assertNotIn("mpirun", result.stdout)

    def test_arguments_that_cannot_be_used(self):
        for arguments, word in ((["--parts", "all"], "--parts"), (["--gpus", "2,1"], "growing"), (["--gpus", "x"], "--gpus")):
            result = self.sweep("--dryrun", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(word, result.stderr)


if __name__ == "__main__":
    if PYTHON is None:
        print("skipped: no Python with numpy and matplotlib")
        sys.exit(SKIPPED)
    unittest.main()
