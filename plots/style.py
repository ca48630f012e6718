# SPDX-License-Identifier: BSD-3-Clause
"""The style of the figures, and how they are written: under another name, then renamed."""

import argparse
import json
import os
import tempfile
import textwrap

import matplotlib

matplotlib.use("Agg")  # no display is needed
import matplotlib.pyplot as plt  # noqa: E402
from PIL import Image, PngImagePlugin  # noqa: E402  (matplotlib needs it too)

from colours import COLOURS  # noqa: E402
from report_file import ReportError, Reports, end_plainly, provenance  # noqa: E402

CYCLE = [COLOURS[name] for name in ("blue", "vermilion", "green", "purple", "orange", "sky")]


def apply():
    plt.rcParams.update({
        "figure.dpi": 120,
        "savefig.dpi": 120,
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#444444",
        "axes.linewidth": 0.8,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.prop_cycle": plt.cycler(color=CYCLE),
        "grid.color": "#E4E4E4",
        "grid.linewidth": 0.7,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "lines.linewidth": 1.6,
        "lines.markersize": 5.5,
        "xtick.color": "#444444",
        "ytick.color": "#444444",
    })


def plain(text):
    """Text of a report, for a label: a dollar sign in it is a dollar sign, and begins no formula."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("$", r"\$")


PANEL = 5.4, 4.0  # inches


def figure(panels=1, rows=1):
    """A figure with `panels` axes, side by side in each row."""
    apply()
    columns = panels // rows
    fig, axes = plt.subplots(rows, columns, figsize=(PANEL[0] * columns, PANEL[1] * rows), squeeze=False)
    return fig, list(axes.flat)


PAGE_WIDTH = 7.08  # inches: 850 pixels, as wide as a page shows a picture


def page(panels=1, columns=2, row=2.9):
    """A figure that a page shows as it is, with `panels` axes in rows of `row` inches."""
    apply()
    plt.rcParams.update({"axes.labelsize": 9, "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 8.5, "axes.titlesize": 10})
    rows = -(-panels // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(PAGE_WIDTH, row * rows), squeeze=False)
    for unused in list(axes.flat)[panels:]:
        unused.remove()
    return fig, list(axes.flat)[:panels]


def legend_above(axes, columns=2, **more):
    """A legend between title and panel, where it hides no curve."""
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=columns, borderaxespad=0.1, columnspacing=1.2, **more)
    entries = len(axes.get_legend_handles_labels()[0])
    axes.set_title(axes.get_title(loc="left"), pad=6 + 13 * -(-entries // columns))


def sign(fig, reports):
    """Writes under the figure what its data were made by."""
    width = round(15.5 * fig.get_figwidth())  # characters of 7 points
    lines = [line for report in reports for text in plain(provenance(report)).split("\n") for line in textwrap.wrap(text, width)]
    lines = list(dict.fromkeys(lines))
    if len(lines) > 4 and len(reports) > 1:
        lines = lines[:3] + [f"and {len(lines) - 3} lines more"]
    margin = (0.14 + 0.13 * len(lines)) / fig.get_figheight()
    fig.tight_layout(rect=(0, margin, 1, 1))
    fig.text(0.01, 0.015, "\n".join(lines), fontsize=7, color=COLOURS["grey"], va="bottom", linespacing=1.3)


def source_of(reports, table=None):
    """What a PNG says about its data: the revisions of the programs that made them, or the rows of a table."""
    made = PngImagePlugin.PngInfo()
    if table is not None:
        made.add_text("Table", json.dumps(table))
    made.add_text("Source", ", ".join(dict.fromkeys(str(report["build"].get("revision", "unknown")) for report in reports)) or "none")
    return made


def write(fig, path, force, reports=(), table=None):
    """Writes the figure to `path`, whole or not at all. An existing file stays unless `force`."""
    if path == "-":
        raise OSError(None, "expected the name of a file", path)
    if os.path.exists(path) and not force:
        raise OSError(None, "exists already (--force overwrites it)", path)
    folder, name = os.path.split(os.path.abspath(path))
    handle, beside = tempfile.mkstemp(prefix=f".{name}.", suffix=os.path.splitext(name)[1] or ".png", dir=folder)
    os.close(handle)
    try:
        fig.savefig(beside)
        if beside.endswith(".png"):  # 48 colours: a quarter of the bytes, and no difference that matters
            with Image.open(beside) as picture:
                colours = picture.convert("RGB").quantize(48, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            colours.save(beside, optimize=True, pnginfo=source_of(reports, table))
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside, 0o666 & ~umask)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def finish(fig, reports, options, top=None):
    """Signs the figure, writes it to --output and says so. `top`: where the panels end, below a legend."""
    sign(fig, reports)
    if top is not None:
        fig.subplots_adjust(top=top)
    write(fig, options.output, options.force, reports)
    print(options.output)


def arguments(description, output, several=True):
    """The command line that all figures share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("report", nargs="+" if several else None, action=Reports,
                        help="JSON report of a mini-app (--json), or a path into an archive (ARCHIVE.tar.xz/FOLDER)")
    parser.add_argument("-o", "--output", default=output, help="picture to write; its ending names the format: png, "
                        "pdf, svg (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="overwrite an existing picture")
    return parser


def main(draw):
    """Runs `draw`, and ends with one line and an exit status where it cannot."""
    def plainly():
        try:
            draw()
        except ValueError as error:  # matplotlib: a format it does not know
            raise ReportError(str(error)) from None

    end_plainly(plainly)
