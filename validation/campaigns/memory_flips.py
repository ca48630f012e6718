# SPDX-License-Identifier: BSD-3-Clause
"""Bits that flip in a program's fields while it works: in its set-up, its searches for modes, its solves and steps.
(cheats/memory_flips.cpp flips them.) A verified result is that of the program whose bits stay; another one is told."""
import json
import os
import re
import subprocess
import sys
import tempfile

from campaign import Tally
from harness import SUCCESS, run

#: Of each program: arguments, results with the largest relative change that tolerances allow.
CASES = {
    "multigrid": (["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--vectors", "8",
                   "--trials", "0", "--modes", "2", "--rhs", "12", "--batches", "12", "--reference", "none"],
                  {"pion": 1e-8, "rho": 1e-8}),
    "mixed-precision-solver": (["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.5", "--csw", "1", "--repeat", "1",
                                "--precision", "double-single", "--tol", "1e-10"], {"pion": 1e-8, "rho": 1e-8}),
    "overlap-propagator": (["--lattice", "4x4x4x4", "--gauge", "weak:0.3", "--modes", "6", "--overlap-modes", "2", "--masses",
                            "0.2", "--tol", "1e-8"],
                           {"pion": 1e-6, "rho": 1e-6, "index": 0, "kernel.eigenvalues": 1e-6, "overlap.eigenvalues": 1e-6}),
    "nodal-dg": (["--box", "2x2x2", "--order", "4", "--final-time", "5", "--samples", "40"],
                 {"energy.end": 1e-10, "energy.history": 1e-10, "errors.p.l2": 1e-10}),
}


class Program:
    def __init__(self, name, folder):
        self.name, (self.arguments, self.results) = name, CASES[name]
        self.path = os.environ["PLAQUETTE_FLIPPED_" + name.upper().replace("-", "_")]
        self.report = os.path.join(folder, name + ".json")
        honest = self.run("0,0")
        self.events = int(re.search(r"events: (\d+)", honest.err).group(1))
        assert honest.status == SUCCESS, honest.out + honest.err
        self.honest = self.found()

    def run(self, flip):
        os.environ["PLAQUETTE_FLIP"] = flip
        return run(*self.arguments, "--json", self.report, "--force", program=self.path)

    def found(self):
        with open(self.report, encoding="utf-8") as file:
            observables = json.load(file)["observables"]
        found = {}
        for path in self.results:
            value = observables
            for key in path.split("."):
                value = value[key]
            found[path] = numbers(value)
        return found

    def wrong_results(self):
        """The results that differ from the honest ones by more than their tolerance."""
        return [path for path, numbers_found in self.found().items()
                if len(numbers_found) != len(self.honest[path]) or not distance(numbers_found, self.honest[path]) <= self.results[path]]


def numbers(value):
    if not isinstance(value, list):
        return [float(value)]
    return [x for entry in value for x in numbers(entry)]


def distance(found, expected):
    return max(abs(a - b) for a, b in zip(found, expected)) / max(1e-300, max(map(abs, expected)))


def main():
    tally = Tally("flipped bits of fields at work", 160)
    chosen = os.environ.get("PLAQUETTE_FLIPPED_PROGRAMS", ",".join(CASES)).split(",")
    with tempfile.TemporaryDirectory() as folder:
        programs = [Program(name, folder) for name in chosen]
        for number in range(tally.tries):
            program = programs[number % len(programs)]
            # Every second one is of the sign, the exponent or the leading digits of a number in single precision.
            byte = tally.random.getrandbits(56) | (3 if number // len(programs) % 2 else 0)
            flip = f"{tally.random.randint(1, program.events)},{8 * byte + tally.random.randrange(8)}"
            what = f"{program.name} {flip}"
            try:
                result = program.run(flip)
            except subprocess.TimeoutExpired:
                tally.add("bad", what, "hangs")
                continue
            said = "\n".join(line for line in result.err.splitlines() if not line.startswith("flipped bit "))
            if said == result.err.rstrip("\n"):
                tally.add("bad", what, "no bit was flipped")
            elif result.status == SUCCESS:
                wrong = program.wrong_results()
                tally.add("bad" if wrong else "harmless", what, f"verified, and wrong: {wrong}; {result.err}")
            else:
                told = result.status > 0 and (result.last_line().startswith("VERIFIED   FAILED") or said)
                tally.add("refused" if told else "bad", what, f"status {result.status}: {result.err}")
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
