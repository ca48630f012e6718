# SPDX-License-Identifier: BSD-3-Clause

# What every target of the suite is compiled with. Contraction into fused multiply-adds is off where the same bits are
# promised (random numbers, heat bath, reductions); the kernels, compiled an instruction set at a time, switch it on.
add_library(plaquette_flags INTERFACE)
target_compile_options(plaquette_flags INTERFACE -Wall -Wextra -Wpedantic -ffp-contract=off)

# Where g++ begins to collect garbage, in kB: not at all, but for the largest files. A tenth faster; some 600 MB a process.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=--param=ggc-min-heapsize=1000000>)
endif()

# What is compiled once and runs for seconds, or calls the libraries for whatever takes longer, is optimised half: it is
# built in two thirds of the time. For the folder that calls it and those below.
macro(plaquette_optimise_half)
  add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
endmacro()

# plaquette_owns_headers(target header...): the target's files begin with these headers, parsed once. Others share them
# by plaquette_shares_headers(target owner). A shared library does not define NAME_EXPORTS: no
# source uses that name, and a file compiled without it could not use the parsed headers.
function(plaquette_owns_headers target)
  if(PLAQUETTE_PRECOMPILED_HEADERS)
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
function(plaquette_shares_headers target owner)
  if(PLAQUETTE_PRECOMPILED_HEADERS)
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# An executable shares the headers of a library where it is compiled as libraries are.
function(plaquette_shares_headers_of_library executable owner)
  set_target_properties(${executable} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${executable} PRIVATE -fPIC)
  plaquette_shares_headers(${executable} ${owner})
endfunction()

# plaquette_test_objects(target SOURCES file... [LIBRARIES target...] [DEFINITIONS definition...] [HEADERS header...])
#   Objects of tests, to be linked into one executable or several, and compiled as executables are. They share the headers
#   of all tests, but for plaquette_mpi_test_main, which owns them.
function(plaquette_test_objects target)
  cmake_parse_arguments(PARSE_ARGV 1 T "" "" "SOURCES;LIBRARIES;DEFINITIONS;HEADERS")
  add_library(${target} OBJECT ${T_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIE)
  target_compile_definitions(${target} PRIVATE ${T_DEFINITIONS})
  target_link_libraries(${target} PRIVATE plaquette_flags plaquette_validation ${T_LIBRARIES})
  if(T_HEADERS)
    plaquette_owns_headers(${target} ${T_HEADERS})
  else()
    plaquette_shares_headers(${target} plaquette_mpi_test_main)
  endif()
endfunction()

# Tests that take a minute and more, or repeat for more rank counts what others hold: label "long".
option(PLAQUETTE_LONG_TESTS "Run the tests that take minutes too (label long)" OFF)

# plaquette_test(NAME name LABELS label SOURCES file... [LIBRARIES target...] [TIMEOUT seconds] [TOGETHER suite])
#   One GoogleTest executable; each of its tests is a CTest test, on two threads that sleep while they wait (CTest runs
#   several tests at a time). Those of the suite TOGETHER share what they make, and are one. Tests whose names begin with
#   Long are long ones. The two properties of the environment are two because a list of two would be taken apart.
function(plaquette_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT;TOGETHER" "LABELS;SOURCES;LIBRARIES" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set(filter "-*.Long*")
  if(T_TOGETHER)
    string(APPEND filter ":${T_TOGETHER}.*")
    add_test(NAME ${T_NAME}.${T_TOGETHER} COMMAND ${T_NAME} "--gtest_filter=${T_TOGETHER}.*")
    set_tests_properties(${T_NAME}.${T_TOGETHER} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT}
      ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  plaquette_shares_headers(${T_NAME} plaquette_mpi_test_main)
  target_link_libraries(${T_NAME} PRIVATE plaquette_flags plaquette_test_main ${T_LIBRARIES})
  gtest_discover_tests(${T_NAME} TEST_PREFIX "${T_NAME}." TEST_FILTER "${filter}" DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES ON
    PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT}
      ENVIRONMENT "OMP_NUM_THREADS=2" ENVIRONMENT_MODIFICATION "OMP_WAIT_POLICY=set:passive")
  if(PLAQUETTE_LONG_TESTS)
    gtest_discover_tests(${T_NAME} TEST_PREFIX "long_${T_NAME}." TEST_FILTER "*.Long*" DISCOVERY_TIMEOUT 60
      NO_PRETTY_VALUES ON PROPERTIES LABELS long TIMEOUT 1200
        ENVIRONMENT "OMP_NUM_THREADS=2" ENVIRONMENT_MODIFICATION "OMP_WAIT_POLICY=set:passive")
  endif()
endfunction()

# plaquette_mpi_test(NAME name TARGET executable RANKS n [FILTER gtest-filter] [LABELS label...] [TIMEOUT seconds]
#                    [LOCK resource] [LONG])
#   Runs a GoogleTest executable (made with plaquette_mpi_executable) on n ranks. Its main returns 77 = skipped. LONG: a
#   long test.
function(plaquette_mpi_test)
  cmake_parse_arguments(T "LONG" "NAME;TARGET;RANKS;FILTER;TIMEOUT;LOCK" "LABELS" ${ARGN})
  if(NOT PLAQUETTE_MPI OR (T_LONG AND NOT PLAQUETTE_LONG_TESTS))
    return()
  endif()
  if(T_LONG)
    set(T_LABELS long)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set(filter)
  if(T_FILTER)
    set(filter "--gtest_filter=${T_FILTER}")
  endif()
  add_test(NAME ${T_NAME}
    COMMAND ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none ${MPIEXEC_NUMPROC_FLAG} ${T_RANKS}
      $<TARGET_FILE:${T_TARGET}> --ranks=${T_RANKS} ${filter})
  set(processors ${T_RANKS})
  if(processors GREATER 2)
    set(processors 2)
  endif()
  set_tests_properties(${T_NAME} PROPERTIES LABELS "mpi;${T_LABELS}" TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77
    PROCESSORS ${processors}
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMP_NUM_THREADS=1;OMP_WAIT_POLICY=passive;OMPI_MCA_mpi_yield_when_idle=1")
  # Two mpiexec that start at the same time may both make Open MPI's folder of sessions: one then ends with "File exists".
  list(APPEND T_LOCK mpi_sessions)
  set_tests_properties(${T_NAME} PROPERTIES RESOURCE_LOCK "${T_LOCK}")
endfunction()

# plaquette_mpi_executable(NAME name SOURCES file... [LIBRARIES target...])
#   A GoogleTest executable whose main starts MPI; run it with plaquette_mpi_test.
function(plaquette_mpi_executable)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  plaquette_shares_headers(${T_NAME} plaquette_mpi_test_main)
  target_link_libraries(${T_NAME} PRIVATE plaquette_flags plaquette_mpi_test_main plaquette_validation ${T_LIBRARIES})
endfunction()

# plaquette_executables_below(variable folder pattern)
#   The executables made in a folder and those below it whose names match.
function(plaquette_executables_below variable folder pattern)
  set(found)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" AND target MATCHES "${pattern}")
      list(APPEND found ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    plaquette_executables_below(more ${below} "${pattern}")
    list(APPEND found ${more})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()
