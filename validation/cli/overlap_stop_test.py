# SPDX-License-Identifier: BSD-3-Clause
"""plaquette-overlap-propagator: a signal ends each stage soon."""
import os
import signal
import time
import unittest

from harness import INTERRUPTED, CommandLineTest, ended, read_until, start

PROGRAM = os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"]

#: All stages take a minute; the signals come in the first, after it and 3 s later. A stage ends with a table: the
#: next one has begun.
LONG = ["--lattice", "6x6x6x8", "--gauge", "heatbath:6.0:5", "--stout-steps", "2", "--modes", "6",
        "--overlap-modes", "2", "--masses", "0.01,0.03,0.1,0.3", "--tol", "1e-10", "--delta", "1e-10", "--threads", "2"]


class Stop(CommandLineTest):
    def seconds_to_the_end(self, until, delay):
        """CPU seconds from the signal on: other tests run at the same time."""
        with start(*LONG, program=PROGRAM) as process:
            out = read_until(process, until)
            time.sleep(delay)

            def used():
                with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
                    fields = file.read().rpartition(")")[2].split()
                return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

            before = last = used()
            os.kill(process.pid, signal.SIGTERM)
            give_up = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < give_up:
                try:
                    last = used()
                except (OSError, IndexError):
                    break
                time.sleep(0.02)
            result = ended(process, out)
            self.assertEqual(result.status, INTERRUPTED, result.err + result.out)
            return last - before

    def test_within_each_stage(self):
        for until, delay in [("predicted", 0.3), ("search ", 0.1), ("search ", 3.0)]:
            with self.subTest(until=until, delay=delay):
                # Two threads for two seconds.
                self.assertLess(self.seconds_to_the_end(until, delay), 4.0)


if __name__ == "__main__":
    unittest.main()
