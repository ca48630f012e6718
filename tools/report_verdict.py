# SPDX-License-Identifier: BSD-3-Clause
"""A report against itself: checksum, checks and verdict, figure of merit."""

import math
import re
import zlib

import report_file
from report_checks import listed_tolerance, number
from report_limits import BEYOND_COPY, FLOORS, NEEDED, UNITS, near


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
        if not number(check["tolerance"]) <= max(BEYOND_COPY, listed_tolerance(report, check)):
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
    if app == "hmc":
        median = number(report["observables"].get("seconds_a_trajectory", {}).get("median"))
        return [3600.0 * number(report["parameters"]["tau"]) / median] if median > 0 else []
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
