# SPDX-License-Identifier: BSD-3-Clause
"""Strong and weak scaling of multigrid, overlap-propagator, nodal-dg and hmc over GPUs, or over ranks of the CPU: the
runs of `sweep multigrid|overlap|dg|hmc --gpus 1,2,4`. And `sweep several`: the same problems of these programs and of
mixed-precision-solver on one GPU and on more of the same machine, in one command.

Each of them ends in one table (scaling.md, scaling.csv), a picture where matplotlib is there, and remarks. Of each
figure the table has the seconds, the efficiency, and the parts: of a solve by multigrid its lattices, of the overlap its
stages, of nodal-dg the shares of a stage of Runge-Kutta, of a trajectory the solves of each factor. A remark says where more GPUs gain less than they should, and
which part did not shrink."""

import argparse
import collections
import csv
import io
import math
import os

from boxes import whole_of_boxes
from gpu_data import text_of_extents
from report_file import ReportError, load, number, short
from sweep_engine import (OVERSUBSCRIBED, Sweep, counts, program_in, reports_in, run_of, words, write_picture)

SCALINGS = ("strong", "weak")
#: Below this efficiency a remark says why.
POOR = 0.8

#: One quantity of a report. `work`: what the seconds grow with, which differs from run to run (iterations, applications
#: of H, the degree of a polynomial). `parts`: {name: seconds}, measured apart, so that they need not add up.
Figure = collections.namedtuple("Figure", "name seconds work parts")

#: A figure on some number of ranks. `problem` is what the same line over ranks has in common.
Point = collections.namedtuple("Point", "program scaling problem ranks figure report path")


# --- Figures of a report ----------------------------------------------------------------------------------------------


def of_multigrid(report, path, scaling):
    """Of weak scaling a lattice is named by its place: its extents grow."""
    found = []
    for solve in report["solves"]:
        if solve["solver"] != "multigrid":
            continue
        parts = {f"{text_of_extents(level['lattice']) if scaling == 'strong' else f'level {i}'}, n = {level['n']}":
                 number(level["seconds"], path) for i, level in enumerate(solve.get("levels", []))}
        found.append(Figure(f"a source, batches of {solve['batch']}", number(solve["seconds_mean"], path),
                            number(solve["iterations_mean"], path), parts))
        if "setup" in solve:  # of the first batch
            seconds = solve["setup"]["seconds"]
            found.append(Figure("set-up", number(seconds["whole"], path), 1.0,
                                {name: number(value, path) for name, value in seconds.items() if name != "whole"}))
    return found


def of_overlap(report, path, _scaling):
    found, observables = [], report["observables"]
    sign, stages = observables.get("sign"), observables.get("calculation", [])
    if sign and isinstance(sign.get("seconds_a_vector"), dict):
        for way in ("double", "mixed"):
            if way in sign["seconds_a_vector"]:
                found.append(Figure(f"sign function, {way}, a vector", number(sign["seconds_a_vector"][way], path),
                                    float(sign.get("degree") or 1), {}))
    parts = {}
    for stage in stages:
        seconds = number(stage["seconds"], path)
        parts[stage["stage"]] = seconds
        work = number(stage["applications_double"], path) + 0.5 * number(stage["applications_single"], path)
        if stage["stage"] != "sign function":
            found.append(Figure(stage["stage"], seconds, max(work, 1.0), {}))
    if len(stages) > 2:
        found.append(Figure("all stages", sum(parts.values()), 1.0, parts))
    return found


def of_dg(report, path, _scaling):
    found = []
    for figure in report["figures"]:
        if "elements" not in figure:
            continue
        seconds = number(figure["seconds"]["median"], path)
        parts = {name: share * seconds for name, share in figure.get("shares", {}).items() if isinstance(share, (int, float))}
        found.append(Figure(f"a stage, {figure['operator']}, N = {figure['order']}", seconds, 1.0, parts))
    return found


