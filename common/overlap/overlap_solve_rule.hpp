// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How D(m) x = b is solved, and what a solve reports. Numbers only.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "common/lattice/stout_smearing.hpp"
#include "common/overlap/overlap_mode_search.hpp"

namespace plaquette {

enum class overlap_scheme {
  fixed,          ///< one accuracy, in double
  relaxed,        ///< accuracy follows the residual, high orders in single precision
  defect,         ///< CG with a cheap sign function inside, true residuals outside (Giusti et al. 2002)
  preconditioned  ///< minimal residuals of D(m), preconditioned by a clover operator on smeared links
};

/// How M x = b is solved.
enum class clover_method {
  fastest,  ///< BiCGstab; where it takes many iterations, the faster of both
  multigrid,
  bicgstab
};

/// What preconditions D(m) in the scheme of that name: M^-1 + a, M the clover operator on smeared links, in a few steps
/// of GCR on D(m) with a cheap sign function.
struct overlap_preconditioner {
  stout_smearing smearing{3, 0.1};  ///< of the links of M alone, on top of what those of H have
  double mass = 0.0, csw = 1.0;     ///< of M
  double tolerance = 3e-2;          ///< of M^-1
  clover_method method = clover_method::fastest;
  double constant = 0.3;  ///< a, near 1 / (2 rho)
  int inner_steps = 4;    ///< of GCR; 0: M^-1 + a alone
  double inner_delta = 0.03;
  double relaxation = 0.02;  ///< f in delta = f tolerance / (|t| |r|) of a new direction t
  int directions = 60;       ///< for each column, after which the solve starts again from its residual
  int batch = 0;             ///< columns at once; 0: all
  int narrow = 0;            ///< of these, columns at once in inner steps and sign functions, for memory; 0: all
  int recycled = 0;          ///< directions of the first columns that later ones begin with, at most
  bool modes_in_single =
      true;  ///< the modes of H are there in single precision too, so that it takes all of the inner steps

  bool operator==(const overlap_preconditioner&) const = default;
};

/// The most modes of D of a chirality that are first directions: images take a sign function each and memory, and
/// higher modes save little.
inline constexpr int most_modes_as_directions = 32;

/// Returns how many vectors the storage of a search space grows by, of columns that are solved for together. With their
/// images they fill kernels that take 32 vectors.
inline int block_length_of(int columns) { return columns > 3 ? 32 : 16; }

/// How many of some columns are solved for before the others, which begin with directions of these.
inline int leading_columns(int columns) { return std::max(1, columns / 6); }

/// Returns the accuracy of the sign function that judges a residual |b - D(m) x| / |b|. It moves that by up to delta
/// times `size` = (rho - m/2) |x| / |b|: by 3% of the tolerance at most, as far as double precision goes.
inline double accuracy_of_judgement(double tolerance, double size) {
  constexpr double share = 0.03, least = 1e-13, most = 1e-10;
  const double allowed = share * tolerance / size;
  return allowed >= most ? most : std::max(least, detail::rounded_down(allowed));
}

struct overlap_solve_rule {
  double tolerance = 1e-8;  ///< of |b - D(m) x| / |b|
  overlap_scheme scheme = overlap_scheme::relaxed;
  double relaxation = 0.15;    ///< f in delta_k = f tolerance sqrt(sum_j 1 / |r_j|^2)
  double coarsest = 0.1;       ///< no delta_k is above this share of the least eigenvalue other than those of the modes
  double fixed_delta = 1e-10;  ///< of the fixed scheme
  double cheap_delta = 1e-4;   ///< of the defect correction's inner solves
  double inner_tolerance = 1e-3;  ///< of these
  /// Above 0: the square of the sign function, fixed by hand, is not 1 to the tolerance. Then D(m) is applied as it is,
  /// with a sign function that is computed to this, and directions have no partners.
  double coarse_sign_delta = 0.0;
  overlap_preconditioner preconditioner{};  ///< of the preconditioned scheme
  /// Where memory runs out, the preconditioned scheme starts again from the residual, or with fewer columns at once. Of
  /// one rank: others would not know.
  bool may_shrink_batch = false;
  int limit = 3000;
  int corrections = 8;
  std::function<bool()> interrupted = nullptr;
  std::function<void(int iteration, double worst)> progress = nullptr;
  std::function<void()> finish = nullptr;  ///< waits for queued work, so that the preconditioned scheme times its parts
};

/// How a mass was solved. Vectors have a number a column.
struct overlap_mass_report {
  double mass = 0.0;
  int iterations = 0;              ///< of the multi-shift solve
  int corrections = 0;             ///< solves from true residuals after it
  std::vector<double> iterated{};  ///< |r| / |b| at the end of the multi-shift solve
  std::vector<double>
      residual{};  ///< |b - D(m) x| / |b| of x = D(m)^+ y, from |b - D(m)^+ D(m) y|, accurate sign function
  std::vector<double> worst{};  ///< of these: after the multi-shift solve, after each correction
  bool converged = false;
};

/// Work of the preconditioned scheme; a column counts one.
struct preconditioned_work {
  double directions = 0.0;
  int columns_at_once = 0;                         ///< at most
  int leading = 0;                                 ///< first columns, which begin with no directions of others
  double directions_of_leading = 0.0;              ///< of each of these
  int recycled = 0;                                ///< directions that later columns began with
  double accurate_signs = 0.0, cheap_signs = 0.0;  ///< of D in the outer solve; of the inner steps
  double clover_solves = 0.0, clover_applications = 0.0;
  int corrections = 0;         ///< rounds from true residuals
  bool by_multigrid = false;   ///< how M x = b was solved
  double setup_seconds = 0.0;  ///< of M and its solver
  /// Where the rule has `finish`: of these parts; the rest of a solve's time is work on vectors.
  double accurate_sign_seconds = 0.0, cheap_sign_seconds = 0.0, clover_seconds = 0.0, projection_seconds = 0.0;
};

struct overlap_solve_report {
  std::vector<overlap_mass_report> masses;
  std::vector<double> history;  ///< worst iterated residual of the lightest mass
  std::vector<double> deltas;   ///< accuracy of the sign function in each iteration
  preconditioned_work work{};   ///< of the preconditioned scheme
};

}  // namespace plaquette
