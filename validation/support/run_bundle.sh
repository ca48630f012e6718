#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs what `./plaquette bundle --gpu` has packed, where a GPU is: the tests of the CUDA library, then the mini-apps at
# their command line. Prints a line a program and a summary; everything goes to a log. Lies in the bundle as `run`.
#
#   run [--log FILE] [--only PATTERN] [--under COMMAND]
#     --log FILE        where the log goes (default: test.log in the bundle, or where you stand if that cannot be written)
#     --only PATTERN    the programs whose names match this regular expression
#     --under COMMAND   words put before each program, e.g. 'compute-sanitizer --tool memcheck --error-exitcode 1'
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
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(($(nproc) < 8 ? $(nproc) : 8))}
readonly seconds_a_program=${PLAQUETTE_TEST_TIMEOUT:-300}

# gtest_numbers FILE   "passed failed skipped" of GoogleTest's output.
gtest_numbers() {
  awk '/^\[  PASSED  \] [0-9]+ test/ { passed = $4 }
       /^\[  FAILED  \] [0-9]+ test/ { failed = $4 }
       /^\[  SKIPPED \] [0-9]+ test/ { skipped = $4 }
       END { print passed + 0, failed + 0, skipped + 0 }' "$1"
}

programs=0 bad_programs=() passed_tests=0 failed_tests=0 skipped_tests=0
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

# run_program NAME COMMAND...
run_program() {
  local name=$1 begin status=0
  shift
  [[ -z $only || $name =~ $only ]] || return 0
  printf '\n=== %s: %s\n' "$name" "$*" >>"$log"
  begin=$(date +%s.%N)
  timeout "$seconds_a_program" "$@" >"$output" 2>&1 </dev/null || status=$?
  cat "$output" >>"$log"
  report "$name" "$status" "$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')"
  # What went wrong is seen at once.
  [[ $status -eq 0 ]] || grep -aE '^\[  FAILED  \]|Failure$|terminate called|what\(\):|rror' "$output" | head -n 20
}

{
  cat "$bundle/bundle.txt"
  date -u '+date       %Y-%m-%d %H:%M:%S UTC'
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>&1 | sed 's/^/gpu        /'
  else
    echo "gpu        nvidia-smi was not found"
  fi
  echo
} | tee -a "$log"

for program in "$bundle"/bin/gpu_*; do
  [[ -x $program ]] && run_program "$(basename "$program")" "${under[@]}" "$program" --gtest_color=no --gtest_brief=1
done
if python=$(command -v python3) && [[ ${#under[@]} -eq 0 ]]; then
  export PLAQUETTE_SOLVER=$bundle/bin/plaquette-mixed-precision-solver
  export PLAQUETTE_DSLASH_SCALING=$bundle/bin/plaquette-dslash-scaling
  export PLAQUETTE_MAKE_CONFIGURATION=$bundle/bin/plaquette-make-configuration
  export PLAQUETTE_REPORT_SCHEMA=$bundle/cli/report.schema.json PLAQUETTE_MPIEXEC=
  for script in "$bundle"/cli/gpu_*_test.py; do
    [[ -e $script ]] && run_program "cli.$(basename "$script" _test.py)" "$python" -B "$script"
  done
fi

{
  printf '\n%d programs, %d tests passed, %d failed, %d skipped\n' "$programs" "$passed_tests" "$failed_tests" "$skipped_tests"
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
