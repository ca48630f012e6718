# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Compiles one kernel, verifies and times it. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette

# What a kernel's words say: the source to compile, its macros, the words of the bench, a name, and the tests of its body
# on the host.
kernel_source='' kernel_macros=() kernel_words=() kernel_name='' kernel_tests='' kernel_pattern=''

# one_of WHAT VALUE CHOICE...   Fails where VALUE is none of them.
one_of() {
  local what=$1 value=$2
  shift 2
  [[ " $* " == *" $value "* && -n $value ]] || fail "kernel: $what is one of $*; got '$value'"
}
# positive WHAT VALUE
positive() { [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "kernel: $1 is a number from 1 on, got '$2'"; }
# bytes_of PRECISION
bytes_of() { case $1 in double) say 8 ;; single) say 4 ;; *) say 2 ;; esac; }
# file_of SOURCE, and the numbers of the one kernel that is compiled, as the source has them (gpu/device/one_kernel.hpp)
one_kernel() {
  kernel_source=$1
  local IFS=,
  local numbers="${*:2}"
  kernel_macros=("-DPLAQUETTE_ONE_KERNEL=${numbers//,/\\,}") # nvcc splits at commas
}

# hopping_variant PRECISION COLUMNS CLOVER   The kernel that the table of launches takes on a large lattice.
hopping_variant() {
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

kernel_hopping() { # PRECISION REALS [COLUMNS]
  local precision=${1-} reals=${2-} columns=${3-1} real=${1-} links
  one_of PRECISION "$precision" double single half
  [[ $precision != single ]] || real=float
  case $reals in
    18) links=none ;;
    12) links=twelve ;;
    8) links=eight ;;
    *) fail "kernel: REALS is 18, 12 or 8, got '$reals'" ;;
  esac
  positive COLUMNS "$columns"
  variant=${variant:-$(hopping_variant "$precision" "$columns" "$clover")}
  one_of --variant "$variant" tiles tiles_once tiles_once_20 tiles_once_24 batch batch_common batch_whole
  case $variant in
    tiles_once_20 | tiles_once_24 | batch_whole)
      [[ $precision == half ]] || fail "kernel: --variant $variant is one of half precision" ;;
    *) ;;
  esac
  [[ $variant != tiles_once_24 || $clover == false ]] || fail "kernel: --variant tiles_once_24 is one without --clover"
  kernel_source=gpu/lab/hopping_kernel.cu
  kernel_macros=("-DPLAQUETTE_LAB_REAL=$real" "-DPLAQUETTE_LAB_LINKS=$links" "-DPLAQUETTE_LAB_VARIANT=$variant"
    "-DPLAQUETTE_LAB_CLOVER=$clover")
  kernel_words=("$precision" "$reals" "$columns" try=1000)
  [[ $clover == false ]] || kernel_words+=(clover)
  kernel_name=$precision-$reals-$variant
  [[ $clover == false ]] || kernel_name+=-clover
  kernel_tests=gpu_host_dirac kernel_pattern='*Hopping*:*WilsonClover*'
}

kernel_hermitian() { # PRECISION REALS [COLUMNS]
  local precision=${1-} reals=${2-} columns=${3-1} form
  one_of PRECISION "$precision" double single half
  one_of REALS "$reals" 12 8
  positive COLUMNS "$columns"
  if [[ -z $variant ]]; then variant=tiles; [[ $columns -eq 1 ]] || variant=batch_common; fi
  case $variant in
    tiles) form=0 ;;
    tiles_small) form=1; [[ $precision == double ]] || fail "kernel: --variant tiles_small is one of double precision" ;;
    batch) form=2 ;;
    batch_common) form=3 ;;
    batch_wide) form=4 ;;
    *) fail "kernel: --variant is tiles, tiles_small, batch, batch_common or batch_wide, got '$variant'" ;;
  esac
  one_kernel "gpu/dirac/hermitian_$precision.cu" "$reals" "$form"
  kernel_words=("$precision" "$reals" "$columns" try=1000 "form=$form")
  kernel_name=$precision-$reals-$variant
  kernel_tests=gpu_host_overlap_kernel kernel_pattern='*ermitian*'
}

