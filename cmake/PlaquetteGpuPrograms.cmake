# SPDX-License-Identifier: BSD-3-Clause
# Target gpu_programs: all that a machine with GPUs runs, which are the tests gpu_*, with MPI those of several GPUs
# (mpi_gpu_*), and the mini-apps and the ladders. Their paths stand in gpu_programs.txt in the build folder, one a line (./plaquette
# bundle --gpu packs them).
if(PLAQUETTE_CUDA AND PLAQUETTE_APPS AND PLAQUETTE_TESTS)
  plaquette_executables_below(apps ${PROJECT_SOURCE_DIR}/miniapps "^plaquette-")
  plaquette_executables_below(tests ${PROJECT_SOURCE_DIR}/validation "^(mpi_)?gpu_")
  list(FILTER tests EXCLUDE REGEX "^(mpi_)?gpu_host_")
  if(TARGET plaquette-ladder-gpu)
    list(APPEND apps plaquette-ladder-gpu)
  endif()
  if(NOT PLAQUETTE_MPI)
    list(FILTER tests EXCLUDE REGEX "^mpi_")
  endif()
  # As shared libraries they are compiled as they are as static ones.
  set_target_properties(plaquette_common plaquette_cpu_ref plaquette_gpu plaquette_library PROPERTIES DEFINE_SYMBOL "")
  add_custom_target(gpu_programs DEPENDS ${apps} ${tests})
  set(paths)
  foreach(program ${apps} ${tests})
    string(APPEND paths "$<TARGET_FILE:${program}>\n")
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/gpu_programs.txt CONTENT "${paths}")
endif()
