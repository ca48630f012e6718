// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The CPU library behind the one door: common/solvers/library.hpp. The twin of gpu/library.hpp.
#pragma once

#include "common/solvers/library.hpp"

namespace plaquette::cpu {

/// Returns the functions of the CPU library that need no lattice, and the function that opens one.
const platform& this_platform();

}  // namespace plaquette::cpu
