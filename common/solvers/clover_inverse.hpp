// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// About M^-1 as a preconditioner of the overlap operator takes it: by a multigrid solver, or by BiCGstab.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "common/lattice/geometry.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/solver_vectors_of.hpp"
#include "common/stopwatch.hpp"

namespace plaquette {

/// \tparam Field  in single precision
template <field_batch Field>
class clover_inverse {
 public:
  /// Chooses how M is solved. Collective. Throws input_error if multigrid is requested and has no coarse lattice.
  /// \param solver       of M
  /// \param sample       random vectors, as many as are solved for at once
  /// \param interrupted  see overlap_settings; may be null
  clover_inverse(std::unique_ptr<multigrid_solver> solver, const overlap_preconditioner& rule, const Field& sample,
                 const lattice_geometry& geometry, const communicator& comm, std::function<bool()> interrupted)
      : solver_(std::move(solver)), rule_(rule), interrupted_(std::move(interrupted)) {
    by_bicgstab_ = rule.method != clover_method::multigrid;
    if (rule.method == clover_method::bicgstab) return;
    trial of_bicgstab;
    Field smooth = sample;
    if (rule.method == clover_method::fastest) {
      // Few iterations are faster than multigrid, unless all solves together, for some thirty directions a column, last
      // longer than its setup.
      constexpr int few = 25;
      constexpr double directions = 30.0, of_setup = 5.0;
      // Residuals of D are rich in low modes. So is M^-1 on random vectors. Random vectors themselves take far fewer
      // iterations.
      smooth = fields_of<Field>(solve(sample).x);
      of_bicgstab = tried(smooth, comm);
      const bool is_little =
          of_bicgstab.iterations <= few && of_bicgstab.seconds * directions * std::max(1, rule.inner_steps) < of_setup;
      if ((of_bicgstab.converged && is_little) || is_interrupted()) return;
    }
    if (!set_up(geometry, sample.columns())) return;
    by_bicgstab_ = false;
    if (rule.method == clover_method::multigrid) return;
    const trial of_multigrid = tried(smooth, comm);
    by_bicgstab_ = of_bicgstab.converged && !(of_multigrid.converged && of_multigrid.seconds < of_bicgstab.seconds);
  }

  bool by_multigrid() const { return !by_bicgstab_; }

  /// Returns about M^-1 r.
  Field apply(const Field& r, preconditioned_work& work) const {
    const single_solution found = solve(r);
    work.clover_solves += r.columns();
    work.clover_applications += static_cast<double>(found.report.column_applications);
    return fields_of<Field>(found.x);
  }

 private:
  struct trial {
    double seconds = 0.0;
    int iterations = 0;
    bool converged = false;
  };
  struct stopped {};

  bool is_interrupted() const { return interrupted_ && interrupted_(); }

  single_solution solve(const Field& r) const {
    stopping_rule rule;
    rule.tolerance = rule_.tolerance;
    rule.limit = 1000;
    rule.interrupted = interrupted_;
    return solver_->solve_in_single(handle_of(Field(r)), rule, by_bicgstab_);
  }

  /// The second of two solves, whose kernels are tuned; of the slowest rank.
  trial tried(const Field& sample, const communicator& comm) const {
    trial t;
    for (int run = 0; run < 2; ++run) {
      comm.barrier();
      const stopwatch watch;
      const single_solution found = solve(sample);
      host_values(norm2(fields_of<Field>(found.x)));  // waits
      t = {watch.seconds(), 0, true};
      for (const column_report& column : found.report.columns) {
        t.iterations = std::max(t.iterations, column.iterations);
        t.converged = t.converged && column.status == solve_status::converged;
      }
    }
    comm.maximum(std::span(&t.seconds, 1));
    return t;
  }

  /// Sets multigrid up with the cycle that is fastest for this number of columns at once. Returns whether that
  /// succeeded.
  bool set_up(const lattice_geometry& geometry, int columns) const {
    try {
      multigrid_parameters parameters = default_multigrid_parameters(geometry.global(), geometry.local());
      parameters.between_parts = [this] {
        if (is_interrupted()) throw stopped{};
      };
      solver_->set_up(parameters);
      solver_->tune({.columns = columns, .trials = 1});
    } catch (const stopped&) {
      return false;
    } catch (const input_error&) {
      if (rule_.method == clover_method::multigrid) throw;
      return false;
    }
    return true;
  }

  std::unique_ptr<multigrid_solver> solver_;
  overlap_preconditioner rule_;
  std::function<bool()> interrupted_;
  bool by_bicgstab_ = true;
};

}  // namespace plaquette
