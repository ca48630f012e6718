// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The algebra of one hop on host and device: spinors and links as they are loaded, links made whole, the projection
/// 1 -+ gamma_mu and the way back.
///
/// Spinors are in the basis in which gamma_t is diagonal (gpu/fields): an upper half u and a lower half l of two spins
/// each. There gamma_t = diag(1, 1, -1, -1), the spatial gammas are minus the gammas of DeGrand and Rossi, and gamma_5
/// exchanges u and l. So a hop in time needs half of the neighbour, and D^+ = gamma_5 D gamma_5 is D with both halves
/// exchanged wherever a spinor is read or written ("exchanged" below).
#pragma once

#include <type_traits>

#include "common/algebra/link_reconstruction.hpp"
#include "common/algebra/projector.hpp"
#include "common/algebra/reconstruct.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "gpu/fields/memory_access.hpp"
#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {

/// Complex numbers of half a Dirac spinor.
inline constexpr int half_spinor_size = 2 * colours;

/// Bytes of a column of a block of Dirac spinors.
template <class T>
inline constexpr int spinor_block_bytes = column_bytes<T>(spins * colours);

enum class spinor_part { upper, lower, both };

/// Where a site's numbers lie: its 16-byte chunks, chunk_stride apart, and in half its scale.
template <class T, class Byte>
struct spinor_place {
  Byte* site;
  Byte* scale;  ///< of half precision
};

/// \param block  a column of a block of sites
template <class T, class Byte>
PLAQUETTE_KERNEL_INLINE spinor_place<T, Byte> place_in(Byte* block, std::uint32_t lane) {
  if constexpr (is_half<T>)
    return {advanced(block, lane, 16), advanced(block, lane, 4) + 3 * chunk_stride};
  else
    return {advanced(block, lane, 16), nullptr};
}

/// A Dirac spinor as it lies in memory.
template <class T>
struct loaded_spinor {
  T number[spinor_reals];

  /// \param block     a column of a block of sites
  /// \param exchange  bytes from where the upper half lies to where the kernel's upper half lies: 0, or half the bytes
  template <load_hint hint, spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* block, std::uint32_t lane, int exchange) {
    load<hint, part>(place_in<T>(block, lane), exchange);
  }
  template <load_hint hint, spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const spinor_place<T, const std::byte>& from, int exchange) {
    constexpr int chunks = spinor_reals * static_cast<int>(sizeof(T)) / 16, reals = 16 / static_cast<int>(sizeof(T));
    constexpr int half_bytes = chunks / 2 * 16 * lanes;
    const std::byte* const upper = from.site + exchange;
    const std::byte* const lower = from.site + (half_bytes - exchange);
#pragma unroll
    for (int k = 0; k < chunks; ++k) {
      const bool in_upper = k < chunks / 2;
      if (part != spinor_part::both && in_upper != (part == spinor_part::upper)) continue;
      const auto v = load_words<hint, 4>((in_upper ? upper + k * 16 * lanes : lower + (k - chunks / 2) * 16 * lanes));
      if constexpr (sizeof(T) == 4) {
#pragma unroll
        for (int i = 0; i < 4; ++i) number[reals * k + i] = as_float(v.w[i]);
      } else {
        number[2 * k] = as_double(v.w[0], v.w[1]);
        number[2 * k + 1] = as_double(v.w[2], v.w[3]);
      }
    }
  }
  PLAQUETTE_KERNEL_INLINE T operator[](int k) const { return number[k]; }
  /// Returns the factor that is still to come.
  PLAQUETTE_KERNEL_INLINE T scale() const { return T(1); }
  PLAQUETTE_KERNEL_INLINE static T sum(T a, T b) { return a + b; }
  PLAQUETTE_KERNEL_INLINE static T plain(T a) { return a; }
};

/// Numbers are biased (memory_access.hpp) until `sum`, a difference, or `plain`. The halves do not fall on chunks, so
/// which is which must be known when the kernel is compiled.
template <bool exchanged>
struct loaded_half_spinor {
  std::uint32_t word[half_spinor_size * 2];
  float scale_;

