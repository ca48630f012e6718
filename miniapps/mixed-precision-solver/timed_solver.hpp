// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The clocks around a propagator solver: seconds of solves, figures of its operators, and energy if a GPU works.
#pragma once

#include <functional>
#include <vector>

#include "common/app/host_energy.hpp"
#include "common/app/report.hpp"
#include "common/comms/communicator.hpp"
#include "common/solvers/propagator_solver.hpp"
#include "common/solvers/stretch_numbers.hpp"

namespace plaquette {

class gpu_access;
class library;

/// A solver on its device.
struct timed_solver {
  propagator_solver& solver;
  const library& device;
  gpu_access* gpu = nullptr;      ///< null on the CPU
  host_energy* energy = nullptr;  ///< null: not measured
};

/// A solve of a batch of columns from a zero guess.
struct timed_solve {
  schur_report report;
  std::vector<double> norms{};  ///< |x| of each right-hand side, read before the clock stopped
  double seconds = 0.0;         ///< without the tuning
  double tuning_seconds = 0.0;  ///< that finding out how to launch kernels took meanwhile
  double flops = 0.0;           ///< of the Schur operator's applications on all ranks, in the field's standard counts
  json_document host_energy = nullptr;  ///< of all hosts meanwhile
  json_document gpu = nullptr;          ///< clocks of the first rank's GPU and energy of all meanwhile; null on the CPU
};

/// Solves, and reads the solutions. Seconds are the time of all ranks together, each of which waits for the last.
/// Collective.
timed_solve solve(const timed_solver& on, const stopping_rule& rule, const schur_parameters& parameters);

/// Applies M or M^+ to a batch of random columns, full lattice, and returns input and output, each summed over the
/// columns with weights (stretch_numbers.hpp). Ghosts of the input are filled. Collective.
/// \param inner  the operator of the Krylov space; else the operator of the residual
scaling::weighed_sums apply_to_random(propagator_solver& solver, bool inner, bool dagger, std::uint64_t seed,
                                      const lattice_geometry& geometry, const communicator& comm);

/// Gets the columns of an even-odd operator's last timed input and output, each summed with weights
/// (stretch_numbers.hpp), and the precision and links of the operator. Collective.
using operator_judge =
    std::function<void(const scaling::weighed_sums& sums, int columns, precision numbers, reconstruct links)>;

/// Times the even-odd operators on a batch, first the operator of the Krylov space, then the operator of the residual
/// if it is another: repeated samples after a warm-up. On a GPU each comes twice, cool and sustained; on several of
/// them with the cost of the halo.
/// \param threads      of a rank, for the figures
/// \param judge        gets input and output of the last timed application of each operator
/// \param should_stop  true ends it with the figures that there are; the same on every rank
std::vector<operator_figure> time_operators(const timed_solver& on, int threads, std::uint64_t seed,
                                            const operator_judge& judge, const std::function<bool()>& should_stop);

/// Returns how faces get to other ranks: {"policy" (GPU), "overlap"}; null if the lattice is not cut.
json_document halo_facts(const timed_solver& on);

}  // namespace plaquette
