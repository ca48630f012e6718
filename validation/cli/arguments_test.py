# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that cannot be used, and the help that says which can."""
import os
import unittest
import unittest.mock

from harness import MPIEXEC, NO_MEMORY, SUCCESS, UNUSABLE, CommandLineTest, run


class Help(CommandLineTest):
    def test_help_names_every_option_and_every_exit_status(self):
        result = run("--help")
        self.assertEqual(result.status, SUCCESS)
        self.assertEqual(result.err, "")
        for word in ["--lattice", "--grid", "--device", "--precision", "--gauge", "--mass", "--kappa", "--csw", "--rhs",
                     "--tol", "--seed", "--json", "--check", "--threads", "--force", "--dryrun", "--time-bc",
                     "--time-limit", "--anisotropy", "--nu", "--clover-spatial", "--clover-temporal",
                     "--boundary-angles", "--size", "--source", "--source-position", "--smearing-radius",
                     "--smearing-steps", "--solver", "--preconditioning", "--max-iterations", "--propagator",
                     "--read-propagator", "--basis", "--repeat", "--tune", "--tune-file",
                     "--halo", "--wait", "--overlap", "--stall-timeout", "heatbath:BETA", "weak:EPS", "Exit status"]:
            self.assertIn(word, result.out)

    def test_version_is_printed(self):
        result = run("--version")
        self.assertEqual(result.status, SUCCESS)
        self.assertRegex(result.out, r"^plaquette-mixed-precision-solver \d+\.\d+\.\d+ \(revision [^ ,)]+(, changed)?\)\n$")


class Refusal(CommandLineTest):
    def test_numbers_that_are_none_or_out_of_range(self):
        for option, value in [("--mass", "heavy"), ("--mass", "nan"), ("--mass", "inf"), ("--mass", "0.1x"),
                              ("--mass", ""), ("--mass", "1e999"), ("--kappa", "-0.1"), ("--kappa", "0"),
                              ("--csw", "one"), ("--rhs", "0"), ("--rhs", "-3"), ("--rhs", "1.5"), ("--rhs", "13"),
                              ("--tol", "-1e-8"), ("--tol", "nan"), ("--tol", "1e-30"), ("--tol", "2"), ("--tol", "1"),
                              ("--seed", "-1"), ("--seed", "x"), ("--threads", "-1"), ("--threads", "100000"),
                              ("--lattice", "4x4x4"), ("--lattice", "4x4x4xt"), ("--lattice", "-4x4x4x4"),
                              ("--lattice", "4x4x4x4x4"), ("--lattice", "4,4,4,4"),
                              ("--lattice", "99999999999x4x4x4"), ("--grid", "1x1"), ("--grid", "0x1x1x1"),
                              ("--boundary-angles", "0,0,0"), ("--boundary-angles", "0,0,0,nan"),
                              ("--source-position", "0,0,0"), ("--source-position", "0,0,0,-1"),
                              ("--smearing-steps", "0"), ("--smearing-radius", "-1"), ("--max-iterations", "0"),
                              ("--anisotropy", "0"), ("--nu", "-1"), ("--nu", "1e300"), ("--mass", "1e20"), ("--csw", "-1e99"),
                              ("--time-limit", "0"), ("--repeat", "-1"),
                              ("--gauge", "weak:x"), ("--gauge", "weak:-1"), ("--gauge", "heatbath:-6"),
                              ("--gauge", "heatbath:6:ten"), ("--gauge", "heatbath"), ("--gauge", "")]:
            with self.subTest(option=option, value=value):
                self.assert_refused(run(option, value), UNUSABLE, option)

    def test_words_that_are_not_known(self):
        for option in ["--solver", "--precision", "--device", "--preconditioning", "--source", "--basis", "--size",
                       "--time-bc"]:
            with self.subTest(option=option):
                self.assert_refused(run(option, "abacus"), UNUSABLE, option, "abacus", "expected one of")

    def test_arguments_that_contradict_each_other(self):
        for arguments in [["--mass", "0.1", "--kappa", "0.12"], ["--time-bc", "periodic", "--boundary-angles", "0,0,0,1"],
                          ["--csw", "1", "--clover-spatial", "1", "--clover-temporal", "1"],
                          ["--read-propagator", "x.h5", "--mass", "0.1"], ["--rhs", "3", "--propagator", "x.h5"],
                          ["--mass", "0.1", "--mass", "0.2"]]:
            with self.subTest(arguments=arguments):
                self.assert_refused(run(*arguments), UNUSABLE, arguments[2])

    def test_options_without_value_and_strangers(self):
        self.assert_refused(run("--mass"), UNUSABLE, "--mass")
        self.assert_refused(run("--no-such-option"), UNUSABLE, "--no-such-option")
        self.assert_refused(run("stray"), UNUSABLE, "stray")
        self.assert_refused(run("-history", "x"), UNUSABLE, "-history", "two dashes")

    def test_text_of_strangers_stays_on_one_line(self):
        self.assert_refused(run("--mass", "1\n2\x1b[31m"), UNUSABLE, "\\x0a", "\\x1b")

    def test_a_device_that_is_not_there(self):
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=""):
            self.assert_refused(run("--device", "gpu"), UNUSABLE, "--device gpu")
            # What it would take is known without one.
            result = run("--device", "gpu", "--size", "target", "--dryrun")
        self.assertEqual(result.status, SUCCESS, result.err)
        self.assertIn("gpu memory", result.out)

    def test_options_of_a_gpu(self):
        for arguments in [["--tune", "off"], ["--tune-file", "t.json"], ["--protocol-seconds", "0,0"],
                          ["--halo", "peer"], ["--wait", "block"]]:
            with self.subTest(arguments=arguments):
                self.assert_refused(run(*arguments), UNUSABLE, arguments[0], "--device gpu")
        for option, value in [("--tune", "maybe"), ("--tune-file", ""), ("--protocol-seconds", "1"),
                              ("--protocol-seconds", "1,-1"), ("--protocol-seconds", "nan,1")]:
            with self.subTest(option=option, value=value):
                self.assert_refused(run("--device", "gpu", option, value), UNUSABLE, option)
        self.assert_refused(run("--device", "gpu", "--read-propagator", "x.h5"), UNUSABLE, "--device gpu",
                            "--read-propagator")


