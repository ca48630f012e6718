#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the convergence history of every solve in the reports: iterated residual against iteration, and the residual
that the independent operator found at the end."""

import math

import style
from report_file import ReportError, histories, load, number


def label(report, solve, several):
    """What tells this solve from the others."""
    words = [str(solve.get("solver", "solve")), str(solve.get("precision", ""))]
    if several:
        words.append(str(report["gauge"].get("source", "")).rsplit("/", 1)[-1])
    return style.plain(", ".join(word for word in words if word))


def draw(axes, reports):
    """One colour a solve, one line a right-hand side; a cross where the recomputed residual ended.
    `reports` is a list of (path, report)."""
    drawn, tolerances = 0, set()
    for path, report in reports:
        for n, solve in enumerate(report["solves"]):
            columns = histories(solve, f"{path}: solves[{n}]")
            if not columns:
                continue
            colour = style.CYCLE[drawn % len(style.CYCLE)]
            drawn += 1
            for k, column in enumerate(columns):
                axes.semilogy(range(len(column)), [r if r > 0 else math.nan for r in column], color=colour,
                              alpha=1.0 if len(columns) == 1 else 0.55, linewidth=1.6 if len(columns) == 1 else 1.0,
                              label=label(report, solve, len(reports) > 1) if k == 0 else None)
            found = solve.get("residual", {}).get("reference")
            if found is not None and (value := number(found, f"{path}: solves[{n}].residual.reference")) > 0:
                axes.semilogy([max(len(column) for column in columns) - 1], [value], "x", color=colour, markersize=8,
                              markeredgewidth=2, label=f"true residual at the end: {value:.1e}")
        if "tolerance" in report["parameters"]:
            tolerances.add(number(report["parameters"]["tolerance"], f"{path}: parameters.tolerance"))
    if not drawn:
        raise ReportError(f"{', '.join(path for path, _ in reports)}: no solve with a history")
    for tolerance in sorted(t for t in tolerances if t > 0):
        axes.axhline(tolerance, color=style.COLOURS["grey"], linewidth=1, linestyle=(0, (4, 3)), label=f"tolerance {tolerance:.0e}")
    axes.set_xlabel("iteration")
    axes.set_ylabel(r"relative residual  $\|b - Mx\|\,/\,\|b\|$")
    axes.set_title("Convergence")
    axes.set_xlim(left=0)
    axes.legend(loc="upper right")


def main():
    arguments = style.arguments(__doc__, "convergence.png").parse_args()
    reports = [(path, load(path)) for path in arguments.report]
    figure, (axes,) = style.figure()
    draw(axes, reports)
    style.finish(figure, [report for _, report in reports], arguments)


if __name__ == "__main__":
    style.main(main)
