// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/hmc/trajectory_judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "common/app/draw.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/hmc/hmc_textbook.hpp"
#include "miniapps/hmc/companion_checks.hpp"
#include "miniapps/shared/clock_draw.hpp"

namespace plaquette {

namespace {

namespace textbook = cpu::textbook;

constexpr double roundoff = 0x1p-53;

/// Returns a - b on even sites, zero on odd ones.
spinor_configuration even_difference(const spinor_configuration& a, const spinor_configuration& b) {
  spinor_configuration out(a.geometry());
  cpu::for_each_site(a.geometry(), [&](const coordinate& x) {
    if (parity(a.geometry().to_global(x)) == 0)
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) out(x)(s, c) = a(x)(s, c) - b(x)(s, c);
  });
  return out;
}

double even_norm(const spinor_configuration& psi, const communicator& world) {
  return std::sqrt(textbook::even_norm_change(psi, spinor_configuration(psi.geometry()), world));
}

/// Returns eta of a pseudofermion: normal deviates with <eta eta^+> = 1.
spinor_configuration noise(const app_run& run, std::uint64_t seed, std::uint64_t index) {
  spinor_configuration eta = cpu::random_spinor(run.geometry, seed, index, run.world);
  const double factor = std::sqrt(0.5);
  cpu::for_each_site(run.geometry, [&](const coordinate& x) { eta(x) = factor * eta(x); });
  return eta;
}

/// Returns numbers 0, 1, ..., length - 1, 0, 1, ... in an order that is drawn.
std::array<int, trajectory_judge::judged_links> drawn_order(int length, const communicator& world) {
  std::array<int, trajectory_judge::judged_links> order{};
  const std::uint64_t first = draw_by_clock(static_cast<std::uint64_t>(length), world);
  for (std::size_t n = 0; n < order.size(); ++n)
    order[n] = static_cast<int>((first + n) % static_cast<std::uint64_t>(length));
  for (std::size_t n = order.size() - 1; n > 0; --n) std::swap(order[n], order[draw_by_clock(n + 1, world)]);
  return order;
}

struct drawn_link {
  coordinate at;
  int mu;
};

/// Draws links such that every slice of up to as many has one of them.
std::vector<drawn_link> drawn_links(const app_run& run) {
  std::vector<drawn_link> links(trajectory_judge::judged_links);
  for (int mu = 0; mu <= dimensions; ++mu) {
    const auto order = drawn_order(mu < dimensions ? run.geometry.global()[mu] : dimensions, run.world);
    for (std::size_t n = 0; n < links.size(); ++n) (mu < dimensions ? links[n].at[mu] : links[n].mu) = order[n];
  }
  return links;
}

}  // namespace

int trajectory_judge::slots(const lattice_geometry& geometry) {
  extents padded = geometry.local();
  for (int& length : padded) length += 2;
  const double both = 2.0 * static_cast<double>(volume(padded)) * sizeof(site_links);
  return std::clamp(static_cast<int>(bytes / both), 1, most_kept);
}

void trajectory_judge::offer(const molecular_dynamics& state, std::uint64_t number, const trajectory_record& record) {
  offered_.push_back({number, record.dh, record.plaquette, record.accepted});
  seconds_ += record.seconds;
  const auto most = static_cast<std::size_t>(slots(run_.geometry));
  const std::size_t at = waiting_.size() < most ? waiting_.size() : draw_by_clock(offered_.size(), run_.world);
  if (at >= most) return;
  kept_trajectory taken{number, record, state.links_of_start(), state.links()};
  if (at == waiting_.size())
    waiting_.push_back(std::move(taken));
  else
    waiting_[at] = std::move(taken);
}

void trajectory_judge::judge_start(molecular_dynamics& state) {
  const hybrid_action& action = options_.action;
  momenta_ = textbook::momenta(run_.geometry, action.seed, kept_->number, run_.world);
  add("momenta of the drawn trajectory", cpu::rms_distance(state.momenta(), *momenta_, run_.world), 64.0 * roundoff);
  if (!action.quarks) return;
  const quark_pairs& quarks = *action.quarks;
  worst_of_several noise_error, residual;
  for (int k = 0; k < quarks.factors(); ++k)
    for (int pair = 0; pair < quarks.pairs; ++pair) {
      spinor_configuration phi(run_.geometry), z(run_.geometry);
      state.get(k, factor_vectors::pseudofermion, pair, phi);
      state.get(k, factor_vectors::start, pair, z);
      const spinor_configuration eta = noise(run_, action.seed, noise_index(kept_->number, k, pair));
      const textbook::factor_operator w = textbook::operator_of(quarks, k);
      if (quarks.is_last(k)) {
        noise_error.add(even_norm(even_difference(z, eta), run_.world) / even_norm(eta, run_.world), 64.0 * roundoff);
      } else {
        const textbook::factor_operator next = textbook::operator_of(quarks, k + 1);
        spinor_configuration of_next = z;
        if (quarks.has_mass_shifts()) textbook::even_product(of_next, kept_->start, next, run_.world);  // its odd sites
        residual.add(textbook::even_system_residual(
                         of_next, textbook::source_of_action(eta, quarks, k, kept_->start, run_.world), kept_->start,
                         next, false, run_.world),
                     10.0 * action.action_tolerance);
      }
      residual.add(
          textbook::even_system_residual(z, textbook::source_of_action(phi, quarks, k, kept_->start, run_.world),
                                         kept_->start, w, false, run_.world),
          10.0 * action.action_tolerance);
    }
  add("noise of pseudofermions", noise_error.value, noise_error.tolerance);
  add("systems of the heat bath, by the textbook", residual.value, residual.tolerance);
}

