// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Zolotarev's rational function, the best approximation of sign(x) on lowest <= |x| <= highest. (van den Eshof,
/// Frommer, Lippert, Schilling, van der Vorst, hep-lat/0202025; Chiu, Hsieh, Huang, Huang, hep-lat/0206007)
#pragma once

#include <vector>

namespace plaquette {

/// sign(x) ~ x sum_l weights[l] / (x^2 + shifts[l]), with delta = max |1 - |that|| on the interval.
struct zolotarev_function {
  double lowest = 0.0, highest = 1.0;
  double delta = 1.0;
  std::vector<double> shifts;   ///< ascending, positive
  std::vector<double> weights;  ///< positive

  int poles() const { return static_cast<int>(shifts.size()); }
  double operator()(double x) const;
};

/// With n poles: c_l = sn^2(u_l) / (1 - sn^2(u_l)), u_l = l K' / (2 n), of modulus k'^2 = 1 - (lowest/highest)^2.
/// Throws input_error unless 0 < lowest < highest and 1 <= poles <= 100.
zolotarev_function zolotarev_of_poles(int poles, double lowest, double highest);

/// Returns the fewest poles whose delta is not above the one given.
zolotarev_function zolotarev_of_error(double delta, double lowest, double highest);

}  // namespace plaquette
