# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-overlap-propagator where its modes, its H or its solutions are not what they seem: it fails. The same program
passes where PLAQUETTE_CHEAT is not set."""
import os
import unittest

import harness
from harness import FAILED, NO_CONVERGENCE, SUCCESS, CommandLineTest

PROGRAM = os.environ["PLAQUETTE_CHEATING_OVERLAP"]
TINY = {"--lattice": "2x2x2x4", "--gauge": "weak:0.3", "--seed": "5", "--modes": "6", "--overlap-modes": "3", "--masses":
        "0.4", "--threads": "1", "--scheme": "relaxed"}


class OverlapCheats(CommandLineTest):
    def run_as(self, cheat, *arguments):
        chosen = dict(TINY)
        chosen.update(zip(arguments[::2], arguments[1::2]))
        os.environ.pop("PLAQUETTE_CHEAT", None)
        if cheat:
            os.environ["PLAQUETTE_CHEAT"] = cheat
            self.addCleanup(os.environ.pop, "PLAQUETTE_CHEAT", None)
        return harness.run(*[word for pair in chosen.items() for word in pair], "--force", program=PROGRAM)

    def passes(self, *arguments):
        result = self.run_as(None, *arguments)
        self.assertEqual(result.status, SUCCESS, result.out + result.err)
        self.assertTrue(result.last_line().startswith("VERIFIED   PASSED"), result.out)

    def fails(self, cheat, check, *arguments, status=FAILED):
        result = self.run_as(cheat, *arguments)
        self.assertEqual(result.status, status, result.out + result.err)
        failed = [line for line in result.out.splitlines() if line.endswith("FAILED")]
        self.assertTrue(any(line.startswith(check) for line in failed), failed)
        self.assertTrue(result.last_line().startswith("VERIFIED   FAILED"), result.out)
        return result

    def test_random_vectors_as_modes_of_D(self):
        kept = ("--checkpoint", self.path("kept"), "--until", "overlap-modes")
        self.passes(*kept)
        self.passes(*kept)
        self.fails("random-modes", "modes of D: |D^+ D v - e v|", *kept)

    def test_a_pair_of_modes_of_D_that_was_dropped(self):
        kept = ("--checkpoint", self.path("kept"), "--until", "overlap-modes")
        self.passes(*kept, "--overlap-modes", "4")
        self.fails("dropped-pair", "modes of D: random vectors off them", *kept)

    def test_a_partner_of_a_mode_of_D_that_was_dropped(self):
        kept = ("--checkpoint", self.path("kept"), "--until", "overlap-modes")
        self.passes(*kept)
        self.fails("dropped-partner", "modes of D: pairs of both chiralities", *kept)

    def test_a_diagonal_of_H_that_is_off(self):
        self.passes()
        for until in ("modes", "sign", "propagators"):
            self.fails("diagonal", "H against the textbook, double", "--until", until)

    def test_a_bit_of_a_solution_that_turns_after_it_was_judged(self):
        self.passes()
        self.fails("turned-solution", "solutions at mass 0.4 are the bits that were judged")

    def test_the_answer_of_the_preconditioner_as_a_solution(self):
        scheme = ("--scheme", "preconditioned")
        self.passes(*scheme)
        self.fails("preconditioner", "residual of D(0.4)", *scheme, status=NO_CONVERGENCE)

    def test_a_column_of_the_trial_that_is_taken_for_a_solution(self):
        self.passes("--scheme", "auto")
        self.fails("remembered-trial", "residual of D(0.4)", "--scheme", "auto", status=NO_CONVERGENCE)

    def test_solutions_that_are_off_by_a_low_mode_of_D(self):
        for masses in ("0.4", "0.02,0.4"):
            lightest = masses.split(",")[0]
            self.fails("three-tolerances", f"residual of D({lightest})", "--masses", masses, status=NO_CONVERGENCE)
            result = self.run_as("half-a-tolerance", "--masses", masses)
            self.assertEqual(result.status, SUCCESS, result.out + result.err)

    def test_a_bit_of_a_propagator_that_turns_before_it_is_written(self):
        written = ("--propagators", self.path("quark"))
        self.passes(*written)
        self.assertTrue(os.path.exists(self.path("quark.m0.h5")))
        os.remove(self.path("quark.m0.h5"))
        self.fails("turned-propagator", "the propagator of mass 0.4", *written)
        self.assertFalse(os.path.exists(self.path("quark.m0.h5")))
        self.fails("turned-propagator", "the propagator of mass 0.4")

    def test_a_bit_of_a_propagator_that_turns_as_it_is_contracted(self):
        self.fails("turned-contraction", "the propagator of mass 0.4")

    def test_a_bit_of_a_propagator_that_turns_on_its_way_to_the_file(self):
        written = ("--propagators", self.path("quark"))
        self.fails("turned-on-its-way", "numbers of the propagator that differ in its file, mass 0.4", *written)
        self.fails("turned-as-written", "columns behind the file of mass 0.4", *written)


if __name__ == "__main__":
    unittest.main()
