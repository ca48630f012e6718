# SPDX-License-Identifier: BSD-3-Clause
"""--dryrun --ranks N --device gpu:CARD: what a run would take, without ranks, and how near that is to what was measured."""
import json
import os
import re
import subprocess
import sys
import unittest

from harness import SUCCESS, UNUSABLE, CommandLineTest, run

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
APPS = os.environ["PLAQUETTE_PROGRAMS"]
#: Ranks that the classes are meant for.
LADDER = {"device": 1, "node": 8, "rack": 64, "system": 512, "exa": 4096}
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def program(app):
    return os.path.join(APPS, app, "plaquette-" + app)

#: The scheme auto takes another one on another lattice: these are of one scheme.
SCHEME = {"overlap-propagator": ("--scheme", "relaxed")}


class Estimates(CommandLineTest):
    def plan(self, app, *arguments, ranks=4096, device="gpu:H200"):
        result = run(*arguments, "--dryrun", "--ranks", ranks, "--device", device, program=program(app))
        self.assertEqual(result.status, SUCCESS, result.err)
        return result.out

    def number(self, pattern, text):
        found = re.search(pattern, text)
        self.assertIsNotNone(found, pattern + "\n" + text)
        value = float(found.group(1))
        return value * UNITS[found.group(2)] if found.re.groups > 1 else value

    def refused(self, *arguments, words, ranks=1):
        result = run(*arguments, ranks=ranks)
        self.assertEqual(result.status, UNUSABLE, result.out)
        for word in words:
            self.assertIn(word, result.err)

    def test_what_was_measured_is_met_within_a_fifth(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "plots", "predictions.py"), APPS, "--check"],
                              check=False, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_open_scheme_of_the_overlap_is_that_of_less_work_and_a_trial(self):
        seconds = {scheme: self.number(r"\nseconds +([\d.e+]+):", self.plan("overlap-propagator", "--size", "device", "--scheme", scheme,
                                                                          ranks=1)) for scheme in ("preconditioned", "relaxed", "auto")}
        self.assertGreater(seconds["relaxed"], 1.5 * seconds["preconditioned"])
        self.assertLess(seconds["auto"], 1.15 * seconds["preconditioned"])
        self.assertGreater(seconds["auto"], seconds["preconditioned"])

    def test_fewer_modes_of_h_where_the_search_space_of_all_has_no_room_on_the_gpu(self):
        problem = ["--lattice", "24x24x24x64", "--modes", "200", "--overlap-modes", "0"]
        for device, extra, fewer in (("gpu:H100", [], True), ("gpu:H200", [], False), ("gpu:H100", ["--basis", "host"], False),
                                     ("gpu:H100", ["--until", "modes"], False), ("cpu", [], False)):
            with self.subTest(device=device, extra=extra):
                out = self.plan("overlap-propagator", *problem, *extra, ranks=1, device=device)
                modes = self.number(r"\nmodes +(\d+) of H", out)
                self.assertEqual(fewer, modes < 200, out)
                self.assertEqual(fewer, f"basis      {modes:g} modes of H in place of 200" in out, out)
                if fewer:  # and no fewer than there is room for: 2.5 vectors of the search space a mode, and the mode
                    self.assertTrue(0.9 < 3.5 * modes * 24 * 8 * 24**3 * 64 / (78 * 2**30 - 12e9) < 1.1, out)

    def test_each_step_of_the_ladder_is_eight_times_the_work_on_eight_times_the_ranks(self):
        work = {"mixed-precision-solver": r"\niteration +(\S+) Gflop", "nodal-dg": r"\nwork +(\S+) flops a stage",
                "dslash-scaling": r"\nhopping +even-odd double +18 +1 +(\S+) ", "multigrid": None,
                "overlap-propagator": None, "hmc": None}
        for app, pattern in work.items():
            with self.subTest(app=app):
                before, memory = None, None
                for name, ranks in LADDER.items():
                    out = self.plan(app, "--size", name, *SCHEME.get(app, ()), ranks=ranks)
                    self.assertIn(f"gpu memory ", out)
                    self.number(r"\npredicted  FOM about (\S+) ", out)
                    taken = self.number(r"\ngpu memory (\S+) (\S+)\n", out)
                    if pattern and before:
                        self.assertAlmostEqual(self.number(pattern, out) / before, 8.0, delta=0.02)
                    if memory:
                        self.assertAlmostEqual(taken / memory, 1.0, delta=0.15)
                    before, memory = self.number(pattern, out) if pattern else None, taken
                # Half and twice the problem; arrays of the copy and the like stay.
                small, large = (self.number(r"\ngpu memory (\S+) (\S+)\n", self.plan(app, "--size", "exa", *SCHEME.get(app, ()), "--memory", m))
                                for m in ("small", "large"))
                self.assertLess(small, 0.9 * memory)
                self.assertGreater(large, 1.3 * memory)

    def test_it_tells_memory_messages_flops_and_seconds(self):
        out = self.plan("mixed-precision-solver", "--size", "rack", ranks=64)
        for word in ("ranks      64, none of which is started", "\nmemory ", "\ngpu memory ", "Gflop", "\nmessages   ",
                     "to other hosts", "\nseconds    ", "for 2100 iterations", "\nmachine    H200: copy 4290 GB/s"):
            self.assertIn(word, out)
        self.assertNotIn("VERIFIED", out)

    def test_every_precision_of_a_solver_is_estimated(self):
        for mode in ("double", "single", "double-single", "double-half", "single-half", "pairs-single", "pairs-half"):
            for reals in (18, 12):
                with self.subTest(mode=mode, reals=reals):
                    out = self.plan("mixed-precision-solver", "--lattice", "32x32x32x64", "--gauge", "weak:0.2", "--mass", "-0.2",
                                    "--csw", "1", "--expected-iterations", "100", "--precision", mode,
                                    "--reconstruct", reals, ranks=1)
                    self.number(r"\npredicted  FOM about (\S+) ", out)
        for precision in ("double", "pairs"):
            self.number(r"\npredicted  FOM about (\S+) ", self.plan("multigrid", "--size", "device", "--precision", precision, ranks=1))
        for app, mode in (("multigrid", "pairs"), ("mixed-precision-solver", "pairs-half")):
            for device, ranks, words in (("cpu", 1, ["--device gpu, found --device cpu"]), ("gpu:H200", 2, ["--ranks 1, found 2"])):
                result = run("--size", "device", "--precision", mode, "--dryrun", "--ranks", ranks, "--device", device, program=program(app))
                self.assertEqual(result.status, UNUSABLE, result.out)
                for word in words:
                    self.assertIn(word, result.err)

    def test_ranks_cut_the_time_and_bring_messages(self):
        speed = r"\npredicted  FOM about (\S+) "
        for app, problem in (("mixed-precision-solver", ("--size", "node")), ("multigrid", ("--size", "node")),
                             ("dslash-scaling", ("--size", "node")), ("nodal-dg", ("--size", "node")),
                             ("overlap-propagator", ("--lattice", "32x32x32x64", *SCHEME["overlap-propagator"]))):
            with self.subTest(app=app):
                one, eight = (self.plan(app, *problem, ranks=n) for n in (1, 8))
                self.assertIn("nothing is sent", one)
                self.assertIn("of a rank in ", eight)
                gain = self.number(speed, eight) / self.number(speed, one)
                self.assertTrue(1.5 < gain < 8.0, gain)

    def test_a_plan_is_a_plan(self):
        self.refused("--ranks", "2", words=["--ranks", "--dryrun"])
        self.refused("--device", "gpu:H200", words=["--device gpu:H200", "--dryrun"])
        self.refused("--device", "gpu:A7", "--dryrun", words=["--device gpu:A7", "H100, H200", "report"])
        self.refused("--device", "tpu", "--dryrun", words=["--device", "expected one of cpu, gpu"])
        self.refused("--device", "gpu:", "--dryrun", words=["--device"])
        self.refused("--dryrun", "--ranks", "4", words=["--ranks 4", "on one rank", "found 2"], ranks=2)
        self.refused("--dryrun", "--ranks", "3", words=["3"])
        self.refused("--dryrun", "--ranks", "4", "--grid", "1x1x1x2", words=["--grid 1x1x1x2"])
        self.assertIn("grid 2x2x2x2", self.plan("mixed-precision-solver", "--size", "device", "--grid", "2x2x2x2", ranks=16))

    def test_a_machine_without_enough_memory_is_remarked_upon(self):
        self.assertIn("take more ranks", self.plan("mixed-precision-solver", "--size", "rack", ranks=2))
        self.assertNotIn("take more ranks", self.plan("mixed-precision-solver", "--size", "device", ranks=1))

    def test_a_report_of_bench_is_a_machine(self):
        figure = {"operator": "hopping", "layout": "even-odd", "precision": "double", "reconstruct": 18, "rhs": 1,
                  "lattice": [32, 32, 32, 64], "threads": 1, "protocol": "sustained", "gbytes_per_s": 900.0,
                  "fraction_of_copy": 0.45, "gflops": 700.0, "seconds": {"median": 1e-3}}
        report = {"app": "bench", "machine": {"gpu": "Slow card, 10 multiprocessors"}, "figures": [figure],
                  "observables": {"device": {"copy_gbytes_per_s": 2000.0, "fma_gflops_double": 1e4}}}
        path = self.write("bench.json", json.dumps(report).encode())
        out = self.plan("dslash-scaling", "--size", "device", ranks=1, device="gpu:" + path)
        self.assertIn("machine    Slow card: copy 2000 GB/s", out)
        # 2^20 sites of (8 links of 18 reals and two spinors) in 8 bytes each, at 0.45 of 2000 GB/s.
        seconds = 2**20 * (8 * 18 + 48) * 8 / (0.45 * 2e12)
        self.assertAlmostEqual(self.number(r"FOM about (\S+) ", out), 1320 * 2**20 / seconds * 1e-9, delta=1)
        for broken in (b"{}", b"", b"[1", json.dumps({**report, "figures": 7}).encode(),
                       json.dumps({**report, "app": "multigrid"}).encode()):
            self.refused("--dryrun", "--device", "gpu:" + self.write("broken.json", broken), words=["broken.json", "report"])
        strange = {**report, "figures": [7, {**figure, "lattice": "x", "gbytes_per_s": "nan"}, None], "observables": 3}
        out = self.plan("dslash-scaling", "--size", "device", ranks=1, device="gpu:" + self.write("s.json", json.dumps(strange).encode()))
        self.assertIn("Slow card", out)


