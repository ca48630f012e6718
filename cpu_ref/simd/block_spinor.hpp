// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Dirac spinors on W sites, and where their halves lie.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "cpu_ref/simd/block_numbers.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// A Dirac spinor on W sites.
template <class V>
struct block_spinor {
  complex_simd<V> c[12];  // spin * 3 + colour
};

/// Words of one column of a block of Dirac spinors, and of the upper or lower half of its numbers.
template <class T, int W>
inline constexpr int spinor_block_words = site_words<T>(12) * W;
template <class T, int W>
inline constexpr int spinor_half_words = 6 * storage<T>::words_of_complex * W;

/// Where the halves of a spinor lie as the kernels see it. In the basis of the fields gamma_5 exchanges them, and D^+ =
/// gamma_5 D gamma_5: a daggered hopping term is the hopping term with both exchanged wherever a spinor is read or
/// written. The clover term commutes with gamma_5.
template <class T, int W, class Word>
struct spinor_halves {
  Word *upper, *lower;

  /// \param exchange  words by which the halves are exchanged: 0, or spinor_half_words
  PLAQUETTE_INLINE spinor_halves(Word* data, std::int64_t exchange)
      : upper(data + exchange), lower(data + (spinor_half_words<T, W> - exchange)) {
    // Two registers with constant distances to them, not an address for each number.
    asm("" : "+r"(upper), "+r"(lower));
  }
  /// Where component k begins.
  PLAQUETTE_INLINE Word* at(int k) const { return (k < 6 ? upper : lower) + k % 6 * storage<T>::words_of_complex * W; }
};
template <class T, int W>
PLAQUETTE_INLINE std::int64_t exchange_of(bool exchanged) {
  return exchanged ? spinor_half_words<T, W> : 0;
}

template <class T, int W>
PLAQUETTE_INLINE auto load_spinor(const word_of<T>* p, bool exchanged = false) {
  block_spinor<register_of<T, W>> s;
  const site_reader<T, W> psi(p, 12);
  const spinor_halves<T, W, const word_of<T>> halves(p, exchange_of<T, W>(exchanged));
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) s.c[k] = psi.from(halves.at(k));
  return s;
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
