# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` copies: component "development" is the libraries, their headers and the CMake package, so that
# find_package(Plaquette) gives Plaquette::common and Plaquette::cpu_ref; component "programs" is the mini-apps and tools.
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Plaquette)
set(libraries plaquette_common plaquette_cpu_ref)

install(TARGETS ${libraries} EXPORT PlaquetteTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT PlaquetteTargets NAMESPACE Plaquette:: DESTINATION ${package_folder} COMPONENT development)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/PlaquetteConfig.cmake.in ${PROJECT_BINARY_DIR}/PlaquetteConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PlaquetteConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PlaquetteConfig.cmake ${PROJECT_BINARY_DIR}/PlaquetteConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)

# Headers keep their paths, so that #include "common/lattice/geometry.hpp" means the same inside and outside.
foreach(folder common cpu_ref)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plaquette
    COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "common/app" EXCLUDE)
endforeach()

# Every executable under miniapps/ whose name begins with "plaquette-".
function(install_programs_below folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE" AND target MATCHES "^plaquette-")
      install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    install_programs_below(${below})
  endforeach()
endfunction()
if(PLAQUETTE_APPS)
  install_programs_below(${PROJECT_SOURCE_DIR}/miniapps)
endif()
