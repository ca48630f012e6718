# SPDX-License-Identifier: BSD-3-Clause
"""The pion that an example printed is that of the mini-app's report: same_pion.py PRINTED REPORT. Both solve to a residual
of 1e-12 or less, which moves a correlator by as much times the condition of M: 2e-11 is allowed (7e-13 was seen)."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    printed = [float(line) for line in file if not line.startswith("VERIFIED")]
with open(sys.argv[2], encoding="utf-8") as file:
    report = json.load(file)
pion = report["observables"]["pion"]
assert len(printed) == len(pion) > 0, f"{len(printed)} numbers were printed, the report has {len(pion)}"
worst = max(abs(a / b - 1.0) for a, b in zip(printed, pion))
print(f"pion of the example against the program's: {worst:.1e}")
sys.exit(0 if worst <= 2e-11 else 1)
