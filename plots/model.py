#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what `plaquette-dslash-scaling --dryrun` expects of an operator on several GPUs (docs/estimates.md) and what was
measured, for every lattice, and what it expects of more of them, up to 1024. The table has the distance of each point."""

import re
import subprocess

import style
from gpu_data import PRECISIONS, case_of, headline, is_usual, loaded, of_headline, points, problem_of, title_of, with_shared
from matplotlib.lines import Line2D
from report_file import ReportError

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))
COUNTS = [2 ** n for n in range(11)]
#: A row of the program's table: operator, layout, precision, reals, right-hand sides; after flops, bytes, seconds: GFLOP/s.
ROW = re.compile(r"^(\S+) +(even-odd|full) +(double|single|half) +(\d+) +(\d+) +\S+ +\S+ \S+ +\S+ +(\S+) ", re.MULTILINE)


def card_of(found):
    """What --device gpu: calls the GPUs of these points."""
    names = {str(p.report["machine"].get("gpu", "")) for p in found}
    cards = {card for card in ("H100", "H200") if any(card in name for name in names)}
    if len(cards) != 1:
        raise ReportError(f"--card: expected reports of one card that is known, H100 or H200, found {', '.join(sorted(names))}")
    return cards.pop()


def predicted(options, problem, gpus, found):
    """{case: GFLOP/s} of a problem on `gpus` GPUs; nothing where it cannot be cut into that many boxes."""
    operators, precisions, reals, rhs = (",".join(dict.fromkeys(str(p[n]) for p in map(case_of, found))) for n in (0, 2, 3, 4))
    lattice = "--local-lattice" if problem[0] == "weak" else "--lattice"
    command = [options.program, "--operator", operators, "--precision", precisions, "--reconstruct", reals, "--rhs", rhs, lattice,
               "x".join(map(str, problem[1])), "--dryrun", "--ranks", str(gpus), "--device", "gpu:" + options.card]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as problem_of_file:
        raise ReportError(f"--program: {options.program} cannot be started: {problem_of_file.strerror}") from None
    if done.returncode != 0 and "no process grid" not in done.stderr:
        raise ReportError(f"--program: {options.program} ended with {done.returncode}: {done.stderr.strip() or 'no message'}")
    return {(operator, layout, precision, int(reals), int(rhs)): float(gflops)
            for operator, layout, precision, reals, rhs, gflops in ROW.findall(done.stdout)}


def draw(figure, options, found):
    """Above the GPUs that there were, below up to 1024. Returns the number of problems and [(point, GFLOP/s)]."""
    usual = with_shared([p for p in found if is_usual(p)])
    problems = sorted({problem_of(p) for p in usual if p.gpus > 1})
    if not problems:
        raise ReportError("no lattice was timed on several GPUs with the usual settings")
    shown = sorted({case_of(p) for p in of_headline(usual)}, key=lambda case: PRECISIONS.index(case[2]))
    axes, pairs = figure.subplots(2, len(problems), squeeze=False), []
    for column, problem in enumerate(problems):
        here = [p for p in usual if problem_of(p) == problem]
        expected = {n: predicted(options, problem, n, here) for n in COUNTS}
        pairs += [(p, expected[p.gpus][case_of(p)]) for p in here if case_of(p) in expected.get(p.gpus, {})]
        for axis, most in ((axes[0][column], max(p.gpus for p in usual)), (axes[1][column], COUNTS[-1])):
            for case in shown:
                gpus = [n for n in COUNTS if n <= most and case in expected[n]]
                measured = [p for p in here if case_of(p) == case]
                axis.plot(gpus, [1e-3 * expected[n][case] for n in gpus], "-", color=COLOUR[case[2]], linewidth=1.3)
                axis.plot([p.gpus for p in measured], [1e-3 * p.gflops for p in measured], "o", color=COLOUR[case[2]])
            axis.set_xscale("log", base=2)
            axis.set_yscale("log", base=2)
            ticks = [n for n in COUNTS if n <= most and (most <= 16 or n in (1, 4, 16, 64, 256, 1024))]
            axis.set_xticks(ticks, [str(n) for n in ticks])
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.minorticks_off()
            axis.set_xlabel("GPUs")
            axis.set_title(title_of(problem), fontsize=9)
    if not pairs:
        raise ReportError(f"--program: {options.program} expects nothing of the cases that were timed")
    axes[0][0].set_ylabel("TFLOP/s, measured and expected")
    axes[1][0].set_ylabel("TFLOP/s, expected")
    entries = [Line2D([], [], color=COLOUR[case[2]], label=case[2]) for case in shown]
    entries += [Line2D([], [], color=style.COLOURS["grey"], label="--dryrun"),
                Line2D([], [], color=style.COLOURS["grey"], marker="o", linestyle="", label="measured")]
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0.0, 0.945), ncols=len(entries), fontsize=8)
    return len(problems), pairs


def print_table(pairs):
    """Each measurement, what was expected, and how far apart the two are."""
    print(f"{'lattice':<22} {'GPUs':>4} {'operator':<13} {'prec.':<7} {'measured':>9} {'expected':>9}   [GFLOP/s]")
    for p, gflops in pairs:
        print(f"{title_of(problem_of(p)):<22} {p.gpus:>4} {p.operator:<13} {p.precision:<7} {p.gflops:>9.0f} {gflops:>9.0f} "
              f"{100 * (gflops / p.gflops - 1):>+6.1f}%")
    worst = max((abs(gflops / p.gflops - 1) for p, gflops in pairs), default=float("nan"))
    print(f"--dryrun is within {100 * worst:.1f}% of what was measured")


def main():
    arguments = style.arguments(__doc__, "model.png")
    arguments.add_argument("--program", required=True, help="plaquette-dslash-scaling, of a build or a bundle")
    arguments.add_argument("--card", help="H100, H200 or a report of bench (default: that of the reports)")
    options = arguments.parse_args()
    found = points(loaded(options.report))
    if not found:
        raise ReportError("no figures of dslash-scaling on GPUs")
    options.card = options.card or card_of(found)
    style.apply()
    figure = style.plt.figure()
    panels, pairs = draw(figure, options, found)
    figure.set_size_inches(max(9.5, 2.9 * panels), 6.4)
    operator, layout, reals, rhs = headline([p for p in found if is_usual(p)])
    figure.suptitle(f"{operator}, {layout}, {reals} reals a link, N = {rhs}, {options.card}", x=0.01, ha="left", fontsize=7.5)
    style.sign(figure, [p.report for p in found])
    figure.subplots_adjust(top=0.86)
    style.write(figure, options.output, options.force)
    print_table(pairs)
    print(options.output)


if __name__ == "__main__":
    style.main(main)
