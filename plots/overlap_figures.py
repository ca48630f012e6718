#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes and draws figures 2, 8, 9 and 10 of Alexandru, Pelissier, Gamari and Lee (2011): a polynomial for the sign
function; |lambda_l| of several configurations; the order of the polynomial against l; polynomial against double pass.
With a GPU also how long the search for modes of H takes with its basis there, and in memory of the host (--figure basis).
Reports that are there already are not made again."""

import argparse
import math
import os
import re
import subprocess
import sys

import style
from report_file import ReportError, load, number, numbers

FIGURES = ("2", "8", "9", "10")
OF_A_GPU = ("basis",)
CURVE_POINTS = 2000


def run(arguments, options, ranks=1):
    start = [] if ranks == 1 else ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    command = [*start, arguments.program, *map(str, options)]
    print(" ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return done.stdout


def report_of(arguments, name, options, ranks=1):
    path = os.path.join(arguments.output, name + ".json")
    if not os.path.exists(path):
        if not arguments.program:
            raise ReportError(f"{path}: expected a report, found none; --program makes it")
        run(arguments, [*options, *arguments.more, "--json", path], ranks)
    return load(path)


def table(arguments, lowest, highest, *options):
    """Coefficients and error of the polynomial on lowest <= |x| <= highest."""
    text = run(arguments, ["--gauge", "unit", "--lattice", "2x2x2x4", "--range", f"{lowest!r},{highest!r}", *options,
                           "--dryrun"])
    found = re.search(r"delta ([0-9.e+-]+)", text)
    coefficients = [float(number) for number in re.findall(r"c_\d+ (\S+)", text)]
    if not found or not coefficients:
        raise ReportError("expected a table of coefficients from --dryrun, found none")
    return coefficients, float(found.group(1))


def sign_of(coefficients, ratio, x):
    """x P(x^2), |x| <= 1, with z = (2 x^2 - 1 - eps) / (1 - eps), by Clenshaw's recurrence."""
    eps = ratio ** 2
    z = (2 * x * x - 1 - eps) / (1 - eps)
    b1 = b2 = 0.0
    for c in reversed(coefficients[1:]):
        b1, b2 = c + 2 * z * b1 - b2, b1
    return x * (coefficients[0] + z * b1 - b2)


def modes_of(arguments):
    """(label, |lambda| ascending, bound of |H|, report) of each configuration."""
    if arguments.gauges:
        chosen = [(os.path.basename(path), ["--gauge", path]) for path in arguments.gauges]
    else:
        chosen = [(f"seed {seed}", ["--lattice", arguments.lattice, "--gauge", "heatbath:6.0:40", "--seed", seed])
                  for seed in (1, 2, 3)]
    found = []
    for i, (label, options) in enumerate(chosen):
        name = f"modes-{i}"
        report = report_of(arguments, name, [*options, "--modes", arguments.modes, "--until", "modes", "--checkpoint",
                                             os.path.join(arguments.output, name)])
        kernel = report["observables"]["kernel"]
        values = [abs(value) for value in numbers(kernel["eigenvalues"], "eigenvalues")]
        found.append((label, values, number(kernel["bound"], "bound"), report))
    return found


def draw_2(axes, arguments):
    ratio, degree = 0.06, 13
    coefficients, delta = table(arguments, ratio, 1.0, "--degree", degree)
    points = [-1 + 2 * i / CURVE_POINTS for i in range(CURVE_POINTS + 1)]
    axes.plot(points, [sign_of(coefficients, ratio, x) for x in points])
    axes.axvspan(-ratio, ratio, color=style.COLOURS["grey"], alpha=0.2)
    axes.set_xlabel("x")
    axes.set_title(f"2: x P(x²), n = {degree}, √ε = {ratio}: δ = {delta:.4f}")
    return []


def draw_8(axes, arguments):
    found = modes_of(arguments)
    for label, values, _, _ in found:
        axes.plot(range(1, len(values) + 1), values, ".", label=label)
    axes.set_xlabel("ℓ")
    axes.set_ylabel("|λ_ℓ| of H")
    axes.set_ylim(bottom=0)
    axes.set_title("8: lowest modes")
    axes.legend()
    return [report for *_, report in found]


def draw_9(axes, arguments):
    found = modes_of(arguments)
    for label, values, bound, _ in found:
        orders = list(range(1, len(values) + 1))
        axes.plot(orders, [math.log(0.41 / arguments.delta) / (2.1 * value / bound) for value in values], label=label)
    label, values, bound, _ = found[0]
    some = sorted({max(1, round(len(values) * share)) for share in (0.05, 0.25, 0.5, 1)})
    exact = [len(table(arguments, values[l - 1], bound, "--delta", arguments.delta)[0]) - 1 for l in some]
    axes.plot(some, exact, "o", color="black", label=f"Remez, {label}")
    axes.set_yscale("log")
    axes.set_xlabel("ℓ")
    axes.set_ylabel("order n")
    axes.set_title(f"9: order for δ = {arguments.delta:g}")
    axes.legend()
    return [report for *_, report in found]


