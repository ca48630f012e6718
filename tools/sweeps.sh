# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Runs of a program over many parameters, and their figures. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root, preset and solver are those of ./plaquette
# plot SCRIPT ARGS...   Runs one of the scripts in plots/.
plot() {
  local script=$1 python modules=(numpy matplotlib)
  shift
  case " $* " in
    *' --no-figures '* | *' --dryrun '* | *' --help '* | *' -h '*) modules=(json) ;; # nothing is drawn
  esac
  python=$(python_with "${modules[@]}") || fail "no Python with ${modules[*]} was found"
  "$python" "$root/plots/$script" "$@"
}

# sweep_program PROGRAM SCRIPT FOLDER ARGS...   Figures of a program by a script of plots/, in out/FOLDER; --device gpu or
# both takes the GPU.
sweep_program() {
  local name=$1 script=$2 folder=$3
  shift 3
  preset=$(choose_preset "$@")
  case " $* " in
    *' --device both '*) preset=$(choose_preset --device gpu) ;;
    *) ;;
  esac
  case " $* " in
    *' --help '* | *' -h '* | *' --program '* | *' --program='*) ;;
    *) { configure_once && compile "plaquette-$name"; } >&2 ;;
  esac
  allow_mpi
  plot "$script" --program "$(program "$name")" --output "$root/out/$folder" "$@"
}

# sweep_coarse [quick]   Each step of the coarse operator's kernel verified, timed and drawn, in out/coarse.
sweep_coarse() {
  local out=$root/out/coarse
  [[ $# -eq 0 || ($# -eq 1 && $1 == quick) ]] || fail "sweep coarse takes nothing or 'quick', got: $*"
  has_nvcc || fail "sweep coarse: nvcc was not found"
  nvidia-smi -L >/dev/null 2>&1 || fail "sweep coarse: there is no GPU"
  preset=cuda
  { configure_once && compile coarse_speed; } >&2
  mkdir -p "$out"
  "$(build_folder)/gpu/coarse_speed" ladder "json=$out/ladder.json" "$@" || fail "sweep coarse: see the message above"
  plot coarse_ladder.py "$out/ladder.json" --output "$out/coarse_ladder.png" --force
}

sweep() {
  local kind=scaling app=dslash-scaling
  case ${1-} in
    dg) sweep_program nodal-dg dg_orders.py dg "${@:2}"; return ;;
    overlap) sweep_program overlap-propagator overlap_figures.py overlap "${@:2}"; return ;;
    multigrid) sweep_program multigrid multigrid_sweep.py multigrid "${@:2}"; return ;;
    coarse) sweep_coarse "${@:2}"; return ;;
    *) ;;
  esac
  if [[ ${1-} == scaling || ${1-} == solver || ${1-} == gpu || ${1-} == solvers || ${1-} == figures ]]; then
    kind=$1
    shift
  fi
  [[ $kind != solver && $kind != solvers ]] || app=$solver
  [[ $kind != gpu ]] || set -- --device gpu "$@"
  case " $* " in
    *' --device '* | *' --device='*) ;;
    *) [[ $kind != solvers ]] || set -- --device gpu "$@" ;;
  esac
  if [[ $kind == figures ]]; then
    plot sweep.py figures --output "$root/out/sweep" "$@"
    return
  fi
  preset=$(choose_preset "$@")
  case " $* " in
    *' --help '* | *' -h '* | *' --dryrun '*) ;; # runs nothing
    *' --program '* | *' --program='* | *' --programs '* | *' --programs='*) ;; # that of somebody else: a bundle's, say
    *) { configure_once && compile "plaquette-$app"; } >&2 ;;
  esac
  allow_mpi
  plot sweep.py "$kind" --program "$(program "$app")" --output "$root/out/sweep" "$@"
}
