# SPDX-License-Identifier: BSD-3-Clause
"""One page of HTML from reports of the mini-apps: tables, figures, provenance, verification. It holds all it needs: it
asks nothing of any network and runs no script. What stands where is in report_page.html.jinja, which shows every text of a
report as text; here is what it shows."""

import datetime
import math
import os
import re

import jinja2

import report_pictures
from noise import noise_of


# --- values in words


def as_number(value):
    """A float where the value is a number or the name of one, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        return None
    return float(value)


def text_of(value):
    """A value of a report in words."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(text_of(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {text_of(item)}" for key, item in value.items())
    return str(value)


def lattice_of(values):
    return "×".join(text_of(length) for length in values) if isinstance(values, list) and values else "–"


def figure_text(value, scale=1.0, digits=4):
    number = as_number(value)
    return text_of(value) if number is None else f"{scale * number:.{digits}g}"


def percent(value):
    number = as_number(value)
    return "–" if number is None else f"{100 * number:.1f}" if math.isfinite(number) else str(number)


def seconds(value):
    """With a unit that suits it."""
    number = as_number(value)
    if number is None or not math.isfinite(number):
        return text_of(value)
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if number * factor >= 1.0 or unit == "µs":
            return f"{number * factor:.3g} {unit}"
    return ""


# --- what a report says


def machine_words(report):
    machine = report["machine"]
    gpu = machine.get("gpu")
    words = [text_of(machine.get("cpu", "unknown"))]
    if gpu and gpu != "none":
        words.append(text_of(gpu))
    return " + ".join(words)


def ranks_and_threads(report):
    machine = report["machine"]
    return f"{text_of(machine.get('ranks'))} × {text_of(machine.get('threads'))}"


def mesh_words(report):
    """The mesh of nodal-dg: its file or its box, and the number of elements."""
    parameters = report["parameters"]
    name = text_of(parameters.get("mesh")) if parameters.get("mesh") else "box " + lattice_of(parameters.get("box"))
    elements = [figure["elements"] for figure in report["figures"] if isinstance(figure.get("elements"), int)]
    return name + (f" ({elements[0]} elements)" if elements else "")


def class_words(report):
    """The class of a run, and whether it is one."""
    found = report.get("class")
    if not isinstance(found, dict) or not found:
        return "–"
    return text_of(found.get("name")) + ("" if found.get("conforms") is True else ", DOES NOT conform")


def problem_words(report):
    """What was computed, in a few words."""
    parameters = report["parameters"]
    words = [lattice_of(parameters.get("lattice"))]
    if report["app"] == "nodal-dg":
        words += [f"order {text_of(parameters.get('order'))}", mesh_words(report)]
    for key in ("equations", "precision", "solver"):
        if isinstance(parameters.get(key), str):
            words.append(parameters[key])
    return ", ".join(word for word in words if word != "–") or "–"


def revision(report):
    build = report["build"]
    return text_of(build.get("revision", "unknown"))[:12], build.get("dirty") is not False


def failed_checks(report):
    return [check for check in report["checks"] if check.get("passed") is not True]


def is_verified(report):
    """By its own word, and no check says otherwise."""
    return report["verified"] is True and not failed_checks(report)


def date_of(report):
    """The time at which the run began, in UTC; reports before schema 1.3 name none."""
    run = report.get("run")
    said = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", str(run.get("date"))) if isinstance(run, dict) else None
    return f"{said[1]} {said[2]}" if said else "–"


def command_of(report):
    command = report["parameters"].get("command")
    return " ".join(map(str, command)) if isinstance(command, list) else text_of(command)


# --- rows of tables


def check_rows(report):
    """(cells, whether it passed) of each check."""
    for check in report["checks"]:
        value, tolerance = as_number(check.get("value")), as_number(check.get("tolerance"))
        share = f"{100 * value / tolerance:.3g} %" if value is not None and tolerance else "–"
        yield ([text_of(check.get("name", "unnamed")), figure_text(check.get("value")), figure_text(check.get("tolerance")), share],
               check.get("passed") is True)


def solve_rows(report):
    """(cells, whether it failed) of each solve."""
    for solve in report["solves"]:
        residual = solve.get("residual") if isinstance(solve.get("residual"), dict) else {}
        yield ([text_of(solve.get("solver")), text_of(solve.get("precision")), text_of(solve.get("iterations")),
                seconds(solve.get("seconds")), figure_text(solve.get("gflops"))]
               + [figure_text(residual.get(key), digits=3) for key in ("iterated", "device", "reference")]
               + [text_of(solve.get("converged"))], solve.get("converged") is False)


