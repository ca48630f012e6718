# SPDX-License-Identifier: BSD-3-Clause
"""About how long a run of the sweeps over GPUs takes, from its command: so that a sweep knows what fits into its
time, and can say so before. The numbers are from runs on H200 with 16 cores of the host each (h200/four in
validation/results); on other machines they are a guess."""

import math

from scaling_data import VECTOR_OPERATIONS

#: Seconds of a run that does nothing: a rank, and each further one. Of a kernel whose launch is tuned; of choosing a halo.
START, START_OF_RANK, TUNING, HALO_CHOICE = 2.0, 0.5, 2.7, 1.5
#: Seconds of a core a site: setting up links; checking an operator; an iteration's worth of a right-hand side's check.
LINKS, CHECK, COLUMN = 6e-6, {"schur": 15e-6, "other": 5e-6}, 16e-6
#: Seconds of an H200 a site and right-hand side of a solve to the tolerance, in double; shares of it in other precisions.
SOLVE, SHARE = 20e-8, {"single": 0.5, "single-half": 0.35, "double-half": 0.4, "double-single": 0.6}
#: The same on the CPU, of a core.
SOLVE_ON_CORE = 160e-6
#: Seconds of `--latency` up to 256 MiB.
LATENCIES = 30.0
#: Seconds more where ranks share a core and wait for each other's turns, as bad placement has it on a host of one socket.
CROWDED = 60.0


def values_of(words):
    """{"--option": value} of arguments; options without a value hold None."""
    values = {}
    for word, follows in zip(words, list(words[1:]) + ["--"]):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            values[name] = value if equals else None if follows.startswith("--") else follows
    return values


def sites_of(text):
    return math.prod(int(word) for word in text.split("x"))


def protocol_seconds(values, cases, ranks):
    """Figures, cool and sustained; on several ranks with the overlap off, and without communication."""
    idle, running = (float(word) for word in (values.get("--protocol-seconds") or "2,1.5").split(","))
    samples = int(values.get("--samples") or 11)
    return cases * (idle + running + samples * 0.005 * 2 * (3 if ranks > 1 else 1) + 0.3)


class Estimator:
    """Remembers what earlier runs have tuned: a kernel is tuned once for each local lattice."""

    def __init__(self):
        self.tuned = set()

    def tuning(self, values, lattice, kernels, ranks):
        """On several ranks with tiles at the cuts and without, for what is timed with the overlap off."""
        wanted = {(lattice, cut, kernel) for kernel in kernels for cut in ((False, True) if ranks > 1 else (False,))}
        new = wanted - self.tuned
        self.tuned |= new
        return 0.0 if values.get("--tune") == "off" else TUNING * len(new) + (HALO_CHOICE if ranks > 1 else 0.0)

    def seconds(self, program, ranks, threads, cores):
        """Of a command of dslash-scaling or of mixed-precision-solver, on `cores` cores."""
        values = values_of(program)
        start = START + START_OF_RANK * (ranks - 1)
        if "--latency" in values:
            return start + LATENCIES
        local = values.get("--local-lattice")
        sites = sites_of(local) * ranks if local else sites_of(values.get("--lattice") or "8x8x8x16")
        lattice, at_once = sites // ranks, max(1, min(cores, ranks * threads))
        if "--operator" in values:
            return start + self.of_operators(values, sites, lattice, ranks, at_once)
        return start + self.of_solve(values, sites, lattice, ranks, at_once)

    def of_operators(self, values, sites, lattice, ranks, cores):
        names, precisions = values["--operator"].split(","), (values.get("--precision") or "single").split(",")
        checks = sum(CHECK["schur" if "schur" in name else "other"] for name in names) * len(precisions)
        host = sites * (LINKS + checks) / cores
        cases = len(names) * len(precisions)
        if values.get("--device") != "gpu":
            return host + cases * (1.0 + 30 * sites * 1e-6 / cores)
        kernels = [(precision, "clover" in name) for precision in precisions for name in names
                   if name not in VECTOR_OPERATIONS]
        crowded = CROWDED if values.get("--placement") == "bad" and ranks > 1 else 0.0
        return host + self.tuning(values, lattice, kernels, ranks) + protocol_seconds(values, cases, ranks) + crowded

    def of_solve(self, values, sites, lattice, ranks, cores):
        mode = values.get("--precision") or "double"
        columns, solves = int(values.get("--rhs") or 12), 1 + int(values.get("--repeat") or 3)
        host = sites * (LINKS + columns * COLUMN) / cores
        if values.get("--device") != "gpu":
            return host + solves * columns * sites * SHARE.get(mode, 1.0) * SOLVE_ON_CORE / cores
        solve = SOLVE * SHARE.get(mode, 1.0) * sites * columns / ranks ** 0.9
        kernels = [(precision, clover) for precision in mode.split("-") for clover in (False, True)]
        return (host + solves * solve + self.tuning(values, lattice, kernels, ranks) +
                protocol_seconds(values, len(mode.split("-")), ranks))
