// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How numbers of each precision lie in a block of W lanes, lane innermost. A complex number takes two words of its own
/// type, real part first. In 16-bit fixed point it takes one word of 32 bits. Behind the numbers of a site stands its
/// scale, a float: the largest magnitude among them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/algebra/fixed_point.hpp"

namespace plaquette::cpu {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, half>;

template <class T>
struct storage {
  using word = T;
  using real = T;  ///< the type of computations
  static constexpr int words_of_complex = 2;
  static constexpr int words_of_scale = 0;
};
template <>
struct storage<half> {
  using word = std::uint32_t;
  using real = float;
  static constexpr int words_of_complex = 1;
  static constexpr int words_of_scale = 1;
};

template <class T>
using word_of = typename storage<T>::word;
template <class T>
using real_of = typename storage<T>::real;

/// Returns the words a lane of a site with this number of complex numbers.
template <class T>
constexpr int site_words(int complex_numbers) {
  return complex_numbers * storage<T>::words_of_complex + storage<T>::words_of_scale;
}
/// Returns the words a lane of a link of which this number of reals is stored; it has no scale.
template <class T>
constexpr int link_words(int reals) {
  return reals / 2 * storage<T>::words_of_complex;
}
/// Words a lane of a Hermitian 6x6 block: the diagonal, then 15 complex numbers below it.
template <class T>
inline constexpr int chiral_block_words = site_words<T>(18);

/// Real numbers a lane of a projected half-spinor: 12, and in fixed point its scale.
template <class T>
inline constexpr int slot_reals = 12 + storage<T>::words_of_scale;

/// The smallest scale of a site that is not zero. With it, half precision holds sites whose largest number is between
/// 5e-29 and 1e28. Below, numbers are rounded to multiples of 1.5e-33. Above, a hop's sums, of integers up to 2^62
/// times the scale, overflow to infinity.
inline constexpr float smallest_scale = 0x1p-94F;

/// The unit of the integers of common/algebra/fixed_point.hpp, once the real part is shifted to the upper half of a
/// word of its own.
inline constexpr float fixed_point_unit = 1.0F / (32767.0F * 65536.0F);

}  // namespace plaquette::cpu
