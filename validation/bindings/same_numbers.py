# SPDX-License-Identifier: BSD-3-Clause
"""A caller's pion is that of the mini-app on the links that the caller wrote:
same_numbers.py FOLDER RANKS SOLVER PROGRAM... (or --bits RANKS PROGRAM...) with SOLVER "" where there is none. The program gets a file for its links.
Both solve to a residual of 1e-12 or less, which moves a correlator by as much times the condition of M: 2e-11 is allowed."""
import json
import os
import subprocess
import sys

if sys.argv[1] == "--bits":
    # Sums that are reproducible: the same bits on any number of ranks and threads. Others differ, or the test is none.
    ranks, program = sys.argv[2], sys.argv[3:]
    most = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", ranks] if ranks != "1" else []

    def output(launch, threads, option):
        return subprocess.run([*launch, *program, option], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "OMP_NUM_THREADS": threads}).stdout

    first = output([], "2", "--bits")
    other = output(most, "1", "--bits")
    assert first.count("\n") == 21, first
    assert other == first, f"expected the same bits, found\n{first}and\n{other}"
    assert not most or output(most, "1", "--bits-any") != output([], "1", "--bits-any"), "any sums have the same bits"
    sys.exit(0)

folder, ranks, solver, program = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
os.makedirs(folder, exist_ok=True)
links, report = os.path.join(folder, "links.ildg"), os.path.join(folder, "report.json")
for path in (links, report):
    if os.path.exists(path):
        os.remove(path)
launch = [] if ranks == "1" else ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", ranks]
lines = subprocess.run([*launch, *program, links], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
assert lines[-1] == "VERIFIED PASSED", f"the program printed {lines}"
printed = [float(line) for line in lines[:-1]]
assert len(printed) == 8 and all(value > 0.0 for value in printed), f"the program printed {lines}"
if solver:
    subprocess.run([solver, "--gauge", links, "--mass", "0.2", "--csw", "1", "--tol", "1e-12", "--repeat", "0", "--json",
                    report], stdout=subprocess.DEVNULL, check=True)
    with open(report, encoding="utf-8") as file:
        pion = json.load(file)["observables"]["pion"]
    worst = max(abs(a / b - 1.0) for a, b in zip(printed, pion))
    print(f"pion of the caller against the program's: {worst:.1e}")
    sys.exit(0 if len(printed) == len(pion) and worst <= 2e-11 else 1)
