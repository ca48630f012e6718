// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the coarse lattices live: with the fine one on a device, or with the CPU.
#pragma once

#include <algorithm>
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

/// Cycles made from here on have the lattices from `first` on with the CPU; 0: none. The correction from there is
/// additive or not.
template <class Device, class Library>
void place_on_cpu(const Device& device, multigrid<Library>& mg, const std::shared_ptr<const host_hierarchy>& host,
                  std::size_t first, bool additive) {
  cycle_shape shape = mg.parameters().shape();
  shape.additive_on.reset();
  if (additive) shape.additive_on = first == 0 ? 0 : first - 1;
  mg.use_cycle(shape);
  if (first == 0) return mg.solve_elsewhere(0, nullptr);
  using here = typename Library::coarse_field;
  using there = cpu::coarse_field<float>;
  mg.solve_elsewhere(first, [device, host, first](int columns) {
    return coarse_solver<here>(bridge<here>(
        host->coarse_inverse(first, columns), host->coarse_field(first, columns),
        [device](there& to, const here& from) { device.copy_to_host(to, from); },
        [device](here& to, const there& from) { device.copy_from_host(to, from); }));
  });
}

/// Puts the coarse lattices where the options want them, and adds their correction or not. What the options leave open
/// is tried: that is taken with which solves are fastest. Returns the first lattice on the CPU, 0: none.
/// \param tried    what was tried is added to it
/// \param attempt  measures a fresh cycle whose lattices from the given one on are with the CPU
template <class Device, class Library, class Attempt>
std::size_t place_levels(const Device& device, multigrid<Library>& mg, const multigrid_options& options,
                         std::vector<cycle_trial>& tried, const Attempt& attempt) {
  const bool asks = options.correction == "additive";
  if constexpr (Device::records) {
    if (options.coarse_on != "gpu") {
      const auto host = hierarchy_on_host(device, mg, mg.parameters(), options.shared.action);
      if (options.coarse_on == "cpu") {
        place_on_cpu(device, mg, host, 1, asks);
        return 1;
      }
      for (std::size_t first = 0; first <= mg.levels().size(); ++first)
        for (const bool additive : {false, true}) {
          // Where nothing is with the CPU an additive correction has no use.
          const bool is_open = options.correction.empty() && (!additive || first > 0);
          if (!is_open && additive != asks) continue;
          place_on_cpu(device, mg, host, first, additive);
          tried.push_back(attempt(first));
        }
      const cycle_trial best = *std::ranges::min_element(tried, {}, &cycle_trial::cost);
      place_on_cpu(device, mg, host, best.first_on_cpu, best.shape.additive_on.has_value());
      return best.first_on_cpu;
    }
  }
  cycle_shape shape = mg.parameters().shape();
  if (asks) shape.additive_on = 0;
  mg.use_cycle(shape);
  return 0;
}

}  // namespace plaquette
