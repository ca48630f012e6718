# SPDX-License-Identifier: BSD-3-Clause
"""A multigrid program that cheats (cheats/multigrid_cheats.cpp) is not verified; without a cheat it is. What a changed
file restores is judged too."""
import os
import struct
import unittest

from harness import FAILED, SUCCESS, UNUSABLE, CommandLineTest, run

PROGRAM = os.environ["PLAQUETTE_CHEATING_MULTIGRID"]

QUICK = ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--vectors", "8",
         "--trials", "0", "--modes", "0"]


class MultigridCheats(CommandLineTest):
    def cheating(self, cheat, *arguments):
        os.environ["PLAQUETTE_CHEAT"] = cheat
        self.addCleanup(os.environ.pop, "PLAQUETTE_CHEAT", None)
        quick = QUICK[:-2] if "--modes" in arguments else QUICK
        return run(*quick, *arguments, "--json", self.path("r.json"), "--force", program=PROGRAM)

    def failed_checks(self, result):
        """The names of the checks that fail, of a run that ends with the status of a failed verification."""
        self.assertEqual(result.status, FAILED, result.out + result.err)
        self.assertIn("VERIFIED   FAILED", result.out)
        return [c["name"] for c in self.read_json("r.json")["checks"] if not c["passed"]]

    def test_without_a_cheat_the_program_is_verified(self):
        result = self.cheating("none", "--rhs", "12", "--batches", "12", "--check")
        self.assertEqual(result.status, SUCCESS, result.out + result.err)

    def test_a_solver_that_remembers_the_solutions_of_columns(self):
        for arguments in (["--batches", "1", "--reference", "none"], ["--batches", "3"]):
            with self.subTest(arguments=arguments):
                result = self.cheating("remembers", "--rhs", "3", *arguments)
                self.assertIn("a solution was remembered", result.err)
                self.assertIn("residual of the full system", " ".join(self.failed_checks(result)))

    def test_no_source_is_solved_twice(self):
        result = self.cheating("remembers-source", "--rhs", "3", "--batches", "1,2,3,3")
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        self.assertNotIn("remembered", result.err)

    def test_a_solver_that_is_idle_and_claims_iterations(self):
        names = self.failed_checks(self.cheating("idle", "--rhs", "1"))
        self.assertTrue(any("multigrid" in name for name in names), names)
        self.assertTrue(any("bicgstab" in name for name in names), names)

    def test_solutions_that_are_those_before_turned(self):
        for arguments in (["--batches", "1", "--reference", "none"], ["--batches", "3"]):
            with self.subTest(arguments=arguments):
                result = self.cheating("rotate", "--rhs", "3", *arguments)
                self.assertIn("a solution was remembered", result.err)
                self.assertIn("residual of the full system", " ".join(self.failed_checks(result)))

    def test_a_solve_that_waits_is_made_on_the_clock(self):
        honest = self.cheating("none", "--rhs", "3", "--batches", "3,3", "--reference", "none")
        self.assertEqual(honest.status, SUCCESS, honest.out + honest.err)
        expected = [s["seconds"] for s in self.read_json("r.json")["solves"]]
        result = self.cheating("lazy", "--rhs", "3", "--batches", "3,3", "--reference", "none")
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        self.assertIn("put off", result.err)
        found = [s["seconds"] for s in self.read_json("r.json")["solves"]]
        self.assertGreater(found[1], 0.1 * expected[1])  # the solver says 1e-6

    def test_seconds_are_those_of_the_programs_clock(self):
        result = self.cheating("fast", "--rhs", "1", "--reference", "none")
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        document = self.read_json("r.json")
        stages = {s["name"]: s["seconds"] for s in document["stages"]}
        setup = document["solves"][0]["setup"]["seconds"]["whole"]
        self.assertGreater(setup, 0.9 * stages["setup"])
        self.assertLess(setup, 1.1 * stages["setup"])

    def test_correlators_that_are_wrong_by_a_percent(self):
        for cheat in ("pion", "pion-one", "rho-one"):
            with self.subTest(cheat=cheat):
                names = self.failed_checks(self.cheating(cheat, "--rhs", "12", "--batches", "12", "--reference", "none"))
                self.assertEqual(names, [f"{cheat.split('-')[0]} correlator against its definition"])

    def test_flops_that_are_too_many_exceed_the_machine(self):
        names = self.failed_checks(self.cheating("flops", "--rhs", "1"))
        self.assertEqual(names, ["best figure, as a share of what the machine can give"])
        figures = self.read_json("r.json")["figures"]
        self.assertEqual([f["operator"] for f in figures], ["solve by multigrid", "solve by bicgstab"])
        for figure in figures:
            self.assertGreater(figure["fraction_of_fma_peak"], 1.1)

    def test_low_modes_that_are_better_than_they_are(self):
        modes = ("--rhs", "1", "--modes", "2", "--reference", "none")
        self.assertEqual(self.cheating("none", *modes).status, SUCCESS)
        self.assertEqual(self.failed_checks(self.cheating("modes", *modes)), ["low modes of gamma_5 M, against the textbook"])

    def test_a_bit_that_turns_after_the_solutions_were_judged(self):
        names = self.failed_checks(self.cheating("turned", "--rhs", "12", "--batches", "12", "--reference", "none"))
        self.assertEqual(names, ["solutions are the bits that were judged"])

    def test_a_wrong_number_in_a_file_of_null_vectors(self):
        setup = self.path("s.h5")
        result = self.cheating("none", "--rhs", "1", "--reference", "none", "--save-setup", setup)
        if "without HDF5" in result.err:
            self.skipTest("built without HDF5")
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        with open(setup, "rb") as file:
            honest = file.read()
        load = [a for a in QUICK if a not in ("--vectors", "8")] + ["--rhs", "1", "--reference", "none", "--load-setup"]

        def loaded(data):
            self.write("changed.h5", data)
            return run(*load, self.path("changed.h5"), "--json", self.path("r.json"), "--force", program=PROGRAM)

        self.assertEqual(loaded(honest).status, SUCCESS)
        names = [c["name"] for c in self.read_json("r.json")["checks"]]
        self.assertIn("level 1: coarse operator is P^+ M P", names)  # of what is restored, without --check

        middle = len(honest) * 2 // 5 // 8 * 8  # most of the file is the null vectors of the finest lattice
        number = struct.unpack_from("<f", honest, middle)[0]
        self.assertTrue(1e-4 < abs(number) < 1, number)
        with_sign = bytearray(honest)
        struct.pack_into("<f", with_sign, middle, -number)
        self.assertIn("level 1: restriction undoes prolongation", self.failed_checks(loaded(with_sign)))

        # Numbers that cannot be: a line that names the file, and no more.
        forged = {"nan": (middle, "<f", float("nan")), "huge": (middle, "<f", 1e30)}
        at = honest.index(b"vectors\0")
        behind = honest.index(struct.pack("<i", 8), at + 24) - at  # where an attribute's number stands, from its name
        for name in ("levels", "vectors"):
            place = honest.index(name.encode() + b"\0") + behind
            for wrong in (0, -1, 2 ** 31 - 1):
                forged[f"{name} {wrong}"] = (place, "<i", wrong)
        for name, (place, form, value) in forged.items():
            with self.subTest(forged=name):
                data = bytearray(honest)
                struct.pack_into(form, data, place, value)
                result = loaded(data)
                self.assertEqual(result.status, UNUSABLE, result.out + result.err)
                self.assertIn("changed.h5: ", result.err)
                self.assertIn("damaged", result.err)
                self.assertEqual(len(result.err.splitlines()), 1, result.err)


if __name__ == "__main__":
    unittest.main()
