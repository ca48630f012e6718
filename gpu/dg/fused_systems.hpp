// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Acoustics and Maxwell's equations in the coordinates of the element, where they need the fewest products.
///
/// Let g_a = grad r_a and e_a = dx / dr_a, so that g_a . e_b is 1 for a = b and else 0. D_a is the derivative along
/// r_a.
///
/// Acoustics: div u = sum_a D_a (g_a . u), grad p = sum_a g_a D_a p: six products. With upwind flux the velocity's flux
/// is -n Z times the pressure's, and n Fscale is -m_f (m_f = 2 grad lambda_f; m_a = g_a, m_0 = -(g_1 + g_2 + g_3)). So
/// one number h a face node, lifted once, serves all fields.
///
/// Maxwell: J (curl E) . g_a = D_b (e_c . E) - D_c (e_b . E) for (a, b, c) cyclic: six products for each of E and H.
/// With upwind flux the flux of E is n x the flux of H over Z. Both lie in the face, on two edges tau_1, tau_2 of it:
/// two numbers h_1, h_2 a face node. The product n x acts on them by the matrix of Gram numbers
/// gamma_ij = tau_i . tau_j / (J Fscale).
#pragma once

#include <cmath>
#include <cstdint>

#include "gpu/dg/dg_arrays.hpp"
#include "gpu/dg/fused_engines.hpp"

namespace plaquette::gpu::dg {

/// Returns 1 / x of a number that is neither tiny nor huge, without the branches that those need.
template <class T>
PLAQUETTE_DG_DEVICE T reciprocal(T x) {
#ifdef __CUDACC__
  if constexpr (sizeof(T) == 8) {
    T y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));  // 20 bits
    y = fma(y, fma(-x, y, 1.0), y);
    return fma(y, fma(-x, y, 1.0), y);
  } else {
    T y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fmaf(y, fmaf(-x, y, 1.0F), y);
  }
#else
  return T(1) / x;
#endif
}

/// Returns 1 / sqrt(x), likewise.
template <class T>
PLAQUETTE_DG_DEVICE T reciprocal_root(T x) {
#ifdef __CUDACC__
  if constexpr (sizeof(T) == 8) {
    return rsqrt(x);
  } else {
    const T y = rsqrtf(x);
    return fmaf(T(0.5) * y, fmaf(-x * y, y, 1.0F), y);
  }
#else
  return T(1) / std::sqrt(x);
#endif
}

template <class T>
struct acoustics_in_element {
  using real = T;
  static constexpr int fields = 4;
  static constexpr int plane_width = 16 / static_cast<int>(sizeof(T));  ///< numbers of a node side by side
  static constexpr int sets = 4;                                        ///< of sums a node
  static constexpr int of_face = 1;                                     ///< numbers lifted a face node
  static constexpr int lifted = 4;                                      ///< numbers lifted of four faces
  static constexpr int record = 16;   ///< numbers of an element in memory: m_f, Fscale of each face
  static constexpr int derived = 16;  ///< {c, kappa} of each face; Fscale / Z of each; 1 / first, 1 / second

