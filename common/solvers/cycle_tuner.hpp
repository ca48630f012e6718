// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tunes the cycle of a multigrid solver: tries cycles on random right-hand sides, and takes the fastest of them.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/solvers/cycle_choice.hpp"
#include "common/solvers/multigrid_hierarchy.hpp"

namespace plaquette {

/// Measures the present cycle of a hierarchy.
template <multigrid_backend Backend>
class cycle_trials {
  using types = multigrid_types<Backend>;
  using library_type = typename types::library;
  using single_field = typename types::single_field;
  using cycle_field = typename types::cycle_field;

 public:
  /// \param columns  right-hand sides that will be solved at once
  cycle_trials(multigrid_hierarchy<Backend>& hierarchy, int columns)
      : hierarchy_(hierarchy), library_(hierarchy.library()), columns_(columns) {}

  /// Returns the mean factor by which a cycle reduces the residual, after the first cycles have reduced the easy part.
  double rate() const {
    constexpr int first = 3, last = 10;
    const any_operator<single_field>& cycle = hierarchy_.cycle_in_single(1);
    single_field b = library_.even_field(1), x = like(b);
    library_.restrict_to_even(b, library_.random_fine_field(1, hierarchy_.seed() + 999));
    zero(x);
    stopping_rule rule;
    rule.tolerance = 1e-13;
    rule.limit = last;
    rule.guess_is_zero = true;
    rule.interrupted = [this] {
      const auto& between_parts = hierarchy_.parameters().between_parts;
      if (between_parts) between_parts();
      return false;
    };
    const solve_report report = flexible_gcr(*library_.system(), x, b, rule, cycle, {hierarchy_.restart_length(), 0});
    const std::vector<double>& r = report.history.front();
    const int end = static_cast<int>(r.size()) - 1, begin = std::min(first, end - 1);
    if (begin < 0 || !(r[static_cast<std::size_t>(begin)] > 0.0)) return 0.0;
    const double fallen = r[static_cast<std::size_t>(end)] / r[static_cast<std::size_t>(begin)];
    return std::pow(fallen, 1.0 / (end - begin));
  }

  /// Returns a trial of the present cycle, whose rate is known.
  cycle_trial trial(double rate) const {
    cycle_trial tried{hierarchy_.parameters().shape(), rate, seconds_of_iteration()};
    tried.columns = columns_;
    return tried;
  }

 private:
  /// Returns seconds of an iteration of the outer GCR: a cycle, and its own part, half of which is its operator.
  double seconds_of_iteration() const {
    const any_operator<single_field>& cycle = hierarchy_.cycle_in_single(columns_);
    cycle_field in = library_.even_field(columns_), out = like(in);
    library_.restrict_to_even(in, library_.random_fine_field(columns_, hierarchy_.seed() + 995));
    return seconds_of([&] { cycle.apply(out, in); }) + 2.0 * seconds_of([&] { library_.system()->apply(out, in); });
  }
  /// Returns seconds of the fastest of three runs, or of one if there are many columns, on the slowest rank.
  template <class Work>
  double seconds_of(const Work& work) const {
    double least = 1e300;
    const int runs = columns_ < 4 ? 4 : 2;
    for (int run = 0; run < runs; ++run) {
      library_.finish();
      const auto start = std::chrono::steady_clock::now();
      work();
      library_.finish();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (run > 0) least = std::min(least, seconds);
    }
    std::array<double, 1> slowest{least};
    library_.get_context().comm().maximum(std::span(slowest));
    return slowest[0];
  }

  multigrid_hierarchy<Backend>& hierarchy_;
  const library_type& library_;
  int columns_;
};

/// Chooses the steps of the coarsest lattice and the number of improvements of the null vectors. Then it chooses the
/// shape of the cycle, and divides coarse lattices among ranks and devices.
template <multigrid_backend Backend>
class cycle_tuner {
  using types = multigrid_types<Backend>;
  using library_type = typename types::library;

