#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a mini-app over many parameters, one after the other, and draws what came of it.

  sweep.py scaling   dslash-scaling on growing numbers of ranks and threads: strong and weak scaling, all precisions,
                     halo exchange with overlap on and off; then the figures
  sweep.py gpu       dslash-scaling on 1, 2, 4, ... GPUs: weak and strong scaling, the ways to exchange halos, placement,
                     vector operations, latencies, what a performance model needs; then the figures and a page
  sweep.py solver    mixed-precision-solver for every combination of lattices, precisions, solvers and ranks; a table
  sweep.py solvers   mixed-precision-solver on 1, 2, 4, ... GPUs: weak and strong scaling of BiCGstab in four precision
                     modes, halo exchange with overlap on and off, the CPU beside it; then the figures
  sweep.py figures   runs nothing: draws what the sweeps over GPUs left in a folder, and writes the page

Each run leaves a JSON report. A run whose verified report is there already, made by the program as it is, is not
repeated, so that a sweep that was stopped, or whose --time-limit was over, goes on where it was."""

import argparse
import collections
import glob
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import solver_sweep
from boxes import is_strong_too
from report_file import ReportError, load, number, short
from run_estimate import Estimator
from run_queue import RunQueue

UNUSABLE_INPUT, OUTPUT_FAILED, INTERRUPTED = 2, 5, 6
HERE = os.path.dirname(os.path.realpath(__file__))

#: A run: its columns of the table, the file of its report, the program with its arguments, how it is started, the GPUs that
#: it needs (0: nothing may run beside it), and about how many seconds it takes.
Run = collections.namedtuple("Run", "columns path program launcher threads gpus seconds", defaults=(0, 0.0))
#: The programs of the sweeps, as bundles have them.
PROGRAM_OF = {"scaling": "plaquette-dslash-scaling", "gpu": "plaquette-dslash-scaling",
              "solver": "plaquette-mixed-precision-solver", "solvers": "plaquette-mixed-precision-solver"}


def words(text):
    return [word for word in text.split(",") if word]


def point(text):
    """ "4x2": four ranks of two threads."""
    ranks, _, threads = text.partition("x")
    try:
        result = (int(ranks), int(threads))
    except ValueError:
        result = (0, 0)
    if min(result) < 1:
        raise argparse.ArgumentTypeError(f"expected RANKSxTHREADS, found '{text}'")
    return result


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, found '{text}'")
    return int(text)


def points(text):
    return [point(word) for word in words(text)]


def counts(text):
    numbers = [positive(word) for word in words(text)]
    if not numbers or sorted(set(numbers)) != numbers:
        raise argparse.ArgumentTypeError(f"expected growing numbers of GPUs, found '{text}'")
    return numbers


def usable_cores():
    return len(os.sched_getaffinity(0))


def usual_points(cores, with_ranks):
    """Powers of two, and all cores: as ranks of one thread, and as threads of one rank."""
    counts = [1]
    while counts[-1] * 2 <= cores:
        counts.append(counts[-1] * 2)
    if counts[-1] != cores:
        counts.append(cores)
    by_ranks = [(n, 1) for n in counts] if with_ranks else [(1, 1)]
    return by_ranks + [(1, n) for n in counts[1:]]


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, found '{text}'")
    return value


def add_done(parser):
    parser.add_argument("--done", metavar="FOLDER", action="append", default=[], help="a folder with reports of runs that "
                        "need not be repeated; may be said several times")


def add_shared(parser):
    parser.add_argument("--program", help="the program to run (default: the one that is built here)")
    parser.add_argument("--programs", metavar="FOLDER", help="take the program from there: a bundle, or what it was unpacked to")
    parser.add_argument("--output", required=True, help="folder of the reports and figures")
    add_done(parser)
    parser.add_argument("--time-limit", type=seconds, metavar="SECONDS", default=float("inf"), help="of the whole sweep: runs "
                        "that would not end in time are left out, and the ones under way ended; the same command goes on "
                        "later")
    parser.add_argument("--launcher", default="mpirun --bind-to none -n {ranks}",
                        help="what starts several ranks; {ranks}, {threads} and {nodes} are filled in "
                             "(default: %(default)s)")
    parser.add_argument("--ranks-per-node", type=positive, default=1, metavar="N",
                        help="for {nodes}: ranks / N, rounded up (default: 1)")
    parser.add_argument("--force", action="store_true", help="repeat runs whose reports are there")
    parser.add_argument("--dryrun", action="store_true", help="print the commands, of GPUs with an estimate of the time, and "
                        "run nothing")
    parser.add_argument("--no-figures", action="store_true", help="neither figures nor page: they can be drawn elsewhere")
    parser.add_argument("rest", nargs="*", help="behind --: arguments of every run")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    scaling = kinds.add_parser("scaling", help="strong and weak scaling of the operators")
    scaling.add_argument("--size", default="small", choices=["nano", "small", "reference", "target"],
                         help="step of the ladder (default: small, minutes on two cores)")
    scaling.add_argument("--scaling", type=words, default=["strong", "weak"], help="default: strong,weak")
    scaling.add_argument("--points", type=points, help="RANKSxTHREADS,... (default: powers of two up to the cores of "
                         "this host, as ranks of one thread and as threads of one rank; weak scaling leaves out the "
                         "latter)")
    scaling.add_argument("--operators", default="hopping,clover_schur", help="default: %(default)s")
    scaling.add_argument("--layouts", default="even-odd", help="default: %(default)s")
    scaling.add_argument("--precisions", default="single,double,half", help="the first is that of the figure of merit "
                         "(default: %(default)s)")
    scaling.add_argument("--reconstruct", default="18,12", help="stored reals a link (default: %(default)s)")
    scaling.add_argument("--rhs", default="1", help="right-hand sides (default: %(default)s)")
    scaling.add_argument("--placement", type=words, default=["good"], help="good, bad, none or several of them "
                         "(default: good)")
    add_shared(scaling)
    gpu = kinds.add_parser("gpu", help="dslash-scaling on GPUs, one rank each")
    gpu.add_argument("--gpus", type=counts, default=[1, 2, 4], help="numbers of GPUs (default: 1,2,4)")
    gpu.add_argument("--parts", type=words, default=list(GPU_PARTS), help="of " + ",".join(GPU_PARTS) + " (default: all, in "
                     "this order)")
    gpu.add_argument("--weak", type=words, default=["32x32x32x32", "24x24x24x32"], help="lattices of a GPU each "
                     "(default: 32x32x32x32,24x24x24x32)")
    gpu.add_argument("--strong", type=words, default=["32x32x32x64", "24x24x24x128", "32x32x32x256"], help="lattices of all "
                     "GPUs (default: 32x32x32x64,24x24x24x128,32x32x32x256)")
    gpu.add_argument("--operators", default="hopping,clover_schur", help="default: %(default)s")
    gpu.add_argument("--precisions", default="single,half,double", help="the first is that of the figure of merit "
                     "(default: %(default)s)")
    gpu.add_argument("--reconstruct", default="12", help="stored reals a link (default: %(default)s)")
    gpu.add_argument("--halo", type=words, default=["staged", "peer", "mpi", "nccl"], help="for the part policies "
                     "(default: staged,peer,mpi,nccl)")
    gpu.add_argument("--kernels", type=words, default=list(KERNEL_LATTICES), help="lattices of one GPU for the part kernels "
                     "(default: what is left of the others on more GPUs)")
    gpu.add_argument("--threads", type=positive, default=None, metavar="N", help="of a rank (default: the cores of this "
                     "host shared among the ranks, at most 8)")
    gpu.add_argument("--device", default="gpu", choices=["gpu"], help=argparse.SUPPRESS)
    add_side_by_side(gpu)
    add_shared(gpu)
    solver = kinds.add_parser("solver", help="a table of solves")
    solver.add_argument("--lattices", type=words, default=["4x4x4x8", "8x8x8x8"], help="default: 4x4x4x8,8x8x8x8")
    solver.add_argument("--precisions", type=words, default=["double", "single"], help="default: double,single")
    solver.add_argument("--solvers", type=words, default=["bicgstab"], help="default: bicgstab")
    solver.add_argument("--ranks", type=words, default=["1"], help="numbers of ranks (default: 1)")
    add_shared(solver)
    solvers = solver_sweep.add_arguments(kinds, words, counts, positive)
    add_side_by_side(solvers)
    add_shared(solvers)
    figures = kinds.add_parser("figures", help="the figures and the page of the sweeps over GPUs")
    figures.add_argument("--output", required=True, help="folder of the reports and figures")
    add_done(figures)
    options = parser.parse_args()
    if options.kind != "figures":
        options.program = program_of(options)
    return options


def add_side_by_side(parser):
    parser.add_argument("--cores", type=positive, default=usable_cores(), metavar="N", help="of this host (default: those "
                        "that may be used; for --dryrun elsewhere)")
    parser.add_argument("--side-by-side", type=positive, default=0, metavar="N", help="this host has N GPUs: runs on fewer go "
                        "side by side, each with GPUs and a share of the cores of its own")


def program_of(options):
    """The program to run, in one of the places where a bundle or a build has it."""
    if options.programs is None:
        if options.program is None:
            raise ReportError("--program: expected a program, or --programs and a folder of them")
        return options.program
    name = PROGRAM_OF[options.kind]
    places = [os.path.join(options.programs, *inside) for inside in
              ((name,), ("bin", name), ("miniapps", name.removeprefix("plaquette-"), name))]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    if options.dryrun:
        return places[1]
    raise ReportError(f"--programs: expected {name} in '{options.programs}' or its bin, found none")


def launcher_for(options, ranks, threads):
    try:
        nodes = -(-ranks // options.ranks_per_node)
        launcher = shlex.split(options.launcher.format(ranks=ranks, threads=threads, nodes=nodes))
    except (KeyError, IndexError, ValueError):
        raise ReportError(f"--launcher: expected nothing but {{ranks}}, {{threads}} and {{nodes}} in braces, "
                          f"found '{options.launcher}'") from None
    if not launcher:
        raise ReportError("--launcher: expected a command, found nothing")
    return launcher if ranks > 1 else []


def has_launcher(options):
    program = launcher_for(options, 2, 1)[0]
    if options.dryrun or shutil.which(program) is not None:
        return True
    print(f"sweep.py: {program} is not here: one rank only", file=sys.stderr)
    return False


def scaling_runs(options):
    chosen = options.points or usual_points(usable_cores(), has_launcher(options))
    several_threads = {threads for ranks, threads in chosen if ranks > 1}
    for scaling, placement in itertools.product(options.scaling, options.placement):
        for ranks, threads in dict.fromkeys(chosen):
            if scaling == "weak" and ranks == 1 and threads > 1 and threads not in several_threads:
                continue  # one rank has one lattice, however many threads it has: that is strong scaling
            path = os.path.join(options.output, f"scaling-{scaling}-{options.size}-{ranks}x{threads}-{placement}.json")
            program = [options.program, "--size", options.size, "--scaling", scaling, "--threads", str(threads),
                       "--operator", options.operators, "--layout", options.layouts, "--precision", options.precisions,
                       "--reconstruct", options.reconstruct, "--rhs", options.rhs, "--placement", placement,
                       *options.rest]
            yield Run([scaling, f"{ranks} x {threads}", placement], path, program,
                      launcher_for(options, ranks, threads), threads)


#: What the sweep over GPUs is made of, most telling first.
GPU_PARTS = ("weak", "strong", "latency", "policies", "vectors", "cpu", "placement", "kernels", "waiting")
#: Lattices of one GPU for the model: what is left of the lattices above on more GPUs.
KERNEL_LATTICES = ("4x4x4x8", "8x8x8x8", "8x8x8x16", "8x8x16x16", "8x16x16x16", "16x16x16x16", "16x16x16x32", "16x16x32x32",
                   "16x32x32x32")


def without(words, option):
    """Arguments without an option and its value: where it would be refused as meaningless."""
    kept, skip = [], False
    for word in words:
        if skip or word.startswith(option + "="):
            skip = False
        elif word == option:
            skip = True
        else:
            kept.append(word)
    return kept


def gpu_runs(options):
    """One rank a GPU. The columns of the table: part, lattice, GPUs, what is special."""
    unknown = [part for part in options.parts if part not in GPU_PARTS]
    if unknown:
        raise ReportError(f"--parts: expected {', '.join(GPU_PARTS)}, found '{unknown[0]}'")
    most = options.gpus[-1]
    usual = ["--operator", options.operators, "--layout", "even-odd", "--precision", options.precisions, "--reconstruct",
             options.reconstruct]
    on_first = ["--lattice", options.strong[0]] if options.strong else []
    strong = options.strong if "strong" in options.parts else []

    def made(part, lattice, gpus, words, special="", problem=(), threads=None):
        threads = threads or options.threads or max(1, min(16, options.cores // (options.side_by_side or gpus)))
        name = "-".join(word for word in ("gpu", part, lattice, f"{gpus}", special.replace(" ", "-")) if word)
        program = [options.program, "--device", "gpu", *problem, "--threads", str(threads), *words,
                   *(options.rest if part != "latency" else without(options.rest, "--samples"))]
        return Run([part, lattice, str(gpus), special], os.path.join(options.output, name + ".json"), program,
                   launcher_for(options, gpus, threads), threads, gpus)

    for part in (part for part in GPU_PARTS if part in options.parts):
        if part == "weak":
            for lattice, gpus in itertools.product(options.weak, options.gpus):
                if not is_strong_too(lattice, gpus, strong):  # else the figures take it from there
                    yield made(part, lattice, gpus, usual, problem=["--local-lattice", lattice])
        elif part == "strong":
            for lattice, gpus in itertools.product(options.strong, options.gpus):
                yield made(part, lattice, gpus, usual, problem=["--lattice", lattice])
        elif part == "policies" and most > 1 and on_first:
            for halo in options.halo:
                yield made(part, options.strong[0], most, [*usual, "--halo", halo], halo, on_first)
            yield made(part, options.strong[0], most, [*usual, "--halo", "staged", "--wait", "block"], "staged block", on_first)
        elif part == "waiting" and most > 1 and on_first:
            # More ranks than cores: a rank that spins keeps another from what it waits for.
            cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:max(1, most // 2)]))
            for wait in ("spin", "block"):
                run = made(part, options.strong[0], most, [*usual, "--halo", "staged", "--wait", wait], f"few cores {wait}",
                           on_first, threads=1)
                yield run._replace(launcher=["taskset", "-c", cores, *run.launcher])
        elif part == "placement" and most > 1 and on_first:
            for halo in ("auto", "staged"):
                yield made(part, options.strong[0], most, [*usual, "--placement", "bad", "--halo", halo], f"bad {halo}",
                           on_first)
        elif part == "vectors":
            vectors = ["--operator", "axpy,dot,norm2", "--layout", "even-odd", "--precision", options.precisions]
            for lattice, gpus in itertools.product(options.weak[-1:], options.gpus):
                yield made(part, lattice, gpus, vectors, problem=["--local-lattice", lattice])
        elif part == "latency":  # nothing beside it: it times the host's memory too
            yield made(part, "", min(most, 2), ["--latency"])._replace(gpus=0)
        elif part == "kernels":
            for lattice in options.kernels:
                yield made(part, lattice, 1, usual, problem=["--lattice", lattice])
        elif part == "cpu" and on_first:  # what stands behind -- is about GPUs
            cores = options.cores
            program = [options.program, "--device", "cpu", *on_first, "--threads", str(cores), *usual, "--placement", "good",
                       "--samples", "5"]
            yield Run([part, options.strong[0], "0", f"{cores} cores"],
                      os.path.join(options.output, f"cpu-{options.strong[0]}.json"), program,
                      launcher_for(options, 1, cores), cores)


def solver_runs(options):
    for lattice, precision, solver, ranks in itertools.product(options.lattices, options.precisions, options.solvers,
                                                               options.ranks):
        if not ranks.isdigit() or int(ranks) < 1:
            raise ReportError(f"--ranks: expected numbers of ranks, found '{ranks}'")
        path = os.path.join(options.output, f"{lattice}-{precision}-{solver}-{ranks}ranks.json")
        rest = options.rest or ["--gauge", "weak:0.2", "--mass", "0.1", "--csw", "1"]
        program = [options.program, "--lattice", lattice, "--precision", precision, "--solver", solver, *rest]
        yield Run([lattice, precision, solver, ranks], path, program, launcher_for(options, int(ranks), 1), None)


def revision_of(program):
    """What --version says of the program: the revision that it was built from, and whether files differed from it."""
    try:
        said = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False).stdout
    except OSError as problem:
        raise ReportError(f"{program}: cannot be started: {problem.strerror}") from None
    _, _, build = said.partition("(revision ")
    revision, _, changed = build.strip().rstrip(")").partition(", ")
    return revision, bool(changed)


def report_of(run, revision, options):
    """The verified report of this very run by this revision, if it is there. Another run's is not overwritten unasked."""
    for path in [run.path] + [os.path.join(folder, os.path.basename(run.path)) for folder in options.done]:
        if options.force or not os.path.exists(path):
            continue
        report = load(path)
        made_by = str(report["parameters"].get("command", "")).split()[1:]
        if made_by[:len(run.program) - 1] != run.program[1:]:
            if path != run.path:
                continue
            raise ReportError(f"{path}: expected the report of '{' '.join(run.program[1:])}', found that of "
                              f"'{' '.join(made_by)}' (--force runs it again, --output takes another folder)")
        made_from = report["build"].get("revision"), report["build"].get("dirty") is True
        if report["verified"] is True and made_from == revision:
            return path
    return None


