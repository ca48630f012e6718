// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Complex numbers of one lane of a block, as every packed object of the library holds them: spinors and clover blocks.
/// In fixed point they share a scale, which stands behind them (simd/storage.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <span>

#include "common/algebra/complex.hpp"
#include "cpu_ref/simd/storage.hpp"

namespace plaquette::cpu {

/// Writes numbers to a lane of W, rounded. `to` is the lane of the first word.
template <class T>
void write_lane(word_of<T>* to, int width, std::span<const complex<double>> numbers) {
  const int count = static_cast<int>(numbers.size());
  if constexpr (is_half<T>) {
    double largest = 0.0;
    for (const auto& z : numbers) largest = larger_magnitude(larger_magnitude(largest, z.re), z.im);
    const auto scale =
        largest > 0.0 && largest < smallest_scale ? smallest_scale : static_cast<float>(largest);  // NaN stays
    const double inverse = scale > 0.0F ? 1.0 / scale : 0.0;
    const auto part = [inverse](double x) { return static_cast<float>(std::clamp(x * inverse, -1.0, 1.0)); };
    for (int k = 0; k < count; ++k)
      to[k * width] = pack_fixed_point(
          {part(numbers[static_cast<std::size_t>(k)].re), part(numbers[static_cast<std::size_t>(k)].im)});
    to[count * width] = std::bit_cast<std::uint32_t>(scale);
  } else {
    for (int k = 0; k < count; ++k) {
      to[2 * k * width] = static_cast<T>(numbers[static_cast<std::size_t>(k)].re);
      to[(2 * k + 1) * width] = static_cast<T>(numbers[static_cast<std::size_t>(k)].im);
    }
  }
}

/// The inverse.
template <class T>
void read_lane(std::span<complex<double>> numbers, const word_of<T>* from, int width) {
  const int count = static_cast<int>(numbers.size());
  if constexpr (is_half<T>) {
    const double scale = std::bit_cast<float>(from[count * width]);
    for (int k = 0; k < count; ++k)
      numbers[static_cast<std::size_t>(k)] = scale * complex_cast<double>(unpack_fixed_point(from[k * width]));
  } else {
    for (int k = 0; k < count; ++k)
      numbers[static_cast<std::size_t>(k)] = {static_cast<double>(from[2 * k * width]),
                                              static_cast<double>(from[(2 * k + 1) * width])};
  }
}

}  // namespace plaquette::cpu
