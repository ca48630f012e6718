// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What solves: the operators and fields of one device in one or two precisions, behind an interface that hides them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/algorithms/schur_solve.hpp"
#include "common/algorithms/solve_report.hpp"
#include "common/app/report.hpp"
#include "cpu_ref/context.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/shared/stretch_numbers.hpp"

namespace plaquette {

class gpu_access;

/// A solve of a batch of columns from a zero guess.
struct timed_solve {
  schur_report report;
  double seconds = 0.0;         ///< without those of tuning
  double tuning_seconds = 0.0;  ///< that finding out how to launch kernels took meanwhile
  double flops = 0.0;           ///< of the Schur operator's applications on all ranks, in the field's standard counts
  json_document gpu = nullptr;  ///< clocks of the first rank's GPU and energy of all meanwhile; null on the CPU
};

/// By the time coordinate of the lattice.
struct correlator_pair {
  std::vector<double> pion, rho;
};

/// Gets the columns of an even-odd operator's last timed input and output, each summed with weights
/// (stretch_numbers.hpp), and the precision and links of the operator. Collective.
using operator_judge =
    std::function<void(const scaling::weighed_sums& sums, int columns, precision numbers, reconstruct links)>;

/// Holds a batch of options.batch_size() columns; a place is a column's number there.
class solve_engine {
 public:
  virtual ~solve_engine() = default;

  /// Applies M or M^+ to a batch of random columns, full lattice, and returns input and output, each summed over the
  /// columns with weights (stretch_numbers.hpp). Ghosts of the input are filled. Collective.
  /// \param inner  that of the Krylov space; else that of the residual
  virtual scaling::weighed_sums apply_to_random(bool inner, bool dagger) = 0;
  /// The right-hand sides of the batch: at place 0, 1, ... the source of the options with the spin and colour of these
  /// columns of a propagator, times a phase; zero at the places that are left. Collective.
  virtual void set_sources(const std::vector<int>& columns, complex<double> phase = {1.0, 0.0}) = 0;
  /// Collective; seconds are those of the slowest rank. The report has an entry a place.
  virtual timed_solve solve(const stopping_rule& rule, const schur_parameters& parameters) = 0;
  /// The solution at a place. Ghosts are not filled.
  virtual void get_solution(int place, spinor_configuration& out) const = 0;
  /// Of the propagator that was solved last, where the device makes them; none on the CPU, and where the last solve was
  /// not of all twelve columns.
  virtual std::optional<correlator_pair> correlators() const = 0;
  /// Times the even-odd operators on a batch, that of the Krylov space first, then that of the residual where it is
  /// another: repeated samples after a warm-up. On a GPU each comes twice, cool and sustained; on several of them with
  /// what the halo costs.
  /// \param judge        gets what the last timed application of each operator has made of its input
  /// \param should_stop  true ends it with the figures that there are; the same on every rank
  virtual std::vector<operator_figure> time_operators(const operator_judge& judge,
                                                      const std::function<bool()>& should_stop) = 0;
  /// How faces get to other ranks: {"policy" (GPU), "overlap"}; null where nothing is cut.
  virtual json_document halo() const { return nullptr; }
};

/// On the CPU, in the precisions of the options.
/// \param source_links  that smear a Gaussian source; null: `links`
std::unique_ptr<solve_engine> make_cpu_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options,
                                              const gauge_configuration* source_links = nullptr);

/// On the GPUs, one a rank. Throws input_error where the program was built without.
std::unique_ptr<solve_engine> make_gpu_engine(gpu_access& gpu, const gauge_configuration& links,
                                              const solver_options& options,
                                              const gauge_configuration* source_links = nullptr);

}  // namespace plaquette
