// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/low_mode_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/algebra/largest.hpp"
#include "common/lattice/sum_rounding.hpp"
#include "common/solvers/residual_tolerance.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette {

namespace {

/// The signs of lambda and of the chirality are known. An approximate mode is off by an angle of s = residual /
/// |lambda| at most. It is mixed with modes of a like lambda, which have a like chirality, so that its own is off by
/// s^2.
bool has_known_signs(const low_mode& m) {
  const double angle = m.residual / std::abs(m.value);
  return angle < 0.5 && std::abs(m.chirality) > angle * angle;
}

bool has_wrong_chirality(const low_mode& m) { return has_known_signs(m) && m.value * m.chirality < 0.0; }

/// The mass is below the critical one as far as a mode of small chirality tells. As the mass rises its lambda falls, by
/// d lambda / dm = chirality. It would be zero within the 2 that lie between two branches of doublers. And modes as a
/// whole have the wrong sign, too. Of rough links some modes have one by chance, far from zero.
bool is_below_critical(const low_mode& m, const std::vector<low_mode>& modes) {
  constexpr double between_branches = 2.0;
  double sum = 0.0;
  for (const low_mode& other : modes)
    if (has_known_signs(other)) sum += other.value < 0.0 ? -other.chirality : other.chirality;
  return has_wrong_chirality(m) && std::abs(m.value) <= between_branches * std::abs(m.chirality) && sum < 0.0;
}

/// Returns whether lambda goes straight through zero as the mass rises, as it does for a real mode of M.
bool is_real_mode(const low_mode& m) { return std::abs(m.chirality) > 0.5; }

}  // namespace

std::string why_exceptional(const std::vector<low_mode>& modes) {
  // Modes of free massless quarks, which are zero, come out as 1e-6. The lowest modes of light quarks are 1e-3 and
  // more.
  constexpr double zero_to_rounding = 1e-5;
  if (!modes.empty() && modes.front().gain() < zero_to_rounding)
    return fmt::format("M is singular: a mode of gamma_5 M is {:.1e}, which is zero to rounding", modes.front().gain());
  const auto real =
      std::ranges::find_if(modes, [](const low_mode& m) { return has_wrong_chirality(m) && is_real_mode(m); });
  if (real != modes.end())
    return fmt::format("mode {:.1e} of gamma_5 M has chirality {:.2f}, so M has a real mode below zero", real->value,
                       real->chirality);
  const auto wrong = std::ranges::find_if(modes, [&](const low_mode& m) { return is_below_critical(m, modes); });
  if (wrong != modes.end())
    return fmt::format("mode {:.1e} of gamma_5 M has chirality {:.2f}: the mass is below the critical one",
                       wrong->value, wrong->chirality);
  if (modes.size() < 2) return "";
  // The lowest modes of a regular configuration lie close together.
  constexpr double gap = 5.0;
  if (gap * modes.front().gain() < modes[1].gain())
    return fmt::format("mode {:.1e} of gamma_5 M is {:.0f} times below the next", modes.front().gain(),
                       modes[1].gain() / modes.front().gain());
  return "";
}

void check_modes(verification& checks, const std::vector<low_mode>& modes, int wanted, const multigrid_solver& solver,
                 const gauge_input& gauge, bool two_rows, const fermion_action& action, const communicator& world) {
  const lattice_geometry& geometry = gauge.links.geometry();
  spinor_configuration v(geometry), mv(geometry);
  double worst = 0.0;
  for (std::size_t n = 0; n < modes.size(); ++n) {
    const low_mode& m = modes[n];
    solver.get_low_mode(static_cast<int>(n), v);
    cpu::textbook::apply(mv, v, gauge.links, action, world);
    const auto gamma5 = [](spinor<double> s) {
      for (int c = 0; c < colours; ++c) s(2, c) = -s(2, c), s(3, c) = -s(3, c);
      return s;
    };
    const auto sums = cpu::sum_over_sites<4>(geometry, world, [&](const coordinate& x) -> std::array<double, 4> {
      const spinor<double> hv = gamma5(mv(x));
      return {norm2(v(x)), dot(v(x), hv).re, dot(v(x), gamma5(v(x))).re, norm2(hv + -m.value * v(x))};
    });
    for (const double off : {sums[0] - 1.0, sums[1] - m.value, sums[2] - m.chirality, std::sqrt(sums[3]) - m.residual})
      keep_largest(worst, std::abs(off));
  }
  checks.add("low modes of gamma_5 M: as many as wanted", std::ssize(modes) == wanted);
  // A number of M v is a sum of some hundred. A GPU stores two rows of a link, and has the error of the third.
  checks.add("low modes of gamma_5 M, against the textbook", worst,
             operator_norm_estimate(action) *
                     (8.0 * 0x1p-53 + (two_rows && gauge.distance_from_su3 < 1e-12 ? gauge.distance_from_su3 : 0.0)) +
                 sum_rounding(geometry.global()));
}

json_document to_json(const std::vector<low_mode>& modes) {
  json_document list = json_document::array();
  for (const low_mode& m : modes)
    list.push_back({{"value", m.value}, {"residual", m.residual}, {"chirality", m.chirality}, {"missed", m.missed}});
  return list;
}

void print_modes(const std::vector<low_mode>& modes) {
  if (modes.empty()) return;
  std::string gains, chiralities;
  double least = 1.0, most = 0.0;
  for (const low_mode& m : modes) {
    gains += fmt::format(" {:.3g}", m.gain());
    chiralities += fmt::format(" {:.2f}", m.value < 0.0 ? -m.chirality : m.chirality);
    least = std::min(least, m.missed);
    most = std::max(most, m.missed);
  }
  fmt::print("low modes  |gamma_5 M v|:{}; chirality times sign:{}\n", gains, chiralities);
  fmt::print("           of these the null space misses |(1 - P P^+) v|: {:.3f} to {:.3f}\n", least, most);
}

}  // namespace plaquette
