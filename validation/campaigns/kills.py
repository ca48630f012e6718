# SPDX-License-Identifier: BSD-3-Clause
"""Runs that get SIGKILL or SIGTERM at one of their stages, then run again. With a checkpoint they
reach the same numbers as an undisturbed run. (cheats/at_stage.cpp sends the signals.)"""
import json
import os
import shutil
import signal
import sys
import tempfile

from campaign import Tally
from harness import INTERRUPTED, SUCCESS, UNUSABLE, run

#: Program, arguments, and those that make it keep a checkpoint in a folder.
PROGRAMS = {
    "solver": (os.environ["PLAQUETTE_STAGED_MIXED_PRECISION_SOLVER"],
               ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2", "--mass", "0.3", "--csw", "1", "--repeat", "1", "--check"],
               lambda folder: ["--checkpoint", folder + "/c.h5", "--checkpoint-every", "2", "--propagator", folder + "/p.h5"]),
    "make-configuration": (os.environ["PLAQUETTE_STAGED_MAKE_CONFIGURATION"],
                           ["--lattice", "4x4x4x8", "--sweeps", "12", "--measure-every", "3"],
                           lambda folder: ["--checkpoint", folder + "/c", "--checkpoint-every", "2", "--output",
                                           folder + "/links"]),
    "dslash-scaling": (os.environ["PLAQUETTE_STAGED_DSLASH_SCALING"],
                       ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2", "--samples", "3", "--operator", "hopping,dot"],
                       lambda folder: []),
    "nodal-dg": (os.environ["PLAQUETTE_STAGED_NODAL_DG"],
                 ["--box", "2x2x2", "--order", "3", "--steps", "60", "--samples", "1", "--check"],
                 lambda folder: ["--checkpoint", folder + "/c.h5", "--checkpoint-every", "20"]),
    "multigrid": (os.environ["PLAQUETTE_STAGED_MULTIGRID"],
                  ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2", "--mass", "0.3", "--vectors", "4", "--rhs", "2",
                   "--trials", "0", "--modes", "0"],
                  lambda folder: []),
    "overlap-propagator": (os.environ["PLAQUETTE_STAGED_OVERLAP_PROPAGATOR"],
                           ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--seed", "5", "--modes", "6", "--overlap-modes",
                            "3", "--masses", "0.1,0.4"],
                           lambda folder: ["--checkpoint", folder + "/c"]),
}
SETTINGS = ("LOG", "EVENT", "DELAY")


def staged(program, arguments, stage="", **settings):
    for name in SETTINGS:
        os.environ.pop("PLAQUETTE_STAGE_" + name, None)
    os.environ.update({"PLAQUETTE_STAGE_" + name: str(value) for name, value in settings.items()})
    os.environ["PLAQUETTE_STAGE"] = stage
    return run(*arguments, program=program)


def numbers_of(name, path):
    """Returns what a continued run must have in common with an undisturbed one."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    observables = {k: v for k, v in report["observables"].items() if "seconds" not in k}
    if name == "nodal-dg":  # the run's end; a stop adds a line to the history, and shortens what is judged
        del observables["judged"]
        observables["energy"] = observables["energy"]["history"][-1]
    if name == "overlap-propagator":
        observables = {"eigenvalues": observables["kernel"]["eigenvalues"], "index": observables["index"],
                       "masses": [[m["condensate"], m["pion"]] for m in observables["masses"]]}
    return observables, report["gauge"].get("plaquette"), report["verified"]


def are_same(name, found, expected):
    """Bit by bit; of the overlap to 1e-7: its files have another spin basis, and solves start from what was kept."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(are_same(name, found[k], expected[k]) for k in expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(are_same(name, a, b) for a, b in zip(found, expected))
    if name == "overlap-propagator" and isinstance(expected, float):
        return abs(found - expected) <= 1e-7 * abs(expected)
    return found == expected


def main():
    tally = Tally("runs killed at a stage, then continued", 100)
    top = tempfile.mkdtemp()
    expected, stages = {}, {}
    for name, (program, arguments, keep) in PROGRAMS.items():
        folder = tempfile.mkdtemp(dir=top)
        log = os.path.join(top, name + ".stages")
        result = staged(program, [*arguments, *keep(folder), "--json", folder + "/r.json"], LOG=log)
        assert result.status == SUCCESS, result.out + result.err
        expected[name] = numbers_of(name, folder + "/r.json")
        with open(log, encoding="utf-8") as file:
            stages[name] = list(dict.fromkeys(line.rstrip("\n") for line in file))
    for index in range(tally.tries):
        name = list(PROGRAMS)[index % len(PROGRAMS)]
        program, arguments, keep = PROGRAMS[name]
        stage = tally.random.choice(stages[name])
        number = tally.random.choice([signal.SIGTERM, signal.SIGKILL])
        folder = tempfile.mkdtemp(dir=top)
        command = [*arguments, *keep(folder), "--json", folder + "/r.json"]
        what = f"{name}, signal {int(number)} at '{stage}'"
        first = staged(program, command, stage, EVENT=int(number), DELAY=tally.random.choice([0, 0, 5, 30]))
        if first.status not in (INTERRUPTED, -signal.SIGKILL, SUCCESS):
            tally.add("bad", what, f"status {first.status}: {first.err}")
            continue
        if first.status != -signal.SIGKILL and (first.status == SUCCESS) != ("VERIFIED   PASSED" in first.out):
            tally.add("bad", what, f"status {first.status} with {first.last_line()}")
            continue
        again = first if first.status == SUCCESS else staged(program, command + ([] if keep(folder) else ["--force"]))
        if again.status == UNUSABLE and "expected a run that is not at its end" in again.err:
            tally.add("refused", what)  # nodal-dg: all steps were kept, and none is left that could be judged
        elif again.status != SUCCESS:
            tally.add("bad", what, f"continued with status {again.status}: {again.err}")
        elif not are_same(name, numbers_of(name, folder + "/r.json"), expected[name]):
            tally.add("bad", what, "continued to other numbers")
        else:
            tally.add("refused" if first.status == INTERRUPTED else "harmless", what)
        shutil.rmtree(folder)
    shutil.rmtree(top)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
