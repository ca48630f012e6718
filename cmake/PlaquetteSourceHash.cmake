# SPDX-License-Identifier: BSD-3-Clause
# Writes OUTPUT, the definition of plaquette::gpu::kernel_sources_hash(): a hash of the sources below FOLDER, of their
# names and contents. Run as a script, at build time, when one of them has changed.
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*.hpp ${FOLDER}/*.cu ${FOLDER}/*.cpp)
list(SORT files)
set(hashes "")
foreach(file ${files})
  file(SHA256 ${FOLDER}/${file} hash)
  string(APPEND hashes "${file} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "// Made by cmake/PlaquetteSourceHash.cmake.
#include \"gpu/tuning/kernel_sources.hpp\"

std::string_view plaquette::gpu::kernel_sources_hash() { return \"${hash}\"; }
")
