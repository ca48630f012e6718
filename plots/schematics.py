#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures of docs/book that need no run: a hop, blocks and lanes, the block LU factorisation, halo and
overlap, and what reliable updates do to residuals (conjugate gradients on a small matrix, computed here)."""

import argparse
import os

import numpy as np

import style
from report_file import ReportError

BLUE, RED, GREEN, ORANGE, SKY, GREY = (style.COLOURS[n] for n in ("blue", "vermilion", "green", "orange", "sky", "grey"))


def canvas(panels, row):
    figure, axes = style.page(panels=panels, columns=panels, row=row)
    for one in axes:
        one.set_axis_off()
        one.set_aspect("equal")
    return figure, axes


def box(axes, x, y, width, height, colour, text="", size=9, **more):
    axes.add_patch(style.plt.Rectangle((x, y), width, height, facecolor=colour, edgecolor="white", linewidth=1.2, **more))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=size)


def arrow(axes, start, end, colour, **more):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "shrinkA": 7, "shrinkB": 7, **more})


def draw_hop():
    figure, (axes,) = canvas(1, 3.2)
    for x in range(-3, 4):
        axes.plot([x, x], [-1.4, 1.4], color="#DDDDDD", zorder=0)
        for y in range(-1, 2):
            axes.plot(x, y, "o", color=BLUE if (x + y) % 2 == 0 else "white", markeredgecolor=BLUE, markersize=9)
    for y in range(-1, 2):
        axes.plot([-3.4, 3.4], [y, y], color="#DDDDDD", zorder=0)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        arrow(axes, (x, y), (0, 0), RED)
    for x, y, text, side in ((0.5, 0.12, "$U_\\mu(x)$", "center"), (-0.5, 0.12, "$U_\\mu(x-\\mu)^+$", "center"),
                             (0.08, 0.5, "$U_\\nu(x)$", "left"), (0.08, -0.5, "$U_\\nu(x-\\nu)^+$", "left")):
        axes.text(x, y, text, ha=side, va="bottom" if side == "center" else "center", fontsize=9.5, color=RED)
    for x, y, text in ((0.1, -0.13, "x"), (1.1, -0.13, "x + μ"), (-0.9, -0.13, "x − μ"), (0.1, 1.13, "x + ν"), (0.1, -1.13, "x − ν")):
        axes.text(x, y, text, fontsize=9, va="center")
    axes.text(2.05, 1.32, "filled: even sites, open: odd ones", fontsize=9, ha="center")
    axes.text(2.05, 0.35, "from x + μ:  (1 − γ$_\\mu$) U$_\\mu$(x) ψ", fontsize=9, ha="center", color=RED)
    axes.text(-2.25, 0.35, "from x − μ:  (1 + γ$_\\mu$) U$^+$ ψ", fontsize=9, ha="center", color=RED)
    axes.set(xlim=(-3.5, 3.5), ylim=(-1.5, 1.5))
    return figure


def draw_lanes():
    colours = (SKY, ORANGE, GREEN, "#E9B5D0")
    figure, (left, right) = canvas(2, 3.1)
    for x in range(8):
        for y in range(8):
            lane = x // 4 + 2 * (y // 4)
            chosen = (x % 4, y % 4) == (1, 2)
            mark = {(3, 1): "•", (0, 1): "◦"}.get((x % 4, y % 4), str(lane) if chosen else "")
            box(left, x, y, 1, 1, colours[lane], mark, alpha=1 if mark else 0.35)
    left.set_title("8 × 8 sites, cut into W = 4 boxes")
    left.text(4, -0.6, "three blocks: sites 0 to 3, • and ◦", ha="center", fontsize=9)
    left.set(xlim=(-0.2, 8.2), ylim=(-1.1, 8.2))
    right.set_title("a block fills a register")
    for row, text, lanes in ((6.1, "inside a box a step leads to another block", (0, 1, 2, 3)), (3.1, "block ◦ as it is stored", (0, 1, 2, 3)),
                             (0.2, "", (1, 0, 3, 2))):
        for place, lane in enumerate(lanes):
            box(right, 2 * place, row, 2, 0.9, colours[lane], f"lane {lane}")
        right.text(0, row + 1.15, text, fontsize=9)
    for place, lane in enumerate((1, 0, 3, 2)):
        arrow(right, (2 * lane + 1, 3.15), (2 * place + 1, 1.05), GREY, linewidth=1, shrinkA=0, shrinkB=0)
    right.text(0, -0.6, "as a step from • in +x takes it", fontsize=9)
    right.set(xlim=(-0.2, 8.2), ylim=(-1.1, 8.2))
    return figure


def draw_schur():
    figure, (axes,) = canvas(1, 1.75)
    one, zero = "1", ""
    blocks = ((("$A_{ee}$", SKY), ("$-\\frac{1}{2}D_{eo}$", ORANGE), ("$-\\frac{1}{2}D_{oe}$", ORANGE), ("$A_{oo}$", SKY)),
              ((one, "#DDDDDD"), ("$-\\frac{1}{2}D_{eo}A_{oo}^{-1}$", ORANGE), (zero, "#F6F6F6"), (one, "#DDDDDD")),
              (("$\\hat{M}$", "#E9B5D0"), (zero, "#F6F6F6"), (zero, "#F6F6F6"), ("$A_{oo}$", SKY)),
              ((one, "#DDDDDD"), (zero, "#F6F6F6"), ("$-\\frac{1}{2}A_{oo}^{-1}D_{oe}$", ORANGE), (one, "#DDDDDD")))
    for n, (matrix, name) in enumerate(zip(blocks, ("M", "takes odd to even", "blocks that are solved", "takes even to odd"))):
        for place, (text, colour) in enumerate(matrix):
            box(axes, 5 * n + 2 * (place % 2), 2 - 2 * (place // 2), 2, 2, colour, text, size=8 if "-1" in text else 10)
        axes.text(5 * n + 2, -0.35, name, ha="center", va="top", fontsize=9)
        if n:
            axes.text(5 * n - 0.5, 2, "=" if n == 1 else "·", ha="center", va="center", fontsize=14)
    axes.set(xlim=(-0.1, 19.2), ylim=(-1, 4.1))
    return figure


def draw_halo():
    figure, (left, right) = style.page(panels=2, row=2.9)
    left.set_axis_off(), left.set_aspect("equal")
    for x in range(-1, 7):
        for y in range(-1, 7):
            outside = (x in (-1, 6)) + (y in (-1, 6))
            face = x in (0, 5) or y in (0, 5)
            if outside < 2:
                box(left, x, y, 1, 1, "#DDDDDD" if outside else ORANGE if face else SKY)
    arrow(left, (8.4, 2.5), (6.6, 2.5), GREY), arrow(left, (5.6, 3.5), (8.4, 3.5), ORANGE)
    for y, text in ((3, "interior"), (5.5, "faces: sent"), (6.5, "halo: received")):
        left.text(3, y, text, ha="center", va="center", fontsize=9)
    left.text(8.5, 3.0, "next\nrank", ha="left", va="center", fontsize=9)
    left.set(xlim=(-1.2, 10), ylim=(-1.2, 7.2))
    left.set_title("the box of a rank")
    for row, title, interior, message in ((1.3, "large box", 5.0, 3.0), (0, "small box", 1.2, 2.6)):
        right.text(0, row + 0.83, title, fontsize=9)
        ready = max(0.6 + interior, 0.6 + message)
        for place, begin, length, colour, text in (
                (0.4, 0, 0.6, ORANGE, "pack"), (0.4, 0.6, interior, SKY, "interior"), (0.4, ready, 0.9, GREEN, "faces"),
                (0, 0.6, message, "#DDDDDD", "message")):
            right.add_patch(style.plt.Rectangle((begin, row + place), length, 0.36, facecolor=colour, edgecolor="white"))
            right.text(begin + length / 2, row + place + 0.18, text, ha="center", va="center", fontsize=8.5)
        if message > interior:
            right.text(0.6 + (interior + message) / 2, row + 0.58, "waits", ha="center", va="center", fontsize=8.5, color=RED)
    right.set(xlim=(-0.1, 7), ylim=(-0.1, 2.5), xlabel="time, any unit", yticks=[], xticks=[])
    right.spines["left"].set_visible(False), right.grid(False)
    right.set_title("messages behind arithmetic")
    figure.tight_layout()
    return figure


def conjugate_gradients(product, b, inner, fall, steps):
    """Iterates in `inner` precision. Where the residual fell by `fall` it is replaced by b - A x in double; fall 0: never.
    Returns |r| of the recurrence and |b - A x|, over |b|, of each step."""
    x, gained = np.zeros_like(b), np.zeros_like(b, dtype=inner)
    r = b.astype(inner)
    p, rr = r.copy(), float(r @ r)
    iterated, true, last = [1.0], [1.0], rr
    for _ in range(steps):
        ap = product(p)
        alpha = inner(rr / float(p @ ap))
        gained += alpha * p
        r_old, r = r, r - alpha * ap
        new = float(r @ r)
        if fall and new < fall**2 * last:
            x, gained = x + gained, np.zeros_like(gained)
            r = (b - product(x)).astype(inner)
            new = last = float(r @ r)
        beta = max(0.0, float(r @ (r - r_old)) / rr)  # p stays conjugate to the last one where r was replaced
        p, rr = r + inner(beta) * p, new
        iterated.append(np.sqrt(new) / np.linalg.norm(b))
        true.append(np.linalg.norm(b - product(x + gained)) / np.linalg.norm(b))
    return iterated, true


def draw_reliable():
    length, mass = 48, 0.03
    b = np.random.default_rng(1).standard_normal(length * length)

    def product(v):
        u = v.reshape(length, length)
        around = sum(np.roll(u, step, axis) for axis in (0, 1) for step in (1, -1))
        return (v.dtype.type(4 + mass) * u - around).ravel()

    figure, axes = style.page(panels=2, row=3.2)
    for place, fall, title in ((axes[0], 0, "single precision alone"), (axes[1], 0.1, "reliable updates, δ = 0.1")):
        iterated, true = conjugate_gradients(product, b, np.float32, fall, 170)
        place.semilogy(iterated, color=SKY, label="recurrence, |r| / |b|")
        place.semilogy(true, color=RED, linestyle="--", label="true, |b − A x| / |b|")
        place.set(xlabel="iteration", ylim=(1e-14, 10), title=title)
        style.legend_above(place, columns=1)
    axes[0].set_ylabel("relative residual")
    figure.tight_layout()
    return figure


PICTURES = {"hop": draw_hop, "lanes": draw_lanes, "schur": draw_schur, "halo": draw_halo, "reliable": draw_reliable}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", nargs="*", help=f"of {', '.join(PICTURES)} (default: all)")
    parser.add_argument("--output", default="docs/book/pictures", help="folder (default: %(default)s)")
    parser.add_argument("--force", action="store_true", help="overwrite existing pictures")
    options = parser.parse_args()
    for name in options.picture or PICTURES:
        if name not in PICTURES:
            raise ReportError(f"{name}: expected one of {', '.join(PICTURES)}")
        path = os.path.join(options.output, name + ".png")
        figure = PICTURES[name]()
        if name in ("hop", "lanes", "schur"):
            figure.tight_layout(pad=0.4)
        style.write(figure, path, options.force)
        print(path)


if __name__ == "__main__":
    style.main(main)
