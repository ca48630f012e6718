// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Complex numbers of one lane of a block, as every packed object of the library holds them: spinors and clover blocks.
/// In fixed point they share a scale, which stands behind them (simd/storage.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

/// Does the inverse.
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

/// Most lanes that `write_block` takes.
inline constexpr int most_lanes = 16;

/// Writes all `width` lanes of a block at once, [number][width], a complex number being two: the rounding of
/// `write_lane`, in loops over lanes that the compiler makes vectors of.
template <class T>
void write_block(word_of<T>* to, int width, const double* numbers, int complex_numbers) {
  if constexpr (is_half<T>) {
    double largest[most_lanes] = {}, inverse[most_lanes];
    for (int k = 0; k < 2 * complex_numbers; ++k)
      for (int lane = 0; lane < width; ++lane) {
        const double size = std::abs(numbers[k * width + lane]);
        largest[lane] = (size > largest[lane]) | (size != size) ? size : largest[lane];  // NaN stays
      }
    for (int lane = 0; lane < width; ++lane) {
      const float scale =
          largest[lane] > 0.0 && largest[lane] < smallest_scale ? smallest_scale : static_cast<float>(largest[lane]);
      inverse[lane] = scale > 0.0F ? 1.0 / scale : 0.0;
      to[complex_numbers * width + lane] = std::bit_cast<std::uint32_t>(scale);
    }
    // Adding and taking off 1.5 2^52 rounds to an integer. A site with a NaN has it in its scale.
    const auto integer = [](double number, double steps) {
      constexpr double rounder = 0x1.8p52;
      const double part = number > 1.0 ? 1.0 : number > -1.0 ? number : -1.0;
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(part * steps + rounder - rounder));
    };
    for (int k = 0; k < complex_numbers; ++k)
      for (int lane = 0; lane < width; ++lane) {
        const double re = numbers[2 * k * width + lane], im = numbers[(2 * k + 1) * width + lane];
        const std::uint32_t low = integer(re * inverse[lane], fixed_point_one) & 0xffffU;
        const std::uint32_t whole = integer(im * inverse[lane], fixed_point_one * 65536.0);
        to[k * width + lane] = ((whole - low + 0x8000U) & 0xffff0000U) | low;
      }
  } else {
    for (int i = 0; i < 2 * complex_numbers * width; ++i) to[i] = static_cast<T>(numbers[i]);
  }
}

/// Does the inverse, for `lanes` neighbouring lanes of blocks of two widths: `from` is the first of them.
template <class T>
void read_lanes(double* numbers, int width, const word_of<T>* from, int from_width, int lanes, int complex_numbers) {
  for (int k = 0; k < complex_numbers; ++k)
    for (int lane = 0; lane < lanes; ++lane) {
      double &re = numbers[2 * k * width + lane], &im = numbers[(2 * k + 1) * width + lane];
      if constexpr (is_half<T>) {
        const double scale = std::bit_cast<float>(from[complex_numbers * from_width + lane]);
        const auto z = unpack_fixed_point(from[k * from_width + lane]);
        re = scale * static_cast<double>(z.re);
        im = scale * static_cast<double>(z.im);
      } else {
        re = static_cast<double>(from[2 * k * from_width + lane]);
        im = static_cast<double>(from[(2 * k + 1) * from_width + lane]);
      }
    }
}

}  // namespace plaquette::cpu
