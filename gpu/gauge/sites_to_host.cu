// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/sites_to_host.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

#include "gpu/device/launch.hpp"
#include "gpu/lattice/site_order.hpp"

namespace plaquette::gpu {
namespace {

/// A matrix of a listed site, in the order of the host. Sites 2 i + parity are listed.
struct gather_matrices {
  const std::int64_t* sites;
  matrix_pointer<dimensions, const std::byte> from;
  su3<double>* to;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const std::int64_t site = sites[n / dimensions];
    to[n] =
        from.load(static_cast<int>(site % 2), static_cast<std::int32_t>(site / 2), static_cast<int>(n % dimensions));
  }
};

}  // namespace

void get_sites(std::span<site_links> to, const gauge_configuration& from, std::span<const coordinate> at) {
  if (to.size() != at.size()) throw std::logic_error("get_sites: four matrices for each site");
  if (at.empty()) return;
  const context& ctx = from.get_context();
  std::vector<std::int64_t> sites(at.size());
  std::ranges::transform(at, sites.begin(),
                         [&](const coordinate& x) { return 2 * std::int64_t{ctx.order().index(x)} + parity(x); });
  const std::shared_ptr<std::byte> list = ctx.workspace().take(sites.size() * sizeof(std::int64_t)),
                                   found = ctx.workspace().take(to.size_bytes());
  copy_to_device(ctx.queue(), list.get(), sites.data(), sites.size() * sizeof(std::int64_t));
  for_each_index(ctx.queue(), static_cast<std::int64_t>(at.size()) * dimensions,
                 gather_matrices{reinterpret_cast<const std::int64_t*>(list.get()), from.sites(),
                                 reinterpret_cast<su3<double>*>(found.get())});
  copy_to_host(ctx.queue(), to.data(), found.get(), to.size_bytes());
}

}  // namespace plaquette::gpu
