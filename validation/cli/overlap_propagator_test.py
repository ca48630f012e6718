# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-overlap-propagator: verified on a small lattice by several ways, continued from its files, plain refusals."""
import json
import os
import unittest

import harness
from harness import SCHEMA, SUCCESS, UNUSABLE, CommandLineTest
from json_schema import errors

PROGRAM = os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]


def run(*arguments, **options):
    return harness.run(*arguments, program=PROGRAM, **options)


class OverlapTest(CommandLineTest):
    TINY = {"--lattice": "2x2x2x4", "--gauge": "weak:0.3", "--seed": "5", "--modes": "6", "--overlap-modes": "3",
            "--masses": "0.1,0.4", "--threads": "1"}

    def options(self, arguments):
        """TINY, with what `arguments` say otherwise."""
        chosen = dict(self.TINY)
        chosen.update(zip(arguments[::2], arguments[1::2]))
        return [word for pair in chosen.items() for word in pair] + ["--force"]

    def report(self, *arguments):
        path = self.path("report.json")
        result = run(*self.options(arguments), "--json", path)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)
        with open(path) as file:
            document = json.load(file)
        with open(SCHEMA) as file:
            self.assertEqual(errors(document, json.load(file)), [])
        return document

    def refused(self, *arguments):
        result = run(*self.options(arguments))
        self.assertEqual(result.status, UNUSABLE, result.err + result.out)
        lines = result.err.rstrip("\n").split("\n")
        self.assertEqual(len(lines), 1, result.err)
        self.assertNotIn("PASSED", result.out)
        return lines[0]


class Results(OverlapTest):
    def test_the_report_holds_what_another_program_needs(self):
        found = self.report()["observables"]
        self.assertEqual(len(found["kernel"]["eigenvalues"]), 6)
        self.assertEqual(len(found["kernel"]["residuals"]), 6)
        self.assertGreater(found["kernel"]["bound"], 5.0)
        self.assertEqual(len(found["sign"]["coefficients"]), found["sign"]["degree"] + 1)
        self.assertLessEqual(found["sign"]["delta"], 1e-9)
        self.assertEqual(found["index"], found["overlap"]["index"])
        for re, im in found["overlap"]["eigenvalues"]:  # on the circle |z - 1| = 1
            self.assertAlmostEqual((re - 1.0) ** 2 + im ** 2, 1.0, places=8)
        self.assertEqual([m["mass"] for m in found["masses"]], [0.1, 0.4])
        for m in found["masses"]:
            self.assertLessEqual(m["residual"], 1e-8)
            self.assertEqual(len(m["pion"]), 4)
            self.assertAlmostEqual(m["condensate"] / (m["mass"] * sum(m["pion"])), 1.0, places=6)

    def test_all_ways_lead_to_the_same_correlators(self):
        expected = self.report()["observables"]["masses"]
        for other in (("--modes", "0"), ("--sign", "zolotarev"), ("--sign", "zolotarev-double-pass"),
                      ("--scheme", "fixed", "--sign-precision", "double"), ("--scheme", "defect"),
                      ("--mode-method", "arnoldi"), ("--overlap-modes", "0")):
            found = self.report(*other)["observables"]["masses"]
            for one, two in zip(expected, found):
                for a, b in zip(one["pion"], two["pion"]):
                    self.assertAlmostEqual(a / b, 1.0, places=6, msg=str(other))

    def test_a_range_and_a_degree_can_be_fixed_by_hand(self):
        kernel = self.report("--until", "modes")["observables"]["kernel"]
        lowest = abs(kernel["eigenvalues"][-1])
        found = self.report("--range", f"{0.99 * lowest},{1.01 * kernel['bound']}", "--degree", "200", "--until",
                            "sign")["observables"]["sign"]
        self.assertEqual(found["degree"], 200)
        self.assertEqual(found["range"], [0.99 * lowest, 1.01 * kernel["bound"]])

    def test_a_run_goes_on_from_its_files(self):
        prefix = self.path("kept")
        first = self.report("--checkpoint", prefix)["observables"]
        for part in ("modes", "overlap", "solutions"):
            self.assertTrue(os.path.exists(f"{prefix}.{part}.h5"), part)
        again = self.report("--checkpoint", prefix)["observables"]
        self.assertEqual([s["stage"] for s in again["calculation"] if s["restored"]],
                         ["modes of H", "modes of D", "propagators"])
        for a, b in zip(first["masses"], again["masses"]):
            for one, two in zip(a["pion"], b["pion"]):  # vectors in a file are in another spin basis: rounding
                self.assertAlmostEqual(one / two, 1.0, places=12)
        os.remove(f"{prefix}.solutions.h5")
        solved = self.report("--checkpoint", prefix)["observables"]["masses"]
        for a, b in zip(first["masses"], solved):
            self.assertAlmostEqual(a["condensate"] / b["condensate"], 1.0, places=7)

    def test_modes_are_those_that_another_program_converged(self):
        links = os.path.join(os.environ.get("PLAQUETTE_REFERENCE", ""), "chroma/weak_field.lime")
        if not os.path.exists(links):
            self.skipTest(f"no reference data: {links} does not exist")
        path = self.path("weak.json")
        result = run("--gauge", links, "--modes", "8", "--until", "modes", "--threads", "1", "--json", path)
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        with open(path) as file:
            kernel = json.load(file)["observables"]["kernel"]
        known = (0.64461111, -0.64464294, 0.64479515, -0.64481676, -0.64779936, 0.64790296, 0.64809224, -0.64813315)
        for found, printed in zip(kernel["eigenvalues"], known):
            self.assertAlmostEqual(found, printed, delta=0.51e-8)
        self.assertLess(6.547179, kernel["bound"])
        self.assertLess(kernel["bound"], 6.547179 * 1.005)

    def test_ranks_share_the_lattice_and_find_the_same(self):
        if not harness.MPIEXEC:
            self.skipTest("built without MPI")
        problem = ("--lattice", "2x2x2x8", "--until", "modes")
        alone = self.report(*problem)["observables"]
        for ranks in (2, 4):
            path = self.path("ranks.json")
            result = run(*self.options(problem), "--json", path, ranks=ranks)
            self.assertEqual(result.status, SUCCESS, result.err + result.out)
            with open(path) as file:
                together = json.load(file)["observables"]
            for a, b in zip(alone["kernel"]["eigenvalues"], together["kernel"]["eigenvalues"]):
                self.assertAlmostEqual(a, b, places=10)

    def test_files_of_another_problem_are_refused(self):
        prefix = self.path("kept")
        self.report("--checkpoint", prefix, "--until", "modes")
        for other in (("--rho", "1.3"), ("--seed", "6"), ("--modes", "5")):
            message = self.refused("--checkpoint", prefix, "--until", "modes", *other)
            self.assertIn("kept.modes.h5", message)


class Refusals(OverlapTest):
    def test_what_cannot_be_used_is_refused_in_one_line(self):
        for arguments, word in ((("--rho", "2"), "--rho"), (("--rho", "0"), "--rho"), (("--rho", "-1"), "--rho"),
                                (("--masses", "0.1,0.1"), "--masses"), (("--masses", "-0.1"), "--masses"),
                                (("--masses", "5"), "--masses"), (("--degree", "3"), "--degree"),
                                (("--sign", "zolotarev", "--poles", "2"), "--poles"), (("--poles", "5"), "--poles"),
                                (("--range", "2,1"), "--range"), (("--range", "0.0001,8"), "--modes"),
                                (("--sign", "taylor"), "--sign")):
            self.assertIn(word, self.refused(*arguments), arguments)


if __name__ == "__main__":
    unittest.main()
