#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how many cores of a CPU are as fast as one GPU: GFLOP/s a GPU of dslash-scaling, on every number of GPUs,
over GFLOP/s a core of a CPU. Operator, precision, reals and right-hand sides are the same. Of several runs on CPUs
the one with most GFLOP/s a core counts."""

import style
from gpu_data import PRECISIONS, case_of, is_usual, lines, loaded, of_headline, points, title_of
from report_file import ReportError, number

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))
LINES = ("-", "--", "-.", ":", (0, (1, 1)), (0, (5, 1)))


def rates_a_core(reports):
    """{case: (GFLOP/s a core, cores, lattice's report)} of the figures of CPUs."""
    best = {}
    for path, report in reports:
        for n, figure in enumerate(report["figures"]):
            if figure.get("device") != "cpu":
                continue
            case = (figure["operator"], figure["layout"], figure["precision"], figure["reconstruct"], figure["rhs"])
            cores = int(figure["ranks"]) * int(figure["threads"])
            rate = number(figure["gflops"], f"{path}: figures[{n}]") / cores
            if case not in best or rate > best[case][0]:
                best[case] = (rate, cores, report)
    return best


def ratios(reports):
    """{(problem, precision): [(GPUs, cores a GPU)]}, and what the CPU was."""
    found = [p for p in points(reports) if is_usual(p)]
    cores = rates_a_core(reports)
    if not found:
        raise ReportError("no figures of dslash-scaling on GPUs")
    found = [p for p in of_headline(found) if case_of(p) in cores]
    if not found:
        raise ReportError("no figures of the same operator on a CPU: run dslash-scaling --device cpu with the same options")
    drawn = {(problem, case[2]): [(p.gpus, p.gflops / p.gpus / cores[case][0]) for p in line]
             for (problem, case), line in lines(found).items()}
    if not drawn:
        drawn = {((p.scaling, p.lattice), p.precision): [(p.gpus, p.gflops / p.gpus / cores[case_of(p)][0])] for p in found}
    return drawn, {case_of(p): cores[case_of(p)] for p in found}


def draw(axes, drawn, cores):
    problems = sorted({problem for problem, _ in drawn})
    for (problem, precision), line in drawn.items():
        gpus, values = zip(*line)
        axes.plot(gpus, values, marker="o", linestyle=LINES[problems.index(problem) % len(LINES)], color=COLOUR[precision],
                  label=f"{precision}: {title_of(problem)}")
    ticks = sorted({gpus for line in drawn.values() for gpus, _ in line})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("GPUs")
    axes.set_ylabel("CPU cores a GPU, at equal speed")
    axes.set_ylim(bottom=0)
    axes.set_title(", ".join(sorted({f"a core of {n} of {report['machine'].get('cpu', 'a CPU')}"
                                     for _, n, report in cores.values()})), fontsize=8)
    axes.legend(fontsize=7)


def main():
    arguments = style.arguments(__doc__, "cores-per-gpu.png").parse_args()
    reports = loaded(arguments.report)
    drawn, cores = ratios(reports)
    figure, (axes,) = style.figure()
    figure.set_size_inches(7.0, 4.6)
    draw(axes, drawn, cores)
    style.finish(figure, [report for _, report in reports], arguments)


if __name__ == "__main__":
    style.main(main)
