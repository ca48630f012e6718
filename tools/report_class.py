# SPDX-License-Identifier: BSD-3-Clause
"""A report against the official class that it names: parameters, links, duration."""

import json
import math

from report_checks import number
from report_limits import CLASSES, near


def problem_of(app, name, memory):
    """What an official class fixes, a dictionary of parameters; None where there is no such class."""
    program = CLASSES["programs"].get(app)
    if program is None or name not in CLASSES["classes"] or memory not in CLASSES["memory"]:
        return None
    problem = dict(program["fixed"])
    if name in CLASSES["lattices"] and program["scaled"] == "lattice":
        problem["lattice"] = CLASSES["lattices"][name]
        if "gauge" not in problem and "start" not in problem:
            problem.update(CLASSES["light_quark"])
            problem["gauge"] = CLASSES["repeated"].get(name, problem["gauge"])
    problem.update(program.get(name, {}))
    scaled = list(problem[program["scaled"]])
    scaled[-1] = int(scaled[-1] * CLASSES["memory"][memory])
    problem[program["scaled"]] = scaled
    return problem


def plaquette_of(gauge):
    """Of the links before any smearing or trajectory; of repeated ones, of the cell."""
    for key in ("plaquette_of_cell", "plaquette_of_heat_bath"):
        if key in gauge:
            return number(gauge[key])
    return number(gauge["stout"].get("plaquette_before") if "stout" in gauge else gauge.get("plaquette"))


def plaquette_faults(problem, gauge, name, remarks):
    """Where the links are no heat bath's of this kind; a remark where they are others than those that were measured."""
    words = str(problem.get("gauge", problem.get("start"))).split(":")
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
    # What an older version fixed otherwise, for classes that do not fix it themselves.
    older = CLASSES["programs"][report["app"]].get("before", {}).get(str(version), {})
    own = CLASSES["programs"][report["app"]].get(name, {})
    problem = {key: expected if key in own else older.get(key, expected) for key, expected in problem.items()}
    for key, expected in problem.items():
        found = parameters.get(key, {"steps": 0} if key == "stout" else None)
        if not same(expected, found):
            faults.append(f"class {name}: expected {key} {json.dumps(expected)}, found {json.dumps(found)}")
    faults += plaquette_faults(problem, report["gauge"], name, remarks)
    for key, least in CLASSES["programs"][report["app"]]["least"].items():
        if not number(parameters.get(key)) >= least:
            faults.append(f"class {name}: expected {key} {least} or more, found {parameters.get(key)}")
    for key, most in CLASSES["programs"][report["app"]].get("most", {}).items():
        if not number(report["observables"].get(key)) <= most:
            faults.append(f"class {name}: expected {key} {most} or less, found {report['observables'].get(key)}")
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
