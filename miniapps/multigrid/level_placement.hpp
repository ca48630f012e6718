// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the coarse lattices live: with the fine one on a device, or with the CPU.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/algorithms/bridge.hpp"
#include "common/algorithms/multigrid_setup.hpp"
#include "miniapps/multigrid/host_hierarchy.hpp"
#include "miniapps/multigrid/multigrid_engine.hpp"

namespace plaquette {

/// The levels of a hierarchy in the CPU library.
template <class Device, class Library>
std::shared_ptr<const host_hierarchy> hierarchy_on_host(const Device& device, const multigrid<Library>& mg,
                                                        const multigrid_parameters& parameters,
                                                        const fermion_action& action) {
  std::vector<host_level> levels;
  for (const auto& level : mg.levels())
    levels.push_back({device.on_host(*level.vectors), device.on_host(*level.operator_numbers)});
  return std::make_shared<const host_hierarchy>(device.ctx.geometry(), device.ctx.comm(), device.host_links, action,
                                                parameters, std::move(levels));
}

/// Cycles made from here on have the lattices from `first` on with the CPU; 0: none.
template <class Device, class Library>
void place_on_cpu(const Device& device, multigrid<Library>& mg, const std::shared_ptr<const host_hierarchy>& host,
                  std::size_t first) {
  if (first == 0) return mg.solve_elsewhere(0, nullptr);
  using here = typename Library::coarse_field;
  using there = cpu::coarse_field<float>;
  mg.solve_elsewhere(first, [device, host, first](int columns) {
    return any_operator<here>(bridge<here>(
        host->coarse_solver(first, columns), host->coarse_field(first, columns),
        [device](there& to, const here& from) { device.copy_to_host(to, from); },
        [device](here& to, const there& from) { device.copy_from_host(to, from); }));
  });
}

/// As the options say; where they leave it open, the fastest of all. `seconds_of_cycle` makes a fresh cycle and times
/// it on one right-hand side, the same number on all ranks.
template <class Device, class Library, class Time>
level_placement placed_levels(const Device& device, multigrid<Library>& mg, const multigrid_options& options,
                              const Time& seconds_of_cycle) {
  level_placement placement;
  if (options.coarse_on == "gpu") return placement;
  const auto host = hierarchy_on_host(device, mg, mg.parameters(), options.shared.action);
  if (options.coarse_on == "cpu") {
    placement.first_on_cpu = 1;
  } else {
    for (std::size_t first = 0; first <= mg.levels().size(); ++first) {
      place_on_cpu(device, mg, host, first);
      placement.seconds.push_back(seconds_of_cycle());
      if (placement.seconds.back() < placement.seconds[placement.first_on_cpu]) placement.first_on_cpu = first;
    }
  }
  place_on_cpu(device, mg, host, placement.first_on_cpu);
  return placement;
}

}  // namespace plaquette
