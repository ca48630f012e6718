# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of mixed-precision-solver for every combination of lattices, precisions, solvers and ranks: a table."""

import itertools
import os

from report_file import ReportError
from sweep_engine import Run, Sweep, launcher_for, words


def add_arguments(solver):
    solver.add_argument("--lattices", type=words, default=["4x4x4x8", "8x8x8x8"], help="default: 4x4x4x8,8x8x8x8")
    solver.add_argument("--precisions", type=words, default=["double", "single"], help="default: double,single")
    solver.add_argument("--solvers", type=words, default=["bicgstab"], help="default: bicgstab")
    solver.add_argument("--ranks", type=words, default=["1"], help="numbers of ranks (default: 1)")


def solver_runs(options):
    for lattice, precision, solver, ranks in itertools.product(options.lattices, options.precisions, options.solvers,
                                                               options.ranks):
        if not ranks.isdigit() or int(ranks) < 1:
            raise ReportError(f"--ranks: expected numbers of ranks, found '{ranks}'")
        path = os.path.join(options.output, f"{lattice}-{precision}-{solver}-{ranks}ranks.json")
        rest = options.rest or ["--gauge", "weak:0.2", "--mass", "0.1", "--csw", "1"]
        program = [options.program, "--lattice", lattice, "--precision", precision, "--solver", solver, *rest]
        yield Run([lattice, precision, solver, ranks], path, program, launcher_for(options, int(ranks), 1), None)


SWEEP = Sweep("solver", "a table of solves", "plaquette-mixed-precision-solver",
              (("lattice", 14), ("precision", 10), ("solver", 9), ("ranks", 5)), add_arguments, solver_runs, solves=True)
