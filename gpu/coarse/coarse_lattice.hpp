// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A coarse lattice of multigrid on the device: its tables, and how ranks exchange the sites at its faces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/concepts.hpp"
#include "common/lattice/coarse_geometry.hpp"
#include "gpu/execution.hpp"
#include "gpu/halo/halo.hpp"

namespace plaquette::gpu {

/// Returns an array of the device with the numbers of one of the host.
template <class Number>
std::shared_ptr<const Number> array_on_device(const execution& on, const std::vector<Number>& numbers) {
  const std::size_t bytes = numbers.size() * sizeof(Number);
  auto memory = on.workspace().take(bytes > 0 ? bytes : 1);
  if (bytes > 0) copy_to_device(on.queue(), memory.get(), numbers.data(), bytes);
  return {memory, reinterpret_cast<const Number*>(memory.get())};
}

/// Tables of a coarse lattice. Fields and operators of one lattice share one.
class coarse_lattice {
 public:
  coarse_lattice(const execution& on, const coarse_geometry& geometry);

  const coarse_geometry& geometry() const { return geometry_; }
  /// Of the device, [site][8]: the neighbour's number, or -1 - g if it is ghost g.
  const std::int32_t* neighbours() const { return neighbours_.get(); }
  /// Of the device: the index of a site in the whole lattice, lexicographic.
  const std::int64_t* global_indices() const { return global_indices_.get(); }

  /// Sites that this rank sends, of the device: of even parity, of odd parity, of both; face after face.
  struct send_list {
    std::shared_ptr<const std::int32_t> sites;
    std::int64_t count = 0;
    std::int32_t begin[hop_directions + 1] = {};  ///< of message d in the list
    halo_part part;                               ///< of the messages, a unit being a site
  };
  const send_list& sent(site_subset subset) const { return sent_[static_cast<std::size_t>(subset)]; }
  /// Returns the first ghost that hops of direction d lead to.
  const std::int32_t (&first_ghosts() const)[hop_directions] { return first_ghosts_; }

  /// Returns the exchange with neighbours; null if no direction is cut. Made at first use: collective then.
  gpu::halo* halo() const;

 private:
  halo_shape shape_of_messages() const;

  execution execution_;
  coarse_geometry geometry_;
  std::shared_ptr<const std::int32_t> neighbours_;
  std::shared_ptr<const std::int64_t> global_indices_;
  send_list sent_[3];  ///< by site_subset
  std::int32_t first_ghosts_[hop_directions] = {};
  mutable std::shared_ptr<gpu::halo> halo_;
};

}  // namespace plaquette::gpu
