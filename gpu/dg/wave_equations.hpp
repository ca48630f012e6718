// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The physics at one point: right-hand sides from derivatives, and fluxes between two sides of a face. Formulas of
/// common/dg/dg_problem.hpp; J. S. Hesthaven, T. Warburton, Nodal Discontinuous Galerkin Methods (2008), 6.5 and 10.5.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"
#include "gpu/dg/dg_arrays.hpp"

namespace plaquette::gpu::dg {

/// A face seen from an element.
template <class T>
struct face_side {
  T n[3];         ///< outward normal
  T scale;        ///< Fscale
  T here, there;  ///< impedances
  T upwinding;
};

template <class T>
struct medium_constants {
  T per_first, per_second;
};

template <class T>
PLAQUETTE_HOST_DEVICE T dot(const T (&a)[3], const T (&b)[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// p_t = -div u / first, u_t = -grad p / second. Fields p, u, v, w; in two dimensions w = 0.
template <class T>
struct acoustics {
  using real = T;
  static constexpr int fields = 4, used = 4;
  static constexpr int negated_from = 1, negated_to = 4;  ///< fields that a reflecting wall turns around

  /// From d[i][field], the derivative along x_i: rhs but for the constants of the medium.
  PLAQUETTE_HOST_DEVICE static void volume(const T (&d)[3][fields], T (&rhs)[fields]) {
    rhs[0] = -(d[0][1] + d[1][2] + d[2][3]);
    for (int i = 0; i < 3; ++i) rhs[1 + i] = -d[i][0];
  }
  /// Computes the lifted flux: Fscale times the flux of the fields' difference, there - here.
  PLAQUETTE_HOST_DEVICE static void flux(const face_side<T>& face, const T (&difference)[fields], T (&result)[fields]) {
    const T share = face.scale / (face.here + face.there);
    const T(&n)[3] = face.n;
    const T dp = difference[0], dn = n[0] * difference[1] + n[1] * difference[2] + n[2] * difference[3];
    result[0] = share * (face.upwinding * dp - face.there * dn);
    const T normal = share * face.here * (face.upwinding * face.there * dn - dp);
    for (int i = 0; i < 3; ++i) result[1 + i] = n[i] * normal;
  }
  PLAQUETTE_HOST_DEVICE static T constant(const medium_constants<T>& m, int field) {
    return field == 0 ? m.per_first : m.per_second;
  }
};

/// mu H_t = -curl E, eps E_t = curl H. Fields Hx, Hy, Hz, Ex, Ey, Ez.
template <class T>
struct maxwell {
  using real = T;
  static constexpr int fields = 6, used = 6;
  static constexpr int negated_from = 3, negated_to = 6;

  PLAQUETTE_HOST_DEVICE static void volume(const T (&d)[3][fields], T (&rhs)[fields]) {
    rhs[0] = d[2][4] - d[1][5];
    rhs[1] = d[0][5] - d[2][3];
    rhs[2] = d[1][3] - d[0][4];
    rhs[3] = d[1][2] - d[2][1];
    rhs[4] = d[2][0] - d[0][2];
    rhs[5] = d[0][1] - d[1][0];
  }
  PLAQUETTE_HOST_DEVICE static void flux(const face_side<T>& face, const T (&difference)[fields], T (&result)[fields]) {
    const T share = face.scale / (face.here + face.there);
    const T(&n)[3] = face.n;
    const T h[3] = {difference[0], difference[1], difference[2]}, e[3] = {difference[3], difference[4], difference[5]};
    const T nh = dot(n, h), ne = dot(n, e);
    for (int i = 0; i < 3; ++i) {
      const int j = i == 2 ? 0 : i + 1, k = i == 0 ? 2 : i - 1;
      const T n_cross_e = n[j] * e[k] - n[k] * e[j], n_cross_h = n[j] * h[k] - n[k] * h[j];
      result[i] = share * face.here * (face.there * face.upwinding * (h[i] - n[i] * nh) - n_cross_e);
      result[3 + i] = share * (face.there * n_cross_h + face.upwinding * (e[i] - n[i] * ne));
    }
  }
  PLAQUETTE_HOST_DEVICE static T constant(const medium_constants<T>& m, int field) {
    return field < 3 ? m.per_second : m.per_first;
  }
};

/// Maxwell's equations in the plane: Hx, Hy, Ez; the fourth number is 0.
template <class T>
struct maxwell_tm {
  using real = T;
  static constexpr int fields = 4, used = 3;
  static constexpr int negated_from = 2, negated_to = 3;

  PLAQUETTE_HOST_DEVICE static void volume(const T (&d)[3][fields], T (&rhs)[fields]) {
    rhs[0] = -d[1][2];
    rhs[1] = d[0][2];
    rhs[2] = d[0][1] - d[1][0];
    rhs[3] = T(0);
  }
  PLAQUETTE_HOST_DEVICE static void flux(const face_side<T>& face, const T (&difference)[fields], T (&result)[fields]) {
    const T share = face.scale / (face.here + face.there);
    const T(&n)[3] = face.n;
    const T hx = difference[0], hy = difference[1], ez = difference[2];
    const T nh = n[0] * hx + n[1] * hy;
    result[0] = share * face.here * (face.there * face.upwinding * (hx - n[0] * nh) - n[1] * ez);
    result[1] = share * face.here * (face.there * face.upwinding * (hy - n[1] * nh) + n[0] * ez);
    result[2] = share * (face.there * (n[0] * hy - n[1] * hx) + face.upwinding * ez);
    result[3] = T(0);
  }
  PLAQUETTE_HOST_DEVICE static T constant(const medium_constants<T>& m, int field) {
    return field < 2 ? m.per_second : m.per_first;
  }
};

/// Returns the numbers of one face that a kernel reads.
template <class T>
PLAQUETTE_HOST_DEVICE face_side<T> read_face(const mesh_arrays<T>& mesh, std::int64_t element, int face, bool is_open) {
  const T* const m = mesh.geometry + element * 16 + face * 4;
  const T inverse = T(-1) / m[3];
  const T* const medium = mesh.media + element * media_numbers;
  const bool varies = mesh.media != nullptr;
  return {{m[0] * inverse, m[1] * inverse, m[2] * inverse},
          m[3],
          varies ? medium[2] : T(1),
          varies ? medium[4 + face] : T(1),
          is_open ? T(1) : mesh.upwinding};
}
template <class T>
PLAQUETTE_HOST_DEVICE medium_constants<T> read_medium(const mesh_arrays<T>& mesh, std::int64_t element) {
  if (mesh.media == nullptr) return {T(1), T(1)};
  return {mesh.media[element * media_numbers], mesh.media[element * media_numbers + 1]};
}

/// Computes the difference of fields across face node m: there - here.
template <class Equations, class T, int fields>
PLAQUETTE_HOST_DEVICE void face_difference(const mesh_arrays<T>& mesh, const node_values<T, fields>* column,
                                           std::int64_t element, int face, int m, const decoded_link& link,
                                           T (&difference)[fields]) {
  const int own = mesh.partner[static_cast<int>(mirror_code + static_cast<unsigned>(face)) * mesh.face_nodes + m];
  const int other = mesh.partner[link.code * mesh.face_nodes + m];
  const node_values<T, fields> here = column[element * mesh.nodes + own], there = column[link.place + other];
  for (int f = 0; f < fields; ++f) {
    const bool is_negated = link.is_mirror && f >= Equations::negated_from && f < Equations::negated_to;
    difference[f] = (is_negated ? -there.f[f] : there.f[f]) - here.f[f];
  }
}

}  // namespace plaquette::gpu::dg
