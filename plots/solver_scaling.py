#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how solves scale over GPUs (or ranks), from reports of mixed-precision-solver: TFLOP/s of BiCGstab in each
precision mode, weak (figure 4 of Babich, Clark, Joo, SC10) or strong (figures 5 and 6), or the parallel efficiency
of both. Solid: halo overlapped with the interior; dashed: not. Points are means over the right-hand sides, which
were solved one after the other; bars reach from the slowest to the fastest. The CPU of the host is drawn too, where
it was run."""

import collections
import os

import style
from gpu_data import text_of_extents
from matplotlib.lines import Line2D
from report_file import ReportError, load, number

MODES = ("single", "single-half", "double", "double-half", "double-single")
COLOUR = dict(zip(MODES, (style.COLOURS[name] for name in ("vermilion", "green", "blue", "purple", "orange"))))
MARKER = dict(zip(MODES, "osDv^"))

FIGURES = ("weak", "strong", "efficiency")

#: A run: GFLOP/s and seconds of each batch of right-hand sides.
Point = collections.namedtuple("Point", "device ranks threads lattice local gauge mode overlap rhs gflops seconds iterations "
                               "report path")


def point(report, path):
    """The timed solve of a report."""
    try:
        parameters, solve = report["parameters"], report["solves"][0]
        batches = solve["batches"]
        return Point(parameters["device"], int(report["machine"]["ranks"]), int(report["machine"]["threads"]),
                     tuple(parameters["lattice"]), tuple(n // g for n, g in zip(parameters["lattice"], parameters["grid"])),
                     str(parameters["gauge"]), solve["precision"], str(parameters["overlap"]), len(batches[0]["columns"]),
                     [number(batch["gflops"], path) for batch in batches],
                     [number(batch["seconds"]["median"], path) for batch in batches], int(solve["iterations"]), report, path)
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        raise ReportError(f"{path}: expected a solve as the schema has it, found {problem!r}") from None


def verified_points(reports):
    """Those verified solves among (path, report) pairs; of the same run the last one."""
    found = {}
    for path, report in reports:
        if report["app"] != "mixed-precision-solver" or not report["solves"]:
            continue
        p = point(report, path)
        if report["verified"] is True:
            found[(p.device, p.ranks, p.threads, p.lattice, p.local, p.gauge, p.mode, p.overlap, p.rhs)] = p
    return list(found.values())


def points(paths):
    """The same for files; refused where there are none."""
    paths = list(paths)
    found = verified_points((path, load(path)) for path in paths)
    if not found:
        names = ", ".join(os.path.basename(path) for path in paths)
        raise ReportError(f"{names}: no verified solves of mixed-precision-solver")
    return found


def mean(values):
    return sum(values) / len(values)


def rate(p):
    """GFLOP/s of all batches together: the flops of all over the seconds of all."""
    return sum(g * s for g, s in zip(p.gflops, p.seconds)) / sum(p.seconds)


def scaled_device(found):
    """What is counted along the axis: GPUs where there are any."""
    return "gpu" if any(p.device == "gpu" for p in found) else "cpu"


def lines(found):
    """{(kind, extents, gauge): {(mode, overlap): points by ranks}}, kind weak or strong, of those with several numbers of
    ranks. One rank has nothing to overlap: its point begins both lines."""
    device = scaled_device(found)
    result = {}
    for kind, extents_of in (("weak", lambda p: tuple(sorted(p.local))), ("strong", lambda p: p.lattice)):
        for p in found:
            if p.device == device:
                result.setdefault((kind, extents_of(p), p.gauge), {}).setdefault((p.mode, p.overlap), {})[p.ranks] = p
    lines_of = {}
    for problem, series in result.items():
        alone = {mode: by_ranks[1] for (mode, _), by_ranks in series.items() if 1 in by_ranks}
        kept = {}
        for (mode, overlap), by_ranks in series.items():
            line = [by_ranks[n] for n in sorted(by_ranks)]
            if line[0].ranks > 1 and mode in alone:
                line.insert(0, alone[mode])
            if len(line) > 1:
                kept[(mode, overlap)] = line
        if kept:
            lines_of[problem] = kept
    return lines_of


def efficiency(line):
    """GFLOP/s a rank over that of the line's first point."""
    base = rate(line[0]) / line[0].ranks
    return [rate(p) / p.ranks / base if base > 0 else float("nan") for p in line]


def look(overlap):
    """The point of one rank is that of the solid line."""
    if overlap == "on":
        return {"linestyle": "-", "zorder": 3}
    return {"linestyle": "--", "markerfacecolor": "white", "linewidth": 1, "zorder": 2}