 public:
  /// The hierarchy needs a set-up, and must live as long as this object.
  /// \param open  choices that the caller leaves to the tuner
  cycle_tuner(multigrid_hierarchy<Backend>& hierarchy, const tuning_choices& open)
      : hierarchy_(hierarchy), library_(hierarchy.library()), open_(open), trials_(hierarchy, open.columns) {}

  /// Returns the choices, which the next cycle of the hierarchy has. To be called once. Collective.
  tuning_report tune() {
    library_.finish();
    const work_clock whole(library_);
    tuning_report report;
    if (open_.coarsest_steps && open_.trials > 0) find_coarsest_steps();
    report.trial_rates = improve_while_slow();
    report.coarsest_steps = hierarchy_.parameters().coarsest_steps;
    if (open_.shape && !report.trial_rates.empty()) report.shapes = choose_shape(report.trial_rates.back());
    report.divisions = choose_division(report.shapes);
    if (is_divided()) report.whole_from = hierarchy_.parameters().whole_from;
    place_levels(report);
    library_.finish();
    const communicator& comm = library_.get_context().comm();
    std::array<double, 2> seconds{trial_seconds_, whole.seconds()};
    report.seconds.tuning = largest_of_ranks(whole.tuning_seconds(), comm);
    take_out_tuning(seconds, comm);
    report.seconds.trial = seconds[0], report.seconds.whole = seconds[1];
    return report;
  }

 private:
  /// Adds the seconds of a scope to the seconds of trials.
  class trial_stretch {
   public:
    explicit trial_stretch(cycle_tuner& of) : of_(of), clock_(of.library_) {}
    trial_stretch(const trial_stretch&) = delete;
    trial_stretch& operator=(const trial_stretch&) = delete;
    ~trial_stretch() { of_.trial_seconds_ += clock_.seconds(); }

   private:
    cycle_tuner& of_;
    work_clock<library_type> clock_;
  };

  multigrid<library_type>& lattices() { return hierarchy_.lattices(); }
  bool is_divided() const { return library_.get_context().comm().size() > 1; }

  /// A mode that the coarsest lattice misses may stop a solve, while the trial converges.
  void find_coarsest_steps() {
    const trial_stretch counted(*this);
    hierarchy_.forget_cycle();
    lattices().find_coarsest_steps();
  }

  /// Tries the cycle on a random right-hand side, and improves the null vectors while it converges slowly and that
  /// helps. Returns the rates of the cycles, in order.
  std::vector<double> improve_while_slow() {
    std::vector<double> rates;
    while (open_.trials > 0) {
      rates.push_back(timed_rate());
      if (!is_worth_improving(rates, open_.trials)) break;
      hierarchy_.forget_cycle();
      lattices().improve();
    }
    return rates;
  }
  double timed_rate() {
    const trial_stretch counted(*this);
    return trials_.rate();
  }

  /// Takes the shape of the cycle with which solves are fastest, if its steps are fixed. Returns the trials, none if
  /// there is no choice.
  /// \param rate  of the present cycle
  std::vector<cycle_trial> choose_shape(double rate) {
    if (!Backend::records || hierarchy_.parameters().coarsenings.size() < 2) return {};
    const trial_stretch counted(*this);
    std::vector<cycle_trial> tried{trials_.trial(rate)};
    // Seconds are known before a rate is. They rule out shapes that cannot be the fastest.
    const auto attempt = [&](const cycle_shape& shape, double longest_iteration) {
      use(shape);
      cycle_trial now = trials_.trial(0.0);
      if (now.seconds > longest_iteration) return;
      now.rate = trials_.rate();
      tried.push_back(now);
    };
    while (const auto shape = next_shape(tried)) attempt(*shape, std::numeric_limits<double>::infinity());
    const cycle_trial best = fastest(tried);  // CA-GCR converges about as polynomials of as many steps do
    if (best.shape.smoother == smoother_kind::polynomial) attempt(by_ca_gcr(best.shape), 1.1 * best.seconds);
    use(fastest(tried).shape);
    return tried;
  }
  void use(const cycle_shape& shape) {
    lattices().use_cycle(shape);
    hierarchy_.forget_cycle();
  }

