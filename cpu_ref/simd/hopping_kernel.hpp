// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hopping term on a block of sites. Read `hopping_block` first.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "cpu_ref/simd/hop.hpp"
#include "cpu_ref/simd/hop_epilogue.hpp"
#include "cpu_ref/simd/hop_prefetch.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// D psi on one block, all columns: sum over mu of (1 - gamma_mu) U_mu(x) psi(x + mu) + (1 + gamma_mu) U_mu^+(x - mu)
/// psi(x - mu); D^+ by `spinor_halves`. The links stay in the first-level cache from column to column.
/// \tparam far  reads slots of the halo, and prefetches distant data; without, the loop has no code for either
template <link_form form, bool far, int W, class T>
PLAQUETTE_INLINE void hopping_block(const hopping_arguments<T>& arg, std::int64_t b) {
  using real = real_of<T>;
  using V = register_of<T, W>;
  const std::int64_t exchange = exchange_of<T, W>(arg.exchanged);
  // Numbers of ordinary precision have one code for both: an expanded link is a whole one.
  const bool expand = form == link_form::expanded || (form == link_form::whole && !is_half<T> && arg.expand);
  const std::int32_t* const neighbour = arg.neighbours + b * hop_directions;
  const std::uint8_t* const permutation = arg.permutations + b * hop_directions;
  const links_of_block<T, W> links{arg, neighbour, b,
                                   form == link_form::two_rows ? link_words<T>(12)
                                   : expand                    ? link_words<T>(static_cast<int>(arg.stored))
                                                               : link_words<T>(18)};
  if (far && arg.prefetch_links.nearer)
    for (int d = 0; d < hop_directions; ++d)
      prefetch<prefetch_to::first_level>(links.template of<far>(d).data, links.words * W);
  alignas(64) real expanded[hop_directions * 18 * W];
  if (expand) expand_links<far>(links, expanded);

  typename links_of_block<T, W>::link link_of[hop_directions];
  for (int d = 0; d < hop_directions; ++d) {
    if constexpr (form == link_form::whole && !is_half<T>)
      if (expand) {
        link_of[d] = {expanded + d * 18 * W, nullptr};
        continue;
      }
    if constexpr (form != link_form::expanded) link_of[d] = links.template of<far>(d);
  }

  // Links for the next block or the one after it are requested soon enough to arrive, and so is the neighbour that no
  // block has touched recently. Only a few lines are requested at a time. More at once would fill the queue of
  // outstanding misses, in which loads from the second-level cache wait too.
  const bool requests_links = far && arg.prefetch_links.blocks_ahead > 0;
  const auto ahead_of_this = [&](std::int64_t blocks) { return b + blocks < arg.blocks ? b + blocks : b; };
  const std::int64_t coming_block = ahead_of_this(arg.prefetch_links.blocks_ahead), later = ahead_of_this(2);
  const links_of_block<T, W> coming_links{arg, arg.neighbours + coming_block * hop_directions, coming_block,
                                          links.words};
  const word_of<T>* const coming_clover =
      requests_links && arg.clover != nullptr ? arg.clover + coming_block * 2 * chiral_block_words<T> * W : nullptr;
  const std::int32_t *first_new = nullptr, *last_new = nullptr;
  if (far && arg.prefetch) {
    first_new = arg.newly_needed + arg.newly_needed_from[later];
    last_new = arg.newly_needed + arg.newly_needed_from[later + 1];
  }

  for (int c = 0; c < arg.columns; ++c) {
    if (far && arg.prefetch_columns && c + 1 < arg.columns)
      for (int d = 0; d < hop_directions; ++d)
        if (neighbour[d] >= 0)
          prefetch_spinor<T, W>(arg.in.data + (neighbour[d] * arg.in.column_stride + c + 1) * spinor_block_words<T, W>,
                                d, exchange);
    const auto of_coming_block = [&](const field_pointer<const word_of<T>>& field) {
      return requests_links && field.data != nullptr
                 ? field.data + (coming_block * field.column_stride + c) * spinor_block_words<T, W>
                 : nullptr;
    };
    const word_of<T>*const coming_x = of_coming_block(arg.x), *const coming_w = of_coming_block(arg.w);
    // The lines of the result are requested while it is made. Otherwise its stores would wait for them one behind the
    // other, and so would the next block's stores of registers behind them.
    const word_of<T>* const result = far && arg.prefetch && !arg.stream
                                         ? arg.out.data + (b * arg.out.column_stride + c) * spinor_block_words<T, W>
                                         : nullptr;
    block_spinor<V> sum;
    const auto hop = [&]<int mu, bool forward>() PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      constexpr int d = 2 * mu + (forward ? 0 : 1);
      constexpr int sign = sign_of_hop(d);
      const std::int64_t n = neighbour[d];
      const word_of<T>* const coming_link = requests_links && c == 0 ? coming_links.template of<far>(d).data : nullptr;
      const auto request = [&]([[maybe_unused]] int j) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
        if constexpr (far) {
          constexpr int parts = 3 * hop_directions;
          const int part = 3 * d + j;
          if (result != nullptr)
            prefetch<prefetch_to::first_level_for_writing>(result, spinor_block_words<T, W>, part, parts);
          if (coming_link != nullptr && arg.prefetch_links.into_first)
            prefetch<prefetch_to::first_level>(coming_link, links.words * W, j, 3);
          else if (coming_link != nullptr)
            prefetch(coming_link, links.words * W, j, 3);
          for (const std::int32_t* i = first_new; i != last_new; ++i)
            prefetch(arg.in.data + (*i * arg.in.column_stride + c) * spinor_block_words<T, W>, spinor_block_words<T, W>,
                     part, parts);
          if (coming_clover != nullptr && c == 0) prefetch(coming_clover, 2 * chiral_block_words<T> * W, part, parts);
          if (coming_x != nullptr) prefetch(coming_x, spinor_block_words<T, W>, part, parts);
          if (coming_w != nullptr) prefetch(coming_w, spinor_block_words<T, W>, part, parts);
        }
      };
      const auto multiply = [&](const auto& link) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
        if (far && n < 0)
          hop_from_slot<mu, forward, sign>(
              sum, slot_reader<T, W>{arg.slots + ((-1 - n) * arg.columns + c) * slot_reals<T> * W}, link, request);
        else
          hop_inside<mu, forward, sign, W>(
              sum,
              hop_reader<T, W>(arg.in.data + (n * arg.in.column_stride + c) * spinor_block_words<T, W>, exchange,
                               arg.hop_scale[mu]),
              link, permutation[d], arg.permutation_table, request);
      };
      if constexpr (form == link_form::expanded)
        multiply(link_reader<T, W, form>(expanded + d * 18 * W, nullptr));
      else
        multiply(link_reader<T, W, form>(link_of[d].data, link_of[d].factor));
    };
    hop.template operator()<3, true>();
    hop.template operator()<3, false>();
    hop.template operator()<0, true>();
    hop.template operator()<0, false>();
    hop.template operator()<1, true>();
    hop.template operator()<1, false>();
    hop.template operator()<2, true>();
    hop.template operator()<2, false>();
    store_block<T, W>(arg, finished<T, W>(arg, sum, b, c), b, c);
  }
}

template <link_form form, bool far, int W, class T>
void hopping_kernel(const hopping_arguments<T>& arg, const std::int32_t* list, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) hopping_block<form, far, W>(arg, list != nullptr ? list[i] : i);
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
