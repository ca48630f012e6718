// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of a coarse lattice that is divided among ranks, from and to fields of the same lattice that every rank holds
/// whole. The twin of cpu_ref/coarse/lattice_gather.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/coarse/coarse_field.hpp"
#include "gpu/halo/rank_gather.hpp"

namespace plaquette::gpu {

/// One caller at a time.
class lattice_gather {
 public:
  /// \param on     of the ranks that have a part each
  /// \param part   this rank's part
  /// \param whole  the same lattice in one box
  /// Collective, and so is the end of its life.
  lattice_gather(const execution& on, const coarse_geometry& part, const coarse_geometry& whole);

  /// Makes every rank's part a part of everybody's `whole`. Fields have all sites and the same columns. Collective;
  /// nothing waits where kernels of ranks reach each other's memory, but for a wider batch than any before.
  template <class T>
  void gather(coarse_field<T>& whole, const coarse_field<T>& part) const;
  /// Computes part = this rank's sites of whole
  template <class T>
  void take_part(coarse_field<T>& part, const coarse_field<T>& whole) const;

 private:
  queue queue_;
  std::shared_ptr<rank_gather> ranks_;
  std::shared_ptr<const std::int32_t> origin_;  ///< [site of the whole lattice]: which of all ranks' sites it is
  std::shared_ptr<const std::int32_t> places_;  ///< [site of this rank]: in the whole lattice
  std::int64_t sites_;                          ///< of a rank
};

}  // namespace plaquette::gpu