  /// Computes h = Z (dp - Z' dn) / (Z + Z') = c dp + kappa m_f . du, with Z' behind the face.
  PLAQUETTE_DG_DEVICE static void derive(const T* record_, const T* medium, T /*upwinding*/, int face, T* to) {
    const T scale = record_[4 * face + 3];
    T share = T(0.5), kappa = T(0.5), per_impedance = T(1), per_first = T(1), per_second = T(1);
    if (medium != nullptr) {
      const T here = medium[2], there = medium[4 + face];
      share = here * reciprocal(here + there);
      kappa = share * there;
      per_impedance = reciprocal(here);
      per_first = medium[0];
      per_second = medium[1];
    }
    to[2 * face] = share;
    to[2 * face + 1] = kappa * reciprocal(scale);
    to[8 + face] = scale * per_impedance;
    if (face == 0) to[12] = per_first, to[13] = per_second;
  }
  /// Computes (g_1 . u, g_2 . u, g_3 . u, p).
  PLAQUETTE_DG_DEVICE static void to_element(const T* record_, const node_values<T, 4>& q, T (&t)[4]) {
    PLAQUETTE_DG_UNROLL
    for (int a = 0; a < 3; ++a) t[a] = along(record_ + 4 * (a + 1), q);
    t[3] = q.f[0];
  }
  PLAQUETTE_DG_DEVICE static void flux(const T* record_, const T* derived_, int face, bool is_mirror,
                                       const node_values<T, 4>& there, const T (&here)[4], T* h) {
    const T own = face == 0 ? -(here[0] + here[1] + here[2]) : here[face - 1];
    const T other = along(record_ + 4 * face, there);
    h[0] = derived_[2 * face] * (there.f[0] - here[3]) + derived_[2 * face + 1] * ((is_mirror ? -other : other) - own);
  }
  template <class Engine, class Sums, class Left, class Right>
  PLAQUETTE_DG_DEVICE static void lift(Sums& z, const Left& lift_of_face, const Right& h) {
    PLAQUETTE_DG_UNROLL
    for (int f = 0; f < 4; ++f) Engine::multiply_add(z[f], lift_of_face[f], h[f]);
  }
  /// Goes from the lifted h of the four faces to the start of sums over the volume: the terms of div u, and D_a p.
  PLAQUETTE_DG_DEVICE static void merge(const T* /*record*/, const T* derived_, T (&z)[4]) {
    const T z0 = z[0];
    z[0] = -(derived_[8] * z0 + derived_[9] * z[1] + derived_[10] * z[2] + derived_[11] * z[3]);
    PLAQUETTE_DG_UNROLL
    for (int a = 1; a < 4; ++a) z[a] = z0 - z[a];
  }
  template <class Engine, class Sums, class Left, class Right>
  PLAQUETTE_DG_DEVICE static void volume(Sums& z, const Left& d, const Right& t) {
    PLAQUETTE_DG_UNROLL
    for (int a = 0; a < 3; ++a) {
      Engine::multiply_add(z[0], d[a], t[a]);
      Engine::multiply_add(z[1 + a], d[a], t[3]);
    }
  }
  PLAQUETTE_DG_DEVICE static void finish(const T* record_, const T* derived_, const T (&z)[4], T (&rhs)[4]) {
    rhs[0] = -derived_[12] * z[0];
    PLAQUETTE_DG_UNROLL
    for (int x = 0; x < 3; ++x)
      rhs[1 + x] = -derived_[13] * (record_[4 + x] * z[1] + record_[8 + x] * z[2] + record_[12 + x] * z[3]);
  }
  PLAQUETTE_DG_DEVICE static T along(const T* m, const node_values<T, 4>& q) {
    return m[0] * q.f[1] + m[1] * q.f[2] + m[2] * q.f[3];
  }
};

/// Acoustics with any flux, alpha = 1 upwind, 0 central. Two numbers a face node: the lifted term of p_t, and h.
template <class T>
struct acoustics_of_any_flux : acoustics_in_element<T> {
  using upwind = acoustics_in_element<T>;
  static constexpr int of_face = 2, lifted = 8;
  static constexpr int derived = 20;  ///< {c, kappa, Fscale alpha / (Z + Z'), Z' / (Z + Z')} of each face; 1 / first,
                                      ///< 1 / second

  /// Computes h = Z (dp - alpha Z' dn) / (Z + Z') = c dp + kappa m_f . du.
  PLAQUETTE_DG_DEVICE static void derive(const T* record_, const T* medium, T upwinding, int face, T* to) {
    const T scale = record_[4 * face + 3];
    T here = T(1), there = T(1), per_first = T(1), per_second = T(1);
    if (medium != nullptr) here = medium[2], there = medium[4 + face], per_first = medium[0], per_second = medium[1];
    const T share = reciprocal(here + there);
    to[4 * face] = here * share;
    to[4 * face + 1] = here * share * there * upwinding * reciprocal(scale);
    to[4 * face + 2] = scale * share * upwinding;
    to[4 * face + 3] = there * share;
    if (face == 0) to[16] = per_first, to[17] = per_second;
  }
  /// Computes both with the sign with which they enter div u and D_a p.
  PLAQUETTE_DG_DEVICE static void flux(const T* record_, const T* derived_, int face, bool is_mirror,
                                       const node_values<T, 4>& there, const T (&here)[4], T* h) {
    const T own = face == 0 ? -(here[0] + here[1] + here[2]) : here[face - 1];
    const T other = upwind::along(record_ + 4 * face, there);
    const T dp = there.f[0] - here[3], du = (is_mirror ? -other : other) - own;
    const T* const d = derived_ + 4 * face;
    const T of_velocity = d[0] * dp + d[1] * du;
    h[0] = -(d[2] * dp + d[3] * du);
    h[1] = face == 0 ? of_velocity : -of_velocity;
  }
  template <class Engine, class Sums, class Left, class Right>
  PLAQUETTE_DG_DEVICE static void lift(Sums& z, const Left& lift_of_face, const Right& h) {
    PLAQUETTE_DG_UNROLL
    for (int f = 0; f < 4; ++f) Engine::multiply_add(z[0], lift_of_face[f], h[2 * f]);
    PLAQUETTE_DG_UNROLL
    for (int a = 1; a < 4; ++a) {
      Engine::multiply_add(z[a], lift_of_face[0], h[1]);
      Engine::multiply_add(z[a], lift_of_face[a], h[2 * a + 1]);
    }
  }
  PLAQUETTE_DG_DEVICE static void merge(const T* /*record*/, const T* /*derived*/, T (& /*z*/)[4]) {}
  PLAQUETTE_DG_DEVICE static void finish(const T* record_, const T* derived_, const T (&z)[4], T (&rhs)[4]) {
    upwind::finish(record_, derived_ + 4, z, rhs);
  }
};

