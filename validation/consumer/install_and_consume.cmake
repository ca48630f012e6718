# SPDX-License-Identifier: BSD-3-Clause
# Installs the build tree BUILD, then configures, builds and runs the project PROJECT against it, all under SCRATCH.
# The examples are built with it; SOLVER is the mini-app that theirs is compared with, GPU whether there is one.
file(REMOVE_RECURSE ${SCRATCH})
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)

execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --component development
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${PROJECT} -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS} -DWANTED_VERSION=${VERSION}
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${SCRATCH}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/build/consumer COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/build/examples/overlap COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS ${SCRATCH}/build/gpu_consumer)
  execute_process(COMMAND ${SCRATCH}/build/gpu_consumer COMMAND_ERROR_IS_FATAL ANY)
endif()

# The example's pion is that of the mini-app, from the links that the example wrote.
foreach(example propagator propagator_gpu)
  set(program ${SCRATCH}/build/examples/${example})
  if(EXISTS ${program} AND (example STREQUAL propagator OR GPU))
    execute_process(COMMAND ${program} ${SCRATCH}/${example}.ildg OUTPUT_FILE ${SCRATCH}/${example}.txt
      COMMAND_ERROR_IS_FATAL ANY)
    file(READ ${SCRATCH}/${example}.txt printed)
    message("${printed}")
    if(NOT printed MATCHES "VERIFIED PASSED")
      message(FATAL_ERROR "examples/propagator.cpp printed no verdict")
    endif()
    if(SOLVER)
      execute_process(COMMAND ${SOLVER} --gauge ${SCRATCH}/${example}.ildg --mass 0.2 --csw 1 --tol 1e-12 --repeat 0
        --json ${SCRATCH}/${example}.json OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND ${PYTHON} ${PROJECT}/../same_pion.py ${SCRATCH}/${example}.txt ${SCRATCH}/${example}.json
        COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endif()
endforeach()

# The installed headers alone must do: a path into the source tree would hide one that is not installed.
file(GLOB_RECURSE exported ${SCRATCH}/prefix/PlaquetteTargets.cmake)
file(READ ${exported} targets)
get_filename_component(source ${PROJECT}/../../.. ABSOLUTE)
string(FIND "${targets}" "${source}/common" leak)
if(NOT leak EQUAL -1)
  message(FATAL_ERROR "The installed package refers to the source tree ${source}")
endif()
