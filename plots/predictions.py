#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes validation/results/predictions.csv: what --dryrun expects of runs that were measured, next to what they gave.

    python3 plots/predictions.py build/dev/miniapps            # writes the table
    python3 plots/predictions.py build/dev/miniapps --check    # compares, and fails where they differ
"""

import argparse
import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile

from report_file import ReportError, end_plainly

RESULTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "validation", "results")
TABLE = os.path.join(RESULTS, "predictions.csv")
COLUMNS = ("report", "program", "card", "ranks", "quantity", "measured", "predicted", "off", "arguments")
#: What predictions are held to: so much of a figure on GPUs, a factor on CPUs.
WITHIN = 0.20
FACTOR_OF_CPU = 2.0

HOPPING_OF_CLASS = "--size device --operator hopping --layout even-odd --precision double --samples 3 --protocol-seconds 2,61"
HOPPING = "--operator hopping --layout even-odd --precision {} --reconstruct 12 --lattice {}"
SOLVE = "--gauge weak:0.2 --mass -0.2 --csw 1 --rhs 6 --batch 1 --reconstruct 12 --precision {} --lattice {}"
MULTIGRID = "--gauge weak:0.2 --lattice 32x32x32x64 --csw 1 --kappa 0.12 --reference none --modes 0 --rhs 12 --batches {}"
# The runs were of the scheme that was the default then.
OVERLAP = ("--scheme relaxed --gauge weak:0.2 --lattice {} --modes {} --overlap-modes {} --overlap-mode-tol {} --delta 1e-9 "
           "--masses {}")
DG = "--equations {} --order {} --box {} --precision single --steps 100"
LIGHT = "0.01,0.03,0.1,0.3"


def hopping():
    """Rows of figures.csv: the speed of the hopping term, sustained."""
    for folder, lattices, counts in (("two", ("32x32x32x64", "24x24x24x128", "32x32x32x256"), (1, 2)),
                                     ("four", ("32x32x32x64", "24x24x24x128", "32x32x32x256"), (4,))):
        for lattice in lattices:
            for ranks in counts:
                for precision in ("single", "half"):
                    yield (f"h200/{folder}/gpu-strong-{lattice}-{ranks}.json", "dslash-scaling", "H200", ranks,
                           "GFLOP/s " + precision, HOPPING.format(precision, lattice))


BATCH, LIGHT_MASS = "h200/multigrid-32x64-smeared-batch.txt", "h200/solver-light-mass.txt"


def solves():
    inner = "--size device --precision double-half --reconstruct 12 "
    yield BATCH, "mixed-precision-solver", "H200", 1, "FOM", inner + "--expected-iterations 2144"
    yield LIGHT_MASS, "mixed-precision-solver", "H200", 1, "FOM", inner + "--rhs 4 --batch 1 --expected-iterations 2132"
    for precision in ("double", "single", "double-half", "single-half"):
        for folder, lattice, ranks, name in (("four", "24x24x24x128", 1, "strong-24x24x24x128-1"),
                                             ("two", "24x24x24x128", 2, "strong-24x24x24x128-2"),
                                             ("four", "24x24x24x128", 4, "strong-24x24x24x128-4"),
                                             ("four", "24x24x24x32", 1, "weak-24x24x24x32-1")):
            yield (f"h200/{folder}/solve-gpu-{name}-{precision}-on.json", "mixed-precision-solver", "H200", ranks, "FOM",
                   SOLVE.format(precision, lattice))


def multigrid():
    yield BATCH, "multigrid", "H200", 1, "FOM", "--size device --batches 12 --expected-iterations 18"
    for report, card, ranks, batch in (("h200/multigrid-32x64", "H200", 1, 1), ("h200/multigrid-32x64-smeared", "H200", 1, 1),
                                       ("h200/multigrid-32x64-1345", "H200", 1, 1), ("h200/multigrid-32x64-batch", "H200", 1, 12),
                                       ("h100/two/multigrid-1", "H100", 1, 4), ("h100/two/multigrid-2", "H100", 2, 4)):
        yield (report + ".json", "multigrid", card, ranks, "FOM", MULTIGRID.format(batch))
    for ranks in (1, 2):
        yield "several-gpus.md", "multigrid", "H100", ranks, "FOM", MULTIGRID.format(1) + " --expected-iterations 17"


def nodal_dg():
    for order, box in ((3, "29x29x29"), (5, "21x21x21"), (7, "16x16x16"), (8, "14x14x14")):
        for equations in ("acoustics", "maxwell"):
            yield (f"h200/dg/{equations}-{order}-gpu.json", "nodal-dg", "H200", 1, "FOM", DG.format(equations, order, box))
    for ranks in (1, 2):  # 162 000 elements
        yield "several-gpus.md", "nodal-dg", "H100", ranks, "FOM", DG.format("maxwell", 4, "30x30x30")
    for ranks in (1, 2):  # a mesh of 15628 elements
        yield f"h100/dg/case-{ranks}.json", "nodal-dg", "H100", ranks, "FOM", DG.format("maxwell", 7, "14x14x13")


def overlap():
    yield ("h200/overlap-24x64.json", "overlap-propagator", "H200", 1, "FOM",
           OVERLAP.format("24x24x24x64", 200, 100, "1e-5", LIGHT))
    yield ("h200/overlap-24x64-preconditioned.json", "overlap-propagator", "H200", 1, "FOM",
           f"--lattice 24x24x24x64 --gauge weak:0.2 --modes 100 --delta 1e-9 --masses {LIGHT} --scheme preconditioned")
    for tolerance in ("1e-5", "1e-6", "1e-7"):
        yield (f"h100/overlap-16x32-{tolerance}.txt", "overlap-propagator", "H100", 1, "FOM",
               OVERLAP.format("16x16x16x32", 60, 30, tolerance, LIGHT))
    for ranks in (1, 2):
        yield (f"h100/two/overlap-{ranks}.json", "overlap-propagator", "H100", ranks, "FOM",
               "--scheme relaxed --gauge weak:0.2 --lattice 16x16x16x32 --modes 80 --overlap-modes 30 --masses 0.03,0.1")
        yield ("several-gpus.md", "overlap-propagator", "H100", ranks, "seconds of modes of H",
               OVERLAP.format("24x24x24x64", 40, 8, "1e-6", LIGHT) + " --until modes")


def classes():
    """Of the official class `device`, by its own options and iterations."""
    solver = "--size device --precision double-half --reconstruct 12"
    overlap = "--size device --scheme preconditioned --modes 100"
    waves = "--size device --steps 44500 --samples 1"
    for card, batch in (("H100", 6), ("H200", 12)):
        for program, quantity, arguments in (("mixed-precision-solver", "FOM", solver),
                                             ("multigrid", "FOM", f"--size device --batches {batch}"),
                                             ("overlap-propagator", "FOM", overlap), ("nodal-dg", "FOM", waves),
                                             ("dslash-scaling", "GFLOP/s double", HOPPING_OF_CLASS)):
            yield f"{card.lower()}/tender/{program}-1.json", program, card, 1, quantity, arguments


HMC = "--size device --solvers bicgstab-half,cg-half,cg-half"


def trajectories():
    """Of the class `device` of hmc."""
    yield "h200/hmc/device.json", "hmc", "H200", 1, "FOM", HMC


def cores():
    """Of the official class `nano` on a core. Each is the fastest of several runs, since the machine had other work."""
    for program in ("dslash-scaling", "mixed-precision-solver", "multigrid", "nodal-dg", "overlap-propagator"):
        yield f"cpu/nano-{program}.json", program, "zen5", 1, "FOM", "--size nano"
    # 21 systems took 2018 iterations in the last trajectory; the trial chose the solver.
    yield "cpu/nano-hmc.json", "hmc", "zen5", 1, "FOM", "--size nano --solvers cg-single --expected-iterations 96"


def rows_of(name):
    with open(os.path.join(RESULTS, name), newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


#: What stands in texts of the archives: solves a second, propagators an hour; and a line of several-gpus.md.
IN_TEXTS = {(BATCH, "mixed-precision-solver"): 1 / 1.299, (BATCH, "multigrid"): 1 / 0.05783,
            (LIGHT_MASS, "mixed-precision-solver"): 0.5778,
            ("h100/overlap-16x32-1e-5.txt", 1): 694.0, ("h100/overlap-16x32-1e-6.txt", 1): 700.2,
            ("h100/overlap-16x32-1e-7.txt", 1): 589.0,
            ("several-gpus.md", "overlap-propagator", 1): 7.81, ("several-gpus.md", "overlap-propagator", 2): 4.38,
            ("several-gpus.md", "multigrid", 1): 1 / 0.1442, ("several-gpus.md", "multigrid", 2): 1 / 0.0874,
            ("several-gpus.md", "nodal-dg", 1): 162000 * 35 / 410e-6, ("several-gpus.md", "nodal-dg", 2): 162000 * 35 / 243e-6}


def mean_iterations():
    """{report: of its right-hand sides} of the first solve of each report on GPUs."""
    found = {}
    for card in ("h100", "h200"):
        with tarfile.open(os.path.join(RESULTS, card + ".tar.xz")) as archive:
            for member in archive:
                if member.name.endswith(".json"):
                    solves_of_run = json.load(archive.extractfile(member)).get("solves", [])
                    each = [c["iterations"] for c in (solves_of_run or [{}])[0].get("columns", []) if "iterations" in c]
                    if each:
                        found[member.name] = str(round(sum(each) / len(each)))
    return found


def measured_of(row, runs, figures):
    report, program, _, ranks, quantity, _ = row
    for key in ((report, ranks), (report, program), (report, program, ranks)):
        if key in IN_TEXTS:
            return IN_TEXTS[key]
    if quantity.startswith("GFLOP/s"):
        return next(float(f["gflops"]) for f in figures if f["report"] == report and f["protocol"] == "sustained"
                    and f["precision"] == quantity.split()[1])
    return float(runs[report])


def device_of(card):
    return "cpu" if card == "zen5" else "gpu"


def predicted_of(folder, row, iterations):
    report, program, card, ranks, quantity, arguments = row
    words = shlex.split(arguments)
    if report in iterations and program in ("mixed-precision-solver", "multigrid") and "--size" not in words:
        words += ["--expected-iterations", iterations[report]]
    command = [os.path.join(folder, program, "plaquette-" + program), *words, "--dryrun", "--ranks", str(ranks), "--device",
               f"{device_of(card)}:{card}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    pattern = r"\nseconds .*modes of H (\S+)," if quantity == "seconds of modes of H" else r"\npredicted  FOM about (\S+) "
    found = re.search(pattern, done.stdout)
    if not found:
        raise ReportError(f"{' '.join(command)}: expected a prediction, found {done.stderr or done.stdout}")
    return float(found.group(1)), shlex.join(words)


def table(folder):
    runs = {r["report"]: r["fom"] for r in rows_of("runs.csv")}
    figures = rows_of("figures.csv")
    iterations = mean_iterations()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    worst = {"gpu": 0.0, "cpu": 0.0}
    for row in [*hopping(), *solves(), *multigrid(), *nodal_dg(), *overlap(), *classes(), *trajectories(), *cores()]:
        measured = measured_of(row, runs, figures)
        predicted, arguments = predicted_of(folder, row, iterations)
        off = predicted / measured - 1.0
        report, program, card, ranks, quantity, _ = row
        of = device_of(card)
        worst[of] = max(worst[of], abs(off) if of == "gpu" else max(predicted / measured, measured / predicted))
        writer.writerow((report, program, card, ranks, quantity, f"{measured:.4g}", f"{predicted:.4g}", f"{off:+.1%}", arguments))
    return text.getvalue(), worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", help="folder of the built programs, build/.../miniapps")
    parser.add_argument("--check", action="store_true", help="compare with the table, and with what was measured")
    arguments = parser.parse_args()
    text, worst = table(arguments.programs)
    if arguments.check:
        with open(TABLE, encoding="utf-8") as file:
            if file.read() != text:
                raise ReportError("validation/results/predictions.csv: expected what the programs predict, found another "
                                  "table: make it again with plots/predictions.py")
    else:
        with open(TABLE, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"worst prediction: off by {worst['gpu']:.1%}, allowed {WITHIN:.0%}; "
          f"on a CPU by a factor of {worst['cpu']:.2f}, allowed {FACTOR_OF_CPU:g}")
    sys.exit(0 if worst["gpu"] <= WITHIN and worst["cpu"] <= FACTOR_OF_CPU else 1)


if __name__ == "__main__":
    end_plainly(main)
