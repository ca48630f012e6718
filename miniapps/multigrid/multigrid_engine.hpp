// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the mini-app needs of a device: the hierarchy, solves by multigrid and by BiCGstab.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/algorithms/multigrid.hpp"
#include "common/algorithms/schur_solve.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/context.hpp"
#include "miniapps/multigrid/multigrid_options.hpp"
#include "miniapps/multigrid/setup_file.hpp"

namespace plaquette {

class gpu_access;
struct gauge_input;

/// Seconds of the slowest rank. Only `tuning` holds those that found out how kernels are launched.
struct setup_seconds {
  double relaxation = 0.0, refinement = 0.0, orthonormalisation = 0.0, galerkin = 0.0, trial = 0.0, whole = 0.0;
  double tuning = 0.0;
};

/// A cycle that was tried.
struct cycle_trial {
  cycle_shape shape;
  double rate = 0.0;     ///< what a cycle leaves of the residual
  double seconds = 0.0;  ///< of an outer iteration, about
  /// Lattices from this one on live with the CPU beside a fine one on a GPU; 0: none.
  std::size_t first_on_cpu = 0;
  /// Of a solve, up to a factor: seconds until the residual has fallen by e.
  double cost() const { return rate > 0.0 && rate < 1.0 ? seconds / -std::log(rate) : 1e300; }
};

struct setup_summary {
  setup_seconds seconds;
  std::int64_t replaced = 0;              ///< null vectors that added nothing on an aggregate
  int dropped = 0;                        ///< null vectors that added nothing on any aggregate
  std::vector<coarsening> coarsenings{};  ///< as they are without them
  double smallest_gain = 0.0;  ///< |M v| / |v| of the null vectors: smallest and largest; 0 where they were loaded
  double largest_gain = 0.0;
  std::optional<double> mass_of_vectors;  ///< where they were loaded: that they were made at
  /// What a cycle leaves of the residual, before the first and after each improvement that a slow one asked for.
  std::vector<double> trial_rates;
  cycle_shape cycle{};                    ///< that solves take
  std::vector<cycle_trial> trials{};      ///< where the options leave it open
  std::size_t first_on_cpu = 0;           ///< lattice, as solves have it
  std::vector<cycle_trial> placements{};  ///< where the options leave it open
};

/// A solve of some right-hand sides at once.
struct timed_multigrid_solve {
  schur_report report;
  double seconds = 0.0;         ///< without those of tuning
  double tuning_seconds = 0.0;  ///< that found out how kernels are launched
  double flops = 0.0;           ///< of the finest lattice's Schur operators, standard counts; BiCGstab only
};

/// What an identity of the coarse lattices leaves.
struct identity {
  std::string name;
  double value, tolerance;
};

/// Work of a solve of one right-hand side on a lattice, in standard counts: red-black operators, and the transfers to
/// the next lattice. Vector operations are not counted.
struct lattice_work {
  double applications = 0.0;  ///< of the red-black operator
  double flops = 0.0;
};

/// A solve whose stages were timed by themselves; 0 is the finest lattice.
struct solve_profile {
  double seconds = 0.0;
  int iterations = 0;
  std::vector<lattice_profile> lattices;
  std::vector<lattice_work> work;
};

/// A mode of gamma_5 M, found in the span of the null vectors and of what solves make of it.
struct low_mode {
  double value = 0.0;      ///< lambda = <v, gamma_5 M v>
  double residual = 0.0;   ///< |gamma_5 M v - lambda v|: an eigenvalue is as near as that
  double chirality = 0.0;  ///< <v, gamma_5 v>, which is d lambda / d mass
  double missed = 0.0;     ///< |(1 - P P^+) v|: what the null space of the finest lattice has nothing of
  /// |gamma_5 M v|, an upper bound on the smallest singular value of M.
  double gain() const { return std::hypot(value, residual); }
};

/// How much work modes are worth.
struct mode_probe {
  int modes = 4;            ///< returned, and solved for at once
  int steps = 1;            ///< solves of each
  int rounds = 3;           ///< at most, where the sign of the lowest is not known yet
  double tolerance = 0.05;  ///< of a solve
  int iteration_limit = 8;  ///< of a solve
};

class multigrid_engine {
 public:
  virtual ~multigrid_engine() = default;

  /// Makes null vectors and coarse operators, or takes the vectors of --load-setup.
  /// Again where the numbers of vectors in the options have changed.
  virtual setup_summary set_up() = 0;
  /// Writes the null vectors.
  virtual void save_setup(const std::string& path, bool force) = 0;
  /// P^+ P = 1 and P^+ M P = Mhat on random fields, for each level with the M of the lattice above.
  /// \param with_cycle  on a GPU also a cycle of it against the CPU library's
  virtual std::vector<identity> identities(bool with_cycle) = 0;

  /// The modes of gamma_5 M with the smallest |eigenvalues|, |values| ascending. (See
  /// common/algorithms/inverse_modes.hpp.)
  virtual std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) = 0;

  /// What a figure needs that shows why multigrid works, from the modes that were found last. (See why_it_works.hpp.)
  virtual json_document explanation() = 0;

  /// The right-hand sides: these spin-colours of the source, times a phase. No solution is left of those before.
  virtual void set_sources(const std::vector<int>& columns, complex<double> phase) = 0;
  /// The residuals of the solutions that are there become the right-hand sides: for errors.
  virtual void set_residuals_as_sources() = 0;
  /// Some iterations for a number of right-hand sides that was not solved before, so that timed solves do not pay for
  /// what is done once: memory, recorded cycles, tuned kernels. What it finds is not used.
  virtual void warm_up(bool by_multigrid, const stopping_rule& rule) = 0;
  virtual timed_multigrid_solve solve_by_multigrid(const stopping_rule& rule) = 0;
  virtual timed_multigrid_solve solve_by_bicgstab(const stopping_rule& rule) = 0;
  /// |x| and |b|, per right-hand side.
  virtual std::vector<double> solution_norms() const = 0;
  virtual std::vector<double> source_norms() const = 0;
  virtual void get_solution(int place, spinor_configuration& out) const = 0;
  /// One solve by multigrid whose stages are timed by themselves.
  virtual solve_profile profile(const stopping_rule& rule) = 0;
};

std::unique_ptr<multigrid_engine> make_cpu_multigrid(const cpu::context& ctx, const gauge_configuration& links,
                                                     const setup_origin& origin, const multigrid_options& options);
/// Throws input_error where the program was built without.
std::unique_ptr<multigrid_engine> make_gpu_multigrid(gpu_access& gpu, const gauge_input& gauge,
                                                     const setup_origin& origin, const multigrid_options& options);

}  // namespace plaquette
