// SPDX-License-Identifier: BSD-3-Clause
#include "common/approximation/zolotarev.hpp"

#include <algorithm>
#include <boost/math/special_functions/ellint_1.hpp>
#include <boost/math/special_functions/jacobi_elliptic.hpp>
#include <cmath>
#include <string>

#include "common/error.hpp"
#include "common/number_text.hpp"

namespace plaquette {

namespace {

using real = long double;

/// With y = (x / lowest)^2: (x / lowest) prod_{l < n} (y + c_{2l}) / prod_{l <= n} (y + c_{2l-1}), before d0.
real unscaled(real x_over_lowest, const std::vector<real>& c, int poles) {
  const real y = x_over_lowest * x_over_lowest;
  real value = x_over_lowest / (y + c[static_cast<std::size_t>(2 * poles - 1)]);
  for (int l = 1; l < poles; ++l)
    value *= (y + c[static_cast<std::size_t>(2 * l)]) / (y + c[static_cast<std::size_t>(2 * l - 1)]);
  return value;
}

}  // namespace

double zolotarev_function::operator()(double x) const {
  double sum = 0.0;
  for (std::size_t l = 0; l < shifts.size(); ++l) sum += weights[l] / (x * x + shifts[l]);
  return x * sum;
}

zolotarev_function zolotarev_of_poles(int poles, double lowest, double highest) {
  if (!(lowest > 0.0 && highest > lowest))
    throw input_error("zolotarev: expected an interval 0 < lowest < highest, found [" + number_text(lowest) + ", " +
                      number_text(highest) + "]");
  if (poles < 1 || poles > 100) throw input_error("zolotarev: expected 1 to 100 poles, found " + std::to_string(poles));
  const real e = static_cast<real>(lowest) / highest;
  const real modulus = std::sqrt((1 - e) * (1 + e));
  const real quarter_period = boost::math::ellint_1(modulus);
  std::vector<real> c(static_cast<std::size_t>(2 * poles));
  // It equioscillates at x_j = lowest / dn(j K' / 2n), j = 0 .. 2n; dn^2 = cn^2 + e^2 sn^2 without cancellation.
  std::vector<real> extremes{1, 1 / e};
  for (int l = 1; l < 2 * poles; ++l) {
    real cn = 0, dn = 0;
    const real sn = boost::math::jacobi_elliptic(modulus, l * quarter_period / (2 * poles), &cn, &dn);
    c[static_cast<std::size_t>(l)] = sn * sn / (cn * cn);
    extremes.push_back(1 / std::sqrt(cn * cn + e * e * sn * sn));
  }
  real least = 1, most = 0;
  bool first = true;
  for (const real x : extremes) {
    const real value = unscaled(x, c, poles);
    least = first ? value : std::min(least, value);
    most = first ? value : std::max(most, value);
    first = false;
  }
  // d0 puts 1 in the middle between the extremes.
  const real d0 = 2 / (least + most);

  zolotarev_function f;
  f.lowest = lowest;
  f.highest = highest;
  f.delta = static_cast<double>((most - least) / (most + least));
  for (int l = 1; l <= poles; ++l) {
    const real pole = c[static_cast<std::size_t>(2 * l - 1)];
    real b = d0;
    for (int i = 1; i < poles; ++i) b *= c[static_cast<std::size_t>(2 * i)] - pole;
    for (int i = 1; i <= poles; ++i)
      if (i != l) b /= c[static_cast<std::size_t>(2 * i - 1)] - pole;
    f.shifts.push_back(static_cast<double>(pole * lowest * lowest));
    f.weights.push_back(static_cast<double>(b * lowest));
  }
  return f;
}

zolotarev_function zolotarev_of_error(double delta, double lowest, double highest) {
  for (int poles = 1; poles <= 60; ++poles) {
    zolotarev_function f = zolotarev_of_poles(poles, lowest, highest);
    if (f.delta <= delta) return f;
  }
  throw input_error("zolotarev: no function of 60 poles or fewer has an error of " + number_text(delta) + " on [" +
                    number_text(lowest) + ", " + number_text(highest) + "]");
}

}  // namespace plaquette
