# SPDX-License-Identifier: BSD-3-Clause
"""Bits of solutions that flip after they were judged: before correlators are made of them, before they are written, and
on the disk. Each is told by a failed check. (cheats/mixed_precision_solver_cheats.cpp flips them.)"""
import os
import sys
import tempfile

from campaign import Tally
from harness import FAILED, run

SOLVER = os.environ["PLAQUETTE_CHEATING_SOLVER"]
SOLVE = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.5", "--repeat", "0", "--tol", "1e-10", "--force"]


def main():
    tally = Tally("flipped bits of solutions", 200)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(tally.tries):
            kind = tally.random.choice(["correlators", "file", "disk"])
            flip = ",".join(str(tally.random.randrange(n)) for n in (12, 256, 24, 64))
            os.environ.update(PLAQUETTE_CHEAT=kind, PLAQUETTE_FLIP=flip)
            file = [] if kind == "correlators" else ["--propagator", os.path.join(folder, "p.h5")]
            result = run(*SOLVE, *file, program=SOLVER)
            told = result.status == FAILED and result.last_line().startswith("VERIFIED   FAILED")
            tally.add("refused" if told else "bad", f"{kind} {flip}", f"status {result.status}: {result.err}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
