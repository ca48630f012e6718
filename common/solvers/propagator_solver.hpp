// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Krylov solvers of one precision or two as callers and programs see them: `make_propagator_solver` of a library
/// (common/solvers/library.hpp) makes them. Values go in, values come out.
///
///     auto solver = on->make_propagator_solver(links, settings_of(action, precision::double_, precision::half));
///     solver->make_sources(point, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
///     solver->solve(rule);
///     solver->get_solution(0, x);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/algebra/reconstruct.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/schur_solve.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/source_description.hpp"
#include "common/solvers/solver_vectors.hpp"
#include "common/solvers/vector_solver.hpp"

namespace plaquette {

struct propagator_settings {
  fermion_action action{};
  int columns = spin_colours;  ///< right-hand sides that are solved at once
  /// Of the solution and of its residual: double, single; pairs: double by pairs of floats, on one GPU.
  precision outer = precision::double_;
  precision inner = precision::double_;  ///< of the Krylov space, not above the outer one
  solver_kind solver = solver_kind::automatic;
  solver_parameters parameters{};
  mixed_scheme scheme = mixed_scheme::reliable;
  reliable_updates updates{};
  reconstruct links = reconstruct::none, inner_links = reconstruct::none;  ///< stored by the two operators
  schur_kind preconditioning = schur_kind::symmetric;
  bool overlap = true;  ///< of communication and computation, on several ranks
  /// Smear a Gaussian source, ghosts filled; null: the links of the operator, also after it has followed others.
  std::shared_ptr<const gauge_configuration> source_links{};

  /// Returns whether no residual is recomputed: a solver of one precision without reliable updates.
  bool plain() const {
    return outer == inner && scheme == mixed_scheme::reliable &&
           (solver == solver_kind::gcr || solver == solver_kind::mr);
  }
  /// Returns whether solution and Krylov space share one operator.
  bool one_operator() const { return outer == inner && links == inner_links; }
};

/// Returns settings with the residual updates of `default_parameters`. Throws input_error as that does.
inline propagator_settings settings_of(const fermion_action& action, precision outer, precision inner) {
  const mixed_precision_defaults defaults = default_parameters(outer, inner);
  propagator_settings settings;
  settings.action = action;
  settings.outer = outer;
  settings.inner = inner;
  settings.updates = {.delta = defaults.delta, .longest_interval = defaults.longest_interval};
  return settings;
}

/// A solve of all columns from a zero guess.
struct propagator_report {
  schur_report report;  ///< an entry a column
  double flops = 0.0;   ///< of the Schur operator's applications on all ranks, in the field's standard counts
};

/// By the time coordinate of the lattice.
struct correlator_pair {
  std::vector<double> pion, rho;
};

/// An operator of a solver with fields for all columns, for checks and timing. Work may be queued: a caller who times
/// waits for the device. The solver must live as long. One caller at a time.
class operator_trial {
 public:
  virtual ~operator_trial() = default;
  virtual int columns() const = 0;
  virtual void set_input(int column, const spinor_configuration& in) = 0;
  /// Take and give the columns of an array of a caller, in one pass; of an operator on all sites.
  virtual void set_inputs(const spinor_array<const double>& in) = 0;
  virtual void get_outputs(const spinor_array<double>& out) const = 0;
  /// Multiplies the input by `first` and clears the output. Applications from here on alternate between this input and
  /// `second` times it.
  virtual void restart(complex<double> first, complex<double> second) = 0;
  /// Applies A to all columns, or A^+. Collective. Throws input_error if the links that the solver follows have moved.
  virtual void apply(bool dagger = false) = 0;
  /// Returns standard flops of an application on all ranks.
  virtual double flops() const = 0;
  /// Copies the input and output of the last application. Zero on odd sites for an even-odd operator. Ghosts are not
  /// filled.
  virtual void get_input(int column, spinor_configuration& in) const = 0;
  virtual void get_output(int column, spinor_configuration& out) const = 0;

  /// Returns whether the halo can be switched and counted. The solver's operator shares these settings.
  virtual bool has_halo_settings() const = 0;
  virtual void set_overlap(bool overlap) = 0;
  virtual void set_communication(bool communicates) = 0;
  virtual double halo_bytes() const = 0;  ///< sent by this rank in a hop
};

/// Solves M x = b for a batch of columns by a Krylov solver on even sites. `solve` of vectors leaves the sources and
/// solutions of the other members as they are, and solves systems on even sites too. All members except the const ones
/// are collective. Members throw input_error for columns, spin-colours and fields that do not fit. One caller at a
/// time.
class propagator_solver : public vector_solver {
 public:
  using vector_solver::solve;

  virtual ~propagator_solver() = default;

  virtual const propagator_settings& settings() const = 0;
  /// Sets one right-hand side. Correlators take it for that column of a propagator.
  virtual void set_source(int column, const spinor_configuration& b) = 0;
  /// Sets the first right-hand sides from an array of a caller; the others become zero. Returns false if a square of
  /// their numbers is not finite, which is looked for in memory of a device alone: callers know their own arrays.
  virtual bool set_sources(const spinor_array<const double>& b) = 0;
  /// The right-hand sides 0, 1, ... become these spin-colours of a source, times a phase, made where fields live; the
  /// others become zero. If `phase` is not 1, the earlier solutions are overwritten with NaN. Throws as `solve` does.
  virtual void make_sources(const source_description& source, const std::vector<int>& components,
                            complex<double> phase = {1.0, 0.0}) = 0;
  /// Throws input_error if the links that the solver follows have moved.
  virtual propagator_report solve(const stopping_rule& rule, const schur_parameters& parameters = {}) = 0;
  /// Ghosts are not filled.
  virtual void get_solution(int column, spinor_configuration& x) const = 0;
  /// Returns the solutions of the last solve without a copy. The next solve does not change them as long as the handle
  /// is kept.
  virtual vectors_handle solutions() = 0;
  /// Returns |x| of each right-hand side, by a pass over the solutions in their place: a clock that stops after it has
  /// seen them made. Empty if a solver does not offer it. Collective.
  virtual std::vector<double> solution_norms() const { return {}; }
  /// Returns correlators of the last solutions, made where fields live. None in the CPU library, and none unless the
  /// solutions are the twelve columns of a propagator in their order. Collective.
  virtual std::optional<correlator_pair> correlators() const = 0;

  /// Return M, and its Schur complement on even sites, in the precision of the residual or, if `inner`, of the Krylov
  /// space.
  virtual std::unique_ptr<operator_trial> full_operator(bool inner) = 0;
  virtual std::unique_ptr<operator_trial> schur_operator(bool inner) = 0;
  /// Returns how a GPU's faces get to other ranks; empty in the CPU library.
  virtual std::string halo_policy() const = 0;
};

}  // namespace plaquette
