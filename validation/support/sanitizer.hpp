// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdlib>

namespace plaquette {

/// Whether the environment says, by PLAQUETTE_UNDER_SANITIZER, that a tool looks at every access of a kernel
/// (run_bundle.sh sets it for compute-sanitizer). It makes them hundreds of times as slow: tests of speed do not hold
/// then. If there is a choice a test takes less work: smaller lattices, heavier quarks, fewer sources.
inline bool under_sanitizer() { return std::getenv("PLAQUETTE_UNDER_SANITIZER") != nullptr; }

}  // namespace plaquette
