# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of dslash-scaling over growing numbers of ranks and threads: strong and weak scaling, all precisions, halo
exchange with overlap on and off."""

import argparse
import itertools
import os
import re

from report_file import ReportError
from sweep_engine import Run, Sweep, draw_with, has_launcher, launcher_for, official_classes, usable_cores, words

FIGURES = ("scaling", "bandwidth", "halo")


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


def points(text):
    return [point(word) for word in words(text)]


def usual_points(cores, with_ranks):
    """Powers of two, and all cores: as ranks of one thread, and as threads of one rank."""
    counts = [1]
    while counts[-1] * 2 <= cores:
        counts.append(counts[-1] * 2)
    if counts[-1] != cores:
        counts.append(cores)
    by_ranks = [(n, 1) for n in counts] if with_ranks else [(1, 1)]
    return by_ranks + [(1, n) for n in counts[1:]]


CLASSES = list(official_classes()["classes"])


def add_arguments(scaling):
    scaling.add_argument("--size", default="small", choices=["small", "reference", "target", *CLASSES],
                         help="an official class (strong scaling: classes are a weak series themselves), or small, reference, "
                         "target (default: small, minutes on two cores)")
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


def scaling_runs(options):
    chosen = options.points or usual_points(usable_cores(), has_launcher(options))
    if options.size in CLASSES and options.size != "nano":
        options.scaling = [kind for kind in options.scaling if kind != "weak"]
        if not options.scaling:
            raise ReportError(f"--size {options.size}: expected --scaling strong; run --size device, node, rack, ... on 1, 8, 64, "
                              "... devices for the weak series of the classes")
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


def draw(options, runs):
    reports = [run.path for run in runs if os.path.exists(run.path)]
    if not reports:
        print("no pictures: no run left a report", flush=True)
    for script in FIGURES if reports else ():
        said = draw_with(script, reports, os.path.join(options.output, f"{script}-{options.size}.png"))
        for remark in re.findall(r"(?m)^remark .*$", said):
            print(remark, flush=True)


SWEEP = Sweep("scaling", "strong and weak scaling of the operators", "plaquette-dslash-scaling",
              (("scaling", 10), ("ranks x threads", 16), ("placement", 10)), add_arguments, scaling_runs, draw)