kernel_coarse() { # N STORAGE [COLUMNS]
  local n=${1-} storage=${2-} columns=${3-1} sites rows
  positive N "$n"
  one_of STORAGE "$storage" single half
  positive COLUMNS "$columns"
  lattice=${lattice:-8x8x8x16}
  sites=$((${lattice//x/*}))
  rows=$(((n + 15) / 16))
  if [[ -z $variant && $columns -gt 1 && $rows -le 6 ]]; then
    variant=batch
    [[ $sites -gt 132 ]] || variant=batch_few
  elif [[ -z $variant ]]; then
    # As queue_column chooses on a GPU of 132 multiprocessors (gpu/coarse/coarse_products.cu).
    local step=4 all each
    [[ $storage == single ]] || step=8
    all=$((9 * ((n + step - 1) / step)))
    each=$(((all + 15) / 16))
    if [[ $storage == half && $((sites * rows)) -ge 5280 && $rows -le 3 && $((all % 18)) -eq 0 ]]; then
      variant=stream
    elif [[ $((sites * rows)) -ge 512 ]]; then
      variant=many
    elif [[ $each -le 4 ]]; then
      variant=few_4
    elif [[ $each -le 7 ]]; then
      variant=few_7
    elif [[ $each -le 9 ]]; then
      variant=few_9
    else
      variant=few
    fi
  fi
  local of_storage=0 tiles=3 form
  [[ $storage == single ]] || of_storage=1
  [[ $columns -gt 4 ]] || tiles=1
  case $variant in
    batch) form="0 $rows $tiles" ;;
    batch_few) form="1 1 $tiles" ;;
    stream) form='2 0' ;;
    many) form='2 1' ;;
    few_4) form='2 2' ;;
    few_7) form='2 3' ;;
    few_9) form='2 4' ;;
    few) form='2 5' ;;
    *) fail "kernel: --variant is batch, batch_few, stream, many, few_4, few_7, few_9 or few, got '$variant'" ;;
  esac
  # shellcheck disable=SC2086 # numbers
  one_kernel gpu/coarse/coarse_products.cu "$of_storage" $form
  kernel_words=("$n" "$storage" "$columns")
  kernel_name=$n-$storage-x$columns-$variant
  kernel_tests=gpu_host_coarse kernel_pattern='*'
}

kernel_transfer() { # DIRECTION PRECISION STORAGE [COLUMNS]
  local direction=${1-} precision=${2-} storage=${3-} columns=${4-1} of_storage=0 of_direction=0 form='0 0'
  one_of DIRECTION "$direction" restrict prolong
  one_of PRECISION "$precision" single half
  one_of STORAGE "$storage" single half
  positive COLUMNS "$columns"
  [[ $storage == single ]] || of_storage=1
  if [[ $direction == prolong ]]; then
    of_direction=1
    [[ $columns -eq 1 ]] || form='3 3'
    [[ $columns -eq 1 || $columns -gt 4 ]] || form='1 3'
  else
    [[ $columns -eq 1 ]] || form='2 3'
    [[ $columns -eq 1 || $columns -gt 8 ]] || form='1 3'
  fi
  # shellcheck disable=SC2086 # numbers
  one_kernel gpu/coarse/transfer.cu "$of_storage" "$(bytes_of "$precision")" "$of_direction" $form
  kernel_words=("$precision" "$storage" "$columns" "only=$direction")
  kernel_name=$direction-$precision-$storage-x$columns
  kernel_tests=gpu_host_coarse kernel_pattern='*'
}

kernel_dg() { # SYSTEM PRECISION ORDER
  local system=${1-} precision=${2-} order=${3-} fields=4 half=low real=single any=0
  one_of SYSTEM "$system" acoustics maxwell
  one_of PRECISION "$precision" single double
  one_of ORDER "$order" 1 2 3 4 5 6 7 8 9
  one_of --variant "${variant:=upwind}" upwind central
  [[ $system == acoustics ]] || fields=6
  [[ $order -le 5 ]] || half=high
  [[ $variant == upwind ]] || any=1
  one_kernel "gpu/dg/fused_${system}_${precision}_$half.cu" "$fields" "$(bytes_of "$precision")" "$order" "$any"
  kernel_words=("$system" "$precision" "$order")
  [[ $variant == upwind ]] || kernel_words+=(central)
  kernel_name=$system-$precision-$order-$variant
  kernel_tests=gpu_host_dg kernel_pattern='*'
}

