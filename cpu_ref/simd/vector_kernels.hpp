// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on blocks of sites.
/// Compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it).
#pragma once

#include "cpu_ref/simd/block_numbers.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// One operation on one complex component.
template <vector_operation op, class V, class Reader, class Writer>
PLAQUETTE_INLINE void operate_on_component(column_sums<V>& sums, const Reader& x, const Reader& y, const Reader& u,
                                           const Reader& v, const Reader& w, Writer& to_x, Writer& to_y,
                                           const complex_simd<V>& a, const complex_simd<V>& b, int k) {
  constexpr operation_traits traits = traits_of(op);
  operands_of_number<complex_simd<V>> n;
  if constexpr (traits.reads_x) n.x = x(k);
  if constexpr (traits.uses_y) n.y = y(k);
  if constexpr (traits.reads_u) n.u = u(k);
  if constexpr (traits.reads_v) n.v = v(k);
  operate<op>(n, a, b);
  if constexpr (traits.writes_x) to_x.put(k, n.x);
  if constexpr (traits.uses_y) to_y.put(k, n.y);
  if constexpr (traits.has_dot()) {
    const auto left = [&] {
      if constexpr (traits.reads_w())
        return w(k);
      else
        return n.u;
    }();
    sums.add_dot(left, traits.dot_right == operand::x ? n.x : n.v);
  }
  if constexpr (traits.has_norm())
    sums.add_norm2(traits.has_dot() ? 2 : 0, traits.norm_of == operand::x   ? n.x
                                             : traits.norm_of == operand::y ? n.y
                                                                            : n.u);
}

/// Columns whose sums are kept at a time: few enough to stay in the first-level cache.
inline constexpr int columns_of_a_pass = 16;

/// An operation on a range of blocks. Numbers are walked in the order in which they lie in memory: block by block, all
/// columns of a block. The sums of a column are added in a fixed order: block by block in each lane, then lane by lane.
template <vector_operation op, int W, class T>
void operate_kernel(const operation_arguments<T>& arg, std::int64_t first, std::int64_t count) {
  using real = real_of<T>;
  using V = register_of<T, W>;
  const std::int64_t words =
      static_cast<std::int64_t>(arg.components * storage<T>::words_of_complex + storage<T>::words_of_scale) * W;
  const auto at = [&](const auto& field, std::int64_t b, int c) {
    return field.data == nullptr ? nullptr : field.data + (b * field.column_stride + c) * words;
  };
  const auto coefficient = [](const real* numbers, int c) {
    return numbers == nullptr ? complex_simd<V>{}
                              : complex_simd<V>{V::broadcast(numbers[2 * c]), V::broadcast(numbers[2 * c + 1])};
  };
  using reader = site_reader<T, W>;
  using writer = site_writer<T, W, most_fixed_point_components>;
  for (int begin = 0; begin < arg.columns; begin += columns_of_a_pass) {
    const int end = begin + columns_of_a_pass < arg.columns ? begin + columns_of_a_pass : arg.columns;
    column_sums<V> pass[columns_of_a_pass];
    for (std::int64_t block = first; block < first + count; ++block)
      for (int c = begin; c < end; ++c) {
        const auto a = coefficient(arg.a, c), b = coefficient(arg.b, c);
        column_sums<V> sums = pass[c - begin];
        // Pointers that an operation does not use are null and never read.
        const reader x(at(arg.x, block, c), arg.components), y(at(arg.y, block, c), arg.components),
            u(at(arg.u, block, c), arg.components), v(at(arg.v, block, c), arg.components),
            w(at(arg.w, block, c), arg.components);
        writer to_x(at(arg.x, block, c), false), to_y(at(arg.y, block, c), false);
        if constexpr (op == vector_operation::bicgstab_step) {
          // One after the other, while the block is in the first-level cache: each reads the results of the one before.
          const reader z(at(arg.z, block, c), arg.components);
          writer to_z(at(arg.z, block, c), false);
          const complex_simd<V> minus_b{-b.re, -b.im};
          for (int k = 0; k < arg.components; ++k)
            operate_on_component<vector_operation::axpy_pair>(sums, x, y, z, y, w, to_x, to_y, a, b, k);
          to_x.finish(arg.components);
          for (int k = 0; k < arg.components; ++k)
            operate_on_component<vector_operation::axpy_norm2>(sums, y, y, u, v, w, to_y, to_y, minus_b, b, k);
          to_y.finish(arg.components);
          const reader stored_y(at(arg.y, block, c), arg.components);
          for (int k = 0; k < arg.components; ++k)
            operate_on_component<vector_operation::bicgstab_direction>(sums, z, y, stored_y, v, w, to_z, to_y,
                                                                       coefficient(arg.c, c), b, k);
          to_z.finish(arg.components);
        } else {
          for (int k = 0; k < arg.components; ++k) operate_on_component<op>(sums, x, y, u, v, w, to_x, to_y, a, b, k);
          if constexpr (traits_of(op).writes_x) to_x.finish(arg.components);
          if constexpr (traits_of(op).uses_y) to_y.finish(arg.components);
        }
        pass[c - begin] = sums;
      }
    if constexpr (traits_of(op).sums() > 0)
      for (int c = begin; c < end; ++c)
        for (int i = 0; i < most_sums; ++i) {
          double total = 0.0;
          for (int lane = 0; lane < W; ++lane) total += pass[c - begin].s[i][lane];
          arg.sums[c * most_sums + i] = total;
        }
  }
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
