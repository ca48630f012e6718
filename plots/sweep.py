#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a mini-app over many parameters, and draws what came of it.

  sweep.py scaling    dslash-scaling on growing numbers of ranks and threads: strong and weak scaling, all precisions,
                      halo exchange with overlap on and off
  sweep.py gpu        dslash-scaling on 1, 2, 4, ... GPUs: weak and strong scaling, the ways to exchange halos, placement,
                      vector operations, latencies, small lattices; then a page
  sweep.py solver     mixed-precision-solver for every combination of lattices, precisions, solvers and ranks; a table
  sweep.py solvers    mixed-precision-solver on 1, 2, 4, ... GPUs: weak and strong scaling of BiCGstab in four precision
                      modes, halo exchange with overlap on and off, the CPU for comparison; then a page
  sweep.py multigrid  plaquette-multigrid over mass, volume, ranks and null vectors, against BiCGstab
  sweep.py dg         nodal-dg over polynomial orders, and the page's case
  sweep.py overlap    figures 2, 8, 9, 10 of overlap-propagator's paper
  sweep.py hmc        dH of trajectories against their steps, acceptance against the variance of dH
                      (these four with --gpus 1,2,4: strong and weak scaling over GPUs, a table with lattices, stages or
                      factors)
  sweep.py several    multigrid, overlap, nodal-dg, BiCGstab and hmc on one GPU and on two of the same machine: a table
  sweep.py figures    runs nothing: draws what the sweeps over GPUs left in a folder, and writes the page

Each run leaves a JSON report. A run whose report is there is not repeated, so that a sweep that was stopped, or whose
--time-limit was over, continues where it was (sweep_engine.py)."""

import argparse
import os
import signal
import sys

import sweep_dg
import sweep_gpu
import sweep_hmc
import sweep_multigrid
import sweep_overlap
import sweep_scaling
import sweep_several
import sweep_solver
import sweep_solvers
from report_file import OUTPUT_FAILED, UNUSABLE_INPUT, ReportError
from sweep_engine import INTERRUPTED, add_done, add_shared, perform, reports_in, write_page

SWEEPS = {module.SWEEP.name: module.SWEEP for module in
          (sweep_scaling, sweep_gpu, sweep_solver, sweep_solvers, sweep_multigrid, sweep_dg, sweep_overlap, sweep_hmc,
           sweep_several)}
#: The same programs over GPUs, with --gpus.
OVER_GPUS = {module.SWEEP.name: module.OVER_GPUS for module in (sweep_multigrid, sweep_dg, sweep_overlap, sweep_hmc)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for sweep in SWEEPS.values():
        options = kinds.add_parser(sweep.name, help=sweep.help)
        sweep.add_arguments(options)
        add_shared(options, sweep)
    figures = kinds.add_parser("figures", help="the figures and the page of the sweeps over GPUs")
    figures.add_argument("--output", required=True, help="folder of the reports and figures")
    figures.add_argument("--program", help="plaquette-dslash-scaling, for what its --dryrun expects")
    add_done(figures)
    return parser.parse_args()


def draw_figures(options):
    """Of all sweeps over GPUs in a folder."""
    if not reports_in(options, "gpu-*.json", "cpu-*.json", "solve-*.json"):
        raise ReportError(f"--output: expected reports of sweeps over GPUs in '{options.output}', found none")
    sweep_gpu.draw(options)
    sweep_solvers.draw(options)
    write_page(options)
    return 0


def main():
    options = arguments()
    if options.kind == "figures":
        return draw_figures(options)
    over_gpus = options.kind in OVER_GPUS and sweep_several.is_chosen(options)
    if getattr(options, "device", "") is None:
        options.device = "gpu" if over_gpus else "cpu"
    return perform((OVER_GPUS if over_gpus else SWEEPS)[options.kind], options)


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
    except BrokenPipeError:  # the reader of the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(OUTPUT_FAILED)
    except OSError as error:
        print(f"sweep.py: {error.filename}: cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(OUTPUT_FAILED)
    except KeyboardInterrupt:
        print("\nsweep.py: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(INTERRUPTED)
