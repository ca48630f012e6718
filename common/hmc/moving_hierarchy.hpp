// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A multigrid hierarchy for links that move. It is made whole on the links of a trajectory's start. After that its
/// null vectors and its coarse operators stay as they are, while smoother and outer operator see the new links. A
/// coarse operator of old vectors on new links would be worse: these vectors are no null vectors of the new M.
///
/// A factor with W = Mhat + i mu gamma_5 has a cycle of its own, whose coarse operators and smoother have a twist
/// (cycle_twist).
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/hmc/hybrid_action.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/operators/even_complement.hpp"
#include "common/solvers/cycle_in_single.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

/// See the top of the file. Decisions follow from counts of iterations alone.
/// \tparam Backend  see hmc_backend
template <class Backend>
class moving_hierarchy {
  using context = typename Backend::context;
  using library = typename Backend::multigrid_library;
  using single_field = typename Backend::template field<float>;
  using full_operator = typename Backend::template wilson_clover<float>;
  using half_system = typename Backend::template schur_wilson_clover<half>;

 public:
  /// \param links    shared with the caller, who moves them
  /// \param full     the caller lets it follow the links
  /// \param in_half  Mhat that the finest lattice relaxes with, which follows too; null: in single
  /// \param columns  of the widest batch
  moving_hierarchy(const context& ctx, const typename Backend::links& links, const fermion_action& action,
                   std::shared_ptr<const full_operator> full, std::shared_ptr<const half_system> in_half, int columns)
      : context_(ctx),
        library_(ctx, links, action, std::move(full)),
        in_half_(std::move(in_half)),
        parameters_(default_multigrid_parameters(ctx.geometry().global(), ctx.geometry().local())),
        columns_(columns) {
    set_device_defaults(parameters_, Backend::records);
    parameters_.between_parts = [] { stop_point(stop_kind::late); };  // throws
  }

  const multigrid_parameters& parameters() const { return multigrid_ ? multigrid_->parameters() : parameters_; }
  hierarchy_work work() const { return work_; }

  /// Returns the applications of Mhat in the cycles of a solve, by the relaxation on the finest lattice.
  long applications_of(const solve_report& report) const {
    const multigrid_parameters& p = parameters();
    const int steps = multigrid_parameters::on_lattice(p.steps_after, 0);
    const int a_cycle = p.smoother == smoother_kind::polynomial ? steps : steps + 1;
    long cycles = 0;
    for (const column_report& c : report.columns) cycles += c.iterations;
    return cycles * a_cycle;
  }

  /// Lets the next solve make the hierarchy whole, from random vectors of this seed.
  void begin_trajectory(std::uint64_t seed) {
    forget_cycles();
    multigrid_.reset();
    parameters_.seed = seed;
    age_ = 0.0;
    is_slow_ = false;
    fresh_.clear();
    work_ = {};
  }

  /// Notes that links have moved for a time.
  void grow_older(double time) { age_ += std::abs(time); }

  /// Notes the iterations of a force's solve. A system's first solve after begin_trajectory gives the iterations with a
  /// fresh hierarchy.
  /// \param system  number of the system: each has a fresh count of its own
  void note_iterations(int system, int iterations) {
    const auto s = static_cast<std::size_t>(system);
    if (fresh_.size() <= s) fresh_.resize(s + 1, 0);
    if (fresh_[s] == 0) fresh_[s] = iterations;
    work_.iterations += iterations;
    work_.fresh_iterations += fresh_[s];
    if (iterations >= slow * fresh_[s] && age_ >= shortest_time) is_slow_ = true;
  }

  /// Makes one inverse iteration of the null vectors on the links as they are, if solves have become slow.
  void renew_if_slow() {
    if (!is_slow_ || !multigrid_) return;
    timed([&] {
      forget_cycles();
      multigrid_->improve();
      make_cycle();
    });
    ++work_.renewals;
    age_ = 0.0;
    is_slow_ = false;
  }

  /// Returns x = about Mhat^-1 b. Makes the hierarchy, if there is none.
  const any_operator<single_field>& cycle() {
    if (!cycle_)
      timed([&] {
        multigrid_.emplace(library_, parameters_);
        multigrid_->find_coarsest_steps();
        make_cycle();
      });
    return *cycle_;
  }
  /// Returns the same with twisted masses. Makes it at the first call after the hierarchy was made or renewed.
  const any_operator<single_field>& cycle(const cycle_twist& twist) {
    const any_operator<single_field>& plain = cycle();
    if (twist.is_zero()) return plain;
    const auto known = twisted_.find(twist);
    if (known != twisted_.end()) return known->second;
    std::optional<any_operator<single_field>> made;
    timed([&] {
      if (twist.finest == 0.0)
        made.emplace(twisted_cycle(twist, in_half_));
      else if (in_half_)
        made.emplace(twisted_cycle(twist, with_twist(in_half_, twist.finest)));
      else
        made.emplace(twisted_cycle(twist, with_twist(library_.system(), twist.finest)));
      warm_up(*made, library_.even_field(columns_));
    });
    return twisted_.emplace(twist, std::move(*made)).first->second;
  }

 private:
  static constexpr double slow = 1.5;           ///< of the fresh count: then vectors are renewed
  static constexpr double shortest_time = 0.2;  ///< of molecular dynamics between renewals

  void make_cycle() {
    multigrid_->fit_polynomial_smoothers();
    cycle_.emplace(cycle_in_single<Backend>(context_, *multigrid_, in_half_, columns_, true));
    warm_up(*cycle_, library_.even_field(columns_));
  }
  /// \param smoothed  the system that the finest lattice relaxes with; null: Mhat in single
  template <class System>
  any_operator<single_field> twisted_cycle(const cycle_twist& twist, std::shared_ptr<const System> smoothed) const {
    return cycle_in_single<Backend>(context_, multigrid_->with_twist(twist.coarse), std::move(smoothed), columns_,
                                    true);
  }
  template <class System>
  auto with_twist(const std::shared_ptr<const System>& mhat, double mu) const {
    const typename System::field shape(context_, {.sites = site_subset::even, .columns = columns_});
    return std::make_shared<const prepared_twist<System>>(mhat, shape, mu);
  }
  void forget_cycles() {
    twisted_.clear();
    cycle_.reset();
  }
  template <class Work>
  void timed(const Work& work) {
    library_.finish();
    const auto start = std::chrono::steady_clock::now();
    work();
    library_.finish();
    work_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  context context_;
  library library_;
  std::shared_ptr<const half_system> in_half_;
  multigrid_parameters parameters_;
  int columns_;
  std::optional<multigrid<library>> multigrid_;
  std::optional<any_operator<single_field>> cycle_;
  std::map<cycle_twist, any_operator<single_field>> twisted_;
  double age_ = 0.0;  ///< since null vectors were made or renewed
  bool is_slow_ = false;
  std::vector<int> fresh_;  ///< iterations with a fresh hierarchy, by system
  hierarchy_work work_;
};

}  // namespace plaquette
