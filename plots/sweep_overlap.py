# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of overlap-propagator, and figures 2, 8, 9 and 10 of Alexandru, Pelissier, Gamari and Lee (2011). They
are a polynomial for the sign function, |lambda_l| of several configurations, the polynomial's order against l, and
the polynomial against a double pass. With a GPU also how long the search for modes of H takes with its basis there,
and in memory of the host (--figure basis). With --gpus strong and weak scaling in place of all (sweep_several.py)."""

import math
import os
import re
import subprocess

import sweep_several
from colours import COLOURS
from report_file import ReportError, load, number, numbers
from sweep_engine import OVERSUBSCRIBED, Sweep, run_of, write_picture

FIGURES = ("2", "8", "9", "10")
OF_A_GPU = ("basis",)
CURVE_POINTS = 2000
HEAT_BATH = "heatbath:6.0:40"
WAYS = {"polynomial": [], "zolotarev-double-pass": ["--poles", 18]}  # of figure 10
PLACES = ("device", "host")  # of the basis


def add_arguments(parser):
    parser.add_argument("--figure", choices=(*FIGURES, *OF_A_GPU, "all"), default="all")
    parser.add_argument("--gauges", nargs="*", default=[], help="files of configurations, instead of three of a heat bath")
    parser.add_argument("--lattice", default="8x8x8x16", help="of those (default: %(default)s)")
    parser.add_argument("--modes", type=int, default=40, help="l of figures 8 and 9, the largest of basis (default: %(default)s)")
    parser.add_argument("--delta", type=float, default=1e-9, help="of figure 9 (default: %(default)s)")
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")], default=[1],
                        help="of figure 10: 1,2,4")
    parser.add_argument("--device", choices=("cpu", "gpu"), default=None, help="default: cpu, with --gpus gpu")
    parser.add_argument("--heatbath", default=HEAT_BATH, help="with --gpus: the links (default: %(default)s)")
    parser.add_argument("--until", default="sign", choices=("modes", "sign", "overlap-modes", "propagators"),
                        help="with --gpus: the last stage (default: %(default)s)")
    sweep_several.add_arguments(parser, "24x24x24x64", "24x24x24x64", "lattices")


def figures_of(options):
    return FIGURES if options.figure == "all" else (options.figure,)


# --- What runs --------------------------------------------------------------------------------------------------------


def configurations(options):
    """(label, options) of each."""
    if options.gauges:
        return [(os.path.basename(path), ["--gauge", path]) for path in options.gauges]
    return [(f"seed {seed}", ["--lattice", options.lattice, "--gauge", HEAT_BATH, "--seed", seed]) for seed in (1, 2, 3)]


def one_configuration(options):
    return ["--gauge", options.gauges[0]] if options.gauges else ["--lattice", options.lattice, "--gauge", HEAT_BATH]


def counts_of_modes(options):
    return sorted({max(1, round(options.modes * share)) for share in (0.25, 0.5, 0.75, 1)})


def runs(options):
    figures = figures_of(options)

    def made(name, columns, words, ranks=1):
        return run_of(options, name, columns, [*words, "--device", options.device, *options.rest], ranks)

    if {"8", "9"} & set(figures):
        for i, (label, words) in enumerate(configurations(options)):
            name = f"modes-{i}"
            yield made(name, ["8, 9", label], [*words, "--modes", options.modes, "--until", "modes", "--checkpoint",
                                               os.path.join(options.output, name)])
    if "10" in figures:
        common = [*one_configuration(options), "--modes", 40, "--delta", 1e-10, "--until", "sign", "--checkpoint",
                  os.path.join(options.output, "forty")]
        for way, words in WAYS.items():
            for ranks in options.ranks:
                yield made(f"{way}-{ranks}", ["10", f"{way} {ranks}"], [*common, "--sign", way, *words], ranks)
    if "basis" in figures:
        for place in PLACES:
            for count in counts_of_modes(options):
                yield made(f"basis-{place}-{count}", ["basis", f"{place} {count}"],
                           [*one_configuration(options), "--modes", count, "--until", "modes", "--basis", place])


def said_by(options, words):
    """What the program prints; it makes no report."""
    if not options.program:
        raise ReportError("figures 2 and 9 need --program")
    done = subprocess.run([options.program, *map(str, words)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1):
        raise ReportError(f"{options.program}: expected a table of coefficients, found exit status {done.returncode}")
    return done.stdout


def table(options, lowest, highest, *words):
    """Coefficients and error of the polynomial on lowest <= |x| <= highest."""
    text = said_by(options, ["--gauge", "unit", "--lattice", "2x2x2x4", "--range", f"{lowest!r},{highest!r}", *words,
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


# --- Figures ----------------------------------------------------------------------------------------------------------


def report_of(options, name):
    path = os.path.join(options.output, name + ".json")
    if not os.path.exists(path):
        raise ReportError(f"{path}: expected a report, found none; --program makes it")
    return load(path)


def modes_of(options):
    """(label, |lambda| ascending, bound of |H|, report) of each configuration."""
    found = []
    for i, (label, _) in enumerate(configurations(options)):
        report = report_of(options, f"modes-{i}")
        kernel = report["observables"]["kernel"]
        values = [abs(value) for value in numbers(kernel["eigenvalues"], "eigenvalues")]
        found.append((label, values, number(kernel["bound"], "bound"), report))
    return found


def draw_2(axes, options):
    ratio, degree = 0.06, 13
    coefficients, delta = table(options, ratio, 1.0, "--degree", degree)
    points = [-1 + 2 * i / CURVE_POINTS for i in range(CURVE_POINTS + 1)]
    axes.plot(points, [sign_of(coefficients, ratio, x) for x in points])
    axes.axvspan(-ratio, ratio, color=COLOURS["grey"], alpha=0.2)
    axes.set_xlabel("x")
    axes.set_title(f"2: x P(x²), n = {degree}, √ε = {ratio}: δ = {delta:.4f}")
    return []


def draw_8(axes, options):
    found = modes_of(options)
    for label, values, _, _ in found:
        axes.plot(range(1, len(values) + 1), values, ".", label=label)
    axes.set_xlabel("ℓ")
    axes.set_ylabel("|λ_ℓ| of H")
    axes.set_ylim(bottom=0)
    axes.set_title("8: lowest modes")
    axes.legend()
    return [report for *_, report in found]


def draw_9(axes, options):
    found = modes_of(options)
    for label, values, bound, _ in found:
        orders = list(range(1, len(values) + 1))
        axes.plot(orders, [math.log(0.41 / options.delta) / (2.1 * value / bound) for value in values], label=label)
    label, values, bound, _ = found[0]
    some = sorted({max(1, round(len(values) * share)) for share in (0.05, 0.25, 0.5, 1)})
    exact = [len(table(options, values[l - 1], bound, "--delta", options.delta)[0]) - 1 for l in some]
    axes.plot(some, exact, "o", color="black", label=f"Remez, {label}")
    axes.set_yscale("log")
    axes.set_xlabel("ℓ")
    axes.set_ylabel("order n")
    axes.set_title(f"9: order for δ = {options.delta:g}")
    axes.legend()
    return [report for *_, report in found]


def draw_10(axes, options):
    reports = []
    for way in WAYS:
        times = []
        for ranks in options.ranks:
            report = report_of(options, f"{way}-{ranks}")
            sign = report["observables"]["sign"]
            times.append(number(sign["seconds_a_vector"]["double"], "seconds"))
            reports.append(report)
            if not report["verified"]:
                axes.plot([ranks], times[-1:], "x", color="black", markersize=12)
        axes.plot(options.ranks, times, "o-", label=way)
    axes.set_yscale("log")
    axes.set_xlabel("ranks")
    axes.set_ylabel("seconds a vector, double")
    axes.set_title("10: ℓ = 40, 18 poles, δ = 1e-10")
    axes.legend()
    return reports


def draw_basis(axes, options):
    if options.device != "gpu":
        raise ReportError("figure basis needs --device gpu")
    counts = counts_of_modes(options)
    reports, seconds = [], {}
    for place in PLACES:
        for count in counts:
            report = report_of(options, f"basis-{place}-{count}")
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


DRAW = {"2": draw_2, "8": draw_8, "9": draw_9, "10": draw_10, "basis": draw_basis}


def draw(options, _runs=()):
    import style  # matplotlib is not needed where nothing is drawn

    os.makedirs(options.output, exist_ok=True)
    for name in figures_of(options):
        figure, axes = style.figure()
        style.sign(figure, DRAW[name](axes[0], options)[:1])
        write_picture(figure, options, f"figure-{name}.png")


SWEEP = Sweep("overlap", "figures of overlap-propagator's paper", "plaquette-overlap-propagator", (("figure", 8), ("run", 26)),
              add_arguments, runs, draw, any_report=True, launcher=OVERSUBSCRIBED, output="out/overlap")


def of_gpus(options):
    return ["--gauge", options.heatbath, "--modes", options.modes, "--until", options.until]


OVER_GPUS = sweep_several.scaling_sweep("overlap", "plaquette-overlap-propagator", sweep_several.lattice_of, of_gpus)
