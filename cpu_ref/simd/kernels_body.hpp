// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The inner loops, compiled once an instruction set (PLAQUETTE_INSTRUCTION_SET names it). Read `hopping_block` first.
#pragma once

#include <utility>

#include "common/algebra/projector.hpp"
#include "cpu_ref/simd/kernels.hpp"
#include "cpu_ref/simd/simd.hpp"

#define PLAQUETTE_UNROLL _Pragma("GCC unroll 12")
#define PLAQUETTE_ALWAYS_INLINE_LAMBDA __attribute__((always_inline))

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

/// A Dirac spinor on W sites.
template <class V>
struct block_spinor {
  complex_simd<V> c[12];  // spin * 3 + colour
};

inline constexpr int link_reals = 18;
inline constexpr int half_spinor_reals = 12;
inline constexpr int clover_reals = 36;  // one chirality: 6 diagonal, 15 complex below it

/// sum += (1 + sign gamma_mu) U h, where h has two spins: the 2x3 products in 12 registers, then both spin pairs of the
/// sum.
template <int mu, int sign, class V>
PLAQUETTE_INLINE void add_half_spinor(block_spinor<V>& sum, const complex_simd<V> (&w)[2][3]) {
  constexpr chiral_links pair = links_of_gamma(mu);
  PLAQUETTE_UNROLL
  for (int i = 0; i < 3; ++i) {
    sum.c[i] = sum.c[i] + w[0][i];
    sum.c[3 + i] = sum.c[3 + i] + w[1][i];
    sum.c[3 * pair.lower[0] + i] = add_reconstructed<mu, sign, 0>(sum.c[3 * pair.lower[0] + i], w[0][i]);
    sum.c[3 * pair.lower[1] + i] = add_reconstructed<mu, sign, 1>(sum.c[3 * pair.lower[1] + i], w[1][i]);
  }
}

/// w += column j of U (or of U^+) times colour j of the half-spinor h.
template <bool adjoint, int W, class V, class T>
PLAQUETTE_INLINE void add_colour(complex_simd<V> (&w)[2][3], const T* link, int j, const complex_simd<V>& h0,
                                 const complex_simd<V>& h1) {
  PLAQUETTE_UNROLL
  for (int i = 0; i < 3; ++i) {
    const auto u = load_component<V, W>(link, adjoint ? 3 * j + i : 3 * i + j);
    if constexpr (adjoint) {
      w[0][i] = add_conjugate_product(w[0][i], u, h0);
      w[1][i] = add_conjugate_product(w[1][i], u, h1);
    } else {
      w[0][i] = add_product(w[0][i], u, h0);
      w[1][i] = add_product(w[1][i], u, h1);
    }
  }
}

/// One hop from a block of this rank: project, permute lanes, multiply, reconstruct. Forwards the half-spinor is
/// permuted before U(x) multiplies it; backwards U^+(x - mu) multiplies in the neighbour's lane order and the product
/// is permuted: links are never permuted. Colour by colour, so that 12 products and one colour of h are in registers.
template <int mu, bool forward, int sign, int W, class V, class T>
PLAQUETTE_INLINE void hop_inside(block_spinor<V>& sum, const T* psi, const T* link, int permutation,
                                 const typename V::lane* table) {
  constexpr chiral_links pair = links_of_gamma(mu);
  complex_simd<V> w[2][3] = {};
  PLAQUETTE_UNROLL
  for (int j = 0; j < 3; ++j) {
    auto h0 = project_spin<mu, sign, 0>(load_component<V, W>(psi, j), load_component<V, W>(psi, 3 * pair.lower[0] + j));
    auto h1 =
        project_spin<mu, sign, 1>(load_component<V, W>(psi, 3 + j), load_component<V, W>(psi, 3 * pair.lower[1] + j));
    if constexpr (forward)
      if (permutation != 0) {
        h0 = permuted(h0, table + permutation * W);
        h1 = permuted(h1, table + permutation * W);
      }
    add_colour<!forward, W>(w, link, j, h0, h1);
  }
  if constexpr (!forward)
    if (permutation != 0) {
      PLAQUETTE_UNROLL
      for (int i = 0; i < 3; ++i) {
        w[0][i] = permuted(w[0][i], table + permutation * W);
        w[1][i] = permuted(w[1][i], table + permutation * W);
      }
    }
  add_half_spinor<mu, sign>(sum, w);
}

