# SPDX-License-Identifier: BSD-3-Clause
"""Bits that flip after they were judged: of solutions, before correlators are made of them, before they are written, and
on the disk; of a state of nodal-dg between its steps, and before it is written. Each is told by a failed check, or it
leaves the results as they are. (The programs of cheats/ flip them.)"""
import json
import os
import sys
import tempfile

from campaign import Tally
from harness import FAILED, NO_CONVERGENCE, SUCCESS, run

SOLVE = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.5", "--repeat", "0", "--tol", "1e-10"]
TINY = ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--modes", "6", "--overlap-modes", "3", "--threads", "1"]
MULTIGRID = ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--vectors", "8", "--trials", "0",
             "--modes", "0", "--rhs", "12", "--batches", "12", "--reference", "none"]
PULSE = ["--problem", "pulse", "--pulse-width", "0.4", "--pulse-start", "-0.5", "--boundaries", "default:absorbing",
         "--plane", "plane.txt", "--plane-at", "z,0.1,16"]
SHORT = ["--box", "3x3x3", "--order", "3", "--steps", "40", *PULSE]
LONG = ["--box", "4x4x4", "--order", "5", "--steps", "300", *PULSE]  # more than 1e10 flops

#: What flips: program, cheat, arguments.
KINDS = {
    "solver, correlators": ("SOLVER", "correlators", SOLVE),
    "solver, file": ("SOLVER", "file", [*SOLVE, "--propagator", "p.h5"]),
    "solver, LIME": ("SOLVER", "file", [*SOLVE, "--propagator", "p.lime"]),
    "solver, disk": ("SOLVER", "disk", [*SOLVE, "--propagator", "p.h5"]),
    "multigrid, correlators": ("MULTIGRID", "turned", MULTIGRID),
    "overlap, solution": ("OVERLAP", "turned-solution", TINY),
    "overlap, file": ("OVERLAP", "turned-propagator", [*TINY, "--propagators", "quark"]),
    "nodal-dg, between": ("DG", "between", SHORT),
    "nodal-dg, a step": ("DG", "mid-run", SHORT),
    "nodal-dg, file": ("DG", "output", SHORT),
    "nodal-dg, long, between": ("DG", "between", LONG),
    "nodal-dg, long, a step": ("DG", "mid-run", LONG),
}


def draw(random, kind):
    """Arguments and settings of a run with this flip."""
    program, cheat, arguments = KINDS[kind]
    settings = {"CHEAT": cheat}
    if program == "SOLVER":
        settings["FLIP"] = ",".join(str(random.randrange(n)) for n in (12, 256, 24, 64))
    elif program == "OVERLAP":
        arguments = [*arguments, "--masses", random.choice(["0.4", "0.1,0.4"]), "--seed", str(random.randrange(1, 9))]
    elif program == "MULTIGRID":
        arguments = [*arguments, "--seed", str(random.randrange(1, 99))]
    else:
        settings["FLIP"] = f"{random.random():.3f},{random.randrange(64)}"
        settings["HALF"] = f"{random.uniform(0.2, 0.8):.3f}"  # of the run's length
    return program, arguments, settings


def results_of(folder):
    """Returns the energies or correlators of a report."""
    with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
        observables = json.load(file)["observables"]
    if "energy" in observables:
        return [observables["energy"]["end"]]
    if "masses" in observables:
        return [x for mass in observables["masses"] for x in mass["pion"]]
    return observables["pion"]


def same(found, expected):
    return len(found) == len(expected) and all(abs(a - b) <= 1e-8 * abs(b) for a, b in zip(found, expected))


class Runs:
    def __init__(self, folder):
        self.folder, self.honest = folder, {}

    def run(self, program, arguments, **settings):
        for name in ("CHEAT", "FLIP", "HALF"):
            os.environ.pop("PLAQUETTE_" + name, None)
        os.environ.update({"PLAQUETTE_" + name: value for name, value in settings.items()})
        return run(*arguments, "--json", "r.json", "--force", program=os.environ["PLAQUETTE_CHEATING_" + program],
                   cwd=self.folder)

    def honest_results(self, program, arguments):
        """The results without a flip, and the time at which a wave ends."""
        key = program, *arguments
        if key not in self.honest:
            result = self.run(program, arguments)
            assert result.status == SUCCESS, result.out + result.err
            with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as file:
                observables = json.load(file)["observables"]
            self.honest[key] = results_of(self.folder), observables.get("final_time", 0.0)
        return self.honest[key]


def main():
    tally = Tally("flipped bits after the judgement", 200)
    chosen = [kind for kind in KINDS if os.environ.get("PLAQUETTE_CAMPAIGN_ONLY", "") in kind]
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(folder)
        for index in range(tally.tries):
            kind = chosen[index % len(chosen)]
            program, arguments, settings = draw(tally.random, kind)
            honest, end = runs.honest_results(program, arguments)
            if "HALF" in settings:
                settings["HALF"] = str(float(settings["HALF"]) * end)
            result = runs.run(program, arguments, **settings)
            what = f"{kind} {settings} {' '.join(arguments)}"
            if result.status in (FAILED, NO_CONVERGENCE):
                told = result.last_line().startswith("VERIFIED   FAILED")
                tally.add("refused" if told else "bad", what, f"status {result.status}: {result.err}")
            elif result.status == SUCCESS and program == "DG" and same(results_of(folder), honest):
                tally.add("harmless", what)
            else:
                tally.add("bad", what, f"status {result.status}: {result.err}{result.last_line()}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
