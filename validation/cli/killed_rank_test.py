# SPDX-License-Identifier: BSD-3-Clause
"""A rank that is killed in mid-run takes the run with it: within seconds, with one message, and never a hang."""
import os
import signal
import time
import unittest

from harness import MPIEXEC, SOLVER, CommandLineTest, children, ended, read_until, start

#: Program, arguments of a run without end, and what it prints when it is under way.
PROGRAMS = [(SOLVER, ["--lattice", "8x8x8x8", "--gauge", "heatbath:6:10000000"], "iteration "),
            (SOLVER, ["--lattice", "8x8x8x16", "--gauge", "random", "--mass", "-2", "--solver", "cgnr", "--tol", "1e-15",
                      "--repeat", "0"], "plaquette "),
            (os.environ["PLAQUETTE_MAKE_CONFIGURATION"], ["--lattice", "8x8x8x8", "--sweeps", "10000000",
                                                          "--measure-every", "1000000"], "sweep       plaquette"),
            (os.environ["PLAQUETTE_DSLASH_SCALING"], ["--lattice", "16x16x16x32", "--samples", "1000"], "plaquette ")]

#: What mpirun itself takes to end a job after a rank was lost is about two seconds.
MOST_SECONDS = 20


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@unittest.skipUnless(MPIEXEC, "built without MPI")
class KilledRank(CommandLineTest):
    def test_ends_the_run(self):
        for program, arguments, until in PROGRAMS:
            with self.subTest(program=os.path.basename(program), until=until):
                with start(*arguments, "--json", self.path("r.json"), program=program, ranks=2) as process:
                    out = read_until(process, until)
                    time.sleep(0.3)
                    ranks = children(process.pid)
                    self.assertEqual(len(ranks), 2)
                    begin = time.monotonic()
                    os.kill(ranks[1], signal.SIGKILL)
                    result = ended(process, out)
                while any(is_alive(pid) for pid in ranks) and time.monotonic() - begin < MOST_SECONDS:
                    time.sleep(0.05)
                self.assertLess(time.monotonic() - begin, MOST_SECONDS)
                self.assertNotEqual(result.status, 0)
                self.assertEqual(result.err.count("exited on signal 9"), 1, result.err)
                self.assertNotIn("plaquette-", result.err.replace(os.path.basename(program) + "'", ""))
                self.assertNotIn("VERIFIED", result.out)
                self.assertEqual(os.listdir(self.directory), [])


if __name__ == "__main__":
    unittest.main()