/// One hop from a slot of the halo: projected and in this block's lane order already, as is the link.
template <int mu, bool forward, int sign, int W, class V, class T>
PLAQUETTE_INLINE void hop_from_slot(block_spinor<V>& sum, const T* half, const T* link) {
  complex_simd<V> w[2][3] = {};
  PLAQUETTE_UNROLL
  for (int j = 0; j < 3; ++j)
    add_colour<!forward, W>(w, link, j, load_component<V, W>(half, j), load_component<V, W>(half, 3 + j));
  add_half_spinor<mu, sign>(sum, w);
}

/// out += A in for one chirality (spins 2 chi, 2 chi + 1) of a Hermitian 6x6 block.
template <int W, class V, class T>
PLAQUETTE_INLINE void clover_times(complex_simd<V>* out, const complex_simd<V>* in, const T* block) {
  const auto element = [&](int row, int column) {  // row > column
    const T* at = block + (6 + row * (row - 1) + 2 * column) * W;
    return complex_simd<V>{V::load(at), V::load(at + W)};
  };
  PLAQUETTE_UNROLL
  for (int i = 0; i < 6; ++i) {
    const V diagonal = V::load(block + i * W);
    complex_simd<V> sum{diagonal * in[i].re, diagonal * in[i].im};
    PLAQUETTE_UNROLL
    for (int j = 0; j < 6; ++j) {
      if (j < i) sum = add_product(sum, element(i, j), in[j]);
      if (j > i) sum = add_conjugate_product(sum, element(j, i), in[j]);
    }
    out[i] = sum;
  }
}

template <int W, class V, class T>
PLAQUETTE_INLINE block_spinor<V> clover_times(const block_spinor<V>& in, const T* clover) {
  block_spinor<V> out;
  clover_times<W>(out.c, in.c, clover);
  clover_times<W>(out.c + 6, in.c + 6, clover + clover_reals * W);
  return out;
}

template <int W, class V, class T>
PLAQUETTE_INLINE block_spinor<V> load_spinor(const T* p) {
  block_spinor<V> s;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) s.c[k] = load_component<V, W>(p, k);
  return s;
}

/// Sums of one column: doubles in W lanes.
template <class V>
struct column_sums {
  typename V::wide s[most_sums] = {};

  PLAQUETTE_INLINE void add_dot(const complex_simd<V>& a, const complex_simd<V>& b) {
    const auto ar = a.re.widened(), ai = a.im.widened(), br = b.re.widened(), bi = b.im.widened();
    s[0] += ar * br + ai * bi;
    s[1] += ar * bi - ai * br;
  }
  PLAQUETTE_INLINE void add_norm2(int which, const complex_simd<V>& a) {
    const auto re = a.re.widened(), im = a.im.widened();
    s[which] += re * re + im * im;
  }
};

/// What the epilogue makes of h = scale D psi.
template <int W, class V, class T>
PLAQUETTE_INLINE block_spinor<V> finished(const hopping_arguments<T>& arg, const block_spinor<V>& sum, std::int64_t b,
                                          int c) {
  const T* const x = arg.x.data + (b * arg.x.column_stride + c) * 24 * W;
  const T* const clover = arg.clover + b * 2 * clover_reals * W;
  const V scale = V::broadcast(arg.scale), a = V::broadcast(arg.a);
  const auto scaled = [&](const block_spinor<V>& h) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
    block_spinor<V> r;
    PLAQUETTE_UNROLL
    for (int k = 0; k < 12; ++k) r.c[k] = {scale * h.c[k].re, scale * h.c[k].im};
    return r;
  };
  const auto added_to_x = [&](const block_spinor<V>& h) PLAQUETTE_ALWAYS_INLINE_LAMBDA {
    block_spinor<V> r;
    PLAQUETTE_UNROLL
    for (int k = 0; k < 12; ++k) {
      const auto xk = load_component<V, W>(x, k);
      r.c[k] = {a * xk.re + scale * h.c[k].re, a * xk.im + scale * h.c[k].im};
    }
    return r;
  };
  switch (arg.finish) {
    case epilogue::add:
      return added_to_x(sum);
    case epilogue::clover:
      return scaled(clover_times<W>(sum, clover));
    case epilogue::add_clover:
      return added_to_x(clover_times<W>(sum, clover));
    case epilogue::clover_x_add: {
      auto r = clover_times<W>(load_spinor<W, V>(x), clover);
      PLAQUETTE_UNROLL
      for (int k = 0; k < 12; ++k) r.c[k] = {r.c[k].re + scale * sum.c[k].re, r.c[k].im + scale * sum.c[k].im};
      return r;
    }
    default:
      return scaled(sum);
  }
}

