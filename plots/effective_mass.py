#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the effective masses of the pion and the rho from the correlators of a report. The correlators are folded,
C(t) -> (C(t) + C(T-t)) / 2. Filled points solve C(t)/C(t+1) = cosh(m (T/2-t)) / cosh(m (T/2-t-1)) for m, which allows
for the meson that runs backwards through the periodic time; open points are ln C(t)/C(t+1), which does not. Several reports, each of
its own configuration, are averaged; the errors are those of the jackknife over configurations."""

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


def averaged(correlators):
    """The mean of several correlators, time by time."""
    return [sum(values) / len(correlators) for values in zip(*correlators)]


def jackknife_errors(correlators, mass_of):
    """The errors of mass_of(average): from the averages that leave out one correlator each. None for one correlator."""
    count = len(correlators)
    if count < 2:
        return None
    without = [mass_of(averaged(correlators[:n] + correlators[n + 1:])) for n in range(count)]
    errors = []
    for values in zip(*without):
        mean = sum(values) / count
        errors.append(math.sqrt((count - 1) / count * sum((value - mean) ** 2 for value in values)))
    return errors


def quoted_text(symbol, masses, errors, length):
    """The entry of the legend: the mass at three eighths of the time, or at the last one before it that is known."""
    at = max((t for t in range(len(masses)) if math.isfinite(masses[t])), default=None)
    quoted = min(at, 3 * length // 8) if at is not None else None
    if quoted is None or not math.isfinite(masses[quoted]):
        return symbol
    error = f" ± {errors[quoted]:.3f}" if errors and math.isfinite(errors[quoted]) else ""
    return f"{symbol}:  $a\\,m$ = {masses[quoted]:.3f}{error} at t = {quoted}"


def draw(axes, paths, reports):
    drawn, plateaus = 0, []  # what is close to t = 0 would hide how far apart the plateaus are
    for name, (symbol, colour, marker) in MESONS.items():
        correlators = [correlator(report, name, path) for path, report in zip(paths, reports)]
        if any(values is None for values in correlators):
            continue
        length = len(correlators[0])
        if any(len(values) != length for values in correlators):
            raise ReportError(f"{', '.join(paths)}: expected correlators of one length in time, found several")
        halves = [folded(values) for values in correlators]
        half = averaged(halves)
        masses = cosh_mass(half, length)
        errors = jackknife_errors(halves, lambda values: cosh_mass(values, length))
        times = range(len(masses))
        axes.plot(times, log_mass(half), marker, color=style.COLOURS[colour], markerfacecolor="white", linestyle="",
                  alpha=0.6, markersize=4.5)
        axes.errorbar(times, masses, yerr=errors, fmt=marker, color=style.COLOURS[colour], linestyle="-", linewidth=0.8,
                      markersize=4.5, elinewidth=1.4, capsize=3, label=quoted_text(symbol, masses, errors, length))
        drawn += sum(map(math.isfinite, masses))
        plateaus += [mass for mass in masses[length // 4:] if math.isfinite(mass)]
    if not drawn:
        raise ReportError(f"{', '.join(paths)}: expected correlators 'pion' or 'rho' that fall with time, found none")
    axes.plot([], [], "o", color=style.COLOURS["grey"], markerfacecolor="white", alpha=0.6, markersize=4.5,
              label=r"open: $\ln\,C(t)/C(t{+}1)$")
    axes.set_xlabel("t  [lattice units]")
    axes.set_ylabel(r"effective mass  $a\,m(t)$")
    axes.set_title("Effective mass")
    axes.set_ylim(0, 2.4 * max(plateaus) if plateaus else None)
    axes.legend(loc="best")


def main():
    arguments = style.arguments(__doc__, "effective_mass.png").parse_args()
    reports = [load(path) for path in arguments.report]
    figure, (axes,) = style.figure()
    draw(axes, arguments.report, reports)
    style.finish(figure, reports, arguments)


if __name__ == "__main__":
    style.main(main)
