#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what a run of overlap-propagator found: modes of H, eigenvalues of D on their circle, and the pion of each mass."""

import math

import style
from report_file import ReportError, load, number, numbers


def draw_kernel(axes, observables):
    values = numbers(observables["kernel"]["eigenvalues"], "eigenvalues of H")
    axes.plot(range(1, len(values) + 1), values, ".")
    axes.axhline(0, color=style.COLOURS["grey"], linewidth=0.8)
    axes.set_xlabel("modes of H, by |λ|")
    axes.set_ylabel("eigenvalue λ of H")
    axes.set_title("lowest modes of H")


def draw_circle(axes, observables):
    angles = [2 * math.pi * i / 400 for i in range(401)]
    axes.plot([1 - math.cos(a) for a in angles], [math.sin(a) for a in angles], color=style.COLOURS["grey"], linewidth=0.8)
    pairs = [numbers(pair, "eigenvalues of D") for pair in observables["overlap"]["eigenvalues"]]
    axes.plot([re for re, _ in pairs], [im for _, im in pairs], "o", color=style.COLOURS["vermilion"], markersize=4)
    axes.set_aspect("equal")
    axes.set_xlabel("real part of eigenvalues of D")
    axes.set_ylabel("imaginary part")
    axes.set_title("modes of D, index " + ("open" if observables["index"] is None else str(observables["index"])))


def draw_pion(axes, observables):
    for mass in observables["masses"]:
        pion = numbers(mass["pion"], "pion")
        axes.plot(range(len(pion)), pion, "o-", label=f"m = {number(mass['mass'], 'mass'):g}")
    axes.set_yscale("log")
    axes.set_xlabel("time t, lattice units")
    axes.set_ylabel("correlator, lattice units")
    axes.set_title("pion")
    style.legend_above(axes, columns=4)


def draw():
    arguments = style.arguments(__doc__, "overlap.png", several=False).parse_args()
    report = load(arguments.report)
    observables = report["observables"]
    if any(key not in observables for key in ("kernel", "overlap", "masses")):
        raise ReportError(f"{arguments.report}: expected a report of overlap-propagator with all stages, found another")
    figure, axes = style.page(panels=3)
    draw_kernel(axes[0], observables)
    draw_circle(axes[1], observables)
    axes[2].set_subplotspec(axes[2].get_gridspec()[1, :])
    draw_pion(axes[2], observables)
    style.finish(figure, [report], arguments)


if __name__ == "__main__":
    style.main(draw)
