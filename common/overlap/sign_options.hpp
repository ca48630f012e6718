// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How sign(H) is computed, what it counts, and which orders of its polynomial low precision may compute. Numbers only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>

namespace plaquette {

/// Applications of H, one a column.
struct kernel_count {
  double as_double = 0.0, as_single = 0.0, half = 0.0;
  double sign_applications = 0.0;  ///< applications of the sign function, one a column
};

enum class sign_method { polynomial, zolotarev, zolotarev_double_pass };

/// How Clenshaw's recurrence is computed.
enum class sign_precision {
  as_double,  ///< all in double
  mixed,      ///< the high orders, which come first and are small, in single precision
  half        ///< the highest of these in half precision
};

/// What low precision may add to the error of a sign function, as a share of delta. The polynomial itself errs by 0.65
/// delta on a random vector.
inline constexpr double share_of_low_precision = 0.08;

/// Single precision alone reaches this accuracy: its floor is near 1e-7.
inline constexpr double least_delta_of_single = 2e-7;

/// What is fixed by hand; zeros are chosen.
struct sign_options {
  sign_method method = sign_method::polynomial;
  sign_precision precision = sign_precision::mixed;
  double lowest = 0.0, highest = 0.0;  ///< range of |H| on the rest; lowest 0: the last mode's
  int degree = 0, poles = 0;           ///< whatever the accuracy
  int batch = 0;                       ///< columns at once in Clenshaw's recurrence; 0: all
  double low_share = share_of_low_precision;
  /// Asked within a sign function, or null. Where it is true, that ends and is of no use. Collective.
  std::function<bool()> interrupted = nullptr;
};

/// The lowest order of Clenshaw's recurrence for sum_k a_k T_k, k odd, that numbers of unit rounding u may compute when
/// these are allowed to spoil the result by `allowed`. Rounding in the orders above k errs by some u sum_{j > k} |a_j|.
/// \param odd  a_1, a_3, ...
inline int first_order_of(std::span<const double> odd, double u, double allowed) {
  double tail = 0.0;
  for (std::size_t i = odd.size(); i-- > 0;) {
    tail += std::abs(odd[i]);
    if (u * tail > allowed) return 2 * static_cast<int>(i) + 1;
  }
  return 0;
}

/// The order for single precision, for a result that is right to delta. Above least_delta_of_single all of it.
inline int first_order_in_single(std::span<const double> odd, double delta, double share = share_of_low_precision) {
  return delta >= least_delta_of_single && share >= share_of_low_precision
             ? 0
             : first_order_of(odd, 0x1p-24, share * delta);
}
/// The order for half precision, where a number has 16 bits relative to the largest of its site.
inline int first_order_in_half(std::span<const double> odd, double delta, double share = share_of_low_precision) {
  return first_order_of(odd, 0x1p-16, share * delta);
}

}  // namespace plaquette
