# SPDX-License-Identifier: BSD-3-Clause
"""Damages what programs keep: propagators (HDF5 and LIME) and checkpoints of the solver, checkpoints of make-configuration
and nodal-dg, setups of multigrid, modes and checkpoints of overlap-propagator. It gives them to the programs, and to
plaquette-inspect, and sorts how those end:

  refused   exit status 2 and one line that names the file, or VERIFIED FAILED
  harmless  VERIFIED PASSED with the correlators (the configuration, the energy) of the sound file
  bad       VERIFIED PASSED with others, another exit status, a message that names no file, a crash, a hang

A third of the tries forge a state: a number of its text is replaced, and its checksum is made right again.

    python3 hdf5_files.py --programs FOLDER [--tries 1000] [--seed 1] [--only NAME]

FOLDER is that of the built programs, build/PRESET/miniapps.

The row for docs/campaigns.md is printed at the end; the status is 1 where anything is bad."""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import zlib

from campaign import ENDS, keep_bad, row_of

PROBLEM = ["--lattice", "2x2x2x4", "--gauge", "weak:0.2", "--mass", "0.3", "--seed", "3", "--threads", "1"]
LIMIT = 60  # seconds a run may take
SUCCESS, FAILED, UNUSABLE, NO_CONVERGENCE = 0, 1, 2, 3


