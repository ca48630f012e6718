# SPDX-License-Identifier: BSD-3-Clause
"""The sweep of plaquette-hmc, and its figure: |dH| of one trajectory against the length of a step, and the acceptance
of chains against the variance of dH. With --gpus strong and weak scaling of a trajectory with two light quarks
(sweep_several.py)."""

import argparse
import re

import sweep_several
from sweep_engine import OVERSUBSCRIBED, Sweep, draw_with, official_classes, parts_of, positive, reports_in, run_of, words

PARTS = ("steps", "acceptance")


def integrators(text):
    """ "leapfrog:8,omf4:2": schemes with the steps of a trajectory."""
    found = words(text)
    for word in found:
        if not re.fullmatch(r"[a-z0-9-]+:[1-9]\d*", word):
            raise argparse.ArgumentTypeError(f"expected SCHEME:STEPS, found '{word}'")
    return found


def add_arguments(parser):
    parser.add_argument("--device", choices=("cpu", "gpu"), default=None, help="default: cpu, with --gpus gpu")
    parser.add_argument("--parts", type=words, default=list(PARTS), help="of " + ",".join(PARTS) + " (default: all)")
    parser.add_argument("--lattice", default="4x4x4x4", help="of both parts (default: %(default)s)")
    parser.add_argument("--beta", default="6.0", help="of both parts, which have no quarks (default: %(default)s)")
    parser.add_argument("--steps", type=integrators, metavar="SCHEME:STEPS,...",
                        default=integrators("leapfrog:8,leapfrog:16,leapfrog:32,leapfrog:64,omf4:2,omf4:4,omf4:8,omf4:16"),
                        help="of the part steps: one trajectory each (default: leapfrog of 8 to 64 steps, omf4 of 2 to 16)")
    parser.add_argument("--acceptance", type=integrators, metavar="SCHEME:STEPS,...",
                        default=integrators("leapfrog:5,leapfrog:6,leapfrog:8,leapfrog:10,leapfrog:12,leapfrog:16"),
                        help="of the part acceptance: a chain each (default: leapfrog of 5 to 16 steps)")
    parser.add_argument("--trajectories", type=positive, default=None, metavar="N",
                        help="of a chain (default: 400), with --gpus of a run (default: 2)")
    problem = official_classes()["programs"]["hmc"]
    fixed, suggested = problem["fixed"], problem["suggested"]["all"]
    parser.add_argument("--kappa", default=str(fixed["kappa"]), help="with --gpus: of two flavours (default: %(default)s)")
    parser.add_argument("--csw", default=str(fixed["clover_spatial"]), help="with --gpus (default: %(default)s)")
    parser.add_argument("--splitting", default=",".join(map(str, suggested["splitting"])), help="with --gpus (default: %(default)s)")
    parser.add_argument("--solvers", default="bicgstab-half,cg-half,cg-half", help="with --gpus (default: %(default)s)")
    parser.add_argument("--integrator", default=suggested["integrator"], help="with --gpus (default: %(default)s)")
    parser.add_argument("--start", default=fixed["start"], help="with --gpus (default: %(default)s)")
    parser.add_argument("--warm-up", default=",".join(f"{kappa}:{count}" for kappa, count in fixed["warm_up"]),
                        help="with --gpus (default: %(default)s)")
    sweep_several.add_arguments(parser, "32x32x32x64", "32x32x32x64", "lattices")


def runs(options):
    """A trajectory from the same links and random numbers at each step, and a chain at each step of the other list."""
    usual = ["--lattice", options.lattice, "--flavours", 0, "--beta", options.beta, "--start", f"heatbath:{options.beta}:50"]
    counts = {"steps": 1, "acceptance": options.trajectories or 400}
    chosen = {"steps": options.steps, "acceptance": options.acceptance}
    for part in parts_of(options, PARTS):
        for integrator in chosen[part]:
            yield run_of(options, f"{part}-{integrator.replace(':', '-')}", [part, integrator],
                         [*usual, "--trajectories", counts[part], "--integrator", f"{integrator}(gauge)", "--device",
                          options.device, *options.rest])


def draw(options, _runs=()):
    draw_with("trajectories", reports_in(options, *(f"{part}-*.json" for part in PARTS)),
              f"{options.output}/trajectories.png")


SWEEP = Sweep("hmc", "dH of trajectories against their steps, and acceptance", "plaquette-hmc",
              (("part", 10), ("integrator", 18)), add_arguments, runs, draw, output="out/hmc", launcher=OVERSUBSCRIBED)


def of_gpus(options):
    """The links of the heat bath and the random numbers of trajectories are the same on any number of ranks."""
    return ["--start", options.start, "--seed", 1, "--beta", 5.3, "--flavours", 2, "--kappa", options.kappa, "--csw",
            options.csw, "--splitting", options.splitting, "--warm-up", options.warm_up, "--integrator",
            options.integrator, "--solvers", options.solvers, "--trajectories", options.trajectories or 2]


OVER_GPUS = sweep_several.scaling_sweep("hmc", "plaquette-hmc", sweep_several.lattice_of, of_gpus)