def draw_10(axes, arguments):
    gauge = ["--gauge", arguments.gauges[0]] if arguments.gauges else ["--lattice", arguments.lattice, "--gauge",
                                                                       "heatbath:6.0:40"]
    common = [*gauge, "--modes", 40, "--delta", 1e-10, "--until", "sign", "--checkpoint",
              os.path.join(arguments.output, "forty")]
    ways = {"polynomial": [], "zolotarev-double-pass": ["--poles", 18]}
    reports = []
    for way, options in ways.items():
        times = []
        for ranks in arguments.ranks:
            report = report_of(arguments, f"{way}-{ranks}", [*common, "--sign", way, *options], ranks)
            sign = report["observables"]["sign"]
            times.append(number(sign["seconds_a_vector"]["double"], "seconds"))
            reports.append(report)
            if not report["verified"]:
                axes.plot([ranks], times[-1:], "x", color="black", markersize=12)
        axes.plot(arguments.ranks, times, "o-", label=way)
    axes.set_yscale("log")
    axes.set_xlabel("ranks")
    axes.set_ylabel("seconds a vector, double")
    axes.set_title("10: ℓ = 40, 18 poles, δ = 1e-10")
    axes.legend()
    return reports


def draw_basis(axes, arguments):
    if arguments.device != "gpu":
        raise ReportError("figure basis needs --device gpu")
    gauge = ["--gauge", arguments.gauges[0]] if arguments.gauges else ["--lattice", arguments.lattice, "--gauge",
                                                                       "heatbath:6.0:40"]
    counts = sorted({max(1, round(arguments.modes * share)) for share in (0.25, 0.5, 0.75, 1)})
    reports, seconds = [], {}
    for place in ("device", "host"):
        for count in counts:
            report = report_of(arguments, f"basis-{place}-{count}", [*gauge, "--modes", count, "--until", "modes",
                                                                     "--basis", place])
            reports.append(report)
            stage = report["observables"]["calculation"][0]
            seconds.setdefault(place, []).append(number(stage["seconds"], "seconds"))
        axes.plot(counts, seconds[place], "o-", label=f"basis in memory of the {place}")
    for count, here, there in zip(counts, seconds["device"], seconds["host"]):
        print(f"l = {count}: {here:.3g} s on the GPU, {there:.3g} s with the basis on the host, {there / here:.2f} times")
    axes.set_xlabel("ℓ")
    axes.set_ylabel("seconds for modes of H")
    axes.set_ylim(0, 1.1 * max(seconds["device"] + seconds["host"]))
    axes.set_title("search for modes of H")
    axes.legend()
    return reports


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", choices=(*FIGURES, *OF_A_GPU, "all"), default="all")
    parser.add_argument("--program", help="plaquette-overlap-propagator; none: reports have to be there (2 and 9 need it)")
    parser.add_argument("--output", default="out/overlap", help="folder of reports and figures (default: %(default)s)")
    parser.add_argument("--gauges", nargs="*", default=[], help="files of configurations, instead of three of a heat bath")
    parser.add_argument("--lattice", default="8x8x8x16", help="of those (default: %(default)s)")
    parser.add_argument("--modes", type=int, default=40, help="l of figures 8 and 9, the largest of basis (default: %(default)s)")
    parser.add_argument("--delta", type=float, default=1e-9, help="of figure 9 (default: %(default)s)")
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")], default=[1],
                        help="of figure 10: 1,2,4")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("more", nargs="*", help="behind --: options of the program")
    arguments = parser.parse_args()
    arguments.more = ["--device", arguments.device, *arguments.more]
    if not arguments.program and arguments.figure in ("2", "9", "all"):
        raise ReportError("figures 2 and 9 need --program")
    os.makedirs(arguments.output, exist_ok=True)
    for name in FIGURES if arguments.figure == "all" else (arguments.figure,):
        figure, axes = style.figure()
        reports = {"2": draw_2, "8": draw_8, "9": draw_9, "10": draw_10, "basis": draw_basis}[name](axes[0], arguments)
        style.sign(figure, reports[:1])
        path = os.path.join(arguments.output, f"figure-{name}.png")
        style.write(figure, path, True)
        print(path)


if __name__ == "__main__":
    style.main(main)
