// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One time step of a solver, against its right-hand sides, and their energy against the power through sides and faces.
#pragma once

#include <span>
#include <vector>

#include "common/dg/dg_solver.hpp"

namespace plaquette::nodal_dg {

struct step_balance {
  double power = 0.0;    ///< |power of the right-hand side - closed form| * dt, over the energies of q and dt F
  double states = 0.0;   ///< |end - expected|, in units of the largest number of the state; the worst of all columns
  double moved = 0.0;    ///< largest |expected - begin| of the first column, with energy_weight
  double largest = 0.0;  ///< number of the first column, likewise
};

/// Judges steps. Keeps the memory that this takes.
class step_balancer {
 public:
  /// Makes a step from right-hand sides of the solver by the definition of LSERK4. The first one has the power
  /// q.M.F(q): in closed form it is the power of fluxes, sides and sources, with no integral over time. So both
  /// differences are roundings, whatever the step. Leaves the solver with another state. Collective.
  /// \param begin,end  the solver's states before and after the step
  /// \param least      numbers below it are roundings of larger ones earlier in the run
  /// \param energy     likewise, of the energy
  step_balance operator()(dg_solver& solver, const dg_domain& domain, const dg_snapshot& begin, const dg_snapshot& end,
                          double time, double dt, double least, double energy);

 private:
  std::vector<double> state_, rhs_;
};

/// Does it once, from states of all columns.
step_balance judge_step(dg_solver& solver, const dg_domain& domain, std::span<const double> begin,
                        std::span<const double> end, double time, double dt, double least, double energy);

}  // namespace plaquette::nodal_dg
