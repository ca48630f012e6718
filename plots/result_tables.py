#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the tables in validation/results from the archives of raw reports there. runs.csv has a line a report,
figures.csv a line a timed operator, solves.csv a line a solve. With --check it compares, and fails where they differ."""

import argparse
import csv
import glob
import io
import os
import re

from report_file import ReportError, end_plainly, expanded, load, number, short

RESULTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "validation", "results")
RUNS = ("report", "app", "card", "ranks", "revision", "verified", "fom", "unit", "command")
FIGURES = ("report", "operator", "layout", "precision", "reals", "rhs", "lattice", "device", "ranks", "threads", "protocol",
           "microseconds", "gflops", "share_of_copy")
SOLVES = ("report", "solver", "precision", "rhs", "iterations", "seconds", "true_residual")


def name_of(path):
    return re.sub(r"^.*\.tar\.xz/", "", path)


def card_of(machine):
    """Its GPU, else its CPU, without what a table need not say."""
    gpu = str(machine.get("gpu", "none"))
    return gpu.split(",")[0] if gpu != "none" else str(machine.get("cpu", "unknown"))


def revision_of(build):
    return str(build.get("revision", "unknown"))[:7] + ("+changes" if build.get("dirty") else "")


def command_of(report):
    """The command line, without the folders of the program and of files."""
    command = report["parameters"].get("command", "")
    words = command if isinstance(command, list) else str(command).split()
    return " ".join(os.path.basename(word) if word.startswith(("/", "./")) or "/plaquette-" in word else word
                    for word in map(str, words))


def lattice_of(lengths):
    return "x".join(map(str, lengths)) if isinstance(lengths, list) and any(lengths) else ""


def run_line(name, report):
    fom = report["fom"]
    return (name, report["app"], card_of(report["machine"]), report["machine"].get("ranks", 1), revision_of(report["build"]),
            "yes" if report["verified"] is True else "no", short(number(fom.get("value", "nan"), name)), fom.get("unit", ""),
            command_of(report))


def figure_line(name, figure):
    return (name, figure["operator"], figure["layout"], figure["precision"], figure["reconstruct"], figure["rhs"],
            lattice_of(figure["lattice"]), figure["device"], figure["ranks"], figure["threads"], figure.get("protocol", ""),
            short(1e6 * number(figure["seconds"]["median"], name)), short(number(figure["gflops"], name)),
            short(number(figure["fraction_of_copy"], name)) if "fraction_of_copy" in figure else "")


def solve_line(name, solve):
    residual = solve.get("residual", {}).get("reference", "nan")
    return (name, solve["solver"], solve["precision"], solve.get("rhs", solve.get("batch", "")), solve["iterations"],
            short(number(solve["seconds"], name)), short(number(residual, name)))


def tables(paths):
    """{name of the file: its text}"""
    lines = {"runs.csv": [RUNS], "figures.csv": [FIGURES], "solves.csv": [SOLVES]}
    for path in paths:
        report, name = load(path), name_of(path)
        lines["runs.csv"].append(run_line(name, report))
        lines["figures.csv"] += [figure_line(name, figure) for figure in report["figures"]]
        lines["solves.csv"] += [solve_line(name, solve) for solve in report["solves"]]
    texts = {}
    for name, rows in lines.items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        texts[name] = text.getvalue()
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=os.path.normpath(RESULTS), help="archives and tables (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a table differs from its archive")
    arguments = parser.parse_args()
    archives = sorted(glob.glob(os.path.join(glob.escape(arguments.folder), "*.tar.xz")))
    if not archives:
        raise ReportError(f"{arguments.folder}: expected archives *.tar.xz of reports, found none")
    differing = []
    for name, text in tables(expanded(archives)).items():
        path = os.path.join(arguments.folder, name)
        if arguments.check:
            with open(path, encoding="utf-8") as file:
                if file.read() != text:
                    differing.append(name)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(path)
    if differing:
        raise ReportError(f"{', '.join(differing)}: differ from the archives; python3 plots/result_tables.py makes them again")


if __name__ == "__main__":
    end_plainly(main)
