#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs what `./plaquette bundle --gpu` has packed, where GPUs are: the tests of the CUDA library on the first of them.
# Of a bundle made with --mpi, those of several GPUs run on 1, 2, 4, ... of them. Then come the mini-apps at their
# command line. Rungs of the GPU ladders are tested against rung 1. Prints a line a program and a summary; everything
# goes to a log. Lies in the bundle as `run`.
#
#   run [--log FILE] [--only PATTERN] [--under COMMAND]
#     --log FILE        where the log goes (default: test.log in the bundle, or where you stand if that cannot be written)
#     --only PATTERN    the programs whose names match this regular expression, as gpu_blas or mpi_gpu_.*2_ranks
#     --under COMMAND   words put before each program, e.g. 'compute-sanitizer --tool memcheck --error-exitcode 1': the
#                       heaviest tests then take less work, and none judges speed (PLAQUETTE_UNDER_SANITIZER)
#
# Environment: PLAQUETTE_TEST_TIMEOUT, the seconds a program may take (300); OMP_NUM_THREADS; CUDA_VISIBLE_DEVICES.
set -uo pipefail

bundle=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
readonly bundle
log='' only='' under=()

fail() {
  printf 'run: %s\n' "$*" >&2
  exit 2
}

while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || fail "$1: unknown, or its value is missing"
  case $1 in
    --log) log=$2 ;;
    --only) only=$2 ;;
    --under) read -ra under <<<"$2" ;;
    *) fail "unknown argument '$1'; there are --log FILE, --only PATTERN, --under COMMAND" ;;
  esac
  shift 2
done
if [[ -z $log ]]; then
  log=$bundle/test.log
  : 2>/dev/null >>"$log" || log=$PWD/plaquette-gpu-test.log
fi
: >"$log" || fail "$log cannot be written"

# A missing GPU is a failure here.
export PLAQUETTE_REQUIRE_GPU=1
export PLAQUETTE_REFERENCE_DIR=$bundle/reference PLAQUETTE_DATA_DIR=$bundle/data
readonly threads=${OMP_NUM_THREADS-} seconds_a_program=${PLAQUETTE_TEST_TIMEOUT:-300}

# threads_of RANKS   OMP_NUM_THREADS as it was given, or the cores divided among the ranks, at most 8 for each.
threads_of() {
  local each=$(($(nproc) / $1))
  each=$((each < 1 ? 1 : each > 8 ? 8 : each))
  echo "${threads:-$each}"
}

