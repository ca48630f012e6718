#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what the ways to exchange halos between GPUs are worth: GFLOP/s of one lattice on one number of GPUs for each
--halo, --wait and --placement that was measured, with the overlap on and off."""

import style
from gpu_data import (PRECISIONS, VECTOR_OPERATIONS, headline, is_crowded, required_points, seconds_without_overlap,
                      text_of_extents)
from report_file import ReportError

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))


def way_of(point):
    words = [point.asked if point.asked == point.policy or not point.policy else f"{point.asked}: {point.policy}"]
    if point.wait != "spin":
        words.append(f"wait {point.wait}")
    if point.placement == "bad":
        words.append("bad placement")
    if is_crowded(point):
        words.append("fewer cores than ranks")
    return "\n".join(words)


def chosen_points(found):
    """Of the lattice and number of GPUs that were run in most ways: {way: {precision: point}}, the automatic one first."""
    halo = [p for p in found if p.halo is not None and p.operator not in VECTOR_OPERATIONS]
    if not halo:
        raise ReportError("no figure with a halo: run dslash-scaling on several GPUs")
    halo = [p for p in halo if (p.operator, p.layout, p.reconstruct, p.rhs) == headline(halo)]
    places = {}
    for p in halo:
        places.setdefault((p.gpus, p.lattice, p.grid), {}).setdefault((is_crowded(p), p.asked != "auto", p.placement == "bad", way_of(p)),
                                                                      {})[p.precision] = p
    place = max(places, key=lambda key: (len(places[key]), key))
    return place, {key[-1]: value for key, value in sorted(places[place].items())}


def draw(axes, found):
    (gpus, lattice, grid), ways = chosen_points(found)
    have = [precision for precision in PRECISIONS if any(precision in by for by in ways.values())]
    width = 0.8 / len(have)
    for n, precision in enumerate(have):
        for k, by in enumerate(ways.values()):
            if precision not in by:
                continue
            p = by[precision]
            place = k + (n - 0.5 * (len(have) - 1)) * width
            axes.bar([place], [1e-3 * p.gflops], 0.92 * width, color=COLOUR[precision], label=precision if k == 0 else None)
            off = 1e-3 * p.gflops * p.seconds / seconds_without_overlap(p)
            axes.plot([place - 0.45 * width, place + 0.45 * width], [off, off], color="black", linewidth=1.2,
                      label="overlap off" if n == k == 0 else None)
    axes.set_xticks(range(len(ways)), list(ways), fontsize=7.5)
    axes.grid(False, axis="x")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(f"{text_of_extents(lattice)} on {gpus} GPUs, grid {'x'.join(map(str, grid))}")
    axes.set_ylim(top=1.2 * axes.get_ylim()[1])
    axes.legend(ncols=len(have) + 1, loc="upper right", fontsize=8)


def main():
    arguments = style.arguments(__doc__, "policies.png").parse_args()
    found = required_points(arguments.report)
    figure, (axes,) = style.figure()
    figure.set_figwidth(max(6.4, 1.2 * len(chosen_points(found)[1]) + 1.5))
    draw(axes, found)
    style.finish(figure, [p.report for p in found], arguments)


if __name__ == "__main__":
    style.main(main)
