// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The numbers that cross a cut: for each site of a face the half-spinor that `project` makes of its spinor. The
/// receiver does exactly the same with it as inside, so the result has the same bits. [chunks of 16 bytes][32].
///
/// In half precision the numbers of a projected spinor are sums of two numbers of 16 bits: 17 bits each. They travel as
/// 16 upper bits a number, one word of lowest bits and the scale: two chunks, and nothing is rounded.
#pragma once

#include "gpu/dirac/hop_algebra.hpp"

namespace plaquette::gpu {

/// Chunks of 16 bytes of a ghost site.
template <class T>
inline constexpr int ghost_chunks = is_half<T> ? 2 : half_spinor_size * 2 * static_cast<int>(sizeof(real_of<T>)) / 16;
/// Bytes of a column of 32 ghost sites.
template <class T>
inline constexpr int ghost_block_bytes = ghost_chunks<T> * 16 * lanes;

/// A projected spinor as it travels.
template <class T>
struct ghost_spinor {
  static constexpr int reals = 2 * half_spinor_size;
  std::uint32_t word[4 * ghost_chunks<T>];

  /// \param scale  of the spinor; half precision alone has one
  PLAQUETTE_KERNEL_INLINE void set(const spin_rows<real_of<T>, 2>& h, real_of<T> scale) {
    const auto number = [&](int k) {
      const complex<real_of<T>>& z = h.z[k / 2 / colours][k / 2 % colours];
      return k % 2 == 0 ? z.re : z.im;
    };
    if constexpr (is_half<T>) {
      word[6] = 0;
      word[7] = as_bits(scale);
#pragma unroll
      for (int k = 0; k < reals; ++k) {
        const auto q = static_cast<std::uint32_t>(static_cast<std::int32_t>(number(k)) + offset);
        word[k / 2] = k % 2 == 0 ? q >> 1 : word[k / 2] | (q >> 1) << 16;
        word[6] |= (q & 1U) << k;
      }
    } else {
#pragma unroll
      for (int k = 0; k < reals; ++k) {
        if constexpr (sizeof(real_of<T>) == 4) {
          word[k] = as_bits(number(k));
        } else {
          const words<2> bits = bits_of(number(k));
          word[2 * k] = bits.w[0];
          word[2 * k + 1] = bits.w[1];
        }
      }
    }
    static_cast<void>(scale);
  }

  PLAQUETTE_KERNEL_INLINE void get(spin_rows<real_of<T>, 2>& h) const {
    const auto number = [&](int k) -> real_of<T> {
      if constexpr (is_half<T>) {
        const std::uint32_t upper = k % 2 == 0 ? word[k / 2] & 0xffffU : word[k / 2] >> 16;
        return static_cast<float>(static_cast<std::int32_t>(upper << 1 | (word[6] >> k & 1U)) - offset);
      } else if constexpr (sizeof(real_of<T>) == 4) {
        return as_float(word[k]);
      } else {
        return as_double(word[2 * k], word[2 * k + 1]);
      }
    };
#pragma unroll
    for (int k = 0; k < half_spinor_size; ++k) h.z[k / colours][k % colours] = {number(2 * k), number(2 * k + 1)};
  }
  PLAQUETTE_KERNEL_INLINE real_of<T> scale() const {
    if constexpr (is_half<T>)
      return as_float(word[7]);
    else
      return real_of<T>(1);
  }

  /// \param block  of 32 ghost sites, of one column
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* block, std::uint32_t lane) {
    const std::byte* const site = advanced(block, lane, 16);
#pragma unroll
    for (int c = 0; c < ghost_chunks<T>; ++c) {
      const words<4> w = load_words<load_hint::fresh, 4>(site + c * 16 * lanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) word[4 * c + i] = w.w[i];
    }
  }
  PLAQUETTE_KERNEL_INLINE void store(std::byte* block, std::uint32_t lane) const {
    std::byte* const site = advanced(block, lane, 16);
#pragma unroll
    for (int c = 0; c < ghost_chunks<T>; ++c)
      store_words<4>(site + c * 16 * lanes, {{word[4 * c], word[4 * c + 1], word[4 * c + 2], word[4 * c + 3]}}, false);
  }

 private:
  static constexpr std::int32_t offset = 65536;
};

}  // namespace plaquette::gpu
