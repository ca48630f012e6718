# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Runs of a program over many parameters, and their figures. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root, preset and solver are those of ./plaquette
# plot SCRIPT ARGS...   Runs one of the scripts in plots/.
plot() {
  local script=$1 python modules=(numpy matplotlib)
  shift
  [[ $script != report.py ]] || modules+=(jinja2)
  case " $* " in
    *' --no-figures '* | *' --dryrun '* | *' --help '* | *' -h '*) modules=(json) ;; # nothing is drawn
    *' several '* | *' --gpus '* | *' --gpus='*)
      python_with "${modules[@]}" >/dev/null || modules=(json) ;; # then the tables only
  esac
  python=$(python_with "${modules[@]}") || fail "no Python with ${modules[*]} was found"
  "$python" "$root/plots/$script" "$@"
}

# sweep_coarse [quick]   Each step of the coarse operator's kernel verified, timed and drawn, in out/coarse.
sweep_coarse() {
  local out=$root/out/coarse
  [[ $# -eq 0 || ($# -eq 1 && $1 == quick) ]] || fail "sweep coarse takes nothing or 'quick', got: $*"
  has_nvcc || fail "sweep coarse: nvcc was not found"
  nvidia-smi -L >/dev/null 2>&1 || fail "sweep coarse: there is no GPU"
  preset=cuda
  { configure_once && compile kernel_bench; } >&2
  mkdir -p "$out"
  "$(build_folder)/gpu/kernel_bench" coarse ladder "json=$out/ladder.json" "$@" || fail "sweep coarse: see the message above"
  plot coarse_ladder.py "$out/ladder.json" --output "$out/coarse_ladder.png" --force
}

# is_over_gpus KIND ARGS...   True of a sweep that takes GPUs where --device says nothing.
is_over_gpus() {
  case $1 in
    gpu | solvers) return 0 ;;
    *) ;;
  esac
  case " $* " in
    *' --case '*) return 1 ;;
    *' --gpus '* | *' --gpus='*) return 0 ;;
    *) return 1 ;;
  esac
}

# sweep_several [ARGS...]   Several programs on one GPU and on more; missing ones are built, unless a bundle has them.
sweep_several() {
  case " $* " in
    *' --help '* | *' -h '* | *' --programs '* | *' --programs='*) ;;
    *)
      preset=$(choose_preset --device gpu "$@")
      { configure_once && compile plaquette-multigrid plaquette-overlap-propagator plaquette-nodal-dg "plaquette-$solver" \
        plaquette-hmc plaquette-make-configuration plaquette-dslash-scaling; } >&2
      set -- --programs "$(build_folder)" "$@"
      ;;
  esac
  allow_mpi
  plot sweep.py several --output "$root/out/several" "$@"
}

# sweep [KIND] [ARGS...]   Runs a sweep of plots/, by default scaling; a missing program is built, where it runs anything.
sweep() {
  local kind=scaling app folder=sweep
  case ${1-} in
    coarse) sweep_coarse "${@:2}"; return ;;
    figures) plot sweep.py figures --output "$root/out/sweep" "${@:2}"; return ;;
    scaling | solver | gpu | solvers | dg | overlap | multigrid | hmc) kind=$1; shift ;;
    several) shift; sweep_several "$@"; return ;;
    *) ;;
  esac
  case $kind in
    solver | solvers) app=$solver ;;
    dg) app=nodal-dg folder=dg ;;
    overlap) app=overlap-propagator folder=overlap ;;
    multigrid) app=multigrid folder=multigrid ;;
    hmc) app=hmc folder=hmc ;;
    *) app=dslash-scaling ;;
  esac
  case " $* " in
    *' --device '* | *' --device='*) ;;
    *) ! is_over_gpus "$kind" "$@" || set -- --device gpu "$@" ;;
  esac
  preset=$(choose_preset "$@")
  case " $* " in
    *' --device both '*) preset=$(choose_preset --device gpu) ;;
    *) ;;
  esac
  case " $* " in
    *' --help '* | *' -h '* | *' --dryrun '*) ;; # runs nothing
    *' --program '* | *' --program='* | *' --programs '* | *' --programs='*) ;; # that of another build: a bundle's, say
    *) { configure_once && compile "plaquette-$app"; } >&2 ;;
  esac
  allow_mpi
  plot sweep.py "$kind" --program "$(program "$app")" --output "$root/out/$folder" "$@"
}
