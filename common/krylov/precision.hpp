// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The precisions that a field may be stored in, their roundoffs, and the defaults of a solver of mixed precision.
#pragma once

#include <string>
#include <type_traits>

#include "common/algebra/fixed_point.hpp"
#include "common/algebra/float_pair.hpp"
#include "common/error.hpp"

namespace plaquette {

enum class precision {
  double_,
  pairs,  ///< double by pairs of floats: 48 bits
  single,
  half
};

inline const char* name(precision p) {
  return p == precision::double_  ? "double"
         : p == precision::pairs  ? "pairs"
         : p == precision::single ? "single"
                                  : "half";
}

/// Of a field: by its value_type, which is double, float_pair, float or half.
template <class Field>
inline constexpr precision precision_of = std::is_same_v<typename Field::value_type, double>       ? precision::double_
                                          : std::is_same_v<typename Field::value_type, float_pair> ? precision::pairs
                                          : std::is_same_v<typename Field::value_type, float>      ? precision::single
                                                                                                   : precision::half;

/// Returns the largest relative error of one rounding: 2^-53, 2^-24; of half 2^-16, half a unit of its fixed point
/// relative to the largest number that shares the scale; of pairs 2^-45, of a product relative to the terms that it
/// adds.
constexpr double unit_roundoff(precision p) {
  return p == precision::double_  ? 0x1p-53
         : p == precision::pairs  ? 0x1p-45
         : p == precision::single ? 0x1p-24
                                  : 0x1p-16;
}

/// Returns epsilon |A| |x| / |b|, epsilon = 2 u the distance from 1 to the next number: about the |b - A x| / |b| that
/// comes from rounding x to a precision of unit roundoff u and summing A x in it. (Measured for the Wilson-clover
/// operator: a third to the whole of it.)
constexpr double residual_floor(double unit_roundoff, double operator_norm, double x_norm, double b_norm) {
  return 2.0 * unit_roundoff * operator_norm * x_norm / b_norm;
}

/// The tolerance of a solve, and when its residual is recomputed.
struct mixed_precision_defaults {
  double tolerance;  ///< on |b - A x| / |b|
  /// The residual is recomputed, and the correction added to the solution, when the iterated residual has fallen to
  /// this fraction of the largest since the last time.
  double delta;
  /// Iterations after which it is recomputed in any case. In half precision every 40 to 200 are about equal: fewer
  /// iterations with the former, fewer updates with the latter.
  int longest_interval;
};

/// Babich, Clark, Joo (SC10), table of solver modes; outer: of the solution and the true residual; inner: of the Krylov
/// space. Pairs that are not in the table have the tolerance of their outer precision. Their delta is limited by the
/// inner recurrence, whose error relative to the largest residual since the last update must stay below it.
/// Double-single has the delta of uniform single.
/// \throws input_error if the inner precision is the higher one
inline mixed_precision_defaults default_parameters(precision outer, precision inner) {
  if (inner < outer)
    throw input_error(std::string("mixed precision: the inner precision must not be above the outer one, found ") +
                      name(outer) + "-" + name(inner));
  if (outer == precision::half || inner == precision::pairs)
    throw input_error("mixed precision: the outer precision must be double, pairs or single, the inner one not pairs");
  const int interval = inner == precision::half ? 40 : inner == precision::single ? 100 : 200;
  if (outer != precision::single)
    return {outer == precision::pairs ? 1e-12 : 1e-14,
            inner == precision::double_  ? 1e-5
            : inner == precision::single ? 1e-3
                                         : 1e-2,
            interval};
  return {1e-7, inner == precision::single ? 1e-3 : 1e-1, interval};
}

}  // namespace plaquette
