# SPDX-License-Identifier: BSD-3-Clause
"""Runs a declared sweep: a program over many parameters, one run after the other or several at the same time on different
GPUs. Each run leaves a JSON report. A run is not repeated where
its verified report exists, made by the program as it is. So a sweep that was stopped, or whose --time-limit was over,
continues where it was.

A sweep is declared by a module that holds a `Sweep` (sweep_scaling.py is a short one): its options, its runs, its
figures. This module does the rest: resume, time limit, dry run, table, launching, exit status."""

import argparse
import collections
import glob
import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

from noise import noise_of
from report_file import OUTPUT_FAILED, ReportError, load, number, short
from run_estimate import Estimator
from run_queue import RunQueue

INTERRUPTED = 6  # exit status, as the mini-apps have it
HERE = os.path.dirname(os.path.realpath(__file__))

#: A run: its columns of the table, the file of its report, the program with its arguments, how it is started, its threads.
#: Then the GPUs that it needs (0: nothing may run at the same time), and about how many seconds it takes.
Run = collections.namedtuple("Run", "columns path program launcher threads gpus seconds", defaults=(0, 0.0))

#: What starts ranks where there may be more of them than cores.
OVERSUBSCRIBED = "mpirun --oversubscribe --bind-to none -n {ranks}"


def official_classes():
    """Reads common/app/classes.json."""
    with open(os.path.join(HERE, "..", "common", "app", "classes.json"), encoding="utf-8") as file:
        return json.load(file)


class Sweep:
    """What a sweep declares.

    name, help     the word behind `sweep.py`, and what it is for
    program        the mini-app that it runs, as bundles have it
    columns        (heading, width) of the parameters in its table
    solves         whether the table shows iterations and seconds of a solve, or the figure of merit alone
    add_arguments  adds its options to a parser
    runs           yields the `Run`s for its options
    draw           draws what the reports say (options, runs)
    summarise      makes tables of them, with or without --no-figures (options, runs)
    over_gpus      runs need GPUs: they may go side by side, have estimates of their time, and end in one page
    any_report     a report that is there counts whoever made it, and without a program the sweep only draws
    is_optional    tells whether a run with this exit status is no failure of the sweep
    launcher       what starts several ranks
    output         default of --output"""

    def __init__(self, name, help, program, columns, add_arguments, runs, draw=None, solves=False, over_gpus=False,
                 any_report=False, is_optional=lambda run, status: False, launcher="mpirun --bind-to none -n {ranks}",
                 output=None, summarise=None):
        self.name, self.help, self.program, self.columns = name, help, program, columns
        self.add_arguments, self.runs, self.draw = add_arguments, runs, draw
        self.solves, self.over_gpus, self.any_report = solves, over_gpus, any_report
        self.is_optional, self.launcher, self.output, self.summarise = is_optional, launcher, output, summarise

    def header(self):
        results = f"{'iterations':>10} {'seconds':>10} {'FOM':>10}" if self.solves else f"{'FOM':>10} {'':<9}"
        return f"{self.row([heading for heading, _ in self.columns])} {results} {'verified':>8}"

    def row(self, texts):
        return " ".join(f"{text:<{width}}" for text, (_, width) in zip(texts, self.columns))


# --- Options ----------------------------------------------------------------------------------------------------------


def words(text):
    return [word for word in text.split(",") if word]


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number, found '{text}'")
    return int(text)


def counts(text):
    numbers = [positive(word) for word in words(text)]
    if not numbers or sorted(set(numbers)) != numbers:
        raise argparse.ArgumentTypeError(f"expected growing numbers of GPUs, found '{text}'")
    return numbers


def usable_cores():
    return len(os.sched_getaffinity(0))


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


