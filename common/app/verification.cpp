// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/verification.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace plaquette {

namespace {

/// How bad a check came out: value / tolerance; a failed one is worse than any that passed.
double badness(const check& c) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(c.value)) return infinity;
  if (c.value == 0.0 && c.passed()) return 0.0;
  const double ratio = c.tolerance > 0.0 ? c.value / c.tolerance : infinity;
  return c.passed() ? std::min(ratio, 1.0) : std::max(ratio, 1.0);
}

}  // namespace

bool verification::passed() const {
  return !checks_.empty() && std::ranges::all_of(checks_, [](const check& c) { return c.passed(); });
}

void verification::keep_worse(const check& earlier) {
  const auto same = std::ranges::find(checks_, earlier.name, &check::name);
  if (same == checks_.end())
    checks_.push_back(earlier);
  else if (badness(earlier) > badness(*same))
    *same = earlier;
}

const check* verification::worst() const {
  const auto found = std::ranges::max_element(checks_, {}, badness);
  return found == checks_.end() ? nullptr : &*found;
}

std::string verification::line() const {
  const check* const bad = worst();
  if (bad == nullptr) return "VERIFIED   FAILED     (nothing was checked)";
  const auto failed = std::ranges::count_if(checks_, [](const check& c) { return !c.passed(); });
  const std::string count = failed > 0 ? fmt::format("{} of {} checks failed", failed, checks_.size())
                                       : fmt::format("{} check{}", checks_.size(), checks_.size() == 1 ? "" : "s");
  return fmt::format("VERIFIED   {}     ({}, worst: {} {:.3g} / {:.3g})", passed() ? "PASSED" : "FAILED", count,
                     bad->name, bad->value, bad->tolerance);
}

}  // namespace plaquette
