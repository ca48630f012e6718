# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame checks of the official problems. Run them with

    reframe -c recipes/reframe -S 'folder=/path/to/build/mpi/miniapps' --exec-policy=serial -r

Without the policy ReFrame runs several on one host at once, and they slow each other.

Programs are found on the PATH where no folder is set. -S size=device takes another class."""

import os
import re

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, run_before, sanity_function, variable


class PlaquetteCheck(rfm.RunOnlyRegressionTest):
    size = variable(str, value="nano")
    memory = variable(str, value="medium")
    device = variable(str, value="cpu")
    folder = variable(str, value="")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    num_tasks = 1
    app = ""
    unit = ""
    more = []

    @run_before("run")
    def choose_program(self):
        name = f"plaquette-{self.app}"
        # A run is in ReFrame's own folder: a relative path would not be found from there.
        self.executable = os.path.join(os.path.abspath(self.folder), self.app, name) if self.folder else name
        self.executable_opts = ["--size", self.size, "--memory", self.memory, "--device", self.device, *self.more,
                                "--json", "report.json"]
        self.keep_files = ["report.json"]

    @sanity_function
    def is_verified(self):
        return sn.all([sn.assert_found(r"^VERIFIED   PASSED ", self.stdout),
                       sn.assert_found(rf"^CLASS {self.size} CONFORMS$", self.stdout)])

    @run_before("performance")
    def read_figure_of_merit(self):
        figure = sn.extractsingle(r"^FOM        (\S+) " + re.escape(self.unit) + r"\s", self.stdout, 1, float)
        self.perf_variables = {"figure_of_merit": sn.make_performance_function(figure, self.unit)}


@rfm.simple_test
class MixedPrecisionSolver(PlaquetteCheck):
    app = "mixed-precision-solver"
    unit = "solves/s"
    precision = parameter(["double", "double-half"])

    @run_before("run")
    def choose_precision(self):
        self.executable_opts += ["--precision", self.precision, "--repeat", "1"]


@rfm.simple_test
class Multigrid(PlaquetteCheck):
    app = "multigrid"
    unit = "solves/s"


@rfm.simple_test
class DslashScaling(PlaquetteCheck):
    app = "dslash-scaling"
    unit = "GFLOP/s"
    more = ["--operator", "hopping", "--samples", "3"]


@rfm.simple_test
class OverlapPropagator(PlaquetteCheck):
    app = "overlap-propagator"
    unit = "propagators/hour"
    more = ["--scheme", "preconditioned"]


@rfm.simple_test
class NodalDg(PlaquetteCheck):
    app = "nodal-dg"
    unit = "node stages/s"
    more = ["--steps", "20"]


@rfm.simple_test
class Hmc(PlaquetteCheck):
    app = "hmc"
    unit = "MD units/h"
