# SPDX-License-Identifier: BSD-3-Clause
"""Correlators of a report against the lengths of the columns that they are made of.

Summed over all times, the pion of a propagator is the sum of |x|^2 of its twelve columns. At no time is the rho larger."""

import math

from report_checks import number, version

COLUMNS = 12
ROUNDING = 1e-9
#: The schema version from which a program always writes |x| of each column.
SINCE = {"mixed-precision-solver": (1, 5), "multigrid": (1, 6), "overlap-propagator": (1, 6)}


class Propagator:
    """Correlators of one quark, and |x| of its columns where the report has them."""

    def __init__(self, name, correlators, norms):
        self.name, self.norms = name, norms
        self.pion, self.rho = correlators.get("pion"), correlators.get("rho")

    def faults(self, needs_norms):
        faults = [f"{self.name}'{meson}' is no list of finite numbers" for meson, values in (("pion", self.pion), ("rho", self.rho))
                  if values is not None and not is_finite_list(values)]
        if faults or self.pion is None:
            return faults
        total, squares = sum(map(number, self.pion)), sum(number(norm) ** 2 for norm in self.norms)
        if len(self.norms) != COLUMNS and (self.norms or needs_norms):
            faults.append(f"{self.name}pion: expected |x| of {COLUMNS} columns that it is made of, found {len(self.norms)}")
        elif self.norms and not abs(total - squares) <= ROUNDING * max(total, squares):
            faults.append(f"{self.name}pion: its sum is {total:.12g}, and |x|^2 of the solutions {squares:.12g}")
        for time, (pion, rho) in enumerate(zip(self.pion, self.rho or [])):
            if not abs(number(rho)) <= (1.0 + ROUNDING) * number(pion):
                faults.append(f"{self.name}rho: {rho} at time {time}, and the pion is {pion}")
                break
        return faults


def is_finite_list(values):
    return isinstance(values, list) and all(math.isfinite(number(value)) for value in values)


def masses_of(report):
    """The propagators of overlap-propagator, one a mass and solve; and what in their list is not as it has to be."""
    observables, solves, faults = report["observables"], report["solves"], []
    masses = observables.get("masses", [])
    if [mass.get("mass") for mass in masses] != [solve.get("mass") for solve in solves]:
        faults.append(f"correlators of masses {[mass.get('mass') for mass in masses]}, and solves of "
                      f"{[solve.get('mass') for solve in solves]}")
    for meson in ("pion", "rho"):
        if masses and meson in observables and observables[meson] != masses[0].get(meson):
            faults.append(f"observables: '{meson}' is not that of the first mass")
    return [Propagator(f"mass {mass.get('mass')}: ", mass, solve.get("propagator_norms", []))
            for mass, solve in zip(masses, solves)], faults


def correlator_faults(report):
    observables, faults = report["observables"], []
    needs_norms = bool(report["solves"]) and version(report) >= SINCE.get(report["app"], (math.inf,))
    first = report["solves"][0] if report["solves"] else {}
    if report["app"] == "overlap-propagator" and (observables.get("masses") or (needs_norms and "pion" in observables)):
        propagators, faults = masses_of(report)
    else:
        norms = [column["solution_norm"] for column in first.get("columns", []) if "solution_norm" in column]
        propagators = [Propagator("", observables, norms if "pion" in observables else [])]
    for propagator in propagators:
        faults += propagator.faults(needs_norms)
    return faults
