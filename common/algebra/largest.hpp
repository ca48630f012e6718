// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The largest of numbers one of which may be NaN.
#pragma once

namespace plaquette {

/// Makes `largest` the larger of both. A NaN is larger than any number: it stays, whatever comes after it.
template <class Real>
constexpr void keep_largest(Real& largest, Real value) {
  if (!(value <= largest) && largest == largest) largest = value;
}

}  // namespace plaquette