kernel_basis() { # OPERATION PRECISION VECTORS [COLUMNS]
  local operation=${1-} precision=${2-} vectors=${3-} columns=${4-12} of_operation=0 tiles=6
  one_of OPERATION "$operation" products combine
  one_of PRECISION "$precision" single double
  positive VECTORS "$vectors"
  positive COLUMNS "$columns"
  [[ $operation == products ]] || of_operation=1
  [[ $columns -gt 12 ]] || tiles=3
  [[ $columns -gt 4 ]] || tiles=1
  [[ $columns -le 24 ]] || fail "kernel basis: COLUMNS is at most 24, which are one launch; got $columns"
  one_kernel gpu/blas/basis.cu "$(bytes_of "$precision")" "$of_operation" "$tiles"
  kernel_words=("$precision" "$vectors" "$columns" "only=$operation")
  kernel_name=$operation-$precision-x$columns
  kernel_tests=gpu_host_overlap_kernel kernel_pattern='*asis*'
}

kernel_few_fields() { # OPERATION PRECISION FIELDS [COLUMNS]
  local operation=${1-} precision=${2-} fields=${3-} columns=${4-1} number
  one_of PRECISION "$precision" double single half
  one_of FIELDS "$fields" 1 2 3 4 5 6 7 8
  positive COLUMNS "$columns"
  case $operation in
    products) number=1 ;;
    sum) number=2 ;;
    sum-dot) number=3 ;;
    *) fail "kernel: OPERATION is one of sum sum-dot products; got '$operation'" ;;
  esac
  one_kernel gpu/blas/few_fields.cu "$(bytes_of "$precision")" "$number"
  kernel_words=("$precision" "$fields" "$columns" "only=$operation")
  kernel_name=$operation-$precision
  kernel_tests=gpu_host_blas kernel_pattern='*ew*ields*'
}

# print_registers LOG   What ptxas says of kernels; not of those that are launched an index a thread, and so have no name
# of their own, unless there are no others.
print_registers() {
  local demangled
  demangled=$(if command -v c++filt >/dev/null; then c++filt <"$1"; else cat "$1"; fi)
  awk '/Compiling entry function/ {
         name = $0
         sub(/.*entry function ./, "", name)
         sub(/. for .sm_.*/, "", name)
         generic = name ~ /(index|site|sum)_kernel|gather/
         gsub(/plaquette::|gpu::|\(anonymous namespace\)::|detail::|^void /, "", name)
         sub(/>\(.*/, ">", name)
       }
       /bytes spill/ { match($0, /[0-9]+ bytes spill stores/); spills = substr($0, RSTART, RLENGTH) + 0 }
       /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5)
         line = sprintf("%3d registers, %d bytes of spill stores  %s", registers, spills, substr(name, 1, 110))
         if (generic) others[line]; else { own[line]; found = 1 } }
       END { if (found) { for (l in own) print l } else for (l in others) print l }' <<<"$demangled" | sort -u
}

