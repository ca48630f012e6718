# SPDX-License-Identifier: BSD-3-Clause
"""Judges reports of the mini-apps, as RUN_RULES.md says: ./plaquette validate FILE... | FOLDER

A report alone is held to the schema, to itself and to what a machine can give. A folder with submission.json is held to
the run rules too. There each run is of an official class and repeated, the spread is small, and scaling series are
complete. Exit status: 0 all are good, 1 one is refused, 2 one cannot be used."""

import argparse
import datetime
import json
import math
import os
import re
import statistics
import subprocess
import sys
import zlib

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path[:0] = [os.path.join(ROOT, part) for part in ("plots", os.path.join("validation", "cli"), "tools")]
import report_file  # noqa: E402
from json_schema import errors as schema_errors  # noqa: E402
from report_checks import check_list_faults, number, observable_faults  # noqa: E402
from report_correlators import correlator_faults  # noqa: E402

REFUSED, UNUSABLE = 1, 2
MALFORMED = "schema: "  # a fault of a report whose parts are not of their kinds
SUBMISSION = "submission.json"
# Of one card: bytes a second of its memory, the most watts it takes, and its highest clock.
CARDS = {"H200": (4.8e12, 700.0, 1980.0), "H100 PCIe": (2.04e12, 350.0, 1755.0), "H100": (3.36e12, 700.0, 1980.0),
         "A100": (2.04e12, 400.0, 1410.0)}
UNITS = {"mixed-precision-solver": "solves/s", "multigrid": "solves/s", "dslash-scaling": "GFLOP/s",
         "nodal-dg": "node stages/s", "overlap-propagator": "propagators/hour"}
BEYOND_COPY, ROUNDING = 1.1, 1e-6
CYCLES_A_SECOND, FLOPS_A_CYCLE = 6.5e9, 64.0  # more than any core of a CPU has today, single precision
# The check without which a program's figure is not judged.
NEEDED = {"mixed-precision-solver": r"residual of the full system", "multigrid": r"residual of the full system, multigrid",
          "dslash-scaling": r".* N=\d+", "nodal-dg": r"right-hand side, against the textbook",
          "overlap-propagator": r"residual of D\("}
FLOORS = {"double": 1e-13, "pairs": 3e-11}  # what a residual may be whatever was to be met; single: 1e-6
FLOPS = {"hopping": 1320, "wilson": 1368, "clover": 1872, "wilson_schur": 2688, "clover_schur": 3696}


