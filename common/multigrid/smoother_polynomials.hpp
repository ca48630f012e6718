// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Polynomials that relax as CA-GCR does on average: their places in a cycle, and the recorded coefficients of CA-GCR.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "common/multigrid/multigrid_parameters.hpp"

namespace plaquette {

/// Lattice and number of steps of a relaxation.
using place_of_relaxation = std::pair<std::size_t, int>;

/// Powers of A times r grow more parallel, in 16 bits before long.
inline constexpr int longest_polynomial = 8;

/// Returns where a polynomial may relax in cycles of this shape.
inline std::vector<place_of_relaxation> places_of_polynomials(const multigrid_parameters& p) {
  std::vector<place_of_relaxation> places;
  for (std::size_t number = 0; number < p.coarsenings.size(); ++number)
    for (const auto* list : {&p.steps_before, &p.steps_after}) {
      const int steps = multigrid_parameters::on_lattice(*list, number);
      if (steps > 0 && steps <= longest_polynomial) places.emplace_back(number, steps);
    }
  return places;
}

/// Coefficients of CA-GCR, call by call.
class recorded_coefficients {
 public:
  void record(const place_of_relaxation& place, std::vector<double> coefficients) {
    calls_[place].push_back(std::move(coefficients));
  }
  void clear() { calls_.clear(); }

  /// Returns the means, unless they are not finite.
  std::map<place_of_relaxation, std::vector<double>> means() const {
    std::map<place_of_relaxation, std::vector<double>> all;
    for (const auto& [place, calls] : calls_) {
      std::vector<double> mean(calls.front().size());
      for (const auto& numbers : calls)
        for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += numbers[j] / static_cast<double>(calls.size());
      if (std::ranges::all_of(mean, [](double c) { return std::isfinite(c); })) all[place] = std::move(mean);
    }
    return all;
  }

 private:
  std::map<place_of_relaxation, std::vector<std::vector<double>>> calls_;
};

}  // namespace plaquette
