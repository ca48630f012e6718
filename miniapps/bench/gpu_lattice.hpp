// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rows on one lattice share on a GPU: context, links, and what checks need of them on the host.
#pragma once

#include <memory>
#include <optional>

#include "common/app/gauge_choice.hpp"
#include "common/app/report.hpp"
#include "common/lattice/fermion_action.hpp"
#include "gpu/context.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/tuning/tuner.hpp"
#include "miniapps/shared/device_timing.hpp"

namespace plaquette::bench {

/// How a row is timed.
struct gpu_timing {
  sampling how;
  gpu_protocols protocols;
};

/// A lattice with its links on the device, made there.
class gpu_lattice {
 public:
  /// \param choice  weak, random, unit, or a heat bath from a cold start; throws input_error for a file
  gpu_lattice(const extents& lattice, const gauge_choice& choice, std::shared_ptr<gpu::tuner> tuner);

  const gpu::context& get_context() const { return context_; }
  const gpu::gauge_configuration& links() const { return links_; }
  /// Average of Re tr P / 3.
  double plaquette() const { return plaquette_; }
  /// Ghosts filled; copied at the first call.
  const plaquette::gauge_configuration& links_on_host();

  /// Returns |found - expected| / |expected| over sampled sites of one parity, expected being (M psi)(x) of the
  /// textbook.
  /// \param psi      ghosts need not be filled
  double distance_from_textbook(const spinor_configuration& found, spinor_configuration& psi,
                                const fermion_action& action, int parity);
  /// Returns the same for |M psi| / |psi| with the norm of `psi` on the same sites: where M psi = 0.
  double remainder_of_textbook(spinor_configuration& psi, const fermion_action& action, int parity);

 private:
  template <class Visit>
  void at_sampled_sites(int parity, Visit&& visit) const;

  gpu::context context_;
  gpu::gauge_configuration links_;
  double plaquette_ = 0.0;
  std::optional<plaquette::gauge_configuration> host_links_;
};

}  // namespace plaquette::bench
