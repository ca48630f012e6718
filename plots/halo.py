#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what the halo costs in the runs of dslash-scaling on several ranks: the time to pack, to wait and to unpack. Two
bars have the exchange before the interior is computed and behind it, and show how much of it is hidden."""

import style
from report_file import ReportError, number
from scaling_data import case_of, cores, headline_cases, points

PARTS = (("pack", style.COLOURS["sky"]), ("wait", style.COLOURS["vermilion"]), ("unpack", style.COLOURS["green"]))


def chosen_points(found):
    """The headline operator in each precision, of every run on several ranks; of the same point the last run."""
    cases = headline_cases(found)
    latest = {}
    for p in found:
        if p.halo is not None and case_of(p) in cases:
            latest[(p.scaling != "strong", cores(p), p.ranks, p.placement, cases.index(case_of(p)))] = p
    if not latest:
        raise ReportError("no figure with a halo: run dslash-scaling on several ranks")
    return [latest[key] for key in sorted(latest)]


def draw(axes, chosen):
    """Two bars a point: without overlap, and with it. Times in per cent of an application without overlap."""
    for n, p in enumerate(chosen):
        def value(key):
            return number(p.halo[key], f"{p.path}: halo.{key}")

        whole = value("seconds_without_overlap")
        bars = ((-0.2, value("exchange_seconds"), whole), (0.2, value("exposed_seconds"), p.seconds))
        for place, wait, total in bars:
            bottom = 0.0
            for (part, colour), seconds in zip(PARTS, (value("pack_seconds"), wait, value("unpack_seconds"))):
                label = {"pack": "pack", "wait": "wait for messages", "unpack": "unpack"}[part]
                axes.bar(n + place, 100 * seconds / whole, 0.36, bottom=bottom, color=colour,
                         label=label if n == 0 and place < 0 else None)
                bottom += 100 * seconds / whole
            axes.bar(n + place, 100 * total / whole - bottom, 0.36, bottom=bottom, color="#E8E8E8",
                     label="all else" if n == 0 and place < 0 else None, zorder=0)
            axes.annotate("off" if place < 0 else "on", (n + place, 1), ha="center", va="bottom", fontsize=7)
    axes.set_xticks(range(len(chosen)), [f"{p.scaling}\n{p.ranks} x {p.threads}\n{p.precision}"
                                         + (f"\n{p.placement}" if p.placement == "bad" else "") for p in chosen],
                    fontsize=8)
    axes.grid(False, axis="x")
    axes.set_ylabel("time, % of overlap off")
    axes.set_title("Halo, with overlap off and on")
    axes.set_ylim(top=1.15 * axes.get_ylim()[1])
    axes.legend(fontsize=8, loc="upper right", ncols=4)


def main():
    arguments = style.arguments(__doc__, "halo.png").parse_args()
    chosen = chosen_points(points(arguments.report))
    figure, (axes,) = style.figure()
    figure.set_figwidth(max(6.4, 0.8 * len(chosen) + 1.5))
    draw(axes, chosen)
    style.finish(figure, [p.report for p in chosen], arguments)


if __name__ == "__main__":
    style.main(main)
