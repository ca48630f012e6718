// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a layout of numbers in a caller's array has to meet, whatever the numbers are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"

namespace plaquette {

/// Throws input_error unless a table of places, where there is one, has as many as there are sites.
inline void require_places_of_sites(const std::string& name, std::span<const std::int64_t> places, std::int64_t sites) {
  if (!places.empty() && std::ssize(places) != sites)
    throw input_error(name + ": expected the places of " + std::to_string(sites) + " sites or none, found " +
                      std::to_string(places.size()));
}

/// Throws input_error for strides or places, counted in reals, whose sums could overflow.
inline void require_small_steps(const std::string& name, std::span<const std::int64_t> steps) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  for (const std::int64_t step : steps)
    if (step < -most || step > most)
      throw input_error(name + ": expected strides and places below 2^40 reals, found " + std::to_string(step));
}

/// The places of an array, each of which one number may take.
class array_places {
 public:
  enum class answer { free, outside, taken };

  explicit array_places(std::int64_t length) : taken_(static_cast<std::size_t>(length), false) {}

  /// Takes a place where it is free, and says what it was.
  answer take(std::int64_t place) {
    if (place < 0 || place >= std::ssize(taken_)) return answer::outside;
    const auto at = static_cast<std::size_t>(place);
    if (taken_[at]) return answer::taken;
    taken_[at] = true;
    return answer::free;
  }

 private:
  std::vector<bool> taken_;
};

}  // namespace plaquette