def of_solver(report, path, _scaling):
    found = []
    for solve in report["solves"]:
        batches = solve.get("batches") or []
        each = [number(batch["seconds"]["median"], path) / len(batch["columns"]) for batch in batches]
        seconds = sum(each) / len(each) if each else number(solve["seconds"], path)
        found.append(Figure(f"a source, {solve['solver']} {solve['precision']}", seconds, float(solve["iterations"]), {}))
    return found


def of_hmc(report, path, _scaling):
    """The parts are shares of the last trajectory."""
    last = report["observables"].get("solves_of_last", {})
    solves = last.get("factors", {})
    parts = {f"solves, {name}": number(solve["seconds"], path) for name, solve in solves.items()}
    if "multigrid" in last:
        parts["set-up of multigrid"] = number(last["multigrid"]["seconds"], path)
    if parts:
        parts["forces, links, momenta"] = number(last["trajectory_seconds"], path) - sum(parts.values())
    iterations = sum(number(solve["iterations"], path) for solve in solves.values())
    return [Figure("a trajectory", number(report["observables"]["seconds_a_trajectory"]["median"], path), iterations or 1.0,
                   parts)]


FIGURES_OF = {"multigrid": of_multigrid, "overlap-propagator": of_overlap, "nodal-dg": of_dg, "hmc": of_hmc,
              "mixed-precision-solver": of_solver}


