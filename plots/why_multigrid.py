#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws why multigrid works, from a report of plaquette-multigrid --explain --json REPORT.json. It shows what
relaxation leaves of an error and how much of that P holds, local coherence, and a slow mode with what P keeps of it."""

import numpy

import style
from report_file import ReportError, load


def explanation_of(path):
    report = load(path)
    try:
        return report, report["solves"][0]["explanation"]
    except (KeyError, IndexError):
        raise ReportError(f"{path}: expected a report of plaquette-multigrid --explain") from None


def draw_errors(axes, errors):
    places = range(len(errors["relaxation"]))
    axes.semilogy(places, errors["relaxation"], "o-", color=style.COLOURS["vermilion"], label="|e|, relaxation alone", markersize=4)
    axes.semilogy(places, errors["missed"], "s--", color=style.COLOURS["grey"],
                  label="|(1 - P P⁺) e| / |e| of the same e", markersize=4)
    axes.semilogy(places, errors["cycle"], "o-", color=style.COLOURS["blue"], label="|e|, whole cycles", markersize=4)
    axes.set_xlabel(f"iterations, {errors['steps']} relaxation steps each")
    axes.set_ylabel("error / first error")
    axes.set_title("relaxation leaves what P holds")
    style.legend_above(axes, columns=1)


def draw_coherence(axes, coherence):
    for key, shape, label in (("random", "^:", "a random vector, cut"), ("whole", "s--", "a relaxed error, vectors whole"),
                             ("cut", "o-", "the same, vectors cut into aggregates")):
        if coherence[key]:
            axes.plot(range(len(coherence[key])), coherence[key], shape, label=label, markersize=4)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("null vectors, each split by chirality")
    axes.set_ylabel("|(1 - P P⁺) v| / |v|")
    axes.set_title("local coherence")
    style.legend_above(axes, columns=1)


def draw_plane(axes, numbers, top, title):
    axes.grid(False)
    picture = axes.imshow(1000 * numpy.array(numbers), origin="lower", vmin=0.0, vmax=1000 * top, cmap="viridis")
    axes.set_xlabel("x, sites")
    axes.set_ylabel("y, sites")
    axes.set_title(title)
    axes.figure.colorbar(picture, ax=axes, fraction=0.046, label="1000 |v(x)|²")


def main():
    given = style.arguments(__doc__, "why_multigrid.png", several=False).parse_args()
    report, why = explanation_of(given.report)
    picture = why.get("picture")
    figure, axes = style.page(panels=4 if picture else 2, row=3.2)
    draw_errors(axes[0], why["errors"])
    draw_coherence(axes[1], why["coherence"])
    if picture:
        top = max(max(row) for row in picture["mode"])
        draw_plane(axes[2], picture["mode"], top, f"lowest mode at z = {picture['z']}, t = {picture['t']}")
        draw_plane(axes[3], picture["kept"], top, "what P keeps of it")
    style.finish(figure, [report], given)


if __name__ == "__main__":
    style.main(main)
