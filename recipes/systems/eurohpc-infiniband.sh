# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # recipes/slurm/plaquette.sh reads srun_options
#
# A EuroHPC machine with Open MPI and InfiniBand: an example, with the numbers of Leonardo's Booster (CINECA: one Xeon 8358
# of 32 cores, four A100 of 64 GB, HDR InfiniBand). It was not run there. Copy it, then change what "module avail" and the
# centre's pages say otherwise. Source it before the build and give it to jobs:
#
#   . recipes/systems/eurohpc-infiniband.sh
#   cmake --preset cuda -DPLAQUETTE_CUDA_ARCHITECTURES=80 && cmake --build --preset cuda
#   export PLAQUETTE_SYSTEM=$PWD/recipes/systems/eurohpc-infiniband.sh PLAQUETTE_FOLDER=$PWD/build/cuda/miniapps
#   sbatch --account=NAME --partition=boost_usr_prod --nodes=2 --ntasks-per-node=4 --cpus-per-task=8 --gpus-per-node=4 \
#     recipes/slurm/plaquette.sh mixed-precision-solver device --device gpu
#
# MareNostrum 5 (BSC) has four H100 and 80 cores a node: 90 for 80 above, 20 cores a rank, --partition left out, --qos added.

module load gcc openmpi cuda hdf5 cmake
# The compiler is GCC 12 or newer. CLI11, JSON, fmt, Eigen, Boost, hwloc and METIS are seldom modules: recipes/README.md has
# Spack's names of them.

# Open MPI reaches InfiniBand through UCX. An Open MPI built with CUDA then takes memory of GPUs (--halo mpi); "ompi_info
# --parsable --all | grep mpi_built_with_cuda_support" tells.
export OMPI_MCA_pml=ucx

# MpiDefault is often none: without PMIx every rank would believe that it is alone.
export SLURM_MPI_TYPE=pmix
# Each rank must see all GPUs of its node: it takes the GPU of its number.
srun_options=(--gpu-bind=none --distribution=block)
