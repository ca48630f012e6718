#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a mini-app once for every combination of lattices, precisions, solvers and numbers of ranks, and prints a table.
Each run leaves its JSON report; arguments behind -- go to every run."""

import argparse
import itertools
import os
import subprocess
import sys

from report_file import ReportError, load, number, short

UNUSABLE_INPUT = 2


def words(text):
    return [word for word in text.split(",") if word]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--output", required=True, help="folder of the reports")
    parser.add_argument("--lattices", type=words, default=["4x4x4x8", "8x8x8x8"], help="A,B,... (default: 4x4x4x8,8x8x8x8)")
    parser.add_argument("--precisions", type=words, default=["double", "single"], help="default: double,single")
    parser.add_argument("--solvers", type=words, default=["bicgstab"], help="default: bicgstab")
    parser.add_argument("--ranks", type=words, default=["1"], help="numbers of ranks, through mpirun (default: 1)")
    parser.add_argument("rest", nargs="*", help="behind --: arguments of every run (default: a weak field, csw 1)")
    return parser.parse_args()


def run(options, lattice, precision, solver, ranks):
    """One run; returns its line of the table."""
    path = os.path.join(options.output, f"{lattice}-{precision}-{solver}-{ranks}ranks.json")
    rest = options.rest or ["--gauge", "weak:0.2", "--mass", "0.1", "--csw", "1"]
    launcher = [] if ranks == "1" else ["mpirun", "--bind-to", "none", "-n", ranks]
    command = launcher + [options.program, "--lattice", lattice, "--precision", precision, "--solver", solver,
                          "--json", path, "--force"] + rest
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 and not os.path.exists(path):
        return done.returncode, done.stderr.strip().split("\n")[-1]
    report = load(path)
    solve = report["solves"][0] if report["solves"] else {}
    verdict = "PASSED" if report["verified"] is True else "FAILED"
    return done.returncode, (f"{solve.get('iterations', '-'):>10} {short(number(solve.get('seconds', 'nan'), path)):>10} "
                             f"{short(number(report['fom'].get('value', 'nan'), path)):>10} {verdict:>9}")


def main():
    options = arguments()
    os.makedirs(options.output, exist_ok=True)
    print(f"{'lattice':<14} {'precision':<10} {'solver':<9} {'ranks':>5} {'iterations':>10} {'seconds':>10} {'FOM':>10} "
          f"{'verified':>9}")
    worst = 0
    for case in itertools.product(options.lattices, options.precisions, options.solvers, options.ranks):
        status, line = run(options, *case)
        worst = max(worst, status)
        print(f"{case[0]:<14} {case[1]:<10} {case[2]:<9} {case[3]:>5} {line}", flush=True)
    print(f"reports    {options.output}")
    sys.exit(worst)


if __name__ == "__main__":
    try:
        main()
    except ReportError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        sys.exit(UNUSABLE_INPUT)
