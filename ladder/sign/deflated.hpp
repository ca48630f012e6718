// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lowest modes of H: rungs 4 and 5 know them beforehand, and find the polynomial for the rest of the spectrum.
#pragma once

#include <algorithm>
#include <numeric>

#include "ladder/sign/clenshaw.hpp"

namespace ladder::sign {

inline constexpr int known = 12;

struct known_mode {
  vector v;     ///< normalised: H v = lambda v
  double sign;  ///< of lambda
};

/// A rung with the `known` modes of smallest |lambda|, and the polynomial for a spectrum without them.
class known_modes_rung : public sign_rung {
 public:
  known_modes_rung(size s, std::uint64_t seed) : sign_rung(s, seed) {
    std::vector<std::size_t> order(modes.values.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    const auto size_of = [&](std::size_t k) { return std::abs(modes.values[k]); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size_of(a) < size_of(b); });
    for (std::size_t k = 0; k < known; ++k)
      lowest_modes.push_back({modes.vectors[order[k]], modes.values[order[k]] > 0 ? 1.0 : -1.0});
    polynomial = plaquette::minimax_of_error(delta, std::pow(size_of(order[known]) / highest, 2));
  }
  std::string remark() const override {
    return sign_rung::remark() + ", degree " + std::to_string(polynomial.degree()) + ", 12 modes";
  }

 protected:
  std::vector<known_mode> lowest_modes;
  plaquette::minimax_polynomial polynomial;
};

}  // namespace ladder::sign