  /// Takes the division of coarse lattices among ranks with which iterations are fastest, unless one is given. Returns
  /// the trials.
  /// \param shapes  trials of shapes, the fastest of which is the present cycle
  std::vector<cycle_trial> choose_division(const std::vector<cycle_trial>& shapes) {
    if (!is_divided()) return {};
    const std::size_t before = hierarchy_.parameters().whole_from;
    if (open_.whole_from || open_.offload != coarse_device::same) {
      divide(checked_division(open_.whole_from.value_or(before)));
      return {};
    }
    const trial_stretch counted(*this);
    std::vector<extents> lattices;
    for (const auto& level : hierarchy_.lattices().levels()) lattices.push_back(level.system->geometry().global());
    std::vector<cycle_trial> tried;
    for (const std::size_t first : whole_lattices_to_try(lattices)) {
      divide(first);
      const bool is_timed = first == before && !shapes.empty();
      tried.push_back(is_timed ? fastest(shapes) : trials_.trial(0.0));
      tried.back().whole_from = first;
    }
    divide(fastest_iteration(tried).whole_from);
    return tried;
  }
  void divide(std::size_t whole_from) {
    if (whole_from != hierarchy_.parameters().whole_from) hierarchy_.forget_cycle();
    lattices().use_whole_lattices(whole_from);
  }
  std::size_t checked_division(std::size_t whole_from) const {
    const std::size_t levels = hierarchy_.lattices().levels().size();
    if (whole_from > levels)
      throw input_error("multigrid: lattice " + std::to_string(whole_from) +
                        " cannot be whole on every rank: there are " + std::to_string(levels) + " coarse lattices");
    return whole_from;
  }

  /// Puts the coarse lattices on the chosen device, and adds their correction or not. Tries the open choices and takes
  /// the fastest.
  void place_levels(tuning_report& report) {
    const cycle_shape before = hierarchy_.parameters().shape();
    const std::shared_ptr<const coarse_hierarchy> there = open_.offload != coarse_device::same && hierarchy_.has_host()
                                                              ? hierarchy_.on_host(hierarchy_.parameters())
                                                              : nullptr;
    level_places places{.first = 0, .additive = open_.correction == correction_kind::additive};
    if (there && open_.offload == coarse_device::host) {
      places.first = 1;
    } else if (there) {
      report.placements = try_placements(there);
      const cycle_trial& best = fastest(report.placements);
      places = {best.offload_from_level, best.shape.additive_on.has_value()};
    }
    hierarchy_.place(places, there);
    report.offload_from_level = places.first;
    report.cycle = hierarchy_.parameters().shape();
    if (places.first > 0 || !(report.cycle == before) || !report.placements.empty()) hierarchy_.forget_cycle();
  }
  /// Returns trials with the coarse lattices from each one on in `there`, and with both corrections if that is open.
  std::vector<cycle_trial> try_placements(const std::shared_ptr<const coarse_hierarchy>& there) {
    const bool wants_additive = open_.correction == correction_kind::additive;
    std::vector<cycle_trial> tried;
    for (std::size_t level = 0; level <= hierarchy_.lattices().levels().size(); ++level)
      for (const bool adds : {false, true}) {
        // An additive correction has no use if no lattice is with the CPU.
        const bool is_open = !open_.correction && (!adds || level > 0);
        if (!is_open && adds != wants_additive) continue;
        hierarchy_.place({level, adds}, there);
        const trial_stretch counted(*this);
        hierarchy_.forget_cycle();
        tried.push_back(trials_.trial(trials_.rate()));
        tried.back().offload_from_level = level;
      }
    return tried;
  }

  multigrid_hierarchy<Backend>& hierarchy_;
  const library_type& library_;
  tuning_choices open_;
  cycle_trials<Backend> trials_;
  double trial_seconds_ = 0.0;
};

}  // namespace plaquette
