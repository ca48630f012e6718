// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names of a run's steps for profilers: NVTX ranges where the program was built with its header, and regions of
/// Caliper where its library is loaded (LD_PRELOAD=libcaliper.so).
#pragma once

#include <string>

namespace plaquette {

/// Ends the range before, if any, and begins one of this name; an empty name begins none.
void mark_range(const std::string& name);

}  // namespace plaquette
