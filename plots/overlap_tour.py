#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what sign(H) does, from runs of overlap-propagator on one configuration. The first report has modes of D, on
their circle. The others (--until modes) have modes of H at other rho. Those that cross zero make the index."""

import style
from overlap_picture import draw_circle
from report_file import ReportError, load, number, numbers


def draw_flow(axes, reports, rho):
    for report in reports:
        values = numbers(report["observables"]["kernel"]["eigenvalues"], "eigenvalues of H")
        axes.plot([number(report["parameters"]["rho"], "rho")] * len(values), values, "_", color=style.COLOURS["blue"], markersize=9,
                  markeredgewidth=1.6)
    axes.axhline(0, color=style.COLOURS["grey"], linewidth=0.8)
    axes.axvline(rho, color=style.COLOURS["vermilion"], linewidth=1)
    axes.annotate(f"ρ = {rho:g}, of the circle", (rho, 0), (-4, 4), textcoords="offset points", color=style.COLOURS["vermilion"],
                  fontsize=8.5, ha="right")
    axes.set_xlabel("ρ: minus the mass of H")
    axes.set_ylabel("eigenvalue λ of H")
    axes.set_title("modes of H flow with ρ")


def draw_zero_modes(axes, overlap):
    for sign, name, height in ((1, "chirality_plus", 14), (-1, "chirality_minus", -18)):
        count = overlap[name]["zero_modes"]
        if count:
            axes.plot([0], [0], "*", color=style.COLOURS["blue"], markersize=13, clip_on=False, zorder=3)
            axes.annotate(f"{count} zero mode{'s' if count > 1 else ''},\nγ$_5$ = {sign:+d}", (0, 0), (30, height), textcoords="offset points", fontsize=8.5,
                          arrowprops={"arrowstyle": "-", "color": style.COLOURS["grey"]})


def draw():
    arguments = style.arguments(__doc__, "overlap_tour.png").parse_args()
    reports = [load(path) for path in arguments.report]
    for path, report in zip(arguments.report, reports):
        if "kernel" not in report["observables"]:
            raise ReportError(f"{path}: expected a report of overlap-propagator with modes of H, found another")
    if "overlap" not in reports[0]["observables"]:
        raise ReportError(f"{arguments.report[0]}: expected modes of D in the first report, found none")
    figure, (left, right) = style.page(panels=2, row=2.9)
    draw_circle(left, reports[0]["observables"])
    draw_zero_modes(left, reports[0]["observables"]["overlap"])
    draw_flow(right, reports[1:], number(reports[0]["parameters"]["rho"], "rho"))
    style.finish(figure, reports[:1], arguments)


if __name__ == "__main__":
    style.main(draw)
