#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One run of one class. Slurm sends USR1 to the batch script (B:) two minutes before the end. The script has become srun
# (exec), which passes the signal on. The program then stops in time, with a report and exit status 6. Without B: the
# signal goes to job steps alone, and a program that the script runs without srun is none.
#   PLAQUETTE_FOLDER=/path/to/build/mpi/miniapps sbatch --nodes 2 recipes/slurm/plaquette.sh mixed-precision-solver node
# One rank a NUMA node: sbatch --ntasks-per-node=2 --cpus-per-task=64. Without these, Slurm starts one rank a node.
# If every rank says that it is alone, Slurm has started Open MPI without PMIx. "scontrol show config | grep MpiDefault"
# then prints none. Set SLURM_MPI_TYPE=pmix; "srun --mpi=list" lists the other choices (cray_shasta and pmi2 for MPICH).
#SBATCH --job-name=plaquette
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --exclusive
set -euo pipefail

refuse() {
  printf 'plaquette.sh: %s\n' "$*" >&2
  exit 2
}

[[ $# -ge 1 ]] || refuse "expected a program and a class: mixed-precision-solver, multigrid, dslash-scaling, overlap-propagator, nodal-dg or hmc; nano, device, node, ..."
app=$1
size=${2:-nano}
shift $(($# < 2 ? $# : 2))
[[ -n ${PLAQUETTE_FOLDER-} ]] || refuse "PLAQUETTE_FOLDER: expected the folder of the built mini-apps"
[[ -x $PLAQUETTE_FOLDER/$app/plaquette-$app ]] || refuse "found no program $PLAQUETTE_FOLDER/$app/plaquette-$app"

# Names of modules differ: PLAQUETTE_MODULES="gcc/12 openmpi/4 cuda/12", or PLAQUETTE_SYSTEM=recipes/systems/NAME.sh, which
# may set srun_options too.
srun_options=()
if [[ -n ${PLAQUETTE_MODULES-} ]]; then
  # shellcheck disable=SC2086 # several names
  module load $PLAQUETTE_MODULES
fi
if [[ -n ${PLAQUETTE_SYSTEM-} ]]; then
  [[ -f $PLAQUETTE_SYSTEM ]] || refuse "PLAQUETTE_SYSTEM: found no file $PLAQUETTE_SYSTEM"
  # shellcheck source=/dev/null
  source "$(realpath "$PLAQUETTE_SYSTEM")"
fi
# From Slurm 22.05 on srun ignores the job's --cpus-per-task, and a rank runs on one CPU: srun has to be told again. A job
# without --cpus-per-task shares the CPUs of its node among the ranks there. SLURM_TASKS_PER_NODE is a list such as 2(x3),1.
tasks=${SLURM_TASKS_PER_NODE:-1}
cpus=${SLURM_CPUS_PER_TASK:-$((${SLURM_CPUS_ON_NODE:-1} / ${tasks%%[!0-9]*}))}
[[ $cpus -ge 1 ]] || cpus=1
export OMP_NUM_THREADS=$cpus OMP_PROC_BIND=close OMP_PLACES=cores

exec srun --cpus-per-task="$cpus" --cpu-bind=cores "${srun_options[@]}" "$PLAQUETTE_FOLDER/$app/plaquette-$app" --size "$size" \
  --json "$app-$size-${SLURM_NTASKS:-1}-${SLURM_JOB_ID:-0}.json" "$@"