/// Differences across a face of H and E along its two edges.
template <class T>
struct face_edges {
  T h1, h2, e1, e2;
};

template <class T>
struct maxwell_in_element {
  using real = T;
  static constexpr int fields = 6;
  static constexpr int plane_width = 2;
  static constexpr int sets = 8;
  static constexpr int of_face = 2;
  static constexpr int lifted = 8;
  static constexpr int record = 12;   ///< e_1, 1/J, e_2, 0, e_3, 0
  static constexpr int derived = 24;  ///< {yE, yH} of each face; {gamma_11, gamma_12, gamma_22} of each; 1/Z; 1/(J mu);
                                      ///< 1/(J eps)

  PLAQUETTE_DG_DEVICE static void derive(const T* record_, const T* medium, T /*upwinding*/, int face, T* to) {
    T y_e = T(0.5), y_h = T(0.5), per_impedance = T(1), per_first = T(1), per_second = T(1);
    if (medium != nullptr) {
      const T here = medium[2], there = medium[4 + face];
      y_e = here * reciprocal(here + there);
      y_h = y_e * there;
      per_impedance = reciprocal(here);
      per_first = medium[0];
      per_second = medium[1];
    }
    to[2 * face] = face == 0 ? y_e : -y_e;  // n is along tau_1 x tau_2 on face 0 alone
    to[2 * face + 1] = y_h;
    metric_of_face(record_, face, to + 8 + 3 * face);
    if (face == 0) to[20] = per_impedance, to[21] = per_second * record_[3], to[22] = per_first * record_[3];
  }
  /// Computes gamma_ij = tau_i . tau_j / (J Fscale), where |tau_1 x tau_2| = |J| Fscale.
  PLAQUETTE_DG_DEVICE static void metric_of_face(const T* record_, int face, T* gamma) {
    const int b = face == 0 ? 1 : face % 3, c = face == 0 ? 2 : (face + 1) % 3;
    T t[2][3], squares = T(0);
    PLAQUETTE_DG_UNROLL
    for (int x = 0; x < 3; ++x) {
      const T origin = face == 0 ? record_[x] : T(0);
      t[0][x] = record_[4 * b + x] - origin;
      t[1][x] = record_[4 * c + x] - origin;
    }
    PLAQUETTE_DG_UNROLL
    for (int x = 0; x < 3; ++x) {
      const int y = (x + 1) % 3, z = (x + 2) % 3;
      const T cross = t[0][y] * t[1][z] - t[0][z] * t[1][y];
      squares += cross * cross;
    }
    const T root = reciprocal_root(squares), per_area = record_[3] < T(0) ? -root : root;  // left-handed: J < 0
    gamma[0] = per_area * (t[0][0] * t[0][0] + t[0][1] * t[0][1] + t[0][2] * t[0][2]);
    gamma[1] = per_area * (t[0][0] * t[1][0] + t[0][1] * t[1][1] + t[0][2] * t[1][2]);
    gamma[2] = per_area * (t[1][0] * t[1][0] + t[1][1] * t[1][1] + t[1][2] * t[1][2]);
  }
  // In products, numbers along e_2 (t[1], t[4]) and sums along e_3 (z[2], z[5]) have the other sign. Then one D_a in
  // place of three has to be negated.