def add_shared(parser, sweep):
    """The options that all sweeps have."""
    parser.add_argument("--program", help="the program to run (default: the one that is built here)")
    parser.add_argument("--programs", metavar="FOLDER", help="take the program from there: a bundle, or what it was unpacked to")
    parser.add_argument("--output", required=sweep.output is None, default=sweep.output, help="folder of the reports and figures")
    add_done(parser)
    parser.add_argument("--time-limit", type=seconds, metavar="SECONDS", default=float("inf"), help="of the whole sweep: runs "
                        "that would not end in time are left out, and the ones under way ended; the same command goes on "
                        "later")
    parser.add_argument("--launcher", default=sweep.launcher,
                        help="what starts several ranks; {ranks}, {threads} and {nodes} are filled in "
                             "(default: %(default)s)")
    parser.add_argument("--ranks-per-node", type=positive, default=1, metavar="N",
                        help="for {nodes}: ranks / N, rounded up (default: 1)")
    parser.add_argument("--force", action="store_true", help="repeat runs whose reports are there")
    parser.add_argument("--dryrun", action="store_true", help="print the commands, of GPUs with an estimate of the time, and "
                        "run nothing")
    parser.add_argument("--no-figures", action="store_true", help="neither figures nor page: they can be drawn elsewhere")
    parser.add_argument("rest", nargs="*", help="behind --: arguments of every run")


def add_side_by_side(parser):
    parser.add_argument("--cores", type=positive, default=usable_cores(), metavar="N", help="of this host (default: those "
                        "that may be used; for --dryrun elsewhere)")
    parser.add_argument("--side-by-side", type=positive, default=0, metavar="N", help="this host has N GPUs: runs on fewer go "
                        "side by side, each with GPUs and a share of the cores of its own")


def parts_of(options, known):
    """--parts in the order in which they are run."""
    for part in options.parts:
        if part not in known:
            raise ReportError(f"--parts: expected {', '.join(known)}, found '{part}'")
    return [part for part in known if part in options.parts]

def program_in(folder, name, dryrun=False):
    """The path of a program in a folder: a bundle, what one was unpacked to, or a build."""
    places = [os.path.join(folder, *inside) for inside in
              ((name,), ("bin", name), ("miniapps", name.removeprefix("plaquette-"), name))]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    if dryrun:
        return places[1]
    raise ReportError(f"--programs: expected {name} in '{folder}' or its bin, found none")


def program_of(sweep, options):
    """The program to run, in one of the places where a bundle or a build has it."""
    if options.programs is None:
        if options.program is None and (sweep.any_report or sweep.summarise):
            return sweep.program if options.dryrun else None
        if options.program is None:
            raise ReportError("--program: expected a program, or --programs and a folder of them")
        return options.program
    return program_in(options.programs, sweep.program, options.dryrun)


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


def run_of(options, name, columns, arguments, ranks=1):
    """A run of the program with these arguments, whose report has this name."""
    return Run([str(column) for column in columns], os.path.join(options.output, name + ".json"),
               [options.program, *map(str, arguments)], launcher_for(options, ranks, 1), None)


# --- Reports that are there -------------------------------------------------------------------------------------------


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


def report_of(sweep, run, revision, options):
    """The verified report of this very run by this revision, if it is there. Another run's is not overwritten unasked."""
    for path in [run.path] + [os.path.join(folder, os.path.basename(run.path)) for folder in options.done]:
        if options.force or not os.path.exists(path):
            continue
        if sweep.any_report:
            return path
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


def result_columns(sweep, path):
    """What the table says of a report."""
    report = load(path)
    verdict = "PASSED" if report["verified"] is True else "FAILED"
    fom = short(number(report["fom"].get("value", "nan"), path))
    solve = report["solves"][0] if report["solves"] else {}
    if not sweep.solves:
        return f"{fom:>10} {report['fom'].get('unit', ''):<9} {verdict:>8}"
    return (f"{solve.get('iterations', '-'):>10} {short(number(solve.get('seconds', 'nan'), path)):>10} {fom:>10} "
            f"{verdict:>8}")


def print_doubts(path):
    """Says below a row of the table which checks failed, and what makes its figures doubtful, as ./plaquette validate
    does."""
    report = load(path)
    for check in report["checks"]:
        if not check["passed"]:
            print(f"           failed: {check['name']}: {check['value']} > {check['tolerance']}", flush=True)
    for remark in noise_of(report):
        print(f"           remark: {remark}", flush=True)


def reports_in(options, *patterns):
    """Those of this sweep and of earlier ones, in its folder and in those of --done; of the same name the first."""
    found = {}
    for folder, pattern in itertools.product([options.output, *options.done], patterns):
        for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
            found.setdefault(os.path.basename(path), path)
    return [path for _, path in sorted(found.items())]


# --- Figures ----------------------------------------------------------------------------------------------------------


