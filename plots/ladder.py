#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the rows that a run of a ladder has written: the time of each rung, and what it gains on the one below.

    plots/ladder.py out/book/dirac-cpu.md --output out/book/dirac-cpu.png
    plots/ladder.py --tables ladder/README.md --output docs/book/pictures    # one for each table of the page"""

import argparse
import os
import re
import sys

import style
from ladder_tables import tables_of
from colours import COLOURS


def rows_of(path):
    """The name of the quantity, and (rung, its name, time, gain or None) a row."""
    with open(path, encoding="utf-8") as file:
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in file if line.startswith("|")]
    gain = lines[0].index("times the rung below") if lines else 0
    rows = [(int(cells[0]), cells[1], float(cells[2]), None if cells[gain] == "-" else float(cells[gain]))
            for cells in lines if re.fullmatch(r"\d+", cells[0])]
    if not rows:
        raise ValueError(f"{path}: expected the table of a ladder, found no row of a rung; ./plaquette learn writes one")
    return lines[0][2], rows


def draw(quantity, rows, title):
    style.apply()
    fig, axes = style.plt.subplots(figsize=(7.0, 0.9 + 0.42 * len(rows)))
    rows = rows[::-1]
    places = range(len(rows))
    axes.hlines(places, min(row[2] for row in rows) / 2, [row[2] for row in rows], color=COLOURS["sky"], linewidth=2)
    axes.plot([row[2] for row in rows], places, "o", color=COLOURS["blue"])
    for place, (_, _, time, gain) in zip(places, rows):
        text = f"{time:.3g}" + (f"  ({gain:.2f} x)" if gain else "")
        axes.annotate(text, (time, place), xytext=(8, 0), textcoords="offset points", va="center")
    axes.set_xscale("log")
    axes.set_xlim(min(row[2] for row in rows) / 2, max(row[2] for row in rows) * 4)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_yticks(list(places), [f"{number}  {name}" for number, name, _, _ in rows])
    axes.grid(False, axis="y")
    axes.set_xlabel(f"{quantity} (in brackets: times the rung below)")
    axes.set_title(title)
    fig.tight_layout()
    return fig


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("table")
    parser.add_argument("--tables", action="store_true", help="of a page; --output is the folder of their pictures")
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    try:
        if options.tables:
            with open(options.table, encoding="utf-8") as file:
                for ladder, table in tables_of(file.read()).items():
                    style.write(draw(table["quantity"], table["rows"], table["title"]),
                                os.path.join(options.output, f"ladder-{ladder}.png"), force=True, table=table)
            return
        quantity, rows = rows_of(options.table)
    except (OSError, ValueError) as error:
        sys.exit(f"plots/ladder.py: {error}")
    style.write(draw(quantity, rows, os.path.splitext(os.path.basename(options.table))[0]), options.output, force=True)


if __name__ == "__main__":
    main()
