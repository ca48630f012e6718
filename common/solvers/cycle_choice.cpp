// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/cycle_choice.hpp"

#include <algorithm>
#include <cmath>

namespace plaquette {

bool is_worth_improving(const std::vector<double>& rates, int most_improvements) {
  if (rates.back() <= slow_rate || static_cast<int>(rates.size()) > most_improvements) return false;
  return rates.size() < 2 || !(rates.back() > 0.95 * rates[rates.size() - 2]);  // the last one helped
}

std::optional<cycle_shape> next_shape(const std::vector<cycle_trial>& tried) {
  constexpr double slow = 0.5, very_slow = 0.7;
  const smoother_kind smoother = tried.front().shape.smoother;
  const bool by_polynomials = smoother == smoother_kind::polynomial;
  const int fine = by_polynomials ? 7 : 6;
  const std::vector<int> steps = by_polynomials ? std::vector{fine, 6} : std::vector{fine};
  const double rate = tried.front().rate;
  std::vector<cycle_shape> wanted{{cycle_kind::k, 1, steps, smoother}, {cycle_kind::k, 2, {fine, 4}, smoother}};
  if (fastest(tried).shape.k_steps > 1)
    wanted.push_back({cycle_kind::k, 3, {fine, 2}, smoother});
  else if (rate < slow)
    wanted.push_back({cycle_kind::v, 1, steps, smoother});
  if (rate >= very_slow) wanted.push_back({cycle_kind::k, 3, steps, smoother});
  if (rate >= very_slow && by_polynomials) wanted.push_back({cycle_kind::k, 2, {6}, smoother_kind::ca_gcr});
  for (const cycle_shape& shape : wanted)
    if (std::ranges::find(tried, shape, &cycle_trial::shape) == tried.end()) return shape;
  return std::nullopt;
}

cycle_shape by_ca_gcr(cycle_shape shape) {
  shape.smoother = smoother_kind::ca_gcr;
  std::vector<int>& list = shape.steps_after;
  for (int& steps : list) steps = std::min(steps, 6);
  while (list.size() > 1 && list.back() == list[list.size() - 2]) list.pop_back();  // one list for one cycle
  return shape;
}

std::vector<std::size_t> whole_lattices_to_try(const std::vector<extents>& coarse_lattices) {
  constexpr std::int64_t most_sites = 4096;  // 8 x 8 x 8 x 8: their matrices with n = 48 have 0.7 GB
  std::vector<std::size_t> first{0};
  for (std::size_t k = 0; k < coarse_lattices.size(); ++k)
    if (volume(coarse_lattices[k]) <= most_sites) first.push_back(k + 1);
  return first;
}

const cycle_trial& fastest_iteration(const std::vector<cycle_trial>& tried) {
  constexpr double noise = 0.03;
  const cycle_trial& best = *std::ranges::min_element(tried, {}, &cycle_trial::seconds);
  return best.seconds < (1.0 - noise) * tried.front().seconds ? best : tried.front();
}

const cycle_trial& fastest(const std::vector<cycle_trial>& tried) {
  return *std::ranges::min_element(tried, {}, &cycle_trial::cost);
}

}  // namespace plaquette
