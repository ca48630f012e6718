#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what steps of an integrator cost a chain: |dH| against the length of a step, from reports of hmc with one
trajectory each, and acceptance against the variance of dH with erfc(sqrt(var / 8)), from reports with many."""

import math
import re

import style
from report_file import ReportError, load, number, numbers

ORDERS = {"leapfrog": 2, "omelyan": 2, "omf4": 4, "force-gradient": 4}


def run_of(report):
    """Scheme, length of a step, dH and accept steps of a report."""
    parameters, found = report["parameters"], report["observables"]
    level = re.fullmatch(r"([a-z0-9-]+):(\d+)\(gauge\)", str(parameters.get("integrator")))
    if not isinstance(found, dict) or not level or level[1] not in ORDERS or int(level[2]) < 1:
        raise ReportError("expected a report of hmc with one level of links, found another")
    changes, accepted = numbers(found.get("dh"), "observables.dh"), found.get("accepted")
    if not changes or not isinstance(accepted, list) or len(accepted) != len(changes):
        raise ReportError("expected as many accept steps as dH, found others")
    return level[1], number(parameters.get("tau"), "parameters.tau") / int(level[2]), changes, [bool(a) for a in accepted]


def draw_steps(axes, runs):
    for scheme in dict.fromkeys(scheme for scheme, *_ in runs):
        points = sorted((step, abs(changes[0])) for name, step, changes, _ in runs if name == scheme)
        line, = axes.plot(*zip(*points), "o", label=scheme)
        step, change = points[0]
        order = ORDERS[scheme]
        axes.plot([s for s, _ in points], [change * (s / step) ** order for s, _ in points], "--", linewidth=1, color=line.get_color(),
                  label=f"slope {order}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("dt")
    axes.set_title("|dH| of one trajectory")
    axes.legend(loc="upper left")


def draw_acceptance(axes, runs):
    points = []
    for _, _, changes, accepted in runs:
        mean = sum(changes) / len(changes)
        variance, rate = sum((c - mean) ** 2 for c in changes) / (len(changes) - 1), sum(accepted) / len(accepted)
        points.append((variance, rate, math.sqrt(rate * (1 - rate) / len(accepted))))
    most = max((variance for variance, *_ in points), default=1.0)
    line = [1.05 * most * n / 200 for n in range(201)]
    axes.plot(line, [math.erfc(math.sqrt(v / 8)) for v in line], label="erfc(sqrt(var / 8))")
    for variance, rate, error in points:
        axes.errorbar(variance, rate, error, fmt="o", color=style.CYCLE[1])
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel("variance of dH")
    axes.set_title("acceptance")
    axes.legend(loc="best")


def main():
    arguments = style.arguments(__doc__, "trajectories.png").parse_args()
    reports = [load(path) for path in arguments.report]
    runs = [run_of(report) for report in reports]
    figure, panels = style.page(2)
    draw_steps(panels[0], [run for run in runs if len(run[2]) == 1])
    draw_acceptance(panels[1], [run for run in runs if len(run[2]) > 1])
    style.finish(figure, reports, arguments)


if __name__ == "__main__":
    style.main(main)
