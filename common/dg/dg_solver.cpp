// SPDX-License-Identifier: BSD-3-Clause
#include "common/dg/dg_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/algebra/largest.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"

namespace plaquette {

namespace {

struct host_snapshot final : dg_snapshot {
  std::vector<double> states;
};

const std::vector<double>& states_of(const dg_snapshot& snapshot) {
  return static_cast<const host_snapshot&>(snapshot).states;
}

std::size_t size_of_states(const dg_domain& domain, const dg_solver& solver) {
  return static_cast<std::size_t>(domain.state_size()) * static_cast<std::size_t>(solver.columns());
}

/// Returns the largest numbers that body(largest so far, weight, place of the first node) finds, over all fields and
/// elements of a column.
template <class Result, class Body>
Result over_elements(const dg_domain& domain, std::size_t first, Body&& body) {
  Result all{};
  const auto nodes = static_cast<std::size_t>(domain.nodes()), elements = static_cast<std::size_t>(domain.elements());
#pragma omp parallel
  {
    Result of_thread{};
    for (int f = 0; f < domain.fields; ++f)
#pragma omp for schedule(static) nowait
      for (std::int32_t e = 0; e < domain.elements(); ++e) {
        const std::size_t place =
            first + (static_cast<std::size_t>(f) * elements + static_cast<std::size_t>(e)) * nodes;
        body(of_thread, energy_weight(domain, f, e), place);
      }
#pragma omp critical
    keep_largest(all, of_thread);
  }
  return all;
}

}  // namespace

bool same_bits(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return false;
  bool same = true;
  constexpr std::int64_t block = 1 << 14;
  const auto size = static_cast<std::int64_t>(a.size());
#pragma omp parallel for schedule(static) reduction(&& : same)
  for (std::int64_t first = 0; first < size; first += block)
    same = same && std::memcmp(a.data() + first, b.data() + first,
                               static_cast<std::size_t>(std::min(block, size - first)) * sizeof(double)) == 0;
  return same;
}

double energy_weight(const dg_domain& domain, int field, std::int32_t element) {
  return std::sqrt(energy_constant(domain, field, element));
}

double largest_number(const dg_domain& domain, std::span<const double> column) {
  return over_elements<double>(domain, 0, [&](double& largest, double weight, std::size_t place) {
    for (const double x : column.subspan(place, static_cast<std::size_t>(domain.nodes())))
      keep_largest(largest, weight * std::abs(x));
  });
}

std::unique_ptr<dg_snapshot> dg_solver::new_snapshot(const dg_domain& domain) const {
  auto snapshot = std::make_unique<host_snapshot>();
  snapshot->states.resize(size_of_states(domain, *this));
  return snapshot;
}

void dg_solver::save(dg_snapshot& to) const { get_state(static_cast<host_snapshot&>(to).states); }

void dg_solver::restore(const dg_snapshot& from, double time) { set_state(states_of(from), time); }

bool dg_solver::is_same(const dg_domain& domain, const dg_snapshot& as) const {
  std::vector<double> present(size_of_states(domain, *this));
  get_state(present);
  return same_bits(present, states_of(as));
}

double dg_solver::largest(const dg_domain& domain) const {
  std::vector<double> present(size_of_states(domain, *this));
  get_state(present);
  return largest_number(domain, std::span(present).first(static_cast<std::size_t>(domain.state_size())));
}

void dg_solver::read_elements(const dg_domain& domain, const dg_snapshot* from, std::span<const std::int32_t> elements,
                              std::span<const int> of_columns, std::span<double> to) const {
  std::vector<double> present(from == nullptr ? size_of_states(domain, *this) : 0);
  if (from == nullptr) get_state(present);
  const std::vector<double>& states = from == nullptr ? present : states_of(*from);
  const auto nodes = static_cast<std::size_t>(domain.nodes());
  auto next = to.begin();
  for (const std::int32_t e : elements)
    for (const int column : of_columns)
      for (int f = 0; f < domain.fields; ++f) {
        const std::int64_t row = (std::int64_t{column} * domain.fields + f) * domain.elements() + e;
        const auto values = std::span(states).subspan(static_cast<std::size_t>(row) * nodes, nodes);
        next = std::ranges::copy(values, next).out;
      }
}

std::vector<step_difference> dg_solver::repeat_step(const dg_domain& domain, const dg_snapshot& begin,
                                                    const dg_snapshot& end, double time, double dt,
                                                    std::span<double> first_rhs) {
  const auto size = static_cast<std::size_t>(domain.state_size());
  std::vector<double> first(size_of_states(domain, *this)), made(first.size()), registers(first.size()),
      rhs(first.size());
  restore(begin, time);
  get_state(first);
  const auto all = static_cast<std::int64_t>(first.size());
  for (int s = 0; s < lserk4::stages; ++s) {
    if (s > 0) set_state(made, time + lserk4::c[s] * dt);
    const std::span<double> found = s == 0 ? first_rhs : std::span<double>(rhs);
    right_hand_side(found);
    const std::span<const double> before = s == 0 ? first : made;
#pragma omp parallel for schedule(static)
    for (std::int64_t n = 0; n < all; ++n) {
      const auto i = static_cast<std::size_t>(n);
      registers[i] = (s == 0 ? 0.0 : lserk4::a[s] * registers[i]) + dt * found[i];
      made[i] = before[i] + lserk4::b[s] * registers[i];
    }
  }
  restore(end, time + dt);
  get_state(rhs);
  std::vector<step_difference> differences;
  for (int column = 0; column < columns(); ++column)
    differences.push_back(over_elements<step_difference>(
        domain, static_cast<std::size_t>(column) * size,
        [&](step_difference& largest, double weight, std::size_t place) {
          for (std::size_t i = place; i < place + static_cast<std::size_t>(domain.nodes()); ++i)
            keep_largest(largest, {weight * std::abs(made[i] - rhs[i]), weight * std::abs(made[i] - first[i]),
                                   weight * std::max(std::abs(made[i]), std::abs(first[i]))});
        }));
  return differences;
}

}  // namespace plaquette
