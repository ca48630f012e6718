# SPDX-License-Identifier: BSD-3-Clause
"""Random options of every program, sound and unsound: each run is refused in one line that names an option, or is done
with a verdict that its exit status repeats."""
import os
import re
import subprocess
import sys
import tempfile

from campaign import Tally
from harness import environment

#: Seconds that a run may take; with --time-limit below it.
LIMIT, MOST_SECONDS = 4, 30

LATTICE = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--time-limit", LIMIT]
PROGRAMS = {
    "mixed-precision-solver": (os.environ["PLAQUETTE_SOLVER"], [*LATTICE, "--rhs", 1, "--repeat", 0]),
    "dslash-scaling": (os.environ["PLAQUETTE_DSLASH_SCALING"], [*LATTICE, "--samples", 3, "--operator", "hopping"]),
    "make-configuration": (os.environ["PLAQUETTE_MAKE_CONFIGURATION"],
                           ["--lattice", "4x4x4x4", "--sweeps", 2, "--time-limit", LIMIT]),
    "multigrid": (os.environ["PLAQUETTE_MULTIGRID"], LATTICE),
    "overlap-propagator": (os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"], [*LATTICE, "--modes", 4]),
    "nodal-dg": (os.environ["PLAQUETTE_NODAL_DG"],
                 ["--box", "2x2x2", "--order", 2, "--steps", 5, "--time-limit", LIMIT]),
}
#: What --help says of files is kept, and so is what would end the run at once.
LEFT_OUT = {"--help", "--version", "--json", "--device", "--size", "--threads", "--time-limit", "--tune", "--tune-file"}
VALUES = ["0", "1", "2", "3", "7", "12", "-1", "0.5", "1e-8", "1e-30", "1e8", "1e300", "nan", "inf", "", "x", "4x4x4x4", "8x4x4x4",
          "2x2x2x2", "3x3x3x3", "1,1,1,1", "0,0,0,0", "9,9,9,9", "auto", "unit", "random", "weak:0.1", "weak:-1", "heatbath:6:2",
          "heatbath:6:-1", "/no/such/file", "/dev/null", "99999999999999999999"]


def options_of(program):
    """Names with the words that --help offers for them; flags have none."""
    text = subprocess.run([program, "--help"], env=environment(), capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        match = re.match(r"\s+(--[a-z0-9-]+)(?:[ =](\S.*))?$", line)
        if match and match.group(1) not in LEFT_OUT:
            rest = match.group(2) or ""
            kind, _, default = re.split(r"\s{2,}| Excludes", rest)[0].partition("=")
            words = {"NUMBER": ["0.1", "0.3", "1", "2"], "INTEGER": ["0", "1", "2", "5"]}.get(kind, kind.split("|"))
            found[match.group(1)] = ([word for word in (*words, default) if word], bool(rest))
    return found


def judged(arguments, done):
    """refused, harmless or bad, and why."""
    lines = done.stderr.rstrip("\n").splitlines()
    last = done.stdout.rstrip("\n").splitlines()[-1:] or [""]
    if done.returncode in (2, 4, 5):
        if len(lines) != 1 or not lines[0].startswith("plaquette-"):
            return "bad", f"status {done.returncode} with {done.stderr!r}"
        if "PASSED" in done.stdout:
            return "bad", "refused and passed"
        told = re.search(r"--[a-z]", lines[0]) or any(len(a) > 1 and a in lines[0] for a in arguments)
        return ("refused", "") if told or done.returncode == 4 else ("bad", f"it names no option: {lines[0]}")
    if done.returncode == 0:
        return ("harmless", "") if last[0].startswith("VERIFIED   PASSED") else ("bad", f"status 0 with {last[0]!r}")
    if done.returncode in (3, 6):
        return ("harmless", "") if last[0].startswith("VERIFIED   FAILED") else ("bad", f"status {done.returncode}, {last[0]!r}")
    return "bad", f"status {done.returncode}: {done.stderr!r} {last[0]!r}"


def main():
    tally = Tally("random options", 600)
    known = {name: options_of(program) for name, (program, _) in PROGRAMS.items()}
    names = list(PROGRAMS)
    with tempfile.TemporaryDirectory() as folder:
        for index in range(tally.tries):
            name = names[index % len(names)]
            program, base = PROGRAMS[name]
            arguments = [str(a) for a in base]
            for option in tally.random.sample(sorted(known[name]), tally.random.choice([1, 1, 2, 3])):
                words, takes_value = known[name][option]
                value = tally.random.choice(words if words and tally.random.random() < 0.75 else VALUES)
                while option in arguments:
                    del arguments[arguments.index(option):arguments.index(option) + 2]
                arguments += [option, value] if takes_value else [option]
            what = f"{name} {' '.join(arguments)}"
            try:
                done = subprocess.run([program, *arguments], env=environment(), cwd=folder, capture_output=True, text=True,
                                      errors="replace", stdin=subprocess.DEVNULL, timeout=MOST_SECONDS)
            except subprocess.TimeoutExpired:
                tally.add("bad", what, f"it ran longer than {MOST_SECONDS} s")
                continue
            kind, why = judged(arguments, done)
            tally.add(kind, what, why)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
