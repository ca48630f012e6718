// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers as bytes of a file, in either byte order.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace plaquette {

/// Returns an unsigned integer of one width, stored most significant byte first or last.
template <std::unsigned_integral T>
T load_unsigned(const std::byte* from, bool big_endian) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const std::size_t shift = 8 * (big_endian ? sizeof(T) - 1 - i : i);
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(from[i]) << shift));
  }
  return value;
}

template <std::unsigned_integral T>
void store_unsigned(std::byte* to, T value, bool big_endian) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    const std::size_t shift = 8 * (big_endian ? sizeof(T) - 1 - i : i);
    to[i] = static_cast<std::byte>((value >> shift) & 0xff);
  }
}

/// Returns an IEEE float or double.
template <std::floating_point T>
T load_real(const std::byte* from, bool big_endian) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(load_unsigned<bits>(from, big_endian));
}

template <std::floating_point T>
void store_real(std::byte* to, T value, bool big_endian) {
  using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  store_unsigned(to, std::bit_cast<bits>(value), big_endian);
}

/// Returns a float or a double, by its width in the file, widened.
inline double load_real_of(const std::byte* from, int precision_bits, bool big_endian) {
  return precision_bits == 32 ? static_cast<double>(load_real<float>(from, big_endian))
                              : load_real<double>(from, big_endian);
}

inline void store_real_of(std::byte* to, double value, int precision_bits, bool big_endian) {
  if (precision_bits == 32)
    store_real(to, static_cast<float>(value), big_endian);
  else
    store_real(to, value, big_endian);
}

}  // namespace plaquette
