// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a layout of numbers in a caller's array has to meet, whatever the numbers are.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
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

/// Throws input_error for a length that no array of this machine has: what a caller says may be anything.
/// \param bytes  of a number
inline void require_credible_length(const std::string& name, std::size_t length, std::size_t bytes) {
  constexpr double margin = 16.0;  // of files that are mapped, and of GPUs
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (!(static_cast<double>(length) * static_cast<double>(bytes) <= margin * there))
    throw input_error(name + ": expected the length of an array, found " + std::to_string(length) +
                      " numbers, more than 16 times the memory of this machine");
}

/// Returns whether the numbers first + sum_k n_k step_k, 0 <= n_k < length_k, all differ because each step is longer
/// than all that smaller ones reach, and lie in an array of `length`. Where it is false both may still be so.
/// \param steps  pairs (step, length); steps and first below 2^40
inline bool stand_apart(std::int64_t first, std::vector<std::pair<std::int64_t, std::int64_t>> steps,
                        std::int64_t length) {
  std::ranges::sort(steps, {}, [](const auto& step) { return std::abs(step.first); });
  std::int64_t reach = 0, low = first, high = first;
  for (const auto& [step, count] : steps) {
    if (count > 1 && std::abs(step) <= reach) return false;
    reach += std::abs(step) * (count - 1);
    (step < 0 ? low : high) += step * (count - 1);
  }
  return low >= 0 && high < length;
}

/// The places of an array, each of which one number may take. Takes memory by the numbers that it is told of, whatever
/// the length of the array is.
class array_places {
 public:
  enum class answer { free, outside, taken };

  /// \param numbers  that take places, at most
  array_places(std::int64_t length, std::int64_t numbers) : length_(length) {
    if (length / 64 <= numbers)
      bits_.assign(static_cast<std::size_t>(length), false);
    else
      few_.reserve(static_cast<std::size_t>(numbers));
  }

  /// Takes a place where it is free, and says what it was.
  answer take(std::int64_t place) {
    if (place < 0 || place >= length_) return answer::outside;
    if (bits_.empty()) return few_.insert(place).second ? answer::free : answer::taken;
    const auto at = static_cast<std::size_t>(place);
    if (bits_[at]) return answer::taken;
    bits_[at] = true;
    return answer::free;
  }

 private:
  std::int64_t length_;
  std::vector<bool> bits_{};
  std::unordered_set<std::int64_t> few_{};  ///< where the array is much longer than what it holds
};

}  // namespace plaquette
