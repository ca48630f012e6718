# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are stopped or killed at random times: the others end in the stall timeout and some seconds, with one
message, and nothing is called verified."""
import os
import signal
import sys
import time

from campaign import Tally
from harness import INTERNAL, SUCCESS, children, ended, read_until, start
from lost_rank_test import LINE, MOST_SECONDS_MORE, PROGRAMS, STALL_TIMEOUT


def lose(choose):
    """What was done, and how it ended: kind, why."""
    name = choose.choice(list(PROGRAMS))
    ranks = choose.choice([2, 4])
    number = choose.choice([signal.SIGSTOP, signal.SIGKILL])
    program, arguments, _ = PROGRAMS[name]
    after = choose.uniform(0.0, 4.0)
    what = f"{name}, {ranks} ranks, signal {int(number)} after {after:.1f} s"
    with start(*arguments, "--stall-timeout", STALL_TIMEOUT, program=program, ranks=ranks) as process:
        out = read_until(process, "machine ")  # MPI has started on all ranks
        time.sleep(after)
        pids = children(process.pid)
        if not pids:
            return what, "harmless", ""  # it was done
        begin = time.monotonic()
        os.kill(choose.choice(pids), number)
        result = ended(process, out)
    seconds = time.monotonic() - begin
    if seconds > STALL_TIMEOUT + MOST_SECONDS_MORE:
        return what, "bad", f"it took {seconds:.0f} s"
    if result.status == SUCCESS or "VERIFIED" in result.out:
        return what, "bad", f"status {result.status}"
    said = len(LINE.findall(result.err))
    if number == signal.SIGSTOP and len(pids) == ranks and (said != 1 or result.status != INTERNAL):
        return what, "bad", f"{said} messages, status {result.status}"
    return what, "refused", ""


def main():
    tally = Tally("ranks stopped or killed", 20)
    for _ in range(tally.tries):
        what, kind, why = lose(tally.random)
        tally.add(kind, what, why)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
