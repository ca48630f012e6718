// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Quenched gauge configurations: heat bath and over-relaxation for the Wilson gauge action, isotropic or not.
///
/// S = beta [ (1/xi_g) sum_{spatial planes} (1 - Re tr P / 3) + xi_g sum_{planes with time} (1 - Re tr P / 3) ].
///
/// A configuration is a function of (first links, seed, numbers of the sweeps): the same bits on any process grid and
/// any number of threads. The bits are also the same when a run is continued from a stored configuration. A sweep
/// updates the links of one direction and one parity at a time, none of which is in another's staples.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

using plaquette::gauge_action;
using plaquette::sweep_plan;

/// Returns the gauge action of a configuration whose ghosts are filled. Collective.
double action_value(const gauge_configuration& links, const gauge_action& action, const communicator& comm);

/// Updates configurations of one geometry. All members need the ghosts filled and leave them filled; links are put back
/// into SU(3) as they are updated. Collective.
class heatbath_updater {
 public:
  /// Keeps a copy of the communicator, and tables of a few integers a site.
  heatbath_updater(const lattice_geometry& geometry, const communicator& comm);

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
  /// A site of this rank: where it lies in the canonical field, and its index in the whole lattice.
  struct site {
    std::ptrdiff_t offset;
    std::uint64_t global_index;
  };
  /// The links that are sent to and received from a neighbouring rank: offsets in the canonical field.
  struct face {
    int to, from;  ///< ranks
    std::vector<std::ptrdiff_t> source, destination;
  };

  void list_sites();
  void list_faces(int parity, int mu);
  void check_geometry(const gauge_configuration& links) const;
  /// Calls update(links of a batch of sites, mu) for all links, direction by direction and parity by parity.
  template <class Update>
  void sweep(gauge_configuration& links, const gauge_action& action, Update&& update);
  /// Brings the links of one direction and parity to all ghosts.
  void exchange_links(gauge_configuration& links, int mu, int parity);

  lattice_geometry geometry_;
  communicator comm_;
  std::array<std::ptrdiff_t, dimensions> stride_;  ///< from a site to its neighbour, in the canonical field
  std::array<std::vector<site>, 2> sites_;         ///< of each parity, in whole batches: the last may be repeated
  std::array<std::array<std::array<face, 2>, dimensions>, 2> faces_;  ///< [parity][direction][up, down]
  std::array<std::vector<su3<double>>, 4> buffers_;                   ///< of the messages of an exchange
};

/// Does the same with tables made for one call.
void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                    std::uint64_t sweep_number, const communicator& comm);
void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action, const communicator& comm);

/// Returns `sweeps` combined sweeps from a cold start: a thermalised configuration, once there are enough of them. (A
/// hot start of `random_configuration` does as well below beta of about 10; above it defects stay for a long time.)
gauge_configuration heatbath_configuration(const lattice_geometry& geometry, const gauge_action& action,
                                           const sweep_plan& plan, int sweeps, std::uint64_t seed,
                                           const communicator& comm);

}  // namespace plaquette::cpu
