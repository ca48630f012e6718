# SPDX-License-Identifier: BSD-3-Clause
# Installs the build tree BUILD, then configures, builds and runs the project PROJECT against it, all under SCRATCH.
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
file(GLOB examples ${PROJECT}/../../../examples/*.cpp)
foreach(file ${examples})
  get_filename_component(name ${file} NAME_WE)
  execute_process(COMMAND ${SCRATCH}/build/example_${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(EXISTS ${SCRATCH}/build/gpu_consumer)
  execute_process(COMMAND ${SCRATCH}/build/gpu_consumer COMMAND_ERROR_IS_FATAL ANY)
endif()

# The installed headers alone must do: a path into the source tree would hide one that is not installed.
file(GLOB_RECURSE exported ${SCRATCH}/prefix/PlaquetteTargets.cmake)
file(READ ${exported} targets)
get_filename_component(source ${PROJECT}/../../.. ABSOLUTE)
string(FIND "${targets}" "${source}/common" leak)
if(NOT leak EQUAL -1)
  message(FATAL_ERROR "The installed package refers to the source tree ${source}")
endif()
