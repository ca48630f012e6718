# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The demos: programs run, their pictures drawn. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette
readonly solver=mixed-precision-solver
# What the demo solves on each of its configurations. The box is 1.4 fm wide, so that the pion is lighter than the rho.
readonly demo_problem=(--lattice 8x8x8x16 --gauge heatbath:5.7:50 --kappa 0.160 --csw 0 --source gaussian --precision double-single
  --tol 1e-9 --repeat 1)
readonly demo_configurations=8

# side_by_side RUNS NAME COMMAND...   Runs COMMAND once for each of the RUNS lines of stdin, which replaces {}. As many run at
# once as there are cores, and they share the cores. What they print goes to out/NAME.log. A line each on stdout: its exit
# status, NAME, its verdict.
side_by_side() {
  local runs=$1 at_once
  at_once=$(nproc)
  # shellcheck disable=SC2016 # the inner shell expands them
  OMP_NUM_THREADS=$((at_once > runs ? at_once / runs : 1)) xargs -P "$at_once" -I{} bash -c '
    log=$1/$2.log status=0
    "${@:3}" >"$log" 2>&1 || status=$?
    echo "$status $2   $(grep -a ^VERIFIED "$log" || echo "status $status: see $log")"' _ "$root/out" "${@:2}"
}

# tell_runs   Says the lines of side_by_side without their statuses. Returns the last status that is not 0.
tell_runs() {
  local status line worst=0
  while read -r status line; do
    say "$line"
    [[ $status -eq 0 ]] || worst=$status
  done
  return "$worst"
}

# demo_multigrid   Multigrid against BiCGstab on the configuration in data/, and why it works.
demo_multigrid() {
  local out=$root/out status=0
  require demo
  preset=$(choose_preset)
  configure_once -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
  compile plaquette-multigrid
  allow_mpi
  mkdir -p "$out"
  say
  "$(program multigrid)" --gauge "$root/data/beta6.0_6x6x6x12.nersc" --csw 1.769 --kappa 0.136 --rhs 4 --explain \
    --json "$out/multigrid.json" --force || status=$?
  if [[ $status -le 1 ]]; then
    plot why_multigrid.py "$out/multigrid.json" --output "$out/why_multigrid.png" --force >/dev/null
    say "REPORT     $out/multigrid.json"
    say "PICTURE    $out/why_multigrid.png"
  fi
  return "$status"
}

# demo_overlap   Modes of D on their circle, of a configuration of index 1, and modes of H at 17 values of rho.
demo_overlap() {
  local out=$root/out rho=({0.{3..9},1.{0..9}}) links=(--lattice 6x6x6x6 --gauge heatbath:5.75:60 --seed 10 --stout-steps 3)
  local flow=("${rho[@]/#/$out/overlap-rho-}")
  require demo
  preset=$(choose_preset)
  configure_once -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
  compile plaquette-overlap-propagator
  allow_mpi
  mkdir -p "$out"
  say
  "$(program overlap-propagator)" "${links[@]}" --modes 24 --overlap-modes 48 --until overlap-modes --json "$out/overlap.json" \
    --force || return
  printf '%s\n' "${rho[@]}" | side_by_side ${#rho[@]} overlap-rho-{} "$(program overlap-propagator)" "${links[@]}" --modes 12 \
    --until modes --rho {} --json "$out/overlap-rho-{}.json" --force | tell_runs || return
  plot overlap_tour.py "$out/overlap.json" "${flow[@]/%/.json}" --output "$out/overlap_tour.png" --force >/dev/null
  rm "${flow[@]/%/.json}" "${flow[@]/%/.log}"
  say "REPORT     $out/overlap.json"
  say "PICTURE    $out/overlap_tour.png"
}

demo() {
  if [[ ${1-} == multigrid || ${1-} == overlap ]] && [[ $# -eq 1 ]]; then
    "demo_$1"
    return
  fi
  [[ $# -eq 0 ]] || fail "demo takes nothing, 'multigrid' or 'overlap', got: $*"
  local out=$root/out
  require demo
  preset=$(choose_preset)
  configure_once -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
  compile "plaquette-$solver"
  allow_mpi
  mkdir -p "$out"
  say
  say "$demo_configurations configurations, as many at once as there are cores"
  seq $demo_configurations | side_by_side $demo_configurations demo-{} "$(program $solver)" "${demo_problem[@]}" --seed {} \
    --json "$out/demo-{}.json" --force | tell_runs || return
  say
  cat "$out/demo-1.log"
  plot demo.py "$out"/demo-[1-$demo_configurations].json --output "$out/demo.png" --force >/dev/null
  rm "$out"/demo-[1-$demo_configurations].log
  say "REPORTS    $out/demo-1.json to demo-$demo_configurations.json"
  say "PICTURE    $out/demo.png"
}
