# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of plaquette-multigrid, and its figure: iterations and seconds of multigrid and BiCGstab over the mass,
over the volume and over the number of ranks. Several numbers of null vectors solve one system. Reports of another
machine may be put into the same folder. With --gpus strong and weak scaling in its place (sweep_several.py)."""

import os

import sweep_several
from colours import COLOURS
from report_file import UNUSABLE_INPUT, ReportError, load, number
from sweep_engine import OVERSUBSCRIBED, Sweep, parts_of, run_of, words, write_picture

PARTS = ("mass", "volume", "ranks", "schedules")
CONFIGURATION = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/beta6.0_6x6x6x12.nersc"))
COLOUR_OF = {"multigrid": COLOURS["blue"], "bicgstab": COLOURS["vermilion"]}
NO_CONVERGENCE = 3


def add_arguments(parser):
    parser.add_argument("--device", choices=("cpu", "gpu"), default=None, help="default: cpu, with --gpus gpu")
    parser.add_argument("--parts", type=words, default=list(PARTS), help="of " + ",".join(PARTS) + " (default: all)")
    parser.add_argument("--gauge", default=CONFIGURATION, help="configuration of all parts but volume (default: the one in "
                        "data/)")
    parser.add_argument("--kappas", type=words, default=words("0.1300,0.1320,0.1335,0.1345,0.1350"), metavar="K,K,...",
                        help="heaviest first; the other parts take the last one (default: 0.1300 to 0.1350)")
    parser.add_argument("--csw", default="1.769", help="default: %(default)s")
    parser.add_argument("--lattices", type=words, default=words("4x4x4x8,6x6x6x12,8x8x8x16"), help="of the part volume "
                        "(default: 4x4x4x8 to 8x8x8x16)")
    parser.add_argument("--heatbath", default="heatbath:6.0:40", help="their links (default: %(default)s)")
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in words(text)], default=[1, 2], help="default: 1,2")
    parser.add_argument("--schedules", default="24,28,32", help="as the program takes them; 24/24,24/32,32/32 on three "
                        "lattices (default: %(default)s)")
    parser.add_argument("--rhs", type=int, default=4, help="sources of each run (default: %(default)s)")
    parser.add_argument("--batches", default="1,4", help="with --gpus: sources solved at once (default: %(default)s)")
    sweep_several.add_arguments(parser, "32x32x32x64", "32x32x32x64", "lattices")


def runs(options):
    parts = parts_of(options, PARTS)
    action = ["--csw", options.csw, "--rhs", options.rhs, "--batches", 1, "--exceptional", "solve", *options.rest]
    gauge = ["--gauge", options.gauge]
    kappa = ["--kappa", options.kappas[-1]]

    def made(part, value, words, ranks=1):
        name = f"{part}-{value}" if value else part
        return run_of(options, name, [part, value], [*words, "--device", options.device], ranks)

    if "mass" in parts:
        for k in options.kappas:
            yield made("mass", k, [*gauge, "--kappa", k, *action])
    if "volume" in parts:
        for lattice in options.lattices:
            yield made("volume", lattice, ["--lattice", lattice, "--gauge", options.heatbath, *kappa, *action])
    if "ranks" in parts:
        threads = ["--threads", 1] if options.device == "cpu" else []
        for ranks in options.ranks:
            yield made("ranks", ranks, [*gauge, *kappa, *action, *threads], ranks)
    if "schedules" in parts:
        yield made("schedules", "", [*gauge, *kappa, *action, "--schedules", options.schedules])


class Solved:
    """What the figures take of a report."""

    def __init__(self, path):
        self.report = load(path)
        if self.report.get("app") != "multigrid":
            raise ReportError(f"{path}: expected a report of multigrid")
        self.solves = self.report["solves"]
        self.parameters = self.report["parameters"]
        self.path = path

    def first(self, solver):
        return next((s for s in self.solves if s["solver"] == solver), None)

    def value(self, solver, key):
        solve = self.first(solver)
        return None if solve is None else number(solve[key], self.path)

    def kappa(self):
        return number(self.parameters["kappa"], self.path)

    def sites(self):
        extents = self.solves[0]["levels"][0]["lattice"]
        return extents[0] * extents[1] * extents[2] * extents[3]


def runs_in(folder, part):
    return [Solved(os.path.join(folder, file)) for file in sorted(os.listdir(folder))
            if file.startswith(part) and file.endswith(".json")]


def draw_lines(axes, runs, x, keys):
    """Means and deviations of `keys` = (mean, deviation) over x(run), a line a solver; crosses where one has not converged."""
    for solver, colour in COLOUR_OF.items():
        points = sorted((x(run), run.value(solver, keys[0]), run.value(solver, keys[1]), run.first(solver)["converged"])
                        for run in runs if run.first(solver))
        if not points:
            continue
        axes.errorbar([p[0] for p in points], [p[1] for p in points], [p[2] for p in points], fmt="o-", color=colour,
                      label=solver, capsize=2)
        open_ones = [p for p in points if not p[3]]
        if open_ones:
            axes.plot([p[0] for p in open_ones], [p[1] for p in open_ones], "x", color="black", label="not converged")
    axes.set_yscale("log")
    axes.legend()


def draw_mass(axes, runs):
    draw_lines(axes, runs, Solved.kappa, ("iterations_mean", "iterations_deviation"))
    axes.set_xlabel("kappa (lighter quarks to the right)")
    axes.set_ylabel("iterations")
    axes.set_title("over the mass")


def draw_volume(axes, runs):
    draw_lines(axes, runs, Solved.sites, ("iterations_mean", "iterations_deviation"))
    axes.set_xscale("log")
    axes.set_xlabel("sites")
    axes.set_ylabel("iterations")
    axes.set_title("over the volume")


def draw_ranks(axes, runs):
    draw_lines(axes, runs, lambda run: run.first("multigrid")["devices"], ("seconds_mean", "seconds_deviation"))
    axes.set_xlabel("ranks")
    axes.set_ylabel("seconds a source")
    axes.set_title("over the ranks")


def draw_schedules(axes, runs):
    run = runs[0]
    solves = [s for s in run.solves if s["solver"] == "multigrid"]
    names = [s["vectors"] for s in solves]
    axes.bar(names, [number(s["seconds_mean"], run.path) for s in solves], color=COLOUR_OF["multigrid"],
             yerr=[number(s["seconds_deviation"], run.path) for s in solves], capsize=3)
    for place, solve in enumerate(solves):
        axes.text(place, 0, f"{solve['iterations_mean']:.1f} iterations\nsetup {solve['setup']['seconds']['whole']:.3g} s",
                  ha="center", va="bottom", color="white", fontsize=8)
    reference = run.first("bicgstab")
    if reference:
        axes.axhline(number(reference["seconds_mean"], run.path), color=COLOUR_OF["bicgstab"], label="bicgstab")
        axes.legend()
    axes.set_xlabel("null vectors of each chirality, level by level")
    axes.set_ylabel("seconds a source")
    axes.set_title("over the null vectors")


DRAW = {"mass": draw_mass, "volume": draw_volume, "ranks": draw_ranks, "schedules": draw_schedules}


def draw(options, _runs=()):
    import style  # which needs matplotlib: --dryrun does not

    found = {part: runs_in(options.output, part) for part in PARTS} if os.path.isdir(options.output) else {}
    found = {part: runs for part, runs in found.items() if runs}
    if not found:
        raise ReportError(f"{options.output}: expected reports of multigrid, found none")
    figure, axes = style.figure(panels=len(found))
    for place, (part, runs) in zip(axes, found.items()):
        DRAW[part](place, runs)
    style.sign(figure, [next(iter(found.values()))[0].report])
    write_picture(figure, options, "multigrid.png")


def is_optional(_run, status):
    """A system that the program refuses, or that a solver does not solve, is shown in the figure."""
    return status in (UNUSABLE_INPUT, NO_CONVERGENCE)


SWEEP = Sweep("multigrid", "multigrid against BiCGstab", "plaquette-multigrid", (("part", 10), ("value", 14)), add_arguments,
              runs, draw, solves=True, any_report=True, is_optional=is_optional, launcher=OVERSUBSCRIBED, output="out/multigrid")


def of_gpus(options):
    """The links of the heat bath are the same on any number of ranks."""
    return ["--gauge", options.heatbath, "--seed", 2, "--kappa", options.kappas[-1], "--csw", options.csw, "--rhs", options.rhs,
            "--batches", options.batches, "--reference", "none", "--modes", 0, "--exceptional", "solve"]


OVER_GPUS = sweep_several.scaling_sweep("multigrid", "plaquette-multigrid", sweep_several.lattice_of, of_gpus)
