# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # recipes/slurm/plaquette.sh reads srun_options
#
# An HPE Cray EX with MPICH and Slingshot: an example, with the numbers of Perlmutter's GPU nodes (NERSC: one EPYC 7763 of
# 64 cores, four A100, four Slingshot 11 adapters). It was not run there. Copy it, then change what "module avail" and
# the centre's pages say otherwise. Source it before the build and give it to jobs:
#
#   . recipes/systems/cray-slingshot.sh
#   cmake --preset cuda -DPLAQUETTE_CUDA_ARCHITECTURES=80 && cmake --build --preset cuda
#   export PLAQUETTE_SYSTEM=$PWD/recipes/systems/cray-slingshot.sh PLAQUETTE_FOLDER=$PWD/build/cuda/miniapps
#   sbatch --account=NAME --constraint=gpu --nodes=2 --ntasks-per-node=4 --cpus-per-task=32 --gpus-per-node=4 \
#     recipes/slurm/plaquette.sh mixed-precision-solver device --device gpu
#
# --cpus-per-task counts hardware threads: 128 of a node, shared by four ranks. Alps (CSCS) has four GH200 a node: 90 for
# 80 above, 72 cores a rank. LUMI's GPUs are from AMD: there --device cpu alone works, with --preset mpi.

module load PrgEnv-gnu cudatoolkit craype-accel-nvidia80 cray-hdf5 cmake
# CLI11, JSON, fmt, Eigen, Boost, hwloc and METIS are seldom modules: recipes/README.md has Spack's names of them.

# Cray's wrappers add MPICH; mpicxx need not be on the PATH.
export CC=cc CXX=CC

# MPICH then takes memory of GPUs (--halo mpi). The program must be linked with its GTL library, which the accelerator's
# module does. Without it a run ends at once: set 0, and halos go through the host (--halo staged).
export MPICH_GPU_SUPPORT_ENABLED=1
# Each rank takes the network adapter next to its GPU.
export MPICH_OFI_NIC_POLICY=GPU

# Slurm starts Cray's MPICH without PMIx. Each rank must see all GPUs of its node: it takes the GPU of its number.
srun_options=(--gpu-bind=none --distribution=block)
