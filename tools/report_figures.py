# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a report against its parameters, its machine, and what such a machine can give."""

import math

from report_checks import number
from report_limits import BEYOND_COPY, CYCLES_A_SECOND, FLOPS, FLOPS_A_CYCLE, UNITS, card_of, near


def problem_faults(report):
    """Parts of a report that name another problem or another machine than its parameters."""
    app, p, gauge, machine, faults = report["app"], report["parameters"], report["gauge"], report["machine"], []
    if app not in UNITS or p.get("latency"):
        return faults

    def expect(what, expected, found):
        if expected is not None and found is not None and expected != found:
            faults.append(f"{what}: expected {expected} as in the parameters, found {found}")
    for of_links, of_run in (("lattice", "lattice"), ("seed", "seed"), ("source", "gauge")):
        expect(f"{of_links} of the links", p.get(of_run), gauge.get(of_links))
    expect("product of the grid", machine["ranks"], math.prod(p["grid"]) if "grid" in p else None)
    for f in report["figures"]:
        expect("lattice of a figure", p.get("lattice"), f["lattice"])
        expect("ranks of a figure", machine["ranks"], f["ranks"])
        clock = {k: number(v) for k, v in f.get("gpu", {}).get("sm_clock_mhz", {}).items()}
        highest = (card_of(report)[1] or (0, 0, math.inf))[2]
        if clock and not 0 < clock["min"] <= clock["median"] <= clock["max"] <= 1.02 * highest:
            faults.append(f"clocks of a figure: expected min <= median <= max <= {highest:g} MHz, found {clock}")
    o = report["observables"]
    if app == "nodal-dg" and p.get("box") and len(p["box"]) == 3 and not p.get("refine"):
        n = p["order"]
        expect("elements", 6 * math.prod(p["box"]), o.get("elements"))
        expect("nodes", math.prod(p["box"]) * (n + 1) * (n + 2) * (n + 3), o.get("nodes"))
        for f in report["figures"]:
            if not near(f["nodes_per_s"] * number(f["seconds"]["median"]), o.get("nodes", 0) * f["rhs"], 1e-3):
                faults.append(f"{f['nodes_per_s']:.4g} node stages/s, and its seconds give "
                              f"{o.get('nodes', 0) * f['rhs'] / number(f['seconds']['median']):.4g}")
        fields = 6 if p["equations"] == "maxwell" and len(p.get("box") or [0, 0, 0]) == 3 else 4
        for f in report["figures"] if fields in (4, 6) and o.get("nodes") else []:
            least = 4e-9 * fields * (8 if f["precision"] == "double" else 4) * f["nodes_per_s"]
            if not 0.7 * least <= number(f["gbytes_per_s"]) <= 1.01 * least:
                faults.append(f"{f['gbytes_per_s']:.4g} GB/s, and {f['nodes_per_s']:.4g} node stages/s are {least:.4g}")
    cards = [rank["gpu"] for rank in machine.get("gpus", {}).get("ranks", [])]
    if cards and (len(cards) != machine["ranks"] or any(card not in machine["gpu"] for card in cards)):
        faults.append(f"expected {machine['ranks']} of the card '{machine['gpu']}', found {cards[:4]}")
    for s in report["solves"] if app == "multigrid" else []:
        timed = [number(f["seconds"]["median"]) for f in report["figures"]
                 if f["operator"] == f"solve by {s['solver']}" and f["rhs"] == s.get("batch")]
        if timed and not any(near(number(s["seconds"]) * s["batch"], t, 0.01) for t in timed):
            faults.append(f"{s['solver']}, {s['batch']} at once: {s['seconds']} s each, and the figure took {timed[0]}")
    for s in report["solves"] if app == "mixed-precision-solver" else []:
        judged = [c["value"] for c in report["checks"] if c["name"] == "residual of the full system"]
        columns = [c["residual"]["reference"] for c in s.get("columns", [])]
        if columns and judged and not any(near(judged[0], c, 1e-3) for c in columns):
            faults.append(f"the residual that was judged, {judged[0]}, is of no column")
        for n, c in enumerate(s.get("columns", [])):
            if c.get("solved") is False or not number(c["residual"]["reference"]) <= number(c["tolerance"]):
                faults.append(f"column {n}: residual {c['residual']['reference']}, tolerance {c['tolerance']}")
    return faults


