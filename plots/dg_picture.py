#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws one field on a plane, from the file that nodal-dg --plane writes."""

import argparse

import numpy as np

import style
from report_file import ReportError, load


def plane_of(path, field):
    """Values as an image, with its sides: (image, (left, right, bottom, top), names of the axes, title)."""
    try:
        with open(path, encoding="ascii") as file:
            names, title = file.readline().split()[1:], file.readline()[2:].strip()
            numbers = np.loadtxt(file, ndmin=2)
    except (OSError, ValueError) as problem:
        raise ReportError(f"{path}: expected a plane of nodal-dg, found otherwise ({problem})") from None
    if field not in names[2:]:
        raise ReportError(f"{path}: expected a field among {', '.join(names[2:])}, found {field}")
    try:  # "plane z = 0, 400 x 400 pixels from -2, -1.5 to 2, 1.5"
        pixels = int(title.split(",")[1].split()[0])
        low = [float(x) for x in title.split(" from ")[1].split(" to ")[0].split(",")]
        high = [float(x) for x in title.split(" to ")[1].split(",")]
    except (IndexError, ValueError):
        raise ReportError(f"{path}: expected the second line of a plane of nodal-dg, found {title!r}") from None
    image = np.full((pixels, pixels), np.nan)
    place = [np.floor((numbers[:, i] - low[i]) / (high[i] - low[i]) * pixels).astype(int).clip(0, pixels - 1)
             for i in (0, 1)]
    image[place[1], place[0]] = numbers[:, names.index(field)]
    return image, (low[0], high[0], low[1], high[1]), names[:2], title.split(",")[0]


def draw(axes, path, field):
    image, sides, names, title = plane_of(path, field)
    largest = np.nanmax(np.abs(image)) or 1.0
    drawn = axes.imshow(image, origin="lower", extent=sides, cmap="RdBu_r", vmin=-largest, vmax=largest,
                        interpolation="nearest")
    axes.set_facecolor("#888888")
    axes.grid(False)
    axes.set_xlabel(f"{names[0]}, units of the mesh")
    axes.set_ylabel(f"{names[1]}, units of the mesh")
    axes.set_title(f"{field} on the {title}")
    axes.figure.colorbar(drawn, ax=axes, shrink=0.8, label=f"{field}, units of the pulse")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plane", help="file of nodal-dg --plane")
    parser.add_argument("--report", help="the run's --json, for the line under the picture")
    parser.add_argument("--field", default="p", help="default: p")
    parser.add_argument("--output", default="dg_picture.png")
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    arguments = parser.parse_args()
    figure, (axes,) = style.figure(panels=1)
    draw(axes, arguments.plane, arguments.field)
    if arguments.report:
        style.finish(figure, [load(arguments.report)], arguments)


if __name__ == "__main__":
    style.main(main)