  template <load_hint hint, spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* block, std::uint32_t lane, int exchange) {
    load<hint, part>(place_in<half>(block, lane), exchange);
  }
  template <load_hint hint, spinor_part part>
  PLAQUETTE_KERNEL_INLINE void load(const spinor_place<half, const std::byte>& from, int /*exchange*/) {
    constexpr bool stored_upper = part == (exchanged ? spinor_part::lower : spinor_part::upper);
    constexpr int first = part == spinor_part::both || stored_upper ? 0 : 1;
    constexpr int last = part == spinor_part::both || !stored_upper ? 3 : 2;
#pragma unroll
    for (int k = first; k < last; ++k) {
      const auto v = load_words<hint, 4>(from.site + k * 16 * lanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) word[4 * k + i] = v.w[i];
    }
    scale_ = as_float(load_words<hint, 1>(from.scale).w[0]);
  }
  PLAQUETTE_KERNEL_INLINE float operator[](int k) const {
    const int stored = exchanged ? (k + spinor_reals / 2) % spinor_reals : k;
    return biased_number_of(word[stored / 2], stored & 1);
  }
  PLAQUETTE_KERNEL_INLINE float scale() const { return scale_; }
  PLAQUETTE_KERNEL_INLINE static float sum(float a, float b) { return (a - 2.0F * number_bias) + b; }
  PLAQUETTE_KERNEL_INLINE static float plain(float a) { return a - number_bias; }
};

template <class T, bool exchanged>
using spinor_in_memory = std::conditional_t<is_half<T>, loaded_half_spinor<exchanged>, loaded_spinor<real_of<T>>>;

/// One half-spinor of colour vectors, or both halves of a spinor: [spin][colour].
template <class Real, int spin_count>
struct spin_rows {
  complex<Real> z[spin_count][colours];
};

/// Computes the upper two spins of (1 - gamma_mu) psi forwards, of (1 + gamma_mu) psi backwards, without the scale; in
/// time the half that is not zero, without its factor 2.
template <int direction, class Spinor, class Real>
PLAQUETTE_KERNEL_INLINE void project(spin_rows<Real, 2>& h, const Spinor& psi) {
  constexpr int mu = direction / 2;
  constexpr bool forwards = direction % 2 == 0;
#pragma unroll
  for (int a = 0; a < 2; ++a)
#pragma unroll
    for (int c = 0; c < colours; ++c) {
      if constexpr (mu == 3) {
        const int k = 2 * (a * colours + c) + (forwards ? 2 * half_spinor_size : 0);
        h.z[a][c] = {Spinor::plain(psi[k]), Spinor::plain(psi[k + 1])};
      } else {
        // Of minus gamma_mu (DeGrand-Rossi), hence the other sign.
        constexpr chiral_links pair = links_of_gamma(mu);
        const int power = (pair.power[a] + (forwards ? 0 : 2)) & 3;
        const int u = 2 * (a * colours + c), l = 2 * (pair.lower[a] * colours + c);
        if (power == 0) h.z[a][c] = {Spinor::sum(psi[u], psi[l]), Spinor::sum(psi[u + 1], psi[l + 1])};
        if (power == 1) h.z[a][c] = {psi[u] - psi[l + 1], Spinor::sum(psi[u + 1], psi[l])};
        if (power == 2) h.z[a][c] = {psi[u] - psi[l], psi[u + 1] - psi[l + 1]};
        if (power == 3) h.z[a][c] = {Spinor::sum(psi[u], psi[l + 1]), psi[u + 1] - psi[l]};
      }
    }
}

/// Computes sum += weight * (the spinor of which `project` keeps g).
template <int direction, class Real>
PLAQUETTE_KERNEL_INLINE void add_unprojected(spin_rows<Real, 4>& sum, const spin_rows<Real, 2>& g, Real weight) {
  constexpr int mu = direction / 2;
  constexpr bool forwards = direction % 2 == 0;
#pragma unroll
  for (int a = 0; a < 2; ++a)
#pragma unroll
    for (int c = 0; c < colours; ++c) {
      const complex<Real> z = g.z[a][c];
      if constexpr (mu == 3) {
        complex<Real>& s = sum.z[forwards ? 2 + a : a][c];
        s.re = multiply_add(weight, z.re, s.re);
        s.im = multiply_add(weight, z.im, s.im);
      } else {
        constexpr chiral_links pair = links_of_gamma(mu);
        const int power = (4 - pair.power[a] + (forwards ? 0 : 2)) & 3;
        complex<Real>&u = sum.z[a][c], &l = sum.z[pair.lower[a]][c];
        // l += weight i^power z
        const Real re = power == 0 ? z.re : power == 1 ? -z.im : power == 2 ? -z.re : z.im;
        const Real im = power == 0 ? z.im : power == 1 ? z.re : power == 2 ? -z.im : -z.re;
        u.re = multiply_add(weight, z.re, u.re);
        u.im = multiply_add(weight, z.im, u.im);
        l.re = multiply_add(weight, re, l.re);
        l.im = multiply_add(weight, im, l.im);
      }
    }
}

