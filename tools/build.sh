# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Configures and builds: presets, build folders, programs. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette
has_nvcc() { command -v nvcc >/dev/null || [[ -n ${CUDACXX-} || -x ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc ]]; }

# asks_for_gpu ARGS...   True where --device gpu is among the arguments.
asks_for_gpu() {
  case " $* " in
    *' --device gpu '* | *' --device=gpu '*) return 0 ;;
    *) return 1 ;;
  esac
}

# choose_preset [ARGS...]   For a program with these arguments.
choose_preset() {
  if [[ -n ${PLAQUETTE_PRESET-} ]]; then
    say "$PLAQUETTE_PRESET"
  elif asks_for_gpu "$@" && has_nvcc; then
    say cuda
  elif command -v mpicxx >/dev/null && command -v mpirun >/dev/null; then
    say mpi
  else
    say cpu
  fi
}

# prepare [ARGS...]   Chooses the preset. Where nothing has been configured yet, installs what is missing and configures
# what programs need.
prepare() {
  preset=$(choose_preset "$@")
  [[ ! -e $(build_folder)/build.ninja ]] || return 0
  require run
  preset=$(choose_preset "$@") # MPI may have come
  configure_once -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
}

# help_of VERB   Prints the lines of ./plaquette help on a verb; fails for verbs that have a longer help of their own.
help_of() {
  case $1 in
    sweep | report | validate | tender) return 1 ;;
    *) awk -v verb="$1" '/^  [^ ]/ { found = $1 == "./plaquette" && $2 == verb } /^$/ { found = 0 }
         found { print; any = 1 } END { exit !any }' "$root/tools/help.txt" ;;
  esac
}

build_folder() { say "$root/build/$preset"; }

# configure [CMAKE ARGS...]
configure() {
  local log
  log=$(build_folder)/configure.log
  if ! has command:cmake || ! has command:ninja; then
    fail "cmake or ninja is missing; ./plaquette demo installs what is needed where it may"
  fi
  mkdir -p "$(build_folder)"
  [[ $preset != cuda ]] || command -v mpicxx >/dev/null || set -- -DPLAQUETTE_MPI=OFF "$@"
  set -- -DCMAKE_COMPILE_WARNING_AS_ERROR="${PLAQUETTE_WARNINGS_AS_ERRORS:-OFF}" "$@"
  say "configure   preset $preset (log: build/$preset/configure.log)"
  if ! (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1; then
    grep -A 8 'CMake Error' "$log" >&2 || tail -n 20 "$log" >&2
    fail "CMake could not configure; the whole text is in $log"
  fi
  sed -n 's/^-- CUDA: /cuda        /p' "$log"
}

# configure_once ARGS...   Leaves a build folder that has been configured before as it is.
configure_once() { [[ -e $(build_folder)/build.ninja ]] || configure "$@"; }

# compile [TARGET...]
compile() {
  local begin=$SECONDS quiet=()
  [[ -t 1 ]] || quiet=(--quiet)
  say "build       ${*:-everything}"
  ninja -C "$(build_folder)" -j "$(cores)" "${quiet[@]}" "$@" || fail "the build failed; the compiler's messages stand above"
  say "            done in $((SECONDS - begin)) s"
}

# Open MPI refuses to start as root, or with more ranks than cores, unless told that it is meant.
allow_mpi() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
}

program() { say "$(build_folder)/miniapps/$1/plaquette-$1"; }

# nvcc_command   The compiler's path.
nvcc_command() {
  local candidate
  for candidate in "${CUDACXX-}" "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
    [[ -z $candidate || ! -x $candidate ]] || { say "$candidate"; return; }
  done
  fail "kernel: nvcc was not found (in CUDACXX, on the PATH, in CUDA_HOME or /usr/local/cuda)"
}
