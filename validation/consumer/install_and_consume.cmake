# SPDX-License-Identifier: BSD-3-Clause
# Packs the build tree BUILD into an archive, unpacks it elsewhere, then configures, builds and runs the project PROJECT
# against it, all under SCRATCH. The examples, in four languages, are built with it. If SOLVER names a mini-app, that of the
# archive judges them. GPU says whether there is one.
file(REMOVE_RECURSE ${SCRATCH})
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)

cmake_path(GET CMAKE_COMMAND PARENT_PATH cmake_programs)
execute_process(COMMAND ${cmake_programs}/cpack --config ${BUILD}/CPackConfig.cmake -B ${SCRATCH}/packed
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB archive ${SCRATCH}/packed/plaquette-${VERSION}-*.tar.gz)
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${SCRATCH})
file(REMOVE_RECURSE ${SCRATCH}/packed)
file(GLOB unpacked ${SCRATCH}/plaquette-${VERSION}-*)
file(RENAME ${unpacked} ${SCRATCH}/prefix)
if(SOLVER)
  cmake_path(GET SOLVER FILENAME program)
  set(SOLVER ${SCRATCH}/prefix/bin/${program})
endif()
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
set(examples propagator pion pion_c pion_fortran)
if(GPU)
  list(APPEND examples propagator_gpu)
endif()
foreach(example ${examples})
  set(program ${SCRATCH}/build/examples/${example})
  set(device "")
  if(example STREQUAL propagator_gpu)
    set(program ${SCRATCH}/build/examples/propagator)
    set(device gpu)
  endif()
  if(EXISTS ${program})
    execute_process(COMMAND ${program} ${SCRATCH}/${example}.ildg ${device} OUTPUT_FILE ${SCRATCH}/${example}.txt
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

# The archive alone must do: a path into the source tree or the build tree would hide what is not in it.
get_filename_component(source ${PROJECT}/../../.. ABSOLUTE)
file(GLOB_RECURSE texts ${SCRATCH}/prefix/*.cmake ${SCRATCH}/prefix/*.pc ${SCRATCH}/prefix/*.h)
list(LENGTH texts number)
if(number LESS 7)
  message(FATAL_ERROR "The archive lacks files of the CMake package, found ${texts}")
endif()
foreach(file ${texts})
  file(READ ${file} text)
  foreach(tree ${source}/common ${BUILD})
    string(FIND "${text}" "${tree}" leak)
    if(NOT leak EQUAL -1)
      message(FATAL_ERROR "${file} refers to ${tree}")
    endif()
  endforeach()
endforeach()
