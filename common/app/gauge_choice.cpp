// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/gauge_choice.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/app/parse.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

constexpr std::string_view weak_word = "weak:";
constexpr std::string_view heat_bath_word = "heatbath:";
constexpr int most_sweeps = 100'000'000;

gauge_choice parse_heat_bath(std::string_view numbers, std::string_view what) {
  const std::string name(what);
  gauge_choice choice{.from = gauge_choice::origin::heat_bath};
  const auto next = [&numbers] {
    const auto colon = numbers.find(':');
    const std::string_view word = numbers.substr(0, colon);
    numbers = colon == std::string_view::npos ? std::string_view() : numbers.substr(colon + 1);
    return word;
  };
  const auto colons = std::ranges::count(numbers, ':');
  choice.beta = parse_real(next(), name + " heatbath:BETA", real_range::not_negative());
  if (colons >= 1)
    choice.sweeps = static_cast<int>(parse_integer(next(), name + " heatbath:BETA:SWEEPS", 0, most_sweeps));
  if (colons >= 2) {
    choice.cell = parse_extents(next(), name + " heatbath:BETA:SWEEPS:XxYxZxT");
    choice.noise = colons >= 3 ? parse_real(numbers, name + " heatbath:BETA:SWEEPS:XxYxZxT:EPS", {0.0, 0.2})
                               : gauge_choice::default_noise_of_cell;
  }
  return choice;
}

}  // namespace

gauge_choice parse_gauge_choice(std::string_view text, std::string_view what) {
  using enum gauge_choice::origin;
  if (text == "unit") return {.from = unit};
  if (text == "random") return {.from = random};
  if (text.starts_with(weak_word))
    return {.from = weak,
            .noise = parse_real(text.substr(weak_word.size()), std::string(what) + " weak:EPS", {0.0, 1.0})};
  if (text.starts_with(heat_bath_word)) return parse_heat_bath(text.substr(heat_bath_word.size()), what);
  if (text.empty() || text == "weak" || text == "heatbath")
    throw input_error(std::string(what) +
                      ": expected a file, unit, random, weak:EPS or heatbath:BETA[:SWEEPS[:XxYxZxT[:EPS]]], found '" +
                      std::string(text) + "'");
  return {.from = file, .path = std::string(text)};
}

std::string gauge_choice::describe() const {
  switch (from) {
    case origin::file:
      return path;
    case origin::unit:
      return "unit";
    case origin::random:
      return "random";
    case origin::weak:
      return fmt::format("weak:{}", noise);
    case origin::heat_bath:
      return fmt::format("heatbath:{}:{}", beta, sweeps) +
             (cell ? fmt::format(":{}:{}", to_string(*cell), noise) : std::string());
  }
  return {};
}

}  // namespace plaquette
