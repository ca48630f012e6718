// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which sites of a lattice make up a site of the coarser one.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "common/lattice/coarse_geometry.hpp"

namespace plaquette {

/// The fine sites of this rank, aggregate by aggregate in the order of the coarse sites. Within an aggregate come the
/// sites of even global parity first, each parity in lexicographic order.
class aggregates {
 public:
  /// \param fine_local, fine_origin  the box that a rank holds of the fine lattice
  aggregates(const extents& fine_local, const coordinate& fine_origin, const coarse_geometry& coarse);
  aggregates(const lattice_geometry& fine, const coarse_geometry& coarse)
      : aggregates(fine.local(), fine.origin(), coarse) {}
  aggregates(const coarse_geometry& fine, const coarse_geometry& coarse)
      : aggregates(fine.local(), fine.origin(), coarse) {}

  const coarse_geometry& coarse() const { return coarse_; }
  const extents& fine_local() const { return fine_local_; }
  const extents& shape() const { return shape_; }
  std::int64_t fine_sites() const { return static_cast<std::int64_t>(order_.size()); }
  /// Returns the sites of an aggregate.
  int volume() const { return volume_; }

  /// Place of the first site of a coarse site's aggregate.
  std::int64_t begin(std::int64_t coarse_site) const { return coarse_site * volume_; }
  /// Returns how many of an aggregate's sites have this parity.
  int sites_of(std::int64_t coarse_site, int parity) const {
    const int even = even_[static_cast<std::size_t>(coarse_site)];
    return parity == 0 ? even : volume_ - even;
  }
  /// Returns the fine site (local lexicographic index) at a place.
  std::int64_t fine_site(std::int64_t place) const { return order_[static_cast<std::size_t>(place)]; }
  /// Returns the inverse.
  std::int64_t place(std::int64_t fine_site) const { return places_[static_cast<std::size_t>(fine_site)]; }

  /// Returns the numbers of a fine field in the order of aggregates: [coarse site][parity][chirality][site][row],
  /// `rows` numbers a fine site and chirality. Returns where the rows of a place begin for a chirality.
  std::int64_t row_begin(std::int64_t place, int chirality, int rows) const {
    const std::int64_t coarse_site = place / volume_, within = place % volume_;
    const int even = even_[static_cast<std::size_t>(coarse_site)];
    const bool odd = within >= even;
    const std::int64_t first = odd ? even : 0, count = odd ? volume_ - even : even;
    return (2 * (begin(coarse_site) + first) + chirality * count + (within - first)) * rows;
  }
  /// Returns where the rows of a coarse site, parity and chirality begin.
  std::int64_t block_begin(std::int64_t coarse_site, int parity, int chirality, int rows) const {
    const std::int64_t even = even_[static_cast<std::size_t>(coarse_site)];
    const std::int64_t first = parity == 0 ? 0 : even, count = parity == 0 ? even : volume_ - even;
    return (2 * (begin(coarse_site) + first) + chirality * count) * rows;
  }

 private:
  coarse_geometry coarse_;
  extents fine_local_, shape_;
  int volume_;
  std::vector<std::int32_t> order_, places_;
  std::vector<int> even_;
};

/// What became of vectors that were made orthonormal on every aggregate and chirality.
struct orthonormalisation {
  /// On how many aggregates (times chirality) each vector added nothing to those before it, and a random one took its
  /// place; over all ranks.
  std::vector<std::int64_t> replaced_of;
  std::int64_t places;  ///< aggregates times chiralities, on all ranks

  std::int64_t replaced() const { return std::accumulate(replaced_of.begin(), replaced_of.end(), std::int64_t{0}); }
  /// Whether vector k added nothing anywhere.
  bool is_useless(int k) const { return replaced_of[static_cast<std::size_t>(k)] >= places; }
};

}  // namespace plaquette
