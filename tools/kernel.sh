# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Compiles one kernel of the hopping term, verifies and times it. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette
# kernel_variant PRECISION COLUMNS CLOVER   The kernel that the table of launches takes on a large lattice.
kernel_variant() {
  if [[ $2 -gt 1 ]]; then
    if [[ $1 == half ]]; then say batch_whole; else say batch_common; fi
  elif [[ $1 != half ]]; then
    say tiles_once
  elif [[ $3 == true ]]; then
    say tiles_once_20
  else
    say tiles_once_24
  fi
}

kernel() {
  local words=() variant='' clover=false lattice=32x32x32x64 arch=90 folder='' check=false begin=$SECONDS
  while [[ $# -gt 0 ]]; do
    case $1 in
      --variant) variant=${2-}; shift 2 || shift ;;
      --clover) clover=true; shift ;;
      --lattice) lattice=${2-}; shift 2 || shift ;;
      --arch) arch=${2-}; shift 2 || shift ;;
      --bundle) folder=${2-}; shift 2 || shift ;;
      --check) check=true; shift ;;
      -*) fail "kernel: unknown argument '$1'; ./plaquette help lists them" ;;
      *) words+=("$1"); shift ;;
    esac
  done
  local precision=${words[1]-} reals=${words[2]-} columns=${words[3]-1} real links nvcc
  [[ ${words[0]-} == hopping ]] || fail "kernel: which? There is: hopping PRECISION REALS [COLUMNS]"
  case $precision in
    double | half) real=$precision ;;
    single) real=float ;;
    *) fail "kernel: PRECISION is double, single or half, got '$precision'" ;;
  esac
  case $reals in
    18) links=none ;;
    12) links=twelve ;;
    8) links=eight ;;
    *) fail "kernel: REALS is 18, 12 or 8, got '$reals'" ;;
  esac
  [[ $columns =~ ^[1-9][0-9]*$ ]] || fail "kernel: COLUMNS is a number of right-hand sides, got '$columns'"
  variant=${variant:-$(kernel_variant "$precision" "$columns" "$clover")}
  case $variant in
    tiles | tiles_once | batch | batch_common) ;;
    tiles_once_20 | tiles_once_24 | batch_whole)
      [[ $precision == half ]] || fail "kernel: --variant $variant is one of half precision" ;;
    *) fail "kernel: --variant is tiles, tiles_once, tiles_once_20, tiles_once_24, batch, batch_common or batch_whole" ;;
  esac
  [[ $variant != tiles_once_24 || $clover == false ]] || fail "kernel: --variant tiles_once_24 is one without --clover"
  nvcc=$(nvcc_command)

  local lab=$root/build/lab name=hopping-$precision-$reals-$variant
  [[ $clover == false ]] || name+=-clover
  mkdir -p "$lab"
  say "compile     $name for compute capability $arch"
  "$nvcc" -c -std=c++20 -O3 "-arch=sm_$arch" --expt-relaxed-constexpr -Xptxas=-v \
    -Xcompiler=-O1,-ffp-contract=off,-fopenmp,-Wno-unknown-pragmas -I"$root" -DPLAQUETTE_CUDA_RUNTIME \
    "-DPLAQUETTE_CUDA_HIGHEST_ARCHITECTURE=$arch" "-DPLAQUETTE_LAB_REAL=$real" "-DPLAQUETTE_LAB_LINKS=$links" \
    "-DPLAQUETTE_LAB_VARIANT=$variant" "-DPLAQUETTE_LAB_CLOVER=$clover" "$root/gpu/lab/hopping_kernel.cu" \
    -o "$lab/$name.o" >"$lab/$name.log" 2>&1 || { cat "$lab/$name.log" >&2; fail "kernel: it does not compile"; }
  say "            done in $((SECONDS - begin)) s"
  # What ptxas says of the kernel and of variant 1, which it is verified against.
  awk '/Compiling entry function/ { name = /hop_tiles|hop_batch/ ? "kernel" : /gather_hops/ ? "variant 1" : "" }
       /bytes spill/ { match($0, /[0-9]+ bytes spill stores/); spills = substr($0, RSTART, RLENGTH) + 0 }
       /Used [0-9]+ registers/ && name != "" { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
         printf "%-11s %d registers, %d bytes of spill stores\n", name, registers, spills; name = "" }' \
    "$lab/$name.log" | sort -u

  if [[ $check == true ]]; then
    preset=$(choose_preset)
    { configure_once -DPLAQUETTE_TESTS=ON && compile gpu_host_dirac; } >&2
    say "host        the body of variant 1 as a loop, against the CPU library"
    "$(build_folder)/validation/gpu-vs-cpu/gpu_host_dirac" --gtest_brief=1 --gtest_filter='*Hopping*:*WilsonClover*' ||
      fail "kernel: the tests on the host have failed; their messages stand above"
  fi
  if [[ -z $folder ]] && ! nvidia-smi -L >/dev/null 2>&1; then
    say "no GPU      to verify and time it: ./plaquette kernel ${words[*]} --bundle DIR packs it for a machine with one"
    return
  fi
  preset=cuda
  { configure_once && lab_library; } >&2
  begin=$SECONDS
  local besides=()
  mapfile -t besides < <(lab_libraries)
  "$nvcc" -std=c++20 -O1 "-arch=sm_$arch" -Xcompiler=-fopenmp -I"$root" "$root/gpu/lab/hopping_lab.cpp" "$lab/$name.o" \
    "$lab/libplaquette_gpu.a" "$(build_folder)/gpu/libplaquette_gpu.a" "$(build_folder)/common/libplaquette_common.a" \
    "${besides[@]}" -cudart static -o "$lab/$name" || fail "kernel: the linker's messages stand above"
  say "link        done in $((SECONDS - begin)) s"
  local arguments=("$lattice" "$precision" "$reals" "$columns" try=1000)
  [[ $clover == false ]] || arguments+=(clover)
  if [[ -z $folder ]]; then
    "$lab/$name" "${arguments[@]}"
    return
  fi
  mkdir -p "$folder"
  command install -m 755 --strip "$lab/$name" "$folder/"
  local libraries=()
  mapfile -t libraries < <(libraries_of "$lab/$name")
  [[ ${#libraries[@]} -eq 0 ]] || command install -m 644 --strip "${libraries[@]}" "$folder/"
  # shellcheck disable=SC2016 # the script expands them
  printf '#!/bin/sh\ncd "$(dirname "$0")" && LD_LIBRARY_PATH=. exec ./%s %s "$@"\n' "$name" "${arguments[*]}" >"$folder/run.sh"
  chmod +x "$folder/run.sh"
  say "bundle      $folder: run $folder/run.sh where the GPU is"
}

# lab_library   The CUDA library for a program with one kernel of its own, in two archives. build/lab's is up to date and has
# none of the 84 kernels of the hopping term. Those in the build folder's may be older. A change of hop_algebra.hpp
# so costs the compilation of one kernel, and of three files that launch them.
lab_library() {
  local archive objects=()
  archive=$(build_folder)/gpu/libplaquette_gpu.a
  [[ -e $archive ]] || compile plaquette_gpu
  mapfile -t objects < <(ninja -C "$(build_folder)" -t inputs gpu/libplaquette_gpu.a | grep '\.o$' |
    grep -vE '/dirac/(hopping|hermitian)_(halo_)?(double|single|half)\.cu\.o$')
  compile common/libplaquette_common.a "${objects[@]}" | sed 's/^build .*/build       the library, without the kernels of the hopping term/'
  rm -f "$root/build/lab/libplaquette_gpu.a"
  (cd "$(build_folder)" && ar rcs "$root/build/lab/libplaquette_gpu.a" "${objects[@]}")
}

# lab_libraries   What the libraries of the build folder are linked with besides.
lab_libraries() {
  local cache
  cache=$(build_folder)/CMakeCache.txt
  if grep -q '^PLAQUETTE_MPI:BOOL=ON' "$cache"; then mpicxx --showme:link 2>/dev/null | tr ' ' '\n' | grep -E '^-(L|l)'; fi
  grep -oE '^METIS_LIBRARY:[A-Z]+=/.*' "$cache" | cut -d= -f2 || true
  printf "%s\n" -lgomp -ldl
}
