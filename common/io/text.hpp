// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Text of headers: trimming, numbers, and what of it may stand in a message.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plaquette {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Returns a text from outside that may be kept and printed whole: lines and tabs stay, what a terminal would act on
/// and what is not ASCII becomes a question mark.
inline std::string cleaned(std::string_view text) {
  std::string kept(text);
  std::ranges::replace_if(kept, [](char c) { return (c < ' ' && c != '\n' && c != '\t') || c > '~'; }, '?');
  return kept;
}

/// Returns pieces in a row.
inline std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string text;
  for (const std::string_view piece : pieces) text += piece;
  return text;
}

/// Returns the first characters of a text from outside, one line, nothing that a terminal would act on.
inline std::string one_line(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string shown(text.substr(0, longest));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > longest ? shown + "..." : shown;
}

/// Returns the same in quotation marks.
inline std::string quoted(std::string_view text) { return joined({"'", one_line(text), "'"}); }

/// Returns a short decimal form, for messages.
inline std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

/// Returns "45 67 89 ab"
inline std::string hexadecimal_bytes(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    char two[8];
    std::snprintf(two, sizeof two, "%s%02x", text.empty() ? "" : " ", static_cast<unsigned>(b));
    text += two;
  }
  return text;
}

/// Returns the whole text, blanks around it aside, as an integer; nothing where it is none.
inline std::optional<std::int64_t> integer_of(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// Parses up to eight hexadecimal digits, with or without 0x.
inline std::optional<std::uint32_t> hexadecimal_of(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (failure != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// A printed number and the weight of its last digit: 6.350e-01 is 0.635 in units of 0.0001.
struct printed_number {
  double value;
  double unit;
};

/// Nothing where the text is no finite number.
inline std::optional<printed_number> printed_number_of(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  printed_number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(number.value)) return std::nullopt;
  const std::size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, exponent_at);
  const std::size_t point = digits.find('.');
  double exponent = point == std::string_view::npos ? 0.0 : -static_cast<double>(digits.size() - point - 1);
  if (exponent_at < text.size()) {
    std::string_view power = text.substr(exponent_at + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    exponent += static_cast<double>(integer_of(power).value_or(0));
  }
  number.unit = std::pow(10.0, exponent);
  return number;
}

}  // namespace plaquette
