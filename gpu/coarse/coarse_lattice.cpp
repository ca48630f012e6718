// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_lattice.hpp"

namespace plaquette::gpu {

namespace {

bool has_parity(site_subset subset, int parity) {
  return subset == site_subset::full || (subset == site_subset::odd) == (parity == 1);
}

}  // namespace

coarse_lattice::coarse_lattice(const execution& on, const coarse_geometry& geometry)
    : execution_(on), geometry_(geometry), neighbours_(array_on_device(on, geometry.neighbours())) {
  std::vector<std::int64_t> indices;
  for (std::int64_t s = 0; s < geometry.sites(); ++s) indices.push_back(geometry.global_index(s));
  global_indices_ = array_on_device(on, indices);
  for (const auto subset : {site_subset::even, site_subset::odd, site_subset::full}) {
    std::vector<std::int32_t> sites;
    send_list list;
    int next = 0;  // direction
    for (const auto& face : geometry.faces()) {
      for (; next <= face.direction; ++next) list.begin[next] = static_cast<std::int32_t>(sites.size());
      for (int p = 0; p < 2; ++p)
        if (has_parity(subset, p)) sites.insert(sites.end(), face.send[p].begin(), face.send[p].end());
      const auto range_of = [&](const std::vector<std::int32_t>(&lists)[2]) {
        halo_part::range range;
        for (int p = 0; p < 2; ++p) (has_parity(subset, p) ? range.count : range.first) += std::ssize(lists[p]);
        if (has_parity(subset, 0)) range.first = 0;
        return range;
      };
      list.part.sent[face.direction] = range_of(face.send);
      list.part.received[face.direction] = range_of(face.receive_into);
    }
    for (; next <= hop_directions; ++next) list.begin[next] = static_cast<std::int32_t>(sites.size());
    list.count = std::ssize(sites);
    list.sites = array_on_device(on, sites);
    sent_[static_cast<std::size_t>(subset)] = list;
  }
  std::int32_t ghosts = 0;
  for (const auto& face : geometry.faces()) {
    first_ghosts_[face.direction] = ghosts;
    for (int p = 0; p < 2; ++p) ghosts += static_cast<std::int32_t>(face.receive_into[p].size());
  }
}

halo_shape coarse_lattice::shape_of_messages() const {
  halo_shape shape;
  for (const auto& face : geometry_.faces()) {
    shape.cut |= 1U << face.direction;
    shape.source[face.direction] = face.receive_from;
    shape.target[face.direction] = face.send_to;
    shape.units[face.direction] = std::ssize(face.receive_into[0]) + std::ssize(face.receive_into[1]);
  }
  return shape;
}

gpu::halo* coarse_lattice::halo() const {
  if (geometry_.faces().empty()) return nullptr;
  if (!halo_) {
    if (const auto& other = execution_.first_halo())
      halo_ = std::make_shared<gpu::halo>(shape_of_messages(), *other);
    else
      halo_ =
          std::make_shared<gpu::halo>(shape_of_messages(), execution_.comm(), execution_.queue(),
                                      std::make_shared<const rank_map>(execution_.comm(), execution_.queue().device()),
                                      execution_.ranks(), execution_.watch());
    if (!halo_->recordable()) execution_.note_messages_of_host();
  }
  return halo_.get();
}

}  // namespace plaquette::gpu
