#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how near the timed operators of the reports come to what their machine can do at most. Shown are their
fewest bytes a second as a share of the copy bandwidth, and their standard flops a second as a share of the peak of
fused multiply-adds. Both are measured in the same run. One of the two is the limit of an operator; what lies beyond
100% of a copy came from a cache."""

import style
from report_file import ReportError, load, number

MOST_BARS = 24


def label(figure):
    lattice = figure.get("lattice", [])
    words = [str(figure.get("operator", "operator")), str(figure.get("layout", "")), str(figure.get("precision", "")),
             f"{figure.get('reconstruct', '?')} reals, N = {figure.get('rhs', '?')}",
             "x".join(str(length) for length in lattice) if isinstance(lattice, list) else "",
             f"GPU {figure.get('protocol', '')}" if figure.get("device") == "gpu"
             else f"{figure.get('ranks', '?')} x {figure.get('threads', '?')}"]
    return style.plain(", ".join(word for word in words if word))


def shares(figures):
    """(label, per cent of copy, per cent of the peak or None) of each figure; `figures` is a list of (place, figure)."""
    rows = []
    for place, figure in figures:
        copy = 100 * number(figure.get("fraction_of_copy", "nan"), f"{place}.fraction_of_copy")
        peak = figure.get("fraction_of_fma_peak")
        peak = None if peak is None else 100 * number(peak, f"{place}.fraction_of_fma_peak")
        rows.append((label(figure), copy, peak))
    return rows


def height(figures):
    """Inches that the bars want."""
    return 1.3 + 0.42 * len(figures)


def draw(axes, figures):
    """Two bars a figure, the first figure on top."""
    if not figures:
        raise ReportError("no figures of operators")
    rows = shares(figures)
    places = range(len(rows))
    axes.barh([p - 0.19 for p in places], [row[1] for row in rows], 0.36, color=style.COLOURS["blue"],
              label="copy bandwidth (fewest bytes)")
    with_peak = [(p, row[2]) for p, row in zip(places, rows) if row[2] is not None]
    axes.barh([p + 0.19 for p, _ in with_peak], [peak for _, peak in with_peak], 0.36, color=style.COLOURS["orange"],
              label="peak of fused multiply-adds")
    for bars in axes.containers:
        axes.bar_label(bars, fmt="%.0f%%", fontsize=7, padding=2)
    axes.axvline(100, color=style.COLOURS["grey"], linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yticks(list(places), [row[0] for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlabel("% of what the same run measures")
    axes.set_title("Operators and their limits")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.06), ncols=2)


def figures_of(reports):
    """(place, figure) of all reports, a list of (path, report)."""
    return [(f"{path}: figures[{n}]", figure) for path, report in reports for n, figure in enumerate(report["figures"])]


def main():
    arguments = style.arguments(__doc__, "operators.png").parse_args()
    reports = [(path, load(path)) for path in arguments.report]
    figures = figures_of(reports)[:MOST_BARS]
    figure, (axes,) = style.figure()
    figure.set_size_inches(8.0, height(figures))
    draw(axes, figures)
    style.finish(figure, [report for _, report in reports], arguments)


if __name__ == "__main__":
    style.main(main)
