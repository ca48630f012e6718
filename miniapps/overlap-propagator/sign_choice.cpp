// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/sign_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/error.hpp"

namespace plaquette {

namespace {

double eps_of(const sign_options& options) { return std::pow(options.lowest / options.highest, 2); }

/// Returns 1 - |the function that was fixed by hand| of a number.
double error_at(const sign_options& options, double h) {
  if (options.method == sign_method::polynomial) {
    const double q = h / options.highest;
    return std::abs(1.0 - q * minimax_of_degree(options.degree, eps_of(options))(q * q));
  }
  return std::abs(1.0 - zolotarev_of_poles(options.poles, options.lowest, options.highest)(h));
}

/// The rest of |H| has to lie in the range. Another program's function, fixed by hand, may err a little beyond it.
void choose_range(sign_choice& choice, const overlap_options& options, const kernel_modes& modes) {
  sign_options& sign = choice.options;
  if (sign.highest <= 0.0) sign.highest = modes.highest;
  if (sign.lowest <= 0.0) sign.lowest = modes.values.empty() ? modes.lowest_of_rest : std::abs(modes.values.back());
  // modes.highest is 2 in 1000 above the largest |H|.
  choice.largest = modes.highest / 1.002;
  choice.smallest = modes.lowest_of_rest > 0.0 ? modes.lowest_of_rest
                    : modes.values.empty()     ? 0.0
                                               : std::abs(modes.values.back());
  choice.rest_lowest = choice.smallest > 0.0 ? std::min(sign.lowest, choice.smallest) : sign.lowest;
  choice.rest_highest = std::max(sign.highest, modes.highest);
  choice.holds_largest = choice.largest <= sign.highest;
  choice.holds_smallest = sign.lowest <= choice.smallest * (1.0 + 1e-8);
  choice.is_by_hand = options.sign.lowest > 0.0 && sign.degree + sign.poles > 0 && !options.delta_given;
  constexpr double most_beyond = 0.1;
  if (choice.range_holds() || !choice.is_by_hand || !(choice.smallest > 0.0)) return;
  choice.error_beyond = std::max(error_at(sign, choice.rest_lowest), error_at(sign, choice.rest_highest));
  if (!(choice.error_beyond <= most_beyond)) choice.error_beyond = 0.0;
}

void require_usable_degree(const overlap_options& options, const sign_options& sign) {
  const int needed = estimated_degree(eps_of(sign), options.delta);
  constexpr int most = 2000;
  if (needed <= most) return;
  const double gap = std::log(0.41 / options.delta) / (2.1 * most) * sign.highest;
  throw input_error(fmt::format(
      "--modes {}: the polynomial of --delta {:g} on |H| from {:.3g} on has degree {}; expected {} at most, which "
      "|H| from {:.3g} on would have, {:.1f} times the gap: take more modes exactly, or smear the links",
      options.modes, options.delta, sign.lowest, needed, most, gap, gap / sign.lowest));
}

/// A degree or a number of poles that was fixed by hand has to reach delta. With range and degree, or poles, of another
/// program any error is accepted.
void require_accuracy(sign_choice& choice, const overlap_options& options) {
  const sign_options& sign = choice.options;
  const bool is_polynomial = sign.method == sign_method::polynomial;
  if (is_polynomial && sign.degree == 0) return require_usable_degree(options, sign);
  if (!is_polynomial && sign.poles == 0) return;
  const double error = is_polynomial ? minimax_of_degree(sign.degree, eps_of(sign)).delta
                                     : zolotarev_of_poles(sign.poles, sign.lowest, sign.highest).delta;
  if (choice.is_by_hand) {
    choice.delta = std::max({error, choice.error_beyond, 1e-13});
    // D^+ D is 2 P (1 +- sign H) P only as far as sign^2 = 1.
    choice.is_coarse = choice.delta > 0.01 * options.tolerance();
    return;
  }
  if (error <= choice.delta) return;
  const std::string what = is_polynomial ? fmt::format("--degree {}: a polynomial of this degree", sign.degree)
                                         : fmt::format("--poles {}: Zolotarev's function", sign.poles);
  const std::string needed =
      is_polynomial ? fmt::format("degree {} has", minimax_of_error(choice.delta, eps_of(sign)).degree())
                    : fmt::format("{} poles have", zolotarev_of_error(choice.delta, sign.lowest, sign.highest).poles());
  throw input_error(
      fmt::format("{} has an error of {:.3g} on |H| from {:.4g} to {:.4g}; expected --delta {:g} or "
                  "less, which {}",
                  what, error, sign.lowest, sign.highest, choice.delta, needed));
}

}  // namespace

sign_choice choose_sign(const overlap_options& options, const kernel_modes& modes) {
  sign_choice choice;
  choice.options = options.sign;
  choice.delta = options.delta;
  choose_range(choice, options, modes);
  // Nothing is computed beyond the sign function with a range that does not hold |H|.
  if (!choice.range_holds() && !choice.is_tolerated() && options.until != overlap_stage::sign)
    throw input_error(fmt::format(
        "--range: |H| outside {} modes reaches from {:.6g} to {:.6g}; expected a range that holds it, found {:g},{:g}",
        modes.values.size(), choice.smallest, choice.largest, choice.options.lowest, choice.options.highest));
  require_accuracy(choice, options);
  return choice;
}

}  // namespace plaquette
