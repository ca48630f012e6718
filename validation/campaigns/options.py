# SPDX-License-Identifier: BSD-3-Clause
"""Random options of every program and verbs of ./plaquette, sound and unsound: each run is refused in one line that names
an option, or is done with a verdict that its exit status and its report repeat. Files that options name are made whole or
not at all, and no others are made; `validate` takes the report of a verified run."""
import json
import os
import re
import subprocess
import sys
import tempfile

from campaign import Tally
from harness import environment

#: Seconds that a run may take; with --time-limit below it.
LIMIT, MOST_SECONDS = 4, 30

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LATTICE = ["--lattice", "4x4x4x4", "--gauge", "weak:0.2", "--time-limit", LIMIT]
#: Program, and arguments of which each run has one list.
PROGRAMS = {
    "mixed-precision-solver": (os.environ["PLAQUETTE_SOLVER"], [[*LATTICE, "--rhs", 1, "--repeat", 0], [*LATTICE, "--repeat", 1]]),
    "dslash-scaling": (os.environ["PLAQUETTE_DSLASH_SCALING"], [[*LATTICE, "--samples", 3, "--operator", "hopping"]]),
    "make-configuration": (os.environ["PLAQUETTE_MAKE_CONFIGURATION"],
                           [["--lattice", "4x4x4x4", "--sweeps", 2, "--time-limit", LIMIT]]),
    "multigrid": (os.environ["PLAQUETTE_MULTIGRID"], [LATTICE]),
    "overlap-propagator": (os.environ["PLAQUETTE_OVERLAP_PROPAGATOR"],
                           [[*LATTICE, "--modes", 4],
                            ["--lattice", "2x2x2x4", "--gauge", "weak:0.3", "--modes", 6, "--overlap-modes", 3, "--masses", "0.4",
                             "--time-limit", LIMIT]]),
    "nodal-dg": (os.environ["PLAQUETTE_NODAL_DG"],
                 [["--box", "2x2x2", "--order", 2, "--steps", 5, "--time-limit", LIMIT],
                  # more than 1e10 flops
                  ["--box", "4x4x4", "--order", 5, "--steps", 300, "--problem", "pulse", "--pulse-start", -0.5, "--time-limit",
                   10 * LIMIT]]),
}
if "PLAQUETTE_BENCH" in os.environ:
    PROGRAMS["bench"] = os.environ["PLAQUETTE_BENCH"], [["--lattice", "4x4x4x4", "--samples", 1]]
#: What would end the run at once, or take minutes.
LEFT_OUT = {"--help", "--version", "--json", "--device", "--size", "--threads", "--time-limit", "--tune", "--tune-file",
            "--large", "--list-rows"}
VALUES = ["0", "1", "2", "3", "7", "12", "-1", "0.5", "1e-8", "1e-30", "1e8", "1e300", "nan", "inf", "", "x", "4x4x4x4", "8x4x4x4",
          "2x2x2x2", "3x3x3x3", "1,1,1,1", "0,0,0,0", "9,9,9,9", "auto", "unit", "random", "weak:0.1", "weak:-1", "heatbath:6:2",
          "heatbath:6:-1", "/no/such/file", "/dev/null", "99999999999999999999"]
#: Options that name a file to write, with what they add to the name.
OUTPUTS = {"--propagator": "", "--checkpoint": None, "--output": "", "--history": "", "--save-setup": "", "--propagators": ".m0.h5",
           "--vtk": "", "--plane": "", "--energy": ""}
FILES = ["new", "new.h5", "new.lime", "new.txt", "old", "r.json", "-", ".", "no/folder/file", "/dev/null", "/dev/full", "ä", "a b"]
#: What programs remark on, of runs like these.
REMARKS = [r"\d+ threads of this host's ranks", r"to fit into memory: ", r"exceptional: ", r".*no speed-up is given", r"lattices from .* on are too small",
           r"\d+ of \d+ right-hand sides needed", r"goes on after \d+ cycles", r".* is not written: expected a propagator that passed", r"modes above the bound",
           r"\d+ of \d+ modes of H converged", r"\|H\| outside", r"multigrid", r"--", r"open boundaries", r".*rebuilt", r"mesh: "]


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
    """refused, harmless, remark or bad, and why."""
    lines = done.stderr.rstrip("\n").splitlines()
    last = done.stdout.rstrip("\n").splitlines()[-1:] or [""]
    if done.returncode in (2, 4, 5):
        if len(lines) != 1 or not lines[0].startswith("plaquette-"):
            return "bad", f"status {done.returncode} with {done.stderr!r}"
        if "PASSED" in done.stdout:
            return "bad", "refused and passed"
        told = re.search(r"--[a-z]", lines[0]) or any(len(a) > 1 and a in lines[0] or f" {a}: " in lines[0] for a in arguments)
        return ("refused", "") if told or done.returncode == 4 else ("bad", f"it names no option: {lines[0]}")
    remarks = re.findall(r"^remark +(.*)$", done.stdout, re.MULTILINE)
    unknown = [remark for remark in remarks if not any(re.match(known, remark) for known in REMARKS)]
    if unknown:
        return "bad", f"remarks that the campaign does not know: {unknown}"
    kind = "remark" if remarks else "harmless"
    if done.returncode == 0:
        return (kind, "") if last[0].startswith("VERIFIED   PASSED") else ("bad", f"status 0 with {last[0]!r}")
    if done.returncode == 6 and len(lines) == 1 and "stopped by " in lines[0]:
        return kind, ""  # before there was anything to report
    if done.returncode in (3, 6):
        return (kind, "") if last[0].startswith("VERIFIED   FAILED") else ("bad", f"status {done.returncode}, {last[0]!r}")
    return "bad", f"status {done.returncode}: {done.stderr!r} {last[0]!r}"