kernel() {
  local words=() given=("$@") variant='' clover=false lattice='' arch=90 folder='' check=false begin=$SECONDS nvcc
  while [[ $# -gt 0 ]]; do
    case $1 in
      --variant) variant=${2-}; shift 2 || shift ;;
      --clover) clover=true; shift ;;
      --lattice) lattice=${2-}; shift 2 || shift ;;
      --arch) arch=${2-}; shift 2 || shift ;;
      --bundle) folder=${2-}; shift 2 || shift ;;
      --check) check=true; shift ;;
      -*) fail "kernel: unknown argument '$1'; ./plaquette kernel --help lists them" ;;
      *) words+=("$1"); shift ;;
    esac
  done
  [[ -z $lattice || $lattice =~ ^[1-9][0-9]*(x[1-9][0-9]*){3}$ ]] || fail "kernel: --lattice is XxYxZxT, got '$lattice'"
  case ${words[0]-} in
    hopping | coarse | transfer | dg | hermitian | basis | few-fields) "kernel_${words[0]//-/_}" "${words[@]:1}" ;;
    *) fail "kernel: which? There are: hopping coarse transfer dg hermitian basis few-fields; ./plaquette help has their words" ;;
  esac
  nvcc=$(nvcc_command)
  local lab=$root/build/lab name=${words[0]}-$kernel_name
  mkdir -p "$lab"
  say "compile     $name for compute capability $arch"
  "$nvcc" -c -std=c++20 -O3 "-arch=sm_$arch" --expt-relaxed-constexpr -Xptxas=-v \
    -Xcompiler=-O1,-ffp-contract=off,-fopenmp,-Wno-unknown-pragmas -I"$root" -DPLAQUETTE_CUDA_RUNTIME \
    "-DPLAQUETTE_CUDA_HIGHEST_ARCHITECTURE=$arch" "${kernel_macros[@]}" "$root/$kernel_source" \
    -o "$lab/$name.o" >"$lab/$name.log" 2>&1 || { cat "$lab/$name.log" >&2; fail "kernel: it does not compile"; }
  say "            done in $((SECONDS - begin)) s"
  print_registers "$lab/$name.log"

  if [[ $check == true ]]; then
    preset=$(choose_preset)
    { configure_once -DPLAQUETTE_TESTS=ON && compile "$kernel_tests"; } >&2
    say "host        the bodies as loops, against the CPU library"
    "$(build_folder)/validation/gpu-vs-cpu/$kernel_tests" --gtest_brief=1 "--gtest_filter=$kernel_pattern" ||
      fail "kernel: the tests on the host have failed; their messages stand above"
  fi
  if [[ -z $folder ]] && ! nvidia-smi -L >/dev/null 2>&1; then
    say "no GPU      to verify and time it: ./plaquette kernel ${given[*]} --bundle DIR packs it for a machine with one"
    return
  fi
  preset=cuda
  { configure_once && lab_library "$kernel_source"; } >&2
  begin=$SECONDS
  local besides=()
  mapfile -t besides < <(lab_libraries)
  # The kernel's object comes first: the library's object of the same functions is then not linked.
  "$nvcc" -std=c++20 -O1 "-arch=sm_$arch" -Xcompiler=-fopenmp -I"$root" "$root/gpu/lab/kernel_bench.cpp" "$lab/$name.o" \
    "$(build_folder)/gpu/libplaquette_kernel_bench.a" "$lab/libplaquette_gpu.a" \
    "$(build_folder)/gpu/libplaquette_gpu.a" "$(build_folder)/common/libplaquette_common.a" \
    "${besides[@]}" -cudart static -o "$lab/$name" || fail "kernel: the linker's messages stand above"
  say "link        done in $((SECONDS - begin)) s"
  local arguments=("${words[0]}" "${kernel_words[@]}")
  [[ -z $lattice ]] || arguments+=("lattice=$lattice")
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

# lab_library SOURCE   The CUDA library for a program with one kernel of its own, in two archives. build/lab's is up to date
# and has neither the kernel's own source nor the 84 kernels of the hopping term. Those in the build folder's may be older.
# A change of hop_algebra.hpp so costs the compilation of one kernel, and of three files that launch them.
lab_library() {
  local archive objects=() own=${1#gpu/}
  archive=$(build_folder)/gpu/libplaquette_gpu.a
  [[ -e $archive ]] || compile plaquette_gpu
  mapfile -t objects < <(ninja -C "$(build_folder)" -t inputs gpu/libplaquette_gpu.a | grep '\.o$' |
    grep -vE '/dirac/(hopping|hermitian)_(halo_)?(double|single|half)\.cu\.o$' | grep -vF "/$own.o")
  compile common/libplaquette_common.a gpu/libplaquette_kernel_bench.a "${objects[@]}" |
    sed 's/^build .*/build       the library, without the kernels of the hopping term/'
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
