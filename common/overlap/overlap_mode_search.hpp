// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is sought of the modes of the overlap operator D, and how accurate the sign function has to be for it. Numbers
/// only.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>

#include "common/krylov/restart_state.hpp"

namespace plaquette {

struct overlap_mode_search {
  int modes = 0;  ///< in the chirality that is searched, zero modes included
  double tolerance = 1e-10;
  int chirality = 0;    ///< that is searched, +1 or -1; 0: the one that seems to have no zero modes
  bool relaxed = true;  ///< the sign function becomes less accurate as residuals fall
  /// Whether solves will be deflated by the modes, where an error counts by 1 / e. Then modes of a tolerance above 1e-8
  /// become somewhat better than that, and the lowest up to ten times.
  bool for_deflation = true;
  int keep = 0, most = 0, cycles = 60;
  int block = 1;       ///< vectors that the sign function takes at once
  double zero = 1e-8;  ///< e below is a zero mode
  std::function<void(int cycle, int converged, double worst, double delta)> progress = nullptr;
  std::function<bool()> interrupted = nullptr;
};

/// Ritz vectors of D^+ D that survive a restart, of a search in blocks of `block`.
inline int kept_overlap_modes(int modes, int block) { return modes + std::max(3, block > 1 ? modes / 2 : modes / 10); }

/// Sizes of the search space, where they are not fixed. Blocks take more applications of the sign function. They were
/// counted with thick restarts on a spectrum like that of 100 modes at 24^3x64, to 3e-6. One vector at a time takes
/// 2850 in a space of 250 vectors; blocks of four take 3130 in 400 and 3370 in 612; of eight 3100 in 480; of twelve
/// 3070 to 3400 in 480 and 3380 in 800. Short cycles end sooner after all has converged.
inline restart_sizes sizes_of_search(const overlap_mode_search& search) {
  const int l = search.modes, p = std::max(1, search.block);
  const int keep = search.keep > 0 ? search.keep : kept_overlap_modes(l, p);
  const int most = p > 1 ? 4 * l + p * l / 15 : (5 * l) / 2;
  return {.keep = keep,
          .most = search.most > 0 ? search.most : std::max(keep + 40 * p, most),
          .block = p,
          .cycles = search.cycles};
}

namespace detail {

/// The next quarter of a decade below: so few polynomials are needed.
inline double rounded_down(double delta) { return std::pow(10.0, std::floor(4.0 * std::log10(delta)) / 4.0); }

}  // namespace detail

/// Accuracy of the sign function in the search, where estimated residuals are at most `worst`, of modes up to e =
/// `top`. Sign functions of one accuracy are one operator, whose modes have residuals of some 0.8 delta. Later a less
/// accurate one is enough: its error counts by the share of new vectors in the Ritz vectors. That is worst / gap, with
/// a gap that top measures. Errors add up over the steps.
inline double overlap_search_accuracy(double tolerance, double worst, double top) {
  const double least = std::clamp((tolerance > 1e-8 ? 0.8 : 0.5) * tolerance, 1e-13, 1e-4);
  const double allowed = 0.03 * tolerance * top / std::max(worst, 1e-300);
  return std::max(least, detail::rounded_down(std::clamp(allowed, least, 1e-4)));
}

/// The least tolerance of a search in single precision. Roundings of the sign function leave residuals of some 6e-6.
inline constexpr double least_single_tolerance = 1e-5;

/// Whether a search is in single precision, where the sign function may be mixed. What it leaves above the tolerance is
/// taken off mode by mode, in some seven applications for each digit. So it is not worth while for very tight
/// tolerances.
inline bool overlap_search_is_single(double tolerance) { return tolerance >= 1e-8; }

/// Accuracy of the sign function with which modes of a tolerance, once found, are judged. Residuals are known to twice
/// that, and e better.
inline double accuracy_of_residuals(double tolerance) {
  return tolerance > 1e-8 ? std::clamp(0.02 * tolerance, 1e-9, 1e-7) : std::clamp(1e-3 * tolerance, 1e-13, 1e-9);
}

/// The largest residual that a mode of the other chirality may have, w = P D v / sqrt(e - e^2/4) of a v with the
/// residual `tolerance`: (D^+ D - e) commutes with D, and |D| <= 2, as far as sign^2 = 1.
/// \param delta  error of the sign function, of which |1 - sign^2| is twice as much
inline double tolerance_of_partner(double e, double tolerance, double delta = 0.0) {
  const double s = e - 0.25 * e * e;
  if (!(s > 0.0)) return tolerance;
  return tolerance * std::max(1.0, 2.0 / std::sqrt(s)) + 2.0 * (2.0 + delta) * delta / std::sqrt(s);
}

/// Returns the accuracy of the sign function where vectors of e below half of `expected` are sought. It moves an e by
/// twice that at most: by less than a seventh of a quarter of `expected`, which tells them from others.
inline double accuracy_in_complement(double expected) {
  return detail::rounded_down(std::clamp(expected / 60.0, 1e-5, 3e-3));
}

/// What random vectors tell of D^+ D off known modes.
struct complement_probe {
  double lowest = 4.0;   ///< no less than the least e there
  bool settled = false;  ///< the search came as far as `steps_to_find` says
};

/// Returns the accuracy of the sign function with which modes off known ones are sought. It moves an e by twice that at
/// most: by a thousandth of the bound, which is 2 in 1000 below the last known one.
inline double accuracy_of_probe(double bound) { return std::clamp(5e-4 * bound, 1e-7, 1e-4); }

/// Steps of Lanczos after which a random vector of `size` components has shown an e below 0.75 of `bound`, or one of 0:
/// Chebyshev polynomials of D^+ D amplify it against e from `bound` on by cosh(2 n g), sinh(g)^2 = (bound - e) / 4.
inline int steps_to_find(double bound, double size, bool zero_modes_alone) {
  const double g = std::asinh(std::sqrt((zero_modes_alone ? 0.25 : 0.0625) * bound));
  return static_cast<int>(std::ceil(0.5 * std::log(20.0 * std::sqrt(16.0 * size / bound)) / g));
}

}  // namespace plaquette