def run_script(script, *arguments):
    return subprocess.run([sys.executable, os.path.join(HERE, script + ".py"), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


def draw_with(script, reports, picture, *arguments):
    """Runs a script of plots/; one that has nothing to show says so and is no failure. Returns what it printed."""
    done = run_script(script, *reports, *arguments, "--output", picture, "--force")
    print(f"picture    {picture}" if done.returncode == 0 else f"no picture {done.stderr.strip()}", flush=True)
    return done.stdout if done.returncode == 0 else ""


def write_picture(figure, options, name):
    """Writes a figure (of style.figure) among the reports."""
    import style  # matplotlib is not needed where nothing is drawn

    path = os.path.join(options.output, name)
    style.write(figure, path, True)
    print(f"picture    {path}", flush=True)


def write_page(options):
    """One page of all that was swept over GPUs, operators and solves."""
    reports = reports_in(options, "gpu-*.json", "cpu-*.json", "solve-*.json")
    if reports:
        page = os.path.join(options.output, "report.html")
        done = run_script("report", *reports, "--html", page, "--force")
        print(f"page       {page}" if os.path.exists(page) else f"no page    {done.stderr.strip()}", flush=True)


# --- Runs -------------------------------------------------------------------------------------------------------------


def ordered(options, runs):
    """With estimates. Side by side, of the two kinds of scaling first come runs on one GPU, then those on most, then
the rest. Of each the longest come first, so that little waits."""
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


def print_commands(sweep, options, runs):
    for run in runs:
        threads = [f"OMP_NUM_THREADS={run.threads}"] if run.threads is not None else []
        about = f"   # about {run.seconds:.0f} s" if run.seconds else ""
        print(shlex.join(threads + run.launcher + run.program + ["--json", run.path]) + about)
    if sweep.over_gpus:
        print(f"# {len(runs)} runs, about {side_by_side_seconds(options, runs):.0f} s")


def run_all(sweep, options, runs):
    """All runs; the worst exit status."""
    print(sweep.header())
    begin, revision = time.monotonic(), None if sweep.any_report else revision_of(options.program)
    there = {run.path: report_of(sweep, run, revision, options) for run in runs}
    for run in runs:
        if there[run.path]:
            print(sweep.row(run.columns), result_columns(sweep, there[run.path]) + "   (was there)", flush=True)
            print_doubts(there[run.path])
    worst, wanted = 0, [run for run in runs if not there[run.path]]
    queue = RunQueue(options.side_by_side if sweep.over_gpus else 0, options.time_limit)
    for n, ended in enumerate(queue.run(wanted)):
        run, status = ended.run, ended.status
        print(sweep.row(run.columns), end=" ")
        if status is None:
            worst = max(worst, INTERRUPTED)
            print(ended.message, flush=True)
            continue
        worst = worst if sweep.is_optional(run, status) else max(worst, status)
        if status == 0 or os.path.exists(run.path):
            print(result_columns(sweep, run.path) + (f" {ended.seconds:>7.1f} s" if sweep.over_gpus else ""), flush=True)
            print_doubts(run.path)
        else:
            print(f"exit status {status}: {ended.message}", flush=True)
        if sys.stderr.isatty() and n + 1 < len(wanted):
            spent = time.monotonic() - begin
            print(f"\r{n + 1} of {len(wanted)} runs, {spent:.0f} s, about {spent / (n + 1) * (len(wanted) - n - 1):.0f} "
                  "s to go", end="\r", file=sys.stderr, flush=True)
    return worst


def perform(sweep, options):
    """Runs the sweep and draws; its exit status."""
    options.program = program_of(sweep, options)
    runs = list(sweep.runs(options)) if options.program is not None else []  # then reports that are there are drawn
    if sweep.over_gpus:
        runs = ordered(options, runs)
    if options.dryrun:
        print_commands(sweep, options, runs)
        return 0
    status = 0
    if options.program is not None:
        try:
            os.makedirs(options.output, exist_ok=True)
        except OSError as problem:
            print(f"sweep.py: {options.output}: cannot be made: {problem.strerror}", file=sys.stderr)
            return OUTPUT_FAILED
        status = run_all(sweep, options, runs)
        print(f"reports    {options.output}")
    if sweep.summarise:
        sweep.summarise(options, runs)
    if not options.no_figures and sweep.draw:
        sweep.draw(options, runs)
    return status
