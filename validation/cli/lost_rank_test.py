# SPDX-License-Identifier: BSD-3-Clause
"""A rank that is stopped or killed in mid-run, on CPUs: the others end within the stall timeout, with one message."""
import os
import re
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import INTERNAL, MPIEXEC, SOLVER, CommandLineTest, children, ended, read_until, start

STALL_TIMEOUT = 2
#: What the watch leaves lower ranks to speak, and mpirun takes to end a job on a loaded machine.
MOST_SECONDS_MORE = 20
LINE = re.compile(r"^rank (\d+) on \S+ has waited 2 s for other ranks: (.*), during (.*); the run ends", re.MULTILINE)

#: Program, arguments of a run without end, and what it prints when it is under way. lost_stage_test.py has the stages of
#: overlap-propagator.
PROGRAMS = {
    "solver": (SOLVER, ["--lattice", "8x8x8x16", "--gauge", "random", "--mass", "-2", "--solver", "cgnr", "--tol", "1e-15",
                        "--repeat", "0"], "plaquette "),
    "dslash-scaling": (os.environ["PLAQUETTE_DSLASH_SCALING"],
                       ["--lattice", "8x8x8x16", "--samples", "100000", "--operator", "hopping"], "plaquette "),
    "multigrid": (os.environ["PLAQUETTE_MULTIGRID"],
                  ["--lattice", "8x8x8x16", "--gauge", "heatbath:6:10000000"], "lattice "),
    "nodal-dg": (os.environ["PLAQUETTE_NODAL_DG"],
                 ["--box", "6x6x6", "--order", "4", "--steps", "2000000", "--samples", "3"], "elements "),
}


#: Programs and numbers of ranks. What waits is the same in all of them: one runs on four.
RUNS = [(name, 2) for name in PROGRAMS] + [("solver", 4)]


@unittest.skipUnless(MPIEXEC, "built without MPI")
class LostRank(CommandLineTest):
    def lose(self, name, ranks, number):
        """What a run did in the end of which a rank got a signal, and how long that took."""
        program, arguments, until = PROGRAMS[name]
        with start(*arguments, "--stall-timeout", STALL_TIMEOUT, program=program, ranks=ranks) as process:
            out = read_until(process, until)
            time.sleep(0.3)
            pids = children(process.pid)
            begin = time.monotonic()
            os.kill(pids[ranks // 2], number)
            return len(pids), ended(process, out), time.monotonic() - begin

    def each_lost(self, number, judge):
        """Most of the time goes by with waiting: runs wait side by side."""
        with ThreadPoolExecutor(3) as pool:
            runs = [(name, ranks, pool.submit(self.lose, name, ranks, number)) for name, ranks in RUNS]
        for name, ranks, lost in runs:
            with self.subTest(program=name, ranks=ranks):
                started, result, seconds = lost.result()
                self.assertEqual(started, ranks)
                self.assertLess(seconds, STALL_TIMEOUT + MOST_SECONDS_MORE)
                self.assertNotEqual(result.status, 0)
                self.assertNotIn("VERIFIED", result.out)
                judge(ranks, result)

    def test_one_that_is_stopped(self):
        def judge(ranks, result):
            self.assertEqual(result.status, INTERNAL, result.err)
            said = LINE.findall(result.err)
            self.assertEqual(len(said), 1, result.err)
            self.assertNotEqual(int(said[0][0]), ranks // 2)

        self.each_lost(signal.SIGSTOP, judge)

    def test_one_that_is_killed(self):
        self.each_lost(signal.SIGKILL, lambda _, result: self.assertEqual(result.err.count("exited on signal 9"), 1, result.err))

    def test_a_run_that_is_stopped_as_a_whole_goes_on(self):
        arguments = ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2000000", "--time-limit", "6", "--rhs", "1",
                     "--stall-timeout", "1"]
        with start(*arguments, program=SOLVER, ranks=2) as process:
            out = read_until(process, "lattice ")
            time.sleep(1)
            pids = children(process.pid)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            time.sleep(3)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            result = ended(process, out)
        self.assertEqual(result.status, 6, result.err)
        self.assertEqual(LINE.findall(result.err), [])


if __name__ == "__main__":
    unittest.main()
