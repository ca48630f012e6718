# SPDX-License-Identifier: BSD-3-Clause
"""Draws a report of plaquette-multigrid: how residuals fall, and where a solve spends its time.

usage: multigrid_levels.py REPORT.json PICTURE.png
"""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)


def name(solve):
    return f"{solve['solver']} {solve['precision']}, {solve['batch']} at once"


def draw_residuals(axes, solves):
    for solve in solves:
        axes.semilogy(range(len(solve["history"])), solve["history"], label=name(solve),
                      linestyle="-" if solve["solver"] == "multigrid" else "--")
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlabel("iteration")
    axes.set_ylabel("|b - M x| / |b|, first source")
    axes.legend(fontsize=8)


def draw_levels(axes, levels):
    labels = ["x".join(map(str, level["lattice"])) + f", n = {level['n']}" for level in levels]
    left = [0.0] * len(levels)
    for part, colour in [("smoothing", "tab:blue"), ("transfer", "tab:orange"), ("krylov", "tab:green")]:
        values = [level[part + "_seconds"] for level in levels]
        axes.barh(labels, values, left=left, color=colour, label=part)
        left = [a + b for a, b in zip(left, values)]
    axes.invert_yaxis()
    axes.set_xlabel("seconds of one solve, stages timed apart")
    axes.legend(fontsize=8)


def main(report, picture):
    with open(report, encoding="utf-8") as file:
        document = json.load(file)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    draw_residuals(left, document["solves"])
    draw_levels(right, document["solves"][0]["levels"])
    figure.text(0.01, 0.01, document["parameters"]["command"], fontsize=6)
    figure.tight_layout()
    figure.savefig(picture, dpi=120)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
