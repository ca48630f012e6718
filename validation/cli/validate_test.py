# SPDX-License-Identifier: BSD-3-Clause
"""./plaquette validate: honest reports are valid, forged ones are refused for what was forged, series keep the rules."""
import copy
import json
import os
import re
import subprocess
import sys
import unittest
import zlib

from harness import CommandLineTest, run

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "plots"))
import report_file  # noqa: E402

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
        test.doCleanups()

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

    def test_a_text_that_was_changed_is_refused(self):
        text = re.sub(r'"cpu": "[^"]*"', '"cpu": "Wonder 9000"', signed(self.honest).decode())
        status, out = validate(self.write("r.json", text.encode()))
        self.assertEqual(status, 1, out)
        self.assertIn("the text was changed after the run", out)
        status, out = validate(self.write("r.json", signed(self.honest).replace(b',\n  "checksum"', b',\n\n  "checksum"')))
        self.assertEqual(status, 1, out)

    def test_what_is_no_report_is_unusable(self):
        for name, data in (("a.json", b"{"), ("b.json", b"[]"), ("c.json", b"\xff")):
            status, out = validate(self.write(name, data))
            self.assertEqual(status, 2, out)
            self.assertNotIn("Traceback", out)
        self.assertEqual(validate("/none.json")[0], 2)
        self.assertEqual(validate(self.directory + "/none")[0], 2)

    def folder(self, reports, scaling=(), **more):
        folder = self.path("submission")
        os.makedirs(folder, exist_ok=True)
        for old in os.listdir(folder):
            os.remove(os.path.join(folder, old))
        for i, report in enumerate(reports):
            self.write(f"submission/{i}.json", signed(report))
        document = {"vendor": "x", "category": "baseline", "scaling": list(scaling), **more}
        self.write("submission/submission.json", json.dumps(document).encode())
        return folder

    def a_run(self, factor, ranks=1):
        """The honest run again, in other times."""
        slower = [(f"solves/0/{key}", times(factor)) for key in
                  ("seconds", "timing/median", "timing/min", "timing/max", "reference_seconds")]
        return changed(self.honest, *slower, ("fom/value", times(1 / factor)), ("solves/0/gflops", times(1 / factor)),
                       ("machine/ranks", ranks))

    def test_runs_of_a_submission_are_repeated_and_no_copies(self):
        for reports, status, words in (([1.0, 1.01], 0, ["VALIDATED  PASSED"]),
                                       ([1.0], 1, ["expected 2 runs or more, found 1"]),
                                       ([1.0, 1.01, 1.01], 1, ["one run, not two"])):
            with self.subTest(reports=reports):
                found, out = validate(self.folder([self.a_run(f) for f in reports]))
                self.assertEqual(found, status, out)
                for word in words:
                    self.assertIn(word, out)
        no_class = copy.deepcopy(self.honest)
        del no_class["class"]
        status, out = validate(self.folder([no_class, self.a_run(1.01)]))
        self.assertEqual(status, 1)
        self.assertIn("not a run of an official class", out)

    def test_large_classes_need_three_runs_and_a_small_spread(self):
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        import validate as judge  # pylint: disable=import-outside-toplevel
        large = [("p", changed(self.a_run(f), ("class/name", "device"))) for f in (1.0, 1.02, 1.04)]
        self.assertEqual(judge.rule_faults(large, [])[0], [])
        self.assertIn("expected 3 runs", judge.rule_faults(large[:2], [])[0][0])
        large[0] = ("p", changed(self.a_run(0.97), ("class/name", "device")))
        self.assertIn("a spread of at most 5%, found", judge.rule_faults(large, [])[0][0])
        for key, word in (("PLAQUETTE_COPY_MIB", "is for tests"), ("", "expected 60 s of work")):
            faults = judge.class_faults(changed(large[1][1], ("run/environment", {key: "1"} if key else {})))
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


if __name__ == "__main__":
    unittest.main()
