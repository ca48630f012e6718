# SPDX-License-Identifier: BSD-3-Clause

import os

try:  # Spack 1.0 moved them out of spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass
from spack.package import *

#: The checkout that this recipe lies in: Spack fetches the sources from there.
CHECKOUT = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), *[os.pardir] * 3))


class Plaquette(CMakePackage, CudaPackage):
    """Lattice-QCD mini-apps with a serial-first CPU reference: Wilson-clover operators, Krylov solvers, quark
    propagators, quenched gauge configurations."""

    license("BSD-3-Clause")

    git = "file://" + CHECKOUT
    version("main", branch="main")  # no archive is published yet: it would have a number and a checksum here

    variant("mpi", default=True, description="Run on several ranks")
    variant("apps", default=True, description="Build the mini-apps")
    variant("hdf5", default=True, when="+apps", description="Propagators in HDF5 files")
    variant("tests", default=False, description="Build the tests")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("eigen@3.4:", type="build")
    depends_on("boost+math", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("cli11@2:", when="+apps")
    depends_on("nlohmann-json@3.10:", when="+apps")
    depends_on("fmt@9:", when="+apps")
    depends_on("hdf5~mpi", when="+hdf5")
    depends_on("hwloc", when="+apps")
    depends_on("metis@5:")
    depends_on("googletest@1.12: +gmock", when="+tests")
    depends_on("python@3.9:", type="test", when="+tests")

    depends_on("cuda@12.2:", when="+cuda")
    conflicts("cuda_arch=none", when="+cuda", msg="Say for which card: cuda_arch=90 for an H100 or H200")

    conflicts("%gcc@:11", msg="C++20 as g++ 12 has it")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define_from_variant("PLAQUETTE_MPI", "mpi"),
            self.define_from_variant("PLAQUETTE_APPS", "apps"),
            self.define_from_variant("PLAQUETTE_TESTS", "tests"),
            self.define("PLAQUETTE_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_HDF5", not self.spec.satisfies("+hdf5")),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("PLAQUETTE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
