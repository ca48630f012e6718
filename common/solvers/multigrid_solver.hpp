// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Adaptive multigrid as callers and programs see it: `make_multigrid_solver` of a library (common/solvers/library.hpp)
/// makes it. Values go in, values come out.
///
///     auto solver = on->make_multigrid_solver(links, {.action = action});
///     solver->set_up(on->default_parameters());
///     solver->tune({});
///     solver->resize(1);
///     solver->set_source(0, b);
///     solver->solve(rule);
///     solver->get_solution(0, x);
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/krylov/precision.hpp"
#include "common/krylov/schur_solve.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/source_description.hpp"
#include "common/multigrid/cycle_profile.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/operators/coarse_matrices.hpp"
#include "common/solvers/solver_vectors.hpp"
#include "common/solvers/vector_solver.hpp"

namespace plaquette {

// ---- Settings of a solver

/// A coarse lattice on the host: the columns of P that lead to it, and its operator.
struct host_level {
  null_space vectors;
  coarse_matrices numbers;
};

/// A solver of M x = b on one coarse lattice of another library, by numbers of the host.
class coarse_columns {
 public:
  virtual ~coarse_columns() = default;
  /// \param numbers  [site][number] of this rank
  virtual void set_source(int column, std::span<const complex<double>> numbers) = 0;
  /// Solves the first `columns` columns, about.
  virtual void solve(int columns) = 0;
  virtual void get_solution(int column, std::span<complex<double>> numbers) const = 0;
};

/// The lattices of a solver in another library. The solver's cycles are checked against them, and its coarse lattices
/// may live there.
class coarse_hierarchy {
 public:
  virtual ~coarse_hierarchy() = default;
  /// Makes a solver on the coarse lattice `number`, 1 the first, for `columns` columns or fewer.
  virtual std::shared_ptr<coarse_columns> inverse(std::size_t number, int columns) const = 0;
  /// x = one cycle on the even sites of b, from zero. x has zeros on odd sites.
  virtual void cycle(spinor_configuration& x, const spinor_configuration& b) const = 0;
};

/// Makes the hierarchy of these levels. Collective.
using hierarchy_maker =
    std::function<std::shared_ptr<const coarse_hierarchy>(const multigrid_parameters&, std::vector<host_level>)>;

struct multigrid_settings {
  fermion_action action{};
  precision cycle_precision = precision::single;      ///< on the finest lattice: single, half
  precision direction_precision = precision::single;  ///< of the outer GCR: single, double. The solution is double.
  /// Of the operator whose residuals are corrected, of its vectors and sums: double or pairs of floats. Pairs need one
  /// GPU, and directions in single.
  precision operator_precision = precision::double_;
  int restart_length = 10;  ///< directions that the outer GCR keeps
  /// The largest distance of a link from SU(3). A device stores two rows of a link if that costs no digit. Computed if
  /// not given.
  std::optional<double> distance_from_su3{};
  /// Makes the hierarchy of the CPU library for a solver on a GPU. Cycles are checked against it, and coarse lattices
  /// may live there.
  hierarchy_maker on_host{};
};

/// The null vectors of a setup, on the host, for the next setup. They may come from another mass.
struct stored_setup {
  std::vector<null_space> vectors;  ///< orthonormal, a level each
  /// Of the vectors before, on the first coarse lattice: [vector][site of this rank][number], as
  /// `multigrid::coefficients`.
  std::vector<std::vector<complex<double>>> coefficients;
  double mass = 0.0;  ///< that they were made at
};

/// Where null vectors come from.
struct null_vector_origin {
  /// Returns the null vectors. Without this function, they are made of random vectors. Collective.
  std::function<stored_setup()> load{};
  int refresh = 0;  ///< inverse iterations on loaded vectors
};

/// On which device coarse lattices live.
enum class coarse_device {
  same,    ///< the device of the finest lattice
  host,    ///< the CPU
  fastest  ///< tried
};

/// The choices that `multigrid_solver::tune` may make.
struct tuning_choices {
  int columns = 1;  ///< that will be solved at once: trials time cycles of as many
  /// The most improvements of null vectors while a trial converges slowly. 0: no trial, and the shape stays.
  int trials = 4;
  bool shape = true;           ///< of the cycle; solvers that read answers at once keep theirs
  bool coarsest_steps = true;  ///< up to four times as many, if the solver of the coarsest lattice stalls
  coarse_device offload = coarse_device::same;
  /// The first lattice that every rank holds whole, 0: none. Not given: tried on several ranks.
  std::optional<std::size_t> whole_from{};
  /// How coarse corrections go together with relaxation. Not given: multiplicative, but tried if `offload` is tried.
  std::optional<correction_kind> correction{};
};

// ---- Reports of a solver

/// The seconds of the slowest rank. Only `tuning` holds the seconds that chose how kernels are launched.
struct setup_report {
  struct {
    double relaxation = 0.0, refinement = 0.0, orthonormalisation = 0.0, galerkin = 0.0, whole = 0.0, tuning = 0.0;
  } seconds;
  std::int64_t replaced = 0;  ///< null vectors that added nothing on an aggregate
  int dropped = 0;            ///< null vectors that added nothing on any aggregate
  /// Stages of null vectors whose leading ones are the columns of P on the finest lattice. 0: the columns are the
  /// vectors of the last stage.
  int stages = 0;
  std::vector<coarsening> coarsenings{};  ///< as they are without them
  double smallest_gain = 0.0;  ///< |M v| / |v| of the null vectors: smallest and largest; 0 if they were loaded
  double largest_gain = 0.0;
  std::optional<double> mass_of_vectors{};  ///< the mass at which loaded vectors were made
};

/// A cycle that was tried.
struct cycle_trial {
  cycle_shape shape;
  double rate = 0.0;     ///< |residual after a cycle| / |before|
  double seconds = 0.0;  ///< of an outer iteration of `columns` right-hand sides, about
  /// Lattices from this one on live with the CPU beside a fine one on a GPU; 0: none.
  std::size_t offload_from_level = 0;
  /// Every rank holds the lattices from this one on whole; 0: none.
  std::size_t whole_from = 0;
  int columns = 1;
  /// Returns seconds of a solve, up to a factor: until the residual has fallen by e.
  double cost() const { return rate > 0.0 && rate < 1.0 ? seconds / -std::log(rate) : 1e300; }
};

/// The choices of a trial, and the seconds of the slowest rank.
struct tuning_report {
  struct {
    double trial = 0.0;   ///< of cycles that were tried
    double whole = 0.0;   ///< with improvements of null vectors
    double tuning = 0.0;  ///< that found out how kernels are launched
  } seconds;
  /// The `rate` of a cycle, before the first and after each improvement of the null vectors.
  std::vector<double> trial_rates{};
  int coarsest_steps = 0;                 ///< that solves take
  cycle_shape cycle{};                    ///< that solves take
  std::vector<cycle_trial> shapes{};      ///< that were tried
  std::size_t whole_from = 0;             ///< as solves have it
  std::vector<cycle_trial> divisions{};   ///< lattices divided among ranks or whole, as they were tried
  std::size_t offload_from_level = 0;     ///< as solves have it
  std::vector<cycle_trial> placements{};  ///< that were tried
};

/// A solve of some right-hand sides at once.
struct multigrid_solve_report {
  schur_report report;
  double seconds = 0.0;         ///< without the seconds of tuning
  double tuning_seconds = 0.0;  ///< that found out how kernels are launched
  double flops = 0.0;           ///< of the finest lattice's Schur operators, standard counts; BiCGstab only
};

/// About M^-1 b in single precision.
struct single_solution {
  vectors_handle x;
  solve_report report;
};

/// The deviation from an identity of the coarse lattices.
struct identity_check {
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

/// A mode of gamma_5 M, found in the span of the null vectors and of the solutions with them as sources.
struct low_mode {
  double value = 0.0;      ///< lambda = <v, gamma_5 M v>
  double residual = 0.0;   ///< |gamma_5 M v - lambda v|: an eigenvalue is as near as that
  double chirality = 0.0;  ///< <v, gamma_5 v>, which is d lambda / d mass
  double missed = 0.0;     ///< |(1 - P P^+) v|: the part of v outside the null space of the finest lattice
  /// Returns |gamma_5 M v|, an upper bound on the smallest singular value of M.
  double gain() const { return std::hypot(value, residual); }
};

/// How much work modes are worth.
struct mode_probe {
  int modes = 4;            ///< returned, and solved for at once
  int steps = 1;            ///< solves of each
  int rounds = 3;           ///< at most, while the sign of the lowest is unknown
  double tolerance = 0.05;  ///< of a solve
  int iteration_limit = 8;  ///< of a solve
};

/// Why multigrid works, in numbers. Relaxation leaves slow modes. They are alike on small blocks of the lattice. So a
/// few null vectors that are cut into blocks hold them all.
struct null_space_study {
  int steps = 0;  ///< of relaxation in an iteration
  /// |e| / |first e| after n iterations e -= B A e on an error e: by relaxation alone, and by whole cycles.
  std::vector<double> relaxation{}, cycle{};
  std::vector<double> missed{};  ///< |(1 - P P^+) e| / |e| as relaxation goes on
  /// After relaxation, the share of the error outside the span of the first k null vectors: cut into aggregates, and
  /// whole. Both are split by chirality. `random`: of a random vector, cut.
  std::vector<double> cut{}, whole{}, random{};
  /// |v(x)|^2 of the lowest mode on a plane z, t through its largest value, and of P P^+ v: rows y of numbers x. For
  /// one rank.
  struct picture {
    int z = 0, t = 0;
    std::vector<std::vector<double>> mode{}, kept{};
  };
  std::optional<picture> plane{};
};

/// Solves M x = b by flexible GCR around a multigrid cycle. `solve` of vectors, in double precision on all sites,
/// leaves the sources and solutions of the other members as they are. All members are collective, except const members
/// that return stored values. One caller at a time. (Clark, Joo, Strelchenko, Cheng, Gambhir, Brower, SC16)
///
/// `follow` lets the smoother of the finest lattice and the outer operator see new links. Null vectors and coarse
/// operators stay: new coarse operators of old vectors would be worse. `renew` recomputes both. Members that solve, set
/// up, tune or make sources throw input_error if the links that were followed have moved. Links must stay as near to
/// SU(3) as `multigrid_settings::distance_from_su3`. The next solve recomputes the domains of Schwarz's procedure.
///
/// Members throw input_error for columns, spin-colours and fields that do not fit, and before what they need is there:
/// `set_up` for cycles, `resize` or sources for solutions, `low_modes` for modes.
class multigrid_solver : public vector_solver {
 public:
  using vector_solver::solve;

