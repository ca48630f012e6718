// SPDX-License-Identifier: BSD-3-Clause
#include "common/hmc/integrator.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "common/error.hpp"

namespace plaquette {

namespace {

using enum md_operation::kind;

constexpr int most_steps = 100'000;

constexpr std::array<std::pair<md_scheme, std::string_view>, 4> scheme_names{
    {{md_scheme::leapfrog, "leapfrog"},
     {md_scheme::omelyan2, "omelyan"},
     {md_scheme::omf4, "omf4"},
     {md_scheme::force_gradient, "force-gradient"}}};

/// An operation of a scheme, in units of the step h; a displacement in units of h^2.
struct part {
  md_operation::kind what;
  double step, displacement = 0.0;
};

std::vector<part> parts_of(md_scheme scheme) {
  switch (scheme) {
    case md_scheme::leapfrog:
      return {{kick, 0.5}, {drift, 1.0}, {kick, 0.5}};
    case md_scheme::omelyan2: {
      constexpr double lambda = 0.1931833275037836;
      return {{kick, lambda}, {drift, 0.5}, {kick, 1.0 - 2.0 * lambda}, {drift, 0.5}, {kick, lambda}};
    }
    case md_scheme::omf4: {
      constexpr double rho = 0.2539785108410595, theta = -0.03230286765269967, vartheta = 0.08398315262876693,
                       lambda = 0.6822365335719091;
      constexpr double last_kick = 0.5 - vartheta - lambda, last_drift = 1.0 - 2.0 * (rho + theta);
      return {{kick, vartheta},  {drift, rho},   {kick, lambda}, {drift, theta}, {kick, last_kick}, {drift, last_drift},
              {kick, last_kick}, {drift, theta}, {kick, lambda}, {drift, rho},   {kick, vartheta}};
    }
    case md_scheme::force_gradient:
      return {
          {kick, 1.0 / 6.0}, {drift, 0.5}, {displaced_kick, 2.0 / 3.0, 1.0 / 24.0}, {drift, 0.5}, {kick, 1.0 / 6.0}};
  }
  throw error(exit_status::internal_error, "integrator: a scheme without a name was requested");
}

/// Appends an operation. If it directly follows one of its kind, adds it to that one.
void append(std::vector<md_operation>& list, const md_operation& next) {
  for (auto last = list.rbegin(); last != list.rend(); ++last) {
    const bool same = last->what == next.what && (next.what == drift || last->level == next.level);
    if (next.what != displaced_kick && same) {
      last->step += next.step;
      return;
    }
    if (next.what == drift || last->what == drift) break;  // kicks change momenta alone: they commute
  }
  list.push_back(next);
}

void append_level(std::vector<md_operation>& list, std::span<const md_level> levels, std::size_t number, double time) {
  if (number == levels.size()) return append(list, {drift, 0, time});
  const md_level& level = levels[number];
  const double h = time / level.steps;
  const std::vector<part> parts = parts_of(level.scheme);
  for (int step = 0; step < level.steps; ++step)
    for (const auto& [what, factor, displacement] : parts) {
      if (what == drift)
        append_level(list, levels, number + 1, factor * h);
      else
        append(list, {what, static_cast<int>(number), factor * h, displacement * h * h});
    }
}

std::string joined(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

/// Reads one "omelyan:2(heavy,det)".
md_level parse_level(std::string_view text, const std::string& what) {
  const auto refuse = [&] {
    throw input_error(what + ": expected levels such as omelyan:4(light,det), found '" + std::string(text) + "'");
  };
  const std::size_t colon = text.find(':'), open = text.find('(');
  if (colon == std::string_view::npos || open == std::string_view::npos || colon > open || text.back() != ')') refuse();
  md_level level;
  const std::string_view scheme = text.substr(0, colon);
  const auto known = std::ranges::find(scheme_names, scheme, &std::pair<md_scheme, std::string_view>::second);
  if (known == scheme_names.end())
    throw input_error(what + ": expected one of leapfrog, omelyan, omf4, force-gradient, found '" +
                      std::string(scheme) + "'");
  level.scheme = known->first;
  const std::string_view steps = text.substr(colon + 1, open - colon - 1);
  const auto [end, failed] = std::from_chars(steps.data(), steps.data() + steps.size(), level.steps);
  if (failed != std::errc{} || end != steps.data() + steps.size() || level.steps < 1 || level.steps > most_steps)
    throw input_error(what + ": expected from 1 to " + std::to_string(most_steps) + " steps in '" + std::string(text) +
                      "', found '" + std::string(steps) + "'");
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  while (true) {
    const std::size_t comma = rest.find(',');
    level.terms.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return level;
}

}  // namespace

std::vector<md_level> parse_integrator(std::string_view text, std::span<const std::string> terms,
                                       const std::string& what) {
  std::vector<md_level> levels;
  for (std::size_t at = text.find_first_not_of(' '); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    levels.push_back(parse_level(text.substr(at, end - at), what));
    at = text.find_first_not_of(' ', end);
  }
  std::vector<std::string> named;
  for (const md_level& level : levels) named.insert(named.end(), level.terms.begin(), level.terms.end());
  std::vector<std::string> expected(terms.begin(), terms.end()), found = named;
  std::ranges::sort(expected);
  std::ranges::sort(found);
  if (expected != found)
    throw input_error(what + ": expected the terms " + joined(terms) + ", each in one level, found " +
                      (named.empty() ? "none" : joined(named)));
  return levels;
}

std::string describe(std::span<const md_level> levels) {
  std::string text;
  for (const md_level& level : levels) {
    if (!text.empty()) text += ' ';
    text += std::ranges::find(scheme_names, level.scheme, &std::pair<md_scheme, std::string_view>::first)->second;
    text += ':' + std::to_string(level.steps) + '(' + joined(level.terms) + ')';
  }
  return text;
}

std::vector<md_operation> operations_of(std::span<const md_level> levels, double tau) {
  std::vector<md_operation> list;
  append_level(list, levels, 0, tau);
  return list;
}

std::vector<int> forces_of(std::span<const md_operation> operations, int levels) {
  std::vector<int> forces(static_cast<std::size_t>(levels));
  for (const md_operation& op : operations)
    if (op.what != drift) forces[static_cast<std::size_t>(op.level)] += op.what == displaced_kick ? 2 : 1;
  return forces;
}

}  // namespace plaquette
