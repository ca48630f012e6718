# SPDX-License-Identifier: BSD-3-Clause
"""The report fits its schema, and report, last line and exit status say one thing."""
import copy
import json
import math
import os
import re
import unittest

from harness import MPIEXEC, NO_CONVERGENCE, PROPAGATOR, SCHEMA, SUCCESS, CommandLineTest, run
from json_schema import errors

with open(SCHEMA, encoding="utf-8") as schema_file:
    SCHEMA_DOCUMENT = json.load(schema_file)


class Schema(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        cls.document = {
            "schema_version": "1.0", "app": "a", "fom": {"value": 1.0, "unit": "u", "what": "w"}, "verified": True,
            "checks": [{"name": "n", "value": "nan", "tolerance": 1, "passed": False}], "parameters": {},
            "machine": {"cpu": "c", "gpu": "none", "driver": "none", "libraries": {}, "ranks": 1, "threads": 1,
                        "memory_bytes": 1.0},
            "build": {"compiler": "c", "flags": "f", "revision": "r", "dirty": False},
            "gauge": {"source": "unit", "plaquette": 1.0}, "figures": [], "solves": [], "observables": {}}

    def test_takes_a_document_as_it_should_be(self):
        self.assertEqual(errors(self.document, SCHEMA_DOCUMENT), [])

    def test_refuses_what_should_not_be(self):
        def without(key):
            return lambda d: d.pop(key)

        def with_(path, value):
            def change(d):
                for step in path[:-1]:
                    d = d[step]
                d[path[-1]] = value
            return change

        for change in [without("fom"), without("observables"), with_(["more"], 1), with_(["verified"], "yes"),
                       with_(["fom", "value"], None), with_(["fom", "value"], "infinite"),
                       with_(["checks", 0, "passed"], None), with_(["checks", 0, "value"], None),
                       with_(["solves"], [{"solver": "cg"}]), with_(["observables", "pion"], [1.0, None]),
                       with_(["schema_version"], "0.9"), with_(["machine", "ranks"], 1.5)]:
            document = copy.deepcopy(self.document)
            change(document)
            self.assertNotEqual(errors(document, SCHEMA_DOCUMENT), [])


class Verdict(CommandLineTest):
    def assert_one_verdict(self, result, document):
        passed = document["verified"]
        self.assertEqual(passed, all(c["passed"] for c in document["checks"]))
        self.assertTrue(document["checks"])
        self.assertEqual(passed, result.status == SUCCESS)
        lines = result.out.rstrip("\n").split("\n")
        self.assertRegex(lines[-1], r"^VERIFIED   PASSED " if passed else r"^VERIFIED   FAILED ")
        self.assertRegex(lines[-2], r"^FOM        \S+ \S+     \(.+\)$")
        self.assertEqual(result.out.count("VERIFIED"), 1)

    def run_with_report(self, *arguments, **options):
        result = run(*arguments, "--json", self.path("r.json"), "--force", **options)
        self.assertTrue(os.path.exists(self.path("r.json")), result.err)
        document = self.read_json("r.json")
        self.assertEqual(errors(document, SCHEMA_DOCUMENT), [])
        self.assert_one_verdict(result, document)
        return result, document

    def test_of_a_good_run(self):
        result, document = self.run_with_report(*PROPAGATOR[:-2], "--check", "--repeat", "1")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        self.assertEqual(document["app"], "mixed-precision-solver")
        self.assertEqual(document["fom"]["unit"], "solves/s")
        self.assertGreater(document["fom"]["value"], 0)
        self.assertEqual(len(document["observables"]["pion"]), 4)
        self.assertTrue(all(value > 0 for value in document["observables"]["pion"] + document["observables"]["rho"]))
        solve = document["solves"][0]
        self.assertEqual(solve["precision"], "double")
        self.assertEqual(len(solve["columns"]), 12)
        self.assertGreater(len(solve["history"]), solve["iterations"])
        self.assertLessEqual(solve["residual"]["reference"], 1.01e-12)
        self.assertRegex(document["build"]["revision"], r"^([0-9a-f]{40}|unknown)$")
        names = [c["name"] for c in document["checks"]]
        for check in ["links in SU(3)", "operator against the textbook", "adjoint operator against the textbook",
                      "residual of the full system"]:
            self.assertIn(check, names)
        figure = document["figures"][0]
        self.assertEqual((figure["operator"], figure["layout"], figure["lattice"]),
                         ("clover_schur", "even-odd", [4, 4, 4, 4]))
        self.assertGreater(figure["gflops"], 0)
        # 3696 flops and (2 x 8 x 18 + 144 + 120 N) reals an even site, as the field counts them.
        self.assertAlmostEqual(figure["gflops"] / figure["gbytes_per_s"], 3696 * 12 / (8 * (288 + 144 + 120 * 12)), delta=1e-6)

    def test_of_every_solver_and_preconditioning_with_one_answer(self):
        answers = []
        for solver in ["cgne", "cgnr", "bicgstab", "gcr", "mr"]:
            for preconditioning in ["symmetric", "asymmetric"]:
                with self.subTest(solver=solver, preconditioning=preconditioning):
                    result, document = self.run_with_report(*PROPAGATOR, "--solver", solver, "--preconditioning", preconditioning)
                    self.assertEqual(result.status, SUCCESS, result.err + result.out)
                    answers.append(document["observables"]["pion"])
        # Residuals of 1e-12 leave |x| to about 1e-12 / (smallest singular value, above 0.3) of its norm, |S|^2 to twice
        # that of the largest correlator.
        for pion in answers[1:]:
            for a, b in zip(pion, answers[0]):
                self.assertAlmostEqual(a, b, delta=1e-11 * max(pion))

    def test_of_single_precision(self):
        result, document = self.run_with_report(*PROPAGATOR, "--precision", "single", "--check")
        self.assertEqual(result.status, SUCCESS, result.err + result.out)
        solve = document["solves"][0]
        self.assertEqual(solve["precision"], "single")
        self.assertLessEqual(solve["residual"]["iterated"], 1e-7)
        self.assertGreater(solve["residual"]["reference"], 1e-9)

    def test_of_no_convergence(self):
        result, document = self.run_with_report(*PROPAGATOR, "--max-iterations", "3")
        self.assertEqual(result.status, NO_CONVERGENCE)
        self.assertIn("NOT SOLVED", result.out)
        self.assertIn("no convergence: 12 of 12", result.err)
        self.assertEqual(document["fom"]["value"], "nan")
        self.assertEqual(document["observables"], {})
        solve = document["solves"][0]
        self.assertFalse(solve["converged"])
        residual = solve["residual"]
        self.assertGreater(residual["reference"], 1e-12)
        self.assertLess(residual["reference"], 1.0)
        # The true residual of what there is, by device and reference.
        self.assertTrue(math.isclose(residual["reference"], residual["device"], rel_tol=1e-9))
        self.assertRegex(result.out, re.compile(r"iteration limit"))

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_on_any_grid_with_the_same_answer(self):
        correlators = []
        for ranks, grid in [(1, "1x1x1x1"), (2, "auto"), (2, "2x1x1x1"), (4, "1x2x1x2")]:
            with self.subTest(grid=grid):
                result, document = self.run_with_report(*PROPAGATOR, "--grid", grid, ranks=ranks)
                self.assertEqual(result.status, SUCCESS, result.err + result.out)
                self.assertEqual(document["machine"]["ranks"], ranks)
                correlators.append(document["observables"]["pion"])
        for pion in correlators[1:]:
            for a, b in zip(pion, correlators[0]):
                self.assertAlmostEqual(a, b, delta=1e-11 * max(pion))

    def test_does_not_depend_on_the_number_of_threads(self):
        documents = [self.run_with_report(*PROPAGATOR, "--threads", threads)[1] for threads in (1, 3)]
        self.assertEqual(documents[0]["observables"], documents[1]["observables"])
        self.assertEqual(documents[0]["solves"][0]["history"], documents[1]["solves"][0]["history"])
        self.assertEqual([d["machine"]["threads"] for d in documents], [1, 3])


if __name__ == "__main__":
    unittest.main()