  virtual ~multigrid_solver() = default;

  /// Makes null vectors, coarse operators and a cycle, in place of earlier ones. Coarse corrections are multiplicative
  /// until `tune`. Throws input_error if aggregates do not fit.
  virtual setup_report set_up(const multigrid_parameters& parameters, const null_vector_origin& origin = {}) = 0;
  /// Recomputes null vectors, by inverse iterations on the present links, and coarse operators. Call it after links
  /// have moved far. Cycles keep their shape and their places. Throws input_error without a setup, for less than one
  /// iteration, and as `solve` does. Collective.
  virtual setup_report renew(int iterations) = 0;
  /// Tries cycles on a random right-hand side. Improves null vectors while cycles converge slowly and that helps. Then
  /// takes the open choices of shape and places with which solves are fastest.
  virtual tuning_report tune(const tuning_choices& open) = 0;
  /// Returns the report of the present setup, after the improvements of `tune`.
  virtual setup_report setup() const = 0;
  /// Returns the null vectors, for `null_vector_origin::load` of another run. Not of several ranks together: each has
  /// its own part.
  virtual stored_setup null_vectors() const = 0;

  /// Returns the deviations from P^+ P = 1 and P^+ M P = Mhat on random fields, for each level with the M of the
  /// lattice above.
  /// \param with_cycle  also of a cycle against the cycle of `multigrid_settings::on_host`, if given
  virtual std::vector<identity_check> identities(bool with_cycle) = 0;
  /// Returns the modes of gamma_5 M with the smallest |eigenvalues|, |values| ascending. (See
  /// common/eigen/inverse_modes.hpp.)
  virtual std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) = 0;
  /// Copies mode `number` of the last search, for checks. Ghosts are not filled.
  virtual void get_low_mode(int number, spinor_configuration& v) const = 0;
  /// Returns numbers that show why multigrid works on these links, from the modes of the last search.
  virtual null_space_study study_null_space() = 0;