def over_ranks(axes, found, device):
    counts = sorted({p.ranks for p in found})
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_xlabel("GPUs" if device == "gpu" else "ranks")
    axes.set_ylim(bottom=0)


def title_of(problem, device):
    kind, extents, gauge = problem
    each = f" a {'GPU' if device == 'gpu' else 'rank'}" if kind == "weak" else ""
    return f"{kind}, {text_of_extents(extents)}{each}, {style.plain(os.path.basename(gauge))}"


def draw_rates(axes, series, cpu):
    for (mode, overlap), line in series.items():
        ranks, rates = [p.ranks for p in line], [1e-3 * rate(p) for p in line]
        low = [max(0.0, r - 1e-3 * min(p.gflops)) for r, p in zip(rates, line)]
        high = [max(0.0, 1e-3 * max(p.gflops) - r) for r, p in zip(rates, line)]
        axes.errorbar(ranks, rates, yerr=[low, high], color=COLOUR[mode], marker=MARKER[mode], capsize=2, **look(overlap))
        if overlap == "on":
            axes.plot(ranks, [rates[0] * n / ranks[0] for n in ranks], ":", color=COLOUR[mode], linewidth=0.8)
    for p in cpu:
        axes.axhline(1e-3 * rate(p), color=COLOUR[p.mode], linewidth=0.8, linestyle="-.")
    if cpu:
        best = max(rate(p) for p in cpu)
        axes.annotate(f"CPU, {cpu[0].ranks * cpu[0].threads} cores: {best:.0f} GFLOP/s at most", (0.98, 1e-3 * best),
                      xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7)
    axes.set_ylabel("TFLOP/s")


def draw_efficiency(axes, series):
    axes.axhline(100, color=style.COLOURS["grey"], linewidth=0.8, linestyle=":")
    for (mode, overlap), line in series.items():
        axes.plot([p.ranks for p in line], [100 * e for e in efficiency(line)], color=COLOUR[mode], marker=MARKER[mode],
                  **look(overlap))
    axes.set_ylabel("parallel efficiency, %")
    axes.set_ylim(top=max(105.0, axes.get_ylim()[1]))


def legend(figure, problems, with_cpu):
    grey = style.COLOURS["grey"]
    modes = [mode for mode in MODES if any(mode == m for series in problems.values() for m, _ in series)]
    entries = [Line2D([], [], color=COLOUR[mode], marker=MARKER[mode], label=mode) for mode in modes]
    entries += [Line2D([], [], color=grey, linestyle="-", label="overlap on"),
                Line2D([], [], color=grey, linestyle="--", label="overlap off"),
                Line2D([], [], color=grey, linestyle=":", label="ideal")]
    if with_cpu:
        entries.append(Line2D([], [], color=grey, linestyle="-.", label="CPU"))
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0.0, 0.95),
                  ncols=len(entries) if len(problems) > 1 else 4, fontsize=8)


def problems_of(found, figure):
    """The lines of one figure, in order."""
    return {problem: series for problem, series in sorted(lines(found).items()) if figure in ("efficiency", problem[0])}


def draw(found, kind):
    """(figure, points on it): "weak", "strong" or "efficiency", a panel a problem."""
    device = scaled_device(found)
    problems = problems_of(found, kind)
    if not problems:
        raise ReportError(f"no lattice was solved on several numbers of ranks with {kind} scaling")
    figure, panels = style.figure(len(problems))
    figure.set_figheight(4.8)
    drawn, with_cpu = [], False
    for axes, (problem, series) in zip(panels, problems.items()):
        here = [p for line in series.values() for p in line]
        drawn += here
        if kind == "efficiency":
            draw_efficiency(axes, series)
        else:
            cpu = [p for p in found if device == "gpu" and p.device == "cpu" and problem[0] == "strong"
                   and p.lattice == problem[1] and p.gauge == problem[2]]
            draw_rates(axes, series, cpu)
            drawn += cpu
            with_cpu = with_cpu or bool(cpu)
        over_ranks(axes, here, device)
        axes.set_title(title_of(problem, device), fontsize=9)
    most = max(len(p.gflops) for p in drawn)
    figure.suptitle(f"{drawn[0].report['solves'][0]['solver']}, {most} right-hand sides, {drawn[0].rhs} at a time", x=0.01,
                    ha="left", fontsize=9)
    legend(figure, problems, with_cpu)
    return figure, drawn


def main():
    parser = style.arguments(__doc__, "solver-scaling.png")
    parser.add_argument("--figure", choices=FIGURES, default="strong", help="default: %(default)s")
    arguments = parser.parse_args()
    figure, drawn = draw(points(arguments.report), arguments.figure)
    style.finish(figure, [p.report for p in drawn], arguments, top=0.78)


if __name__ == "__main__":
    style.main(main)
