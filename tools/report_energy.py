# SPDX-License-Identifier: BSD-3-Clause
"""Energies of a report: power times time, and what cards and hosts take."""

import math
import statistics

from report_checks import number
from report_limits import card_of, near

MOST_WATT_OF_A_HOST = 2e4


def host_energy_faults(report):
    """Energy of hosts, over the run and over solves: power times time, above 0, and what a host can take."""
    faults = []
    hosts = max(number(report.get("run", {}).get("hosts", 1)), 1)
    for what, window in [("of the hosts", report.get("energy", {}))] + \
            [(f"of the hosts in '{s['name']}'", s.get("host_energy", {})) for s in report.get("stages") or []] + \
            [(f"of the hosts in '{s['solver']}'", s.get("host_energy", {})) for s in report["solves"]]:
        if not window or "none" in window:
            continue
        energy, power, seconds = (number(window.get(k)) for k in ("energy_joule", "power_watt", "seconds"))
        if not (energy > 0 and seconds > 0 and near(energy, power * seconds, 1e-3)):
            faults.append(f"energy {what}: expected one above 0 that is power times time, found {energy:.4g} J, "
                          f"{power:.4g} W, {seconds:.4g} s")
        elif not power <= MOST_WATT_OF_A_HOST * hosts:
            faults.append(f"energy {what}: {power:.4g} W, more than {hosts:g} hosts take")
    return faults


def joules_a_solve(report):
    """Of the last timed solves of a batch, GPUs and hosts together where both tell; NaN where neither does. Of
    overlap-propagator on CPUs, a propagator's part of all stages."""
    joules = []
    if report["app"] == "overlap-propagator" and report["solves"]:
        parts = [number(s.get("host_energy", {}).get("energy_joule")) for s in report.get("stages") or []]
        return sum(parts) / len(report["solves"]) if parts and report["parameters"].get("device") == "cpu" else math.nan
    for s in report["solves"]:
        parts = [number(s.get("gpu", {}).get("energy_joule_of_all_ranks")), number(s.get("host_energy", {}).get("energy_joule"))]
        columns = (s.get("batches") or [{}])[-1].get("columns") or s.get("columns") or []
        if report["app"] == "multigrid":
            if s["solver"] != "multigrid" or s is not min((m for m in report["solves"] if m["solver"] == "multigrid"),
                                                          key=lambda m: number(m["seconds"])):
                continue  # the figure of merit is that of the best batch
            parts[0] = number(s.get("energy_joule_a_solve")) * len(columns)
        known = [p for p in parts if not math.isnan(p)]
        if known and columns:
            joules.append(sum(known) / len(columns))
    return statistics.median(joules) if joules else math.nan


def energy_faults(report):
    faults = host_energy_faults(report)
    _, card = card_of(report)
    for item in report["figures"] + report["solves"]:
        window, what = item.get("gpu") or {}, f"'{item.get('operator', item.get('solver'))}'"
        ranks = max(int(report["machine"]["ranks"]), 1)
        energy, power, seconds = (number(window.get(k)) for k in ("energy_joule", "power_watt", "seconds"))
        if not (math.isnan(energy) or math.isnan(power)) and not near(energy, power * seconds, 0.05):
            faults.append(f"{what}: {energy:.4g} J, and {power:.4g} W over {seconds:.4g} s are {power * seconds:.4g} J")
        most = 1.1 if seconds > 2.0 else 1.3  # the counter of a card is late by a tenth of a second
        if card and power > most * card[1] * ranks:
            faults.append(f"{what}: {power:.4g} W, and {ranks} of this card take at most {card[1] * ranks:.4g}")
        if energy <= 0 or power <= 0:
            faults.append(f"{what}: expected energy and power above 0")
    return faults
