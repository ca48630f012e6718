# SPDX-License-Identifier: BSD-3-Clause
"""Benchpark's experiments with the official problems. Copy it to experiments/plaquette of Benchpark, then for example
benchpark experiment init --dest=plaquette SYSTEM plaquette +cuda scaling=weak workload=multigrid"""

from benchpark.caliper import Caliper
from benchpark.cuda import CudaExperiment
from benchpark.directives import maintainers, variant
from benchpark.experiment import Experiment
from benchpark.mpi import MpiOnlyExperiment
from benchpark.scaling import Scaling, ScalingMode

PROGRAMS = ("mixed-precision-solver", "multigrid", "dslash-scaling", "overlap-propagator", "nodal-dg", "hmc")
CLASSES = ("nano", "device", "node", "rack", "system", "exa")


class Plaquette(Experiment, MpiOnlyExperiment, CudaExperiment,
                Scaling(ScalingMode.Strong, ScalingMode.Weak, ScalingMode.Throughput), Caliper):
    variant("workload", default="mixed-precision-solver", values=PROGRAMS, description="which program")
    variant("size", default="nano", values=CLASSES, description="class, of one run and of strong scaling")
    variant("version", default="main", values=("main", "0.1.0"), description="of Plaquette")
    maintainers("plaquette")

    def compute_applications_section(self):
        """Weak: each class on the devices it is meant for. Throughput: one class in three sizes on one device."""
        size = self.spec.variants["size"][0]
        ranks, sizes, memory = [1], [size], ["medium"]
        if self.spec.satisfies("scaling=strong"):
            ranks, sizes, memory = [1, 2, 4, 8], 4 * [size], 4 * ["medium"]
        elif self.spec.satisfies("scaling=weak"):
            ranks, sizes, memory = [1, 8, 64], ["device", "node", "rack"], 3 * ["medium"]
        elif self.spec.satisfies("scaling=throughput"):
            ranks, sizes, memory = 3 * [1], 3 * [size], ["small", "medium", "large"]
        on_gpu = self.spec.satisfies("+cuda")
        self.add_experiment_variable("n_gpus" if on_gpu else "n_ranks", ranks, True)
        self.add_experiment_variable("size", sizes, True)
        self.add_experiment_variable("memory", memory, True)
        self.add_experiment_variable("device", "gpu" if on_gpu else "cpu", False)

    def compute_package_section(self):
        self.add_package_spec(self.name, [f"plaquette@{self.spec.variants['version'][0]} +mpi"])
