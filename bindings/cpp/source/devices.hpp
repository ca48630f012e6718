// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where solvers are made: in the CPU library, or in the CUDA library where this one was built with it.
#pragma once

#include <memory>

#include "bindings/cpp/source/state.hpp"
#include "common/dg/dg_solver.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "common/solvers/propagator_solver.hpp"

namespace plaquette::api {
inline namespace v1 {

/// A lattice on a device. All members but `lock` are collective.
class device_context {
 public:
  virtual ~device_context() = default;
  using links_pointer = std::shared_ptr<const gauge_configuration>;
  virtual std::unique_ptr<plaquette::propagator_solver> make(const links_pointer& links,
                                                             const propagator_settings& settings) const = 0;
  virtual std::unique_ptr<plaquette::multigrid_solver> make(const links_pointer& links,
                                                            const multigrid_settings& settings) const = 0;
  virtual std::unique_ptr<plaquette::overlap_solver> make(const links_pointer& links,
                                                          const overlap_settings& settings) const = 0;
};

/// Returns a device for a lattice: of the CPU a new one each time, of the GPU the one of that lattice. Throws
/// error(not_available) where there is no such device. Collective.
std::shared_ptr<const device_context> open_device(const lattice& on, device which);

/// Returns a solver of nodal DG for a domain, which must outlive it. Throws error(not_available) as above. Collective.
std::unique_ptr<dg_solver> make_wave_solver(const dg_domain& domain, device which, bool in_single, int columns);

/// Returns what keeps others off a device for as long as it lives: calls of several threads on one GPU take turns.
std::unique_lock<std::mutex> turn_on(const lattice& on, device which);

}  // namespace v1
}  // namespace plaquette::api
