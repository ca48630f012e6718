# SPDX-License-Identifier: BSD-3-Clause
"""A rank that never comes: the others say whom they wait for and what for, and end the run in the time that was given.
Nothing is left in shared memory."""
import os
import re
import time
import unittest

from harness import INTERNAL, MPIEXEC, SUCCESS, CommandLineTest, run

PROGRAM = os.environ["PLAQUETTE_STALLED_RANK"]
LINE = re.compile(r"^rank (\d+) on \S+ has waited 1 s for (.*)$", re.MULTILINE)


def shared_memory():
    """The names in it that are not MPI's own."""
    return {name for name in os.listdir("/dev/shm") if "plaquette" in name}


@unittest.skipUnless(MPIEXEC, "built without MPI")
class StalledRank(CommandLineTest):
    def setUp(self):
        super().setUp()
        before = shared_memory()
        self.addCleanup(lambda: self.assertLessEqual(shared_memory(), before))

    def stall(self, way, absent=1, ranks=3):
        """What each rank says that it waits for."""
        begin = time.monotonic()
        result = run(absent, way, 1, program=PROGRAM, ranks=ranks)
        self.assertEqual(result.status, INTERNAL, result.err)
        self.assertLess(time.monotonic() - begin, 30)
        said = LINE.findall(result.err)
        self.assertGreaterEqual(len(said), 1, result.err)
        self.assertEqual(len({rank for rank, _ in said}), len(said), result.err)  # a line a rank
        for rank, _ in said:
            self.assertNotEqual(rank, str(absent))
        return [what for _, what in said]

    def test_in_a_sum_of_kernels(self):
        for what in self.stall("sum"):
            self.assertEqual(what, "rank 1: global sum number 6")

    def test_in_a_sum_through_the_host(self):
        for what in self.stall("staged-sum"):
            self.assertEqual(what, "all 3 ranks: global sum number 6")

    def test_for_a_message(self):
        for what in self.stall("message"):
            self.assertRegex(what, r"^rank 1: the halo message [+-]t$")

    def test_for_a_message_of_a_rank_that_is_both_neighbours(self):
        self.assertEqual(self.stall("message", absent=0, ranks=2), ["rank 0: the halo message +t"])

    def test_one_that_is_killed_ends_the_run_at_once(self):
        begin = time.monotonic()
        result = run(1, "death", 100, program=PROGRAM, ranks=3)
        self.assertNotEqual(result.status, SUCCESS)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(LINE.findall(result.err), [])

    def test_who_does_not_wait_is_left_alone(self):
        self.assertEqual(run(0, "none", 1, program=PROGRAM, ranks=2).status, SUCCESS)


if __name__ == "__main__":
    unittest.main()