def read_json(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return json.load(file)


SCHEMA = read_json(ROOT, "common", "app", "report.schema.json")
CLASSES = read_json(ROOT, "common", "app", "classes.json")


def near(a, b, tolerance=ROUNDING):
    a, b = number(a), number(b)
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


# --- the class of a run

def problem_of(app, name, memory):
    """What an official class fixes, a dictionary of parameters; None where there is no such class."""
    program = CLASSES["programs"].get(app)
    if program is None or name not in CLASSES["classes"] or memory not in CLASSES["memory"]:
        return None
    problem = dict(program["fixed"])
    if name in CLASSES["lattices"] and program["scaled"] == "lattice":
        problem["lattice"] = CLASSES["lattices"][name]
        if "gauge" not in problem:
            problem.update(CLASSES["light_quark"])
            problem["gauge"] = CLASSES["repeated"].get(name, problem["gauge"])
    problem.update(program.get(name, {}))
    scaled = list(problem[program["scaled"]])
    scaled[-1] = int(scaled[-1] * CLASSES["memory"][memory])
    problem[program["scaled"]] = scaled
    return problem


def plaquette_of(gauge):
    """Of the links before any smearing; of repeated ones, of the cell."""
    if "plaquette_of_cell" in gauge:
        return number(gauge["plaquette_of_cell"])
    return number(gauge["stout"].get("plaquette_before") if "stout" in gauge else gauge.get("plaquette"))


def plaquette_faults(problem, gauge, name, remarks):
    """Where the links are no heat bath's of this kind; a remark where they are others than those that were measured."""
    words = str(problem.get("gauge")).split(":")
    rule = CLASSES["plaquettes"].get(":".join(words[:3]))
    if rule is None:
        return []
    lattice = list(map(int, words[3].split("x"))) if len(words) > 3 else problem["lattice"]
    tolerance = rule["uncertainty"] + 6 * rule["spread"] / math.sqrt(math.prod(lattice))
    found = plaquette_of(gauge)
    if not abs(found - rule["value"]) <= tolerance:
        return [f"class {name}: expected plaquette {rule['value']} within {tolerance:.2g}, found {found:.12g}"]
    for known in CLASSES["plaquettes"]["measured"]:
        if known["gauge"] == ":".join(words[:3]) and known["lattice"] == lattice and known["seed"] == problem["seed"] and \
                not near(known["plaquette"], found, 1e-11):
            remarks.append(f"links are others than the reference's, plaquette {found:.12g} and {known['plaquette']}: "
                           "rounding of another machine is enough for that")
    return []


def same(expected, found):
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(same(v, found.get(k)) for k, v in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(expected) == len(found) and all(map(same, expected, found))
    if isinstance(expected, (int, float)) and not isinstance(expected, bool):
        return near(expected, found, 1e-12)
    return expected == found


def class_faults(report, remarks):
    """What in the parameters, links or duration is not as the class of the report has it."""
    run_class, parameters = report["class"], report["parameters"]
    name, memory = run_class["name"], run_class.get("memory", "medium")
    problem = problem_of(report["app"], name, memory)
    if problem is None:
        return [f"class {name}, memory {memory}: there is no such class of {report['app']}"]
    faults = []
    newest = CLASSES["programs"][report["app"]].get("version", 1)
    version = run_class.get("version", 1)  # old reports leave it out
    if not (isinstance(version, int) and 1 <= version <= newest):
        faults.append(f"class {name}: expected version {newest} or an older one, found {json.dumps(version)}")
    elif version < newest:
        remarks.append(f"class {name}: of version {version}, whose figures are not compared with those of version {newest}")
    for key, expected in problem.items():
        found = parameters.get(key, {"steps": 0} if key == "stout" else None)
        if not same(expected, found):
            faults.append(f"class {name}: expected {key} {json.dumps(expected)}, found {json.dumps(found)}")
    faults += plaquette_faults(problem, report["gauge"], name, remarks)
    for key, least in CLASSES["programs"][report["app"]]["least"].items():
        if not number(parameters.get(key)) >= least:
            faults.append(f"class {name}: expected {key} {least} or more, found {parameters.get(key)}")
    seconds = CLASSES["programs"][report["app"]].get("seconds", CLASSES["classes"][name]["seconds"])
    if not number(run_class.get("work_seconds", 0.0)) >= seconds:
        faults.append(f"class {name}: expected {seconds} s of work or more, found {run_class.get('work_seconds')}")
    if not number(run_class.get("work_seconds", 0.0)) <= 1.01 * work_of(report):
        faults.append(f"class {name}: {run_class['work_seconds']:.4g} s of work, and what was timed took {work_of(report):.4g}")
    for variable in report.get("run", {}).get("environment", {}):
        if variable in ("PLAQUETTE_COPY_MIB", "PLAQUETTE_CHEAT") and seconds:
            faults.append(f"class {name}: {variable} is for tests")
    if run_class["conforms"] != (not run_class["why"]):
        faults.append("class: 'conforms' and 'why' contradict each other")
    if not run_class["conforms"]:
        faults.append(f"class {name}: the run says itself that it does not conform: {run_class['why']}")
    return faults


# --- a report by itself

def checksum_faults(report, path, remarks):
    """The checksum is that of the text without its own line."""
    if "checksum" not in report:
        remarks.append("no checksum over itself (written before schema 1.3)")
        return [] if report["schema_version"] in ("1.0", "1.1", "1.2") else ["expected a checksum in a report since schema 1.3"]
    text = report_file._text(path).encode("utf-8")  # pylint: disable=protected-access
    body, found = re.subn(rb',\n  "checksum": "[^"\n]*"\n}\n\Z', b"\n}\n", text)
    expected = f"crc32:{zlib.crc32(body):08x}"
    if found != 1 or report["checksum"] != expected:
        return [f"the text was changed after the run: checksum {expected} of the text, found {report['checksum']}"]
    return []


def verdict_faults(report):
    """Where the checks contradict themselves or the verdict. Keys may be missing."""
    faults, checks = [], report["checks"]
    for check in checks:
        if check.get("passed") != (number(check.get("value")) <= number(check.get("tolerance"))):
            faults.append(f"check '{check.get('name')}': value {check.get('value')} and tolerance {check.get('tolerance')} "
                          f"contradict passed {str(check.get('passed')).lower()}")
    if not checks:
        faults.append("nothing was checked")
    if report["verified"] != (bool(checks) and all(check.get("passed") is True for check in checks)):
        faults.append(f"verified {str(report['verified']).lower()}, and the checks say otherwise")
    return faults


def contradictions(report, path):
    """What in a report contradicts its checksum or itself, whether it is verified or not."""
    faults = checksum_faults(report, path, []) + verdict_faults(report)
    try:
        return faults + own_fom_faults(report)
    except (KeyError, TypeError, AttributeError, ZeroDivisionError):  # parts are missing: there is nothing to compare
        return faults


def check_faults(report):
    faults, checks = verdict_faults(report), report["checks"]
    for check in checks:
        if not number(check["tolerance"]) <= BEYOND_COPY:
            faults.append(f"check '{check['name']}': expected a tolerance of at most {BEYOND_COPY}, "
                          f"found {number(check['tolerance']):g}")
    if report["verified"] is False and not all(check["passed"] for check in checks):
        faults.append("not verified: " + ", ".join(c["name"] for c in checks if not c["passed"]))
    needed = NEEDED.get(report["app"])
    ends_early = report["parameters"].get("latency") or report["parameters"].get("until", "propagators") != "propagators"
    if needed and checks and not ends_early and \
            not any(re.match(needed, check["name"]) for check in checks):
        faults.append(f"the check '{needed}' is missing")
    residual = number(report["parameters"].get("tolerance"))
    for check in checks:
        if check["name"].startswith(("residual of the full system", "residual of D(")) and residual > 0:
            floor = FLOORS.get(report["parameters"].get("solution_precision", "double"), 1e-6)
            if not number(check["tolerance"]) <= max(20 * residual, floor):
                faults.append(f"check '{check['name']}': tolerance {check['tolerance']}, and {residual:g} was to be met")
    return faults


def expected_foms(report):
    """The figures of merit that the report's own figures give; empty: not known."""
    app, figures, solves = report["app"], report["figures"], report["solves"]
    if app == "dslash-scaling":
        what = report["fom"]["what"]
        return [f["gflops"] for f in figures if f.get("protocol", "sustained") == "sustained" and what.startswith(
            f"{f['operator']} {f['layout']} {f['precision']} {f['reconstruct'] or ''}".strip())]
    if app == "nodal-dg":
        return [f["nodes_per_s"] for f in figures if "nodes_per_s" in f]
    if app == "multigrid":
        return [1.0 / number(s["seconds_mean"]) for s in solves if s["solver"] == "multigrid" and "seconds_mean" in s]
    if app == "overlap-propagator":
        stages = report["observables"].get("calculation", [])
        total = sum(number(s["seconds"]) for s in stages if s.get("stage") != "modes of D, judged")
        return [3600.0 * len(solves) / total] if solves and total > 0 and not any(s.get("restored", True) for s in stages) else []
    if app == "mixed-precision-solver":
        return [len(s["columns"]) / number(s["seconds"]) for s in solves if s.get("columns")]
    return []


def own_fom_faults(report):
    """Where the figure of merit contradicts the report's own figures."""
    value = number(report["fom"]["value"])
    if "none" in report["fom"]:
        return [] if math.isnan(value) else \
            [f"figure of merit {value:.6g}, and it says that it has none: {report['fom']['none']}"]
    expected = expected_foms(report)
    if math.isnan(value) or not expected or any(near(value, e, 1e-3) for e in expected):
        return []
    return [f"figure of merit {value:.6g}, and its own figures give {max(map(number, expected)):.6g}"]


def fom_faults(report):
    value, faults = number(report["fom"]["value"]), own_fom_faults(report)
    if "none" in report["fom"]:
        if "class" in report:
            faults.append(f"a run of a class has a figure of merit, found none: {report['fom']['none']}")
        return faults
    if report["fom"]["unit"] != UNITS.get(report["app"], report["fom"]["unit"]) and not report["parameters"].get("latency"):
        faults.append(f"expected a figure of merit in {UNITS[report['app']]}, found {report['fom']['unit']}")
    if not (math.isfinite(value) and value > 0):
        return [f"expected a figure of merit, found {report['fom']['value']}"]
    if not expected_foms(report) and report["app"] in NEEDED and not report["parameters"].get("latency"):
        faults.append("no figures that the figure of merit is made of")
    return faults


def card_of(report):
    for name, limits in CARDS.items():
        if all(word in report["machine"]["gpu"] for word in name.split()):
            return name, limits
    return None, None


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


def work_of(report):
    """Seconds that the timed parts of a report took at most; infinity where it does not tell."""
    app, figures = report["app"], report["figures"]
    if app == "mixed-precision-solver":
        return sum(number(s["timing"]["median"]) * s["timing"]["samples"] for s in report["solves"] if "timing" in s)
    if app == "nodal-dg":
        return max((5 * number(f["seconds"]["median"]) * report["observables"]["steps"] for f in figures), default=0.0)
    if app == "dslash-scaling" and report["parameters"].get("device") == "gpu":
        return 5.0 + sum(number(f.get("gpu", {}).get("seconds", 0.0)) for f in figures)
    return math.inf


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
    """Solves against the arithmetic that figures of the same run name, and against their own operators."""
    peaks = [number(f["gflops"]) / number(f["fraction_of_fma_peak"]) * (2 if f["precision"] == "double" else 1)
             for f in report["figures"] if number(f.get("fraction_of_fma_peak", 0)) > 0 and f["device"] == "cpu"]
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


def git(*words):
    """The output of git in this repository; empty where it fails."""
    return subprocess.run(["git", "-C", ROOT, *words], check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).stdout


def origin_faults(report, revision, remarks, trial=False):
    """Where the report comes from: a known revision without changes, a date that was."""
    build, faults = report["build"], []
    if trial:
        remarks.append(f"revision {build['revision'][:12]}{' with changes' if build['dirty'] else ''}, not judged (--trial)")
        return command_faults(report)
    found = build["revision"]
    if not re.fullmatch(r"[0-9a-f]{40}", found):
        faults.append(f"expected a revision of 40 digits, found '{found}'")
    elif revision and not found.startswith(revision):
        faults.append(f"expected revision {revision}, found {found[:12]}")
    made = git("show", "-s", "--format=%ct", found + "^{commit}").strip()
    if not made and not faults:
        remarks.append(f"revision {found[:12]} is not in this repository")
    schema = re.search(r'report_schema_version = "([0-9.]+)"', git("show", found + ":common/app/report.hpp") if made else "")
    if schema and schema[1] != report["schema_version"]:
        faults.append(f"schema version {report['schema_version']}, and revision {found[:12]} writes {schema[1]}")
    if build["dirty"]:
        faults.append("built from files that differ from the revision")
    date = report.get("run", {}).get("date")
    if date is not None:
        try:
            when = datetime.datetime.strptime(date, "%Y-%m-%dT%H:%M:%SZ")
            if when > datetime.datetime.utcnow() + datetime.timedelta(days=1):
                faults.append(f"run in the future, {date}")
            if made and when + datetime.timedelta(days=1) < datetime.datetime.utcfromtimestamp(int(made)):
                faults.append(f"run on {date[:10]}, before its revision was made")
        except ValueError:
            faults.append(f"expected a date such as 2026-01-31T12:00:00Z, found '{date}'")
    return faults + command_faults(report)


def command_faults(report):
    """What the command line says of lattice, tolerance and right-hand sides is what the parameters say."""
    parameters, faults = report["parameters"], []
    words = str(parameters.get("command", "")).replace("=", " ").split()
    for option, key in (("--lattice", "lattice"), ("--tol", "tolerance"), ("--rhs", "rhs"), ("--seed", "seed"),
                        ("--order", "order")):
        if option not in words[:-1] or key not in parameters:
            continue
        said, found = words[words.index(option) + 1], parameters[key]
        agrees = said == "x".join(map(str, found)) if isinstance(found, list) else near(said, found, 1e-12)
        if not agrees and number(said) != 0:
            faults.append(f"the command says {option} {said}, the parameters {found}")
    return faults


def noise_remarks(report, remarks):
    """What makes a figure doubtful without making it wrong: spread, clocks, load, and figures far below the limit."""
    cores = number(report["machine"].get("logical_cpus", math.inf)) * number(report["machine"].get("ranks_on_host", 1))
    load = number(report.get("run", {}).get("load", 0.0))
    if load > 0.5 * cores:
        remarks.append(f"load: {load:.3g} processes ran on the host in the minute before, and the run has {cores:g} cores")
    fast = [f for f in report["figures"] if number(f.get("fraction_of_fma_peak", 0)) > BEYOND_COPY and f["device"] == "cpu"]
    if fast:
        remarks.append(f"disturbed: '{fast[0]['operator']} {fast[0]['precision']}' has "
                       f"{100 * number(fast[0]['fraction_of_fma_peak']):.3g}% of an arithmetic that was measured while something "
                       "else ran; the check 'best figure' has the share of the one measured again")
    slow = [f for f in report["figures"] if max(number(f["fraction_of_copy"]), number(f.get("fraction_of_fma_peak", 0))) < 0.2]
    if slow:
        remarks.append(f"{len(slow)} figures are below 20% of both limits that the run measured, such as "
                       f"'{slow[0]['operator']} {slow[0]['precision']}' at {100 * number(slow[0]['fraction_of_copy']):.2g}% of copy")
    if any(number(f["threads"]) * number(f["ranks"]) > cores * max(report.get("run", {}).get("hosts", 1), 1)
           for f in report["figures"] if f["device"] == "cpu"):
        remarks.append("figures of more threads than cores")
    for f in report["figures"]:
        clock = f.get("gpu", {}).get("sm_clock_mhz", {})
        if f.get("protocol") == "sustained" and number(clock.get("min")) < 0.9 * number(clock.get("max")):
            remarks.append(f"clocks: {clock['min']:g} to {clock['max']:g} MHz during '{f['operator']} {f['precision']}'")
    for f in report["figures"]:
        s = {k: number(v) for k, v in f["seconds"].items()}
        if s["median"] > 0 and s["max"] - s["min"] > 0.5 * s["median"]:
            remarks.append(f"noisy: '{f['operator']} {f['precision']}' took {s['min']:.3g} to {s['max']:.3g} s")
    threads = number(report["machine"]["threads"]) * number(report["machine"].get("ranks_on_host", 1))
    if threads > number(report["machine"].get("logical_cpus", math.inf)) * number(report["machine"].get("ranks_on_host", 1)):
        remarks.append("more threads than cores")


def judge(path, revision=None, trial=False):
    """(report, faults, remarks) of a file. Throws ReportError where it is no report, or one whose parts are of another
    kind than a report's."""
    try:
        return judge_parts(path, revision, trial)
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError, IndexError, OverflowError) as error:
        raise report_file.ReportError(f"{path}: a part of the report is missing or of another kind than expected: "
                                      f"{type(error).__name__}: {error}") from None


def judge_parts(path, revision, trial):
    """See judge."""
    report, remarks = report_file.load(path), []
    found = schema_errors(report, SCHEMA)
    if found:
        return report, [f"{MALFORMED}{fault}" for fault in found[:5]], remarks
    faults = checksum_faults(report, path, remarks) + check_faults(report) + check_list_faults(report) + \
        observable_faults(report) + history_faults(report) + correlator_faults(report) + wave_faults(report) + fom_faults(report) + \
        figure_faults(report) + energy_faults(report) + solve_faults(report) + speed_faults(report) + \
        origin_faults(report, revision, remarks, trial)
    if "class" in report:
        faults += class_faults(report, remarks)
    noise_remarks(report, remarks)
    return report, faults, remarks


# --- reports together

def kind_of(report):
    """Runs of one kind are repetitions of each other."""
    c = report.get("class", {"name": "-"})
    return (report["app"], c["name"], c.get("memory", "medium"), report["parameters"].get("device", "cpu"),
            report["parameters"].get("scaling", "strong"), report["machine"]["ranks"], c.get("version", 1))


def is_comparable(report):
    """Whether a report has the parts by which it is compared with others, each of its kind."""
    kind, machine = kind_of(report), report["machine"]
    return all(isinstance(word, str) for word in kind[:5]) and all(key in machine for key in ("host", "cpu", "gpu"))


def timings_of(report):
    """What no two runs have in common: their seconds, a group for each figure and solve."""
    groups = [[f["seconds"][k] for k in ("min", "median", "max")] for f in report["figures"]]
    groups += [[t[k] for k in ("min", "median", "max")] if (t := s.get("timing")) else [s["seconds"]] for s in report["solves"]]
    return [list(map(number, group)) for group in groups]


def by_the_way(report):
    """Numbers that are no figures and differ from run to run: load, energies, stages, clocks."""
    found = [report.get("run", {}).get("load")]
    found += [(report.get("energy") or {}).get(k) for k in ("energy_joule", "seconds", "power_watt")]
    found += [s.get("seconds") for s in report.get("stages") or []]
    for item in report["figures"] + report["solves"]:
        window = item.get("gpu") or {}
        found += [window.get(k) for k in ("energy_joule", "power_watt", "seconds")] + [item.get("reference_seconds")]
    return [number(v) for v in found]


def is_same_run(a, b):
    """Whether two reports share most of these to the last digit."""
    pairs = [(x, y) for x, y in zip(by_the_way(a), by_the_way(b)) if x > 0 and y > 0 and x != round(x, 2)]
    return len(pairs) >= 2 and sum(x == y for x, y in pairs) > 0.5 * len(pairs)


def is_copy(a, b):
    """Whether runs of one kind share what two runs do not: a group of times to the last bit, or all up to one factor."""
    if any(x == y and len(set(x)) > 1 for x, y in zip(a, b)):
        return True
    ratios = [p / q for x, y in zip(a, b) if len(x) == len(y) for p, q in zip(x, y) if q > 0]
    flat = {q for y in b for q in y}
    return len(flat) > 2 and len(ratios) > 2 and max(ratios) - min(ratios) < 1e-9 * max(ratios)


def end_of(report):
    """When a run began, and the first moment at which it can have ended; None: it has no date."""
    try:
        begin = datetime.datetime.strptime(report["run"]["date"], "%Y-%m-%dT%H:%M:%SZ")
    except (KeyError, ValueError):
        return None
    return begin, begin + datetime.timedelta(seconds=number(report.get("class", {}).get("work_seconds", 0.0)))


def pairs_of(named):
    """(path, fault) of what two reports of one submission cannot both be."""
    by_kind, faults = {}, []
    for path, report in named:
        for other, before in by_kind.setdefault(kind_of(report), []):
            name = os.path.basename(other)
            if is_copy(timings_of(report), timings_of(before)):
                faults.append((path, f"the same times as in {name}, or all in one proportion: one run, not two"))
            elif is_same_run(report, before):
                faults.append((path, f"stages, load or energies of {name} to the last digit: one run, not two"))
            links, sums = [r["gauge"] for r in (report, before)], [r.get("run", {}).get("program_crc32") for r in (report, before)]
            if sums[0] and sums[0] == sums[1] and not math.isnan(number(links[0]["plaquette"])) and \
                    not near(links[0]["plaquette"], links[1]["plaquette"], 1e-11):
                faults.append((path, f"plaquette {links[0]['plaquette']}, and the same program made {links[1]['plaquette']} in {name}"))
        by_kind[kind_of(report)].append((path, report))
    for i, (path, report) in enumerate(named):
        place = [(r["machine"]["host"], [g["pci_bus_id"] for g in r["machine"].get("gpus", {}).get("ranks", [])]) for _, r in named]
        mine, when = [r["machine"][k] for r in (report, named[0][1]) for k in ("cpu", "gpu")], end_of(report)
        if mine[0] != mine[2] or report["parameters"].get("device") == named[0][1]["parameters"].get("device") and mine[1] != mine[3]:
            faults.append((path, f"run on '{mine[0]}', '{mine[1]}', and others of this submission on '{mine[2]}', '{mine[3]}'"))
        for j in range(i):
            other = end_of(named[j][1])
            if when and other and place[i] == place[j] and (min(when[1], other[1]) - max(when[0], other[0])).total_seconds() > 2.0:
                faults.append((path, f"run on the same machine as {os.path.basename(named[j][0])} at the same time"))
    return faults


def energy_lines(named):
    """How energy was read. Where hosts tell none, a submission is accepted without joules of theirs."""
    told = sorted({e.get("source") or "none, " + str(e.get("none", "no such line")) for _, r in named for e in [r.get("energy") or {}]})
    cards = [any("energy_joule" in (x.get("gpu") or {}) or "energy_joule_a_solve" in x for x in r["figures"] + r["solves"])
             for _, r in named if r["parameters"].get("device") == "gpu"]
    return [f"energy      hosts: {'; '.join(told)}" + (f"; GPUs by NVML in {sum(cards)} of {len(cards)} reports" if cards else "")]


def submission_faults(path, document, named):
    """Where submission.json says something else than its reports."""
    found, faults = {os.path.abspath(p): r for p, r in named}, []
    for entry in document.get("runs", []):
        name = str(entry.get("report"))
        report = found.get(os.path.abspath(os.path.join(os.path.dirname(path), name)))
        if report is None:
            faults.append(f"{path}: expected {name}, which it names, found no such report")
        elif entry.get("fom") is not None and not near(entry["fom"], report["fom"]["value"]):
            faults.append(f"{path}: {name} has figure of merit {entry.get('fom')}, the report {report['fom']['value']}")
    return faults


def folder_faults(path, document, named):
    """Parts of a submission that are missing: folders, logs without reports, reports that no run names, programs."""
    folder, faults = os.path.dirname(path), []
    wanted = ["logs", "system"] + (["patch"] if document["category"] != "baseline" else [])
    for part in wanted:
        if not os.path.isdir(os.path.join(folder, part)) or not os.listdir(os.path.join(folder, part)):
            faults.append(f"{folder}: expected {part}/ with files in it (RUN_RULES.md, What is handed in), found none")
    runs = document.get("runs", [])
    entries = {os.path.abspath(os.path.join(folder, str(entry.get("report")))) for entry in runs}
    here = {os.path.abspath(p): r for p, r in named if os.path.abspath(p).startswith(os.path.abspath(folder) + os.sep)}
    for report in sorted(set(here) - entries) if runs else []:
        faults.append(f"{path}: expected a run for {os.path.relpath(report, folder)}, found none")
    names = {os.path.splitext(os.path.basename(report))[0] for report in here}
    logs = os.listdir(os.path.join(folder, "logs")) if os.path.isdir(os.path.join(folder, "logs")) else []
    for log in sorted(logs):
        name, kind = os.path.splitext(log)
        if kind == ".txt" and runs and not name.endswith("-trial") and name not in names:
            faults.append(f"{folder}: logs/{log} is of a run whose report was left out")
    known = list(CLASSES["programs"])
    programs = document.get("apps", known)
    for app in programs:
        if app not in {r["app"] for r in here.values()}:
            faults.append(f"{path}: expected reports of {app}, found none (\"apps\" names the programs of a submission, all five "
                          "where it is missing)")
    return faults


def rule_faults(named, series):
    """The run rules on the reports of a submission together: a list of faults and lines of a summary."""
    kinds, joules, faults, lines = {}, {}, [], []
    for _, report in named:
        kinds.setdefault(kind_of(report), []).append(number(report["fom"]["value"]))
        joules.setdefault(kind_of(report), []).append(joules_a_solve(report))
    for kind, foms in sorted(kinds.items()):
        rules = CLASSES["classes"].get(kind[1])
        if rules is None:
            continue
        median = statistics.median(foms)
        spread = (max(foms) - min(foms)) / median
        lines.append(f"{kind[0]:<23} {kind[1]:<7} {kind[2]:<7} {kind[3]:<4} {kind[5]:>5}  {len(foms):>4}  {median:>10.4g}"
                     f"  {100 * spread:>6.1f}%" + ("" if any(map(math.isnan, joules[kind])) else
                                                  f"  {statistics.median(joules[kind]):>8.4g} J"))
        name = f"{kind[0]} {kind[1]} {kind[2]} on {kind[5]} ranks"
        if len(foms) < rules["runs"]:
            faults.append(f"{name}: expected {rules['runs']} runs or more, found {len(foms)}")
        if rules["spread"] and not spread <= rules["spread"]:
            faults.append(f"{name}: expected a spread of at most {100 * rules['spread']:g}%, found {100 * spread:.1f}%")
    for s in series:
        lines_of, faults_of = scaling(s, kinds)
        lines += lines_of
        faults += faults_of
    return faults, lines


def scaling(series, kinds):
    """A series that submission.json names: {"app", "kind": "weak" or "strong", "ranks": [...]}; efficiencies."""
    app, kind, ranks = series.get("app"), series.get("kind", "strong"), series.get("ranks", [])
    found, newest = {}, max((key[6] for key in kinds if key[0] == app), default=1)
    for key, foms in kinds.items():
        if key[0] == app and key[6] == newest and key[1] == series.get("class", key[1]) and \
                key[2] == series.get("memory", "medium") and key[5] in ranks:
            found.setdefault(key[5], []).extend(foms)
    missing = [r for r in ranks if r not in found]
    holes = [r for a, b in zip(ranks, ranks[1:]) if b > 2 * a for r in [2 * a]]
    faults = [f"{kind} scaling of {app}: expected runs on {r} ranks, found none" for r in missing]
    faults += [f"{kind} scaling of {app}: expected {r} ranks between the others" for r in holes]
    if missing or not found:
        return [], faults
    base = min(found)
    per_rank = statistics.median(found[base]) / base
    return [f"scaling {kind:<7} {app}: " + ", ".join(
        f"{r} ranks {100 * statistics.median(found[r]) / r / per_rank:.0f}%" for r in sorted(found))], faults


def reports_of(argument):
    """The reports that an argument names: a file, an archive, or all below a folder; and its submission.json."""
    if not os.path.isdir(argument):
        return report_file.expanded([argument]), None
    found, submission = [], None
    for folder, folders, files in os.walk(argument):
        folders.sort()
        for name in sorted(files):
            if name == SUBMISSION and folder == argument:
                submission = os.path.join(folder, name)
            elif name.endswith(".json") and os.path.basename(folder) not in ("system", "logs"):  # logs: trials before runs
                found.append(os.path.join(folder, name))
    if not found:
        raise report_file.ReportError(f"{argument}: expected a folder of JSON reports, found none")
    return found, submission


def is_list_of(value, kind):
    return isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)