void trajectory_judge::judge_forces(molecular_dynamics& state) {
  const hybrid_action& action = options_.action;
  const std::vector<std::string> names = term_names(action);
  // On cold links the gauge force is zero but for rounding: 1e-10 of this.
  constexpr double rounding = 1e-3;
  for (int term = 0; term < std::ssize(names); ++term) {
    const gauge_configuration force = state.force(term, action.action_tolerance);
    const int factor = term - first_factor_term(action);
    const bool is_factor = action.quarks && factor >= 0;
    const int pairs = action.quarks ? action.quarks->pairs : 0;
    std::vector<spinor_configuration> x, y;
    for (int pair = 0; is_factor && pair < pairs; ++pair) {
      state.get(factor, factor_vectors::force_x, pair, x.emplace_back(run_.geometry));
      state.get(factor, factor_vectors::force_y, pair, y.emplace_back(run_.geometry));
      if (!action.quarks->has_mass_shifts() || action.quarks->is_last(factor)) continue;
      state.get(factor, factor_vectors::heavier_x, pair, x.emplace_back(run_.geometry));
      state.get(factor, factor_vectors::heavier_y, pair, y.emplace_back(run_.geometry));
    }
    double difference = 0.0, size = 0.0;
    for (const auto& [at, mu] : drawn_links(run_)) {
      textbook::link_derivatives expected{};
      const auto add = [&](const textbook::link_derivatives& more, double weight) {
        for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += weight * more[k];
      };
      if (term == 0) add(textbook::gauge_derivatives(at, mu, kept_->start, action.gauge, run_.world), 1.0);
      if (term > 0 && !is_factor)
        add(textbook::determinant_derivatives(at, mu, kept_->start, *action.quarks, run_.world), pairs);
      for (std::size_t pair = 0; pair < x.size(); ++pair)
        add(textbook::quark_derivatives(at, mu, kept_->start, x[pair], y[pair], action.quarks->action, run_.world),
            1.0);
      std::array<double, 8> found{};
      if (coordinate local; run_.geometry.holds(at, local)) found = textbook::components(force(local)[mu]);
      run_.world.sum(std::span<double>(found));
      for (std::size_t k = 0; k < found.size(); ++k) {
        difference = std::max(difference, std::abs(found[k] + expected[k]));
        size = std::max(size, std::abs(expected[k]));
        if (std::isnan(found[k])) difference = found[k];
      }
    }
    add(fmt::format("force {} at {} drawn links, by the textbook", names[static_cast<std::size_t>(term)], judged_links),
        difference / std::max(size, rounding), 1e-10);
  }
}

