#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws planes that nodal-dg --plane wrote at equal steps of time, one after the other, as a GIF or WebP that moves.
All frames have one scale of colours."""

import argparse
import io
import os

import numpy as np
from PIL import Image

import style
from dg_picture import plane_of


def frames_of(paths, field, last_time, output=""):
    planes = [plane_of(path, field) for path in paths]
    largest = np.nanpercentile(np.abs([image for image, *_ in planes]), 99.8) or 1.0  # a source's own pixel is brighter
    style.apply()
    for number, (image, sides, names, plane) in enumerate(planes, 1):
        figure, axes = style.plt.subplots(figsize=(4.2, 3.6))
        drawn = axes.imshow(image, origin="lower", extent=sides, cmap="RdBu_r", vmin=-largest, vmax=largest)
        axes.grid(False)
        axes.set(xlabel=f"{names[0]}, units of the mesh", ylabel=f"{names[1]}, units of the mesh", title=f"{field}, {plane}, t = {last_time * number / len(planes):.2f}")
        figure.colorbar(drawn, ax=axes, shrink=0.8, extend="both")
        figure.tight_layout()
        bytes_of_frame = io.BytesIO()
        figure.savefig(bytes_of_frame, format="png", dpi=90)
        style.plt.close(figure)
        frame = Image.open(bytes_of_frame).convert("RGB")
        yield frame if output.endswith(".webp") else frame.quantize(256, dither=Image.Dither.NONE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plane", nargs="+", help="files of nodal-dg --plane, in order of time")
    parser.add_argument("--last-time", type=float, required=True, help="of the last plane; the first is one step after 0")
    parser.add_argument("--field", default="Ez", help="default: Ez")
    parser.add_argument("--output", default="dg_wave.gif")
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    options = parser.parse_args()
    if options.output == "-":
        raise OSError(None, "expected the name of a file", "-")
    if os.path.exists(options.output) and not options.force:
        raise OSError(None, "exists already (--force overwrites it)", options.output)
    first, *rest = frames_of(options.plane, options.field, options.last_time, options.output)
    more = {"quality": 50, "method": 6} if options.output.endswith(".webp") else {"optimize": True}
    first.save(options.output, save_all=True, append_images=rest, duration=2400 // (len(rest) + 1), loop=0, **more)
    print(options.output)


if __name__ == "__main__":
    style.main(main)