def read_submission(path):
    try:
        document = read_json(path)
    except (OSError, ValueError) as error:
        raise report_file.ReportError(f"{path}: expected JSON, found none: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("vendor"), str) or \
            document.get("category") not in ("baseline", "ported", "optimized") or \
            not is_list_of(document.get("scaling", []), dict):
        raise report_file.ReportError(f"{path}: expected vendor, category (baseline, ported or optimized) and scaling "
                                      "(a list of objects); RUN_RULES.md says more")
    if not is_list_of(document.get("runs", []), dict):
        raise report_file.ReportError(f"{path}: 'runs': expected a list of objects, one a run")
    if not is_list_of(document.get("apps", []), str) or not isinstance(document.get("revision", ""), str):
        raise report_file.ReportError(f"{path}: expected 'apps' to be a list of programs and 'revision' a text")
    for series in document.get("scaling", []):
        if not is_list_of(series.get("ranks", []), int) or not all(
                isinstance(series.get(key, ""), str) for key in ("app", "class", "memory", "kind")):
            raise report_file.ReportError(f"{path}: 'scaling': expected app, class, memory and kind as texts, and ranks as numbers")
    return document


def main():
    parser = argparse.ArgumentParser(prog="./plaquette validate", description=__doc__.split("\n\n")[1])
    parser.add_argument("paths", nargs="+", metavar="FILE|FOLDER")
    parser.add_argument("--rules", action="store_true",
                        help="hold loose files to the run rules too, as those of a submission are")
    parser.add_argument("--revision", help="that all reports must be of")
    parser.add_argument("--trial", action="store_true",
                        help="for trying it out: do not judge the revision, nor changes to its files")
    parser.add_argument("--quiet", action="store_true", help="leave remarks out")
    arguments = parser.parse_args()
    paths, rules, series, revision, silent, documents = [], arguments.rules, [], arguments.revision, [], []
    for argument in arguments.paths:
        found, submission = reports_of(argument)
        paths += found
        if submission:
            document = read_submission(submission)
            rules, revision = True, revision or document.get("revision")
            series += document.get("scaling", [])
            if not document.get("energy"):
                silent.append(f"{submission}: expected 'energy', what was read or by which instrument power was measured")
            documents.append((submission, document))
    named, verdicts, unusable = [], {}, False
    for path in paths:
        try:
            report, faults, remarks = judge(path, revision, arguments.trial)
        except report_file.ReportError as error:
            unusable, verdicts[path] = True, (None, [str(error)], [])
            continue
        if rules and "class" not in report:
            faults.append("not a run of an official class (--size)")
        verdicts[path] = (report, faults, remarks)
        # Others have no parts to compare.
        if not any(fault.startswith(MALFORMED) for fault in faults) and is_comparable(report):
            named.append((path, report))
        elif not faults:
            faults.append("parts by which reports are compared are missing or of another kind than expected")
    for path, fault in pairs_of(named) if rules else []:
        verdicts[path][1].append(fault)
    for path, document in documents:
        silent += submission_faults(path, document, named) + folder_faults(path, document, named)
    together, lines = rule_faults([(p, r) for p, r in named if not verdicts[p][1]], series) if rules else ([], [])
    lines += energy_lines(named) if lines else []
    refused = print_verdicts(verdicts, together + silent, lines, arguments.quiet)
    sys.exit(UNUSABLE if unusable else REFUSED if refused else 0)


def print_verdicts(verdicts, together, lines, quiet):
    for path, (report, faults, remarks) in verdicts.items():
        try:
            fom = report_file.fom_text(report, path) if report else ""
        except report_file.ReportError:  # the faults say why
            fom = "no figure of merit"
        run_class = report.get("class") if report else None
        name = run_class.get("name", "no class") if isinstance(run_class, dict) else "no class" if report else ""
        print(f"{'REFUSED' if faults else 'VALID':<8} {path}   {name}   {fom}")
        for fault in faults:
            print(f"         {fault}")
        for remark in [] if quiet else remarks:
            print(f"         remark: {remark}")
    if lines:
        print("\nprogram                 class   memory  on   ranks  runs      median  spread  joules a solve")
        print("\n".join(lines))
    for fault in together:
        print(f"RULES    {fault}")
    refused = sum(bool(faults) for _, faults, _ in verdicts.values())
    good = not refused and not together
    print(f"\nVALIDATED  {'PASSED' if good else 'FAILED'}     ({len(verdicts)} reports, {refused} refused, "
          f"{len(together)} rules broken)")
    return not good


if __name__ == "__main__":
    report_file.end_plainly(main)