/// Stores the result of one column of a block and, where asked for, adds its part of <out, w> and |out|^2 to the sums.
template <int W, class V, class T>
PLAQUETTE_INLINE void store_block(const hopping_arguments<T>& arg, const block_spinor<V>& r, std::int64_t b, int c) {
  T* const out = arg.out.data + (b * arg.out.column_stride + c) * 24 * W;
  if (arg.stream) {
    PLAQUETTE_UNROLL
    for (int k = 0; k < 12; ++k) {
      r.c[k].re.stream(out + 2 * k * W);
      r.c[k].im.stream(out + (2 * k + 1) * W);
    }
  } else {
    PLAQUETTE_UNROLL
    for (int k = 0; k < 12; ++k) store_component<W>(out, k, r.c[k]);
  }
  if (arg.lane_sums == nullptr) return;
  const T* const w = arg.w.data + (b * arg.w.column_stride + c) * 24 * W;
  column_sums<V> sums;
  PLAQUETTE_UNROLL
  for (int k = 0; k < 12; ++k) {
    sums.add_dot(r.c[k], load_component<V, W>(w, k));
    sums.add_norm2(2, r.c[k]);
  }
  double* const total = arg.lane_sums + static_cast<std::int64_t>(c) * most_sums * W;
  for (int i = 0; i < most_sums; ++i)
    for (int lane = 0; lane < W; ++lane) total[i * W + lane] += sums.s[i][lane];
}

/// D psi on one block, all columns: sum over mu of (1 - gamma_mu) U_mu(x) psi(x + mu) + (1 + gamma_mu) U_mu^+(x - mu)
/// psi(x - mu), with the other signs where daggered. The links stay in the first-level cache from column to column.
template <bool daggered, bool halo, int W, class T>
PLAQUETTE_INLINE void hopping_block(const hopping_arguments<T>& arg, std::int64_t b) {
  using V = simd<T, W>;
  constexpr int ahead = daggered ? +1 : -1;  // sign of gamma in the forward hop
  const std::int32_t* const neighbour = arg.neighbours + b * hop_directions;
  const std::uint8_t* const permutation = arg.permutations + b * hop_directions;
  const std::int64_t link_stride = arg.blocks * link_reals * W;

  // The one neighbour that no earlier block has touched, soon enough to arrive: measured, and nothing else paid.
  const std::int64_t later = b + 2 < arg.blocks ? b + 2 : b;
  const std::int64_t edge = arg.prefetch ? arg.neighbours[later * hop_directions + hop_directions - 2] : -1;

  for (int c = 0; c < arg.columns; ++c) {
    if (edge >= 0) {
      const char* const next = reinterpret_cast<const char*>(arg.in.data + (edge * arg.in.column_stride + c) * 24 * W);
      for (int line = 0; line < static_cast<int>(24 * W * sizeof(T) / 64); ++line)
        __builtin_prefetch(next + 64 * line, 0, 2);
    }
    block_spinor<V> sum = {};
    const auto hop = [&]<int mu, bool forward>() PLAQUETTE_ALWAYS_INLINE_LAMBDA {
      constexpr int d = 2 * mu + (forward ? 0 : 1);
      constexpr int sign = forward ? ahead : -ahead;
      const std::int64_t n = neighbour[d];
      const T* const own_link = arg.links_here + mu * link_stride + b * link_reals * W;
      if (halo && n < 0) {
        const std::int64_t slot = -1 - n;
        hop_from_slot<mu, forward, sign, W, V>(sum, arg.slots + (slot * arg.columns + c) * half_spinor_reals * W,
                                               forward ? own_link : arg.slot_links + slot * link_reals * W);
      } else {
        hop_inside<mu, forward, sign, W, V>(
            sum, arg.in.data + (n * arg.in.column_stride + c) * 24 * W,
            forward ? own_link : arg.links_there + mu * link_stride + n * link_reals * W, permutation[d],
            arg.permutation_table);
      }
    };
    hop.template operator()<0, true>();
    hop.template operator()<0, false>();
    hop.template operator()<1, true>();
    hop.template operator()<1, false>();
    hop.template operator()<2, true>();
    hop.template operator()<2, false>();
    hop.template operator()<3, true>();
    hop.template operator()<3, false>();
    store_block<W>(arg, finished<W>(arg, sum, b, c), b, c);
  }
}

