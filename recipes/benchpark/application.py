# SPDX-License-Identifier: BSD-3-Clause
"""Ramble's definition of the official problems. Copy it to repo/plaquette of Benchpark, or to a repository of Ramble."""

from ramble.appkit import *

OUTPUT = "{experiment_run_dir}/{experiment_name}.out"
PROGRAMS = ["mixed-precision-solver", "multigrid", "dslash-scaling", "overlap-propagator", "nodal-dg",
            "hmc"]


class Plaquette(SpackApplication):
    """Lattice-QCD mini-apps, each with official problems (RUN_RULES.md)."""

    name = "plaquette"
    tags = ["lattice-qcd", "solver", "multigrid", "discontinuous-galerkin"]

    for program in PROGRAMS:
        executable(program, f"plaquette-{program} --size {{size}} --memory {{memory}} --device {{device}} {{more}} "
                            "--json {experiment_run_dir}/report.json", use_mpi=True)
        workload(program, executables=[program])
    for option, default, text in (("size", "nano", "class: nano, device, node, rack, system or exa"),
                                  ("memory", "medium", "half, all or twice of it: small, medium or large"),
                                  ("device", "cpu", "cpu or gpu"), ("more", "", "options that leave the class as it is")):
        workload_variable(option, default=default, description=text, workloads=PROGRAMS)

    figure_of_merit("figure of merit", fom_regex=r"^FOM\s+(?P<fom>\S+) (?P<unit>\S.*\S)\s+\(", group_name="fom",
                    units="{unit}", log_file=OUTPUT)
    success_criteria("verified", mode="string", match=r"^VERIFIED\s+PASSED", file=OUTPUT)
    success_criteria("of its class", mode="string", match=r"^CLASS \S+ CONFORMS", file=OUTPUT)
