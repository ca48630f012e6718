#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# conda-build runs it in a copy of the sources. It sets PREFIX, SP_DIR, CPU_COUNT, and CMAKE_ARGS with the place to install to.
set -euo pipefail
read -ra arguments <<<"${CMAKE_ARGS:--DCMAKE_INSTALL_PREFIX=$PREFIX -DCMAKE_BUILD_TYPE=Release}"
cmake -G Ninja -S . -B build/conda "${arguments[@]}" -DCMAKE_INSTALL_LIBDIR=lib -DPLAQUETTE_MPI=ON -DPLAQUETTE_CUDA=OFF \
  -DPLAQUETTE_LADDER=OFF -DPLAQUETTE_TESTS=OFF -DPLAQUETTE_BENCHMARKS=OFF
cmake --build build/conda --parallel "$CPU_COUNT" --target archived
cmake --install build/conda
mv "$PREFIX/share/plaquette/python/plaquette" "$SP_DIR" # where it finds the library of the prefix, too