def figure_rows(report):
    for figure in report["figures"]:
        times = figure.get("seconds") if isinstance(figure.get("seconds"), dict) else {}
        yield ([text_of(figure.get(key)) for key in ("operator", "layout", "precision", "reconstruct", "rhs")]
               + [lattice_of(figure.get("lattice")),
                  " ".join(text_of(figure[key]) for key in ("device", "protocol") if key in figure),
                  f"{text_of(figure.get('ranks'))} × {text_of(figure.get('threads'))}", seconds(times.get("median")),
                  f"{seconds(times.get('min'))} – {seconds(times.get('max'))}, {text_of(times.get('samples'))}",
                  figure_text(figure.get("gflops")), figure_text(figure.get("gbytes_per_s")),
                  percent(figure.get("fraction_of_copy")), percent(figure.get("fraction_of_fma_peak"))])


def mesons_of(report):
    """The correlators of mesons, by name."""
    observables = report["observables"]
    return {name: observables[name] for name in ("pion", "rho") if isinstance(observables.get(name), list) and observables[name]}


def correlator_rows(mesons):
    for t in range(max(map(len, mesons.values()), default=0)):
        yield [t] + [figure_text(values[t], digits=10) if t < len(values) else "–" for values in mesons.values()]


def gpus_of_ranks(gpus, most=16):
    """Which rank has which GPU and cores, and its links to the others of its host."""
    if not isinstance(gpus, dict) or not isinstance(gpus.get("ranks"), list) or len(gpus["ranks"]) < 2:
        return ""
    words = []
    for rank in gpus["ranks"][:most]:
        if isinstance(rank, dict):
            links = rank.get("links") if isinstance(rank.get("links"), dict) else {}
            kinds = ", ".join(sorted(set(map(str, links.values()))))
            words.append(f"{rank.get('rank')}: {rank.get('host')} GPU {rank.get('device')} ({rank.get('pci_bus_id')}), cores "
                         f"{rank.get('cores')}" + (f", {kinds}" if kinds else ""))
    more = len(gpus["ranks"]) - most
    return "; ".join(words) + (f"; and {more} ranks more" if more > 0 else "")


def origin_of(report):
    """(name, value) of what tells where a report comes from."""
    build, machine = report["build"], report["machine"]
    gpus = machine.get("gpus")
    return [
        ("Class", class_words(report)), ("Problem", problem_words(report)), ("Run, UTC", date_of(report)),
        ("Command", command_of(report)), ("Revision", text_of(build.get("revision", "unknown"))),
        ("Version", text_of(build.get("version", ""))),
        ("Compiler", f"{text_of(build.get('compiler'))}, {text_of(build.get('flags'))}"),
        ("Machine", f"{machine_words(report)} ({text_of(machine.get('logical_cpus'))} logical CPUs), {text_of(machine.get('system'))}"),
        ("Host", text_of(machine.get("host", ""))), ("Instruction sets", text_of(machine.get("instruction_sets", ""))),
        ("Ranks × threads", ranks_and_threads(report)), ("GPUs of the ranks", gpus_of_ranks(gpus)),
        ("Remarks", text_of(gpus.get("remarks", "")) if isinstance(gpus, dict) else ""),
        ("Libraries", text_of(machine.get("libraries", ""))),
        ("Driver", "" if machine.get("driver") == "none" else text_of(machine.get("driver", ""))),
        ("Gauge field", f"{text_of(report['gauge'].get('source'))}, plaquette {figure_text(report['gauge'].get('plaquette'), digits=10)}")]


# --- the page


def shown(path, report):
    """What the page shows of a report, all of it text."""
    fom = report["fom"]
    commit, is_dirty = revision(report)
    mesons = mesons_of(report)
    return {"path": path, "app": report["app"], "is_verified": is_verified(report), "run_class": class_words(report),
            "problem": problem_words(report), "merit": "" if "none" in fom else figure_text(fom.get("value", "nan")),
            "unit": text_of(fom.get("unit", "")), "what": text_of(fom.get("none", fom.get("what", ""))),
            "ranks": ranks_and_threads(report), "machine": machine_words(report), "commit": commit, "is_dirty": is_dirty,
            "date": date_of(report), "remarks": list(noise_of(report)), "checks": list(check_rows(report)),
            "solves": list(solve_rows(report)), "figures": list(figure_rows(report)), "mesons": [f"{name}#" for name in mesons],
            "correlators": list(correlator_rows(mesons)), "origin": origin_of(report),
            "parameters": [(key, text_of(value)) for key, value in report["parameters"].items() if key != "command"]}


def page(reports):
    """The whole page; `reports` is a list of (path, report)."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(os.path.dirname(os.path.realpath(__file__))), autoescape=True,
                                   undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return templates.get_template("report_page.html.jinja").render(
        reports=[shown(path, report) for path, report in reports], pictures=report_pictures.of(reports),
        failed=sum(not is_verified(report) for _, report in reports), zip=zip,
        now=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"))
