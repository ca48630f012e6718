# SPDX-License-Identifier: BSD-3-Clause
"""Runs that get SIGKILL or SIGTERM at one of their stages, then run again, some of them disturbed once more. They reach
the same numbers and files as an undisturbed run; one that cannot be started again is bad. What they leave is known to
plaquette-inspect. (cheats/at_stage.cpp sends the signals.)"""
import json
import os
import shutil
import signal
import sys
import tempfile

from campaign import Tally
from harness import INTERRUPTED, SUCCESS, run

#: Of each case: program, arguments, and those that make it keep a checkpoint and write files in a folder.
CASES = {
    "solver": ("MIXED_PRECISION_SOLVER",
               ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2", "--mass", "0.3", "--csw", "1", "--repeat", "1", "--check"],
               ["--checkpoint", "c.h5", "--checkpoint-every", "2"], ["--propagator", "p.h5"]),
    "solver, LIME": ("MIXED_PRECISION_SOLVER",
                     ["--lattice", "4x4x4x4", "--gauge", "heatbath:6:2", "--mass", "0.3", "--csw", "1", "--repeat", "1"],
                     ["--checkpoint", "c.h5", "--checkpoint-every", "2"], ["--propagator", "p.lime", "--basis", "tmlqcd"]),
    "make-configuration": ("MAKE_CONFIGURATION", ["--lattice", "4x4x4x8", "--sweeps", "12", "--measure-every", "3"],
                           ["--checkpoint", "c", "--checkpoint-every", "2"],
                           ["--output", "links", "--history", "history.csv"]),
    "dslash-scaling": ("DSLASH_SCALING",
                       ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2", "--samples", "3", "--operator", "hopping,dot"], [], []),
    "nodal-dg": ("NODAL_DG", ["--box", "2x2x2", "--order", "3", "--steps", "60", "--samples", "1", "--check"],
                 ["--checkpoint", "c.h5", "--checkpoint-every", "20"],
                 ["--energy", "energy.csv", "--plane", "plane.txt", "--plane-at", "z,0.1,16"]),
    # More than 1e10 flops: not every step is made again.
    "nodal-dg, long": ("NODAL_DG", ["--box", "4x4x4", "--order", "5", "--steps", "300", "--samples", "1", "--problem", "pulse",
                                    "--boundaries", "default:absorbing"],
                       ["--checkpoint", "c.h5", "--checkpoint-every", "40"],
                       ["--energy", "energy.csv", "--plane", "plane.txt", "--plane-at", "z,0.1,16", "--vtk", "f.vtkhdf"]),
    "multigrid": ("MULTIGRID", ["--lattice", "4x4x4x8", "--gauge", "heatbath:6:2", "--mass", "0.3", "--vectors", "4", "--rhs",
                                "2", "--trials", "0", "--modes", "0"], [], ["--save-setup", "setup.h5"]),
    "overlap-propagator": ("OVERLAP_PROPAGATOR",
                           ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--seed", "5", "--modes", "6", "--overlap-modes",
                            "3", "--masses", "0.1,0.4"], ["--checkpoint", "c"], ["--propagators", "quark"]),
}
INSPECT = os.environ["PLAQUETTE_INSPECT"]
SETTINGS = ("LOG", "EVENT", "DELAY")


def staged(case, folder, stage="", more=(), **settings):
    for name in SETTINGS:
        os.environ.pop("PLAQUETTE_STAGE_" + name, None)
    os.environ.update({"PLAQUETTE_STAGE_" + name: str(value) for name, value in settings.items()})
    os.environ["PLAQUETTE_STAGE"] = stage
    program, arguments, keep, write = CASES[case]
    return run(*arguments, *keep, *write, "--json", "r.json", *more, program=os.environ["PLAQUETTE_STAGED_" + program],
               cwd=folder)


