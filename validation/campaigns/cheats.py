# SPDX-License-Identifier: BSD-3-Clause
"""Programs that cheat, on drawn problems: their verdict fails. (Those of cli/cheats; a cheat that is found is added there,
and here.) Without the cheat the same run is verified."""
import os
import sys
import tempfile

from campaign import Tally
from harness import FAILED, NO_CONVERGENCE, SUCCESS, run


def lattice(random):
    return ["--lattice", random.choice(["4x4x4x4", "4x4x4x8", "4x4x6x4"]), "--gauge", f"weak:{random.choice([0.1, 0.2, 0.3])}",
            "--seed", str(random.randrange(1, 99))]


def dslash(random):
    return [*lattice(random), "--samples", "3", "--operator", random.choice(["hopping", "wilson", "clover", "clover_schur"]),
            "--precision", random.choice(["double", "single", "half", "single,half"]), "--rhs", random.choice(["1", "3", "12"])]


def solver(random):
    return [*lattice(random), "--mass", random.choice(["0.1", "0.2", "0.5"]), "--csw", random.choice(["0", "1"]), "--precision",
            random.choice(["double", "double-single", "double-half"])]


def timed_solver(random):
    return [*solver(random), "--rhs", random.choice(["1", "2", "12"]), "--repeat", random.choice(["1", "2", "3"])]


def contracted_solver(random):
    return [*solver(random), "--repeat", "0"]


def multigrid(random, *more):
    return [*lattice(random), "--kappa", random.choice(["0.12", "0.125"]), "--csw", "1", "--vectors",
            random.choice(["4", "8"]), "--trials", "0", *more]


def several_sources(random):
    return multigrid(random, "--modes", "0", "--rhs", "3", "--batches", random.choice(["1", "3"]), "--reference", "none")


def one_source(random):
    return multigrid(random, "--modes", "0", "--rhs", "1")


def with_modes(random):
    return multigrid(random, "--rhs", "1", "--modes", "2", "--reference", "none")


def pulse(random, *size):
    return [*size, "--problem", "pulse", "--pulse-width", "0.4", "--pulse-start", "-0.5", "--boundaries",
            random.choice(["default:absorbing", "default:reflecting"]), "--probe", "0.1,0.2,0.3"]


def short_waves(random):
    return pulse(random, "--box", random.choice(["2x2x2", "3x3x3", "2x3x4"]), "--order", random.choice(["2", "3", "4"]),
                 "--steps", random.choice(["20", "60"]))


def waves_of_many_elements(random):  # more than the 64 that this cheat spares
    return pulse(random, "--box", random.choice(["3x3x3", "2x3x4"]), "--order", "3", "--steps", "20")


def long_waves(random):  # more than 1e10 flops: not every step is made again
    return pulse(random, "--box", "4x4x4", "--order", "5", "--steps", random.choice(["300", "400"]))


def overlap(random, *more):
    return ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--seed", str(random.randrange(1, 9)), "--modes", "6",
            "--overlap-modes", "3", "--masses", "0.4", "--threads", "1", *more]


def preconditioned(random):
    return overlap(random, "--scheme", "preconditioned")


#: Program, cheat, what draws a problem on which it is a cheat.
CHEATS = [
    ("DSLASH", "skipped", dslash),
    ("SOLVER", "left-out", timed_solver), ("SOLVER", "rho", contracted_solver),
    ("MULTIGRID", "remembers", several_sources), ("MULTIGRID", "idle", one_source), ("MULTIGRID", "fast", one_source),
    ("MULTIGRID", "modes", with_modes),
    ("DG", "frozen", short_waves), ("DG", "halved", short_waves), ("DG", "halved-elsewhere", waves_of_many_elements),
    ("DG", "frozen", long_waves), ("DG", "halved", long_waves), ("DG", "early-frozen", long_waves),
    ("DG", "weak", long_waves), ("DG", "weak-everywhere", long_waves),
    ("OVERLAP", "diagonal", overlap), ("OVERLAP", "preconditioner", preconditioned), ("OVERLAP", "three-tolerances", overlap),
]


def main():
    tally = Tally("programs that cheat", 180)
    chosen = [c for c in CHEATS if os.environ.get("PLAQUETTE_CAMPAIGN_ONLY", "") in f"{c[0]} {c[1]} {c[2].__name__}"]
    with tempfile.TemporaryDirectory() as folder:
        for index in range(tally.tries):
            program, cheat, problem = chosen[index % len(chosen)]
            arguments = problem(tally.random)
            what = f"{program} {cheat} {' '.join(arguments)}"
            path = os.environ["PLAQUETTE_CHEATING_" + program]
            os.environ["PLAQUETTE_HALF"] = f"{tally.random.uniform(0.2, 3.0):.3f}"  # of nodal-dg: a time within a long run
            os.environ["PLAQUETTE_CHEAT"] = "none"
            if index < len(chosen) or tally.random.random() < 0.2:
                honest = run(*arguments, program=path, cwd=folder)
                if honest.status != SUCCESS:
                    tally.add("bad", what, f"honest, it ends with status {honest.status}: {honest.err}{honest.last_line()}")
                    continue
            os.environ["PLAQUETTE_CHEAT"] = cheat
            result = run(*arguments, program=path, cwd=folder)
            told = result.status in (FAILED, NO_CONVERGENCE) and result.last_line().startswith("VERIFIED   FAILED")
            tally.add("refused" if told else "bad", what, f"status {result.status}: {result.err}{result.last_line()}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
