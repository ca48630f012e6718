# SPDX-License-Identifier: BSD-3-Clause
"""./plaquette validate: honest reports are valid, forged ones are refused for what was forged, series keep the rules."""
import copy
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import types
import unittest
import zlib

from harness import CommandLineTest, run

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "plots"))
import report_file  # noqa: E402

OVERLAP = os.path.join(ROOT, "validation/results/h100.tar.xz/h100/overlap-16x32-preconditioned.json")
ON_GPU = os.path.join(ROOT, "validation/results/h200.tar.xz/h200/two/gpu-strong-32x32x32x64-1.json")


def validate(*arguments):
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "validate.py"), *arguments], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def signed(report):
    """The text of a report with its checksum, as the programs write it."""
    body = json.dumps({k: v for k, v in report.items() if k != "checksum"}, indent=2) + "\n"
    return (body[:-3] + f',\n  "checksum": "crc32:{zlib.crc32(body.encode()):08x}"\n}}\n').encode()


def changed(report, *changes):
    """A copy with ("a/0/b", value) changed; a function is called with the old value."""
    report = copy.deepcopy(report)
    for path, value in changes:
        *steps, last = [int(s) if s.isdigit() else s for s in path.split("/")]
        place = report
        for step in steps:
            place = place[step]
        place[last] = value(place[last]) if callable(value) else value
    return report


def mutate(report, draw, values):
    """Changes or leaves out one part of a report, anywhere."""
    place = report
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = draw.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and draw.random() < 0.8:
            place = place[key]
            continue
        if draw.random() < 0.3:
            del place[key]
        else:
            place[key] = copy.deepcopy(draw.choice(values))
        return


def times(factor):
    return lambda old: old * factor


