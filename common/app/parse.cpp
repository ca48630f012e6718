// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/parse.hpp"

#include <charconv>
#include <cmath>

#include "common/error.hpp"

namespace plaquette {

namespace {

[[noreturn]] void refuse(std::string_view what, const std::string& expected, std::string_view found) {
  throw input_error(std::string(what) + ": expected " + expected + ", found '" + printable(found) + "'");
}

/// A number as a person writes it: at most 6 digits.
std::string short_number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr;
  return {text, end};
}

/// True where all of `text` is one number.
template <class Number>
bool is_whole_number(std::string_view text, Number& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto comma = text.find(',');
    parts.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string_view> split_into(std::string_view text, std::string_view what, std::size_t count) {
  auto parts = split_at_commas(text);
  if (parts.size() != count) refuse(what, std::to_string(count) + " numbers separated by commas", text);
  return parts;
}

}  // namespace

std::string real_range::describe() const {
  constexpr double unbounded = std::numeric_limits<double>::max();
  const bool below = lowest > -unbounded, above = highest < unbounded;
  if (!below && !above) return "a finite number";
  if (!above && lowest == 0.0) return without_lowest ? "a positive number" : "a number that is not negative";
  const std::string from = (without_lowest ? "above " : "from ") + short_number(lowest) + (without_highest ? "," : "");
  if (!above) return "a number " + from;
  return "a number " + (below ? from + ' ' : std::string()) + (without_highest ? "below " : "up to ") +
         short_number(highest);
}

double parse_real(std::string_view text, std::string_view what, const real_range& range) {
  double value = 0.0;
  if (!is_whole_number(text, value) || !std::isfinite(value) || !range.contains(value))
    refuse(what, range.describe(), text);
  return value;
}

std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t lowest, std::int64_t highest) {
  std::int64_t value = 0;
  if (!is_whole_number(text, value) || value < lowest || value > highest)
    refuse(what, "an integer from " + std::to_string(lowest) + " to " + std::to_string(highest), text);
  return value;
}

std::uint64_t parse_unsigned(std::string_view text, std::string_view what) {
  std::uint64_t value = 0;
  if (!is_whole_number(text, value)) refuse(what, "an integer from 0 to 2^64 - 1", text);
  return value;
}

std::vector<double> parse_real_list(std::string_view text, std::string_view what, std::size_t count,
                                    const real_range& range) {
  std::vector<double> values;
  for (const auto part : split_into(text, what, count)) values.push_back(parse_real(part, what, range));
  return values;
}

std::vector<std::int64_t> parse_integer_list(std::string_view text, std::string_view what, std::size_t count,
                                             std::int64_t lowest, std::int64_t highest) {
  std::vector<std::int64_t> values;
  for (const auto part : split_into(text, what, count)) values.push_back(parse_integer(part, what, lowest, highest));
  return values;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 200;
  constexpr char digits[] = "0123456789abcdef";
  std::string line;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      line += c;
    else
      line += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  if (text.size() > longest) line += "...";
  return line;
}

}  // namespace plaquette
