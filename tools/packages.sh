# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What the machine offers, and what apt-get adds to it. Sourced by ./plaquette.
# shellcheck disable=SC2154 # root is that of ./plaquette
cores() { say "${PLAQUETTE_JOBS:-$(nproc)}"; }

# python_with MODULE...   The first Python that has these modules: apt-get installs them for Debian's own, which need not
# be the one that comes first on the PATH.
python_with() {
  local python modules
  modules=$(IFS=,; echo "$*")
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import $modules" >/dev/null 2>&1; then
      say "$python"
      return
    fi
  done
  return 1
}

# has KIND:NAME   A probe for a package that may have been installed by other means than apt-get.
has() {
  local kind=${1%%:*} name=${1#*:}
  case $kind in
    command) command -v "$name" >/dev/null ;;
    header) echo "#include <$name>" | c++ -E -x c++ - >/dev/null 2>&1 ;;
    python) python_with "$name" >/dev/null ;;
    file) compgen -G "$name" >/dev/null ;;
    *) return 1 ;;
  esac
}

installed() {
  local status
  status=$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null) || return 1
  [[ $status == 'install ok installed' ]]
}

# A package a line: Debian's name, a probe, who needs it, and whether there is a way without.
readonly packages='
g++                     command:g++                       demo test  needed
cmake                   command:cmake                     demo test  needed
ninja-build             command:ninja                     demo test  needed
libcli11-dev            header:CLI/CLI.hpp                demo test  needed
nlohmann-json3-dev      header:nlohmann/json.hpp          demo test  needed
libfmt-dev              header:fmt/core.h                 demo test  needed
python3                 command:python3                   demo test  needed
python3-numpy           python:numpy                      demo test  needed
python3-matplotlib      python:matplotlib                 demo test  needed
python3-jinja2          python:jinja2                     demo test  needed
libgtest-dev            header:gtest/gtest.h              -    test  needed
libgmock-dev            header:gmock/gmock.h              -    test  needed
libeigen3-dev           header:eigen3/Eigen/Core          demo test  needed
libboost-math-dev       header:boost/math/special_functions/jacobi_elliptic.hpp demo test needed
git                     command:git                       demo test  optional:the_reports_name_no_revision
libopenmpi-dev          command:mpicxx                    demo test  optional:one_rank_only
openmpi-bin             command:mpirun                    demo test  optional:one_rank_only
libhdf5-dev             command:h5cc                      demo test  optional:no_propagators_in_files
libhwloc-dev            header:hwloc.h                    demo test  optional:no_placement_of_threads
libmetis-dev            header:metis.h                    -    test  optional:meshes_are_divided_along_a_curve
gfortran                command:gfortran                  -    test  optional:no_Fortran_module
python3-venv            python:ensurepip                  -    test  optional:wheels_are_not_repaired
python3-sphinx          python:sphinx                     -    test  optional:the_book_is_not_built
python3-myst-parser     python:myst_parser                -    test  optional:the_book_is_not_built
furo                    python:furo                       -    test  optional:the_book_is_not_built
clang-19                command:clang++-19                -    test  optional:no_fuzz_tests
libclang-rt-19-dev      file:/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-*.a - test optional:no_fuzz_tests
'

# missing VERB needed|optional   The packages that VERB lacks, one a line; behind an optional one, what goes without it.
# run lacks what demo does, without the modules of Python that draw.
missing() {
  local package probe demo test necessity
  while read -r package probe demo test necessity; do
    [[ -n $package && ($demo == "$1" || $test == "$1" || $1$demo == rundemo && $probe != python:*) && ${necessity%%:*} == "$2" ]] || continue
    installed "$package" || has "$probe" || say "$package ${necessity#*:}"
  done <<<"$packages"
}

# Prints the words to put before apt-get; fails where packages cannot be installed.
privilege() {
  command -v apt-get >/dev/null || return 1
  if [[ $EUID -eq 0 ]]; then
    say env
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    say sudo -n env
  else
    return 1
  fi
}

# install PACKAGE...   With apt-get; its output goes to build/install.log.
install() {
  local log=$root/build/install.log apt begin=$SECONDS
  read -ra apt <<<"$(privilege)"
  apt+=(DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  mkdir -p "$root/build"
  say "install     $* (apt-get, log: build/install.log)"
  compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || "${apt[@]}" update >>"$log" 2>&1 || true
  if ! "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
    # The lists may be older than the archive: read them again, once.
    "${apt[@]}" update >>"$log" 2>&1 || true
    if ! "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
      tail -n 5 "$log" >&2
      return 1
    fi
  fi
  say "            done in $((SECONDS - begin)) s"
}

# require VERB   What VERB needs is there when this returns.
require() {
  [[ ${PLAQUETTE_INSTALL:-yes} != no ]] || return 0
  local needed optional without
  needed=$(missing "$1" needed | cut -d' ' -f1 | paste -sd' ')
  optional=$(missing "$1" optional | cut -d' ' -f1 | paste -sd' ')
  if [[ -n $needed$optional ]] && privilege >/dev/null; then
    # shellcheck disable=SC2086 # lists of package names
    install $needed $optional || { [[ -z $needed ]] || install $needed || true; }
    needed=$(missing "$1" needed | cut -d' ' -f1 | paste -sd' ')
    optional=$(missing "$1" optional | cut -d' ' -f1 | paste -sd' ')
    [[ -z $needed ]] || fail "apt-get did not install: $needed (build/install.log says why)"
  fi
  if [[ -n $needed ]]; then
    fail "these packages are missing and cannot be installed from here (no root, no sudo without a password, or no" \
      "apt-get):"$'\n'"  $needed"$'\n'"Install them, on Debian 12 with"$'\n' \
      " apt-get install --no-install-recommends $needed${optional:+ $optional}"$'\n'"and try again."
  fi
  if [[ -n $optional ]]; then
    without=$(missing "$1" optional | cut -d' ' -f2 | sort -u | tr '_\n' ' ,' | sed 's/,$//; s/,/, /g')
    say "missing     $optional: going on without ($without)"
  fi
}
