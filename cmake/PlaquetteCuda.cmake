# SPDX-License-Identifier: BSD-3-Clause
# Whether the CUDA library is built. Nothing under gpu/ exists yet: AUTO says what was found and goes on without, ON
# stops rather than build something else than what was asked for.
find_program(PLAQUETTE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin DOC "CUDA compiler")
if(PLAQUETTE_CUDA STREQUAL "AUTO")
  if(PLAQUETTE_NVCC)
    message(STATUS "CUDA: nvcc found (${PLAQUETTE_NVCC}), but this version has no GPU code yet: building for the CPU")
  else()
    message(STATUS "CUDA: nvcc not found: building for the CPU (this version has no GPU code yet)")
  endif()
elseif(PLAQUETTE_CUDA)
  message(FATAL_ERROR "CUDA was asked for (PLAQUETTE_CUDA=ON, preset cuda), but this version has no GPU code yet. "
    "Use the preset mpi or cpu.")
endif()
