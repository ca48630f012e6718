# SPDX-License-Identifier: BSD-3-Clause
"""Standard streams that are closed, full, or pipes that nobody reads; and reports that go to stdout. An exit status is
that of the error, whatever becomes of its message."""
import json
import os
import subprocess
import unittest

from harness import (MPIEXEC, NO_CONVERGENCE, NO_OUTPUT, QUICK, SOLVER, SUCCESS, UNUSABLE, CommandLineTest, command,
                     environment, run)

#: Each program, and a run of a second or less that ends well.
PROGRAMS = {
    SOLVER: QUICK,
    os.environ["PLAQUETTE_NODAL_DG"]: ["--box", "2x2x2", "--order", "2", "--steps", "3"],
    os.environ["PLAQUETTE_MAKE_CONFIGURATION"]: ["--lattice", "4x4x4x4", "--sweeps", "2"],
    os.environ["PLAQUETTE_DSLASH_SCALING"]: ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--samples", "3", "--operator",
                                             "hopping"],
    os.environ["PLAQUETTE_MULTIGRID"]: ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.3", "--vectors", "4",
                                        "--rhs", "1", "--trials", "0", "--modes", "0", "--reference", "none"],
    os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]: ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--seed", "5", "--modes",
                                                 "6", "--until", "modes"],
    os.environ["PLAQUETTE_INSPECT"]: [os.path.join(os.environ["PLAQUETTE_DG_MESHES"], "box100.msh")],
    **({os.environ["PLAQUETTE_LADDER"]: []} if "PLAQUETTE_LADDER" in os.environ else {}),
}


def redirected(redirection, *arguments, program=SOLVER, **options):
    """Runs a program under a shell with this redirection."""
    return subprocess.run(["bash", "-c", f'"$@" {redirection}', "bash", *command(arguments, program=program)], check=False,
                          env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, **options)


class StandardError(CommandLineTest):
    def test_that_takes_nothing_keeps_the_status_of_an_error(self):
        for program in PROGRAMS:
            pipes = [] if program == os.environ.get("PLAQUETTE_LADDER") else ["2> >(exec true)"]
            for redirection in ("2>&-", "2>/dev/full", *pipes):
                with self.subTest(program=program, redirection=redirection):
                    self.assertEqual(redirected(redirection, "--no-such-option", "x", program=program).returncode, UNUSABLE)

    def test_that_takes_nothing_keeps_the_status_of_a_run(self):
        for redirection in ("2>&-", "2>/dev/full"):
            with self.subTest(redirection=redirection):
                done = redirected(redirection, *QUICK, "--json", self.path("r.json"), "--force")
                self.assertEqual(done.returncode, SUCCESS, done.stdout)
                done = redirected(redirection, *QUICK, "--max-iterations", "1", "--json", self.path("n.json"), "--force")
                self.assertEqual(done.returncode, NO_CONVERGENCE, done.stdout)
                # What was for a closed stderr has not gone to a file that was opened in its place.
                self.assertFalse(self.read_json("n.json")["verified"])
                self.assertEqual(sorted(os.listdir(self.directory)), ["n.json", "r.json"])


class StandardOutput(CommandLineTest):
    def test_that_is_closed_is_an_output_that_could_not_be_written(self):
        for program, arguments in PROGRAMS.items():
            for redirection in (">&-", ">&- 2>&-"):
                with self.subTest(program=program, redirection=redirection):
                    done = redirected(redirection, *arguments, program=program)
                    self.assertEqual(done.returncode, NO_OUTPUT, done.stderr)
                    self.assertEqual("standard output could not be written" in done.stderr, "2>" not in redirection)

    def test_takes_a_report(self):
        for ranks in (1, 2) if MPIEXEC else (1,):
            result = run(*QUICK, "--json", "-", ranks=ranks, cwd=self.directory)
            self.assertEqual(result.status, SUCCESS, result.err)
            self.assertTrue(json.loads(result.out)["verified"])
            self.assertIn("\nreport     on standard output\n", result.err)
            self.assertIn("\nVERIFIED   PASSED ", result.err)
            self.assertEqual(os.listdir(self.directory), [])
        self.write("-", b"kept")
        stopped = run(*QUICK, "--max-iterations", "1", "--json", "-", cwd=self.directory)
        self.assertEqual(stopped.status, NO_CONVERGENCE, stopped.err)
        self.assertFalse(json.loads(stopped.out)["verified"])
        with open(self.path("-"), "rb") as file:
            self.assertEqual(file.read(), b"kept")

    def test_that_takes_no_report_is_an_error(self):
        for redirection in (">&-", ">/dev/full"):
            with self.subTest(redirection=redirection):
                done = redirected(redirection, *QUICK, "--json", "-")
                self.assertEqual(done.returncode, NO_OUTPUT, done.stderr)
                self.assertIn("standard output could not be written", done.stderr)
                self.assertNotIn("PASSED", done.stderr)

    def test_is_no_file_of_another_option(self):
        for program, options in {SOLVER: ("--propagator", "--checkpoint", "--read-propagator"),
                                 os.environ["PLAQUETTE_NODAL_DG"]: ("--mesh", "--vtk", "--plane", "--energy", "--checkpoint"),
                                 os.environ["PLAQUETTE_MAKE_CONFIGURATION"]: ("--output", "--history", "--checkpoint"),
                                 os.environ["PLAQUETTE_MULTIGRID"]: ("--save-setup", "--load-setup"),
                                 os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]: ("--propagators", "--checkpoint")}.items():
            for option in options:
                with self.subTest(program=program, option=option):
                    result = run(*PROGRAMS[program], option, "-", program=program, cwd=self.directory)
                    self.assertEqual(result.status, UNUSABLE, result.out)
                    self.assertIn(f": {option}: expected the name of a file, found '-'", result.err)
        self.assertEqual(os.listdir(self.directory), [])


if __name__ == "__main__":
    unittest.main()
