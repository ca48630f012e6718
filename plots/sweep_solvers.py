# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of mixed-precision-solver on growing numbers of GPUs (or ranks of the CPU): weak and strong scaling of
BiCGstab in four precision modes. Six right-hand sides are solved one after the other, with the halo overlapped and
not."""

import itertools
import os

from boxes import is_strong_too, whole_of_boxes
from sweep_engine import (Run, Sweep, add_side_by_side, counts, draw_with, launcher_for, parts_of, positive, reports_in, words,
                          write_page)

PARTS = ("strong", "weak", "cpu")
MODES = ("single", "single-half", "double", "double-half")
#: The figures: name of the file, what solver_scaling.py is told.
FIGURES = ("weak", "strong", "efficiency")


def add_arguments(parser):
    parser.add_argument("--gpus", type=counts, default=[1, 2, 4], help="numbers of GPUs (default: 1,2,4)")
    parser.add_argument("--parts", type=words, default=list(PARTS), help=f"of {','.join(PARTS)} (default: all)")
    parser.add_argument("--weak", type=words, default=["32x32x32x32", "24x24x24x32"], help="lattices of a GPU each "
                        "(default: 32x32x32x32,24x24x24x32)")
    parser.add_argument("--strong", type=words, default=["24x24x24x128", "32x32x32x256"], help="lattices of all GPUs "
                        "(default: 24x24x24x128,32x32x32x256)")
    parser.add_argument("--modes", type=words, default=list(MODES), help=f"precisions (default: {','.join(MODES)})")
    parser.add_argument("--overlap", type=words, default=["on", "off"], help="default: on,off")
    parser.add_argument("--gauge", default="weak:0.2", help="configuration; a file's lattice is the one of --strong, which "
                        "then says nothing (default: %(default)s)")
    parser.add_argument("--mass", default="-0.2", help="default: %(default)s, above a hundred iterations on the weak field")
    parser.add_argument("--csw", default="1", help="default: %(default)s")
    parser.add_argument("--rhs", type=positive, default=6, help="right-hand sides, each solved by itself: 6 are the upper two "
                        "spins (default: %(default)s)")
    parser.add_argument("--reconstruct", default="12", help="stored reals a link (default: %(default)s)")
    parser.add_argument("--threads", type=positive, default=None, metavar="N", help="of a rank (default: the cores of this "
                        "host shared among the ranks, at most 16)")
    parser.add_argument("--device", default="gpu", choices=["gpu", "cpu"], help="cpu: ranks of one thread in place of GPUs")
    add_side_by_side(parser)


def weak_problem(text, ranks):
    """The arguments for a lattice of `ranks` such boxes."""
    lattice, grid = whole_of_boxes(text, ranks)
    return ["--lattice", "x".join(map(str, lattice)), "--grid", "x".join(map(str, grid))]


def without_gpu_options(words):
    """What a run on the CPU can be told of these arguments."""
    of_gpu = ("--tune", "--tune-file", "--protocol-seconds", "--halo", "--wait", "--stall-timeout")
    kept, value_follows = [], False
    for word in words:
        if not value_follows and word.split("=")[0] not in of_gpu:
            kept.append(word)
        value_follows = not value_follows and word in of_gpu
    return kept


def runs(options):
    parts, cores = parts_of(options, PARTS), options.cores
    from_file = os.path.exists(options.gauge)
    strong = [""] if from_file else options.strong
    also_strong = options.strong if "strong" in options.parts and not from_file else []
    usual = ["--gauge", options.gauge, "--mass", options.mass, "--csw", options.csw, "--solver", "bicgstab", "--rhs",
             str(options.rhs), "--batch", "1", "--reconstruct", options.reconstruct]

    def made(part, lattice, device, ranks, threads, mode, overlap, problem):
        said = [part, lattice or os.path.basename(options.gauge), str(ranks), mode, overlap]
        name = "-".join(["solve", device, *said]).replace(os.sep, "_") + ".json"
        program = [options.program, "--device", device, *problem, *usual, "--precision", mode, "--overlap", overlap,
                   "--threads", str(threads), *(options.rest if device == "gpu" else without_gpu_options(options.rest))]
        return Run(said, os.path.join(options.output, name), program, launcher_for(options, ranks, threads), threads,
                        ranks if device == "gpu" else 0)

    def scaling(part, lattices, problem_of):
        for lattice, ranks, mode, overlap in itertools.product(lattices, options.gpus, options.modes, options.overlap):
            if overlap == "off" and ranks == 1 and "on" in options.overlap:
                continue  # there is nothing to overlap
            if part == "weak" and is_strong_too(lattice, ranks, also_strong):
                continue  # the figures take it from there
            threads = 1 if options.device == "cpu" else options.threads or max(1, min(16, cores // (options.side_by_side or ranks)))
            yield made(part, lattice, options.device, ranks, threads, mode, overlap, problem_of(lattice, ranks))

    def strong_problem(lattice, _ranks=1):
        return ["--lattice", lattice] if lattice else []

    for part in parts:
        if part == "strong":
            yield from scaling(part, strong, strong_problem)
        elif part == "weak" and not from_file:
            yield from scaling(part, options.weak, weak_problem)
        elif part == "cpu" and options.device == "gpu":
            for mode in options.modes:
                yield made(part, strong[0], "cpu", 1, cores, mode, "on", strong_problem(strong[0]))


def draw(options, _runs=()):
    """The figures of all solves whose reports are there."""
    reports = reports_in(options, "solve-*.json")
    for figure in FIGURES if reports else ():
        draw_with("solver_scaling", reports, os.path.join(options.output, f"solver-{figure}.png"), "--figure", figure)


def draw_and_write(options, runs):
    draw(options, runs)
    write_page(options)


SWEEP = Sweep("solvers", "scaling of solves on GPUs, one rank each", "plaquette-mixed-precision-solver",
              (("part", 8), ("lattice", 14), ("ranks", 6), ("precision", 12), ("overlap", 8)), add_arguments, runs,
              draw_and_write, solves=True, over_gpus=True)
