# SPDX-License-Identifier: BSD-3-Clause
"""What validation/results keeps: tables are those of the archives, reports fit the schema, everything is small; and how the
scripts of plots/ read archives."""
import csv
import fnmatch
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import json_schema

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
RESULTS = os.path.join(ROOT, "validation", "results")
PLOTS = os.path.join(ROOT, "plots")
sys.path.insert(0, PLOTS)
import ladder_tables  # noqa: E402
import report_file  # noqa: E402

MACHINES = ("cpu", "h100", "h200")
MOST_BYTES = 1_000_000


def archived(machine):
    with tarfile.open(os.path.join(RESULTS, machine + ".tar.xz")) as file:
        return {member.name: file.extractfile(member).read() for member in file if member.isfile()}


def tables(*arguments):
    return subprocess.run([sys.executable, "-B", os.path.join(PLOTS, "result_tables.py"), *arguments], capture_output=True,
                          text=True, timeout=100)


class Results(unittest.TestCase):
    def test_everything_together_is_small(self):
        sizes = [os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(RESULTS) for file in files]
        self.assertLess(sum(sizes), MOST_BYTES)

    def test_tables_are_those_of_the_archives(self):
        result = tables("--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_table_that_was_changed_by_hand_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(RESULTS, "h100.tar.xz"), folder)
            self.assertEqual(tables("--folder", folder).returncode, 0)
            self.assertEqual(tables("--folder", folder, "--check").returncode, 0)
            with open(os.path.join(folder, "runs.csv"), "a", encoding="utf-8") as file:
                file.write("better,than,measured\n")
            result = tables("--folder", folder, "--check")
            self.assertEqual(result.returncode, 2)
            self.assertIn("runs.csv: differ from the archives", result.stderr)

    def test_each_table_of_the_ladders_has_the_picture_of_its_rows_beside_it(self):
        with open(os.path.join(ROOT, "ladder", "README.md"), encoding="utf-8") as file:
            text = file.read()
        found = ladder_tables.tables_of(text)
        ladders = [name for name in os.listdir(os.path.join(ROOT, "ladder")) if os.path.isdir(os.path.join(ROOT, "ladder", name))]
        self.assertEqual(set(found), set(ladders))
        for name, table in found.items():
            self.assertIn(f"](../docs/book/pictures/ladder-{name}.png)", text)
            drawn = ladder_tables.table_behind(os.path.join(ROOT, "docs", "book", "pictures", f"ladder-{name}.png"))
            self.assertEqual(drawn, table, f"{name}: python3 plots/ladder.py --tables ladder/README.md --output docs/book/pictures")

    def test_the_table_of_the_first_page_is_made_of_these_tables(self):
        made = subprocess.run([sys.executable, "-B", os.path.join(PLOTS, "readme_table.py"), "--check"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("plots/readme_table.py", "plots/report_file.py", "README.md", "validation/results/h200.md",
                         "validation/results/reference.md", "validation/results/several-gpus.md",
                         *(f"validation/results/{table}.csv" for table in ("runs", "figures", "solves", "notes"))):
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                shutil.copy(os.path.join(ROOT, name), os.path.join(folder, name))
            for name, old, new, message in (("README.md", "| **0.094 s** |", "| **0.009 s** |", "README.md: its table of results differs"),
                                            ("validation/results/h200.md", "QUDA takes 0.258", "QUDA takes 0.358", "found none")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertIn(old, text)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new))
                again = subprocess.run([sys.executable, "-B", os.path.join(folder, "plots", "readme_table.py"), "--check"],
                                       capture_output=True, text=True)
                self.assertNotEqual(again.returncode, 0)
                self.assertIn(message, again.stderr)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)

    def test_reports_fit_the_schema(self):
        with open(os.environ["PLAQUETTE_REPORT_SCHEMA"], encoding="utf-8") as file:
            schema = json.load(file)
        major = report_file.SCHEMA_MAJOR + "."
        count = 0
        for machine in MACHINES:
            for name, content in archived(machine).items():
                if name.endswith(".json"):
                    report = json.loads(content)
                    if str(report["schema_version"]).startswith(major):
                        self.assertEqual(json_schema.errors(report, schema), [], name)
                        count += 1
        self.assertGreater(count, 100)

    def test_each_file_has_its_command_and_revision(self):
        with open(os.path.join(RESULTS, "sources.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            self.assertTrue(row["made_by"] and row["revision"], row)
        for machine in MACHINES:
            patterns = [f"{machine}/{pattern}" for row in rows if row["machine"] == machine for pattern in row["files"].split(", ")]
            for name in archived(machine):
                self.assertTrue(any(fnmatch.fnmatchcase(name, p) or p.endswith("/") and name.startswith(p) for p in patterns),
                                f"{name}: expected a row of sources.csv for it, found none")

    def test_archives_are_read_by_name_folder_and_pattern(self):
        archive = os.path.join(RESULTS, "h100.tar.xz")
        both = [f"{archive}/h100/dg/case-{n}.json" for n in (1, 2)]
        every = sorted(f"{archive}/{name}" for name in archived("h100") if name.endswith(".json"))
        self.assertGreater(len(every), len(both))
        for path, expected in ((archive, every), (archive + "/h100", every), (archive + "/h100/dg/", both),
                               (archive + "/h100/dg/case-?.json", both)):
            self.assertEqual(report_file.expanded([path]), expected, path)
        self.assertEqual(report_file.load(both[0])["app"], "nodal-dg")
        self.assertEqual(report_file.expanded(["a.json", both[1]]), ["a.json", both[1]])

    def test_archives_without_the_report_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = os.path.join(folder, "broken.tar.xz")
            with open(broken, "wb") as file:
                file.write(b"no archive")
            for path, words in ((os.path.join(RESULTS, "h100.tar.xz", "none.json"), "expected JSON reports in h100.tar.xz"),
                                (os.path.join(folder, "none.tar.xz"), "cannot be read"), (broken, "expected a compressed archive")):
                with self.assertRaises(report_file.ReportError) as caught:
                    report_file.expanded([path])
                self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