template <bool daggered, bool halo, int W, class T>
void hopping_kernel(const hopping_arguments<T>& arg, const std::int32_t* list, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i)
    hopping_block<daggered, halo, W>(arg, list != nullptr ? list[i] : i);
}

template <int W, class T>
void clover_kernel(const clover_arguments<T>& arg, std::int64_t first, std::int64_t count) {
  using V = simd<T, W>;
  for (std::int64_t b = first; b < first + count; ++b)
    for (int c = 0; c < arg.columns; ++c) {
      const auto in = load_spinor<W, V>(arg.in.data + (b * arg.in.column_stride + c) * 24 * W);
      const auto out = clover_times<W>(in, arg.clover + b * 2 * clover_reals * W);
      T* const to = arg.out.data + (b * arg.out.column_stride + c) * 24 * W;
      PLAQUETTE_UNROLL
      for (int k = 0; k < 12; ++k) store_component<W>(to, k, out.c[k]);
    }
}

/// One operation on one complex component. Pointers that an operation does not use are null and never read.
template <field_operation op, int W, class V, class T>
PLAQUETTE_INLINE void operate_on_component(column_sums<V>& sums, T* x, T* y, const T* u, const T* v, const T* w,
                                           const complex_simd<V>& a, const complex_simd<V>& b, int k) {
  using enum field_operation;
  const auto load = [k](const T* from) PLAQUETTE_ALWAYS_INLINE_LAMBDA { return load_component<V, W>(from, k); };
  if constexpr (op == scale) store_component<W>(x, k, a * load(x));
  if constexpr (op == axpy) store_component<W>(x, k, add_product(load(x), a, load(u)));
  if constexpr (op == xpay) store_component<W>(x, k, add_product(load(u), a, load(x)));
  if constexpr (op == dot) sums.add_dot(load(u), load(v));
  if constexpr (op == norm2) sums.add_norm2(0, load(u));
  if constexpr (op == axpy_norm2) {
    const auto r = add_product(load(x), a, load(u));
    store_component<W>(x, k, r);
    sums.add_norm2(0, r);
  }
  if constexpr (op == axpy_pair) store_component<W>(x, k, add_product(add_product(load(x), a, load(u)), b, load(v)));
  if constexpr (op == subtract_norm2) {
    const auto r = load(u) - load(v);
    store_component<W>(x, k, r);
    sums.add_norm2(0, r);
  }
  if constexpr (op == cg_update) {
    store_component<W>(x, k, add_product(load(x), a, load(u)));
    const auto r = add_product(load(y), complex_simd<V>{-a.re, -a.im}, load(v));
    store_component<W>(y, k, r);
    sums.add_norm2(0, r);
  }
  if constexpr (op == bicgstab_direction)
    store_component<W>(x, k, add_product(load(u), a, add_product(load(x), complex_simd<V>{-b.re, -b.im}, load(v))));
  if constexpr (op == bicgstab_update) {
    const auto s = load(y);
    store_component<W>(x, k, add_product(add_product(load(x), a, load(u)), b, s));
    const auto r = add_product(s, complex_simd<V>{-b.re, -b.im}, load(v));
    store_component<W>(y, k, r);
    sums.add_dot(load(w), r);
    sums.add_norm2(2, r);
  }
  if constexpr (op == dot_norm2) {
    const auto first = load(u);
    sums.add_dot(first, load(v));
    sums.add_norm2(2, first);
  }
  if constexpr (op == axpy_dot_norm2) {
    const auto r = add_product(load(x), a, load(u));
    store_component<W>(x, k, r);
    sums.add_dot(load(w), r);
    sums.add_norm2(2, r);
  }
}

