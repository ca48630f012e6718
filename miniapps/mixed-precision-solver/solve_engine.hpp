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

namespace plaquette {

class gpu_access;

/// A solve of all columns from a zero guess.
struct timed_solve {
  schur_report report;
  double seconds = 0.0;
  double flops = 0.0;           ///< of the Schur operator's applications on all ranks, in the field's standard counts
  json_document gpu = nullptr;  ///< clocks and energy meanwhile; null on the CPU
};

/// By the time coordinate of the lattice.
struct correlator_pair {
  std::vector<double> pion, rho;
};

class solve_engine {
 public:
  virtual ~solve_engine() = default;

  /// M of this engine, in the precision of the solution, on one canonical spinor, full lattice.
  virtual void apply(spinor_configuration& out, const spinor_configuration& in, bool dagger) = 0;
  /// The right-hand side of a column: the source of the options with the spin and colour of the column, or zero.
  virtual void set_source(int column) = 0;
  virtual void clear_source(int column) = 0;
  virtual timed_solve solve(const stopping_rule& rule, const schur_parameters& parameters) = 0;
  /// The solution of a column. Ghosts are not filled.
  virtual void get_solution(int column, spinor_configuration& out) const = 0;
  /// Of the propagator that was solved last, where the device makes them; none on the CPU, and where the last solve was
  /// not of twelve sources.
  virtual std::optional<correlator_pair> correlators() const = 0;
  /// Times the even-odd operators on all columns, that of the Krylov space first, then that of the residual where it is
  /// another: repeated samples after a warm-up. On a GPU each comes twice, cool and sustained.
  virtual std::vector<operator_figure> time_operators() = 0;
};

/// On the CPU, in the precisions of the options.
std::unique_ptr<solve_engine> make_cpu_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options);

/// On the GPU, of one rank. Throws input_error where the program was built without.
std::unique_ptr<solve_engine> make_gpu_engine(gpu_access& gpu, const gauge_configuration& links,
                                              const solver_options& options);

}  // namespace plaquette
