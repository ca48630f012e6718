# SPDX-License-Identifier: BSD-3-Clause
"""Output files: complete or not at all, never over another one unasked, and refused before anything is computed."""
import glob
import os
import resource
import signal
import stat
import subprocess
import time
import unittest

from harness import MPIEXEC, NO_OUTPUT, PROPAGATOR, QUICK, SUCCESS, UNUSABLE, CommandLineTest, GaugeFile, command, environment, run


class Report(CommandLineTest):
    def test_is_not_overwritten_unasked_and_nothing_is_computed(self):
        self.write("r.json", b"precious")
        result = run(*QUICK, "--json", self.path("r.json"))
        self.assert_refused(result, NO_OUTPUT, "r.json", "--force")
        self.assertNotIn("plaquette", result.out)
        with open(self.path("r.json"), "rb") as file:
            self.assertEqual(file.read(), b"precious")

    def test_is_overwritten_with_force(self):
        self.write("r.json", b"old")
        self.assertEqual(run(*QUICK, "--json", self.path("r.json"), "--force").status, SUCCESS)
        self.assertEqual(self.read_json("r.json")["app"], "mixed-precision-solver")

    def test_is_not_that_of_another_option_behind_links_that_lead_nowhere_yet(self):
        os.symlink("second", self.path("first"))
        os.symlink(self.path("r.json"), self.path("second"))
        result = run(*QUICK, "--checkpoint", self.path("first"), "--json", self.path("r.json"), "--force")
        self.assert_refused(result, UNUSABLE, "--json", "--checkpoint", "twice")

    def test_cannot_go_where_there_is_no_directory(self):
        result = run(*QUICK, "--json", self.path("absent/r.json"))
        self.assert_refused(result, NO_OUTPUT, "absent/r.json")
        self.assertNotIn("plaquette", result.out)

    def test_cannot_replace_a_directory_or_a_device(self):
        for path in [self.directory, "/dev/full", "/dev/null"]:
            with self.subTest(path=path):
                self.assert_refused(run(*QUICK, "--json", path, "--force"), NO_OUTPUT, path)

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_cannot_go_into_a_directory_that_is_closed(self):
        os.mkdir(self.path("closed"), stat.S_IRUSR | stat.S_IXUSR)
        self.assert_refused(run(*QUICK, "--json", self.path("closed/r.json")), NO_OUTPUT, "closed/r.json")

    def test_that_the_system_does_not_take_is_an_error(self):
        self.assert_refused(run(*QUICK, "--json", "/proc/r.json"), NO_OUTPUT, "/proc/r.json")

    def test_that_outgrows_its_limit_leaves_nothing_behind(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        # stdout goes to a pipe, which has no such limit
        result = run(*QUICK, "--json", self.path("r.json"), preexec_fn=limit)
        self.assert_refused(result, NO_OUTPUT, "r.json")
        self.assertEqual(os.listdir(self.directory), [])

    def test_leaves_no_temporary_file(self):
        self.assertEqual(run(*QUICK, "--json", self.path("r.json")).status, SUCCESS)
        self.assertEqual(os.listdir(self.directory), ["r.json"])

    def test_is_found_where_the_user_stands(self):
        self.assertEqual(run(*QUICK, "--json", "r.json", cwd=self.directory).status, SUCCESS)
        self.assertTrue(os.path.exists(self.path("r.json")))


class OneFileForTwoOptions(CommandLineTest):
    def test_is_refused_before_anything_is_computed(self):
        whole = GaugeFile().bytes()
        self.write("g.nersc", whole)
        for options in [("--gauge", "--json"), ("--checkpoint", "--json"), ("--propagator", "--checkpoint")]:
            with self.subTest(options=options):
                first, second = (self.path("g.nersc"), os.path.join(self.directory, ".", "g.nersc"))
                result = run(options[0], first, options[1], second, "--mass", "0.1", "--force")
                self.assert_refused(result, UNUSABLE, *options)
                self.assertNotIn("plaquette", result.out)
                with open(first, "rb") as file:
                    self.assertEqual(file.read(), whole)


class StandardOutput(CommandLineTest):
    def test_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for arguments in [QUICK, ["--help"]]:
                with self.subTest(arguments=arguments):
                    self.assertEqual(run(*arguments, stdout=full).status, NO_OUTPUT)

    def test_stderr_is_silent_where_it_is_no_terminal(self):
        result = run(*QUICK)
        self.assertEqual(result.status, SUCCESS)
        self.assertEqual(result.err, "")


class LimePropagator(CommandLineTest):
    def read(self, *arguments, **options):
        return run("--gauge", "weak:0.2", "--lattice", "4x4x4x4", "--read-propagator", self.path("p.lime"), *arguments,
                   **options)

    def test_is_read_back_with_the_same_correlators(self):
        for basis, fields in (("degrand-rossi", 1), ("tmlqcd", 12)):
            written = run(*PROPAGATOR, "--propagator", self.path("p.lime"), "--basis", basis, "--json",
                          self.path("w.json"), "--force")
            self.assertEqual(written.status, SUCCESS, written.err + written.out)
            self.assertIn("numbers of the propagator that differ in its file",
                          [check["name"] for check in self.read_json("w.json")["checks"]])
            with open(self.path("p.lime"), "rb") as file:
                self.assertEqual(file.read().count(b"scidac-binary-data"), fields)
            for ranks in (1, 2) if MPIEXEC else (1,):
                result = self.read("--json", self.path("r.json"), "--force", ranks=ranks)
                self.assertEqual(result.status, SUCCESS, result.err + result.out)
                solved, read = (self.read_json(name)["observables"] for name in ("w.json", "r.json"))
                for observable in ["pion", "rho"]:
                    for a, b in zip(solved[observable], read[observable]):
                        self.assertAlmostEqual(a, b, delta=1e-13 * abs(a))

    def test_is_known_by_its_first_bytes(self):
        self.assertEqual(run(*PROPAGATOR, "--propagator", self.path("p.lime")).status, SUCCESS)
        os.rename(self.path("p.lime"), self.path("p.prop"))
        result = run("--gauge", "weak:0.2", "--lattice", "4x4x4x4", "--read-propagator", self.path("p.prop"))
        self.assertEqual(result.status, SUCCESS, result.err + result.out)

    def test_that_is_damaged_is_refused(self):
        self.assertEqual(run(*PROPAGATOR, "--propagator", self.path("p.lime")).status, SUCCESS)
        with open(self.path("p.lime"), "rb") as file:
            whole = file.read()
        facts = whole.rindex(b"plaquette-propagator") - 16
        middle = len(whole) // 2
        for data, words in ((whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:], "checksum"),
                            (whole[:facts], "plaquette-propagator"), (whole[:-9], "p.lime"), (b"", "p.lime"),
                            (whole.replace(b"mass", b"moss"), "checksum")):
            self.write("p.lime", data)
            self.assert_refused(self.read(), UNUSABLE, "p.lime", words)


