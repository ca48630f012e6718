#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the performance model (performance_model.py, where its assumptions stand) and what dslash-scaling measured
on several GPUs, for every lattice, and what it gives for more of them, up to 1024. It takes the single-GPU figures of
all given reports for the speed of a GPU on a local lattice. Where there is none, it takes what a run on several GPUs
took without communication. It also takes the latencies of a run with --latency. The table has the operators of solves
too."""

import performance_model as model
import style
from gpu_data import (PRECISIONS, case_of, halo_of, headline, is_usual, latencies, loaded, of_headline, points, problem_of,
                      seconds_without_overlap, title_of, transfers, with_shared)
from matplotlib.lines import Line2D
from report_file import ReportError, number

COLOUR = dict(zip(PRECISIONS, (style.COLOURS["blue"], style.COLOURS["vermilion"], style.COLOURS["green"])))
MOST_GPUS = 1024


def machine_of(reports, options):
    """What was measured of one GPU and between GPUs."""
    chosen = latencies(reports)
    if chosen is None:
        raise ReportError("no report with latencies: run dslash-scaling --device gpu --latency")
    path, section, _ = chosen
    found = transfers(section, path)
    if any(kind.startswith("peer_store") for kind in found):
        latency, bandwidth = halo_of(section, path)
    else:
        latency, bandwidth = options.network_latency, options.network_gbytes * 1e9
    times = {}
    found_here = points(reports, options.protocol)
    for p in found_here:
        if p.gpus == 1 and is_usual(p):
            times.setdefault(case_of(p), {})[model.volume(p.lattice)] = p.seconds
    for p in found_here:
        if p.gpus > 1 and is_usual(p) and p.halo and "seconds_without_communication" in p.halo:
            alone = number(p.halo["seconds_without_communication"], f"{p.path}: halo.seconds_without_communication")
            times.setdefault(case_of(p), {}).setdefault(model.volume(p.local), alone)
    copy = 1e9 * number(section.get("copy_gbytes_per_s", "nan"), f"{path}: latencies.copy_gbytes_per_s")
    exchanges = {kind.split()[1]: table for kind, table in found.items() if kind.startswith("exchange ")}
    return model.Machine({case: sorted(table.items()) for case, table in times.items()}, copy, bandwidth, latency,
                         options.fill, options.cut, exchanges, 1e9 * options.network_gbytes, options.network_latency,
                         options.gpus_per_host)


def predicted(problem, case, gpus, machine):
    """Of a lattice on `gpus` GPUs, or None where it cannot be cut into that many boxes."""
    scaling, extents = problem
    if scaling == "weak":
        grid = model.grid_of_local_box(extents, gpus)
        lattice = tuple(length * n for length, n in zip(extents, grid))
    else:
        lattice, grid = extents, model.smallest_surface_grid(extents, gpus)
    return None if grid is None else model.application(model.Problem(case, lattice, grid), machine)


def compared(found, machine):
    """[(point, prediction)] of the usual points on several GPUs whose single-GPU speed is known, and of those with another
    way to exchange halos, where that was measured too."""
    result = []
    for p in found:
        way = "peer" if p.policy == "peer" else next((way for way in machine.exchanges if way in p.policy), None)
        if p.gpus > 1 and case_of(p) in machine.times and way is not None and is_usual(p._replace(asked="auto")):
            result.append((p, model.application(model.Problem(case_of(p), p.lattice, p.grid), machine, way)))
    return result


def counts_up_to(most):
    n = 1
    while n <= most:
        yield n
        n *= 2


def draw_problem(axes, problem, cases, found, machine, most):
    for case in cases:
        measured = [p for p in found if problem_of(p) == problem and case_of(p) == case and is_usual(p)]
        reference = next((p for p in found if p.gpus == 1 and case_of(p) == case), None)
        if reference is None or case not in machine.times:
            continue
        colour = COLOUR[case[2]]
        # flops a site are the same everywhere
        flops = reference.gflops * reference.seconds / model.volume(reference.lattice)
        gpus, on, off = [], [], []
        for n in counts_up_to(most):
            result = predicted(problem, case, n, machine)
            if result is None:
                continue
            sites = model.volume(problem[1]) * (n if problem[0] == "weak" else 1)
            gpus.append(n)
            on.append(1e-3 * flops * sites / result.seconds)
            off.append(1e-3 * flops * sites / result.without_overlap)
        axes.plot(gpus, on, "-", color=colour, linewidth=1.3)
        axes.plot(gpus, off, "--", color=colour, linewidth=0.9)
        axes.plot([p.gpus for p in measured], [1e-3 * p.gflops for p in measured], "o", color=colour)
        axes.plot([p.gpus for p in measured], [1e-3 * p.gflops * p.seconds / seconds_without_overlap(p) for p in measured],
                  "o", color=colour, markerfacecolor="white")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ticks = [n for n in counts_up_to(most) if most <= 16 or n in (1, 4, 16, 64, 256, 1024)]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_xlabel("GPUs")
    axes.set_title(title_of(problem), fontsize=9)


def draw(figure, found, machine):
    """Above the GPUs that there were, below up to 1024. Returns the number of problems."""
    usual = with_shared(of_headline([p for p in found if is_usual(p)]))
    problems = sorted({problem_of(p) for p in usual if p.gpus > 1})
    if not problems:
        raise ReportError("no lattice was timed on several GPUs with the usual settings")
    cases = sorted({case_of(p) for p in usual}, key=lambda case: PRECISIONS.index(case[2]))
    axes = figure.subplots(2, len(problems), squeeze=False)
    here = max(p.gpus for p in usual)
    for n, problem in enumerate(problems):
        draw_problem(axes[0][n], problem, cases, usual, machine, here)
        draw_problem(axes[1][n], problem, cases, usual, machine, MOST_GPUS)
    axes[0][0].set_ylabel("TFLOP/s, measured and model")
    axes[1][0].set_ylabel("TFLOP/s, extrapolated")
    grey = style.COLOURS["grey"]
    entries = [Line2D([], [], color=COLOUR[case[2]], label=case[2]) for case in cases]
    entries += [Line2D([], [], color=grey, linestyle="-", label="model"),
                Line2D([], [], color=grey, linestyle="--", label="model, overlap off"),
                Line2D([], [], color=grey, marker="o", linestyle="", label="measured"),
                Line2D([], [], color=grey, marker="o", markerfacecolor="white", linestyle="", label="measured, overlap off")]
    figure.legend(handles=entries, loc="upper left", bbox_to_anchor=(0.0, 0.945), ncols=len(entries), fontsize=8)
    return len(problems)


def assumptions(machine):
    return (f"GPU to GPU {1e-9 * machine.peer_bandwidth:.0f} GB/s, {1e6 * machine.peer_latency:.1f} µs; copy "
            f"{1e-9 * machine.copy:.0f} GB/s (measured); a kernel beyond its bytes {1e6 * machine.fill:.1f} µs, "
            f"sites at cuts in its midst {1e6 * machine.cut:.1f}. Beyond "
            f"{machine.gpus_per_host} GPUs a host: {1e-9 * machine.network_bandwidth:.0f} GB/s and "
            f"{1e6 * machine.network_latency:.0f} µs a GPU (assumed)")


def distance(pairs):
    """In words: how far the model is from the usual points at most."""
    usual = [(p, m) for p, m in pairs if is_usual(p)]
    if not usual:
        return "beside no usual measurement"
    on = max(abs(model.deviation(m.seconds, p.seconds)) for p, m in usual)
    off = max(abs(model.deviation(m.without_overlap, seconds_without_overlap(p))) for p, m in usual)
    return f"within {100 * on:.1f}% of what was measured with the overlap on, {100 * off:.1f}% with it off"


def print_table(pairs):
    """Each measurement, the model, and how far apart the two are."""
    print(f"{'lattice':<22} {'GPUs':>4} {'halo':<8} {'operator':<13} {'prec.':<7} {'measured':>9} {'model':>9} {'':>7}"
          f" {'overlap off':>12} {'model':>9} {'':>7}   [µs]")
    for p, m in pairs:
        off = seconds_without_overlap(p)
        print(f"{title_of(problem_of(p)):<22} {p.gpus:>4} {p.policy:<8} {p.operator:<13} {p.precision:<7} "
              f"{1e6 * p.seconds:>9.2f} {1e6 * m.seconds:>9.2f} {100 * model.deviation(m.seconds, p.seconds):>+6.1f}% "
              f"{1e6 * off:>12.2f} {1e6 * m.without_overlap:>9.2f} {100 * model.deviation(m.without_overlap, off):>+6.1f}%")
    print(f"the model is {distance(pairs)}")


def parser():
    arguments = style.arguments(__doc__, "model.png")
    arguments.add_argument("--gpus-per-host", type=int, default=8, metavar="N", help="in the extrapolation (default: 8)")
    arguments.add_argument("--fill", type=float, default=model.FILL, metavar="SECONDS",
                           help="of a kernel beyond its bytes (default: %(default)g, of an H200)")
    arguments.add_argument("--cut", type=float, default=model.CUT, metavar="SECONDS",
                           help="of the sites at the cuts in the midst of a kernel (default: %(default)g, of an H200)")
    arguments.add_argument("--protocol", choices=["sustained", "cool"], default="sustained", help="default: %(default)s")
    arguments.add_argument("--network-gbytes", type=float, default=1e-9 * model.NETWORK_BANDWIDTH, metavar="GB/s",
                           help="of each GPU between hosts, assumed (default: %(default)g)")
    arguments.add_argument("--network-latency", type=float, default=model.NETWORK_LATENCY, metavar="SECONDS",
                           help="of a message between hosts, assumed (default: %(default)g)")
    return arguments


def main():
    options = parser().parse_args()
    if options.gpus_per_host < 1 or not options.network_gbytes > 0 or not min(options.network_latency, options.fill, options.cut) >= 0:
        raise ReportError("--gpus-per-host, --network-gbytes: expected positive numbers; --network-latency, --fill, --cut: "
                          "none below 0")
    reports = loaded(options.report, ("dslash-scaling", "mixed-precision-solver"))
    machine, found = machine_of(reports, options), points(reports, options.protocol)
    style.apply()
    figure = style.plt.figure()
    panels = draw(figure, found, machine)
    figure.set_size_inches(max(9.5, 2.9 * panels), 6.4)
    operator, layout, reals, rhs = headline([p for p in found if is_usual(p)])
    figure.suptitle(f"{operator}, {layout}, {reals} reals a link, N = {rhs}\n{assumptions(machine)}", x=0.01, ha="left",
                    fontsize=7.5)
    style.sign(figure, [report for _, report in reports])
    figure.subplots_adjust(top=0.86)
    style.write(figure, options.output, options.force)
    print_table(compared(found, machine))
    print(options.output)


if __name__ == "__main__":
    style.main(main)