void trajectory_judge::judge_last_force(molecular_dynamics& state) {
  const hybrid_action& action = options_.action;
  if (!action.quarks) return;
  const quark_pairs& quarks = *action.quarks;
  const gauge_configuration end = state.links();
  const spinor_configuration none(run_.geometry);
  worst_of_several residual;
  for (int k = 0; k < quarks.factors(); ++k)
    for (int pair = 0; pair < quarks.pairs; ++pair) {
      spinor_configuration phi(run_.geometry), x(run_.geometry), y(run_.geometry);
      state.get(k, factor_vectors::pseudofermion, pair, phi);
      state.get(k, factor_vectors::force_x, pair, x);
      state.get(k, factor_vectors::force_y, pair, y);
      const bool is_cg = action.solvers[static_cast<std::size_t>(k)].method == factor_solver::kind::cg;
      const double tolerance = is_cg ? 2.0 * action.cg_force_tolerance : 100.0 * action.force_tolerance;
      const textbook::factor_operator w = textbook::operator_of(quarks, k);
      const bool is_last = quarks.is_last(k);
      const bool has_heavier = quarks.has_mass_shifts() && !is_last;  // x is phi + X then
      const spinor_configuration of_action = textbook::even_sum(is_last || has_heavier ? none : phi, x);
      // cg solves for y, and X or phi + X is W^+ y.
      residual.add(textbook::even_system_residual(y, of_action, end, w, true, run_.world),
                   is_cg && (is_last || !quarks.is_normal()) ? 1e-12 : tolerance);
      spinor_configuration source = textbook::source_of_action(phi, quarks, k, end, run_.world);
      if (!is_last && !quarks.is_normal()) {  // the system of phi + X was solved
        source = textbook::even_sum(source, textbook::even_product(phi, end, w, run_.world));
        if (!has_heavier)
          cpu::for_each_site(run_.geometry, [&](const coordinate& site) { x(site) = x(site) + phi(site); });
      }
      residual.add(textbook::even_system_residual(x, source, end, w, false, run_.world), tolerance);
      if (!has_heavier) continue;
      spinor_configuration heavier_x(run_.geometry), heavier_y(run_.geometry);
      state.get(k, factor_vectors::heavier_x, pair, heavier_x);
      state.get(k, factor_vectors::heavier_y, pair, heavier_y);
      const textbook::factor_operator heavier = textbook::operator_of(quarks, k + 1);
      residual.add(even_norm(textbook::even_sum(heavier_x, phi), run_.world) / even_norm(phi, run_.world), 1e-12);
      residual.add(even_norm(even_difference(heavier_y, y), run_.world) / even_norm(y, run_.world), 1e-12);
      residual.add(textbook::odd_part(heavier_x, end, heavier, false, run_.world), 1e-12);
      residual.add(textbook::odd_part(heavier_y, end, heavier, true, run_.world), 1e-12);
    }
  add("systems of the last force, by the textbook", residual.value, residual.tolerance);
}

void trajectory_judge::judge_energy(molecular_dynamics& state, const energy_change& change) {
  const hybrid_action& action = options_.action;
  const gauge_configuration end = state.links();
  double total = textbook::kinetic_change(state.momenta(), *momenta_, run_.world) +
                 textbook::gauge_action_change(end, kept_->start, action.gauge, run_.world);
  double numbers = dimensions * (8.0 + 6.0 * action.gauge.beta);  // of H, a site
  worst_of_several residual;
  if (action.quarks) {
    const quark_pairs& quarks = *action.quarks;
    numbers += 12.0 * quarks.factors() * quarks.pairs;
    if (action.has_determinant())
      total -= 2.0 * quarks.pairs * textbook::log_determinant_change(end, kept_->start, quarks, run_.world);
    for (int k = 0; k < quarks.factors(); ++k)
      for (int pair = 0; pair < quarks.pairs; ++pair) {
        spinor_configuration phi(run_.geometry), before(run_.geometry), after(run_.geometry);
        state.get(k, factor_vectors::pseudofermion, pair, phi);
        state.get(k, factor_vectors::start, pair, before);
        state.get(k, factor_vectors::end, pair, after);
        residual.add(textbook::even_system_residual(after, textbook::source_of_action(phi, quarks, k, end, run_.world),
                                                    end, textbook::operator_of(quarks, k), false, run_.world),
                     10.0 * action.action_tolerance);
        total += textbook::factor_action_change(after, before, phi, quarks.is_last(k), run_.world);
      }
    add("systems of the end, by the textbook", residual.value, residual.tolerance);
  }
  const double sites = static_cast<double>(run_.geometry.global_volume());
  add("dH of the drawn trajectory, by the textbook", std::abs(total - change.total()),
      1e3 * roundoff * numbers * sites + 1e-9);
}

/// A solve whose iterations change by one on the way back is off by its tolerance, and so is one that begins with other
/// solutions than on the way there. Exact ways back are for the companion.
double trajectory_judge::force_tolerance() const {
  const hybrid_action& action = options_.action;
  double tolerance = 1e-10;
  for (const factor_solver& solver : action.solvers) {
    const bool is_cg = solver.method == factor_solver::kind::cg;
    tolerance = std::max(tolerance, (is_cg && action.forecasts == 0 ? 1.0 : 10.0) *
                                        (is_cg ? action.cg_force_tolerance : action.force_tolerance));
  }
  return tolerance;
}

/// Momenta are turned round, and the same operations lead back.
void trajectory_judge::judge_way_back(molecular_dynamics& state) {
  state.reverse();
  integrate(state, options_.plan);
  add("links after the way back", cpu::rms_distance(state.links(), kept_->start, run_.world), force_tolerance());
}