class Propagator(CommandLineTest):
    def setUp(self):
        super().setUp()
        if "without HDF5" in run("--lattice", "2x2x2x2", "--gauge", "unit", "--read-propagator", "absent.h5").err:
            self.skipTest("built without HDF5")

    def solve(self, *arguments):
        return run(*PROPAGATOR, "--propagator", self.path("p.h5"), "--json", self.path("w.json"), *arguments)

    def read(self, *arguments):
        return run("--gauge", "weak:0.2", "--lattice", "4x4x4x4", "--read-propagator", self.path("p.h5"), *arguments)

    def test_is_read_back_in_every_basis_with_the_same_correlators(self):
        for basis in ["degrand-rossi", "nonrelativistic", "dirac-pauli", "openqcd", "tmlqcd"]:
            with self.subTest(basis=basis):
                written = self.solve("--basis", basis, "--force")
                self.assertEqual(written.status, SUCCESS, written.err + written.out)
                result = self.read("--json", self.path("r.json"), "--force")
                self.assertEqual(result.status, SUCCESS, result.err + result.out)
                solved, read = (self.read_json(name)["observables"] for name in ("w.json", "r.json"))
                for observable in ["pion", "rho"]:
                    for a, b in zip(solved[observable], read[observable]):
                        self.assertAlmostEqual(a, b, delta=1e-13 * abs(a))

    def test_with_one_number_changed_fails_its_check(self):
        self.assertEqual(self.solve().status, SUCCESS)
        with open(self.path("p.h5"), "r+b") as file:
            # Most of the file is data; of a number there, the byte with sign and exponent.
            file.seek(os.path.getsize(self.path("p.h5")) // 16 * 8 + 7)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 0xFF]))
        result = self.read()
        self.assertEqual(result.status, 1, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"))

    def test_of_another_configuration_fails_its_check(self):
        self.assertEqual(self.solve().status, SUCCESS)
        result = self.read("--seed", "2")
        self.assertEqual(result.status, 1, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"))

    def test_that_is_no_such_file_is_refused(self):
        self.assertEqual(self.solve().status, SUCCESS)
        with open(self.path("p.h5"), "rb") as file:
            whole = file.read()
        for data in [b"", whole[:100], whole[:len(whole) // 2], b"x" * 10000]:
            with self.subTest(length=len(data)):
                self.write("p.h5", data)
                self.assert_refused(self.read(), UNUSABLE, "p.h5")
        os.remove(self.path("p.h5"))
        self.assert_refused(self.read(), UNUSABLE, "p.h5")

    def test_on_another_lattice_is_refused(self):
        self.assertEqual(self.solve().status, SUCCESS)
        result = run("--gauge", "unit", "--lattice", "4x4x4x8", "--read-propagator", self.path("p.h5"))
        self.assert_refused(result, UNUSABLE, "p.h5", "4x4x4x8")

    def test_is_not_overwritten_unasked(self):
        self.write("p.h5", b"precious")
        result = self.solve()
        self.assert_refused(result, NO_OUTPUT, "p.h5", "--force")
        self.assertNotIn("plaquette", result.out)

    def test_that_outgrows_its_limit_leaves_the_old_file(self):
        self.write("p.h5", b"precious")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

        result = run(*PROPAGATOR, "--propagator", self.path("p.h5"), "--force", preexec_fn=limit)
        self.assert_refused(result, NO_OUTPUT, "p.h5")
        self.assertEqual(os.listdir(self.directory), ["p.h5"])
        with open(self.path("p.h5"), "rb") as file:
            self.assertEqual(file.read(), b"precious")

    def test_of_no_solution_is_not_written(self):
        result = self.solve("--max-iterations", "2")
        self.assertEqual(result.status, 3)
        self.assertFalse(os.path.exists(self.path("p.h5")))

    def test_killed_while_it_is_written_leaves_the_old_file(self):
        """Kills at different moments from the first sight of the temporary file on."""
        old = b"precious"
        killed_in_time = 0
        for delay in [0.0, 0.003, 0.01]:
            for leftover in glob.glob(self.path("*")):
                os.remove(leftover)
            self.write("p.h5", old)
            with subprocess.Popen(command(["--lattice", "8x8x8x8", "--gauge", "unit", "--mass", "1", "--tol", "1e-3",
                                           "--repeat", "0", "--propagator", self.path("p.h5"), "--force"]),
                                  env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and len(os.listdir(self.directory)) < 2:
                    time.sleep(0.0005)
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
                process.wait()
            with open(self.path("p.h5"), "rb") as file:
                content = file.read()
            if process.returncode == -signal.SIGKILL and content == old:
                killed_in_time += 1
            else:  # it was too late: then the new file is whole
                self.assertGreater(len(content), 8 ** 4 * 144 * 16)
        self.assertGreater(killed_in_time, 0)


if __name__ == "__main__":
    unittest.main()
