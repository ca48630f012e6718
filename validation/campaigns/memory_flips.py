# SPDX-License-Identifier: BSD-3-Clause
"""Bits that flip in a program's fields while it works: in its set-up, its searches for modes, its solves and steps.
(cheats/memory_flips.cpp flips them.) A verified result, in the report or in a file, is that of the program whose bits
stay; another one is told."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

from campaign import Tally
from harness import SUCCESS, run

PULSE = ["--problem", "pulse", "--pulse-width", "0.4", "--pulse-start", "-0.5", "--boundaries", "default:absorbing", "--probe",
         "0.1,0.2,0.3", "--energy", "energy.csv", "--plane", "plane.txt", "--plane-at", "z,0.1,16"]
DG_RESULTS = {"energy.end": 1e-10, "energy.history": 1e-10, "energy.csv": 1e-10, "plane.txt": 1e-10}
#: Of each case: program, arguments, results with the largest relative change that tolerances allow. A result is a path in
#: the observables of the report, or a file that the run writes.
CASES = {
    "multigrid": ("multigrid", ["--lattice", "4x4x4x8", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--vectors", "8",
                   "--trials", "0", "--modes", "2", "--rhs", "12", "--batches", "12", "--reference", "none"],
                  {"pion": 1e-8, "rho": 1e-8}),
    "mixed-precision-solver": ("mixed-precision-solver",
                               ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--mass", "0.5", "--csw", "1", "--repeat", "1",
                                "--precision", "double-single", "--tol", "1e-10", "--propagator", "p.lime"],
                               {"pion": 1e-8, "rho": 1e-8, "p.lime": 1e-8}),
    "overlap-propagator": ("overlap-propagator", ["--lattice", "4x4x4x4", "--gauge", "weak:0.3", "--modes", "6", "--overlap-modes", "2", "--masses",
                            "0.2", "--tol", "1e-8", "--propagators", "quark"],
                           {"pion": 1e-6, "rho": 1e-6, "index": 0, "kernel.eigenvalues": 1e-6, "overlap.eigenvalues": 1e-6}),
    "nodal-dg": ("nodal-dg", ["--box", "2x2x2", "--order", "4", "--final-time", "5", "--samples", "40"],
                 {"energy.end": 1e-10, "energy.history": 1e-10, "errors.p.l2": 1e-10}),
    "nodal-dg, pulse": ("nodal-dg", ["--box", "2x2x2", "--order", "3", "--steps", "60", *PULSE], DG_RESULTS),
    # More than 1e10 flops: not every step is made again.
    "nodal-dg, long": ("nodal-dg", ["--box", "4x4x4", "--order", "5", "--steps", "300", *PULSE], DG_RESULTS),
}


class Program:
    def __init__(self, name, folder):
        self.name, (program, self.arguments, self.results) = name, CASES[name]
        self.path = os.environ["PLAQUETTE_FLIPPED_" + program.upper().replace("-", "_")]
        self.folder = tempfile.mkdtemp(dir=folder)
        honest = self.run("0,0")
        self.events = int(re.search(r"events: (\d+)", honest.err).group(1))
        assert honest.status == SUCCESS, honest.out + honest.err
        self.honest = self.found()

    def run(self, flip):
        os.environ["PLAQUETTE_FLIP"] = flip
        return run(*self.arguments, "--json", "r.json", "--force", program=self.path, cwd=self.folder)

    def found(self):
        with open(os.path.join(self.folder, "r.json"), encoding="utf-8") as file:
            observables = json.load(file)["observables"]
        found = {}
        for path in self.results:
            if path.endswith((".csv", ".txt", ".lime")):
                found[path] = numbers_in(os.path.join(self.folder, path))
                continue
            value = observables
            for key in path.split("."):
                value = value[key]
            found[path] = numbers(value)
        return found

    def wrong_results(self):
        """The results that differ from the honest ones by more than their tolerance."""
        return [path for path, numbers_found in self.found().items()
                if len(numbers_found) != len(self.honest[path]) or not distance(numbers_found, self.honest[path]) <= self.results[path]]


def numbers_in(path):
    """The numbers of a file: of its words, or of a propagator in LIME."""
    with open(path, "rb") as file:
        data = file.read()
    if not path.endswith(".lime"):
        return [float(word) for word in re.findall(rb"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])", data)]
    begin = data.index(b"scidac-binary-data") - 16
    size = struct.unpack(">Q", data[begin + 8:begin + 16])[0]
    return list(struct.unpack(f">{size // 8}d", data[begin + 144:begin + 144 + size]))


def numbers(value):
    if not isinstance(value, list):
        return [float(value)]
    return [x for entry in value for x in numbers(entry)]


def distance(found, expected):
    return max(abs(a - b) for a, b in zip(found, expected)) / max(1e-300, max(map(abs, expected)))


def main():
    tally = Tally("flipped bits of fields at work", 160)
    programs_named = os.environ.get("PLAQUETTE_FLIPPED_PROGRAMS", "").split(",")
    chosen = [name for name, case in CASES.items() if programs_named == [""] or case[0] in programs_named]
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
