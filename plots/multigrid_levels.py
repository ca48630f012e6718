#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a report of plaquette-multigrid: how residuals fall, and where a solve spends its time."""

import style
from report_file import ReportError, histories, load, number


def name(solve):
    return f"{solve['solver']} {solve['precision']}, {solve['batch']} at once"


def draw_residuals(axes, solves):
    for solve in solves:
        for history in histories(solve, "solves")[:1]:
            axes.semilogy(range(len(history)), history, label=name(solve), linestyle="-" if solve["solver"] == "multigrid" else "--")
    axes.set(xlabel="iteration", ylabel="|b - M x| / |b|, first source", title="residuals")
    style.legend_above(axes, columns=1)


def draw_levels(axes, levels):
    labels = ["x".join(map(str, level["lattice"])) + f",\nn = {level['n']}" for level in levels]
    left = [0.0] * len(levels)
    for part, colour in (("smoothing", "blue"), ("transfer", "orange"), ("krylov", "green")):
        values = [number(level[part + "_seconds"], part) for level in levels]
        axes.barh(labels, values, left=left, color=style.COLOURS[colour], label=part)
        left = [a + b for a, b in zip(left, values)]
    axes.invert_yaxis()
    axes.set(xlabel="seconds of one solve, stages timed apart", title="where time goes")
    style.legend_above(axes, columns=3)


def main():
    given = style.arguments(__doc__, "multigrid_levels.png", several=False).parse_args()
    report = load(given.report)
    if not report["solves"] or "levels" not in report["solves"][0]:
        raise ReportError(f"{given.report}: expected a report of plaquette-multigrid, found no levels")
    figure, (left, right) = style.page(panels=2, row=3.8)
    draw_residuals(left, report["solves"])
    draw_levels(right, report["solves"][0]["levels"])
    style.finish(figure, [report], given)


if __name__ == "__main__":
    style.main(main)
