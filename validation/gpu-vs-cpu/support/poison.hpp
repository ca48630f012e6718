// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of the CUDA library full of NaN, so that a number that is never written is seen.
#pragma once

#include <cstdint>

#include "gpu/device/runtime.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::validation {

/// Fills with NaN everything that a field of its own has, padding too.
template <class T>
void poison(gpu::field<T>& x) {
  const std::int64_t bytes = x.sites(0).block_stride * x.all_blocks();
  gpu::fill_bytes(x.get_context().queue(), x.sites(0).begin, 0xff, static_cast<std::size_t>(bytes));
}

}  // namespace plaquette::validation
