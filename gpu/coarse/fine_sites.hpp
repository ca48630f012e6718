// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fine fields as the steps between a lattice and its aggregates see them: numbers of a chirality by rows. A site is
/// what `aggregate_pointers::site` holds. For .cu files only.
#pragma once

#include "gpu/coarse/coarse_field.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

inline constexpr int fine_rows = 6;  ///< numbers of a chirality: (spin mod 2) * 3 + colour, DeGrand-Rossi basis

/// Fields of quarks, whose basis is the time-diagonal one: upper and lower numbers r and r + 6 make the numbers of both
/// chiralities.
template <class T>
struct fine_spinors {
  using real = float;
  spinor_pointer<T> part[2];  ///< even, odd sites; null if the field has none
  bool has[2];
  std::int32_t sites;  ///< of a parity

  static constexpr int rows() { return fine_rows; }
  PLAQUETTE_HOST_DEVICE void load(std::int32_t site, int column, complex<float> (&numbers)[2 * fine_rows]) const {
    const int parity = site >= sites ? 1 : 0;
    complex<real_of<T>> stored[2 * fine_rows];
    const spinor_pointer<const T> from = part[parity];
    load_site<T>(from, site - parity * sites, column, stored);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < 2 * fine_rows; ++k) numbers[k] = complex_cast<float>(stored[k]);
    rotate_spin_basis(numbers, colours);
  }
  /// Stores numbers of the DeGrand-Rossi basis, or adds them to the stored ones.
  PLAQUETTE_HOST_DEVICE void store(std::int32_t site, int column, complex<float> (&numbers)[2 * fine_rows],
                                   bool add) const {
    const int parity = site >= sites ? 1 : 0;
    rotate_spin_basis(numbers, colours);
    complex<real_of<T>> stored[2 * fine_rows]{};
    if (add) load_site<T>(part[parity], site - parity * sites, column, stored);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < 2 * fine_rows; ++k) stored[k] += complex_cast<real_of<T>>(numbers[k]);
    store_site<T>(part[parity], site - parity * sites, column, stored);
  }
};

template <class T>
fine_spinors<T> fine_spinors_of(const field<T>& x) {
  field<T> shared = x;
  fine_spinors<T> q{};
  q.sites = x.order().sites;
  for (int p = 0; p < x.parts(); ++p) {
    q.part[x.parity_of_part(p)] = shared.sites(p);
    q.has[x.parity_of_part(p)] = true;
  }
  return q;
}

/// Fields of a coarse lattice.
template <class T>
struct coarse_sites {
  coarse_pointer<complex<T>> x;
  std::int64_t first_site;
  bool has[2];

  PLAQUETTE_HOST_DEVICE complex<T>& number(std::int32_t site, int column, int chirality, int row) const {
    return x.at(site - first_site, column)[chirality * (x.n / 2) + row];
  }
};

template <class T>
coarse_sites<T> coarse_sites_of(const coarse_field<T>& x) {
  coarse_field<T> shared = x;
  return {shared.numbers(),
          x.first_site(),
          {x.shape().sites != site_subset::odd,
           x.shape().sites != site_subset::even}};  // if a lattice has no two parities, fields are full
}

}  // namespace plaquette::gpu
