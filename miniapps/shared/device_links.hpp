// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links on the device that makes and updates them.
#pragma once

#include <cstdint>
#include <memory>

#include "common/app/gauge_choice.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/stout_smearing.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

class gpu_access;

class device_links {
 public:
  virtual ~device_links() = default;

  /// See cpu::heatbath_updater. Collective; it is done when it returns. The links are those before it where a
  /// `stop_point` throws.
  virtual void combined_sweep(const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                              std::uint64_t number) = 0;
  /// Makes stout smearing. Collective; it is done when it returns.
  virtual void smear(const stout_smearing& smearing) = 0;
  virtual plaquettes measure() = 0;
  /// Returns the links on the host, ghosts filled; good until the next sweep.
  virtual const gauge_configuration& on_host() = 0;
  /// Returns the same, to keep; nothing is left here.
  virtual gauge_configuration take() = 0;
};

/// Returns whether a sweep on a CPU takes so long that it heeds a stop. It then holds the links as they were, too.
inline bool keeps_links_of_sweep(const lattice_geometry& geometry) {
  return geometry.local_volume() >= sites_between_stops;
}

/// Returns a configuration with its ghosts filled.
std::unique_ptr<device_links> links_on_cpu(gauge_configuration links, const communicator& world);
std::unique_ptr<device_links> links_on_gpu(gpu_access& gpu, const gauge_configuration& links);

/// Returns unit, random and weak fields as chosen; for a heat bath the random field that it starts from.
std::unique_ptr<device_links> make_links_on_cpu(const gauge_choice& choice, std::uint64_t seed,
                                                const lattice_geometry& geometry, const communicator& world);
std::unique_ptr<device_links> make_links_on_gpu(gpu_access& gpu, const gauge_choice& choice, std::uint64_t seed);
/// Returns the same on a lattice that this rank has by itself. Not collective.
std::unique_ptr<device_links> make_own_links_on_gpu(gpu_access& gpu, const gauge_choice& choice, std::uint64_t seed,
                                                    const extents& lattice);

}  // namespace plaquette