  /// Makes room for `columns` right-hand sides. The earlier sources and solutions are lost.
  virtual void resize(int columns) = 0;
  virtual void set_source(int column, const spinor_configuration& b) = 0;
  /// Makes room for the columns of a caller's array, and copies them. Returns false if a square of their numbers is not
  /// finite. Only arrays in device memory are checked: callers know their own arrays.
  virtual bool set_sources(const spinor_array<const double>& b) = 0;
  /// The right-hand sides become these spin-colours of a source, times a phase, made where fields live.
  virtual void make_sources(const source_description& source, const std::vector<int>& components,
                            complex<double> phase) = 0;
  /// Makes b - M x the right-hand sides, to solve for the errors.
  virtual void set_residuals_as_sources() = 0;
  /// Returns the number of iterations of a first solve after which all is done that is done once: memory, recorded
  /// cycles, tuned kernels.
  virtual int warm_up_iterations() const = 0;
  virtual multigrid_solve_report solve(const stopping_rule& rule) = 0;
  /// Solves by BiCGstab instead, for comparison.
  /// \param inner  the precision of its Krylov space; the solution is double
  virtual multigrid_solve_report solve_by_bicgstab(const stopping_rule& rule, precision inner) = 0;
  /// Returns about M^-1 b, in single precision, as a preconditioner for other algorithms. BiCGstab takes 16 bits for
  /// tolerances of 1e-2 and above. The sources and solutions of the other members stay.
  /// \param b            in single precision, on all sites, of this library; input_error is thrown for others
  /// \param by_bicgstab  which needs no set_up
  virtual single_solution solve_in_single(const vectors_handle& b, const stopping_rule& rule, bool by_bicgstab) = 0;
  /// |x| and |b|, per right-hand side.
  virtual std::vector<double> solution_norms() const = 0;
  virtual std::vector<double> source_norms() const = 0;
  virtual void get_solution(int column, spinor_configuration& x) const = 0;
  /// Returns the solutions of the last solve without a copy. The next solve does not change them as long as the handle
  /// is kept.
  virtual vectors_handle solutions() = 0;
  /// Solves like `solve`, with stages that are timed by themselves.
  virtual solve_profile profile(const stopping_rule& rule) = 0;
};

}  // namespace plaquette
