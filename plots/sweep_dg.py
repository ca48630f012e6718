# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of nodal-dg over polynomial orders, and its figure: GFLOP/s of acoustics and of Maxwell's equations by
the standard counts, on one core, all cores and a GPU. The GPU works in one kernel, and in the page's three. Shown
are also the share of the volume part, and the case N = 7, K = 15628 of 528 steps. With --waiting also more ranks
than cores, which poll for messages or sleep (the page's dip). Reports of another machine may be put into the same
folder. With --gpus and without --case strong and weak scaling in place of all (sweep_several.py)."""

import math
import os
import sys

import sweep_several
from colours import COLOURS
from report_file import ReportError, load, number
from sweep_engine import OVERSUBSCRIBED, Sweep, run_of, write_picture

PAGE = {"4 GPUs of 2009": 0.45e3, "16 GPUs of 2009": 1.9e3}  # GFLOP/s of the page's case, Maxwell
WAITING_ORDER = 4
CASE_ORDER, CASE_ELEMENTS, CASE_STEPS = 7, 15628, 528
CASE_MESH_MAKER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "miniapps", "nodal-dg", "meshes")
THREE_KERNELS = "GPU, three kernels"  # the page's, whose parts can be told apart
COLOUR_OF = {"1 core": COLOURS["grey"], "all cores": COLOURS["blue"], "GPU": COLOURS["vermilion"],
             THREE_KERNELS: COLOURS["orange"]}


def add_arguments(parser):
    parser.add_argument("--device", choices=("cpu", "gpu", "both"), default=None, help="default: cpu, with --gpus gpu")
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--orders", type=lambda text: [int(n) for n in text.split(",")], default=None,
                        help="default: 2 to 9; with --gpus 4")
    parser.add_argument("--nodes", type=int, default=100_000, help="nodes of the mesh on the CPU (default: %(default)s)")
    parser.add_argument("--gpu-nodes", type=int, default=3_000_000, help="the same on a GPU (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--case", action="store_true", help=f"also N = {CASE_ORDER}, K = {CASE_ELEMENTS}")
    parser.add_argument("--waiting", action="store_true", help="also more ranks than cores, with --wait spin and block")
    parser.add_argument("--case-steps", type=int, default=2, help=f"of the case on the CPU; a GPU does {CASE_STEPS}")
    sweep_several.add_arguments(parser, "30x30x30", "30x30x30", "cells of the box, six tetrahedra each,")


def nodes_of_order(order):
    return (order + 1) * (order + 2) * (order + 3) // 6


def box_of(order, nodes):
    """Cells a side of a cube of about `nodes` nodes."""
    return max(1, round((nodes / (6 * nodes_of_order(order))) ** (1 / 3)))


def case_mesh(options):
    """The mesh of the case, made where it is missing."""
    path = os.path.join(options.output, f"k{CASE_ELEMENTS}.msh")
    if not os.path.exists(path) and not options.dryrun:
        sys.path.append(CASE_MESH_MAKER)
        import make_k15628

        os.makedirs(options.output, exist_ok=True)
        make_k15628.make(path)
    return path


def runs(options):
    def made(name, columns, words, ranks=1):
        return run_of(options, name, columns, [*words, "--precision", options.precision, *options.rest], ranks)

    where = []
    if options.device in ("cpu", "both"):
        where += [("core", ["--threads", "1"], options.nodes), ("cores", [], options.nodes)]
    if options.device in ("gpu", "both"):
        where += [("gpu", ["--device", "gpu"], options.gpu_nodes),
                  ("kernels", ["--device", "gpu", "--kernel", "classic"], options.gpu_nodes)]
    for equations in ("acoustics", "maxwell"):
        for order in options.orders or range(2, 10):
            for place, words, nodes in where:
                cells = box_of(order, nodes)
                yield made(f"{equations}-{order}-{place}", [equations, f"N = {order}", place],
                           ["--equations", equations, "--order", order, "--box", f"{cells}x{cells}x{cells}", "--shaking", "0.1",
                            "--steps", options.steps, *words])
    if options.case:
        yield from case_runs(options, made)
    if options.waiting:
        yield from waiting_runs(options, made)


def case_runs(options, made):
    mesh = case_mesh(options)
    on_gpu = options.device != "cpu"
    for ranks in (options.gpus or [1]) if on_gpu else [1]:
        yield made(f"case-{ranks}", ["case", f"N = {CASE_ORDER}", f"{ranks}"],
                   ["--mesh", mesh, "--equations", "maxwell", "--problem", "standing", "--modes", "2,0,2",
                    "--box-sides=-1,1,-1,1,-1,0.9651", "--order", CASE_ORDER, "--steps",
                    CASE_STEPS if on_gpu else options.case_steps, *(["--device", "gpu"] if on_gpu else [])], ranks)


def waiting_runs(options, made):
    """Ranks up to four a core, one thread each, that poll for messages or sleep."""
    device = ["--device", "gpu"] if options.device == "gpu" else ["--threads", "1"]
    cells = box_of(WAITING_ORDER, options.nodes)
    ranks = 1
    while ranks <= 4 * (os.cpu_count() or 1):
        for wait in ("spin", "block"):
            yield made(f"waiting-{wait}-{ranks}", ["waiting", wait, ranks],
                       ["--equations", "acoustics", "--order", WAITING_ORDER, "--box", f"{cells}x{cells}x{cells}", "--steps",
                        options.steps, "--wait", wait, *device], ranks)
        ranks *= 2


def lines_of(folder):
    """{equations: {"1 core": {order: (GFLOP/s, share of volume, verified)}}}, the case's [(ranks, device, GFLOP/s)], and
    {"spin": {ranks: GFLOP/s}}."""
    found, case, waiting = {}, [], {}
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".json"):
            continue
        report = load(os.path.join(folder, file))
        if report.get("app") != "nodal-dg" or not report["figures"]:
            continue
        figure, what = report["figures"][0], file
        rate = number(figure["gflops"], what)
        if file.startswith("waiting-"):
            waiting.setdefault(report["parameters"]["wait"], {})[figure["ranks"]] = rate
            continue
        if report["observables"].get("elements") == CASE_ELEMENTS:
            case.append((figure["ranks"], figure["device"], rate, report["verified"]))
            continue
        device = "1 core" if figure["threads"] == 1 else "all cores"
        if figure["device"] == "gpu":
            device = THREE_KERNELS if report["parameters"].get("kernel") == "classic" else "GPU"
        shares = figure.get("shares", {})
        volume = number(shares["volume"], what) if isinstance(shares.get("volume"), (int, float)) else math.nan
        found.setdefault(figure["operator"], {}).setdefault(device, {})[figure["order"]] = (rate, volume, report["verified"])
    return found, sorted(case), waiting


def draw_rates(axes, equations, by_device):
    for device, by_order in by_device.items():
        orders = sorted(by_order)
        axes.plot(orders, [by_order[n][0] for n in orders], "o-", color=COLOUR_OF[device], label=device)
        wrong = [n for n in orders if not by_order[n][2]]
        axes.plot(wrong, [by_order[n][0] for n in wrong], "x", color="black", label="not verified" if wrong else None)
    axes.set_yscale("log")
    axes.set_xlabel("order N")
    axes.set_ylabel("GFLOP/s, standard counts")
    axes.set_title(equations)


def draw_shares(axes, found):
    for equations, line in (("acoustics", "o-"), ("maxwell", "s--")):
        for device, by_order in found.get(equations, {}).items():
            orders = [n for n in sorted(by_order) if by_order[n][1] > 0]
            if orders:
                axes.plot(orders, [100 * by_order[n][1] for n in orders], line, color=COLOUR_OF[device],
                          label=device if equations == next(iter(found)) else None)
    axes.set_ylim(0, 100)
    axes.set_xlabel("order N")
    axes.set_ylabel("share of the volume part, %")
    axes.set_title("where the time goes (● acoustics, ■ Maxwell)")


def draw_case(axes, case):
    names = [f"{ranks} {'GPU' if device == 'gpu' else 'CPU'}{'s' if ranks > 1 else ''}" for ranks, device, _, _ in case]
    rates = dict(zip(names + list(PAGE), [rate for _, _, rate, _ in case] + list(PAGE.values())))
    for place, (name, rate) in enumerate(reversed(rates.items())):  # points: a bar has no foot on a logarithmic axis
        axes.plot(rate, place, "o", color=COLOURS["vermilion" if name in names else "grey"])
        axes.annotate(f"{name}: {rate:,.0f}", (rate, place), (0, 7), textcoords="offset points", ha="center", fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xlim(min(rates.values()) / 8, max(rates.values()) * 3)
    axes.set_ylim(-0.5, len(rates) - 0.3)
    axes.set_yticks([])
    axes.set_xlabel("GFLOP/s, standard counts")
    axes.set_title(f"N = {CASE_ORDER}, K = {CASE_ELEMENTS}, Maxwell")


def draw_waiting(axes, waiting):
    for wait, colour in (("spin", "vermilion"), ("block", "blue")):
        ranks = sorted(waiting.get(wait, {}))
        axes.plot(ranks, [waiting[wait][n] for n in ranks], "o-", color=COLOURS[colour], label=f"--wait {wait}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("ranks")
    axes.set_ylabel("GFLOP/s, standard counts")
    axes.set_title("more ranks than cores")


def draw(options, _runs=()):
    import style  # matplotlib is not needed where nothing is drawn

    found, case, waiting = lines_of(options.output)
    if not found and not waiting:
        raise ReportError(f"{options.output}: expected reports of nodal-dg, found none")
    panels = [lambda axes, e=e: draw_rates(axes, e, found[e]) for e in ("acoustics", "maxwell") if e in found]
    panels += [lambda axes: draw_shares(axes, found)] * bool(found)
    panels += [lambda axes: draw_case(axes, case)] * bool(case)
    panels += [lambda axes: draw_waiting(axes, waiting)] * bool(waiting)
    figure, axes = style.page(panels=len(panels), row=3.1)
    for place, panel in zip(axes, panels):
        panel(place)
        if place.get_legend_handles_labels()[0]:
            style.legend_above(place)
    reports = [load(os.path.join(options.output, f)) for f in sorted(os.listdir(options.output)) if f.endswith(".json")]
    style.sign(figure, reports[:1])
    write_picture(figure, options, "orders.png")


SWEEP = Sweep("dg", "nodal-dg over polynomial orders", "plaquette-nodal-dg", (("problem", 10), ("order", 8), ("where", 8)),
              add_arguments, runs, draw, any_report=True, launcher=OVERSUBSCRIBED, output="out/dg")


def of_gpus(options):
    """A cavity's mode, as the case has it."""
    if options.orders and len(options.orders) > 1:
        raise ReportError("--orders: expected one order with --gpus")
    return ["--equations", "maxwell", "--problem", "standing", "--modes", "2,0,2", "--order", (options.orders or [4])[0],
            "--precision", options.precision, "--steps", options.steps]


OVER_GPUS = sweep_several.scaling_sweep("dg", "plaquette-nodal-dg", sweep_several.box_of, of_gpus)
