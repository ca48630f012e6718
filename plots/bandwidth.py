#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the share of the copy bandwidth that the operators of dslash-scaling reach, in the fewest bytes possible, by
precision: of the run on the most cores among the reports."""

import style
from scaling_data import PRECISIONS, cores, points

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))


def chosen_run(found):
    """The points of one report: strong before weak, good before bad placement, most cores, then most ranks."""
    def rank(p):
        return (p.scaling == "strong", p.placement != "bad", cores(p), p.ranks)

    best = max(found, key=rank)
    return [p for p in found if p.path == best.path]


def draw(axes, run):
    """A group of bars an operator, number of stored reals and of right-hand sides; a bar a precision."""
    groups = list(dict.fromkeys((p.operator, p.layout, p.reconstruct, p.rhs) for p in run))
    have = [precision for precision in PRECISIONS if any(p.precision == precision for p in run)]
    width = 0.8 / len(have)
    for n, precision in enumerate(have):
        bars = [(g, p) for g, group in enumerate(groups) for p in run
                if (p.operator, p.layout, p.reconstruct, p.rhs) == group and p.precision == precision]
        places = [g + (n - 0.5 * (len(have) - 1)) * width for g, _ in bars]
        drawn = axes.bar(places, [100 * p.fraction_of_copy for _, p in bars], 0.92 * width, color=COLOUR[precision],
                         label=precision)
        axes.bar_label(drawn, fmt="%.0f", fontsize=7, padding=1)
    axes.axhline(100, color=style.COLOURS["grey"], linewidth=1, linestyle=(0, (4, 3)))
    axes.set_xticks(range(len(groups)), [f"{operator}\n{layout}\n{reals} reals, N = {rhs}"
                                         for operator, layout, reals, rhs in groups], fontsize=8)
    axes.grid(False, axis="x")
    axes.set_ylabel("% of the copy bandwidth")
    axes.set_ylim(top=1.18 * max(100, *(100 * p.fraction_of_copy for p in run)))
    lattice = "x".join(str(length) for length in run[0].report["parameters"].get("lattice", []))
    axes.set_title(f"Fewest bytes a second: {lattice}, ranks x threads = {run[0].ranks} x {run[0].threads}")
    axes.legend(loc="upper right", ncols=len(have))


def main():
    arguments = style.arguments(__doc__, "bandwidth.png").parse_args()
    run = chosen_run(points(arguments.report))
    figure, (axes,) = style.figure()
    groups = len({(p.operator, p.layout, p.reconstruct, p.rhs) for p in run})
    figure.set_figwidth(max(5.4, 1.3 * groups + 1.5))
    draw(axes, run)
    style.finish(figure, [run[0].report], arguments)


if __name__ == "__main__":
    style.main(main)
