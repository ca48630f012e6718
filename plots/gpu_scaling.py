#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how dslash-scaling scales over GPUs: TFLOP/s and parallel efficiency of every lattice, each precision with the
overlap on (solid) and off (dashed), and with deliberately bad placement where it was measured (crosses)."""

import style
from gpu_data import (PRECISIONS, VECTOR_OPERATIONS, case_of, efficiency, headline, is_usual, lines, of_headline, problem_of,
                      required_points, seconds_without_overlap, title_of)
from matplotlib.lines import Line2D
from report_file import ReportError

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))
MARKER = dict(zip(PRECISIONS, "sDo"))


def usual_lines(found):
    """{problem: {precision: points}} of the headline operator."""
    usual = [p for p in found if is_usual(p)]
    if not usual:
        return {}
    result = {}
    for (problem, case), line in lines(of_headline(usual)).items():
        result.setdefault(problem, {})[case[2]] = line
    return result


def over_gpus(axes, counts):
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_xlabel("GPUs")


def draw_problem(rates, efficient, problem, by_precision, bad):
    """Two panels of one lattice; `bad` are its points of bad placement."""
    counts = sorted({p.gpus for line in by_precision.values() for p in line})
    efficient.axhline(100, color=style.COLOURS["grey"], linewidth=0.8, linestyle=":")
    for precision, line in by_precision.items():
        colour, marker = COLOUR[precision], MARKER[precision]
        gpus = [p.gpus for p in line]
        slower = [p.gflops * p.seconds / seconds_without_overlap(p) for p in line]
        rates.plot(gpus, [1e-3 * p.gflops for p in line], marker + "-", color=colour)
        rates.plot(gpus, [1e-3 * g for g in slower], marker + "--", color=colour, markerfacecolor="white", linewidth=1)
        rates.plot(gpus, [1e-3 * line[0].gflops * n / line[0].gpus for n in gpus], ":", color=colour, linewidth=0.8)
        if line[0].gpus == 1:
            efficient.plot(gpus, [100 * e for e in efficiency(line)], marker + "-", color=colour)
            efficient.plot(gpus, [100 * e for e in efficiency(line, seconds_without_overlap)], marker + "--", color=colour,
                           markerfacecolor="white", linewidth=1)
            for p in bad:
                if p.precision == precision:
                    efficient.plot([p.gpus], [100 * efficiency([line[0], p])[1]], "x", color=colour, markersize=8)
        for p in bad:
            if p.precision == precision:
                rates.plot([p.gpus], [1e-3 * p.gflops], "x", color=colour, markersize=8)
    for axes in (rates, efficient):
        over_gpus(axes, counts)
        axes.set_ylim(bottom=0)
    rates.set_title(title_of(problem), fontsize=9)


def draw(figure, found):
    """All panels on a new grid of axes of the figure; the problems drawn."""
    problems = usual_lines(found)
    if not problems:
        raise ReportError("no lattice was timed on several numbers of GPUs with the usual settings")
    axes = figure.subplots(len(problems), 2, squeeze=False)
    usual = headline([p for p in found if is_usual(p)])
    bad = [p for p in found if p.placement == "bad" and p.operator not in VECTOR_OPERATIONS
           and (case_of(p)[0], case_of(p)[1], case_of(p)[3], case_of(p)[4]) == usual]
    for n, (problem, by_precision) in enumerate(sorted(problems.items())):
        draw_problem(axes[n][0], axes[n][1], problem, by_precision, [p for p in bad if problem_of(p) == problem])
        axes[n][0].set_ylabel("TFLOP/s")
        axes[n][1].set_ylabel("parallel efficiency, %")
    entries = [Line2D([], [], color=COLOUR[p], marker=MARKER[p], label=p) for p in PRECISIONS
               if any(p in lines_of for lines_of in problems.values())]
    grey = style.COLOURS["grey"]
    entries += [Line2D([], [], color=grey, linestyle="-", label="overlap on"),
                Line2D([], [], color=grey, linestyle="--", label="overlap off"),
                Line2D([], [], color=grey, linestyle=":", label="ideal")]
    if bad:
        entries.append(Line2D([], [], color=grey, marker="x", linestyle="", label="bad placement"))
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0.0, 1 - 0.25 / (1 + 2 * len(problems))), ncols=len(entries),
                  fontsize=8, columnspacing=1.2)
    return problems


def main():
    arguments = style.arguments(__doc__, "gpu-scaling.png").parse_args()
    found = required_points(arguments.report)
    style.apply()
    figure = style.plt.figure()
    problems = draw(figure, found)
    figure.set_size_inches(style.PAGE_WIDTH, 1 + 2 * len(problems))
    operator, layout, reals, rhs = headline([p for p in found if is_usual(p)])
    figure.suptitle(f"{operator}, {layout}, {reals} reals a link, N = {rhs}", x=0.01, ha="left", fontsize=10)
    style.finish(figure, [p.report for p in found], arguments, top=1 - 0.75 / (1 + 2 * len(problems)))


if __name__ == "__main__":
    style.main(main)
