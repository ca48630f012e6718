#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws figure 2 of Clark et al. (SC16), and batches: the speed of multigrid's coarse operator against the length of its
lattice, as kernel_bench coarse ladder has measured. A line is a step of parallelisation, a panel a number of components."""

import json

import style
from report_file import ReportError

STEPS = {"a site": "a: a thread a site", "b row": "b: a thread a row", "c nine": "c: nine matrices side by side",
         "d split": "d: dot products split", "e 16 bytes": "e: 16 bytes a load", "f tiles": "f: tiles, loads first",
         "f 16 bit": "f, matrices in 16 bits"}
BATCHES = {("batch", 12): "12, fp32", ("batch 16 bit", 12): "12, 16 bits", ("f tiles", 1): "1, fp32",
           ("f 16 bit", 1): "1, 16 bits"}


def rows_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return found, [row for row in found["rows"] if row["verified"]]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise ReportError(f"{path}: expected JSON of `kernel_bench coarse ladder json=FILE`, found {problem}") from problem


def line_of(rows, kernel, columns, n):
    points = sorted((int(row["lattice"].split("x")[0]), row["gflops"]) for row in rows
                    if (row["kernel"], row["columns"], row["n"]) == (kernel, columns, n))
    return [p[0] for p in points], [p[1] for p in points]


def main():
    arguments = style.arguments(__doc__, "coarse_ladder.png").parse_args()
    found, rows = rows_of(arguments.report[0])
    sizes = sorted({row["n"] for row in rows})
    if not sizes:
        raise ReportError(f"{arguments.report[0]}: expected verified rows, found none")
    figure, panels = style.figure(panels=len(sizes) + 1)
    for axes, n in zip(panels, sizes):
        for kernel, label in STEPS.items():
            axes.plot(*line_of(rows, kernel, 1, n), "o-", label=label,
                      color=style.COLOURS["grey"] if kernel == "f 16 bit" else None)
    for (kernel, columns), label in BATCHES.items():
        panels[-1].plot(*line_of(rows, kernel, columns, sizes[-1]), "o-", label=label)
    titles = [f"One right-hand side, {n // 2} null vectors" for n in sizes]
    for axes, title in zip(panels, [*titles, f"Batches: right-hand sides, matrices; {sizes[-1] // 2} null vectors"]):
        axes.set_yscale("log")
        axes.set_xlabel("length of the coarse lattice")
        axes.set_ylabel("GFLOP/s")
        axes.set_title(title)
        axes.set_xticks(sorted({int(row["lattice"].split("x")[0]) for row in rows}))
        axes.legend(fontsize=7)
    figure.text(0.01, 0.01, style.plain(f"{found.get('device', '')}, copy {found.get('copy_gbytes_per_s', 0):.0f} GB/s"),
                fontsize=7, color=style.COLOURS["grey"])
    style.write(figure, arguments.output, arguments.force)
    print(arguments.output)


if __name__ == "__main__":
    style.main(main)
