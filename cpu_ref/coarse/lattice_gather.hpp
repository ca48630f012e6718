// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of a coarse lattice that is divided among ranks, from and to fields of the same lattice that every rank holds
/// whole. The twin of gpu/coarse/lattice_gather.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "common/lattice/coarse_geometry.hpp"
#include "cpu_ref/coarse/coarse_field.hpp"

namespace plaquette::cpu {

/// One caller at a time.
class lattice_gather {
 public:
  /// \param on     of the ranks that have a part each
  /// \param part   this rank's part
  /// \param whole  the same lattice in one box
  lattice_gather(const execution& on, const coarse_geometry& part, const coarse_geometry& whole);

  /// Makes every rank's part a part of everybody's `whole`. Fields have all sites and the same columns. Collective.
  template <class T>
  void gather(coarse_field<T>& whole, const coarse_field<T>& part) const;
  /// Computes part = this rank's sites of whole
  template <class T>
  void take_part(coarse_field<T>& part, const coarse_field<T>& whole) const;

 private:
  execution execution_;
  std::vector<std::int64_t> places_;  ///< [rank][site]: in the whole lattice
  std::int64_t first_;                ///< of this rank's places
  std::int64_t sites_;                ///< of a rank
  mutable std::vector<std::byte> mine_, all_;
};

}  // namespace plaquette::cpu
