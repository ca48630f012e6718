// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of W sites in every form in which they are stored, and where the links of a block's 8 hops lie.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "common/algebra/link_reconstruction.hpp"
#include "cpu_ref/simd/block_numbers.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// Elements of a link as they are needed. Numbers of 16 bits stay the integers that they are: their unit is in
/// `hopping_arguments::scale`.
template <class T, int W, link_form form>
struct link_reader {  // whole, expanded
  using V = register_of<T, W>;
  const real_of<T>* at;

  template <class Pointer>
  PLAQUETTE_INLINE link_reader(Pointer data, const real_of<T>* /*factor*/) : at(data) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    return load_component<V, W>(at, 3 * row + column);
  }
};
template <int W>
struct link_reader<half, W, link_form::whole> {
  using V = simd<float, W>;
  const std::uint32_t* at;

  PLAQUETTE_INLINE link_reader(const std::uint32_t* data, const float* /*factor*/) : at(data) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    return packed_simd<W>::load(at + (3 * row + column) * W);
  }
};

/// Of the third row, from the other two by `element(row, column)`.
template <class V, int W, class Real, class Element>
PLAQUETTE_INLINE complex_simd<V> rebuilt_element(const Element& element, int column, const Real* factor) {
  const int j = (column + 1) % 3, k = (column + 2) % 3;
  const auto minor = conjugate_minor(element(0, j), element(1, k), element(0, k), element(1, j));
  return factor == nullptr ? minor : load_component<V, W>(factor, 0) * minor;
}

template <class T, int W>
struct link_reader<T, W, link_form::two_rows> {
  using V = register_of<T, W>;
  const T *at, *factor;

  PLAQUETTE_INLINE link_reader(const T* data, const T* third_row_factor) : at(data), factor(third_row_factor) {}
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    const auto stored = [this](int r, int c)
                            PLAQUETTE_ALWAYS_INLINE_LAMBDA { return load_component<V, W>(at, 3 * r + c); };
    return row < 2 ? stored(row, column) : rebuilt_element<V, W>(stored, column, factor);
  }
};
template <int W>
struct link_reader<half, W, link_form::two_rows> {
  using V = simd<float, W>;
  complex_simd<V> stored[2][3];
  const float* factor;

  PLAQUETTE_INLINE link_reader(const std::uint32_t* data, const float* third_row_factor) : factor(third_row_factor) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < 6; ++k) stored[k / 3][k % 3] = packed_simd<W>::load(data + k * W);
  }
  PLAQUETTE_INLINE complex_simd<V> operator()(int row, int column) const {
    if (row < 2) return stored[row][column];
    const auto element = [this](int r, int c) PLAQUETTE_ALWAYS_INLINE_LAMBDA { return stored[r][c]; };
    const auto squared_unit = rebuilt_element<V, W>(element, column, factor);
    const V unit = V::broadcast(fixed_point_unit);
    return {squared_unit.re * unit, squared_unit.im * unit};
  }
};

/// A link of any stored form with all its elements.
template <int W, class T>
PLAQUETTE_INLINE void expand_link(real_of<T>* to, const word_of<T>* from, const real_of<T>* factor,
                                  reconstruct stored) {
  using V = register_of<T, W>;
  const auto copy_elements = [&](const auto& u) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
    PLAQUETTE_UNROLL
    for (int k = 0; k < 9; ++k) store_component<W>(to, k, u(k / 3, k % 3));
  };
  if (stored == reconstruct::none) {
    copy_elements(link_reader<T, W, link_form::whole>(from, factor));
  } else if (stored == reconstruct::twelve) {
    copy_elements(link_reader<T, W, link_form::two_rows>(from, factor));
  } else {
    V p[8];
    if constexpr (is_half<T>) {
      const V unit = V::broadcast(fixed_point_unit);
      PLAQUETTE_UNROLL
      for (int k = 0; k < 4; ++k) {
        const auto pair = packed_simd<W>::load(from + k * W);
        p[2 * k] = pair.re * unit;
        p[2 * k + 1] = pair.im * unit;
      }
    } else {
      PLAQUETTE_UNROLL
      for (int k = 0; k < 8; ++k) p[k] = V::load(from + k * W);
    }
    using real = real_of<T>;
    const complex_simd<V> phase{V::broadcast(static_cast<real>(frame_phase_cos)),
                                V::broadcast(static_cast<real>(frame_phase_sin))};
    complex_simd<V> u[3][3];
    matrix_of_parameters(u, p, phase, V::broadcast(1));
    const auto element = [&](int i, int j) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      return factor == nullptr ? u[i][j] : load_component<V, W>(factor, 0) * u[i][j];
    };
    copy_elements(element);
  }
}

/// Where the links of a block's 8 hops lie.
template <class T, int W>
struct links_of_block {
  const hopping_arguments<T>& arg;
  const std::int32_t* neighbour;
  std::int64_t block;
  int words;  ///< a lane of a link

  struct link {
    const word_of<T>* data;
    const real_of<T>* factor;
  };
  /// The factor of link number `index`: null if it is one.
  PLAQUETTE_INLINE const real_of<T>* factor_of(const std::uint8_t* factors, std::int64_t index) const {
    return factors == nullptr || factors[index] == 0 ? nullptr : arg.link_factors + factors[index] * 2 * W;
  }
  PLAQUETTE_INLINE link of_slot(std::int64_t slot) const {
    return {arg.slot_links.data + slot * words * W, factor_of(arg.slot_links.factors, slot)};
  }
  /// Of hop d, 2 mu or 2 mu + 1, to a block of this rank or, forwards, to a slot.
  PLAQUETTE_INLINE link of_hop(int d) const {
    const link_pointer<T>& from = d % 2 == 0 ? arg.links_here : arg.links_there;
    const std::int64_t index = d / 2 * arg.blocks + (d % 2 == 0 ? block : neighbour[d]);
    return {from.data + index * words * W, factor_of(from.factors, index)};
  }
  /// Of hop d wherever it goes; backwards to a slot it is a copy of the neighbour's.
  /// \tparam far  whether neighbours may be slots
  template <bool far>
  PLAQUETTE_INLINE link of(int d) const {
    return far && d % 2 == 1 && neighbour[d] < 0 ? of_slot(-1 - neighbour[d]) : of_hop(d);
  }
};

/// All links of a block, [8][9][re, im][W]. A function of its own: it is called once for many columns, and would crowd
/// the kernels that do not call it.
template <bool far, class T, int W>
__attribute__((noinline)) void expand_links(const links_of_block<T, W>& links, real_of<T>* to) {
  for (int d = 0; d < hop_directions; ++d) {
    const auto link = links.template of<far>(d);
    expand_link<W, T>(to + d * 18 * W, link.data, link.factor, links.arg.stored);
  }
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
