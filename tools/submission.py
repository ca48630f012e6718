# SPDX-License-Identifier: BSD-3-Clause
"""Reports of one submission together: the run rules, copies, series, and submission.json."""

import datetime
import math
import os
import statistics

import report_file
from report_checks import number
from report_energy import joules_a_solve
from report_limits import CLASSES, near, read_json

# Programs of a submission that names none: those that were official when the name could be left out.
FIRST_FIVE = ("mixed-precision-solver", "multigrid", "dslash-scaling", "overlap-propagator", "nodal-dg")


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
    programs = document.get("apps", FIRST_FIVE)
    for app in programs:
        if app not in {r["app"] for r in here.values()}:
            faults.append(f"{path}: expected reports of {app}, found none (\"apps\" names the programs of a submission; without it they "
                          "are the five without hmc)")
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