def flipped(data, source):
    """Bits and bytes changed, cut out, put in; half of them where no field stands: in headers, attributes, states."""
    data = bytearray(data)
    for _ in range(source.choice([1, 1, 1, 2, 4])):
        if len(data) < 16:
            break
        near = source.random() < 0.6
        at = source.randrange(min(len(data), 8192)) if near else source.randrange(len(data))
        size = source.choice([1, 1, 2, 4, 8, 64, 512])
        kind = source.randrange(8)
        if kind <= 3:
            data[at] ^= 1 << source.randrange(8)
        elif kind == 4:
            data[at:at + size] = bytes(source.randrange(256) for _ in range(len(data[at:at + size])))
        elif kind == 5:
            data[at:at + 8] = source.choice([b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\0\0\0\x80", b"\1" + b"\0" * 7])[:len(data[at:at + 8])]
        elif kind == 6:
            del data[at:len(data) if source.random() < 0.5 else at + size]
        else:
            data[at:at] = bytes(size)
    return bytes(data)


VALUES = [b"-1", b"0", b"1e308", b"-1e308", b"null", b'"x"', b"[]", b"{}", b"true", b"2147483648", b"-2147483649",
          b"9223372036854775808", b"18446744073709551615", b"1e-320", b"0.5", b"999999999", b"-0.5", b"[[1]]", b"100"]


def forged(data, source):
    """A number or a text of the state is another, or a bracket is many; the checksum is right, the length the same."""
    found = re.search(rb"[0-9a-f]{8}\n(\{.*\})", data, re.DOTALL)
    if not found:
        return flipped(data, source)
    text = found.group(1)
    places = list(re.finditer(rb'(?<=[:\[,])(-?[0-9][0-9.e+-]*|"[^"]*"|true|false|null)(?=[,\]}])', text))
    for _ in range(source.choice([1, 1, 2])):
        place = source.choice(places)
        value = source.choice(VALUES)
        if source.random() < 0.05:
            value = b"[" * 200 + b"]" * 200
        turned = text[:place.start()] + value + text[place.end():]
        if len(turned) <= len(found.group(1)):
            text = turned
            places = list(re.finditer(rb'(?<=[:\[,])(-?[0-9][0-9.e+-]*|"[^"]*"|true|false|null)(?=[,\]}])', text))
    text = text.ljust(len(found.group(1)))
    return data[:found.start()] + b"%08x\n" % zlib.crc32(text) + text + data[found.end():]


class Subject:
    """A file, how a program is given it, and what it makes of the sound one."""

    def __init__(self, name, program, arguments, file, result_of, tolerance=1e-8, inspect=None):
        self.name, self.program, self.arguments, self.file, self.result_of = name, program, arguments, file, result_of
        self.tolerance, self.inspect = tolerance, inspect
        self.kept = {}  # all files of the folder: a run replaces some
        for other in sorted(os.listdir(os.path.dirname(file))):
            with open(os.path.join(os.path.dirname(file), other), "rb") as sound:
                self.kept[os.path.join(os.path.dirname(file), other)] = sound.read()
        self.whole = self.kept[file]
        status, error, _ = self.run(self.whole)
        if status != SUCCESS:
            sys.exit(f"{name}: the sound file is not taken: {status} {error}")
        self.sound = self.result_of()

    def run(self, data):
        for path, sound in {**self.kept, self.file: data}.items():
            with open(path, "wb") as file:
                file.write(sound)
        try:
            done = subprocess.run([self.program, *self.arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=LIMIT, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            return None, "", ""
        return done.returncode, done.stderr, done.stdout

    def not_inspected(self, data):
        """What is wrong with what plaquette-inspect says of a file; empty: nothing."""
        path = self.file + ".inspected"
        with open(path, "wb") as file:
            file.write(data)
        done = subprocess.run([self.inspect, path], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, text=True,
                              errors="replace", check=False)
        os.remove(path)
        lines = done.stderr.rstrip("\n").split("\n")
        if done.returncode == UNUSABLE and (len(lines) != 1 or os.path.basename(path) not in lines[0]):
            return f"inspect: a message without the file: {done.stderr!r}"
        return "" if done.returncode in (SUCCESS, FAILED, UNUSABLE) else f"inspect: exit status {done.returncode}: {done.stderr!r}"

    def outcome(self, data):
        if self.inspect and (why := self.not_inspected(data)):
            return "bad", why
        status, error, out = self.run(data)
        if status is None:
            return "bad", "a hang"
        if status == UNUSABLE:
            lines = [line for line in error.split("\n") if line.startswith("plaquette-")]
            if len(lines) != 1 or os.path.basename(self.file) not in lines[0]:
                return "bad", f"a message without the file: {error!r}"
            return "refused", ""
        if status in (FAILED, NO_CONVERGENCE) and "VERIFIED   FAILED" in out:
            return "refused", ""
        if status != SUCCESS or "VERIFIED   PASSED" not in out:
            return "bad", f"exit status {status}: {error[:300]!r}"
        return ("harmless", "") if self.same(self.result_of()) else ("bad", "another result, verified")

    def same(self, found):
        """To what the tolerance of a solve leaves."""
        if isinstance(self.sound, bytes):
            return found == self.sound
        return len(found) == len(self.sound) and all(
            abs(a - b) <= self.tolerance * abs(b) for a, b in zip(found, self.sound))


def numbers_in(value):
    if isinstance(value, dict):
        return [n for key in sorted(value) for n in numbers_in(value[key])]
    if isinstance(value, list):
        return [n for each in value for n in numbers_in(each)]
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def correlators(path):
    with open(path, encoding="utf-8") as file:
        return numbers_in(json.load(file)["observables"])


def overlap_results(path):
    with open(path, encoding="utf-8") as file:
        observables = json.load(file)["observables"]
    return numbers_in([observables["kernel"]["eigenvalues"], observables["index"], [m["pion"] for m in observables["masses"]]])


def wave_results(path):
    with open(path, encoding="utf-8") as file:
        return [json.load(file)["observables"]["energy"]["end"]]


def subjects(programs, top, only):
    """Files that programs keep, each in a folder of its own."""
    def of(name):
        return os.path.join(programs, name, "plaquette-" + name)

    def made(name, program, make, read, file, result_of, **more):
        if only not in name:
            return None
        folder = tempfile.mkdtemp(dir=top)
        report = os.path.join(folder, "r.json")
        at = [word.replace("@", folder + "/") for word in [*make, "--json", report, "--force"]]
        done = subprocess.run([of(program), *at], capture_output=True, text=True, check=False)
        if done.returncode != SUCCESS:
            sys.exit(f"{name}: {done.stderr}{done.stdout}")
        read = [word.replace("@", folder + "/") for word in [*read, "--json", report, "--force"]]
        return Subject(name, of(program), read, os.path.join(folder, file), lambda: result_of(report), inspect=of("inspect"), **more)

    solve = [*PROBLEM, "--repeat", "0"]
    again = [word for word in PROBLEM if word not in ("--mass", "0.3")]
    yield made("propagators", "mixed-precision-solver", [*solve, "--propagator", "@p.h5"], [*again, "--read-propagator", "@p.h5"],
               "p.h5", correlators)
    yield made("propagators in LIME", "mixed-precision-solver", [*solve, "--propagator", "@p.lime", "--basis", "tmlqcd"],
               [*again, "--read-propagator", "@p.lime"], "p.lime", correlators)
    yield made("checkpoints of the solver", "mixed-precision-solver", [*solve, "--checkpoint", "@c.h5"],
               [*solve, "--checkpoint", "@c.h5"], "c.h5", correlators)
    make = ["--lattice", "2x2x2x4", "--sweeps", "6", "--checkpoint-every", "3", "--threads", "1", "--checkpoint", "@sweeps.lime",
            "--output", "@u.nersc", "--history", "@h.csv"]

    def configuration(report):
        with open(os.path.join(os.path.dirname(report), "u.nersc"), "rb") as file:
            return file.read().split(b"END_HEADER\n", 1)[1]

    yield made("checkpoints of make-configuration", "make-configuration", make, make, "sweeps.lime", configuration)
    waves = ["--box", "2x2x2", "--order", "2", "--dt", "0.01", "--threads", "1", "--checkpoint", "@c"]
    yield made("checkpoints of nodal-dg", "nodal-dg", [*waves, "--steps", "6"], [*waves, "--steps", "12"], "c", wave_results,
               tolerance=1e-12)
    links = ["--lattice", "4x4x4x4", "--gauge", "weak:0.3", "--kappa", "0.125", "--csw", "1", "--trials", "0", "--modes", "0", "--rhs",
             "12", "--batches", "12", "--reference", "none", "--threads", "1"]
    yield made("setups of multigrid", "multigrid", [*links, "--vectors", "4", "--save-setup", "@s.h5"], [*links, "--load-setup", "@s.h5"],
               "s.h5", correlators)
    overlap = ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--seed", "5", "--modes", "6", "--overlap-modes", "3", "--masses", "0.4",
               "--threads", "1", "--checkpoint", "@c"]
    for what, file in (("modes of H", "c.modes.h5"), ("modes of D", "c.overlap.h5")):
        yield made(what, "overlap-propagator", overlap, overlap, file, overlap_results, tolerance=1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--programs", required=True)
    parser.add_argument("--tries", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_TRIES", 1000)))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PLAQUETTE_CAMPAIGN_SEED", 1)))
    parser.add_argument("--keep", help="folder for files that came out bad")
    parser.add_argument("--only", default="", help="kinds of files with this in their names")
    options = parser.parse_args()
    total = dict.fromkeys(ENDS, 0)
    with tempfile.TemporaryDirectory() as folder:
        chosen = [subject for subject in subjects(options.programs, folder, options.only) if subject]
        for number_of_subject, subject in enumerate(chosen):
            source = random.Random(f"{options.seed} {subject.name}")
            counts = dict.fromkeys(total, 0)
            for number in range(options.tries // len(chosen) + (number_of_subject < options.tries % len(chosen))):
                data = (forged if source.random() < 1 / 3 else flipped)(subject.whole, source)
                kind, why = subject.outcome(data)
                counts[kind] += 1
                if kind == "bad":
                    print(f"BAD {subject.name} {number}: {why}", flush=True)
                    keep_bad(options.keep, f"{number_of_subject}_{number}", data)
            print(f"{subject.name}: {counts}", flush=True)
            for kind, count in counts.items():
                total[kind] += count
    print(row_of(f"files that programs keep (`hdf5_files.py`, seed {options.seed})", total))
    return 1 if total["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