def files_of(folder):
    """Returns, of each output, what a continued run must have in common with an undisturbed one: the text and the bits of
    configurations; of HDF5 that it is there, since its reader is the program."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if name == "r.json":
            continue
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if name == "links":
            found[name] = data[data.index(b"END_HEADER") if b"END_HEADER" in data else data.index(b"-binary-data"):]
        elif name == "energy.csv":  # a stop adds a line to the history
            found[name] = data.splitlines()[-1:]
        else:
            found[name] = data if name.endswith((".csv", ".txt")) else b""
    return found


def unknown_to_inspect(folder):
    """The first file of a folder that plaquette-inspect does not know, and why."""
    for name in sorted(os.listdir(folder)):
        if name.endswith((".json", ".csv", ".txt", ".vtkhdf", ".partial")):
            continue
        result = run(os.path.join(folder, name), program=INSPECT)
        if result.status != SUCCESS:
            return f"{name}: status {result.status}: {result.err}"
    return ""


def numbers_of(name, path):
    """Returns what a continued run must have in common with an undisturbed one."""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    observables = {k: v for k, v in report["observables"].items() if "seconds" not in k}
    if name.startswith("nodal-dg"):  # the run's end; a stop adds a line to the history, and shortens what is judged
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


def disturbed(tally, case, stages, folder, more=()):
    """A run that gets a signal: what it was, the result, and what is wrong with it."""
    stage = tally.random.choice(stages)
    number = tally.random.choice([signal.SIGTERM, signal.SIGKILL])
    result = staged(case, folder, stage, more, EVENT=int(number), DELAY=tally.random.choice([0, 0, 5, 30]))
    why = ""
    if result.status not in (INTERRUPTED, -signal.SIGKILL, SUCCESS):
        why = f"status {result.status}: {result.err}"
    elif result.status != -signal.SIGKILL and (result.status == SUCCESS) != ("VERIFIED   PASSED" in result.out):
        why = f"status {result.status} with {result.last_line()}"
    return f"signal {int(number)} at '{stage}'", result, why or unknown_to_inspect(folder)


def outcome(tally, case, stages, expected, folder):
    """What was done, how it ended, and why that is bad."""
    what, result, why = disturbed(tally, case, stages, folder)
    what = f"{case}, {what}"
    has_checkpoint = bool(CASES[case][2])
    first, was_killed = result.status, result.status == -signal.SIGKILL
    more = () if has_checkpoint else ("--force",)
    if not why and result.status != SUCCESS and tally.random.random() < 0.3:
        again, result, why = disturbed(tally, case, stages, folder, more)
        what += f", then {again}"
        was_killed = was_killed or result.status == -signal.SIGKILL
    if why:
        return what, "bad", why
    if result.status != SUCCESS:
        result = staged(case, folder, more=more)
        if result.status != SUCCESS:
            return what, "bad", f"continued with status {result.status}: {result.err}{result.last_line()}"
    if not are_same(case, numbers_of(case, folder + "/r.json"), expected[0]):
        return what, "bad", "continued to other numbers"
    found = files_of(folder)
    if not was_killed and any(name.endswith(".partial") for name in found):
        return what, "bad", f"it leaves {sorted(found)}"
    differ = [name for name in expected[1] if found.get(name) != expected[1][name]]
    if differ:
        return what, "bad", f"continued to other files: {differ}"
    return what, "refused" if first == INTERRUPTED else "harmless", unknown_to_inspect(folder)


def main():
    tally = Tally("runs killed at a stage, then continued", 100)
    top = tempfile.mkdtemp()
    expected, stages = {}, {}
    chosen = [case for case in CASES if os.environ.get("PLAQUETTE_CAMPAIGN_ONLY", "") in case]
    for case in chosen:
        folder = tempfile.mkdtemp(dir=top)
        log = os.path.join(top, case + ".stages")
        result = staged(case, folder, LOG=log)
        assert result.status == SUCCESS, result.out + result.err
        expected[case] = numbers_of(case, folder + "/r.json"), files_of(folder)
        with open(log, encoding="utf-8") as file:
            stages[case] = list(dict.fromkeys(line.rstrip("\n") for line in file))
    for index in range(tally.tries):
        case = chosen[index % len(chosen)]
        folder = tempfile.mkdtemp(dir=top)
        what, kind, why = outcome(tally, case, stages[case], expected[case], folder)
        tally.add("bad" if why else kind, what, why)
        shutil.rmtree(folder)
    shutil.rmtree(top)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
