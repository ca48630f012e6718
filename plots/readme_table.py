#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the table of results of README.md from the tables of validation/results. Figures of runs come from runs.csv,
solves.csv and figures.csv. Figures that only a page has come from notes.csv, which names the page and its words.
With --check it compares, and fails if README.md differs."""

import argparse
import csv
import os
import re

from report_file import ReportError, end_plainly

ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..")
RESULTS = os.path.join(ROOT, "validation", "results")
BEGIN, END = "<!-- results: made by plots/readme_table.py -->", "<!-- end of results -->"


def rows_of(name):
    with open(os.path.join(RESULTS, name), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def only(rows, what, **wanted):
    """The one row with these values."""
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    if len(found) != 1:
        raise ReportError(f"{what}: expected one row with {wanted}, found {len(found)}")
    return found[0]


class Results:
    """What the rows of the table are made of."""

    def __init__(self):
        self.runs, self.solves, self.figures, self.noted = map(rows_of, ("runs.csv", "solves.csv", "figures.csv", "notes.csv"))

    def run(self, report):
        run = only(self.runs, "runs.csv", report=report)
        if run["verified"] != "yes":
            raise ReportError(f"{report}: expected a verified run, found another")
        return run

    def seconds(self, report, solver, rhs):
        return float(only(self.solves, "solves.csv", report=report, solver=solver, rhs=rhs)["seconds"])

    def figure(self, report, precision, reals, protocol="sustained", rhs="1", lattice="32x32x32x64"):
        return only(self.figures, "figures.csv", report=report, precision=precision, reals=reals, protocol=protocol, rhs=rhs,
                    lattice=lattice, operator="hopping")

    def note(self, name):
        """A row of notes.csv, whose page must have its words."""
        note = only(self.noted, "notes.csv", name=name)
        with open(os.path.join(ROOT, note["page"]), encoding="utf-8") as file:
            if note["words"] not in " ".join(file.read().split()):
                raise ReportError(f"notes.csv: expected '{note['words']}' in {note['page']}, found none")
        return note


def command_of(command):
    """A command without the names of outputs and limits of time, which no figure depends on."""
    return re.sub(r"\s--(json|time-limit|tune-file)[ =]\S+|\s--force\b|^bin/|(?<=\s)bin/", "", command)


def line(what, figure, compared, card, revision, command):
    return f"| {what} | **{figure}** | {compared} | {card.replace('NVIDIA ', '')}, {revision} | `{command_of(command)}` |"


def of_run(what, figure, compared, run):
    return line(what, figure, compared, run["card"], run["revision"], run["command"])


def table(results):
    tender = "h200/tender/multigrid-1.json"
    one, twelve = (results.seconds(tender, "multigrid", n) for n in ("1", "12"))
    slow_one, slow_twelve = (results.seconds(tender, "bicgstab", n) for n in ("1", "12"))
    peer = results.note("multigrid-quda")
    light = results.run("h200/multigrid-32x64.json")
    ours = results.seconds("h200/multigrid-32x64.json", "multigrid", "1")
    hopping = results.figure("h200/tender/dslash-scaling-1.json", "double", "18")
    hopping_peer = results.note("hopping-quda")
    single = results.figure("h200/bench.json", "single", "12")
    strong = [results.figure(f"h200/two/gpu-strong-32x32x32x64-{n}.json", "single", "12") for n in (1, 2)]
    gain = float(strong[1]["gflops"]) / float(strong[0]["gflops"])
    pair, chain = results.note("multigrid-two"), results.note("hmc")
    overlap = results.run("h200/tender/overlap-propagator-1.json")
    waves = results.run("h200/tender/nodal-dg-1.json")
    seconds = 3600 * 4 / float(overlap["fom"])
    stages = f"{float(waves['fom']) / 1e9:.1f}·10⁹"
    return "\n".join([
        "| what | measured | compared with | card, revision | command |", "|---|---|---|---|---|",
        of_run("Dirac equation by multigrid, 32³×64, light quark, a source", f"{one:.3f} s",
               f"BiCGstab {slow_one:.2f} s: {slow_one / one:.0f} times", results.run(tender)),
        of_run("the same, twelve sources at once, a source", f"{twelve:.3f} s",
               f"BiCGstab {slow_twelve:.2f} s: {slow_twelve / twelve:.0f} times", results.run(tender)),
        of_run("multigrid at κ = 0.1350, a source", f"{ours:.3f} s", f"QUDA ({peer['revision']}) {peer['value']} s", light),
        of_run("hopping term in double precision", f"{float(hopping['gflops']) / 1000:.2f} TFLOP/s",
               f"a copy of its bytes: {100 * float(hopping['share_of_copy']):.0f}% of that bandwidth",
               results.run(hopping["report"])),
        of_run("hopping term in single precision, 12 reals a link", f"{float(single['gflops']) / 1000:.2f} TFLOP/s",
               f"QUDA ({hopping_peer['revision']}) {hopping_peer['value']} TFLOP/s; {100 * float(single['share_of_copy']):.0f}% of a copy",
               results.run(single["report"])),
        of_run("overlap propagators, 24³×64, four masses, all stages", f"{seconds:.0f} s", f"{float(overlap['fom']):.0f} propagators an hour",
               overlap),
        of_run("acoustics by nodal-dg, order 7, 2.9 million nodes", f"{stages} node stages/s", "", waves),
        of_run("two GPUs: hopping term, single precision", f"{float(strong[1]['gflops']) / 1000:.1f} TFLOP/s",
               f"one: {float(strong[0]['gflops']) / 1000:.1f}; {gain:.2f} times", results.run(strong[1]["report"])),
        line("two GPUs: multigrid, twelve sources, a source", f"{pair['value']} s", pair["compared"], pair["card"], pair["revision"],
             pair["command"]),
        line("a trajectory of hmc, 32³×64, two clover quarks at κ = 0.1362", f"{chain['value']} s", chain["compared"], chain["card"],
             chain["revision"], chain["command"]),
    ])


def with_table(text, made):
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ReportError(f"README.md: expected '{BEGIN}' and '{END}' once each")
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n\n" + made + "\n\n" + END + rest.split(END)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if README.md differs")
    arguments = parser.parse_args()
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    made = with_table(text, table(Results()))
    if arguments.check:
        if made != text:
            raise ReportError("README.md: its table of results differs; python3 plots/readme_table.py makes it again")
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)


if __name__ == "__main__":
    end_plainly(main)
