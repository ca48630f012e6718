# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of dslash-scaling on 1, 2, 4, ... GPUs: weak and strong scaling, the ways to exchange halos, placement, vector
operations, latencies, and lattices of one GPU."""

import argparse
import itertools
import os

from boxes import is_strong_too
from report_file import UNUSABLE_INPUT
from sweep_engine import (Run, Sweep, add_side_by_side, counts, draw_with, launcher_for, parts_of, positive,
                          reports_in, words, write_page)

FIGURES = ("gpu_scaling", "policies", "latency", "vectors", "model", "cores_per_gpu")
#: What the sweep over GPUs is made of, most telling first.
GPU_PARTS = ("weak", "strong", "latency", "policies", "vectors", "cpu", "placement", "kernels", "waiting")
#: Lattices of one GPU: what is left of the lattices above on more GPUs.
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
    parts = parts_of(options, GPU_PARTS)
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

    for part in parts:
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
        elif part == "latency":  # alone: it times the host's memory too
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


def add_arguments(gpu):
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


def draw(options, _runs=()):
    """With the reports of parts that were run before."""
    reports = reports_in(options, "gpu-*.json", "cpu-*.json")
    if not reports:
        print("no pictures: no run left a report", flush=True)
    for script in FIGURES if reports else ():
        if script != "model":
            draw_with(script, reports, os.path.join(options.output, script.replace("_", "-") + ".png"))
        elif options.program:
            said = draw_with(script, reports, os.path.join(options.output, "model.png"), "--program", options.program)
            print(said.rpartition("\n")[0].rpartition("\n")[0], flush=True)  # but for the picture's name


def draw_and_write(options, runs):
    draw(options, runs)
    write_page(options)


def is_optional(run, status):
    """A way to exchange halos that this machine does not have is no failure of the sweep."""
    return run.columns[0] == "policies" and status == UNUSABLE_INPUT


SWEEP = Sweep("gpu", "dslash-scaling on GPUs, one rank each", "plaquette-dslash-scaling",
              (("part", 10), ("lattice", 14), ("GPUs", 5), ("special", 14)), add_arguments, gpu_runs, draw_and_write,
              over_gpus=True, is_optional=is_optional)
