# SPDX-License-Identifier: BSD-3-Clause
# Run at every build: cmake -DSOURCE=<source tree> -DOUTPUT=<header> -P revision.cmake
# Writes the header only where its content changes, so that nothing is compiled again without need.
set(commit "unknown")
set(dirty "false")
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit "${head}")
    execute_process(COMMAND ${git} -C ${SOURCE} --no-optional-locks status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty "true")
    endif()
  endif()
endif()
set(text "// SPDX-License-Identifier: BSD-3-Clause
// Generated at every build.
#pragma once
namespace plaquette::revision {
inline constexpr const char* commit = \"${commit}\";
inline constexpr bool dirty = ${dirty};
}  // namespace plaquette::revision
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
