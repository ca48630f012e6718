// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The columns of P and coarse vectors as the library has them. Its coarse sites are in another order: even ones first.
#pragma once

#include "cpu_ref/coarse/transfer.hpp"
#include "ladder/transfer/aggregates.hpp"

namespace ladder::transfer {

inline plaquette::null_space null_space_of(const aggregates& a, const plaquette::lattice_geometry& lattice) {
  const plaquette::aggregates blocks(lattice, coarsened(lattice, {2, 2, 2, 2}));
  plaquette::null_space space(blocks, 6, a.vectors);
  for (int site = 0; site < a.fine.sites(); ++site)
    for (int row = 0; row < 12; ++row)
      for (int k = 0; k < a.vectors; ++k) {
        const std::size_t column = std::size_t((a.coarse_site[std::size_t(site)] * 2 + row / 6) * a.vectors + k);
        const number z = a.column(column)[a.member_of[std::size_t(site)] * 6 + row % 6];
        space.row(blocks.row_begin(blocks.place(site), row / 6, 6) + row % 6)[k] = {float(z.real()), float(z.imag())};
      }
  return space;
}

/// Copies a coarse vector of the ladder into a column, and back.
template <class T>
void import_vector(plaquette::cpu::coarse_field<T>& to, int column, const vector& from, const grid& coarse) {
  for (int site = 0; site < coarse.sites(); ++site)
    for (int k = 0; k < coarse.numbers; ++k) {
      const number z = from[std::size_t(site * coarse.numbers + k)];
      to.at(to.geometry().site(coarse.coordinates(site)), column)[k] = {T(z.real()), T(z.imag())};
    }
}
template <class T>
void export_vector(vector& to, const plaquette::cpu::coarse_field<T>& from, int column, const grid& coarse) {
  for (int site = 0; site < coarse.sites(); ++site)
    for (int k = 0; k < coarse.numbers; ++k) {
      const auto& z = from.at(from.geometry().site(coarse.coordinates(site)), column)[k];
      to[std::size_t(site * coarse.numbers + k)] = {z.re, z.im};
    }
}

}  // namespace ladder::transfer
