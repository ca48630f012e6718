// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers from the command line. The whole text must be one finite number in its range; everything else is refused
/// with one line that names the option, what was expected and what was found.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace plaquette {

/// An interval of the real line.
struct real_range {
  double lowest = -std::numeric_limits<double>::max();
  double highest = std::numeric_limits<double>::max();
  bool without_lowest = false;   ///< the lowest number itself is outside
  bool without_highest = false;  ///< and so for the highest

  static real_range any() { return {}; }
  static real_range positive() { return {0.0, std::numeric_limits<double>::max(), true}; }
  static real_range not_negative() { return {0.0, std::numeric_limits<double>::max(), false}; }
  /// Returns "a number", "a positive number", "a number from 0 to 1".
  std::string describe() const;
  bool contains(double value) const {
    return (without_highest ? value < highest : value <= highest) &&
           (without_lowest ? value > lowest : value >= lowest);  // false for NaN
  }
};

/// Throws input_error unless `text` is one finite number in `range`.
/// \param what  the option, as the message names it
double parse_real(std::string_view text, std::string_view what, const real_range& range = {});

/// Throws input_error unless `text` is one integer of [lowest, highest].
std::int64_t parse_integer(std::string_view text, std::string_view what,
                           std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                           std::int64_t highest = std::numeric_limits<std::int64_t>::max());

/// Throws input_error unless `text` is one integer of [0, 2^64).
std::uint64_t parse_unsigned(std::string_view text, std::string_view what);

/// Parses "0,0,0,1" as `count` finite numbers; throws input_error for anything else.
std::vector<double> parse_real_list(std::string_view text, std::string_view what, std::size_t count,
                                    const real_range& range = {});

/// Does the same for a list whose length is known.
template <std::size_t count>
std::array<double, count> parse_reals(std::string_view text, std::string_view what) {
  const std::vector<double> numbers = parse_real_list(text, what, count);
  std::array<double, count> all;
  std::copy(numbers.begin(), numbers.end(), all.begin());
  return all;
}

/// Parses "0,0,0,4" as `count` integers of [lowest, highest]; throws input_error for anything else.
std::vector<std::int64_t> parse_integer_list(std::string_view text, std::string_view what, std::size_t count,
                                             std::int64_t lowest, std::int64_t highest);

/// Returns the words between separators; at least one, which may be empty.
std::vector<std::string> split(std::string_view text, char separator = ',');

/// Returns text of a stranger, fit for a one-line message: control characters escaped, at most 200 characters.
std::string printable(std::string_view text);

}  // namespace plaquette
