# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` copies: component "development" is the libraries, their headers and the CMake package. With it
# find_package(Plaquette) gives Plaquette::common, Plaquette::cpu_ref and Plaquette::library, and Plaquette::gpu where CUDA is on. With
# PLAQUETTE_BINDINGS there are Plaquette::api for plaquette/plaquette.hpp and Plaquette::c for plaquette/plaquette.h. The component
# "callers" is the C library alone with its header, the Fortran module and plaquette.pc: it needs none of the other. The
# component "programs" is the mini-apps and tools. The archive of `./plaquette package` is these three: it may be unpacked
# anywhere. share/plaquette/needs.txt in it names the libraries of the system that its programs need.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Plaquette)
set(libraries plaquette_common plaquette_cpu_ref plaquette_library)
set(folders_of_headers common cpu_ref library)
if(PLAQUETTE_CUDA)
  list(APPEND libraries plaquette_gpu)
  list(APPEND folders_of_headers gpu)
endif()

if(PLAQUETTE_BINDINGS)
  list(APPEND libraries plaquette_api)
endif()

install(TARGETS ${libraries} EXPORT PlaquetteTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT PlaquetteTargets NAMESPACE Plaquette:: DESTINATION ${package_folder} COMPONENT development)

set(linked_metis)
if(METIS_INCLUDE_DIR AND METIS_LIBRARY AND NOT BUILD_SHARED_LIBS)
  set(linked_metis ${METIS_LIBRARY})
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/PlaquetteConfig.cmake.in ${PROJECT_BINARY_DIR}/PlaquetteConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PlaquetteConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PlaquetteConfig.cmake ${PROJECT_BINARY_DIR}/PlaquetteConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)

# Headers keep their paths, so that #include "common/lattice/geometry.hpp" means the same inside and outside.
foreach(folder ${folders_of_headers})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plaquette
    COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "common/app" EXCLUDE)
endforeach()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/plaquette COMPONENT development)

if(PLAQUETTE_BINDINGS)
  set(headers ${PROJECT_BINARY_DIR}/bindings/include/plaquette)
  install(FILES ${headers}/plaquette.hpp ${headers}/waves.hpp ${headers}/own_operator.hpp ${headers}/mpi.hpp ${headers}/version.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plaquette
    COMPONENT development)
  install(FILES ${headers}/plaquette.h ${headers}/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plaquette
    COMPONENT callers)
  install(FILES ${PROJECT_SOURCE_DIR}/bindings/fortran/plaquette.f90 ${PROJECT_SOURCE_DIR}/bindings/fortran/plaquette_c.inc
    DESTINATION ${CMAKE_INSTALL_DATADIR}/plaquette/fortran COMPONENT callers)
  install(TARGETS plaquette_c EXPORT PlaquetteCTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT callers
    NAMELINK_COMPONENT callers)
  # In a Python wheel the library stands in the package, under the name that it is loaded by.
  if(TARGET plaquette_wheel)
    install(FILES $<TARGET_SONAME_FILE:plaquette_wheel> DESTINATION plaquette COMPONENT wheel EXCLUDE_FROM_ALL)
  endif()
  install(EXPORT PlaquetteCTargets NAMESPACE Plaquette:: DESTINATION ${package_folder} COMPONENT callers)
  install(FILES ${PROJECT_BINARY_DIR}/PlaquetteConfig.cmake ${PROJECT_BINARY_DIR}/PlaquetteConfigVersion.cmake
    DESTINATION ${package_folder} COMPONENT callers)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/python/plaquette DESTINATION ${CMAKE_INSTALL_DATADIR}/plaquette/python
    COMPONENT callers FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  file(RELATIVE_PATH from_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/plaquette.pc.in ${PROJECT_BINARY_DIR}/plaquette.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/plaquette.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT callers)
endif()

# The programs: every executable under miniapps/ whose name begins with "plaquette-".
if(PLAQUETTE_APPS)
  plaquette_executables_below(programs ${PROJECT_SOURCE_DIR}/miniapps "^plaquette-")
  foreach(program ${programs})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    if(BUILD_SHARED_LIBS)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    endif()
  endforeach()
  if(BUILD_SHARED_LIBS)
    install(TARGETS plaquette_app plaquette_miniapp_shared
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT programs)
  endif()
endif()

# The archive, by CPack, and what has to be built for it.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME plaquette-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(archived ${libraries})
if(PLAQUETTE_BINDINGS)
  list(APPEND archived plaquette_c)
endif()
if(BUILD_SHARED_LIBS)
  set_target_properties(${archived} PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()
if(PLAQUETTE_APPS)
  list(APPEND archived ${programs})
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE program_files)
  find_program(PLAQUETTE_READELF NAMES ${CMAKE_READELF} readelf)
  mark_as_advanced(PLAQUETTE_READELF)
  if(PLAQUETTE_READELF)
    install(CODE "
      execute_process(COMMAND ${PLAQUETTE_READELF} -d ${program_files} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
      string(REGEX MATCHALL \"Shared library: [^\n]+\" needs \"\${sections}\")
      list(TRANSFORM needs REPLACE \"Shared library: .([^]]+).\" \"\\\\1\")
      list(SORT needs)
      list(REMOVE_DUPLICATES needs)
      list(JOIN needs \"\\n\" text)
      file(WRITE \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/plaquette/needs.txt \"\${text}\\n\")"
      COMPONENT programs)
  endif()
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
include(CPack)
add_custom_target(archived DEPENDS ${archived})
