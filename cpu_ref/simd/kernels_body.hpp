// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of inner loops, compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it). The loops are in
/// hopping_kernel.hpp, clover_kernel.hpp, vector_kernels.hpp and basis_kernels.hpp.
#pragma once

#include <utility>

#include "cpu_ref/simd/basis_kernels.hpp"
#include "cpu_ref/simd/clover_kernel.hpp"
#include "cpu_ref/simd/hopping_kernel.hpp"
#include "cpu_ref/simd/vector_kernels.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

template <int W, class T>
T multiply_add_kernel(std::int64_t iterations) {
  using V = simd<T, W>;
  V chain[fma_chains];
  for (int k = 0; k < fma_chains; ++k) chain[k] = V::broadcast(static_cast<T>(k));
  const V factor = V::broadcast(static_cast<T>(0.5)), term = V::broadcast(static_cast<T>(0.25));
  for (std::int64_t i = 0; i < iterations; ++i) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < fma_chains; ++k) chain[k] = chain[k] * factor + term;
  }
  T sum = 0;
  for (const V& v : chain)
    for (int lane = 0; lane < W; ++lane) sum += v.v[lane];
  return sum;
}

template <int W, class T>
void copy_kernel(T* to, const T* from, std::int64_t count, bool stream) {
  using V = simd<T, W>;
  if (stream)
    for (std::int64_t i = 0; i < count; i += W) V::load(from + i).stream(to + i);
  else
    for (std::int64_t i = 0; i < count; i += W) V::load(from + i).store(to + i);
}

template <class T, int W>
kernel_table<T> make_table() {
  kernel_table<T> table;
  table.width = W;
  const auto fill_hops = [&]<link_form form>() {
    auto& hop = table.hop[static_cast<int>(form)];
    hop[0] = hopping_kernel<form, false, W, T>;
    hop[1] = hopping_kernel<form, true, W, T>;
  };
  fill_hops.template operator()<link_form::whole>();
  fill_hops.template operator()<link_form::two_rows>();
  // Where numbers have their ordinary type, a copy is read by the code for whole links.
  fill_hops.template operator()<is_half<T> ? link_form::expanded : link_form::whole>();
  if (!is_half<T>)
    for (int far = 0; far < 2; ++far)
      table.hop[static_cast<int>(link_form::expanded)][far] = table.hop[static_cast<int>(link_form::whole)][far];
  table.clover = clover_kernel<W, T>;
  if constexpr (!is_half<T>) {
    table.products = products_kernel<W, T>;
    table.combine = combine_kernel<W, T>;
  }
  table.multiply_add = multiply_add_kernel<W, real_of<T>>;
  table.copy = copy_kernel<W, real_of<T>>;
  const auto fill = [&]<int... op>(std::integer_sequence<int, op...>) {
    ((table.operate[op] = operate_kernel<static_cast<vector_operation>(op), W, T>), ...);
  };
  fill(std::make_integer_sequence<int, vector_operations>{});
  return table;
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