  /// Computes (e_a . H, e_a . E).
  PLAQUETTE_DG_DEVICE static void to_element(const T* record_, const node_values<T, 6>& q, T (&t)[6]) {
    PLAQUETTE_DG_UNROLL
    for (int a = 0; a < 3; ++a) {
      const T* const e = record_ + 4 * a;
      const T of_h = e[0] * q.f[0] + e[1] * q.f[1] + e[2] * q.f[2];
      const T of_e = e[0] * q.f[3] + e[1] * q.f[4] + e[2] * q.f[5];
      t[a] = a == 1 ? -of_h : of_h;
      t[3 + a] = a == 1 ? -of_e : of_e;
    }
  }
  /// Returns edges of a face: tau_1 = e_b, tau_2 = e_c with (a, b, c) cyclic; of face 0 e_2 - e_1 and e_3 - e_1.
  PLAQUETTE_DG_DEVICE static face_edges<T> across(const T* record_, int face, bool is_mirror,
                                                  const node_values<T, 6>& there, const T (&here)[6]) {
    const int b = face == 0 ? 1 : face % 3, c = face == 0 ? 2 : (face + 1) % 3;
    T other[6];
    to_element(record_, there, other);
    T dh[3], de[3];
    PLAQUETTE_DG_UNROLL
    for (int a = 0; a < 3; ++a) {
      dh[a] = other[a] - here[a];
      de[a] = (is_mirror ? -other[3 + a] : other[3 + a]) - here[3 + a];
    }
    dh[1] = -dh[1], de[1] = -de[1];
    return {face == 0 ? dh[1] - dh[0] : dh[b], face == 0 ? dh[2] - dh[0] : dh[c], face == 0 ? de[1] - de[0] : de[b],
            face == 0 ? de[2] - de[0] : de[c]};
  }
  PLAQUETTE_DG_DEVICE static void flux(const T* record_, const T* derived_, int face, bool is_mirror,
                                       const node_values<T, 6>& there, const T (&here)[6], T* h) {
    const face_edges<T> d = across(record_, face, is_mirror, there, here);
    const T* const gamma = derived_ + 8 + 3 * face;
    const T y_e = derived_[2 * face], y_h = derived_[2 * face + 1];
    h[0] = y_e * d.e2 + y_h * (gamma[2] * d.h1 - gamma[1] * d.h2);
    h[1] = y_h * (gamma[0] * d.h2 - gamma[1] * d.h1) - y_e * d.e1;
  }
  template <class Engine, class Sums, class Left, class Right>
  PLAQUETTE_DG_DEVICE static void lift(Sums& z, const Left& lift_of_face, const Right& h) {
    PLAQUETTE_DG_UNROLL
    for (int s = 0; s < 8; ++s) Engine::multiply_add(z[s], lift_of_face[s / 2], h[s]);
  }
  /// To where J curl E . g_a and J curl H . g_a begin.
  PLAQUETTE_DG_DEVICE static void merge(const T* /*record*/, const T* derived_, T (&z)[8]) {
    T of_h[3] = {}, of_e[3] = {};
    PLAQUETTE_DG_UNROLL
    for (int face = 0; face < 4; ++face) {
      const T h1 = z[2 * face], h2 = z[2 * face + 1];
      const T* const gamma = derived_ + 8 + 3 * face;
      const T k1 = gamma[1] * h1 + gamma[2] * h2, k2 = gamma[0] * h1 + gamma[1] * h2;
      const int b = face == 0 ? 1 : face % 3, c = face == 0 ? 2 : (face + 1) % 3;
      of_h[b] += h1;
      of_h[c] += h2;
      if (face == 0) {
        of_h[0] -= h1 + h2;
        of_e[b] -= k1, of_e[c] += k2, of_e[0] += k1 - k2;
      } else {
        of_e[b] += k1, of_e[c] -= k2;
      }
    }
    PLAQUETTE_DG_UNROLL
    for (int a = 0; a < 3; ++a) {
      z[a] = a == 2 ? of_h[a] : -of_h[a];
      z[3 + a] = (a == 2 ? -derived_[20] : derived_[20]) * of_e[a];
    }
  }
  template <class Engine, class Sums, class Left, class Right>
  PLAQUETTE_DG_DEVICE static void volume(Sums& z, const Left& d, const Right& t) {
    Left minus;
    for_lanes([&](int l) { minus[0][l] = Engine::negated(d[0][l]); });
    PLAQUETTE_DG_UNROLL
    for (int field = 0; field < 2; ++field) {
      const int z0 = 3 * field, t0 = 3 - z0;
      Engine::multiply_add(z[z0 + 2], d[0], t[t0 + 1]);
      Engine::multiply_add(z[z0 + 1], minus[0], t[t0 + 2]);
      Engine::multiply_add(z[z0], d[1], t[t0 + 2]);
      Engine::multiply_add(z[z0 + 2], d[1], t[t0]);
      Engine::multiply_add(z[z0 + 1], d[2], t[t0]);
      Engine::multiply_add(z[z0], d[2], t[t0 + 1]);
    }
  }
  PLAQUETTE_DG_DEVICE static void finish(const T* record_, const T* derived_, const T* z, T (&rhs)[6]) {
    PLAQUETTE_DG_UNROLL
    for (int x = 0; x < 3; ++x) {
      rhs[x] = -derived_[21] * (record_[x] * z[0] + record_[4 + x] * z[1] - record_[8 + x] * z[2]);
      rhs[3 + x] = derived_[22] * (record_[x] * z[3] + record_[4 + x] * z[4] - record_[8 + x] * z[5]);
    }
  }
};