/// Returns the bytes of a link of which this number of reals is stored: [16-byte chunks][32], then 8 bytes [32], then 4
/// bytes [32].
template <class T>
constexpr int link_bytes(reconstruct stored) {
  return stored_reals(stored) * (is_half<T> ? 2 : static_cast<int>(sizeof(real_of<T>)));
}
/// Returns the bytes from one block of links to the next: four directions.
template <class T>
constexpr int link_block_bytes(reconstruct stored) {
  return 4 * lanes * link_bytes<T>(stored);
}

/// A link as it lies in memory.
template <class T, reconstruct stored>
struct loaded_link {
  static constexpr int bytes = link_bytes<T>(stored), chunks = bytes / 16, pairs = bytes % 16 / 8,
                       singles = bytes % 8 / 4;
  std::uint32_t word[bytes / 4];

  /// \param link  of lane 0
  template <load_hint hint>
  PLAQUETTE_KERNEL_INLINE void load(const std::byte* link, std::uint32_t lane) {
    // Without a hint it may lie in shared memory, which the compiler sees only through plain arithmetic.
    const auto of_lane = [&](std::uint32_t width) {
      return hint == load_hint::none ? link + width * lane : advanced(link, lane, width);
    };
    const std::byte* const at = of_lane(16);
#pragma unroll
    for (int k = 0; k < chunks; ++k) {
      const auto v = load_words<hint, 4>(at + k * 16 * lanes);
#pragma unroll
      for (int i = 0; i < 4; ++i) word[4 * k + i] = v.w[i];
    }
    if constexpr (pairs == 1) {
      const auto v = load_words<hint, 2>(of_lane(8) + chunks * 16 * lanes);
      word[4 * chunks] = v.w[0];
      word[4 * chunks + 1] = v.w[1];
    }
    if constexpr (singles == 1)
      word[4 * chunks + 2 * pairs] = load_words<hint, 1>(of_lane(4) + (chunks * 16 + pairs * 8) * lanes).w[0];
  }
  PLAQUETTE_KERNEL_INLINE real_of<T> number(int k) const {
    if constexpr (is_half<T>)
      return unit_number(biased_number_of(word[k / 2], k & 1));
    else if constexpr (sizeof(real_of<T>) == 4)
      return as_float(word[k]);
    else
      return as_double(word[2 * k], word[2 * k + 1]);
  }
};

/// Returns `conjugate_minor` of common/algebra/link_reconstruction.hpp with its fused operations written out.
template <class Real>
PLAQUETTE_KERNEL_INLINE complex<Real> minor_of(const complex<Real>& x, const complex<Real>& y, const complex<Real>& z,
                                               const complex<Real>& w) {
  const Real re = multiply_add(z.im, w.im, multiply_add(-z.re, w.re, multiply_add(-x.im, y.im, x.re * y.re)));
  const Real im = multiply_add(-x.im, y.re, multiply_add(-x.re, y.im, multiply_add(z.im, w.re, z.re * w.im)));
  return {re, im};
}

template <class Real>
PLAQUETTE_KERNEL_INLINE complex<Real> product(const complex<Real>& a, const complex<Real>& b) {
  return {multiply_add(-a.im, b.im, a.re * b.re), multiply_add(a.im, b.re, a.re * b.im)};
}
/// Returns a conj(b)
template <class Real>
PLAQUETTE_KERNEL_INLINE complex<Real> product_conj(const complex<Real>& a, const complex<Real>& b) {
  return {multiply_add(a.im, b.im, a.re * b.re), multiply_add(a.im, b.re, -(a.re * b.im))};
}
/// Returns c - a b
template <class Real>
PLAQUETTE_KERNEL_INLINE complex<Real> minus_product(const complex<Real>& c, const complex<Real>& a,
                                                    const complex<Real>& b) {
  return {multiply_add(a.im, b.im, multiply_add(-a.re, b.re, c.re)),
          multiply_add(-a.im, b.re, multiply_add(-a.re, b.im, c.im))};
}

template <class Real>
PLAQUETTE_KERNEL_INLINE void third_row_from_others(su3<Real>& u) {
#pragma unroll
  for (int i = 0; i < colours; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    u.e[2][i] = minor_of(u.e[0][j], u.e[1][k], u.e[0][k], u.e[1][j]);
  }
}

