#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the bandwidth of vector operations and scalar products of dslash-scaling against ranks: an axpy needs no other
rank, a scalar product ends in a sum over all."""

import style
from gpu_data import VECTOR_OPERATIONS, loaded, text_of_extents
from report_file import ReportError, number

MARKERS = dict(zip(VECTOR_OPERATIONS, "osD"))


def lines_of(reports):
    """{(device, scaling's lattice, precision): {operation: [(ranks, GB/s, share of copy)]}}"""
    found = {}
    for path, report in reports:
        parameters = report["parameters"]
        weak = parameters.get("scaling") == "weak"
        extents = parameters.get("local_lattice" if weak else "lattice", [])
        for n, figure in enumerate(report["figures"]):
            if figure.get("operator") not in VECTOR_OPERATIONS or figure.get("protocol", "sustained") != "sustained":
                continue
            what = f"{path}: figures[{n}]"
            name = f"{figure['device']}, {text_of_extents(extents)}{' a rank' if weak else ''}, {figure['precision']}"
            found.setdefault(name, {}).setdefault(figure["operator"], {})[int(figure["ranks"])] = (
                number(figure["gbytes_per_s"], what), number(figure["fraction_of_copy"], what))
    return found


def draw(rates, shares, found):
    for n, (name, operations) in enumerate(found.items()):
        colour = style.CYCLE[n % len(style.CYCLE)]
        for operation, by_ranks in operations.items():
            ranks = sorted(by_ranks)
            look = MARKERS[operation] + ("-" if operation == "axpy" else "--")
            rates.plot(ranks, [by_ranks[r][0] for r in ranks], look, color=colour, label=f"{operation}: {name}")
            shares.plot(ranks, [100 * by_ranks[r][1] for r in ranks], look, color=colour)
    ticks = sorted({r for operations in found.values() for by_ranks in operations.values() for r in by_ranks})
    for axes in (rates, shares):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel("ranks")
    rates.set_yscale("log")
    rates.set_ylabel("GB/s, fewest bytes")
    rates.set_title("Vector operations")
    rates.legend(fontsize=6.5)
    shares.set_ylabel("% of the copy bandwidth")
    shares.set_title("Share of copy")
    shares.set_ylim(bottom=0)


def main():
    arguments = style.arguments(__doc__, "vectors.png").parse_args()
    reports = loaded(arguments.report)
    found = lines_of(reports)
    if not found:
        raise ReportError("no figures of axpy, dot or norm2: run dslash-scaling with --operator axpy,dot,norm2")
    figure, (left, right) = style.figure(panels=2)
    draw(left, right, found)
    style.finish(figure, [report for _, report in reports], arguments)


if __name__ == "__main__":
    style.main(main)
