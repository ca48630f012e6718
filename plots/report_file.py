# SPDX-License-Identifier: BSD-3-Clause
"""Reads the JSON reports of the mini-apps. What cannot be used is refused in one line that names the file, what was
expected and what was found.

A report may lie in a compressed archive: validation/results/h200.tar.xz/h200/four/solve-4.json names one file of it,
validation/results/h200.tar.xz/h200/four all reports of a folder, and a pattern those that match."""

import argparse
import fnmatch
import functools
import json
import math
import os
import re
import sys
import tarfile

#: Of this tree, with the slash behind it.
ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "")

#: Keys of reports before version 1.4, and what they are called now.
RENAMED = {
    "squares": "eigenvalues",
    "residuals_of_squares": "residuals_of_normal_equations",
    "signs": "sign_applications",
    "coarse_on": "coarse_device",
    "first_lattice_on_cpu": "offload_from_level",
}
KEYS = ("schema_version", "app", "fom", "verified", "checks", "parameters", "machine", "build", "gauge", "figures",
        "solves", "observables")
SCHEMA_MAJOR = "1"
ARCHIVE = ".tar.xz"
UNUSABLE_INPUT, OUTPUT_FAILED = 2, 5  # exit statuses, as the mini-apps have them


class ReportError(Exception):
    """A report that cannot be used."""


@functools.lru_cache(maxsize=4)
def _archived(archive):
    """{name: bytes} of the files in an archive."""
    try:
        with tarfile.open(archive) as file:
            return {member.name: file.extractfile(member).read() for member in file if member.isfile()}
    except (tarfile.TarError, EOFError) as error:
        raise ReportError(f"{archive}: expected a compressed archive of reports, found none: {error}") from None


def _inside(path):
    """(archive, name) of a path into an archive, or None."""
    archive, suffix, name = path.partition(ARCHIVE)
    if not suffix or (name and not name.startswith("/")) or os.path.exists(path) and name:
        return None
    return archive + ARCHIVE, name.strip("/")


def expanded(paths):
    """The paths, with those of single reports in place of archives, of folders and of patterns in archives."""
    found = []
    for path in paths:
        inside = _inside(path)
        if inside is None:
            found.append(path)
            continue
        archive, name = inside
        try:
            names = sorted(_archived(archive))
        except OSError as error:
            raise ReportError(f"{archive}: cannot be read: {error.strerror}") from None
        chosen = [n for n in names if n.endswith(".json") and
                  (not name or n.startswith(name + "/") or fnmatch.fnmatchcase(n, name))]
        if not chosen:
            raise ReportError(f"{path}: expected JSON reports in {os.path.basename(archive)}, found none of this name")
        found += [f"{archive}/{n}" for n in chosen]
    return found


class Reports(argparse.Action):
    """Stores the paths of reports on a command line, archives expanded."""

    def __call__(self, parser, namespace, values, option_string=None):
        paths = expanded(values if isinstance(values, list) else [values])
        if not isinstance(values, list) and len(paths) != 1:
            parser.error(f"expected one report, found {len(paths)} in {values}")
        setattr(namespace, self.dest, paths if isinstance(values, list) else paths[0])


def _text(path):
    inside = _inside(path)
    if inside is None:
        with open(path, encoding="utf-8") as file:
            return file.read()
    archive, name = inside
    if name not in _archived(archive):
        raise ReportError(f"{path}: the archive has no such file")
    return _archived(archive)[name].decode("utf-8")


def load(path):
    """The report in the file `path`, a dictionary with at least KEYS."""
    try:
        report = json.loads(_text(path))
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
    return _with_present_names(report)


def _with_present_names(value):
    """The same with keys as they are called now."""
    if isinstance(value, dict):
        return {RENAMED.get(key, key): _with_present_names(item) for key, item in value.items()}
    return [_with_present_names(item) for item in value] if isinstance(value, list) else value


def number(value, what):
    """A float; the reports write numbers that are not finite as the strings "nan", "inf" and "-inf"."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ReportError(f"{what}: expected a number, found {_kind(value)}")
    if isinstance(value, str) and value not in ("nan", "inf", "-inf"):
        raise ReportError(f"{what}: expected a number, found {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ReportError(f"{what}: expected a number of double precision, found a larger integer") from None


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
    if command:  # the same command from any folder: programs by name, files of this tree from its root
        command = re.sub(r"\S*/(plaquette-[\w-]+)", r"\1", str(command)).replace(ROOT, "")
    return f"{first}\n{command}" if command else first


def short(value):
    """A number for a table."""
    value = float(value)
    return str(value) if not math.isfinite(value) else f"{value:.4g}"


def fom_text(report, path):
    """The figure of merit with its unit, or why the run has none."""
    fom = report["fom"]
    if "none" in fom:
        return f"none ({fom['none']})"
    return f"{short(number(fom.get('value', 'nan'), path))} {fom.get('unit', '')}"


def end_plainly(main):
    """Runs `main` of a script, and ends with one line and an exit status where it cannot."""
    program = os.path.basename(sys.argv[0])
    try:
        main()
    except ReportError as error:
        print(f"{program}: {error}", file=sys.stderr)
        sys.exit(UNUSABLE_INPUT)
    except ModuleNotFoundError as error:
        print(f"{program}: Python has no module {error.name}, which figures need", file=sys.stderr)
        sys.exit(UNUSABLE_INPUT)
    except OSError as error:
        print(f"{program}: {error.filename}: cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(OUTPUT_FAILED)


def _kind(value):
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
