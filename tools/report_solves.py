# SPDX-License-Identifier: BSD-3-Clause
"""Solves and waves of a report: residuals, iterations, histories, speed, energy of waves."""

import math

from report_checks import number
from report_limits import BEYOND_COPY, FLOORS, FLOPS, near


def solve_faults(report):
    faults = []
    tolerance = number(report["parameters"].get("tolerance"))
    kept_in = report["parameters"].get("solution_precision", "double")
    floor = 0 if kept_in == "double" else FLOORS.get(kept_in, 1e-6)
    masses = report["parameters"].get("masses") if report["app"] == "overlap-propagator" else None
    judged = sum(check["name"].startswith("residual of D(") for check in report["checks"])
    if masses and report["solves"] and judged < len(masses):
        faults.append(f"{judged} residuals were judged, and solves for {len(masses)} masses are in the report")
    if masses and report["solves"] and sorted(number(s.get("mass", math.nan)) for s in report["solves"]) != sorted(masses):
        faults.append(f"solves for masses {[s.get('mass') for s in report['solves']]}, and {masses} were to be solved")
    for s in report["solves"]:
        timing, what = s.get("timing"), f"solve by {s['solver']}"
        if isinstance(timing, dict) and not near(timing["median"], s["seconds"]):
            faults.append(f"{what}: {s['seconds']} s, and its timing says {timing['median']}")
        if not number(s["seconds"]) > 0 or s["iterations"] < 1:
            faults.append(f"{what}: expected iterations and seconds above 0")
        if s.get("converged") and tolerance > 0 and \
                not number(s["residual"]["reference"]) <= max(20 * tolerance, floor):
            faults.append(f"{what}: residual {s['residual']['reference']}, and {tolerance:g} was to be met")
        columns = s.get("columns", [])
        if report["app"] == "mixed-precision-solver" and len(columns) != report["parameters"].get("rhs", len(columns)):
            faults.append(f"{what}: {len(columns)} columns, and {report['parameters']['rhs']} right-hand sides")
    return faults


def history_faults(report):
    """Iterations against histories, repetitions against samples, means against the times that they are means of."""
    faults = []
    for s in report["solves"]:
        what, history = f"solve by {s['solver']}", s.get("history") or []
        lengths = [len(h) for h in history] if history and isinstance(history[0], list) else [len(history)]
        known = max(lengths) - 1
        # The iterations of multigrid and overlap are those of the slowest column, the history that of another one; and
        # masses that are solved together end one after the other.
        slack = 0 if report["app"] == "mixed-precision-solver" else 3 + 0.1 * known
        fewest = 0 if str(s["solver"]).startswith("multi-mass") else known - slack
        if known >= 0 and not fewest <= s["iterations"] <= known + slack:
            faults.append(f"{what}: {s['iterations']} iterations, and its history has {known}")
        timing, repeat = s.get("timing"), report["parameters"].get("repeat")
        if report["app"] == "mixed-precision-solver" and timing and repeat is not None and timing.get("samples") != repeat:
            faults.append(f"{what}: {timing.get('samples')} samples, and {repeat} repetitions were to be timed")
        for f in report["figures"] if "seconds_mean" in s else []:
            if f["operator"] == f"solve by {s['solver']}" and f["rhs"] == s.get("batch"):
                low, high = (number(f["seconds"][k]) / f["rhs"] for k in ("min", "max"))
                if not 0.99 * low <= number(s["seconds_mean"]) <= 1.01 * high:
                    faults.append(f"{what}: {s['seconds_mean']} s a source on average, and its times go from {low:.4g} to {high:.4g}")
    return faults


def wave_faults(report):
    """Energy of waves: it does not grow where nothing feeds it, and its history ends in it."""
    faults, energy = [], report["observables"].get("energy")
    if report["app"] == "nodal-dg" and isinstance(energy, dict) and \
            any(check["name"] == "energy does not grow" for check in report["checks"]):
        begin, end = number(energy.get("start")), number(energy.get("end"))
        last = [number(time_and_energy[-1]) for time_and_energy in energy.get("history", [])[-1:]]
        if not end <= 1.001 * begin or (last and not near(last[0], end, 1e-3)):
            faults.append(f"energy: {end} at the end, {begin} at the start, {last} last in its history, and nothing feeds it")
    return faults


def speed_faults(report):
    """Solves against the arithmetic that figures of the same run name, and against their own operators. If something else
    ran while that was measured, a share is above 1, and the check of the best figure has it by another measurement."""
    shares = [number(check["value"]) for check in report["checks"] if check["name"].startswith("best figure, as a share")]
    most = min((share for share in shares if share > 0), default=math.inf)
    of_peak = [(f, number(f.get("fraction_of_fma_peak", 0))) for f in report["figures"] if f["device"] == "cpu"]
    peaks = [number(f["gflops"]) / (min(share, most) if share > BEYOND_COPY else share) * (2 if f["precision"] == "double" else 1)
             for f, share in of_peak if share > 0]
    faults = []
    for s in report["solves"]:
        gflops, seconds, what = number(s.get("gflops", math.nan)), number(s["seconds"]), f"solve by {s['solver']}"
        if peaks and gflops > 2 * BEYOND_COPY * max(peaks):
            faults.append(f"{what}: {gflops:.4g} GFLOP/s, and the machine's arithmetic is {max(peaks):.4g}")
        if "applications" not in s or "columns" not in s or report["app"] != "mixed-precision-solver":
            continue
        sites = math.prod(report["parameters"]["lattice"]) / 2
        most = 1e-9 * 1.5 * FLOPS["clover_schur"] * sites * len(s["columns"]) * sum(s["applications"].values())
        if not most / 50 <= gflops * seconds <= most:
            faults.append(f"{what}: {gflops:.4g} GFLOP/s in {seconds:.4g} s, and its operators are {most / 1.5:.4g} Gflop")
    return faults
