# SPDX-License-Identifier: BSD-3-Clause
"""Precisions of solution and Krylov space, schemes and stored reals of a link, at the command line and in the report."""
import json
import unittest

from harness import NO_CONVERGENCE, PROPAGATOR, QUICK, SCHEMA, SUCCESS, UNUSABLE, CommandLineTest, run
from json_schema import errors

with open(SCHEMA, encoding="utf-8") as schema_file:
    SCHEMA_DOCUMENT = json.load(schema_file)

MODES = ["double", "single", "double-single", "double-half", "single-half"]


class MixedPrecision(CommandLineTest):
    def solve(self, *arguments):
        result = run(*QUICK, *arguments, "--json", self.path("r.json"), "--force")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        return result, document["solves"][0], document

    def test_the_default_solver_goes_on_where_bicgstab_breaks_down(self):
        hard = ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--mass", "-1", "--csw", "1", "--rhs", "1", "--repeat", "0",
                "--tol", "1e-10"]
        self.assertEqual(run(*hard, "--solver", "bicgstab").status, NO_CONVERGENCE)
        result = run(*hard)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertIn("bicgstab gave way to cgnr after 8 iterations", result.out)
        self.assertNotIn("multigrid", result.out)  # CG takes 140 iterations

    def test_the_default_solver_takes_little_more_than_the_best_one(self):
        weak = ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--csw", "1", "--rhs", "1", "--repeat", "0", "--tol", "1e-10",
                "--json", self.path("a.json"), "--force"]

        def applications(*arguments):
            result = run(*weak, *arguments)
            done = self.read_json("a.json")["solves"][0]["applications"]
            return done["inner"] + done["outer"] if result.status == SUCCESS else float("inf")

        for mass in ("-0.3", "-0.6", "-1", "-1.5"):
            for precision in ("double-single", "double-half"):
                with self.subTest(mass=mass, precision=precision):
                    case = ("--mass", mass, "--precision", precision)
                    best = min(applications(*case, "--solver", solver) for solver in ("bicgstab", "bicgstab4", "cgnr", "cgne"))
                    self.assertLessEqual(applications(*case), 1.34 * best)  # 1.3, and 3% of it

    def test_a_gaussian_source_is_smeared_with_links_before_or_after_stout_smearing(self):
        smeared = [*PROPAGATOR, "--source", "gaussian", "--stout-steps", "2"]
        file = self.path("p.h5")
        pions = {}
        for links in ("smeared", "thin"):
            result = run(*smeared, "--smearing-links", links, "--propagator", file, "--json", self.path("r.json"), "--force")
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            pions[links] = self.read_json("r.json")["observables"]["pion"]
            # The file says which ones it had: its residual is that of the same source.
            again = run("--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--stout-steps", "2", "--read-propagator", file)
            self.assertEqual(again.status, SUCCESS, again.err + again.out)
        self.assertNotAlmostEqual(pions["thin"][1] / pions["smeared"][1], 1.0, places=6)

    def test_help_names_the_options(self):
        help_text = run("--help").out
        for word in ["--precision", *MODES, "--solution", "--scheme", "reliable", "defect-correction", "--delta",
                     "--reconstruct", "--inner-reconstruct"]:
            self.assertIn(word, help_text)

    def test_every_mode_meets_its_tolerance_or_says_that_it_is_at_the_floor(self):
        # Solutions in double meet 1e-14; the floor of one in single, epsilon |M| |x| / |b|, is below 1e-6 here.
        for mode in MODES:
            for scheme in ["reliable", "defect-correction"]:
                with self.subTest(mode=mode, scheme=scheme):
                    _, solve, document = self.solve("--precision", mode, "--scheme", scheme)
                    single = mode.startswith("single")
                    self.assertEqual(solve["precision"], mode)
                    self.assertEqual(document["parameters"]["tolerance"], 1e-7 if single else 1e-14)
                    column = solve["columns"][0]
                    self.assertLessEqual(column["residual"]["reference"], 1e-6 if single else 1.2e-14)
                    if column["at_floor"]:
                        self.assertIn("floor", column["why"])
                    elif not single:
                        self.assertLessEqual(column["residual"]["device"], 1e-14)
                    self.assertEqual(column["mismatches"], 0)
                    self.assertGreater(solve["applications"]["inner"], solve["applications"]["outer"])
                    self.assertEqual(solve["updates"], len(column["updates"]))
                    for iteration, iterated, truth in column["updates"]:
                        self.assertLessEqual(iteration, column["iterations"])
                        self.assertGreater(min(iterated, truth), 0.0)
                    iterations = [u[0] for u in column["updates"]]
                    self.assertEqual(iterations, sorted(iterations))

    def test_the_correlator_is_the_same_in_every_mode_with_the_solution_in_double(self):
        pions = []
        for mode in ["double", "double-single", "double-half"]:
            result = run(*PROPAGATOR, "--precision", mode, "--tol", "1e-12", "--json", self.path("p.json"), "--force")
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            pions.append(self.read_json("p.json")["observables"]["pion"])
        # Residuals of 1e-12 leave |S|^2 to a few times 1e-12 of its largest value, the smallest singular value of M
        # being above 0.3.
        for pion in pions[1:]:
            for a, b in zip(pion, pions[0]):
                self.assertAlmostEqual(a, b, delta=1e-11 * max(pion))

    def test_single_half_with_the_solution_in_double_meets_its_tolerance_truly(self):
        _, solve, document = self.solve("--precision", "single-half", "--solution", "double")
        self.assertEqual(document["parameters"]["tolerance"], 1e-7)
        self.assertEqual((solve["solution_precision"], solve["inner_precision"]), ("double", "half"))
        self.assertLessEqual(solve["residual"]["reference"], 1e-7 * (1 + 1e-6))
        self.assertFalse(solve["columns"][0]["at_floor"])

    def test_delta_says_how_often_the_residual_is_made_anew(self):
        updates = [self.solve("--precision", "double-single", "--delta", delta)[1]["updates"]
                   for delta in ["1e-1", "1e-3", "1e-6"]]
        self.assertEqual(updates, sorted(updates, reverse=True))
        self.assertGreater(updates[0], updates[2])

    def test_links_of_fewer_reals_give_the_same_solution(self):
        for arguments in [["--reconstruct", "12"], ["--reconstruct", "8"],
                          ["--precision", "double-single", "--inner-reconstruct", "8"],
                          ["--precision", "double-half", "--reconstruct", "12"]]:
            with self.subTest(arguments=arguments):
                # What a link is off by when it is rebuilt in double is some roundoffs.
                _, solve, document = self.solve(*arguments, "--tol", "1e-12", "--check")
                self.assertLessEqual(solve["residual"]["reference"], 1.1e-12)
                stored = dict(zip(arguments[::2], arguments[1::2]))
                inner = int(stored.get("--inner-reconstruct", stored.get("--reconstruct", "18")))
                self.assertEqual(solve["inner_reconstruct"], inner)
                self.assertEqual(document["figures"][0]["reconstruct"], inner)

    def test_figures_show_the_operator_of_each_precision(self):
        _, _, document = self.solve("--precision", "double-half")
        self.assertEqual([f["precision"] for f in document["figures"]], ["half", "double"])
        # 3696 flops and (2 (8 x 18 x 2) + 2 (72 x 2 + 8) + 5 (24 x 2 + 4)) bytes an even site: scales of 4 bytes.
        figure = document["figures"][0]
        self.assertAlmostEqual(figure["gflops"] / figure["gbytes_per_s"], 3696 / (576 + 304 + 260), delta=1e-6)
        _, _, document = self.solve("--precision", "double")
        self.assertEqual([f["precision"] for f in document["figures"]], ["double"])

    def test_solvers_without_reliable_updates_take_corrections(self):
        for solver in ["gcr", "mr"]:
            with self.subTest(solver=solver):
                _, solve, _ = self.solve("--solver", solver, "--precision", "double-single", "--tol", "1e-12")
                self.assertEqual(solve["scheme"], "defect correction")
        _, solve, _ = self.solve("--solver", "gcr", "--tol", "1e-12")
        self.assertEqual((solve["scheme"], solve["updates"]), ("none", 0))

    def test_what_makes_no_sense_is_refused(self):
        for arguments, words in [
                (["--precision", "half"], ["--precision", "expected one of"]),
                (["--precision", "half-single"], ["--precision", "expected one of"]),
                (["--scheme", "none"], ["--scheme", "expected one of"]),
                (["--reconstruct", "9"], ["--reconstruct", "expected one of"]),
                (["--inner-reconstruct", "16"], ["--inner-reconstruct", "expected one of"]),
                (["--delta", "2"], ["--delta"]),
                (["--delta", "nan"], ["--delta"]),
                (["--delta", "1"], ["--delta"]),
                (["--precision", "double-half", "--solution", "single"], ["--solution"]),
                (["--precision", "single-half", "--tol", "1e-12"], ["--tol", "single"]),
                (["--solver", "gcr", "--precision", "double-half", "--scheme", "reliable"], ["--scheme", "bicgstab"]),
                (["--solver", "gcr", "--scheme", "reliable"], ["--scheme", "bicgstab"]),
                (["--basis", "tmlqcd"], ["--basis", "--propagator"]),
                (["--source", "gaussian", "--smearing-links", "thin"], ["--smearing-links", "--stout-steps"]),
                (["--smearing-radius", "2"], ["--smearing-radius", "gaussian"]),
                (["--source", "wall", "--smearing-steps", "3"], ["--smearing-steps", "gaussian", "wall"]),
                (["--read-propagator", "x.h5", "--basis", "tmlqcd"], ["--basis", "--read-propagator"]),
                (["--read-propagator", "x.h5", "--scheme", "reliable"], ["--scheme", "--read-propagator"])]:
            with self.subTest(arguments=arguments):
                self.assert_refused(run(*arguments), UNUSABLE, *words)


if __name__ == "__main__":
    unittest.main()