class Validate(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        test = CommandLineTest()
        test.setUp()
        result = run("--size", "nano", "--repeat", "2", "--json", test.path("r.json"))
        assert result.status == 0, result.err + result.out
        cls.out = result.out
        with open(test.path("r.json"), encoding="utf-8") as file:
            cls.text = file.read()
        cls.honest = changed(json.loads(cls.text), ("build/dirty", False), ("build/revision", "0" * 40))
        cls.on_gpu = report_file.load(ON_GPU)
        cls.multigrid = cls.quick(test, "PLAQUETTE_MULTIGRID", "--lattice", "4x4x4x8", "--kappa", "0.125", "--csw", "1",
                                  "--vectors", "8", "--trials", "0", "--modes", "0", "--reference", "none")
        cls.overlap = cls.quick(test, "PLAQUETTE_OVERLAP_PROPAGATOR", "--lattice", "2x2x2x4", "--seed", "5", "--modes", "24",
                                "--overlap-modes", "3", "--masses", "0.1,0.4", "--scheme", "relaxed")
        test.doCleanups()

    @staticmethod
    def quick(test, program, *arguments):
        """A report with correlators, by another program, as it would be of a clean tree."""
        path = test.path(program + ".json")
        result = run("--gauge", "weak:0.3", *arguments, "--json", path, program=os.environ[program])
        assert result.status == 0, result.err + result.out
        return changed(report_file.load(path), ("build/dirty", False), ("build/revision", "0" * 40))

    def verdict(self, report, *arguments):
        return validate(self.write("report.json", signed(report)), *arguments)

    def assert_refused(self, report, *words):
        status, out = self.verdict(report)
        self.assertEqual(status, 1, out)
        self.assertIn("REFUSED", out)
        for word in words:
            self.assertIn(word, out)

    def test_honest_reports_are_valid(self):
        status, out = validate("--trial", self.write("as_written.json", self.text.encode()))
        self.assertEqual(status, 0, out)
        self.assertIn("VALIDATED  PASSED     (1 reports, 0 refused", out)
        status, out = self.verdict(self.honest)
        self.assertEqual(status, 0, out)
        status, out = validate(ON_GPU)
        self.assertEqual(status, 0, out)

    def test_reports_of_the_archives_are_valid_but_those_of_a_changed_tree(self):
        _, out = validate("--quiet", os.path.join(ROOT, "validation/results/h200.tar.xz"))
        self.assertGreater(out.count("\nVALID "), 100)
        reasons = {line for line in out.split("\n") if line.startswith("         ")}
        self.assertEqual(reasons, {"         built from files that differ from the revision"})

    def test_a_report_has_a_date_a_checksum_and_a_class(self):
        report = json.loads(self.text)
        self.assertRegex(report["run"]["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(report["run"]["hosts"], 1)
        self.assertRegex(report["run"]["program_crc32"], r"^[0-9a-f]{8}$")
        self.assertEqual((report["class"]["name"], report["class"]["conforms"]), ("nano", True))
        self.assertIn("\nCLASS nano CONFORMS\n", self.out)
        # What a class of nano pins: the links of a seed are the same bits anywhere.
        self.assertAlmostEqual(report["gauge"]["plaquette"], 0.5984257669153197, delta=1e-14)

    def test_forged_reports_are_refused(self):
        faster = (("fom/value", times(1e4)), ("solves/0/seconds", times(1e-4)), ("solves/0/timing/median", times(1e-4)),
                  ("solves/0/timing/min", times(1e-4)), ("solves/0/timing/max", times(1e-4)))
        for name, words, changes in (
                ("a failed check beside verified", ["contradict passed false", "the checks say otherwise"],
                 [("checks/0/passed", False)]),
                ("a value above its tolerance", ["value 5.0"], [("checks/0/value", 5.0)]),
                ("no checks", ["nothing was checked"], [("checks", [])]),
                ("a tolerance that any residual meets", ["tolerance 1e-05, and 1e-10 was to be met"],
                 [("checks/2/tolerance", 1e-5)]),
                ("pairs of floats that leave what single does", ["tolerance 1e-06, and 1e-10 was to be met"],
                 [("checks/2/tolerance", 1e-6), ("parameters/solution_precision", "pairs")]),
                ("a solve by halves that left what single does", ["residual 1e-07, and 1e-10 was to be met"],
                 [("solves/0/precision", "double-half"), ("solves/0/residual/reference", 1e-7)]),
                ("a figure of merit from nowhere", ["figure of merit 1e+09, and its own figures"], [("fom/value", 1e9)]),
                ("times that fit the figure of merit", ["and its operators are"], faster),
                ("times and speeds that fit", ["and the machine's arithmetic is"],
                 [*faster, ("solves/0/gflops", times(1e4))]),
                ("a tree with changes", ["files that differ from the revision"], [("build/dirty", True)]),
                ("no revision", ["expected a revision of 40 digits"], [("build/revision", "unknown")]),
                ("another problem under the name of a class", ["expected tolerance 1e-10, found 0.9", "expected rhs 12"],
                 [("parameters/tolerance", 0.9), ("parameters/rhs", 1)]),
                ("a class that there is not", ["there is no such class"], [("class/name", "galaxy")]),
                ("not verified", ["not verified: "], [("checks/0/value", 5.0), ("checks/0/passed", False),
                                                      ("verified", False)]),
                ("a date to come", ["run in the future"], [("run/date", "2199-01-01T00:00:00Z")]),
                ("a command of another run", ["the command says --lattice 2x2x2x2"],
                 [("parameters/command", lambda old: old + " --lattice 2x2x2x2")]),
                ("a class without its figure", ["a run of a class has a figure of merit, found none: too slow"],
                 [("fom/value", "nan"), ("fom/none", "too slow")]),
                ("a figure and none", ["says that it has none"], [("fom/none", "too slow")]),
                ("links of another coupling", ["expected plaquette 0.5953 within 0.038, found 0.65"], [("gauge/plaquette", 0.65)]),
                ("links without a plaquette", ["found nan"], [("gauge/plaquette", "nan")]),
                ("energy that ran backward", ["energy of the hosts: expected one above 0"],
                 [("energy", {"seconds": 2.0, "energy_joule": -100.0, "power_watt": -50.0, "source": "RAPL package-0"})]),
                ("energy that is not power times time", ["energy of the hosts in 'auto': expected one above 0"],
                 [("solves/0/host_energy", {"seconds": 2.0, "energy_joule": 10.0, "power_watt": 50.0, "source": "RAPL"})]),
                ("energy of a power station", ["W, more than 1 hosts take"],
                 [("energy", {"seconds": 2.0, "energy_joule": 1e6, "power_watt": 5e5, "source": "RAPL package-0"})]),
                ("a missing part", ["schema: $: gauge is missing"], [])):
            with self.subTest(forged=name):
                report = changed(self.honest, *changes)
                if name == "a missing part":
                    del report["machine"]["cpu"]
                    words = ["cpu is missing"]
                self.assert_refused(report, *words)

    def test_forged_reports_of_a_gpu_are_refused(self):
        figures = range(len(self.on_gpu["figures"]))
        twice = [(f"figures/{i}/{key}", times(2)) for i in figures for key in ("gflops", "gbytes_per_s")]
        half = [(f"figures/{i}/seconds/{key}", times(0.5)) for i in figures for key in ("min", "median", "max")]
        energetic = next(i for i in figures if "energy_joule" in self.on_gpu["figures"][i].get("gpu", {}))
        for name, words, changes in (
                ("twice as fast in every number", ["copy bandwidth", "beyond what H200 has"],
                 [("fom/value", times(2)), *twice, *half]),
                ("seconds alone", ["GFLOP/s, and its seconds give"], half),
                ("a tenth of the energy", ["J, and"], [(f"figures/{energetic}/gpu/energy_joule", times(0.1))]),
                ("energy and power that no card takes", ["of this card take at most"],
                 [(f"figures/{energetic}/gpu/{k}", times(3)) for k in ("energy_joule", "power_watt")])):
            with self.subTest(forged=name):
                self.assert_refused(changed(self.on_gpu, *changes), *words)

    def test_reports_of_another_problem_or_machine_than_they_say_are_refused(self):
        judge, columns = self.judge(), self.honest["solves"][0]["columns"]
        clock = next(i for i, f in enumerate(self.on_gpu["figures"]) if "sm_clock_mhz" in f.get("gpu", {}))
        for name, report, words, changes in (
                ("a unit", self.honest, "expected a figure of merit in solves/s, found TFLOP/s", [("fom/unit", "TFLOP/s")]),
                ("another program", self.honest, "the check 'residual of the full system, multigrid' is missing", [("app", "multigrid")]),
                ("a lattice", self.honest, "lattice of the links: expected [32, 32, 32, 64]", [("parameters/lattice", [32, 32, 32, 64])]),
                ("links of another seed", self.honest, "seed of the links: expected 1", [("gauge/seed", 2)]),
                ("links of a file", self.honest, "source of the links: expected heatbath:6:30", [("gauge/source", "cold.nersc")]),
                ("fewer ranks", self.honest, "product of the grid: expected 1", [("parameters/grid", [1, 1, 1, 4])]),
                ("ranks of figures", self.honest, "ranks of a figure: expected 1", [("figures/0/ranks", 4)]),
                ("hours of work", self.honest, "s of work, and what was timed took", [("class/work_seconds", 7200.0)]),
                ("a column that was not solved", self.honest, "column 3: residual 0.5",
                 [("solves/0/columns/3/residual/reference", 0.5)]),
                ("residuals of another run", self.honest, "is of no column",
                 [(f"solves/0/columns/{i}/residual/reference", 1e-11) for i in range(len(columns))]),
                ("a card", self.on_gpu, "of the card", [("machine/gpu", "NVIDIA H100 80GB HBM3, 132 multiprocessors")]),
                ("clocks", self.on_gpu, "expected min <= median <= max <= 1980 MHz",
                 [(f"figures/{clock}/gpu/sm_clock_mhz/max", 2600.0)]),
                ("clocks that fell", self.on_gpu, "clocks of a figure", [(f"figures/{clock}/gpu/sm_clock_mhz/min", 1985.0)])):
            with self.subTest(forged=name):
                forged = self.write("forged.json", signed(changed(report, *changes)))
                faults = judge.judge(forged)[1]
                self.assertTrue(any(words in fault for fault in faults), faults)
        dg = report_file.load(os.path.join(ROOT, "validation/results/h200.tar.xz/h200/dg/acoustics-7-gpu.json"))
        self.assertEqual(judge.problem_faults(dg), [])
        for path, value, words in (("parameters/box", [64, 64, 64], "elements: expected 1572864"),
                                   ("parameters/order", 3, "nodes: expected"), ("figures/0/seconds/median", 1e-9, "and its seconds give"),
                                   ("figures/0/gbytes_per_s", times(2), " GB/s, and ")):
            self.assertIn(words, "".join(judge.problem_faults(changed(dg, (path, value)))))
        multigrid = report_file.load(os.path.join(ROOT, "validation/results/h100.tar.xz/h100/multigrid-stages.json"))
        self.assertEqual(judge.problem_faults(multigrid), [])
        self.assertIn("s each, and the figure took", "".join(judge.problem_faults(changed(multigrid, ("solves/0/seconds", times(0.1))))))

    def test_a_run_before_its_revision_was_made_is_refused(self):
        head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=False, capture_output=True, text=True).stdout.strip()
        if not head:
            self.skipTest("no repository")
        early = changed(self.honest, ("build/revision", head), ("run/date", "2001-01-01T00:00:00Z"))
        self.assertIn("run on 2001-01-01, before its revision was made", self.judge().origin_faults(early, None, []))
        older = changed(self.honest, ("build/revision", head), ("schema_version", "1.0"))
        self.assertIn("schema version 1.0, and revision " + head[:12], "".join(self.judge().origin_faults(older, None, [])))
        self.assertEqual(self.judge().origin_faults(changed(early, ("run/date", "2100-01-01T00:00:00Z")), None, []),
                         ["run in the future, 2100-01-01T00:00:00Z"])

    def test_reports_that_contradict_each_other_are_refused(self):
        first, second = self.a_run(1.0), self.a_run(1.01)
        windows = ["solves/0/timing"] + [f"figures/{i}/seconds" for i in range(len(first["figures"]))]
        every = ["solves/0/seconds"] + [f"{window}/{k}" for window in windows for k in ("min", "median", "max")]
        slower = changed(first, *[(path, times(1.02)) for path in every], ("fom/value", times(1 / 1.02)),
                         ("solves/0/gflops", times(1 / 1.02)), ("run/date", second["run"]["date"]))
        for name, other, words in (
                ("all times in one proportion", slower, "or all in one proportion: one run, not two"),
                ("times of a figure", changed(second, ("figures/0/seconds", first["figures"][0]["seconds"])), "one run, not two"),
                ("another machine", changed(second, ("machine/cpu", "Wonder 9000")), "run on 'Wonder 9000'"),
                ("other links", changed(second, ("gauge/plaquette", times(1.0001))), "and the same program made 0.598"),
                ("at the same time", changed(second, ("run/date", first["run"]["date"])), "at the same time")):
            with self.subTest(forged=name):
                long = [changed(r, ("class/work_seconds", 30.0)) for r in (first, other)] if name == "at the same time" else [first, other]
                status, out = validate(self.folder(long))
                self.assertEqual(status, 1, out)
                self.assertIn(words, out)
        runs = [{"report": "0.json", "fom": first["fom"]["value"]}, {"report": "1.json", "fom": 1e9}, {"report": "2.json", "fom": 1.0}]
        status, out = validate(self.folder([first, second], runs=runs))
        self.assertEqual(status, 1, out)
        self.assertIn("1.json has figure of merit 1000000000.0, the report", out)
        self.assertIn("expected 2.json, which it names, found no such report", out)

    def test_a_text_that_was_changed_is_refused(self):
        text = re.sub(r'"cpu": "[^"]*"', '"cpu": "Wonder 9000"', signed(self.honest).decode())
        status, out = validate(self.write("r.json", text.encode()))
        self.assertEqual(status, 1, out)
        self.assertIn("the text was changed after the run", out)
        status, out = validate(self.write("r.json", signed(self.honest).replace(b',\n  "checksum"', b',\n\n  "checksum"')))
        self.assertEqual(status, 1, out)
        unsigned = {key: value for key, value in self.honest.items() if key != "checksum"}
        status, out = validate(self.write("r.json", json.dumps(unsigned).encode()))
        self.assertEqual(status, 1, out)
        self.assertIn("expected a checksum", out)

    def test_propagators_of_fewer_masses_are_refused(self):
        judge, report = self.judge(), report_file.load(OVERLAP)
        self.assertEqual(judge.solve_faults(report), [])
        fewer = changed(report, ("solves", report["solves"][:1]))
        self.assertIn("and [0.03, 0.1] were to be solved", judge.solve_faults(fewer)[0])
        self.assertIn("and its own figures give", judge.own_fom_faults(fewer)[0])
        unjudged = changed(report, ("checks", [c for c in report["checks"] if c["name"] != "residual of D(0.1)"]))
        self.assertIn("1 residuals were judged", judge.solve_faults(unjudged)[0])
        named = changed(report, ("class", {"name": "device", "memory": "medium", "conforms": True, "why": "", "work_seconds": 9.0}))
        faults = judge.class_faults(named, [])
        self.assertIn("class device: expected masses [0.01, 0.03, 0.1, 0.3], found [0.03, 0.1]", faults)
        self.assertIn("class device: expected lattice [24, 24, 24, 64], found [16, 16, 16, 32]", faults)

    def test_plaquettes_of_other_links_of_the_class_are_told(self):
        judge, remarks = self.judge(), []
        light = judge.problem_of("multigrid", "device", "medium")
        for thin, faults, words in ((0.593681319287, 0, 0), (0.5935, 0, 1), (0.5944, 1, 0), (0.5931, 0, 1), (0.593, 1, 0)):
            gauge, remarks = {"plaquette": 0.96, "stout": {"plaquette_before": thin}}, []
            found = judge.plaquette_faults(light, gauge, "device", remarks)
            self.assertEqual((len(found), len(remarks)), (faults, words), (thin, found, remarks))
        cell = judge.problem_of("overlap-propagator", "exa", "medium")
        self.assertEqual(judge.plaquette_faults(cell, {"plaquette": 0.5914, "plaquette_of_cell": 0.593941637442}, "exa", remarks), [])
        self.assertEqual(len(judge.plaquette_faults(cell, {"plaquette": 0.5914, "plaquette_of_cell": 0.5914}, "exa", remarks)), 1)
        for scaled in ("small", "large"):
            self.assertEqual(judge.problem_of("overlap-propagator", "device", scaled)["lattice"][:3], [24, 24, 24])

    def test_what_makes_figures_doubtful_is_remarked(self):
        judge = self.judge()
        slow = [(f"figures/{i}/{key}", 0.001) for i in range(len(self.honest["figures"]))
                for key in ("fraction_of_copy", "fraction_of_fma_peak")]
        sustained = next(i for i, f in enumerate(self.on_gpu["figures"]) if f.get("protocol") == "sustained")
        for report, changes, words in (
                (self.honest, [("run/load", 400.0)], "load: 400 processes"), (self.honest, slow, "below 20% of both limits"),
                (self.honest, [("figures/0/threads", 4096)], "figures of more threads than cores"),
                (self.on_gpu, [(f"figures/{sustained}/gpu/sm_clock_mhz/min", 600.0)], "clocks: 600 to ")):
            remarks = []
            judge.noise_remarks(changed(report, *changes), remarks)
            self.assertTrue(any(words in remark for remark in remarks), (words, remarks))
        remarks = []
        judge.noise_remarks(changed(self.honest, ("run/load", 0.0)), remarks)
        self.assertFalse(any("load" in remark or "threads" in remark for remark in remarks), remarks)

    def test_joules_a_solve_are_those_of_gpus_and_hosts(self):
        window = {"seconds": 1.0, "energy_joule": 60.0, "power_watt": 60.0, "source": "RAPL"}
        report = changed(self.honest, ("solves/0/host_energy", window))
        self.assertEqual(self.judge().joules_a_solve(report), 5.0)
        report = changed(report, ("solves/0/gpu", {"seconds": 1.0, "energy_joule_of_all_ranks": 600.0}))
        self.assertEqual(self.judge().joules_a_solve(report), 55.0)
        series = {"solver": "multigrid", "columns": 12 * [{}], "host_energy": window}
        both = [{**series, "seconds": 2.0}, {**series, "seconds": 1.0, "energy_joule_a_solve": 7.0},
                {**series, "solver": "bicgstab", "seconds": 0.5}]
        self.assertEqual(self.judge().joules_a_solve(changed(report, ("app", "multigrid"), ("solves", both))), 12.0)
        overlap = changed(report, ("app", "overlap-propagator"), ("solves", 4 * [{}]), ("stages", 2 * [{"host_energy": window}]))
        self.assertEqual(self.judge().joules_a_solve(overlap), 30.0)
        backward = changed(report, ("stages", [{"name": "modes of H", "host_energy": {**window, "energy_joule": -60.0}}]))
        self.assertIn("energy of the hosts in 'modes of H'", self.judge().host_energy_faults(backward)[0])

    @staticmethod
    def judge():
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        parts = [importlib.import_module(name) for name in (
            "validate", "report_class", "report_correlators", "report_energy", "report_figures", "report_origin", "report_solves",
            "report_verdict", "submission")]
        return types.SimpleNamespace(**{name: value for part in parts for name, value in vars(part).items()})

    def test_checks_of_the_list_are_all_there_and_as_strict_as_the_programs_are(self):
        checks = self.honest["checks"]
        for i, check in enumerate(checks):
            with self.subTest(left_out=check["name"]):
                self.assert_refused(changed(self.honest, ("checks", checks[:i] + checks[i + 1:])), "is missing")
        looser = changed(self.honest, *[(f"checks/{i}/tolerance", times(15)) for i in range(len(checks))])
        self.assert_refused(looser, "expected at most")
        nothing = changed(self.honest, *[(f"checks/{i}/value", 0.0) for i in range(len(checks))])
        self.assert_refused(nothing, "which no computation in floating-point numbers leaves")

    def test_parts_that_contradict_each_other_are_refused(self):
        for name, words, changes in (
                ("observables without correlators", "'pion' is missing or empty", [("observables", {})]),
                ("fewer iterations than the history has", "iterations, and its history has", [("solves/0/iterations", 4)]),
                ("repetitions that were not timed", "2 samples, and 100 repetitions", [("parameters/repeat", 100)]),
                ("a pion that is none", "no list of finite numbers", [("observables/pion/3", "inf")])):
            with self.subTest(forged=name):
                self.assert_refused(changed(self.honest, *changes), words)
        judge = self.judge()
        multigrid = report_file.load(os.path.join(ROOT, "validation/results/h100.tar.xz/h100/multigrid-stages.json"))
        self.assertEqual(judge.history_faults(multigrid), [])
        self.assertIn("s a source on average", judge.history_faults(changed(multigrid, ("solves/0/seconds_mean", times(0.5))))[0])
        waves = report_file.load(os.path.join(ROOT, "validation/results/h200.tar.xz/h200/tender/nodal-dg-1.json"))
        self.assertEqual(judge.wave_faults(waves), [])
        self.assertIn("and nothing feeds it", judge.wave_faults(changed(waves, ("observables/energy/end", 10.0)))[0])

    def test_correlators_are_those_of_the_solutions_in_every_program(self):
        twice, rows = lambda values: [2.0 * value for value in values], range(12)
        both = [("observables/pion", twice), ("observables/rho", twice)]
        first = [(f"observables/masses/0/{meson}", twice) for meson in ("pion", "rho")]
        second = [(f"observables/masses/1/{meson}", twice) for meson in ("pion", "rho")]
        of_columns = [(f"solves/0/columns/{n}", lambda c: {k: v for k, v in c.items() if k != "solution_norm"}) for n in rows]
        of_masses = [("solves/0", lambda s: {k: v for k, v in s.items() if k != "propagator_norms"})]
        for report in (self.multigrid, self.overlap):
            status, out = self.verdict(report)
            self.assertEqual(status, 0, out)
        lengths = "and |x|^2 of the solutions"
        for name, report, changes, words in (
                ("both doubled", self.honest, both, lengths), ("both doubled", self.multigrid, both, lengths),
                ("both doubled", self.overlap, both + first, "mass 0.1: pion: its sum is"),
                ("those of the first mass alone", self.overlap, both, "'pion' is not that of the first mass"),
                ("those of the second mass", self.overlap, second, "mass 0.4: pion: its sum is"),
                ("lengths left out", self.honest, both + of_columns, "columns that it is made of, found 0"),
                ("lengths left out", self.multigrid, both + of_columns, "columns that it is made of, found 0"),
                ("lengths left out", self.overlap, both + first + of_masses, "columns that it is made of, found 0"),
                ("the list of masses left out", self.overlap, both + [("observables/masses", [])], "correlators of masses []"),
                ("a column left out", self.multigrid, [("solves/0/columns", lambda c: c[1:])], "it is made of, found 11"),
                ("a rho above the pion", self.multigrid, [("observables/rho", twice)], "and the pion is")):
            with self.subTest(forged=name, app=report["app"]):
                self.assert_refused(changed(report, *changes), words)
        # Reports of a version before hold no lengths.
        for report, version, changes in ((self.multigrid, "1.5", of_columns), (self.overlap, "1.5", of_masses),
                                         (self.honest, "1.4", of_columns)):
            status, out = self.verdict(changed(report, *changes, ("schema_version", version)))
            self.assertEqual(status, 0, out)

    def test_the_share_of_a_disturbed_machine_is_that_of_the_check(self):
        slowed = self.honest["solves"][0]["gflops"] / 1.7  # the operator's, on a busy host: a solve may be faster
        figure = self.honest["figures"][0]
        seconds = {k: v * figure["gflops"] / slowed for k, v in figure["seconds"].items() if k != "samples"}
        busy = changed(self.honest, ("figures/0/fraction_of_fma_peak", 4.11), ("figures/0/gflops", slowed),
                       ("figures/0/gbytes_per_s", figure["gbytes_per_s"] * slowed / figure["gflops"]),
                       ("figures/0/seconds", {**figure["seconds"], **seconds}))
        status, out = self.verdict(busy)
        self.assertEqual(status, 0, out)
        self.assertIn("remark: disturbed", out)
        i = next(i for i, check in enumerate(busy["checks"]) if check["name"].startswith("best figure"))
        self.assert_refused(changed(busy, (f"checks/{i}/value", 4.11)), "contradict passed true")

    def test_no_mutation_of_a_report_ends_in_a_traceback(self):
        judge, values = self.judge(), [None, True, 0, -1, 1e300, "inf", "nan", "", "x", [], {}, [[]], [None], {"a": None}]
        sources = [self.honest, self.on_gpu, self.multigrid, self.overlap, report_file.load(OVERLAP),
                   report_file.load(os.path.join(ROOT, "validation/results/h200.tar.xz/h200/tender/nodal-dg-1.json"))]
        tries = int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", "120"))
        draw = random.Random(int(os.environ.get("PLAQUETTE_CAMPAIGN_SEED", "5")))
        for number in range(tries):
            report = copy.deepcopy(sources[number % len(sources)])
            for _ in range(draw.randint(1, 3)):
                mutate(report, draw, values)
            path = self.write("mutated.json", signed(report))
            with self.subTest(number=number):
                try:
                    faults = judge.judge(path)[1]
                    judge.pairs_of([(path, report), (path, report)]) if not faults else None
                except report_file.ReportError:
                    pass
        for runs in (None, 3, [None], [3], "x"):
            status, out = validate(self.folder([self.a_run(1.0), self.a_run(1.01)], runs=runs))
            self.assertEqual(status, 2, out)
            self.assertNotIn("Traceback", out)

    def test_malformed_reports_of_a_folder_end_in_sentences(self):
        for key, value in (("machine", {}), ("class", "nano"), ("gauge", []), ("app", ["multigrid"]), ("run", 3),
                           ("parameters/device", {}), ("machine/ranks", None), ("fom/value", 10 ** 400)):
            with self.subTest(key=key):
                status, out = validate(self.folder([self.a_run(1.0), changed(self.a_run(1.01), (key, value))]))
                self.assertIn(status, (1, 2), out)
                self.assertIn("VALIDATED  FAILED", out)
                self.assertNotIn("Traceback", out)

    def test_a_folder_lacks_nothing(self):
        reports = [self.a_run(1.0), self.a_run(1.01)]
        whole = self.folder(reports, runs=[{"report": "0.json"}, {"report": "1.json"}])
        status, out = validate(whole)
        self.assertEqual(status, 0, out)
        for words, change in (
                ("expected logs/ with files", lambda f: shutil.rmtree(f + "/logs")),
                ("expected system/ with files", lambda f: shutil.rmtree(f + "/system")),
                ("expected a run for 2.json", lambda f: shutil.copy(f + "/0.json", f + "/2.json")),
                ("logs/7.txt is of a run whose report was left out", lambda f: shutil.copy(f + "/logs/0.txt", f + "/logs/7.txt"))):
            with self.subTest(words=words):
                folder = self.folder(reports, runs=[{"report": "0.json"}, {"report": "1.json"}])
                change(folder)
                status, out = validate(folder)
                self.assertEqual(status, 1, out)
                self.assertIn(words, out)
        self.assertIn("expected patch/ with files", validate(self.folder(reports, category="optimized"))[1])
        five = self.folder(reports, apps=["mixed-precision-solver", "multigrid"])
        self.assertIn("expected reports of multigrid, found none", validate(five)[1])

    def test_one_run_with_noise_on_its_times_is_one_run(self):
        first, second = self.a_run(1.0), self.a_run(1.013)
        for report in (first, second):
            report["run"]["load"] = 0.7312
            report["stages"] = [{"name": "links", "seconds": 0.123456, "tuning_seconds": 0.0},
                                {"name": "solves", "seconds": 1.234567, "tuning_seconds": 0.0}]
        status, out = validate(self.folder([first, second]))
        self.assertEqual(status, 1, out)
        self.assertIn("to the last digit: one run, not two", out)

    def test_what_is_no_report_is_unusable(self):
        for name, data in (("a.json", b"{"), ("b.json", b"[]"), ("c.json", b"\xff")):
            status, out = validate(self.write(name, data))
            self.assertEqual(status, 2, out)
            self.assertNotIn("Traceback", out)
        self.assertEqual(validate("/none.json")[0], 2)
        self.assertEqual(validate(self.directory + "/none")[0], 2)

    def folder(self, reports, scaling=(), **more):
        folder = self.path("submission")
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("logs", "system"):
            os.makedirs(os.path.join(folder, part))
        self.write("submission/system/lscpu.txt", b"a machine")
        for i, report in enumerate(reports):
            self.write(f"submission/{i}.json", signed(report))
            self.write(f"submission/logs/{i}.txt", b"a log")
        document = {"vendor": "x", "category": "baseline", "energy": "none", "scaling": list(scaling),
                    "apps": ["mixed-precision-solver"], **more}
        self.write("submission/submission.json", json.dumps(document).encode())
        return folder

    def a_run(self, factor, ranks=1):
        """The honest run again, in other times that no factor explains, an hour after the one before."""
        self.runs = getattr(self, "runs", 0) + 1
        slower = [(f"solves/0/{key}", times(factor)) for key in ("seconds", "timing/median", "reference_seconds")]
        slower += [("solves/0/timing/min", times(0.9 * factor)), ("solves/0/timing/max", times(1.1 * factor + 1e-4 * self.runs))]
        slower += [(f"figures/{i}/seconds/max", times(1.1 + 1e-3 * self.runs)) for i in range(len(self.honest["figures"]))]
        slower += [(f"figures/{i}/ranks", ranks) for i in range(len(self.honest["figures"]))]
        return changed(self.honest, *slower, ("fom/value", times(1 / factor)), ("solves/0/gflops", times(1 / factor)),
                       ("class/work_seconds", times(factor)), ("machine/ranks", ranks), ("parameters/grid", [1, 1, 1, ranks]),
                       ("run/date", f"2026-01-01T{self.runs:02}:00:00Z"))

    def test_runs_of_a_submission_are_repeated_and_no_copies(self):
        for reports, status, words in (([1.0, 1.01], 0, ["VALIDATED  PASSED"]),
                                       ([1.0], 1, ["expected 2 runs or more, found 1"]),
                                       ([1.0, 1.01, 1.01], 1, ["one run, not two"])):
            with self.subTest(reports=reports):
                runs = {f: self.a_run(f) for f in reports}
                found, out = validate(self.folder([runs[f] for f in reports]))
                self.assertEqual(found, status, out)
                for word in words:
                    self.assertIn(word, out)
        no_class = copy.deepcopy(self.honest)
        del no_class["class"]
        status, out = validate(self.folder([no_class, self.a_run(1.01)]))
        self.assertEqual(status, 1)
        self.assertIn("not a run of an official class", out)

    def test_large_classes_need_three_runs_and_a_small_spread(self):
        judge = self.judge()
        large = [("p", changed(self.a_run(f), ("class/name", "device"))) for f in (1.0, 1.02, 1.04)]
        self.assertEqual(judge.rule_faults(large, [])[0], [])
        self.assertIn("expected 3 runs", judge.rule_faults(large[:2], [])[0][0])
        large[0] = ("p", changed(self.a_run(0.97), ("class/name", "device")))
        self.assertIn("a spread of at most 5%, found", judge.rule_faults(large, [])[0][0])
        for key, word in (("PLAQUETTE_COPY_MIB", "is for tests"), ("", "expected 60 s of work")):
            faults = judge.class_faults(changed(large[1][1], ("run/environment", {key: "1"} if key else {})), [])
            self.assertTrue(any(word in fault for fault in faults), faults)

    def test_scaling_series_are_complete(self):
        runs = [self.a_run(f, ranks) for ranks, f in ((1, 1.0), (1, 1.01), (2, 0.5), (2, 0.51), (4, 0.25), (4, 0.26))]
        series = {"app": "mixed-precision-solver", "class": "nano", "kind": "strong", "ranks": [1, 2, 4]}
        status, out = validate("--quiet", self.folder(runs, [series]))
        self.assertEqual(status, 0, out)
        self.assertRegex(out, r"scaling strong +mixed-precision-solver: 1 ranks 100%, 2 ranks 100%, 4 ranks 99%")
        status, out = validate(self.folder(runs[:2] + runs[4:], [series]))
        self.assertEqual(status, 1, out)
        self.assertIn("expected runs on 2 ranks, found none", out)
        status, out = validate(self.folder(runs[:2] + runs[4:], [{**series, "ranks": [1, 4]}]))
        self.assertEqual(status, 1, out)
        self.assertIn("expected 2 ranks between the others", out)

    def test_a_submission_says_what_it_is(self):
        status, out = validate(self.folder([self.honest], category="miracle"))
        self.assertEqual(status, 2, out)
        status, out = validate(self.folder([self.a_run(1.0), self.a_run(1.01)], revision="1" * 40))
        self.assertEqual(status, 1, out)
        self.assertIn("expected revision 1111", out)
        status, out = validate(self.folder([self.a_run(1.0), self.a_run(1.01)], energy=""))
        self.assertEqual(status, 1, out)
        self.assertIn("expected 'energy'", out)
        self.assertIn("\nenergy      hosts: ", out)


if __name__ == "__main__":
    unittest.main()