def result_columns(path):
    """What the table says of a report."""
    report = load(path)
    verdict = "PASSED" if report["verified"] is True else "FAILED"
    fom = short(number(report["fom"].get("value", "nan"), path))
    solve = report["solves"][0] if report["solves"] else None
    if solve is None:
        return f"{fom:>10} {report['fom'].get('unit', ''):<9} {verdict:>8}"
    return (f"{solve.get('iterations', '-'):>10} {short(number(solve.get('seconds', 'nan'), path)):>10} {fom:>10} "
            f"{verdict:>8}")


HEADERS = {"gpu": f"{'part':<10} {'lattice':<14} {'GPUs':<5} {'special':<14} {'FOM':>10} {'':<9} {'verified':>8}",
           "scaling": f"{'scaling':<10} {'ranks x threads':<16} {'placement':<10} {'FOM':>10} {'':<9} {'verified':>8}",
           "solver": f"{'lattice':<14} {'precision':<10} {'solver':<9} {'ranks':>5} {'iterations':>10} {'seconds':>10} "
                     f"{'FOM':>10} {'verified':>8}",
           "solvers": solver_sweep.HEADER}


def row(kind, columns):
    widths = {"scaling": (10, 16, 10), "gpu": (10, 14, 5, 14), "solver": (14, 10, 9, 5),
              "solvers": solver_sweep.WIDTHS}[kind]
    return " ".join(f"{text:<{width}}" for text, width in zip(columns, widths))


