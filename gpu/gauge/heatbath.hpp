// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Quenched gauge configurations on the device: heat bath and over-relaxation for the Wilson gauge action, isotropic or
/// not, as in cpu_ref/gauge/heatbath.hpp.
///
/// A configuration is a function of (first links, seed, numbers of the sweeps). Random numbers and the order of updates
/// are the CPU library's, and contraction is off: an over-relaxation gives its bits. A heat bath differs as logarithm,
/// exponential and cosine of the device differ in the last places. Where that makes an accepted attempt a rejected one,
/// it differs by another draw.
#pragma once

#include <cstdint>

#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Returns the gauge action of a configuration. Collective; waits.
double action_value(const gauge_configuration& links, const gauge_action& action);

/// Updates configurations of one lattice; links are put back into SU(3) as they are updated. On one rank sweeps are
/// queued and not waited for; on several they are collective, and give the bits of one rank. All throw input_error for
/// an action that has no updates, or links of another lattice.
class heatbath_updater {
 public:
  explicit heatbath_updater(const context& ctx) : context_(ctx) {}

  /// Makes one pseudo heat bath of every link in its three SU(2) subgroups. (Cabibbo, Marinari, Phys. Lett. 119B (1982)
  /// 387)
  /// \param sweep_number  below 2^52; a number already used with this seed repeats its random numbers
  void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                      std::uint64_t sweep_number);

  /// Makes one reflection of every link in its three SU(2) subgroups: the action does not change, to rounding. No
  /// random numbers. (Creutz, Phys. Rev. D36 (1987) 515; Brown, Woch, Phys. Rev. Lett. 58 (1987) 2394)
  void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action);

  /// Makes the `number`-th combined sweep (from 0); its heat baths have the numbers number * plan.heatbath and
  /// following.
  void combined_sweep(gauge_configuration& links, const gauge_action& action, const sweep_plan& plan,
                      std::uint64_t seed, std::uint64_t number);

 private:
  template <class Work>
  void update(gauge_configuration& links, const gauge_action& action, Work&& work) const;

  context context_;
};

/// Does the same by one call.
void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                    std::uint64_t sweep_number);
void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action);

/// Returns `sweeps` combined sweeps from a cold start: a thermalised configuration, once there are enough of them.
gauge_configuration heatbath_configuration(const context& ctx, const gauge_action& action, const sweep_plan& plan,
                                           int sweeps, std::uint64_t seed);

}  // namespace plaquette::gpu
