#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how runs of nodal-dg converge: the share of its energy that a wave has lost, against time, and the error of the
solution against the nodes of the mesh, a line for each order."""

import style
from report_file import ReportError, load, number


def losses_of(path, report):
    """Times and the shares of the first energy that were lost by then; empty if the report has no history."""
    energy = report["observables"].get("energy")
    history = energy.get("history") if isinstance(energy, dict) else None
    if not isinstance(history, list) or not history:
        return [], []
    if not all(isinstance(point, list) and len(point) == 2 for point in history):
        raise ReportError(f"{path}: observables.energy.history: expected pairs of a time and an energy, found others")
    times, energies = zip(*([number(value, f"{path}: observables.energy.history") for value in point] for point in history))
    if not energies[0] > 0.0:
        raise ReportError(f"{path}: observables.energy.history: expected an energy above 0, found {energies[0]}")
    return times, [1.0 - energy / energies[0] for energy in energies]


def errors_of(reports):
    """{(equations, order): [(nodes, relative error)]} of the reports that have them."""
    found = {}
    for path, report in reports:
        if "relative_error" in report["observables"] and "nodes" in report["observables"]:
            nodes, error = (number(report["observables"][key], f"{path}: observables.{key}") for key in ("nodes", "relative_error"))
            if nodes > 0.0 and error > 0.0:
                of = str(report["parameters"].get("equations", "")), str(report["parameters"].get("order", ""))
                found.setdefault(of, []).append((nodes, error))
    return found


def draw(left, right, reports):
    """`reports` is a list of (path, report)."""
    drawn = 0
    for n, (path, report) in enumerate(reports):
        times, losses = losses_of(path, report)
        if not times:
            continue
        drawn += 1
        words = [str(report["parameters"].get("equations", "wave")), f"order {report['parameters'].get('order', '?')}"]
        if "elements" in report["observables"]:
            words.append(f"{report['observables']['elements']} elements")
        left.plot(times, losses, "o-", color=style.CYCLE[n % len(style.CYCLE)], markersize=3.5, linewidth=1.2, label=style.plain(", ".join(words)))
    errors = errors_of(reports)
    for n, ((equations, order), points) in enumerate(errors.items()):
        right.loglog(*zip(*sorted(points)), "o-", color=style.CYCLE[n % len(style.CYCLE)], label=style.plain(f"{equations}, order {order}"))
    if not drawn and not errors:
        raise ReportError(f"{', '.join(path for path, _ in reports)}: expected energies or errors of nodal-dg, found none")
    left.set_xlabel("time")
    left.set_ylabel("share of the energy that was lost")
    left.set_title("Energy")
    right.set_xlabel("nodes")
    right.set_ylabel("relative error at the end")
    right.set_title("Error")
    for axes in (left, right):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best", fontsize=8)


def main():
    arguments = style.arguments(__doc__, "energy.png").parse_args()
    reports = [(path, load(path)) for path in arguments.report]
    figure, (left, right) = style.page(panels=2, row=3.4)
    draw(left, right, reports)
    style.finish(figure, [report for _, report in reports], arguments)


if __name__ == "__main__":
    style.main(main)