def wrong_files(folder, arguments, done):
    """What is wrong with the files that a run has left; empty: nothing."""
    found = sorted(os.listdir(folder))
    stray = [name for name in found if name == "-" or name.endswith(".partial")]
    if stray:
        return f"it leaves {stray}"
    with open(os.path.join(folder, "old"), "rb") as file:
        if file.read() != b"old\n" and ("--force" not in arguments or done.returncode == 2):
            return "an old file is another"
    report = None
    if "r.json" in found:
        with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
            report = json.load(file)
        if report["verified"] != (done.returncode == 0):
            return f"its report says verified: {report['verified']}"
    is_dry = "--dryrun" in arguments
    if done.returncode == 0 and not is_dry:
        if report is None:
            return "no report"
        checked = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "validate.py"), "--trial", "--quiet", "r.json"],
                                 cwd=folder, capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            return f"validate refuses its report: {checked.stdout}{checked.stderr}"
        for option, value in zip(arguments, arguments[1:]):
            if OUTPUTS.get(option) is not None and not os.path.exists(os.path.join(folder, value + OUTPUTS[option])):
                if option != "--propagators" or "--until" not in arguments:
                    return f"{option} {value} is not there"
    return ""


def run_program(random, name, known, folder):
    """What was run, how it ended, and why."""
    program, bases = PROGRAMS[name]
    arguments = [str(a) for a in random.choice(bases)]
    for option in random.sample(sorted(known), random.choice([1, 1, 2, 3])):
        words, takes_value = known[option]
        value = random.choice(words if words and random.random() < 0.75 else VALUES)
        if option in OUTPUTS:
            value = random.choice(FILES if random.random() < 0.5 else words)
        while option in arguments:
            del arguments[arguments.index(option):arguments.index(option) + 2]
        arguments += [option, value] if takes_value else [option]
    what = f"{name} {' '.join(arguments)}"
    with open(os.path.join(folder, "old"), "wb") as file:
        file.write(b"old\n")
    try:
        done = subprocess.run([program, *arguments, "--json", "r.json"], env=environment(), cwd=folder, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=2 * MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return what, "bad", f"it ran longer than {2 * MOST_SECONDS} s"
    if "--dryrun" in arguments and done.returncode == 0:
        return what, "harmless", wrong_files(folder, arguments, done)
    kind, why = judged(arguments, done)
    return what, kind, why or wrong_files(folder, arguments, done)


def run_inspect(random, folder):
    """plaquette-inspect on a file of some kind, with some options."""
    with open(os.path.join(folder, "text"), "wb") as file:
        file.write(random.choice([b"", b"\x89HDF", b"$MeshFormat\n", b"PlaqDG01", b"\x45\x67\x89\xab", b"BEGIN_HEADER\n", b"{}", b"0" * 200,
                                  b"deadbeef\n{}"]))
    files = ["text", ".", "/no/such/file", "/dev/null", "-", os.path.join(ROOT, "data", "beta6.0_6x6x6x12.nersc"),
             os.path.join(ROOT, "miniapps", "nodal-dg", "meshes", "box100.msh")]
    arguments = [random.choice(files)]
    for option in random.sample(["--flow", "--lattice", "--reunitarise", "--json", "--help", "--force"], random.choice([0, 1, 1, 2])):
        arguments += [option] if option in ("--reunitarise", "--help") else [option, random.choice([*VALUES, "0.1", "0.1:0.05"])]
    what = f"inspect {' '.join(arguments)}"
    try:
        done = subprocess.run([os.environ["PLAQUETTE_INSPECT"], *arguments], env=environment(), cwd=folder, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return what, "harmless" if "--flow" in arguments else "bad", ""
    lines = done.stderr.rstrip("\n").splitlines()
    if done.returncode == 2:
        return what, "refused", "" if len(lines) == 1 and lines[0].startswith("plaquette-inspect: ") else repr(done.stderr)
    return what, "harmless", "" if done.returncode == 0 and not lines else f"status {done.returncode}: {done.stderr!r}"


def run_ladder(random, folder):
    program = os.environ["PLAQUETTE_LADDER"]
    names = re.findall(r"^([a-z-]+):", subprocess.run([program], capture_output=True, text=True, check=True).stdout, re.MULTILINE)
    arguments = [random.choice([*names, "none", ""]), "--size", random.choice(["nano", "nano", "huge"]), "--seconds", "0"]
    for option in random.sample(["--rung", "--seed", "--table"], random.choice([0, 1, 2])):
        arguments += [option, random.choice(["1", "2", "5", "-1", "x", "-", "/no/such/file", "new", "99999999999999999999", "nan"])]
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
                          stdin=subprocess.DEVNULL)
    what = f"ladder {' '.join(arguments)}"
    passed = "VERIFIED   PASSED" in done.stdout
    if os.path.exists(os.path.join(folder, "-")):
        return what, "bad", "it leaves '-'"
    if done.returncode in (2, 5):
        return what, "refused", "" if done.stderr and not passed else repr(done.stderr + done.stdout)
    is_list = arguments[0] == "" and done.returncode == 0
    return what, "harmless", "" if is_list or (done.returncode == 0 and passed) else f"status {done.returncode}: {done.stderr}"


#: Words that a user may write behind a verb. Nothing is built: the machine of the verbs has no compiler.
WORDS = ["", "none", "--help", "-n", "0", "-1", "2", "cpu", "gpu", "--device", "--json", "-", "x.json", "/no/such/file", ".", "--gpu", "--arch",
         "unit", "long", "solvers", "notebook", "exercise", "book", "hopping", "double", "18", "scaling", "figures", "--output", "multigrid",
         "mixed-precision-solver", "--size", "nano", "--rules", "--trial", "--quiet", "$HOME", "a b", "'", "*", "ä"]
VERBS = ["demo", "test", "bundle", "build", "run", "bench", "kernel", "learn", "sweep", "report", "validate", "inspect", "tender", "help", "dance", ""]


def run_verb(random, folder):
    tools = os.path.join(folder, "tools")
    os.makedirs(tools)
    for name in ("bash", "sh", "dirname", "realpath", "cat", "ls", "sed", "grep", "awk", "sort", "head", "tail", "nproc", "uname", "tr", "cut", "id",
                 "basename", "mkdir", "rm", "env", "git", "wc", "find", "tput", "seq", "python3"):
        for path in ("/usr/bin/", "/bin/"):
            if os.path.exists(path + name):
                os.symlink(path + name, os.path.join(tools, name))
                break
    user = os.path.join(folder, "user")
    os.makedirs(user)
    arguments = [random.choice(VERBS), *(random.choice(WORDS) for _ in range(random.choice([0, 1, 1, 2, 2, 3])))]
    what = f"./plaquette {arguments}"
    settings = {**environment(), "PATH": tools, "PLAQUETTE_INSTALL": "no", "HOME": folder}
    try:
        done = subprocess.run(["bash", os.path.join(ROOT, "plaquette"), *arguments], env=settings, cwd=user, capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=MOST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return what, "bad", "a hang"
    said = done.stderr + done.stdout
    broken = re.search(r"Traceback|unbound variable|syntax error|command not found|line \d+:|terminate called", done.stderr)
    if broken or done.returncode > 6:
        return what, "bad", f"status {done.returncode}: {said[-600:]}"
    made = os.listdir(user)
    if made:
        return what, "bad", f"it leaves {made}"
    if done.returncode != 0:
        return what, "refused", "" if said.strip() else f"status {done.returncode} without a word: {said[-600:]}"
    return what, "harmless", "" if said.strip() else "status 0 without a word"


def main():
    tally = Tally("random options", 600)
    known = {name: options_of(program) for name, (program, _) in PROGRAMS.items()}
    others = {"inspect": run_inspect, "ladder": run_ladder, "verbs": run_verb}
    if "PLAQUETTE_LADDER" not in os.environ:
        del others["ladder"]
    names = [name for name in (*PROGRAMS, *others) if os.environ.get("PLAQUETTE_CAMPAIGN_ONLY", "") in name]
    for index in range(tally.tries):
        name = names[index % len(names)]
        with tempfile.TemporaryDirectory() as folder:
            if name in others:
                what, kind, why = others[name](tally.random, folder)
            else:
                what, kind, why = run_program(tally.random, name, known[name], folder)
        tally.add("bad" if why else kind, what, why)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
