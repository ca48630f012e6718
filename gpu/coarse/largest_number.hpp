// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The largest of many numbers, and the power of two that brings them into the range of 16 bits. For .cu files only.
#pragma once

#include <cmath>
#include <vector>

#include "common/algebra/complex.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// The largest real or imaginary part of every `lists`-th number, by magnitude; NaN and infinity count as none.
struct largest_of_numbers {
  const complex<float>* from;
  std::int64_t rows, row, stride;  ///< numbers lie in rows of `row`, `stride` apart
  std::int64_t lists;
  float* to;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t list) const {
    float largest = 0.0F;
    for (std::int64_t k = list; k < rows * row; k += lists) {
      const std::int64_t r = k / row;
      const complex<float> z = from[r * stride + (k - r * row)];
      const float re = z.re < 0.0F ? -z.re : z.re, im = z.im < 0.0F ? -z.im : z.im;
      if (re > largest && re < 3e38F) largest = re;
      if (im > largest && im < 3e38F) largest = im;
    }
    to[list] = largest;
  }
};

/// \param from  of the device: `rows` rows of `row` numbers, `stride` from one to the next
/// Waits.
inline float largest_number(const execution& on, const complex<float>* from, std::int64_t rows, std::int64_t row,
                            std::int64_t stride) {
  const std::int64_t lists = std::min<std::int64_t>(rows * row, 1 << 16);
  std::vector<float> found(static_cast<std::size_t>(lists));
  const auto memory = on.workspace().take(found.size() * sizeof(float));
  for_each_index(on.queue(), lists,
                 largest_of_numbers{from, rows, row, stride, lists, reinterpret_cast<float*>(memory.get())});
  copy_to_host(on.queue(), found.data(), memory.get(), found.size() * sizeof(float));
  float largest = 0.0F;
  for (const float x : found) largest = std::max(largest, x);
  return largest;
}

/// Returns a power of two that takes numbers up to `largest` to numbers below 2^14.
inline float scale_of_16_bits(float largest) {
  if (!(largest > 0x1p-100F)) return 1.0F;
  return std::ldexp(1.0F, 13 - std::ilogb(largest));
}

}  // namespace plaquette::gpu