def figure_faults(report):
    faults = problem_faults(report)
    name, card = card_of(report)
    threads = number(report["machine"]["threads"]) * number(report["machine"]["ranks"])
    for f in report["figures"]:
        what = f"figure '{f['operator']} {f['layout']} {f['precision']}'"
        s = {k: number(v) for k, v in f["seconds"].items()}
        gflops, gbytes, share = (number(f[k]) for k in ("gflops", "gbytes_per_s", "fraction_of_copy"))
        if not 0 < s["min"] <= s["median"] <= s["max"] or s["samples"] < 1:
            faults.append(f"{what}: expected seconds with min <= median <= max, found {f['seconds']}")
            continue
        if f["operator"] in FLOPS and f["layout"] in ("even-odd", "full"):
            sites = math.prod(f["lattice"]) / (2 if f["layout"] == "even-odd" else 1)
            counted = 1e-9 * FLOPS[f["operator"]] * sites * f["rhs"] / s["median"]
            if report["app"] == "dslash-scaling" and not near(gflops, counted, 0.01):
                faults.append(f"{what}: {gflops:.4g} GFLOP/s, and its seconds give {counted:.4g}")
        # The standard counts of nodal-dg hold more products than are made: the fewest must stay below the peak.
        peak = number(f.get("fewest_fraction_of_fma_peak" if "nodes_per_s" in f else "fraction_of_fma_peak", 0.0))
        moved = 1e9 * gbytes * s["median"] / max(f["ranks"], 1)  # bytes of a rank
        if f["device"] == "cpu":
            # A shared machine disturbs the peak that a figure is related to; the program's own check measures it again.
            # So where that check is there, its value is the one number that counts.
            judged = any(check["name"].startswith("best figure, as a share") for check in report["checks"])
            if not peak <= BEYOND_COPY and not judged:
                faults.append(f"{what}: {peak:.3g} of the arithmetic that the run measured")
            if not gflops <= 1e-9 * CYCLES_A_SECOND * FLOPS_A_CYCLE * max(threads, 1):
                faults.append(f"{what}: {gflops:.4g} GFLOP/s are more than {threads:g} cores can do")
        elif not share <= BEYOND_COPY and moved > 1e9:
            faults.append(f"{what}: {share:.3g} of the copy bandwidth that the run measured")
        if f["device"] == "gpu" and card and moved > 5e8 and not 1e9 * gbytes <= 1.02 * card[0] * f["ranks"]:
            faults.append(f"{what}: {gbytes:.4g} GB/s, and {f['ranks']} x {name} have {1e-9 * card[0] * f['ranks']:.4g}")
    return faults + copy_faults(report)


def copy_faults(report):
    """On a GPU all figures are compared with one copy: their bytes and shares must name the same one."""
    copies = [number(f["gbytes_per_s"]) / number(f["fraction_of_copy"]) for f in report["figures"]
              if f["device"] == "gpu" and number(f["fraction_of_copy"]) > 0 and report["app"] == "dslash-scaling"]
    faults = []
    if copies and not max(copies) <= 1.05 * min(copies):
        faults.append(f"figures name different copy bandwidths, {min(copies):.4g} to {max(copies):.4g} GB/s")
    name, card = card_of(report)
    if copies and card and not 1e9 * max(copies) <= 1.02 * card[0] * report["machine"]["ranks"]:
        faults.append(f"figures name a copy bandwidth of {max(copies):.4g} GB/s, beyond what {name} has")
    return faults
