#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how long single messages take against their size, as dslash-scaling --latency has measured: between host and
GPU, pinned and pageable, from GPU to GPU, between ranks. The bandwidths follow from them."""

import style
from gpu_data import latencies, launches, loaded, transfers
from report_file import ReportError

#: Colour by what moves, line by how.
GROUPS = (("host_to_device", "blue"), ("device_to_host", "vermilion"), ("peer_copy", "green"), ("peer_store", "purple"),
          ("exchange", "orange"), ("mpi", "sky"), ("host_copy", "grey"))
LINES = {"pinned sync": "-", "pinned async": "--", "pageable sync": "-.", "pageable async": ":", "staged": "-",
         "mpi": "--", "nccl": ":"}


def look_of(kind):
    group, _, rest = kind.partition(" ")
    colour = dict(GROUPS).get(group, "grey")
    return style.COLOURS[colour], LINES.get(rest, "-")


def shown_kinds(found):
    """Without the pairs of GPUs beyond the first: they are alike, or else placement is what to look at."""
    shown, pairs = [], set()
    for kind in found:
        group = kind.split(" ")[0]
        if group in ("peer_copy", "peer_store"):
            if group in pairs:
                continue
            pairs.add(group)
        shown.append(kind)
    return shown


def draw(time_axes, rate_axes, section, path):
    found = transfers(section, path)
    for kind in shown_kinds(found):
        colour, line = look_of(kind)
        sizes, seconds = zip(*found[kind])
        time_axes.plot(sizes, [1e6 * s for s in seconds], line, color=colour, label=kind.replace("_", " "), linewidth=1.2)
        rate_axes.plot(sizes, [1e-9 * b / s if s > 0 else float("nan") for b, s in found[kind]], line, color=colour,
                       linewidth=1.2)
    for kind, seconds in launches(section, path).items():
        time_axes.axhline(1e6 * seconds, color=style.COLOURS["grey"], linewidth=0.7, linestyle=(0, (4, 3)))
        time_axes.annotate(f"launch: {kind}", (1.0, 1e6 * seconds), xycoords=("axes fraction", "data"), ha="right",
                           va="bottom", fontsize=6.5, color=style.COLOURS["grey"])
    for axes in (time_axes, rate_axes):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("bytes")
        ticks = [8, 128, 2048, 32768, 2**19, 2**23, 2**27]
        axes.set_xticks(ticks, ["8", "128", "2K", "32K", "512K", "8M", "128M"])
        axes.minorticks_off()
    time_axes.set_ylabel("µs a transfer")
    time_axes.set_title("Latency")
    time_axes.legend(fontsize=6.5, loc="upper left")
    rate_axes.set_ylabel("GB/s")
    rate_axes.set_title("Bandwidth")


def main():
    arguments = style.arguments(__doc__, "latency.png").parse_args()
    chosen = latencies(loaded(arguments.report))
    if chosen is None:
        raise ReportError("no report with latencies: run dslash-scaling --latency")
    path, section, report = chosen
    figure, (left, right) = style.figure(panels=2)
    figure.set_figheight(5.0)
    draw(left, right, section, path)
    style.finish(figure, [report], arguments)


if __name__ == "__main__":
    style.main(main)
