# SPDX-License-Identifier: BSD-3-Clause
"""A rank that is stopped or killed inside each stage of multigrid and overlap-propagator, on CPUs: the other ends within the
stall timeout, with one message that names the stage."""
import os
import re
import signal
import time
import unittest

from harness import INTERNAL, MPIEXEC, CommandLineTest, children, ended, read_until, start

STALL_TIMEOUT = 1
#: What mpirun takes to end a job on a loaded machine.
MOST_SECONDS_MORE = 20
LINE = re.compile(r"^rank (\d+) on \S+ has waited 1 s for other ranks: .*, during (.*); the run ends", re.MULTILINE)
MULTIGRID, OVERLAP = os.environ["PLAQUETTE_MULTIGRID"], os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]

WEAK = ["--gauge", "weak:0.2"]
SMALL_SETUP = ["--mass", "0.1", "--modes", "0", "--vectors", "4", "--setup-iterations", "2", "--setup-refinements", "0",
               "--trials", "0", "--whole-from", "never"]
#: Program, arguments of a run whose stage takes long, what it prints before the stage begins, and what the message calls it.
STAGES = {
    "set_up": (MULTIGRID, [*WEAK, "--lattice", "8x8x8x16", "--setup-iterations", "190", "--setup-tolerance", "1e-30"],
               "plaquette ", "the setup"),
    "solves": (MULTIGRID, [*WEAK, *SMALL_SETUP, "--lattice", "8x8x8x16", "--rhs", "12", "--batches", "1"],
               "solved     source 1 ", "solve"),
    "modes": (OVERLAP, ["--lattice", "8x8x8x16", "--gauge", "heatbath:6:3", "--modes", "60"], "plaquette ", "the modes of H"),
    "sign": (OVERLAP, ["--lattice", "8x4x4x8", "--gauge", "heatbath:6:5", "--modes", "8", "--delta", "1e-11", "--scheme", "relaxed"],
             "search ",
             "the sign function"),
    "propagators": (OVERLAP, [*WEAK, "--lattice", "4x4x4x8", "--modes", "2", "--overlap-modes", "0", "--masses", "0.001,0.01",
                              "--scheme", "relaxed"],
                    "overlap    no modes", "the propagators"),
}
PROGRAM, ARGUMENTS, UNTIL, NAME = STAGES[os.environ["PLAQUETTE_STAGE"]]
#: Seconds until the stage has begun: on a loaded machine longer ones are tried.
WAITS = (0.5, 2, 6)


@unittest.skipUnless(MPIEXEC, "built without MPI")
class LostInAStage(CommandLineTest):
    def lose(self, number, wait, stall_timeout=STALL_TIMEOUT):
        with start(*ARGUMENTS, "--threads", 1, "--stall-timeout", stall_timeout, program=PROGRAM, ranks=2) as process:
            out = read_until(process, UNTIL)
            time.sleep(wait)
            pids = children(process.pid)
            self.assertEqual(len(pids), 2)
            begin = time.monotonic()
            os.kill(pids[1], number)
            result = ended(process, out)
        self.assertLess(time.monotonic() - begin, STALL_TIMEOUT + MOST_SECONDS_MORE)
        self.assertNotEqual(result.status, 0)
        self.assertNotIn("VERIFIED", result.out)
        return result

    def test_one_that_is_stopped(self):
        for wait in WAITS:
            result = self.lose(signal.SIGSTOP, wait)
            self.assertEqual(result.status, INTERNAL, result.err)
            said = LINE.findall(result.err)
            self.assertEqual([rank for rank, _ in said], ["0"], result.err)
            if NAME in said[0][1]:
                return
        self.fail(f"never in {NAME}: {said}")

    def test_one_that_is_killed(self):
        result = self.lose(signal.SIGKILL, WAITS[0], 60)  # mpirun, which takes seconds, is to be first
        self.assertEqual(result.err.count("exited on signal 9"), 1, result.err)
        self.assertEqual(LINE.findall(result.err), [])


if __name__ == "__main__":
    unittest.main()
