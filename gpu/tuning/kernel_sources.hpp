// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which sources this library was built from.
#pragma once

#include <string_view>

namespace plaquette::gpu {

/// Returns a hash of all sources below gpu/, 16 hexadecimal digits: choices that were tuned for other kernels are none
/// for these.
std::string_view kernel_sources_hash();

}  // namespace plaquette::gpu
