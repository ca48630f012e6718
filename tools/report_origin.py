# SPDX-License-Identifier: BSD-3-Clause
"""Where a report comes from: revision, date, command; and what makes its figures doubtful."""

import datetime
import math
import re
import subprocess

from report_checks import number
from report_limits import BEYOND_COPY, ROOT, near


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


def cores_of_run(machine):
    """Returns the cores that the ranks of a host may use. Ranks that are not bound share theirs: then their threads tell."""
    a_rank, ranks = number(machine.get("logical_cpus", math.inf)), number(machine.get("ranks_on_host", 1))
    return min(a_rank * ranks, max(a_rank, number(machine.get("threads", math.inf)) * ranks))


def noise_remarks(report, remarks):
    """What makes a figure doubtful without making it wrong: spread, clocks, load, and figures far below the limit."""
    cores = cores_of_run(report["machine"])
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
    if number(report["machine"]["threads"]) * number(report["machine"].get("ranks_on_host", 1)) > cores:
        remarks.append("more threads than cores")
