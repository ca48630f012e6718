// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exact sums of products of the 16-bit integers that a half field stores, by instructions that multiply four pairs of
/// bytes and add. It takes a third of the instructions of products of 16-bit integers, each added to 64 bits.
#pragma once

#include <cstdint>

#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {

struct signed_bytes {
  std::uint32_t word;
};
struct unsigned_bytes {
  std::uint32_t word;
};

/// Returns sum + the products of byte k of p and byte k of q, k = 0..3.
PLAQUETTE_HOST_DEVICE inline std::int32_t dot_of_bytes(signed_bytes p, signed_bytes q, std::int32_t sum) {
#ifdef __CUDA_ARCH__
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(p.word), "r"(q.word), "r"(sum));
#else
  const auto product = [&](int at) {
    return static_cast<std::int8_t>(p.word >> at) * static_cast<std::int8_t>(q.word >> at);
  };
  sum += (product(0) + product(8)) + (product(16) + product(24));
#endif
  return sum;
}
PLAQUETTE_HOST_DEVICE inline std::int32_t dot_of_bytes(signed_bytes p, unsigned_bytes q, std::int32_t sum) {
#ifdef __CUDA_ARCH__
  asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(p.word), "r"(q.word), "r"(sum));
#else
  const auto product = [&](int at) {
    return static_cast<std::int8_t>(p.word >> at) * static_cast<std::uint8_t>(q.word >> at);
  };
  sum += (product(0) + product(8)) + (product(16) + product(24));
#endif
  return sum;
}
PLAQUETTE_HOST_DEVICE inline std::uint32_t dot_of_bytes(unsigned_bytes p, unsigned_bytes q, std::uint32_t sum) {
#ifdef __CUDA_ARCH__
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(p.word), "r"(q.word), "r"(sum));
#else
  const auto product = [&](int at) { return (p.word >> at & 0xffU) * (q.word >> at & 0xffU); };
  sum += (product(0) + product(8)) + (product(16) + product(24));
#endif
  return sum;
}

/// Returns four of the bytes 0 to 3 of p and 4 to 7 of q; digit k of `which` says which becomes byte k.
template <unsigned which>
PLAQUETTE_HOST_DEVICE inline std::uint32_t selected_bytes(std::uint32_t p, std::uint32_t q) {
#ifdef __CUDA_ARCH__
  return __byte_perm(p, q, which);
#else
  constexpr unsigned digit[] = {which & 7U, which >> 4 & 7U, which >> 8 & 7U, which >> 12 & 7U};
  const auto byte = [&](unsigned d) { return (d < 4 ? p >> 8 * d : q >> 8 * (d - 4)) & 0xffU; };
  return byte(digit[0]) | byte(digit[1]) << 8 | byte(digit[2]) << 16 | byte(digit[3]) << 24;
#endif
}

/// The 16-bit integers of a chunk's four complex numbers as bytes, number k in byte k: q = 256 high + low, where high
/// is signed and low is not. (Offset binary becomes two's complement by its first bit.)
struct bytes_of_integers {
  std::uint32_t re_high, re_low, im_high, im_low;

  PLAQUETTE_HOST_DEVICE explicit bytes_of_integers(const chunk& c) {
    const std::uint32_t re_01 = selected_bytes<0x5140>(c.word[0], c.word[1]),
                        im_01 = selected_bytes<0x7362>(c.word[0], c.word[1]),
                        re_23 = selected_bytes<0x5140>(c.word[2], c.word[3]),
                        im_23 = selected_bytes<0x7362>(c.word[2], c.word[3]);
    re_low = selected_bytes<0x5410>(re_01, re_23);
    re_high = selected_bytes<0x7632>(re_01, re_23) ^ 0x80808080U;
    im_low = selected_bytes<0x5410>(im_01, im_23);
    im_high = selected_bytes<0x7632>(im_01, im_23) ^ 0x80808080U;
  }
};

/// A sum of products of 16-bit integers, exact:
///
///     (256 h + l) (256 h' + l') = 2^16 h h' + 2^8 (h l' + l h') + l l'
///
/// with |h| <= 128 and l <= 255, so that each product adds at most 2^14, 2^16 and 2^16 to the three parts. So 32 bits
/// hold 2^15 products, the products of a site with 16384 complex numbers. Four products take four instructions.
struct sum_of_products {
  std::int32_t high = 0, middle = 0;
  std::uint32_t low = 0;

  PLAQUETTE_HOST_DEVICE void add(std::uint32_t p_high, std::uint32_t p_low, std::uint32_t q_high, std::uint32_t q_low) {
    high = dot_of_bytes(signed_bytes{p_high}, signed_bytes{q_high}, high);
    middle = dot_of_bytes(signed_bytes{p_high}, unsigned_bytes{q_low}, middle);
    middle = dot_of_bytes(signed_bytes{q_high}, unsigned_bytes{p_low}, middle);
    low = dot_of_bytes(unsigned_bytes{p_low}, unsigned_bytes{q_low}, low);
  }
  /// Squares; `middle` gets half of its value.
  PLAQUETTE_HOST_DEVICE void add_squares(std::uint32_t q_high, std::uint32_t q_low) {
    high = dot_of_bytes(signed_bytes{q_high}, signed_bytes{q_high}, high);
    middle = dot_of_bytes(signed_bytes{q_high}, unsigned_bytes{q_low}, middle);
    low = dot_of_bytes(unsigned_bytes{q_low}, unsigned_bytes{q_low}, low);
  }
  PLAQUETTE_HOST_DEVICE double value() const { return value(256); }
  /// Returns the same after `add_squares` alone.
  PLAQUETTE_HOST_DEVICE double value_of_squares() const { return value(512); }

 private:
  /// Returns an integer below 2^53, and so exact.
  PLAQUETTE_HOST_DEVICE double value(int of_middle) const {
    return static_cast<double>(std::int64_t{high} * 65536 + std::int64_t{middle} * of_middle + std::int64_t{low});
  }
};

}  // namespace plaquette::gpu
