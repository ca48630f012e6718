#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the effective masses of the pion and the rho from the correlators of a report. The correlators are folded,
C(t) -> (C(t) + C(T-t)) / 2. Filled points solve C(t)/C(t+1) = cosh(m (T/2-t)) / cosh(m (T/2-t-1)) for m, which allows
for the meson that runs backwards through the periodic time; open points are ln C(t)/C(t+1), which does not."""

import math

import style
from report_file import ReportError, correlator, load

MESONS = {"pion": ("π", "blue", "o"), "rho": ("ρ", "vermilion", "s")}


def folded(values):
    """C(t) for t = 0 .. T/2, averaged with C(T-t)."""
    length = len(values)
    return [0.5 * (values[t] + values[(length - t) % length]) for t in range(length // 2 + 1)]


def log_mass(values):
    """ln C(t)/C(t+1), nan where that has no meaning."""
    return [math.log(a / b) if a > 0 and b > 0 else math.nan for a, b in zip(values, values[1:])]


def cosh_mass(values, length):
    """The m that solves C(t)/C(t+1) = cosh(m (T/2-t)) / cosh(m (T/2-t-1)), T = length, for every t < T/2; nan where
    there is none (a ratio of at most 1)."""
    return [_solve_ratio(a / b, length / 2 - t) if a > b > 0 and length / 2 - t >= 1 else math.nan
            for t, (a, b) in enumerate(zip(values, values[1:]))]


def _solve_ratio(ratio, distance):
    """By bisection: cosh(m distance) / cosh(m (distance-1)), distance >= 1, grows with m from 1 and is at least e^m / 2,
    so that m is at most ln(2 ratio). Written with exp(-m), which cannot overflow."""
    def excess(m):
        return math.exp(m) * (1 + math.exp(-2 * m * distance)) / (1 + math.exp(-2 * m * (distance - 1))) - ratio
    low, high = 0.0, math.log(2 * ratio)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if excess(middle) > 0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def draw(axes, path, report):
    drawn = 0
    for name, (symbol, colour, marker) in MESONS.items():
        values = correlator(report, name, path)
        if values is None:
            continue
        half = folded(values)
        masses = cosh_mass(half, len(values))
        at = max((t for t in range(len(masses)) if math.isfinite(masses[t])), default=None)
        quoted = min(at, 3 * len(values) // 8) if at is not None else None
        if quoted is None or not math.isfinite(masses[quoted]):
            text = symbol
        else:
            text = f"{symbol}:  $a\\,m$ = {masses[quoted]:.3f} at t = {quoted}"
        times = range(len(masses))
        axes.plot(times, log_mass(half), marker, color=style.COLOURS[colour], markerfacecolor="white", linestyle="",
                  alpha=0.6, markersize=4.5)
        axes.plot(times, masses, marker, color=style.COLOURS[colour], linestyle="-", linewidth=0.8, label=text)
        drawn += sum(map(math.isfinite, masses))
    if not drawn:
        raise ReportError(f"{path}: expected correlators 'pion' or 'rho' that fall with time, found none")
    axes.plot([], [], "o", color=style.COLOURS["grey"], markerfacecolor="white", alpha=0.6, markersize=4.5,
              label=r"open: $\ln\,C(t)/C(t{+}1)$")
    axes.set_xlabel("t  [lattice units]")
    axes.set_ylabel(r"effective mass  $a\,m(t)$")
    axes.set_title("Effective mass")
    axes.set_ylim(bottom=0)
    axes.legend(loc="best")


def main():
    arguments = style.arguments(__doc__, "effective_mass.png", several=False).parse_args()
    report = load(arguments.report)
    figure, (axes,) = style.figure()
    draw(axes, arguments.report, report)
    style.finish(figure, [report], arguments)


if __name__ == "__main__":
    style.main(main)