class RepeatedCell(CommandLineTest):
    """Links of a cell, repeated, with a small random field on top."""

    def gauge(self, choice, lattice="8x8x8x8", ranks=1, *more):
        path = self.path("r.json")
        result = run("--gauge", choice, "--lattice", lattice, "--mass", "0.5", "--rhs", "1", "--repeat", "0", "--seed", "3",
                     "--json", path, "--force", *more, ranks=ranks)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        return self.read_json("r.json")

    def test_has_the_plaquette_of_its_cell_to_the_predicted_shift(self):
        cell = self.gauge("heatbath:6:20", "4x4x4x4")["gauge"]["plaquette"]
        exact = self.gauge("heatbath:6:20:4x4x4x4:0")["gauge"]
        self.assertAlmostEqual(exact["plaquette"], cell, delta=1e-13)
        for noise in (0.02, 0.1):
            report = self.gauge(f"heatbath:6:20:4x4x4x4:{noise}")
            found = report["gauge"]
            self.assertEqual(found["plaquette_of_cell"], cell)
            shift = cell - found["plaquette"]
            expected = cell * (1 - (1 - 8 / 3 * noise**2) ** 4)
            self.assertAlmostEqual(shift / expected, 1.0, delta=0.1)
            check = next(c for c in report["checks"] if c["name"] == "plaquette is that of the cell with its noise")
            self.assertTrue(check["passed"])
            self.assertLess(check["tolerance"], 0.5 * max(expected, 1e-3))
        self.assertEqual(report["gauge"]["source"], "heatbath:6:20:4x4x4x4:0.1")

    def test_is_the_same_on_several_ranks(self):
        one = self.gauge("heatbath:6:5:4x4x4x4:0.05")["gauge"]
        two = self.gauge("heatbath:6:5:4x4x4x4:0.05", "8x8x8x8", 2)["gauge"]
        self.assertAlmostEqual(one["plaquette"], two["plaquette"], delta=1e-14)
        self.assertAlmostEqual(one["link_trace"], two["link_trace"], delta=1e-14)

    def test_a_cell_divides_the_lattice(self):
        result = run("--gauge", "heatbath:6:5:4x4x4x6", "--lattice", "8x8x8x8", "--dryrun")
        self.assertEqual(result.status, UNUSABLE)
        self.assertIn("4x4x4x6: expected a cell that divides the lattice 8x8x8x8", result.err)

    def test_classes_beyond_rack_take_one(self):
        for name, cell in (("rack", False), ("system", True), ("exa", True)):
            out = run("--size", name, "--dryrun", "--ranks", LADDER[name], "--device", "gpu:H200").out
            self.assertEqual("gauge      heatbath:6:300:32x32x32x64:0.02\n" in out, cell, out)


if __name__ == "__main__":
    unittest.main()
