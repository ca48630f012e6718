// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Prefetching for the hopping term.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "common/algebra/projector.hpp"
#include "cpu_ref/simd/block_links.hpp"
#include "cpu_ref/simd/block_spinor.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// Where a prefetch brings its lines: into the second-level cache, or into the first, to be read or to be written.
enum class prefetch_to { second_level, first_level, first_level_for_writing };

/// Requests part `part` of `parts` of `words` words.
template <prefetch_to to = prefetch_to::second_level, class Word>
PLAQUETTE_INLINE void prefetch(const Word* from, int words, int part = 0, int parts = 1) {
  const int lines = words * static_cast<int>(sizeof(Word)) / 64;
  for (int line = lines * part / parts; line < lines * (part + 1) / parts; ++line)
    __builtin_prefetch(reinterpret_cast<const char*>(from) + 64 * line,
                       to == prefetch_to::first_level_for_writing ? 1 : 0, to == prefetch_to::second_level ? 2 : 3);
}

/// Requests all that a hop needs of a neighbour: in time one half, and in fixed point the scales behind both.
template <class T, int W>
PLAQUETTE_INLINE void prefetch_spinor(const word_of<T>* from, int direction, std::int64_t exchange) {
  if (direction / 2 < 3) {
    prefetch(from, spinor_block_words<T, W>);
  } else {
    const spinor_halves<T, W, const word_of<T>> halves(from, exchange);
    prefetch(halves.at(colours * spin_kept_in_time(sign_of_hop(direction))), spinor_half_words<T, W>);
    prefetch(from + 2 * spinor_half_words<T, W>, storage<T>::words_of_scale * W);
  }
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