#: Sweeps whose runs need GPUs, so that they may go side by side and end in one page.
OVER_GPUS = ("gpu", "solvers")
FIGURES = {"scaling": ("scaling", "bandwidth", "halo"),
           "gpu": ("gpu_scaling", "policies", "latency", "vectors", "model", "cores_per_gpu")}


def run_script(script, *arguments):
    return subprocess.run([sys.executable, os.path.join(HERE, script + ".py"), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


def reports_in(options, *patterns):
    """Those of this sweep and of earlier ones, in its folder and in those of --done; of the same name the first."""
    found = {}
    for folder, pattern in itertools.product([options.output, *options.done], patterns):
        for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
            found.setdefault(os.path.basename(path), path)
    return [path for _, path in sorted(found.items())]


def draw_solvers(options):
    """The figures of all solves whose reports are there."""
    reports = reports_in(options, "solve-*.json")
    for figure in solver_sweep.FIGURES if reports else ():
        picture = os.path.join(options.output, f"solver-{figure}.png")
        done = run_script("solver_scaling", *reports, "--figure", figure, "--output", picture, "--force")
        print(f"picture    {picture}" if done.returncode == 0 else f"no picture {done.stderr.strip()}", flush=True)


def draw(options, runs):
    """The figures of operators; one that has nothing to show says so and is no failure."""
    if options.kind == "scaling":
        reports = [run.path for run in runs if os.path.exists(run.path)]
    else:  # with those of parts that were run before
        reports = reports_in(options, "gpu-*.json", "cpu-*.json")
    if not reports:
        print("no pictures: no run left a report", flush=True)
        return
    solves = reports_in(options, "solve-*.json") if options.kind != "scaling" else []
    for script in FIGURES["scaling" if options.kind == "scaling" else "gpu"]:
        name = f"{script}-{options.size}.png" if options.kind == "scaling" else script.replace("_", "-") + ".png"
        picture = os.path.join(options.output, name)
        done = run_script(script, *reports, *(solves if script == "model" else []), "--output", picture, "--force")
        print(f"picture    {picture}" if done.returncode == 0 else f"no picture {done.stderr.strip()}", flush=True)
        if script == "model" and done.returncode == 0:
            print("\n".join(done.stdout.rstrip().split("\n")[:-1]), flush=True)


def write_page(options):
    """One page of all that was swept over GPUs, operators and solves."""
    reports = reports_in(options, "gpu-*.json", "cpu-*.json", "solve-*.json")
    if reports:
        page = os.path.join(options.output, "report.html")
        done = run_script("report", *reports, "--html", page, "--force")
        print(f"page       {page}" if os.path.exists(page) else f"no page    {done.stderr.strip()}", flush=True)


def ordered(options, runs):
    """With estimates. Side by side: of the two kinds of scaling first what needs one GPU, then what needs most, then the
    rest, each of these the longest first, so that little waits."""
    def estimated(runs):
        estimator = Estimator()
        return [run._replace(seconds=estimator.seconds(
            run.program, run.gpus or (2 if "--latency" in run.program else 1), run.threads or 1,
            options.cores * run.gpus // options.side_by_side if options.side_by_side and run.gpus else options.cores))
            for run in runs]

    runs = estimated(runs)
    if not options.side_by_side:
        return runs
    groups = [("weak", "strong") if run.columns[0] in ("weak", "strong") else (run.columns[0],) for run in runs]
    most = max((run.gpus for run in runs), default=0)
    places = {run.path: (groups.index(group), (run.gpus != 1, run.gpus != most), -run.seconds)
              for run, group in zip(runs, groups)}
    return estimated(sorted(runs, key=lambda run: places[run.path]))


def side_by_side_seconds(options, runs):
    """About how long the runs take together."""
    free = [0.0] * max(1, options.side_by_side)
    for run in runs:
        gpus = run.gpus if 0 < run.gpus <= len(free) else len(free)
        free.sort()
        free[:gpus] = [free[gpus - 1] + run.seconds] * gpus
    return max(free)


def print_commands(options, runs):
    for run in runs:
        threads = [f"OMP_NUM_THREADS={run.threads}"] if run.threads is not None else []
        about = f"   # about {run.seconds:.0f} s" if run.seconds else ""
        print(shlex.join(threads + run.launcher + run.program + ["--json", run.path]) + about)
    if options.kind in OVER_GPUS:
        print(f"# {len(runs)} runs, about {side_by_side_seconds(options, runs):.0f} s")


def sweep(options, runs):
    """All runs; the worst exit status."""
    print(HEADERS[options.kind])
    begin, revision = time.monotonic(), revision_of(options.program)
    there = {run.path: report_of(run, revision, options) for run in runs}
    for run in runs:
        if there[run.path]:
            print(row(options.kind, run.columns), result_columns(there[run.path]) + "   (was there)", flush=True)
    worst, wanted = 0, [run for run in runs if not there[run.path]]
    queue = RunQueue(options.side_by_side if options.kind in OVER_GPUS else 0, options.time_limit)
    for n, ended in enumerate(queue.run(wanted)):
        run, status = ended.run, ended.status
        print(row(options.kind, run.columns), end=" ")
        if status is None:
            worst = max(worst, INTERRUPTED)
            print(ended.message, flush=True)
            continue
        # A way to exchange halos that this machine does not have is no failure of the sweep.
        optional = options.kind == "gpu" and run.columns[0] == "policies" and status == UNUSABLE_INPUT
        worst = worst if optional else max(worst, status)
        if status == 0 or os.path.exists(run.path):
            print(result_columns(run.path) + (f" {ended.seconds:>7.1f} s" if options.kind in OVER_GPUS else ""), flush=True)
        else:
            print(f"exit status {status}: {ended.message}", flush=True)
        if sys.stderr.isatty() and n + 1 < len(wanted):
            spent = time.monotonic() - begin
            print(f"\r{n + 1} of {len(wanted)} runs, {spent:.0f} s, about {spent / (n + 1) * (len(wanted) - n - 1):.0f} "
                  "s to go", end="\r", file=sys.stderr, flush=True)
    return worst


def main():
    options = arguments()
    if options.kind == "figures":
        if not reports_in(options, "gpu-*.json", "cpu-*.json", "solve-*.json"):
            raise ReportError(f"--output: expected reports of sweeps over GPUs in '{options.output}', found none")
        draw(options, [])
        draw_solvers(options)
        write_page(options)
        return 0
    if options.kind == "solvers":
        runs = list(solver_sweep.runs(options, Run, launcher_for, options.cores))
    else:
        runs = list({"scaling": scaling_runs, "gpu": gpu_runs, "solver": solver_runs}[options.kind](options))
    if options.kind in OVER_GPUS:
        runs = ordered(options, runs)
    if options.dryrun:
        print_commands(options, runs)
        return 0
    try:
        os.makedirs(options.output, exist_ok=True)
    except OSError as problem:
        print(f"sweep.py: {options.output}: cannot be made: {problem.strerror}", file=sys.stderr)
        return OUTPUT_FAILED
    status = sweep(options, runs)
    print(f"reports    {options.output}")
    if options.no_figures:
        return status
    if options.kind in FIGURES:
        draw(options, runs)
    elif options.kind == "solvers":
        draw_solvers(options)
    if options.kind in OVER_GPUS:
        write_page(options)
    return status


def stop(_number, _frame):
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, stop)
    try:
        sys.exit(main())
    except ReportError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        sys.exit(UNUSABLE_INPUT)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OUTPUT_FAILED)
    except KeyboardInterrupt:
        print("\nsweep.py: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(INTERRUPTED)
