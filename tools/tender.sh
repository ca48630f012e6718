# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The official series as a submission. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette

# tender OUT [ARGS...]   Builds the programs, unless --programs names them, and runs tools/tender.py.
tender() {
  local programs=()
  case " $* " in
    *' --help '* | *' -h '*) programs=(--programs none) ;;
    *' --programs '* | *' --programs='*) ;;
    *)
      local argument before=''
      for argument; do
        [[ $before == --* || ! -f $argument ]] || fail "tender: $argument: expected a folder to make, found a file"
        before=$argument
      done
      { prepare "$@" && compile plaquette-mixed-precision-solver plaquette-multigrid plaquette-dslash-scaling plaquette-nodal-dg \
        plaquette-overlap-propagator plaquette-hmc; } >&2
      programs=(--programs "$(build_folder)/miniapps")
      ;;
  esac
  allow_mpi
  python3 "$root/tools/tender.py" "$@" "${programs[@]}"
}

# inspect FILE   What a file holds: a report by tools/validate.py, others by plaquette-inspect.
inspect() {
  [[ $# -ge 1 && $1 != -* ]] || fail "inspect takes one file, then its options, got: $*"
  [[ -r $1 ]] || fail "inspect: $1: no such file, or it cannot be read"
  local start=''
  IFS= read -r -n 1 start <"$1" 2>/dev/null || true
  if [[ $start == '{' ]]; then
    validate --trial "$1"
    return
  fi
  { prepare && compile plaquette-inspect; } >&2
  allow_mpi
  "$(program inspect)" "$@"
}

# validate FILE...|FOLDER   What reports are worth: tools/validate.py.
validate() {
  python3 "$root/tools/validate.py" "$@"
}