def problem_of(report, scaling, ranks):
    """The lattice or mesh, of one rank where scaling is weak."""
    parameters = report["parameters"]
    if report["app"] == "nodal-dg":
        elements = int(report["observables"]["elements"])
        return f"{elements // ranks if scaling == 'weak' else elements} elements"
    extents = parameters["lattice"]
    if scaling == "weak":
        extents = [length // n for length, n in zip(extents, parameters["grid"])]
    return text_of_extents(extents)


def points_of(path, scaling=None):
    """The points of a report whose file is named by one of the sweeps: row-SCALING-NAME-RANKS.json."""
    report = load(path)
    if report["app"] not in FIGURES_OF:
        return []
    scaling = scaling or os.path.basename(path).split("-")[1]
    try:
        ranks = int(report["machine"]["ranks"])
        problem = problem_of(report, scaling, ranks)
        return [Point(report["app"], scaling, problem, ranks, figure, report, path)
                for figure in FIGURES_OF[report["app"]](report, path, scaling)]
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        raise ReportError(f"{path}: expected a report as the schema has it, found {problem!r}") from None


def key_of(p):
    return p.program, p.scaling, p.problem, p.figure.name


def lines_of(points):
    """{(program, scaling, problem, name of the figure): points in the order of ranks}. One rank is the same for both kinds of
    scaling, and is run for the strong one where both have this problem."""
    lines = collections.defaultdict(dict)
    for p in points:
        lines[key_of(p)][p.ranks] = p
    for path in {p.path for p in points if p.scaling == "strong" and p.ranks == 1}:
        for p in points_of(path, "weak"):
            if key_of(p) in lines:
                lines[key_of(p)].setdefault(1, p)
    return {key: [by_ranks[n] for n in sorted(by_ranks)] for key, by_ranks in lines.items()}


# --- Efficiency, and why it is what it is -----------------------------------------------------------------------------


def shrinks_by(first, p):
    """What the seconds of `first` are divided by on the ranks of p, if nothing is lost."""
    return p.ranks / first.ranks if p.scaling == "strong" else 1.0


def efficiency(first, p, a_unit=False):
    """1 if nothing is lost. `a_unit`: of the seconds of an iteration, an application, a degree."""
    def seconds(point):
        return point.figure.seconds / (point.figure.work if a_unit else 1.0)

    return seconds(first) / (shrinks_by(first, p) * seconds(p)) if seconds(p) > 0 else math.nan


def worst_part(first, p):
    """(name, seconds, those it should take) of the part that loses most, or None."""
    lost = [(p.figure.parts[name] - seconds / shrinks_by(first, p), name) for name, seconds in first.figure.parts.items()
            if name in p.figure.parts]
    if not lost or max(lost)[0] <= 0:
        return None
    name = max(lost)[1]
    return name, p.figure.parts[name], first.figure.parts[name] / shrinks_by(first, p)


def place(ranks, report):
    what = "GPU" if report["parameters"].get("device") == "gpu" else "rank"
    return f"{ranks} {what}{'s' if ranks > 1 else ''}"


def in_units(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{short(seconds / size)} {unit}"
    return f"{short(seconds / 1e-6)} us"


def remark_of(first, p):
    """Why a point is slower than its first one promises; empty where it is not."""
    reached = efficiency(first, p)
    if not reached < POOR:
        return ""
    own = in_units(first.figure.seconds / shrinks_by(first, p))
    slower = ", more than on " + place(first.ranks, first.report) if (
        p.scaling == "strong" and p.figure.seconds >= first.figure.seconds) else ""
    text = (f"{p.program}, {p.scaling}, {p.problem}, {p.figure.name}: {place(p.ranks, p.report)} take "
            f"{in_units(p.figure.seconds)}{slower}; {own} would be {place(first.ranks, first.report)}'s share")
    worst = worst_part(first, p)
    if worst:
        name, seconds, share = worst
        text += f". Most is lost in '{name}': {in_units(seconds)} where " + (
            f"{in_units(share)} would do" if share > 0 else f"{place(first.ranks, first.report)} takes none")
    elif efficiency(first, p, True) >= POOR:
        text += (f". It has more to do: {short(p.figure.work)} iterations, applications or terms, not "
                 f"{short(first.figure.work)}")
    elif not first.figure.parts:
        text += ". Its report does not divide this time"
    return text


# --- The table --------------------------------------------------------------------------------------------------------

COLUMNS = ("program", "scaling", "problem", "figure", "part", "gpus", "seconds", "efficiency", "efficiency_a_unit", "share",
           "verified", "revision", "device", "report")


def rows_of(lines):
    """Dictionaries with COLUMNS, those of a figure followed by those of its parts."""
    rows = []
    for (program, scaling, problem, name), line in lines.items():
        first = line[0]
        for p in line:
            usual = {"program": program, "scaling": scaling, "problem": problem, "figure": name, "gpus": p.ranks,
                     "verified": "yes" if p.report["verified"] is True else "no",
                     "revision": str(p.report["build"].get("revision", "unknown"))[:12]
                     + ("+changes" if p.report["build"].get("dirty") else ""),
                     "device": p.report["parameters"].get("device", "cpu"), "report": os.path.basename(p.path)}
            rows.append({**usual, "part": "", "seconds": short(p.figure.seconds), "efficiency": f"{efficiency(first, p):.3f}",
                         "efficiency_a_unit": f"{efficiency(first, p, True):.3f}", "share": ""})
            whole = sum(p.figure.parts.values())
            for part, seconds in p.figure.parts.items():
                alone = first.figure.parts.get(part)
                reached = alone / (shrinks_by(first, p) * seconds) if alone and seconds > 0 else None
                rows.append({**usual, "part": part, "seconds": short(seconds), "efficiency_a_unit": "",
                             "efficiency": f"{reached:.3f}" if reached is not None else "",
                             "share": f"{seconds / whole:.3f}" if whole > 0 else ""})
    return rows


def csv_of(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def markdown_of(rows, remarks):
    shown = [("program", "program"), ("scaling", "scaling"), ("problem", "problem"), ("figure", "figure"), ("gpus", "GPUs"),
             ("seconds", "seconds"), ("efficiency", "efficiency"), ("efficiency_a_unit", "a unit of work"),
             ("share", "share"), ("verified", "verified")]
    if all(row["device"] != "gpu" for row in rows):
        shown = [(key, "ranks" if key == "gpus" else heading) for key, heading in shown]
    lines = ["| " + " | ".join(heading for _, heading in shown) + " |", "|" + "---|" * len(shown)]
    for row in rows:
        cells = {**row, "figure": f"- {row['part']}" if row["part"] else row["figure"]}
        if row["part"]:
            cells.update(program="", scaling="", problem="", verified="")
        lines.append("| " + " | ".join(str(cells[key]) for key, _ in shown) + " |")
    lines += ["", "Efficiency: seconds on the fewest, over seconds times the growth of GPUs; of weak scaling the ratio of seconds. "
              "A unit of work is an iteration, an application of H, a degree of the polynomial. Parts are timed apart."]
    return "\n".join(lines + [f"\nRemark: {remark}." for remark in remarks]) + "\n"


def written(options, name, text):
    path = os.path.join(options.output, name)
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".part", path)
    return path


def summarise(options, _runs=()):
    """Writes the table of all reports in the folder, and prints the remarks."""
    paths = reports_in(options, "row-*.json")
    points = [p for path in paths for p in points_of(path)]
    if not points:
        raise ReportError(f"{options.output}: expected reports of this sweep (row-*.json), found none")
    lines = lines_of(points)
    rows = rows_of(lines)
    remarks = [text for line in lines.values() for p in line[1:] for text in [remark_of(line[0], p)] if text]
    table = written(options, "scaling.md", markdown_of(rows, remarks))
    print(f"table      {table}\ntable      {written(options, 'scaling.csv', csv_of(rows))}")
    for remark in remarks:
        print(f"remark     {remark}", flush=True)


# --- The picture ------------------------------------------------------------------------------------------------------


def draw_line(axes, key, line):
    """Bars of a figure over ranks, its parts on top of each other where it has some; above them the efficiency."""
    program, scaling, problem, name = key
    names = list(dict.fromkeys(part for p in line for part in p.figure.parts))
    for at, p in enumerate(line):
        bottom, whole = 0.0, sum(p.figure.parts.values())
        scale = p.figure.seconds / whole if whole > 0 else 1.0  # parts were timed apart
        for n, part in enumerate(names):
            height = scale * p.figure.parts.get(part, 0.0)
            axes.bar(at, height, 0.6, bottom=bottom, color=f"C{n % 6}", label=part if at == 0 else None)
            bottom += height
        if not names:
            axes.bar(at, p.figure.seconds, 0.6, color="C0")
        axes.annotate(f"{100 * efficiency(line[0], p):.0f}%", (at, p.figure.seconds), ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(line)), [str(p.ranks) for p in line])
    axes.set_xlabel("GPUs" if line[0].report["parameters"].get("device") == "gpu" else "ranks")
    axes.set_ylabel("seconds, and efficiency")
    axes.set_title(f"{program}, {scaling}, {problem}\n{name}", fontsize=9)
    axes.grid(False, axis="x")
    axes.margins(y=0.2)
    if names:
        axes.legend(fontsize=6.5)


def draw(options, _runs=()):
    try:
        import style  # matplotlib is not needed for the table
    except ImportError:
        print("no picture  matplotlib is not here: the tables are all; plots/sweep.py draws them elsewhere", flush=True)
        return
    lines = lines_of([p for path in reports_in(options, "row-*.json") for p in points_of(path)])
    lines = {key: line for key, line in lines.items() if len(line) > 1}
    if not lines:
        print("no picture  a line needs at least two numbers of GPUs", flush=True)
        return
    style.apply()
    columns = min(4, len(lines))
    rows = -(-len(lines) // columns)
    figure, axes = style.plt.subplots(rows, columns, figsize=(3.6 * columns, 3.4 * rows + 0.6), squeeze=False)
    flat = [place for row in axes for place in row]
    for place_of_line, (key, line) in zip(flat, lines.items()):
        draw_line(place_of_line, key, line)
    for empty in flat[len(lines):]:
        empty.axis("off")
    style.sign(figure, [line[-1].report for line in lines.values()][:2])
    write_picture(figure, options, "scaling.png")


# --- Runs -------------------------------------------------------------------------------------------------------------


def add_arguments(parser, strong, weak, what):
    """The options of scaling over GPUs, for the sweep of one program."""
    parser.add_argument("--gpus", type=counts, default=None, metavar="N,N,...", help="scaling over these numbers of GPUs (with --device "
                        "cpu: ranks of one thread), in place of all else")
    parser.add_argument("--scaling", type=words, default=list(SCALINGS), help="default: strong,weak")
    parser.add_argument("--strong", type=words, default=words(strong), metavar="SIZE,...", help=f"with --gpus: {what} of all GPUs "
                        "(default: %(default)s)")
    parser.add_argument("--weak", type=words, default=words(weak), metavar="SIZE,...", help=f"with --gpus: {what} of a GPU each "
                        "(default: %(default)s)")


def is_chosen(options):
    """Whether the sweep of a program is one over GPUs."""
    return bool(getattr(options, "gpus", None)) and not getattr(options, "case", False)


def scaling_sweep(name, program, problem, arguments):
    """The sweep over GPUs of one program.

    problem     problem(scaling, size, ranks): the arguments that say what is solved
    arguments   arguments(options): those of every run"""

    def runs(options):
        for scaling in options.scaling:
            if scaling not in SCALINGS:
                raise ReportError(f"--scaling: expected strong or weak, found '{scaling}'")
            for size in options.strong if scaling == "strong" else options.weak:
                for ranks in options.gpus:
                    if scaling == "weak" and ranks == 1 and size in options.strong and "strong" in options.scaling:
                        continue
                    yield run_of(options, f"row-{scaling}-{size}-{ranks}", [scaling, size, ranks],
                                 [*problem(scaling, size, ranks), *arguments(options), *on_device(options)], ranks)

    return Sweep(name, f"scaling of {name} over GPUs", program, (("scaling", 8), ("size", 14), ("ranks", 5)), None, runs, draw,
                 launcher=OVERSUBSCRIBED, summarise=summarise)


def on_device(options):
    if options.device not in ("cpu", "gpu"):
        raise ReportError(f"--device: expected cpu or gpu with --gpus, found '{options.device}'")
    return ["--device", options.device, *(["--threads", 1] if options.device == "cpu" else []), *options.rest]


def lattice_of(scaling, size, ranks):
    """--lattice, and of weak scaling the grid that makes boxes of this size of it."""
    if scaling == "strong":
        return ["--lattice", size]
    lattice, grid = whole_of_boxes(size, ranks)
    return ["--lattice", "x".join(map(str, lattice)), "--grid", "x".join(map(str, grid))]


def box_of(scaling, size, ranks):
    """--box, of weak scaling longer along z."""
    try:
        cells = [int(word) for word in size.split("x")]
    except ValueError:
        cells = []
    if len(cells) != 3 or min(cells) < 1:
        raise ReportError(f"--{scaling}: expected cells of a box like 30x30x30, found '{size}'")
    cells[2] *= ranks if scaling == "weak" else 1
    sides = f"-1,1,-1,1,-1,{2 * ranks - 1 if scaling == 'weak' else 1}"
    return ["--box", "x".join(map(str, cells)), f"--box-sides={sides}"]


# --- One command for the rows of several programs ----------------------------------------------------------------------

MULTIGRID, OVERLAP, DG = "plaquette-multigrid", "plaquette-overlap-propagator", "plaquette-nodal-dg"
HMC = "plaquette-hmc"
SOLVER = "plaquette-mixed-precision-solver"
CONFIGURATION = "plaquette-make-configuration"
#: Links of the heat bath in equilibrium, made once for all rows that read them.
LINKS = "--lattice 32x32x32x64 --beta 6.0 --sweeps 300 --seed 2"
#: Size: what is solved. name: (program, arguments). LINKS stands for the file of such links.
ROWS = {
    "full": {
        "multigrid": (MULTIGRID, "--gauge LINKS --seed 2 --csw 1.769 --kappa 0.1350 --rhs 4 "
                      "--batches 1,4 --reference none --modes 0 --exceptional solve"),
        "sign": (OVERLAP, "--lattice 24x24x24x64 --gauge heatbath:6.0:300 --modes 40 --until sign"),
        "overlap": (OVERLAP, "--lattice 16x16x16x32 --gauge heatbath:6.0:300 --modes 80 --overlap-modes 30 --masses 0.03,0.1"),
        "dg": (DG, "--equations maxwell --order 4 --precision single --box 30x30x30 --modes 2,0,2 --steps 100"),
        "bicgstab": (SOLVER, "--gauge LINKS --seed 2 --csw 1.769 --kappa 0.1345 --solver bicgstab "
                     "--precision double-half --rhs 4 --batch 1 --repeat 1"),
        "hmc": (HMC, "--size device --solvers bicgstab-half,cg-half,cg-half"),
    },
    "small": {
        "multigrid": (MULTIGRID, "--lattice 4x4x4x8 --gauge weak:0.2 --mass 0.1 --rhs 2 --batches 1,2 --reference none --modes 0 "
                      "--whole-from never --exceptional solve"),
        "dg": (DG, "--equations maxwell --order 2 --precision single --box 4x4x4 --modes 2,0,2 --steps 20"),
        "bicgstab": (SOLVER, "--lattice 4x4x4x8 --gauge weak:0.2 --mass 0.3 --solver bicgstab --precision double-half --rhs 2 "
                     "--batch 1 --repeat 1"),
        "hmc": (HMC, "--lattice 4x4x4x8 --start heatbath:5.7:20 --kappa 0.12 --csw 1 --splitting 0.2 --solvers cg-double "
                "--integrator omelyan:3(gauge,light,heavy,det) --tau 0.5 --trajectories 1"),
    },
}


def add_several(parser):
    parser.add_argument("--gpus", type=counts, default=[1, 2], metavar="N,N,...", help="default: 1,2")
    parser.add_argument("--size", choices=sorted(ROWS), default="full", help="small: seconds, to try the command")
    parser.add_argument("--rows", type=words, default=None, help="some of multigrid,sign,overlap,dg,bicgstab,hmc (default: all)")
    parser.add_argument("--gauge", default=None, metavar="FILE", help="links of 32^3x64 in place of the heat bath's")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu", help=argparse.SUPPRESS)


def several_runs(options):
    rows = ROWS[options.size]
    chosen = options.rows if options.rows is not None else list(rows)
    folder = options.programs
    if folder is None:
        raise ReportError("--programs: expected a folder with the programs: a bundle, or a build")

    def made(name, program, arguments, ranks):
        of_program = argparse.Namespace(**{**vars(options), "program": program_in(folder, program, options.dryrun)})
        return run_of(of_program, f"row-strong-{name}-{options.size}-{ranks}", [name, ranks], arguments, ranks)

    for name in chosen:
        if name not in rows:
            raise ReportError(f"--rows: expected {', '.join(rows)}, found '{name}'")
    links = options.gauge
    if links is None and any("LINKS" in rows[name][1] for name in chosen):
        links = os.path.join(options.output, "links.nersc")
        yield made("links", CONFIGURATION, [*LINKS.split(), "--output", links, "--force", *on_device(options)], 1)
    for name in chosen:
        program, text = rows[name]
        arguments = [links if argument == "LINKS" else argument for argument in text.split()]
        for ranks in options.gpus:
            yield made(name, program, [*arguments, *on_device(options)], ranks)


SWEEP = Sweep("several", "one GPU and more: multigrid, overlap, nodal-dg, BiCGstab and hmc, in one command", MULTIGRID,
              (("row", 10), ("GPUs", 5)), add_several, several_runs, draw, launcher=OVERSUBSCRIBED, summarise=summarise,
              output="out/several")
