# SPDX-License-Identifier: BSD-3-Clause
"""Reads the JSON reports of the mini-apps. What cannot be used is refused in one line that names the file, what was
expected and what was found."""

import json
import math

KEYS = ("schema_version", "app", "fom", "verified", "checks", "parameters", "machine", "build", "gauge", "figures",
        "solves", "observables")
SCHEMA_MAJOR = "1"


class ReportError(Exception):
    """A report that cannot be used."""


def load(path):
    """The report in the file `path`, a dictionary with at least KEYS."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ReportError(f"{path}: expected a JSON report, found bytes that are no UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ReportError(f"{path}: expected a JSON report, found no JSON: line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise ReportError(f"{path}: expected a JSON report, found one nested too deep") from None
    if not isinstance(report, dict):
        raise ReportError(f"{path}: expected a JSON object, found {_kind(report)}")
    missing = [key for key in KEYS if key not in report]
    if missing:
        raise ReportError(f"{path}: expected a report of a mini-app, found none of its keys {', '.join(missing)}")
    major = str(report["schema_version"]).split(".")[0]
    if major != SCHEMA_MAJOR:
        raise ReportError(f"{path}: expected schema version {SCHEMA_MAJOR}.x, found {report['schema_version']!r}")
    for key in ("fom", "parameters", "machine", "build", "gauge", "observables"):
        if not isinstance(report[key], dict):
            raise ReportError(f"{path}: '{key}': expected an object, found {_kind(report[key])}")
    for key in ("checks", "figures", "solves"):
        if not isinstance(report[key], list) or not all(isinstance(item, dict) for item in report[key]):
            raise ReportError(f"{path}: '{key}': expected a list of objects, found {_kind(report[key])}")
    return report


def number(value, what):
    """A float; the reports write numbers that are not finite as the strings "nan", "inf" and "-inf"."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ReportError(f"{what}: expected a number, found {_kind(value)}")
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        raise ReportError(f"{what}: expected a number, found {value!r}")
    return float(value)


def numbers(value, what):
    """A list of floats."""
    if not isinstance(value, list):
        raise ReportError(f"{what}: expected a list of numbers, found {_kind(value)}")
    return [number(item, f"{what}[{i}]") for i, item in enumerate(value)]


def histories(solve, what):
    """The residual histories of a solve: one list a right-hand side, or the one of the worst."""
    history = solve.get("history", [])
    if isinstance(history, list) and history and all(isinstance(column, list) for column in history):
        return [numbers(column, f"{what}.history[{n}]") for n, column in enumerate(history)]
    column = numbers(history, f"{what}.history")
    return [column] if column else []


def correlator(report, name, path):
    """The observable `name` as a list of T floats, or None where the report has none."""
    if name not in report["observables"]:
        return None
    values = numbers(report["observables"][name], f"{path}: observables.{name}")
    if len(values) < 4:
        raise ReportError(f"{path}: observables.{name}: expected a correlator of at least 4 times, found {len(values)}")
    return values


def provenance(report):
    """What made the report, in one or two lines: app, revision, machine; the command."""
    build, machine = report["build"], report["machine"]
    revision = str(build.get("revision", "unknown"))[:12] + ("+changes" if build.get("dirty") else "")
    first = f"{report['app']}, revision {revision}, {machine.get('cpu', 'unknown machine')}"
    command = report.get("command") or report["parameters"].get("command")
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    return f"{first}\n{command}" if command else first


def short(value):
    """A number for a table."""
    value = float(value)
    return str(value) if not math.isfinite(value) else f"{value:.4g}"


def _kind(value):
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
