# SPDX-License-Identifier: BSD-3-Clause
# Whether the CUDA library is built: PLAQUETTE_CUDA becomes ON or OFF. AUTO takes the compiler where it is found and says
# which; ON stops where there is none.
set(PLAQUETTE_CUDA_ARCHITECTURES 90 CACHE STRING "Compute capabilities that the CUDA library is built for, as 90 or 90;100")
option(PLAQUETTE_SMALL_KERNELS "Compress the CUDA library for a bundle that has to be small" OFF)
option(PLAQUETTE_REQUIRE_GPU "GPU tests fail, rather than being skipped, where there is no GPU" OFF)
find_program(PLAQUETTE_NVCC nvcc HINTS ENV CUDACXX ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin
  DOC "CUDA compiler")
if(NOT PLAQUETTE_NVCC AND NOT PLAQUETTE_CUDA STREQUAL "AUTO" AND PLAQUETTE_CUDA)
  message(FATAL_ERROR "CUDA was requested (PLAQUETTE_CUDA=ON, preset cuda), but nvcc was not found. Set CUDACXX or "
    "PLAQUETTE_NVCC to it, or use the preset mpi or cpu.")
endif()
if(PLAQUETTE_NVCC AND (PLAQUETTE_CUDA STREQUAL "AUTO" OR PLAQUETTE_CUDA))
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${PLAQUETTE_NVCC})
  endif()
  if(NOT CMAKE_CUDA_HOST_COMPILER AND NOT DEFINED ENV{CUDAHOSTCXX})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${PLAQUETTE_CUDA_ARCHITECTURES})
  # The highest, as kernels see it: "90" of "80;90a-real"; a list without numbers, as "native" or "all", has what is new.
  set(PLAQUETTE_CUDA_HIGHEST_ARCHITECTURE 0)
  foreach(architecture ${PLAQUETTE_CUDA_ARCHITECTURES})
    string(REGEX MATCH "^[0-9]*" number "${architecture}")
    if(NOT number)
      set(number 999)
    endif()
    if(number GREATER PLAQUETTE_CUDA_HIGHEST_ARCHITECTURE)
      set(PLAQUETTE_CUDA_HIGHEST_ARCHITECTURE ${number})
    endif()
  endforeach()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "Plaquette needs nvcc 12 or newer (C++20); found ${CMAKE_CUDA_COMPILER_VERSION} at "
      "${CMAKE_CUDA_COMPILER}. PLAQUETTE_CUDA=OFF builds for the CPU.")
  endif()
  # CMake 3.25 does not know that this compiler has C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
  endif()
  set(CMAKE_CUDA_FLAGS_RELEASE "") # kernels are optimised anyway; for the host see gpu/CMakeLists.txt
  set(PLAQUETTE_CUDA ON)
  message(STATUS "CUDA: nvcc ${CMAKE_CUDA_COMPILER_VERSION} (${CMAKE_CUDA_COMPILER}), for compute capability "
    "${PLAQUETTE_CUDA_ARCHITECTURES}")
elseif(PLAQUETTE_CUDA STREQUAL "AUTO")
  set(PLAQUETTE_CUDA OFF)
  message(STATUS "CUDA: nvcc not found: building for the CPU")
else()
  message(STATUS "CUDA: switched off (PLAQUETTE_CUDA=OFF)")
endif()
