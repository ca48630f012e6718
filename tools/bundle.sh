# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Packs programs for machines with GPUs but without compilers. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette
# libraries_of PROGRAM...   Paths of the shared libraries that another machine may lack: all but those of the C library,
# and of the driver, which belongs to the machine. With MPI its libraries too are the machine's, which knows its network,
# and the C++ library: that of here may be older than they need. What only those need is not followed.
libraries_of() {
  local theirs='libc|libm|libdl|librt|libpthread|libresolv|ld-linux.*|libcuda|libnvidia-ml' name file files=("$@")
  [[ $preset != bundle-mpi ]] || theirs+='|libmpi.*|libopen-.*|libhwloc|libevent.*|libstdc\+\+|libgcc_s'
  local -A found=() taken=()
  while read -r name file; do found[$name]=$file; done < <(ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')
  while [[ ${#files[@]} -gt 0 ]]; do
    local needed=()
    mapfile -t needed < <(readelf -d "${files[@]}" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u)
    files=()
    for name in "${needed[@]}"; do
      [[ ! $name =~ ^($theirs)\.so && -n ${found[$name]-} && -z ${taken[$name]-} ]] || continue
      taken[$name]=yes
      files+=("${found[$name]}")
      say "${found[$name]}"
    done
  done
}

# require_complete DIR   Each program of a bundle finds each library and symbol that it needs, in the bundle or here.
require_complete() {
  local folder=$1 program lacking
  for program in "$folder"/bin/*; do
    lacking=$(LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ldd -r "$program" 2>&1 |
      grep -E 'undefined symbol|not found' | grep -vE 'libcuda\.so|libnvidia-ml\.so' | head -n 1) || true
    [[ -z $lacking ]] || fail "bundle: bin/${program##*/} would not start: ${lacking//$'\t'/}"
  done
}

# fill_bundle DIR   From the build folder, which is complete.
fill_bundle() {
  local folder=$1 programs=() reference=$root/../shared/reference
  mapfile -t programs <"$(build_folder)/gpu_programs.txt"
  mkdir -p "$folder"/{bin,lib,cli,data,tools,common/app}
  command install -m 755 --strip "${programs[@]}" "$folder/bin"
  local libraries=()
  mapfile -t libraries < <(libraries_of "${programs[@]}")
  command install -m 644 --strip "${libraries[@]}" "$folder/lib"
  require_complete "$folder"
  command install -m 755 "$root/validation/support/run_bundle.sh" "$folder/run"
  cp "$root"/validation/cli/{harness,json_schema,gpu_*_test}.py "$root/common/app/report.schema.json" "$folder/cli"
  cp "$root"/tools/tender.py "$folder/tools" && cp "$root/common/app/classes.json" "$folder/common/app"
  cp "$root"/data/*.nersc "$folder/data"
  [[ ! -e $reference/reference.json ]] || cp -r --no-preserve=mode "$reference" "$folder/reference"
}

bundle() {
  local architectures='' folder='' begin=$SECONDS gpu=no mpi=no
  while [[ $# -gt 0 ]]; do
    case $1 in
      --gpu) gpu=yes; shift ;;
      --mpi) mpi=yes; shift ;;
      --arch) architectures=${2-}; shift 2 || fail "bundle --arch: which? For example 90" ;;
      -*) fail "bundle: unknown argument '$1'; usage: ./plaquette bundle --gpu [--mpi] [--arch LIST] [DIR]" ;;
      *) [[ -z $folder ]] || fail "bundle: one DIR, got '$folder' and '$1'"; folder=$1; shift ;;
    esac
  done
  [[ $gpu == yes ]] || fail "bundle: only what a GPU needs is packed; say so: ./plaquette bundle --gpu [DIR]"
  require test
  has_nvcc || fail "bundle --gpu: nvcc was not found (on the PATH, in CUDA_HOME or /usr/local/cuda)"
  preset=bundle
  if [[ $mpi == yes ]]; then
    command -v mpicxx >/dev/null || fail "bundle --gpu --mpi: mpicxx was not found"
    preset=bundle-mpi
  fi
  folder=${folder:-$root/out/gpu-$preset}
  [[ ! -e $folder || -e $folder/bundle.txt ]] || fail "bundle: '$folder' is there already and is no bundle"
  configure -DPLAQUETTE_TESTS=ON -DPLAQUETTE_BENCHMARKS=ON ${architectures:+"-DPLAQUETTE_CUDA_ARCHITECTURES=$architectures"}
  compile gpu_programs
  rm -rf "$folder"
  fill_bundle "$folder"
  {
    say "bundle     of Plaquette for GPUs of compute capability ${architectures:-90}"
    say "revision   $(git -C "$root" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)"
    [[ $mpi == no ]] || say "mpi        libmpi.so.40, as Open MPI 4 has it, of the machine it runs on"
  } >"$folder/bundle.txt"
  local size
  size=$(du -sm --apparent-size "$folder" | cut -f1)
  say "bundle      $folder, $size MiB, in $((SECONDS - begin)) s; where the GPUs are: ./plaquette test --gpu --bundle DIR"
  [[ $size -le 60 ]] || fail "bundle: $size MiB, and at most 60 were to be packed"
}