class Lattice(CommandLineTest):
    def test_extents_that_are_odd_or_below_two(self):
        for lattice in ["3x4x4x4", "4x4x4x5", "1x4x4x4", "4x4x1x4", "0x4x4x4"]:
            with self.subTest(lattice=lattice):
                self.assert_refused(run("--lattice", lattice, "--gauge", "unit"), UNUSABLE, lattice)

    def test_a_grid_for_another_number_of_ranks(self):
        self.assert_refused(run("--lattice", "4x4x4x8", "--grid", "1x1x1x2", "--gauge", "unit"), UNUSABLE, "2 ranks",
                            "found 1")

    def test_a_lattice_that_the_grid_does_not_divide(self):
        for grid in ["1x1x1x3", "1x1x1x4", "3x1x1x1"]:  # 8 / 3; 4 cut into odd or too small boxes
            with self.subTest(grid=grid):
                lattice = "4x4x4x8" if grid != "1x1x1x4" else "4x4x4x12"
                self.assert_refused(run("--lattice", lattice, "--grid", grid, "--gauge", "unit"), UNUSABLE, lattice)

    def test_a_source_outside_the_lattice(self):
        self.assert_refused(run("--lattice", "4x4x4x4", "--gauge", "unit", "--source-position", "0,0,0,4"), UNUSABLE,
                            "0,0,0,4", "4x4x4x4")

    def test_absurd_sizes(self):
        self.assert_refused(run("--lattice", "100000x100000x100000x100000", "--gauge", "unit"), UNUSABLE, "absurd")
        self.assert_refused(run("--lattice", "2147483646x2147483646x2147483646x2147483646", "--gauge", "unit"), UNUSABLE,
                            "absurd")

    def test_more_memory_than_there_is(self):
        result = run("--lattice", "512x512x512x1024", "--gauge", "unit")
        self.assert_refused(result, NO_MEMORY, "needs", "available")

    def test_more_memory_than_the_process_may_have(self):
        import resource

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

        result = run("--lattice", "32x32x32x64", "--gauge", "unit", preexec_fn=limit)
        self.assert_refused(result, NO_MEMORY, "needs", "available")

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_one_message_from_several_ranks(self):
        result = run("--lattice", "4x4x4x6", "--grid", "1x1x1x2", "--gauge", "unit", ranks=2)
        self.assertEqual(result.status, UNUSABLE, result.err)
        ours = [line for line in result.err.split("\n") if line.startswith("plaquette-mixed-precision-solver: ")]
        self.assertEqual(len(ours), 1, result.err)
        self.assertIn("4x4x4x6", ours[0])


class DryRun(CommandLineTest):
    def test_says_what_would_run_and_does_not_run_it(self):
        json = self.path("report.json")
        result = run("--size", "target", "--dryrun", "--json", json)
        self.assertEqual(result.status, SUCCESS, result.err)
        for word in ["32x32x32x64", "memory", "Gflop", "GiB", "solver", "source", "gauge"]:
            self.assertIn(word, result.out)
        self.assertNotIn("VERIFIED", result.out)
        with self.assertRaises(FileNotFoundError):
            open(json, encoding="utf-8").close()

    def test_the_ladder_grows(self):
        sizes = []
        for size in ["nano", "small", "reference", "target"]:
            out = run("--size", size, "--dryrun").out
            lattice = next(line for line in out.split("\n") if line.startswith("lattice")).split()[1].rstrip(",")
            x, y, z, t = (int(n) for n in lattice.split("x"))
            sizes.append(x * y * z * t)
        self.assertEqual(sizes, sorted(set(sizes)))


if __name__ == "__main__":
    unittest.main()
