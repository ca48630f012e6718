// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How D(m) x = b is solved, and what a solve reports. Numbers only.
#pragma once

#include <functional>
#include <vector>

namespace plaquette {

enum class overlap_scheme {
  fixed,    ///< one accuracy, in double
  relaxed,  ///< accuracy follows the residual, high orders in single precision
  defect    ///< CG with a cheap sign function inside, true residuals outside (Giusti et al. 2002)
};

struct overlap_solve_rule {
  double tolerance = 1e-8;  ///< of |b - D(m) x| / |b|
  overlap_scheme scheme = overlap_scheme::relaxed;
  double relaxation = 0.15;    ///< f in delta_k = f tolerance sqrt(sum_j 1 / |r_j|^2)
  double coarsest = 0.1;       ///< no delta_k is above this share of the least eigenvalue other than those of the modes
  double fixed_delta = 1e-10;  ///< of the fixed scheme
  double cheap_delta = 1e-4;   ///< of the defect correction's inner solves
  double inner_tolerance = 1e-3;  ///< of these
  /// Above 0: the square of the sign function, fixed by hand, is not 1 to the tolerance. Then D(m) is applied as it is,
  /// with a sign function that is computed to this.
  double coarse_sign_delta = 0.0;
  int limit = 3000;
  int corrections = 8;
  std::function<bool()> interrupted = nullptr;
  std::function<void(int iteration, double worst)> progress = nullptr;
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

struct overlap_solve_report {
  std::vector<overlap_mass_report> masses;
  std::vector<double> history;  ///< worst iterated residual of the lightest mass
  std::vector<double> deltas;   ///< accuracy of the sign function in each iteration
};

}  // namespace plaquette
