# SPDX-License-Identifier: BSD-3-Clause
"""Runs the official series and packs a submission: ./plaquette tender OUT --classes nano

OUT then holds reports/, logs/, system/, submission.json and README.md, as RUN_RULES.md says, and OUT.tar.xz has all of
it. Inside a job of Slurm, programs start with srun; elsewhere with mpirun, or alone on one rank. In a bundle of
./plaquette bundle, python3 tools/tender.py OUT --device gpu takes its programs. Exit status: 0 all runs are verified and
conform, 1 one does not, 2 unusable arguments, 5 output that could not be written."""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tarfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
FAILED, UNUSABLE = 1, 2
with open(os.path.join(ROOT, "common", "app", "classes.json"), encoding="utf-8") as ladder:
    CLASSES = json.load(ladder)
# What a first run is told; and the option that makes the timed work longer, where there is one.
FIRST = {"mixed-precision-solver": ["--repeat", "1"], "multigrid": [], "overlap-propagator": ["--scheme", "preconditioned"],
         "dslash-scaling": ["--operator", "hopping", "--layout", "even-odd", "--precision", "double", "--samples", "3"],
         "nodal-dg": ["--steps", "20", "--samples", "4"], "hmc": []}
# The same for classes above nano: half of the usual modes leave room for a batch of columns.
ABOVE_NANO = {"overlap-propagator": ["--modes", "100"]}
LONGER = {"mixed-precision-solver": "--repeat", "dslash-scaling": "--samples", "nodal-dg": "--steps"}
SYSTEM = (("uname", "-a"), ("lscpu",), ("free", "-b"), ("numactl", "--hardware"), ("nvidia-smi", "-q"), ("nvidia-smi", "topo", "-m"),
          ("mpirun", "--version"), ("srun", "--version"), ("ulimit", "-a"), ("lspci",))


def fail(text):
    print(f"tender: {text}", file=sys.stderr)
    sys.exit(UNUSABLE)


def words(text, known, option):
    chosen = text.split(",")
    for word in chosen:
        if word not in known:
            fail(f"{option}: expected some of {', '.join(known)}, found '{word}'")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(prog="./plaquette tender", description=__doc__.split("\n\n")[1])
    parser.add_argument("out", metavar="OUT", help="folder to make")
    parser.add_argument("--classes", default="nano", help="LIST of " + "|".join(CLASSES["classes"]) + " (default: nano)")
    parser.add_argument("--memory", default="medium", help="LIST of " + "|".join(CLASSES["memory"]) + " (default: medium)")
    parser.add_argument("--apps", default=",".join(FIRST), help="LIST of " + "|".join(FIRST) + " (default: all)")
    parser.add_argument("--device", default="cpu", choices=("cpu", "gpu"))
    parser.add_argument("--ranks", default="1", help="LIST of numbers of ranks; several make a scaling series")
    parser.add_argument("--launcher", help="what starts a program, such as 'srun --cpu-bind=cores -n {ranks}'")
    parser.add_argument("--runs", type=int, default=0, help="repetitions (default: what the class needs)")
    parser.add_argument("--vendor", default="unnamed")
    parser.add_argument("--category", default="baseline", choices=("baseline", "ported", "optimized"))
    parser.add_argument("--programs", default=os.path.join(ROOT, "bin"),
                        help="folder of the built mini-apps (build/mpi/miniapps, or bin of a bundle)")
    parser.add_argument("--dryrun", action="store_true", help="print the commands and stop")
    parser.add_argument("--options", action="append", default=[], metavar="APP='--option value'",
                        help="more options of a program; those that change the problem make it conform no more")
    a = parser.parse_args()
    if a.out == "-":
        fail("OUT: expected the name of a folder, found '-'")
    a.classes = words(a.classes, list(CLASSES["classes"]), "--classes")
    a.memory = words(a.memory, list(CLASSES["memory"]), "--memory")
    a.apps = words(a.apps, list(FIRST), "--apps")
    try:
        a.ranks = [int(r) for r in a.ranks.split(",")]
        if min(a.ranks) < 1:
            raise ValueError
    except ValueError:
        fail(f"--ranks: expected numbers from 1, found '{a.ranks}'")
    a.more = {}
    for option in a.options:
        app, equals, text = option.partition("=")
        if not equals or app not in FIRST:
            fail(f"--options: expected APP='--option value', found '{option}'")
        a.more.setdefault(app, []).extend(text.split())
    for app in a.apps:
        if not os.access(program(a, app), os.X_OK):
            fail(f"{program(a, app)}: expected a program, found none; ./plaquette build makes it")
    libraries = os.path.join(a.programs, "..", "lib")
    if os.path.exists(os.path.join(ROOT, "bundle.txt")) and os.path.isdir(libraries):
        os.environ["LD_LIBRARY_PATH"] = os.path.abspath(libraries) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
    return a


