// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/aggregates.hpp"

namespace plaquette {

aggregates::aggregates(const extents& fine_local, const coordinate& fine_origin, const coarse_geometry& coarse)
    : coarse_(coarse), fine_local_(fine_local), shape_{} {
  for (int mu = 0; mu < dimensions; ++mu) shape_[mu] = fine_local[mu] / coarse.local()[mu];
  volume_ = static_cast<int>(plaquette::volume(shape_));
  places_.resize(static_cast<std::size_t>(plaquette::volume(fine_local)));
  for (std::int64_t s = 0; s < coarse.sites(); ++s) {
    const coordinate corner = coarse.local_coordinate(s);
    for (int p = 0; p < 2; ++p) {
      for (int i = 0; i < volume_; ++i) {
        coordinate x = coordinate_of(i, shape_);
        for (int mu = 0; mu < dimensions; ++mu) x[mu] += corner[mu] * shape_[mu];
        if (((parity(x) + parity(fine_origin)) & 1) != p) continue;
        const std::int64_t site = lexicographic(x, fine_local);
        places_[static_cast<std::size_t>(site)] = static_cast<std::int32_t>(order_.size());
        order_.push_back(static_cast<std::int32_t>(site));
      }
      if (p == 0) even_.push_back(static_cast<int>(static_cast<std::int64_t>(order_.size()) - begin(s)));
    }
  }
}

}  // namespace plaquette
