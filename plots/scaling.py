#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how dslash-scaling scales: GFLOP/s against ranks x threads, of one lattice (strong) and of one lattice a rank
(weak), each with the ideal line, and the efficiency of both."""

import style
from matplotlib.lines import Line2D
from scaling_data import PRECISIONS, case_of, cores, efficiency, headline, headline_cases, lines, points, remarks

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))
MARKERS = "osD^v"


def style_of(n, placement):
    """The marker of the n-th way to use the cores; dashed where the placement is deliberately bad."""
    return MARKERS[n % len(MARKERS)] + ("--" if placement == "bad" else "-")


def placements(found):
    return sorted({p.placement for p in found}, key=lambda name: (name == "bad", name))


def draw_rates(axes, found, scaling):
    """GFLOP/s; one colour a precision, one marker a way to use the cores. Returns the names of the ways."""
    here = [p for p in found if p.scaling == scaling]
    axes.set_title(f"{scaling.capitalize()} scaling")
    axes.set_xlabel("ranks x threads")
    axes.set_ylabel("GFLOP/s")
    ways = []
    if not here:
        axes.text(0.5, 0.5, "no such run", transform=axes.transAxes, ha="center", color=style.COLOURS["grey"])
        return ways
    for case in headline_cases(found):
        for placement in placements(here):
            chosen = [p for p in here if case_of(p) == case and p.placement == placement]
            for n, (label, line) in enumerate(lines(chosen) if chosen else []):
                x = [cores(p) for p in line]
                axes.plot(x, [p.gflops for p in line], style_of(n, placement), color=COLOUR[case.precision])
                if label not in ways:
                    ways.append(label)
                if n == 0 and placement != "bad":
                    ideal = [line[0].gflops / cores(line[0]) * c for c in x]
                    axes.plot(x, ideal, color=COLOUR[case.precision], linewidth=0.8, linestyle=":", zorder=1)
    log_axes(axes, here)
    return ways


def draw_efficiency(axes, found):
    """GFLOP/s a core relative to the first point of each line, of the headline's precision."""
    axes.axhline(100, color=style.COLOURS["grey"], linewidth=0.8, linestyle=":")
    for colour, scaling in ((style.COLOURS["purple"], "strong"), (style.COLOURS["orange"], "weak")):
        drawn = False
        for placement in placements(found):
            chosen = [p for p in found if p.scaling == scaling and case_of(p) == headline(found)
                      and p.placement == placement]
            for n, (_, line) in enumerate(lines(chosen) if chosen else []):
                axes.plot([cores(p) for p in line], [100 * e for e in efficiency(line)], style_of(n, placement),
                          color=colour, label=None if drawn else f"{scaling}, {headline(found).precision}")
                drawn = True
    axes.set_title("Efficiency")
    axes.set_xlabel("ranks x threads")
    axes.set_ylabel("% of the first point's GFLOP/s a core")
    log_axes(axes, found, both=False)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower left")


def legend(figure, found, ways):
    """What colours, markers and dashes mean, once for all panels."""
    entries = [Line2D([], [], color=COLOUR[case.precision], label=case.precision) for case in headline_cases(found)]
    entries += [Line2D([], [], color=style.COLOURS["grey"], marker=MARKERS[n % len(MARKERS)], linestyle="", label=way)
                for n, way in enumerate(ways)]
    entries.append(Line2D([], [], color=style.COLOURS["grey"], linewidth=0.8, linestyle=":", label="ideal"))
    if "bad" in placements(found):
        entries.append(Line2D([], [], color=style.COLOURS["grey"], linestyle="--", label="bad placement"))
    figure.legend(handles=entries, loc="upper right", ncols=len(entries), fontsize=8)


def log_axes(axes, found, both=True):
    ticks = sorted({cores(p) for p in found})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(t) for t in ticks])
    axes.minorticks_off()
    if both and len(ticks) > 3:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    elif both:
        axes.set_ylim(bottom=0)


def main():
    arguments = style.arguments(__doc__, "scaling.png").parse_args()
    found = points(arguments.report)
    figure, (strong, weak, efficient) = style.figure(panels=3)
    figure.set_figheight(4.6)
    ways = draw_rates(strong, found, "strong")
    ways += [way for way in draw_rates(weak, found, "weak") if way not in ways]
    draw_efficiency(efficient, found)
    case = headline(found)
    figure.suptitle(f"{case.operator}, {case.layout}, {case.reconstruct} reals a link, N = {case.rhs}", x=0.01,
                    ha="left", fontsize=10)
    legend(figure, found, ways)
    style.finish(figure, [p.report for p in found], arguments)
    for remark in remarks(found):
        print(f"remark     {remark}")


if __name__ == "__main__":
    style.main(main)