def program(a, app):
    """Below a build folder each program has a folder; in a bundle all stand next to each other."""
    flat = os.path.join(a.programs, "plaquette-" + app)
    return flat if os.path.exists(flat) else os.path.join(a.programs, app, "plaquette-" + app)


def launcher(a, ranks):
    if a.launcher:
        return a.launcher.replace("{ranks}", str(ranks)).split()
    if "SLURM_JOB_ID" in os.environ and shutil.which("srun"):
        cpus = os.environ.get("SLURM_CPUS_PER_TASK")  # srun ignores it from Slurm 22.05 on
        return ["srun", "-n", str(ranks), *(["--cpus-per-task=" + cpus] if cpus else [])]
    return ["mpirun", "-n", str(ranks)] if ranks > 1 else []


def describe_system(folder):
    """What the machine says of itself, a file a command."""
    os.makedirs(folder)
    for command in SYSTEM:
        if not shutil.which(command[0]):
            continue
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        with open(os.path.join(folder, "-".join(w.strip("-") for w in command) + ".txt"), "wb") as file:
            file.write(done.stdout)
    for source in ("/etc/os-release", "/proc/meminfo"):
        if os.path.exists(source):
            shutil.copyfile(source, os.path.join(folder, os.path.basename(source) + ".txt"))


def read_report(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def run(a, app, size, memory, ranks, number, more):
    """One run; returns its entry for submission.json."""
    name = f"{app}-{size}-{memory}-{ranks}-{number}"
    report = os.path.join(a.out, "reports", name + ".json")
    command = launcher(a, ranks) + [program(a, app), "--size", size, "--memory", memory, "--device", a.device, *more,
                                    "--json", report]
    print(" ".join(command), flush=True)
    if a.dryrun:
        return None
    with open(os.path.join(a.out, "logs", name + ".txt"), "w", encoding="utf-8") as log:
        status = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=log,
                                stderr=subprocess.STDOUT).returncode
    found = read_report(report)
    run_class, fom = found.get("class", {}), found.get("fom", {})
    entry = {"report": f"reports/{name}.json", "log": f"logs/{name}.txt", "command": command, "status": status,
             "fom": fom.get("value"), "unit": fom.get("unit"), "energy": found.get("energy", {"none": "no report"}), "conforms": run_class.get("conforms", False),
             "why": run_class.get("why", "no report"), "work_seconds": run_class.get("work_seconds", 0.0)}
    print(f"   status {status}, {entry['fom']} {entry['unit']}, class {size} "
          f"{'CONFORMS' if entry['conforms'] else 'DOES NOT (' + entry['why'] + ')'}", flush=True)
    return entry


def names(options):
    return {word.partition("=")[0] for word in options}


def first_options(a, app, size):
    """What a first run is told: the usual options, but for those that --options gives."""
    given, usual = a.more.get(app, []), FIRST[app] + (ABOVE_NANO.get(app, []) if size != "nano" else [])
    return [word for i in range(0, len(usual), 2) if usual[i] not in names(given) for word in usual[i:i + 2]] + given


def has_length(a, app):
    """Whether --options says how long the program works. On a GPU, dslash-scaling works before it takes samples."""
    option = "--protocol-seconds" if (app, a.device) == ("dslash-scaling", "gpu") else LONGER.get(app)
    return option in names(a.more.get(app, []))