/// Maxwell's equations with any flux. Four numbers a face node: the fluxes of H and E along the two edges.
template <class T>
struct maxwell_of_any_flux : maxwell_in_element<T> {
  using upwind = maxwell_in_element<T>;
  static constexpr int sets = 6, of_face = 4, lifted = 16;
  static constexpr int derived = 32;  ///< {yE, yH alpha, yE Z'/Z, alpha / (Z + Z')} of each face; gamma of each;
                                      ///< 1/(J mu); 1/(J eps)

  PLAQUETTE_DG_DEVICE static void derive(const T* record_, const T* medium, T upwinding, int face, T* to) {
    T here = T(1), there = T(1), per_first = T(1), per_second = T(1);
    if (medium != nullptr) here = medium[2], there = medium[4 + face], per_first = medium[0], per_second = medium[1];
    const T share = reciprocal(here + there), along_normal = face == 0 ? share : -share;
    to[4 * face] = here * along_normal;
    to[4 * face + 1] = here * there * share * upwinding;
    to[4 * face + 2] = there * along_normal;
    to[4 * face + 3] = share * upwinding;
    upwind::metric_of_face(record_, face, to + 16 + 3 * face);
    if (face == 0) to[28] = per_second * record_[3], to[29] = per_first * record_[3];
  }
  /// With the signs with which they enter the sums.
  PLAQUETTE_DG_DEVICE static void flux(const T* record_, const T* derived_, int face, bool is_mirror,
                                       const node_values<T, 6>& there, const T (&here)[6], T* h) {
    const face_edges<T> d = upwind::across(record_, face, is_mirror, there, here);
    const T* const gamma = derived_ + 16 + 3 * face;
    const T* const y = derived_ + 4 * face;
    const T h1 = y[0] * d.e2 + y[1] * (gamma[2] * d.h1 - gamma[1] * d.h2);
    const T h2 = y[1] * (gamma[0] * d.h2 - gamma[1] * d.h1) - y[0] * d.e1;
    const T e1 = y[3] * (gamma[2] * d.e1 - gamma[1] * d.e2) - y[2] * d.h2;
    const T e2 = y[3] * (gamma[0] * d.e2 - gamma[1] * d.e1) + y[2] * d.h1;
    const int b = face == 0 ? 1 : face % 3, c = face == 0 ? 2 : (face + 1) % 3;
    h[0] = b == 2 ? h1 : -h1;
    h[1] = c == 2 ? h2 : -h2;
    h[2] = b == 2 ? -e1 : e1;
    h[3] = c == 2 ? -e2 : e2;
  }
  template <class Engine, class Sums, class Left, class Right>
  PLAQUETTE_DG_DEVICE static void lift(Sums& z, const Left& lift_of_face, const Right& h) {
    Left minus;
    for_lanes([&](int l) { minus[0][l] = Engine::negated(lift_of_face[0][l]); });
    PLAQUETTE_DG_UNROLL
    for (int field = 0; field < 2; ++field) {
      PLAQUETTE_DG_UNROLL
      for (int f = 0; f < 4; ++f) {
        const int b = f == 0 ? 1 : f % 3, c = f == 0 ? 2 : (f + 1) % 3;
        Engine::multiply_add(z[3 * field + b], lift_of_face[f], h[4 * f + 2 * field]);
        Engine::multiply_add(z[3 * field + c], lift_of_face[f], h[4 * f + 2 * field + 1]);
      }
      Engine::multiply_add(z[3 * field], minus[0], h[2 * field]);
      Engine::multiply_add(z[3 * field], lift_of_face[0], h[2 * field + 1]);
    }
  }
  PLAQUETTE_DG_DEVICE static void merge(const T* /*record*/, const T* /*derived*/, T (& /*z*/)[6]) {}
  PLAQUETTE_DG_DEVICE static void finish(const T* record_, const T* derived_, const T (&z)[6], T (&rhs)[6]) {
    upwind::finish(record_, derived_ + 7, z, rhs);
  }
};

}  // namespace plaquette::gpu::dg
