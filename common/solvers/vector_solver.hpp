// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The common base of a library's solvers: it solves on vectors.
#pragma once

#include <vector>

#include "common/krylov/schur_solve.hpp"
#include "common/solvers/library_part.hpp"
#include "common/solvers/link_field.hpp"
#include "common/solvers/vectors.hpp"

namespace plaquette {

/// Which system is solved. On vectors of all sites M x = b, or M^+ x = b. On vectors of even sites, for solvers that
/// have such systems, with Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe,
///
///     (Mhat + i mu gamma_5) x = b       (Mhat^+ - i mu gamma_5) x = b  with `dagger`
///     (Mhat^+ Mhat + mu^2) x = b  with `squared`
struct vector_system {
  bool dagger = false;
  bool squared = false;
  /// One for all columns, or one a column; empty: 0. Columns of one mu that follow each other are solved together.
  std::vector<double> mu{};
};

/// Solutions, and how the solve of each column ended.
struct solved_vectors {
  vectors x;
  schur_report report;
};

class vector_solver : public library_part {
 public:
  /// Takes the links as they are now, in the memory of the earlier links, so that recorded and tuned work stays valid.
  /// From then on each solve throws input_error if they have moved since. Sources and solutions stay as they are.
  /// Collective. Throws input_error for links of another library or lattice, and if this solver cannot follow; it then
  /// stays as it was. Throws input_error, too, for links whose A is singular: then each solve does so until a follow
  /// succeeds.
  void follow(const link_field& links);

  /// Solves all columns from a zero guess. The report's true residuals are recomputed with the operator of the system;
  /// floors are the rounding floors of full systems. Collective. Throws input_error unless x and b are different
  /// vectors of one shape. They must be of this solver's library and have the precision of its solutions. It throws,
  /// too, for a system that it does not solve, and if the links that it follows have moved.
  /// \param x  is not read
  schur_report solve(vectors& x, const vectors& b, const stopping_rule& rule, const vector_system& system = {});
  /// Returns the solutions in vectors of their own.
  solved_vectors solve(const vectors& b, const stopping_rule& rule, const vector_system& system = {});

 protected:
  ~vector_solver() = default;

  /// Throws input_error if the links that were followed have moved since, or if a follow has failed halfway.
  void require_current_links() const { followed_.require_current("this solver"); }

  /// Returns what this solver follows, for operators that it gives away.
  const followed_links& followed() const { return followed_; }

  /// Notes that a follow starts to change this solver. Before that a follow may throw and leave the solver as it was.
  void begin_to_follow() { followed_.begin(); }

 private:
  virtual void follow_checked(const link_field& links);
  /// Returns whether there are systems on even sites.
  virtual bool solves_even_systems() const = 0;
  /// Returns the precision of solutions.
  virtual precision numbers_of_solutions() const = 0;
  /// \param system  with one mu a column
  virtual schur_report solve_checked(vectors& x, const vectors& b, const stopping_rule& rule,
                                     const vector_system& system) = 0;

  followed_links followed_;
};

}  // namespace plaquette