/// Computes the matrix of eight parameters, `matrix_of_parameters` of common/algebra/link_reconstruction.hpp in fewer
/// operations. Let v_k be the last two elements of the first row, and rho_0 = conj(phase beta). But for their first
/// elements, the second and third row of the frame are rho_0 (e_1 - gamma conj(v_0) v) and e_2 - gamma conj(v_1) v. So
/// SU(2) turns them into c - gamma (c . conj v) v.
template <class Real>
PLAQUETTE_KERNEL_INLINE void matrix_of_eight(su3<Real>& u, const Real (&p)[8]) {
  const complex<Real> phase{static_cast<Real>(frame_phase_cos), static_cast<Real>(frame_phase_sin)};
  const Real one(1), two(2);
  Real p2 = p[0] * p[0];
#pragma unroll
  for (int k = 1; k < 5; ++k) p2 = multiply_add(p[k], p[k], p2);
  const Real r = quick_inverse(one + p2);
  const Real cosine = (one - p2) * r;        // of half the angle of the first row's point
  const Real length = Real(4) * r * cosine;  // from parameters to coordinates
  const Real t = two * cosine * cosine;      // 1 + re alpha
  const complex<Real> alpha{multiply_add(two * cosine, cosine, -one), length * p[0]};
  u.e[0][0] = product(phase, alpha);
  const complex<Real> stretch{length * phase.re, length * phase.im};
  u.e[0][1] = product(stretch, complex<Real>{p[1], p[2]});
  u.e[0][2] = product(stretch, complex<Real>{p[3], p[4]});
  const Real over = quick_inverse(multiply_add(alpha.im, alpha.im, t * t));
  const complex<Real> gamma{t * over, alpha.im * over};
  const complex<Real> beta{multiply_add(two * t, gamma.re, -one), two * t * gamma.im};
  const complex<Real> rotation = product(phase, beta);

  Real q2 = p[5] * p[5];
  q2 = multiply_add(p[6], p[6], q2);
  q2 = multiply_add(p[7], p[7], q2);
  const Real s = quick_inverse(one + q2);
  const Real other_cosine = (one - q2) * s, other_length = Real(4) * s * other_cosine;
  const complex<Real> a{multiply_add(two * other_cosine, other_cosine, -one), other_length * p[7]};
  const complex<Real> c0 = product_conj(a, rotation), c1{other_length * p[6], other_length * p[5]};

  const complex<Real> d0 = product_conj(c0, u.e[0][1]), d1 = product_conj(c1, u.e[0][2]);
  const complex<Real> d{d0.re + d1.re, d0.im + d1.im}, first = product(rotation, d), e = product(gamma, d);
  u.e[1][0] = {-first.re, -first.im};
  u.e[1][1] = minus_product(c0, e, u.e[0][1]);
  u.e[1][2] = minus_product(c1, e, u.e[0][2]);
  third_row_from_others(u);
}

template <class T, reconstruct stored>
PLAQUETTE_KERNEL_INLINE void make_whole(su3<real_of<T>>& u, const loaded_link<T, stored>& link) {
  using real = real_of<T>;
  if constexpr (stored == reconstruct::eight) {
    real p[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) p[k] = link.number(k);
    matrix_of_eight(u, p);
  } else {
    constexpr int rows = stored == reconstruct::none ? 3 : 2;
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
      for (int j = 0; j < colours; ++j) u.e[i][j] = {link.number(2 * (3 * i + j)), link.number(2 * (3 * i + j) + 1)};
    if constexpr (rows == 2) third_row_from_others(u);
  }
}

/// Computes g = U h, or U^+ h.
template <bool adjoint, class Real>
PLAQUETTE_KERNEL_INLINE void multiply(spin_rows<Real, 2>& g, const su3<Real>& u, const spin_rows<Real, 2>& h) {
#pragma unroll
  for (int a = 0; a < 2; ++a)
#pragma unroll
    for (int i = 0; i < colours; ++i) {
      complex<Real> sum{};
#pragma unroll
      for (int j = 0; j < colours; ++j) {
        const Real re = adjoint ? u.e[j][i].re : u.e[i][j].re, im = adjoint ? -u.e[j][i].im : u.e[i][j].im;
        const complex<Real> v = h.z[a][j];
        sum.re = j == 0 ? re * v.re : multiply_add(re, v.re, sum.re);
        sum.im = j == 0 ? re * v.im : multiply_add(re, v.im, sum.im);
        sum.re = multiply_add(-im, v.im, sum.re);
        sum.im = multiply_add(im, v.re, sum.im);
      }
      g.z[a][i] = sum;
    }
}

}  // namespace plaquette::gpu