# count_gpus   Those of this host which CUDA_VISIBLE_DEVICES, a list of them where it is set, does not hide.
count_gpus() {
  local count listed=()
  count=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
  if [[ -n ${CUDA_VISIBLE_DEVICES+set} ]]; then
    IFS=, read -ra listed <<<"$CUDA_VISIBLE_DEVICES"
    count=$((${#listed[@]} < count ? ${#listed[@]} : count))
  fi
  echo "$count"
}

# nccl_folder   Where a Python on the PATH has NCCL's library, as it comes with packages that use GPUs.
nccl_folder() {
  local python folder
  while read -r python; do
    folder=$("$python" -c '
from importlib.util import find_spec
from os.path import join
print(join(list(find_spec("nvidia.nccl").submodule_search_locations)[0], "lib"))' 2>/dev/null)
    if [[ -e $folder/libnccl.so.2 ]]; then
      echo "$folder"
      return
    fi
  done < <(type -ap python3)
}

gpus=$(count_gpus)
mpirun=$(type -P mpirun)
nccl=$(nccl_folder)
readonly gpus mpirun nccl
with_mpi=no
! compgen -G "$bundle/bin/mpi_gpu_*" >/dev/null || with_mpi=yes
OMP_NUM_THREADS=$(threads_of 1)
export OMP_NUM_THREADS
[[ ${under[*]} != *compute-sanitizer* ]] || export PLAQUETTE_UNDER_SANITIZER=1
[[ -z $nccl ]] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$nccl
# NVLink's multicast can put the GPUs of a virtual machine out of service.
export NCCL_NVLS_ENABLE=0
# Open MPI refuses to start as root, or with more ranks than cores, unless told that it is meant.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

# gtest_numbers FILE   "passed failed skipped" of GoogleTest's output.
gtest_numbers() {
  awk '/^\[  PASSED  \] [0-9]+ test/ { passed = $4 }
       /^\[  FAILED  \] [0-9]+ test/ { failed = $4 }
       /^\[  FAILED  \] .* ms\)$/ { lines++ }  # of a brief output, which has no list at its end
       /^\[  SKIPPED \] [0-9]+ test/ { skipped = $4 }
       END { print passed + 0, (failed ? failed : lines) + 0, skipped + 0 }' "$1"
}

programs=0 left_out=0 bad_programs=() passed_tests=0 failed_tests=0 skipped_tests=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# report NAME STATUS SECONDS   One line, and the sums.
report() {
  local passed failed skipped verdict=passed
  read -r passed failed skipped <<<"$(gtest_numbers "$output")"
  [[ $2 -eq 0 ]] || verdict="FAILED (status $2)"
  [[ $2 -ne 124 ]] || verdict="FAILED (no end after $seconds_a_program s)"
  printf '%-44s %5d passed %3d failed %3d skipped %6.1f s   %s\n' "$1" "$passed" "$failed" "$skipped" "$3" "$verdict" |
    tee -a "$log"
  programs=$((programs + 1))
  passed_tests=$((passed_tests + passed)) failed_tests=$((failed_tests + failed))
  skipped_tests=$((skipped_tests + skipped))
  [[ $2 -eq 0 ]] || bad_programs+=("$1")
}

# leave_out NAME REASON   One line.
leave_out() {
  [[ -z $only || $1 =~ $only ]] || return 0
  printf '%-44s not run: %s\n' "$1" "$2" | tee -a "$log"
  left_out=$((left_out + 1))
}

# run_program NAME COMMAND...
run_program() {
  local name=$1 begin status=0 limit=(timeout -k 20)
  shift
  # To its whole group it would send a second signal, at which mpirun ends without ending its ranks.
  [[ $1 != "$mpirun" ]] || limit+=(--foreground)
  [[ -z $only || $name =~ $only ]] || return 0
  printf '\n=== %s: %s\n' "$name" "$*" >>"$log"
  begin=$(date +%s.%N)
  "${limit[@]}" "$seconds_a_program" "$@" >"$output" 2>&1 </dev/null || status=$?
  cat "$output" >>"$log"
  report "$name" "$status" "$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')"
  # What went wrong is seen at once.
  [[ $status -eq 0 ]] || grep -aE '^\[  FAILED  \]|Failure$|terminate called|what\(\):|rror' "$output" | head -n 20
}

# run_on_ranks PROGRAM   On 1, 2, 4, ... ranks with a GPU each. Without any GPU the first fails, and says why.
run_on_ranks() {
  local name ranks
  for ((ranks = 1; ranks <= 4 || ranks <= gpus; ranks *= 2)); do
    name=$(basename "$1").${ranks}_ranks
    if [[ -z $mpirun ]]; then
      leave_out "$name" "skipped, mpirun was not found"
    elif ((ranks > gpus && ranks > 1)); then
      leave_out "$name" "$ranks GPUs are needed, $gpus found"
    else
      OMP_NUM_THREADS=$(threads_of "$ranks") run_program "$name" "$mpirun" --bind-to none -n "$ranks" "${under[@]}" "$1" \
        "--ranks=$ranks" --gtest_color=no --gtest_brief=1
    fi
  done
}

{
  cat "$bundle/bundle.txt"
  date -u '+date       %Y-%m-%d %H:%M:%S UTC'
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>&1 | sed 's/^/gpu        /'
  else
    echo "gpu        nvidia-smi was not found"
  fi
  if [[ $with_mpi == yes ]]; then
    echo "mpirun     ${mpirun:-was not found}"
    echo "nccl       ${nccl:-in no Python package}"
  fi
  echo
} | tee -a "$log"

for program in "$bundle"/bin/gpu_*; do
  [[ -x $program ]] && run_program "$(basename "$program")" "${under[@]}" "$program" --gtest_color=no --gtest_brief=1
done
for ladder in coarse-gpu dg-gpu dirac-gpu; do
  program=$bundle/bin/plaquette-ladder-gpu
  [[ ! -x $program ]] || run_program "ladder.$ladder" "${under[@]}" "$program" "$ladder" --size nano --seconds 0
done
for program in "$bundle"/bin/mpi_gpu_*; do
  [[ -x $program ]] && run_on_ranks "$program"
done
if python=$(command -v python3) && [[ ${#under[@]} -eq 0 ]]; then
  export PLAQUETTE_SOLVER=$bundle/bin/plaquette-mixed-precision-solver
  export PLAQUETTE_DSLASH_SCALING=$bundle/bin/plaquette-dslash-scaling
  export PLAQUETTE_MAKE_CONFIGURATION=$bundle/bin/plaquette-make-configuration PLAQUETTE_HMC=$bundle/bin/plaquette-hmc
  export PLAQUETTE_REPORT_SCHEMA=$bundle/cli/report.schema.json PLAQUETTE_MPIEXEC=
  [[ $with_mpi == no ]] || PLAQUETTE_MPIEXEC=$mpirun
  for script in "$bundle"/cli/gpu_*_test.py; do
    name=cli.$(basename "$script" _test.py)
    if [[ $name == *_ranks && -z $PLAQUETTE_MPIEXEC ]]; then
      leave_out "$name" "skipped, $([[ $with_mpi == no ]] && echo 'the bundle is without MPI' || echo 'mpirun was not found')"
    elif [[ -e $script ]]; then
      run_program "$name" "$python" -B "$script"
    fi
  done
fi

{
  printf '\n%d programs, %d tests passed, %d failed, %d skipped' "$programs" "$passed_tests" "$failed_tests" "$skipped_tests"
  [[ $left_out -eq 0 ]] || printf '; %d programs not run' "$left_out"
  echo
  if [[ $programs -eq 0 ]]; then
    echo "TESTS      FAILED   (nothing was run)"
  elif [[ ${#bad_programs[@]} -eq 0 && $failed_tests -eq 0 ]]; then
    echo "TESTS      PASSED"
  else
    echo "TESTS      FAILED   (${bad_programs[*]})"
  fi
} | tee -a "$log"
echo "log        $log"
[[ $programs -gt 0 && ${#bad_programs[@]} -eq 0 ]]