template <field_operation op>
constexpr bool makes_sums =
    op == field_operation::dot || op == field_operation::norm2 || op == field_operation::axpy_norm2 ||
    op == field_operation::subtract_norm2 || op == field_operation::cg_update ||
    op == field_operation::bicgstab_update || op == field_operation::dot_norm2 || op == field_operation::axpy_dot_norm2;

/// Columns whose sums are kept at a time: few enough to stay in the first-level cache.
inline constexpr int columns_of_a_pass = 16;

/// An operation on a range of blocks. Numbers are walked in the order in which they lie in memory: block by block, all
/// columns of a block. The sums of a column are added in a fixed order: block by block in each lane, then lane by lane.
template <field_operation op, int W, class T>
void operate_kernel(const operation_arguments<T>& arg, std::int64_t first, std::int64_t count) {
  using V = simd<T, W>;
  const std::int64_t reals = 2 * arg.components * W;
  const auto at = [&](const auto& field, std::int64_t b, int c) {
    return field.data == nullptr ? nullptr : field.data + (b * field.column_stride + c) * reals;
  };
  const auto coefficient = [](const T* numbers, int c) {
    return numbers == nullptr ? complex_simd<V>{}
                              : complex_simd<V>{V::broadcast(numbers[2 * c]), V::broadcast(numbers[2 * c + 1])};
  };
  for (int begin = 0; begin < arg.columns; begin += columns_of_a_pass) {
    const int end = begin + columns_of_a_pass < arg.columns ? begin + columns_of_a_pass : arg.columns;
    column_sums<V> pass[columns_of_a_pass];
    for (std::int64_t block = first; block < first + count; ++block)
      for (int c = begin; c < end; ++c) {
        const auto a = coefficient(arg.a, c), b = coefficient(arg.b, c);
        column_sums<V> sums = pass[c - begin];
        T *const x = at(arg.x, block, c), *const y = at(arg.y, block, c);
        const T *const u = at(arg.u, block, c), *const v = at(arg.v, block, c), *const w = at(arg.w, block, c);
        for (int k = 0; k < arg.components; ++k) operate_on_component<op, W>(sums, x, y, u, v, w, a, b, k);
        pass[c - begin] = sums;
      }
    if constexpr (makes_sums<op>)
      for (int c = begin; c < end; ++c)
        for (int i = 0; i < most_sums; ++i) {
          double total = 0.0;
          for (int lane = 0; lane < W; ++lane) total += pass[c - begin].s[i][lane];
          arg.sums[c * most_sums + i] = total;
        }
  }
}

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
void copy_kernel(T* to, const T* from, std::int64_t count) {
  using V = simd<T, W>;
  for (std::int64_t i = 0; i < count; i += W) V::load(from + i).store(to + i);
}

template <class T, int W>
kernel_table<T> make_table() {
  kernel_table<T> table;
  table.width = W;
  table.hop[0][0] = hopping_kernel<false, false, W, T>;
  table.hop[0][1] = hopping_kernel<false, true, W, T>;
  table.hop[1][0] = hopping_kernel<true, false, W, T>;
  table.hop[1][1] = hopping_kernel<true, true, W, T>;
  table.clover = clover_kernel<W, T>;
  table.multiply_add = multiply_add_kernel<W, T>;
  table.copy = copy_kernel<W, T>;
  const auto fill = [&]<int... op>(std::integer_sequence<int, op...>) {
    ((table.operate[op] = operate_kernel<static_cast<field_operation>(op), W, T>), ...);
  };
  fill(std::make_integer_sequence<int, static_cast<int>(field_operation::count)>{});
  return table;
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
