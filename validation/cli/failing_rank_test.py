# SPDX-License-Identifier: BSD-3-Clause
"""An error of any rank ends all ranks: one message from one rank, its exit status, and never a hang."""
import os
import unittest

from harness import INTERNAL, MPIEXEC, NO_MEMORY, NO_OUTPUT, SUCCESS, UNUSABLE, CommandLineTest, run

PROGRAM = os.environ["PLAQUETTE_FAILING_RANK"]


class FailingRank(CommandLineTest):
    def assert_one_message(self, result, status, *words):
        self.assertEqual(result.status, status, result.err)
        ours = [line for line in result.err.split("\n") if line.startswith("failing_rank: ")]
        self.assertEqual(len(ours), 1, result.err)
        for word in words:
            self.assertIn(word, ours[0])

    def test_alone(self):
        for what, status, words in [("input", UNUSABLE, ["\\x0ain two lines"]), ("output", NO_OUTPUT, ["written"]),
                                    ("memory", NO_MEMORY, ["out of memory", "the test", "available"]),
                                    ("unknown", INTERNAL, ["internal error", "the test", "nobody expected this"]),
                                    ("number", INTERNAL, ["internal error", "the test"])]:
            with self.subTest(what=what):
                self.assert_one_message(run("0", what, program=PROGRAM), status, *words)

    def test_none_fails(self):
        self.assertEqual(run("9", "input", program=PROGRAM).status, SUCCESS)

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_one_of_three(self):
        for rank in ["0", "1", "2"]:
            with self.subTest(rank=rank):
                self.assert_one_message(run(rank, "output", program=PROGRAM, ranks=3), NO_OUTPUT, "written")

    @unittest.skipUnless(MPIEXEC, "built without MPI")
    def test_all_of_three(self):
        self.assert_one_message(run("all", "input", program=PROGRAM, ranks=3), UNUSABLE, "in two lines")


if __name__ == "__main__":
    unittest.main()
