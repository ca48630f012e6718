// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is sought of the modes of a Hermitian operator H, the sizes that a search chooses, and where it stands. Numbers
/// only.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/krylov/restart_state.hpp"

namespace plaquette {

enum class mode_method { lanczos, arnoldi };

/// What is sought, and how. Zeros are chosen.
struct mode_search {
  int modes = 0;
  double tolerance = 1e-10;  ///< of |H v - lambda v|
  mode_method method = mode_method::lanczos;
  double highest = 0.0;  ///< bound of |H|
  double window = 0.0;   ///< the filter amplifies |lambda| below
  int degree = 0;        ///< of the filter
  int block = 0;         ///< vectors at once
  int keep = 0, most = 0;
  int cycles = 30;
  /// Told after each cycle: how many of the modes have converged, and the largest estimate among those sought.
  std::function<void(int cycle, int converged, double worst)> progress = nullptr;
  std::function<bool()> interrupted = nullptr;
};

/// How a search goes, or went.
struct mode_search_course {
  double highest = 0.0, window = 0.0;
  int degree = 0, block = 1, keep = 0, most = 0, cycles = 0;
  int widened = 0;  ///< how often the window held too few modes
  int raised = 0;   ///< how often the bound of |H| had missed the largest and was raised
};

/// Ritz vectors that survive a restart: more than are wanted.
inline int kept_modes(int modes) { return modes + std::max(4, modes / 8); }

/// Sizes of the search space, where `search` leaves them open too.
inline restart_sizes sizes_of_search(const mode_search& search) {
  restart_sizes sizes{.keep = search.keep > 0 ? search.keep : kept_modes(search.modes), .cycles = search.cycles};
  const int block = search.method == mode_method::arnoldi ? 1 : search.block;
  sizes.most = search.most > 0 ? search.most : std::max(sizes.keep + std::max(12, 2 * block), (5 * search.modes) / 2);
  sizes.block = block > 0 ? block : std::clamp(sizes.most / 50, 1, std::clamp(sizes.most - sizes.keep, 1, 10));
  // Most modes have converged after the first cycle, and the rest takes few vectors more.
  if (search.most == 0)
    sizes.later = std::min(sizes.most, sizes.keep + std::max(5 * sizes.block, (search.modes + 3) / 4));
  return sizes;
}

/// The degree of the filter that a search takes. Counted by thick restarts on spectra of 8^3x16 to 24^3x64, with 10 to
/// 200 modes: 2.5 highest / window takes up to a fifth more applications of H, 1.6 as many, in more cycles. The
/// implicit shifts of Arnoldi's method want the stronger filter.
inline int chosen_filter_degree(mode_method method, double window, double highest) {
  const double half = (method == mode_method::lanczos ? 1.0 : 1.25) * highest / window;
  return std::max(8, 2 * static_cast<int>(std::lround(half)));
}

/// The lowest even degree of a filter by which modes in the middle of the window grow enough to be told from the rest.
/// \param window, highest  as in mode_search; of an estimate, too
inline int least_filter_degree(double window, double highest) {
  // T_d(1 + 2 y^2) = cosh(2 d asinh y) is 1.05 with y = 0.7 window / highest.
  const double degree = 0.5 * std::acosh(1.05) / std::asinh(0.7 * window / highest);
  return std::max(2, 2 * static_cast<int>(std::ceil(0.5 * degree - 1e-9)));
}

/// Where a search stands after a cycle: what a later call goes on from, together with its basis.
struct mode_search_state : mode_search_course {
  restart_state restart;
};

}  // namespace plaquette