def longer(app, more, device, work, seconds):
    """The options of a run that works for `seconds`, where one with the options `more` works for `work`."""
    if app not in LONGER or not 0 < work < seconds:
        return more
    if app == "dslash-scaling" and device == "gpu":
        return more + ["--protocol-seconds", f"2,{math.ceil(1.1 * seconds)}"]
    at = more.index(LONGER[app]) + 1
    factor = 1.2 * seconds / work
    return more[:at] + [str(math.ceil(int(more[at]) * factor))] + more[at + 1:]


def run_series(a):
    entries = []
    for size in a.classes:
        rules = CLASSES["classes"][size]
        for memory in a.memory:
            for app in a.apps:
                seconds = CLASSES["programs"][app].get("seconds", rules["seconds"])
                for ranks in a.ranks:
                    more, count = first_options(a, app, size), a.runs or rules["runs"]
                    if seconds and not a.dryrun and not has_length(a, app):
                        trial = run(a, app, size, memory, ranks, "trial", more)
                        if trial["why"].endswith("s of work") or trial["conforms"]:
                            more = longer(app, more, a.device, trial["work_seconds"], seconds)
                        shutil.move(os.path.join(a.out, trial["report"]), os.path.join(a.out, "logs"))
                    for i in range(count):
                        entries.append(run(a, app, size, memory, ranks, i + 1, more))
                        if not a.dryrun:
                            write_submission(a, entries)
    return entries


def write_submission(a, entries):
    """submission.json and README.md. After each run, so that a series that is stopped leaves what it has."""
    revisions = {read_report(os.path.join(a.out, e["report"])).get("build", {}).get("revision", "unknown") for e in entries}
    revision = revisions.pop() if len(revisions) == 1 else "several"
    scaling = [{"app": app, "class": size, "memory": memory, "kind": "strong", "ranks": a.ranks}
               for app in a.apps for size in a.classes for memory in a.memory] if len(a.ranks) > 1 else []
    energy = sorted({e["energy"].get("source", "none: " + e["energy"].get("none", "")) for e in entries})
    document = {"energy": "hosts by " + "; ".join(energy) + (", GPUs by NVML" if a.device == "gpu" else ""),
                "vendor": a.vendor, "category": a.category, "revision": revision, "classes": a.classes,
                "memory": a.memory, "apps": a.apps, "changes": [], "scaling": scaling, "runs": entries}
    with open(os.path.join(a.out, "submission.json"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
        file.write("\n")
    write_page(a, entries, revision)


def write_page(a, entries, revision):
    lines = [f"# Submission of {a.vendor}", "", f"Category {a.category}, classes {', '.join(a.classes)}, revision "
             f"{revision}. Made by `./plaquette tender`; `./plaquette validate` of this folder judges it.", "",
             "| run | figure of merit | joules of the hosts | class | status |", "|---|---|---|---|---|"]
    for e in entries:
        joule = e["energy"].get("energy_joule", "not known: " + e["energy"].get("none", ""))
        lines.append(f"| {e['report']} | {e['fom']} {e['unit']} | {joule} | {'conforms' if e['conforms'] else e['why']} | {e['status']} |")
    with open(os.path.join(a.out, "README.md"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    a = arguments()
    if os.path.exists(a.out) and (not os.path.isdir(a.out) or os.listdir(a.out)):
        fail(f"{a.out}: expected a folder that is new or empty, found {'files in it' if os.path.isdir(a.out) else 'a file'}")
    if a.dryrun:
        run_series(a)
        return
    for folder in ("reports", "logs"):
        os.makedirs(os.path.join(a.out, folder), exist_ok=True)
    describe_system(os.path.join(a.out, "system"))
    entries = run_series(a)
    packed = a.out.rstrip("/") + ".tar.xz"
    with tarfile.open(packed, "w:xz") as file:
        file.add(a.out, arcname=os.path.basename(a.out.rstrip("/")))
    bad = [e for e in entries if e["status"] != 0 or not e["conforms"]]
    print(f"\nFOLDER     {a.out}\nPACKED     {packed}\nTENDER     {'FAILED' if bad else 'PASSED'}     ({len(entries)} runs, "
          f"{len(bad)} of them not verified or not of their class)")
    sys.exit(FAILED if bad else 0)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        print(f"tender: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(5)
