# SPDX-License-Identifier: BSD-3-Clause
"""What programs and machines can give at most, the official classes, and how numbers are compared."""

import json
import os

from report_checks import number

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# Of one card: bytes a second of its memory, the most watts it takes, and its highest clock.
CARDS = {"H200": (4.8e12, 700.0, 1980.0), "H100 PCIe": (2.04e12, 350.0, 1755.0), "H100": (3.36e12, 700.0, 1980.0),
         "A100": (2.04e12, 400.0, 1410.0)}
UNITS = {"mixed-precision-solver": "solves/s", "multigrid": "solves/s", "dslash-scaling": "GFLOP/s",
         "nodal-dg": "node stages/s", "overlap-propagator": "propagators/hour", "hmc": "MD units/h"}
BEYOND_COPY, ROUNDING = 1.1, 1e-6
CYCLES_A_SECOND, FLOPS_A_CYCLE = 6.5e9, 64.0  # more than any core of a CPU has today, single precision
# The check without which a program's figure is not judged.
NEEDED = {"mixed-precision-solver": r"residual of the full system", "multigrid": r"residual of the full system, multigrid",
          "dslash-scaling": r".* N=\d+", "nodal-dg": r"right-hand side, against the textbook",
          "overlap-propagator": r"residual of D\(", "hmc": r"companion: force gauge against its action"}
FLOORS = {"double": 1e-13, "pairs": 3e-11}  # what a residual may be whatever was to be met; single: 1e-6
FLOPS = {"hopping": 1320, "wilson": 1368, "clover": 1872, "wilson_schur": 2688, "clover_schur": 3696}


def read_json(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


CLASSES = read_json(ROOT, "common", "app", "classes.json")


def near(a, b, tolerance=ROUNDING):
    a, b = number(a), number(b)
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def card_of(report):
    for name, limits in CARDS.items():
        if all(word in report["machine"]["gpu"] for word in name.split()):
            return name, limits
    return None, None
