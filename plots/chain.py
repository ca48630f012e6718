#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws chains of hmc: dH, plaquette with its error by blocks, acceptance, largest forces by term, and seconds of each
trajectory. Takes reports (--json) or tables (--history). Forces by trajectory stand in a table; a report has the last."""

import csv
import math

import style
from blocked_errors import blocked_error
from report_file import ReportError, load, number, numbers


def chain_of_table(path):
    """Columns of a table of --history."""
    try:
        with open(path, encoding="ascii", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReportError(f"{path}: expected a table of plaquette-hmc, found {error}") from None
    if not rows or not {"dh", "accepted", "plaquette", "seconds"} <= set(rows[0]):
        raise ReportError(f"{path}: expected a table of plaquette-hmc with a line a trajectory, found another or none")

    def column(name):
        try:
            return [number(float(row[name]), f"{path}: {name}") for row in rows]
        except (TypeError, ValueError):
            raise ReportError(f"{path}: expected numbers in column {name}") from None
    forces = {name[len("force_largest_"):]: column(name) for name in rows[0] if name.startswith("force_largest_")}
    return {"dh": column("dh"), "accepted": column("accepted"), "plaquette": column("plaquette"), "seconds": column("seconds"),
            "forces": forces}


def chain_of_report(path, report):
    """What a report has of them."""
    found = report["observables"]
    if not isinstance(found, dict) or not found.get("dh"):
        raise ReportError(f"{path}: expected trajectories of plaquette-hmc, found none")
    chain = {name: numbers(found.get(name), f"{path}: observables.{name}") for name in ("dh", "plaquette")}
    accepted = found.get("accepted")
    if not isinstance(accepted, list) or not len(accepted) == len(chain["dh"]) == len(chain["plaquette"]):
        raise ReportError(f"{path}: expected as many accept steps and plaquettes as dH")
    forces = {term: [number(size["largest"], f"{path}: observables.forces")] for term, size in found.get("forces", {}).items()}
    return {**chain, "accepted": [float(a) for a in accepted], "seconds": [], "forces": forces}


def means_so_far(values):
    """The mean of the first n, of all n."""
    total, means = 0.0, []
    for n, value in enumerate(values, 1):
        total += value
        means.append(total / n)
    return means


def draw_approach(plaquette, dh, chain, warm_up):
    """How a chain comes to equilibrium: plaquette and dH of each trajectory, open points in the warm-up."""
    before = [(number(step.get("plaquette"), "warm_up"), number(step.get("dh"), "warm_up")) for step in warm_up if isinstance(step, dict)]
    early, times = range(1 - len(before), 1), range(1, len(chain["dh"]) + 1)
    for axes, which, name in ((plaquette, 0, "plaquette"), (dh, 1, "dh")):
        axes.plot(early, [step[which] for step in before], "o", color=style.COLOURS["grey"], markerfacecolor="white",
                  label="warm-up" if before else None)
        axes.plot(times, chain[name], ".-", color=style.COLOURS["blue"], linewidth=0.8)
        axes.set_xlabel("trajectory")
        axes.xaxis.set_major_locator(style.plt.MaxNLocator(integer=True))
    taken = sum(chain["accepted"])
    dh.axhline(0.0, color=style.COLOURS["grey"], linewidth=1)
    plaquette.set_title("Plaquette")
    dh.set_title(f"dH; {taken:g} of {len(chain['accepted'])} accepted")
    if before:
        plaquette.legend(loc="best", fontsize=8)


def draw(panels, chain):
    dh, plaquette, acceptance, forces, seconds = panels
    times = range(1, len(chain["dh"]) + 1)
    dh.plot(times, chain["dh"], ".")
    dh.axhline(0.0, color=style.COLOURS["grey"], linewidth=1)
    dh.set_title("dH")
    mean, error = sum(chain["plaquette"]) / len(chain["plaquette"]), blocked_error(chain["plaquette"])
    plaquette.plot(times, chain["plaquette"], linewidth=1)
    plaquette.axhline(mean, color=style.CYCLE[1], label=f"{mean:.5f}" + ("" if math.isnan(error) else f" +- {error:.1g}"))
    if not math.isnan(error):
        plaquette.axhspan(mean - error, mean + error, color=style.CYCLE[1], alpha=0.25)
    plaquette.set_title("plaquette, mean and error by blocks")
    plaquette.legend(loc="best")
    acceptance.plot(times, means_so_far(chain["accepted"]))
    acceptance.set_ylim(0.0, 1.05)
    acceptance.set_title("acceptance so far")
    for term, sizes in chain["forces"].items():
        at = times if len(sizes) == len(times) else [times[-1]]
        forces.plot(at, [size if size > 0 else math.nan for size in sizes], "-" if len(sizes) > 1 else "o", label=style.plain(term))
    forces.set_yscale("log")
    forces.set_title("largest force of a link, by term")
    if chain["forces"]:
        forces.legend(loc="best")
    seconds.plot(range(1, len(chain["seconds"]) + 1), chain["seconds"], ".")
    seconds.set_ylim(0.0, 1.1 * max(chain["seconds"], default=1.0))
    seconds.set_title("seconds of a trajectory" if chain["seconds"] else "seconds: in the table of --history")
    for axes in panels:
        axes.set_xlabel("trajectory")


def main():
    arguments = style.arguments(__doc__, "chain.png", several=False).parse_args()
    path = arguments.report
    report = None if path.endswith(".csv") else load(path)
    chain = chain_of_table(path) if report is None else chain_of_report(path, report)
    figure, panels = style.page(5)
    draw(panels, chain)
    style.finish(figure, [report] if report else [], arguments)


if __name__ == "__main__":
    style.main(main)
