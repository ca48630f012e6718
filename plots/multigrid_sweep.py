#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes and draws the figures of plaquette-multigrid: iterations and seconds of multigrid and BiCGstab over the mass, over
the volume and over the number of ranks, and several numbers of null vectors on one system. Reports that are there already
are not made again, so that a sweep goes on where it ended, and those of another machine may be put beside."""

import argparse
import os
import subprocess
import sys

from report_file import ReportError, load, number

PARTS = ("mass", "volume", "ranks", "schedules")
HERE = os.path.dirname(os.path.abspath(__file__))
CONFIGURATION = os.path.normpath(os.path.join(HERE, "../data/beta6.0_8x8x8x16.nersc"))
COLOURS = {"multigrid": "#0072b2", "bicgstab": "#d55e00"}
UNUSABLE, NO_CONVERGENCE = 2, 3


def words(text):
    return [word for word in text.split(",") if word]


def runs_of(arguments):
    """(name of the report, arguments of the program, ranks) of the sweep."""
    action = ["--csw", arguments.csw, "--rhs", arguments.rhs, "--batches", 1, "--exceptional", "solve", *arguments.rest]
    gauge = ["--gauge", arguments.gauge]
    kappa = ["--kappa", arguments.kappas[-1]]
    if "mass" in arguments.parts:
        for k in arguments.kappas:
            yield f"mass-{k}", [*gauge, "--kappa", k, *action], 1
    if "volume" in arguments.parts:
        for lattice in arguments.lattices:
            yield f"volume-{lattice}", ["--lattice", lattice, "--gauge", arguments.heatbath, *kappa, *action], 1
    if "ranks" in arguments.parts:
        for ranks in arguments.ranks:
            yield f"ranks-{ranks}", [*gauge, *kappa, *action, *(["--threads", 1] if arguments.device == "cpu" else [])], ranks
    if "schedules" in arguments.parts:
        yield "schedules", [*gauge, *kappa, *action, "--schedules", arguments.schedules], 1


def make(arguments):
    os.makedirs(arguments.output, exist_ok=True)
    for name, options, ranks in runs_of(arguments):
        path = os.path.join(arguments.output, name + ".json")
        if os.path.exists(path) and not arguments.dryrun:
            continue
        start = [] if ranks == 1 else ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
        command = [*start, arguments.program, *map(str, options), "--device", arguments.device, "--json", path]
        print(" ".join(command), flush=True)
        if arguments.dryrun:
            continue
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == UNUSABLE:
            print(f"{name} is left out: the program refuses it", flush=True)
        elif done.returncode not in (0, 1, NO_CONVERGENCE):
            sys.exit(done.returncode)
        print("\n".join(done.stdout.rstrip("\n").split("\n")[-2:]), flush=True)


class Run:
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
    return [Run(os.path.join(folder, file)) for file in sorted(os.listdir(folder))
            if file.startswith(part) and file.endswith(".json")]


def draw_lines(axes, runs, x, keys):
    """Means and deviations of `keys` = (mean, deviation) over x(run), a line a solver; crosses where one has not converged."""
    for solver, colour in COLOURS.items():
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
    draw_lines(axes, runs, Run.kappa, ("iterations_mean", "iterations_deviation"))
    axes.set_xlabel("kappa (lighter quarks to the right)")
    axes.set_ylabel("iterations")
    axes.set_title("over the mass")


def draw_volume(axes, runs):
    draw_lines(axes, runs, Run.sites, ("iterations_mean", "iterations_deviation"))
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
    axes.bar(names, [number(s["seconds_mean"], run.path) for s in solves], color=COLOURS["multigrid"],
             yerr=[number(s["seconds_deviation"], run.path) for s in solves], capsize=3)
    for place, solve in enumerate(solves):
        axes.text(place, 0, f"{solve['iterations_mean']:.1f} iterations\nsetup {solve['setup']['seconds']['whole']:.3g} s",
                  ha="center", va="bottom", color="white", fontsize=8)
    reference = run.first("bicgstab")
    if reference:
        axes.axhline(number(reference["seconds_mean"], run.path), color=COLOURS["bicgstab"], label="bicgstab")
        axes.legend()
    axes.set_xlabel("null vectors of each chirality, level by level")
    axes.set_ylabel("seconds a source")
    axes.set_title("over the null vectors")


DRAW = {"mass": draw_mass, "volume": draw_volume, "ranks": draw_ranks, "schedules": draw_schedules}


def draw(arguments):
    import style  # which needs matplotlib: --dryrun does not

    found = {part: runs_in(arguments.output, part) for part in PARTS} if os.path.isdir(arguments.output) else {}
    found = {part: runs for part, runs in found.items() if runs}
    if not found:
        raise ReportError(f"{arguments.output}: expected reports of multigrid, found none")
    figure, axes = style.figure(panels=len(found))
    for place, (part, runs) in zip(axes, found.items()):
        DRAW[part](place, runs)
    style.sign(figure, [next(iter(found.values()))[0].report])
    path = os.path.join(arguments.output, "multigrid.png")
    style.write(figure, path, True)
    print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", help="plaquette-multigrid; none: only draw")
    parser.add_argument("--output", default="out/multigrid", help="folder of reports and figure (default: %(default)s)")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
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
    parser.add_argument("--dryrun", action="store_true", help="print the commands and run nothing")
    parser.add_argument("rest", nargs="*", help="behind --: arguments of every run")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"--parts: expected {', '.join(PARTS)}, found '{part}'")
    try:
        if arguments.program:
            make(arguments)
        if not arguments.dryrun:
            draw(arguments)
    except (ReportError, OSError) as problem:
        print(f"{os.path.basename(sys.argv[0])}: {problem}", file=sys.stderr)
        sys.exit(UNUSABLE)


if __name__ == "__main__":
    main()
