#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures the same problems on one GPU and on two of this machine, and writes a table: multigrid on 32^3x64 (kappa 0.1350,
# one source at a time and four at once), overlap (modes and sign function on 24^3x64, a whole run on 16^3x32), nodal-dg with
# 162 000 elements, BiCGstab (kappa 0.1345), class device of hmc. About 550 s of the GPUs. It needs python3 and mpirun, nothing is compiled.
#
#   tools/several_gpus.sh PROGRAMS FOLDER [ARGS...]
#     PROGRAMS   a bundle (./plaquette bundle --gpu --mpi), or a build folder
#     FOLDER     of reports, scaling.md and scaling.csv; the same command goes on where a run is missing
#     ARGS       of `sweep several`, for instance --gpus 1,2,4, --rows multigrid,dg,hmc, --size small, --gauge FILE
set -euo pipefail

[[ $# -ge 2 ]] || { sed -n 's/^# \{0,1\}//; 4,11p' "$0" >&2; exit 2; }
root=$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")
programs=$1 folder=$2
shift 2

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# NVLink's multicast can put the GPUs of a virtual machine out of service.
export NCCL_NVLS_ENABLE=0
# NCCL's library as it comes with Python's packages.
nccl=$(python3 -c '
from importlib.util import find_spec
from os.path import join
print(join(list(find_spec("nvidia.nccl").submodule_search_locations)[0], "lib"))' 2>/dev/null || true)
[[ ! -e $nccl/libnccl.so.2 ]] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$nccl
exec python3 "$root/plots/sweep.py" several --programs "$programs" --output "$folder" "$@"
