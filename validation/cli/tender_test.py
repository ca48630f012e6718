# SPDX-License-Identifier: BSD-3-Clause
"""A tender from end to end: two classes at nano scale are run, packed and validated; what does not conform is said."""
import json
import os
import shutil
import subprocess
import sys
import tarfile
import unittest
import unittest.mock

from harness import CommandLineTest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAMS = os.environ["PLAQUETTE_PROGRAMS"]


def tool(name, *arguments):
    environment = {"PLAQUETTE_COPY_MIB": "16", "OMP_NUM_THREADS": "1", **os.environ}
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", name + ".py"), *arguments], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280, env=environment)
    return done.returncode, done.stdout + done.stderr


class Tender(CommandLineTest):
    def test_a_file_in_the_place_of_the_folder_is_refused_before_anything_is_built(self):
        path = self.write("file", b"mine")
        done = subprocess.run([os.path.join(ROOT, "plaquette"), "tender", path], check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr, f"plaquette: tender: {path}: expected a folder to make, found a file\n")
        self.assertIn("found a file", tool("tender", path, "--programs", PROGRAMS, "--apps", "multigrid")[1])

    def tender(self, *arguments):
        return tool("tender", self.path("out"), "--programs", PROGRAMS, *arguments)

    def test_of_two_sizes_from_runs_to_verdict(self):
        status, out = self.tender("--classes", "nano", "--memory", "small,medium", "--vendor", "Made-up Machines",
                                  "--apps", "mixed-precision-solver,dslash-scaling,nodal-dg")
        self.assertEqual(status, 0, out)
        self.assertIn("TENDER     PASSED     (12 runs, 0 of them", out)
        document = self.read_json("out/submission.json")
        self.assertEqual((document["vendor"], document["category"]), ("Made-up Machines", "baseline"))
        self.assertEqual([run["status"] for run in document["runs"]], 12 * [0])
        self.assertTrue(os.listdir(self.path("out/system")))
        with tarfile.open(self.path("out.tar.xz")) as packed:
            names = packed.getnames()
        for name in ("out/submission.json", "out/README.md", "out/reports/nodal-dg-nano-small-1-1.json",
                     "out/logs/dslash-scaling-nano-medium-1-2.txt"):
            self.assertIn(name, names)
        status, out = tool("validate", "--trial", "--quiet", self.path("out"))
        self.assertEqual(status, 0, out)
        self.assertIn("VALIDATED  PASSED     (12 reports, 0 refused, 0 rules broken)", out)
        # One run that is taken away, and one that is made better by hand.
        os.remove(self.path("out/reports/nodal-dg-nano-small-1-1.json"))
        path = self.path("out/reports/dslash-scaling-nano-small-1-1.json")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        value = str(json.loads(text)["fom"]["value"])
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(value, "9" + value))
        status, out = tool("validate", "--trial", "--quiet", self.path("out"))
        self.assertEqual(status, 1, out)
        self.assertIn("expected 2 runs or more, found 1", out)
        self.assertIn("the text was changed after the run", out)

    def test_a_run_off_its_class_is_said(self):
        status, out = self.tender("--apps", "mixed-precision-solver", "--runs", "1", "--options",
                                  "mixed-precision-solver=--tol 0.9 --rhs 1")
        self.assertEqual(status, 1, out)
        self.assertIn("DOES NOT (rhs 1, tolerance 0.9)", out)
        with open(self.path("out/logs/mixed-precision-solver-nano-medium-1-1.txt"), encoding="utf-8") as file:
            self.assertIn("\nCLASS nano DOES NOT (rhs 1, tolerance 0.9)\n", file.read())
        status, out = tool("validate", "--trial", self.path("out"))
        self.assertEqual(status, 1, out)
        self.assertIn("expected tolerance 1e-10, found 0.9", out)

    def test_in_a_bundle_a_series_that_is_stopped_leaves_what_it_has(self):
        """A made-up bundle: a program that writes a report, says its arguments, and kills the script at the second run."""
        for name, source in (("tools/tender.py", "tools/tender.py"), ("common/app/classes.json", "common/app/classes.json")):
            os.makedirs(os.path.dirname(self.path("bundle/" + name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, source), self.path("bundle/" + name))
        os.makedirs(self.path("bundle/bin"))
        os.makedirs(self.path("bundle/lib"))
        self.write("bundle/bundle.txt", b"made up\n")
        program = self.write("bundle/bin/plaquette-nodal-dg", b'''#!/bin/sh
echo "$LD_LIBRARY_PATH $*"
for report; do :; done
echo '{"class": {"conforms": false, "why": "30 s of work", "work_seconds": 30}, "fom": {"value": 1, "unit": "x"}}' > "$report"
case $report in *-2.json) kill -9 $PPID;; esac
''')
        os.chmod(program, 0o755)
        command = [sys.executable, "-B", self.path("bundle/tools/tender.py"), self.path("out"), "--apps", "nodal-dg", "--classes", "device"]
        done = subprocess.run(command + ["--options", "nodal-dg=--steps 99", "--dryrun"], check=False, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout.count("--device cpu --samples 4 --steps 99 --json"), 3, done.stdout + done.stderr)
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, -9, done.stderr)
        self.assertEqual([run["report"] for run in self.read_json("out/submission.json")["runs"]], ["reports/nodal-dg-device-medium-1-1.json"])
        with open(self.path("out/logs/nodal-dg-device-medium-1-1.txt"), encoding="utf-8") as file:
            said = file.read()
        self.assertTrue(said.startswith(self.path("bundle/lib") + ":"), said)
        self.assertIn("--steps 48 --samples 4 --json", said)  # 1.2 times 60 s, after a trial of 20 steps in 30 s
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        import validate  # pylint: disable=import-outside-toplevel
        self.assertTrue(os.path.exists(self.path("out/logs/nodal-dg-device-medium-1-trial.json")))
        self.assertEqual([os.path.basename(p) for p in validate.reports_of(self.path("out"))[0]],
                         ["nodal-dg-device-medium-1-1.json", "nodal-dg-device-medium-1-2.json"])

    def test_what_it_cannot_use_is_refused(self):
        os.mkdir(self.path("out"))
        self.write("out/there", b"")
        for arguments, words in ((["--classes", "huge"], "expected some of nano, device"), ([], "new or empty"),
                                 (["--apps", "bench"], "found 'bench'"), (["--ranks", "0"], "expected numbers from 1"),
                                 (["--options", "x"], "expected APP=")):
            status, out = self.tender(*arguments)
            self.assertEqual(status, 2, out)
            self.assertIn(words, out)
            self.assertEqual(out.count("\n"), 1, out)

    def test_no_folder_is_made_of_a_dash(self):
        status, out = tool("tender", "-", "--programs", PROGRAMS)
        self.assertEqual(status, 2, out)
        self.assertIn("expected the name of a folder, found '-'", out)

    def test_commands_are_shown_before_they_run(self):
        status, out = self.tender("--classes", "device,node", "--ranks", "1,8", "--dryrun", "--launcher", "srun -n {ranks}")
        self.assertEqual(status, 0, out)
        self.assertIn("srun -n 8 ", out)
        self.assertEqual(out.count("--size node"), 6 * 2 * 3)
        self.assertEqual(out.count("--scheme preconditioned --modes 100"), 2 * 2 * 3)  # of overlap-propagator alone
        self.assertFalse(os.path.exists(self.path("out")))

    def test_a_job_of_slurm_tells_srun_the_cpus_of_a_rank(self):
        srun = self.write("srun", b"#!/bin/sh\n")
        os.chmod(srun, 0o755)
        job = {"PATH": os.path.dirname(srun) + ":" + os.environ["PATH"], "SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "16"}
        with unittest.mock.patch.dict(os.environ, job):
            status, out = self.tender("--classes", "nano", "--ranks", "2", "--apps", "multigrid", "--dryrun")
        self.assertEqual(status, 0, out)
        self.assertIn("srun -n 2 --cpus-per-task=16 ", out)


if __name__ == "__main__":
    unittest.main()