void trajectory_judge::judge(molecular_dynamics& state) {
  if (offered_.empty()) return add("nothing was made: not judged", 1.0, 0.0);
  run_.begin("judging of trajectories");
  double spent = 0.0;
  const double most = std::max(seconds, share * seconds_);
  while (!waiting_.empty() && (judged_.empty() || spent < most) && !run_.control.should_stop()) {
    const auto next = static_cast<std::ptrdiff_t>(draw_by_clock(waiting_.size(), run_.world));
    kept_.emplace(std::move(waiting_[static_cast<std::size_t>(next)]));
    waiting_.erase(waiting_.begin() + next);
    run_.note_draw("trajectory", kept_->number);
    const stopwatch watch;
    judge_kept(state);
    judged_.push_back(kept_->number);
    spent += watch.seconds();
    run_.world.maximum({&spent, 1});
  }
  waiting_.clear();
  kept_.reset();
  momenta_.reset();
  run_.progress.clear();
}

void trajectory_judge::judge_kept(molecular_dynamics& state) {
  state.set_links(kept_->start);
  run_.world.barrier();
  const stopwatch watch;
  state.refresh(kept_->number);
  double seconds = watch.seconds();
  judge_start(state);
  judge_forces(state);
  const stopwatch rest;
  const auto drawn = static_cast<std::size_t>(draw_by_clock(options_.plan.operations.size(), run_.world));
  for (std::size_t n = 0; n < drawn; ++n) operate(state, options_.plan, options_.plan.operations[n]);
  seconds += rest.seconds();
  run_.note_draw("operation", drawn);
  add("drawn operation of the drawn trajectory",
      error_of_operation(state, options_.plan, options_.plan.operations[drawn], run_.world),
      options_.action.forecasts > 0 ? force_tolerance() : 1e-10);
  const stopwatch last;
  for (std::size_t n = drawn + 1; n < options_.plan.operations.size(); ++n)
    operate(state, options_.plan, options_.plan.operations[n]);
  const energy_change change = state.change_of_energy();
  state.finish();
  seconds += last.seconds();
  run_.world.maximum({&seconds, 1});
  const double scale = static_cast<double>(run_.geometry.global_volume());
  add("dH of the drawn trajectory, made again", std::abs(change.total() - kept_->record.dh),
      1e3 * roundoff * scale + 1e-9);
  if (kept_->record.accepted)
    add("links of the drawn trajectory, made again", cpu::rms_distance(state.links(), kept_->end, run_.world), 1e-12);
  else
    add("links of the drawn trajectory were put back", cpu::rms_distance(kept_->start, kept_->end, run_.world), 0.0);
  // A trajectory that was made takes its time again. Ranks that share cores with others wait for a second now and then.
  constexpr double noise = 1.0;
  add("seconds of the drawn trajectory made again, against those of the run", seconds / (kept_->record.seconds + noise),
      30.0);
  judge_last_force(state);
  judge_energy(state, change);
  judge_way_back(state);
}

void trajectory_judge::check_offered(const chain_state& state, int first) const {
  const auto made = static_cast<std::ptrdiff_t>(offered_.size());
  std::ptrdiff_t off = std::abs(std::ssize(state.history) - first - made);
  for (std::ptrdiff_t n = 0; n < made; ++n) {
    const offered_trajectory& t = offered_[static_cast<std::size_t>(n)];
    const auto at = static_cast<std::size_t>(first + n);
    if (at >= state.history.size()) break;
    const trajectory_record& r = state.history[at];
    off += t.number == at && t.dh == r.dh && t.plaquette == r.plaquette && t.accepted == r.accepted ? 0 : 1;
  }
  run_.result.checks.add("trajectories of this run that the history has not, or has not as they were made",
                         static_cast<double>(off), 0.0);
}

json_document trajectory_judge::judged(int first) const {
  json_document numbers = json_document::array();
  for (const std::uint64_t number : judged_) numbers.push_back(number + 1);
  const double made = static_cast<double>(offered_.size());
  return {{"earlier_trajectories", first},
          {"made", offered_.size()},
          {"drawn", numbers},
          {"chance_of_each", made > 0.0 ? static_cast<double>(judged_.size()) / made : 0.0}};
}

std::string trajectory_judge::describe_judged(int first) const {
  std::vector<std::uint64_t> sorted = judged_;
  std::ranges::sort(sorted);
  std::string numbers;
  for (const std::uint64_t number : sorted) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number + 1);
  std::string text =
      fmt::format("drawn {} of {} made in this run: one wrong trajectory is drawn with chance {:.2g}", numbers,
                  offered_.size(), static_cast<double>(judged_.size()) / static_cast<double>(offered_.size()));
  if (first > 0) text += fmt::format("; the {} before it by history alone", first);
  return text;
}

}  // namespace plaquette
