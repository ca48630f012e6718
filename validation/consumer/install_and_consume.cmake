# SPDX-License-Identifier: BSD-3-Clause
# Installs the build tree BUILD, then configures, builds and runs the project PROJECT against it, all under SCRATCH.
# The examples are built with it; SOLVER is the mini-app that theirs is compared with, GPU whether there is one.
file(REMOVE_RECURSE ${SCRATCH})
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)

foreach(component development callers)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component ${component}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECT} -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_C_FLAGS=${FLAGS} -DCMAKE_Fortran_FLAGS=${FLAGS} -DWANTED_VERSION=${VERSION}
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/build/examples/overlap COMMAND_ERROR_IS_FATAL ANY)
foreach(example own_operator waves)
  execute_process(COMMAND ${SCRATCH}/build/examples/${example} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  message("${printed}")
  if(NOT printed MATCHES "VERIFIED PASSED")
    message(FATAL_ERROR "the example ${example} printed no verdict")
  endif()
endforeach()
if(EXISTS ${SCRATCH}/build/gpu_consumer)
  execute_process(COMMAND ${SCRATCH}/build/gpu_consumer COMMAND_ERROR_IS_FATAL ANY)
endif()

# The example's pion is that of the mini-app, from the links that the example wrote.
foreach(example propagator pion pion_c pion_fortran propagator_gpu)
  set(program ${SCRATCH}/build/examples/${example})
  if(EXISTS ${program} AND (GPU OR NOT example STREQUAL propagator_gpu))
    execute_process(COMMAND ${program} ${SCRATCH}/${example}.ildg OUTPUT_FILE ${SCRATCH}/${example}.txt
      COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${SCRATCH}/${example}.txt printed)
    message("${printed}")
    if(NOT printed MATCHES "VERIFIED PASSED")
      message(FATAL_ERROR "the example ${example} printed no verdict")
    endif()
    if(SOLVER)
      execute_process(COMMAND ${SOLVER} --gauge ${SCRATCH}/${example}.ildg --mass 0.2 --csw 1 --tol 1e-12 --repeat 0
        --json ${SCRATCH}/${example}.json OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND ${PYTHON} ${PROJECT}/../same_pion.py ${SCRATCH}/${example}.txt ${SCRATCH}/${example}.json
        COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endif()
endforeach()

# Python: the package of the prefix finds the library there. PLOTTING is an interpreter with numpy and matplotlib.
if(PLOTTING AND NOT FLAGS MATCHES "-fsanitize" AND EXISTS ${SCRATCH}/prefix/share/plaquette/python)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${SCRATCH}/prefix/share/plaquette/python MPLBACKEND=Agg
    ${PLOTTING} -B ${PROJECT}/../../../examples/pion.py ${SCRATCH}/propagator.ildg ${SCRATCH}/pion.png
    OUTPUT_FILE ${SCRATCH}/pion_python.txt COMMAND_ERROR_IS_FATAL ANY)
  if(SOLVER)
    execute_process(COMMAND ${PYTHON} ${PROJECT}/../same_pion.py ${SCRATCH}/pion_python.txt ${SCRATCH}/propagator.json
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()

# C by pkg-config, without CMake.
find_program(PKG_CONFIG pkg-config)
find_program(C_COMPILER NAMES cc gcc)
file(GLOB_RECURSE pc ${SCRATCH}/prefix/plaquette.pc)
if(pc AND PKG_CONFIG AND C_COMPILER AND NOT FLAGS MATCHES "-fsanitize")
  get_filename_component(folder ${pc} DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs plaquette OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(COMMAND ${C_COMPILER} ${PROJECT}/../../../examples/pion.c -o ${SCRATCH}/pion_by_pkg_config ${flags} -lm
    COMMAND_ERROR_IS_FATAL ANY)
endif()

# The installed headers alone must do: a path into the source tree would hide one that is not installed.
file(GLOB_RECURSE exported ${SCRATCH}/prefix/PlaquetteTargets.cmake)
file(READ ${exported} targets)
get_filename_component(source ${PROJECT}/../../.. ABSOLUTE)
string(FIND "${targets}" "${source}/common" leak)
if(NOT leak EQUAL -1)
  message(FATAL_ERROR "The installed package refers to the source tree ${source}")
endif()
