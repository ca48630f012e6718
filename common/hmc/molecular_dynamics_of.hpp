// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The molecular dynamics of any library, written once over the names that it gives to things.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/hmc/molecular_dynamics.hpp"
#include "common/hmc/quark_systems.hpp"
#include "common/krylov/batch.hpp"
#include "common/solvers/backend.hpp"

namespace plaquette {

/// A backend whose links move. B names in addition
///
/// - `gauge`, links; `momenta`, `leaves` (a matrix for each plane of a site), `blocks` (of the clover term).
/// - `of_host(links, ctx)`, `to_host(gauge, ctx)`, `copy_of(gauge)`, `assign(to, from)` in place.
/// - `make_momenta(ctx)`, `make_leaves(ctx)`, `make_blocks(ctx)`.
/// - `blocks_behind(diagonal, ctx)` makes blocks that a site_diagonal of double precision follows at least cost. They
///   are its own memory, if layouts agree.
/// - `make_diagonal(a, links, action)` makes the blocks of A in place. `invert(to, a, context)` makes A^-1.
/// - `dirac_parts<T>`, see `dirac_library`; `add_to_diagonal(a, number)`, `commuting_product(a, b)` of blocks.
/// - `combine(p, a, f, b)`: p = a p + b f; `clear(p)`; `reunitarise(gauge, ctx)`.
/// - `get(to, matrices, at)` copies the four matrices of sites, given by local coordinates, to the host.
/// - `multigrid_library` and the other names of multigrid_backend; `shared(links)`: the same links, for that library.
/// - `exact_sums`, made with a bool: while one lives, sums have the same bits on any process grid, if the library
///   can.
/// - `finish(ctx)` waits for all that was queued.
/// - The functions of gauge_force.hpp, momenta.hpp and fermion_force.hpp in the libraries, with a context in the last
///   place.
template <class Backend>
concept hmc_backend = backend<Backend> && requires(const typename Backend::context& ctx, typename Backend::gauge& u,
                                                   typename Backend::momenta& p, typename Backend::leaves& z) {
  Backend::assign(u, u);
  Backend::combine(p, 1.0, p, 1.0);
  Backend::clear(p);
  Backend::clear(z);
  Backend::add_gauge_force(p, u, loop_action{6.0}, 1.0, ctx);
  Backend::move_links(u, p, 1.0, ctx);
  Backend::refresh_momenta(p, std::uint64_t{1}, std::uint64_t{1}, ctx);
};

/// See molecular_dynamics.hpp.
template <hmc_backend Backend>
class molecular_dynamics_of final : public molecular_dynamics {
  using context = typename Backend::context;
  using gauge = typename Backend::gauge;
  using momenta_type = typename Backend::momenta;
  using field = typename Backend::template field<double>;

  /// One factor of the determinant: its pseudofermion, a column a pair, and vectors on even sites.
  struct factor_state {
    field phi, start, end;
    field force_x, force_y;  ///< on all sites
    std::optional<field> heavier_x{}, heavier_y{};
    factor_work work{};
  };

  struct kept_state final : md_state {
    kept_state(gauge of_links, momenta_type of_momenta) : links(std::move(of_links)), momenta(std::move(of_momenta)) {}
    gauge links;
    momenta_type momenta;
    std::vector<bool> noted;  ///< a kick that notes sizes rounds otherwise: the same bits follow from here again
  };

 public:
  molecular_dynamics_of(const context& ctx, const gauge_configuration& links, const hybrid_action& action)
      : context_(ctx),
        action_(action),
        links_(Backend::of_host(links, ctx)),
        start_(Backend::copy_of(links_)),
        momenta_(Backend::make_momenta(ctx)),
        force_(Backend::make_momenta(ctx)),
        sizes_(term_names(action).size()),
        noted_(sizes_.size()) {
    require_usable(action);
    if (!action.quarks) return;
    systems_.emplace(ctx, links_, action_);
    if (has_clover()) leaves_.emplace(Backend::make_leaves(ctx));
    const field full(ctx, {.columns = quarks().pairs}), even = systems_->complement(0).even_like(full);
    for (int k = 0; k < quarks().factors(); ++k)
      factors_.push_back({like(even), like(even), like(even), like(full), like(full)});
  }

  const hybrid_action& action() const override { return action_; }

  void set_links(const gauge_configuration& links) override {
    Backend::assign(links_, Backend::of_host(links, context_));
    ++moves_;
  }
  gauge_configuration links() const override { return Backend::to_host(links_, context_); }
  gauge_configuration links_of_start() const override { return Backend::to_host(start_, context_); }
  gauge_configuration momenta() const override { return Backend::to_host(momenta_, context_); }

  void refresh(std::uint64_t trajectory) override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    trajectory_ = trajectory;
    noted_.assign(noted_.size(), false);
    momenta_of_start_.reset();
    Backend::assign(start_, links_);
    Backend::refresh_momenta(momenta_, action_.seed, trajectory, context_);
    if (systems_) {
      systems_->begin_trajectory(trajectory);
      follow_links();
      systems_->make_whole();
    }
    for (int k = 0; k < std::ssize(factors_); ++k) draw_pseudofermion(k);
  }

  void set_momenta(const gauge_configuration& momenta) override {
    noted_.assign(noted_.size(), false);
    Backend::assign(start_, links_);
    Backend::assign(momenta_, Backend::of_host(momenta, context_));
    momenta_of_start_.emplace(Backend::copy_of(momenta_));
    if (systems_) systems_->begin_trajectory(trajectory_);
    for (factor_state& f : factors_) {
      f.work = {};
      zero(f.phi);
      zero(f.start);
    }
  }

  void set_pseudofermion(int number, int pair, const spinor_configuration& phi) override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    follow_links();
    factor_state& f = factors_.at(static_cast<std::size_t>(number));
    import_column(f.phi, pair, phi);
    systems_->solve_for_action(f.start, f.phi, number, f.work.actions);
  }

  void drift(double step) override {
    Backend::move_links(links_, momenta_, step, context_);
    ++moves_;
    if (systems_) systems_->note_drift(step);
  }

  void kick(std::span<const int> terms, double step) override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    std::vector<int> others;
    for (const int term : terms) {
      if (noted_[static_cast<std::size_t>(term)])
        others.push_back(term);
      else
        kick_and_note(term, step);
    }
    if (!others.empty()) add_forces(momenta_, others, step, 0.0);
  }

  void displaced_kick(std::span<const int> terms, double step, double displacement) override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    if (!before_displacement_) before_displacement_.emplace(Backend::copy_of(links_));
    Backend::assign(*before_displacement_, links_);
    Backend::clear(force_);
    add_forces(force_, terms, 1.0, 0.0);
    Backend::move_links(links_, force_, displacement, context_);
    ++moves_;
    add_forces(momenta_, terms, step, 0.0);
    Backend::assign(links_, *before_displacement_);
    ++moves_;
  }

  energy_change change_of_energy() override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    solve_for_actions();
    energy_change change;
    if (momenta_of_start_)
      Backend::assign(force_, *momenta_of_start_);
    else
      Backend::refresh_momenta(force_, action_.seed, trajectory_, context_);
    change.kinetic = Backend::kinetic_energy_difference(momenta_, force_, context_);
    change.terms.push_back(Backend::action_difference(links_, start_, action_.gauge, context_));
    if (action_.has_determinant()) change.terms.push_back(-2.0 * quarks().pairs * change_of_log_determinant());
    for (int k = 0; k < std::ssize(factors_); ++k) change.terms.push_back(change_of_factor(k));
    return change;
  }

  void solve_for_actions() override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    follow_links();
    for (int k = 0; k < std::ssize(factors_); ++k) {
      factor_state& f = factor(k);
      systems_->solve_for_action(f.end, f.phi, k, f.work.actions);
    }
  }

  void restore() override {
    Backend::assign(links_, start_);
    ++moves_;
  }
  void reunitarise() override {
    Backend::reunitarise(links_, context_);
    ++moves_;
  }
  void reverse() override { Backend::combine(momenta_, -1.0, momenta_, 0.0); }
  void halt() override { Backend::clear(momenta_); }

  void keep(std::unique_ptr<md_state>& in) const override {
    if (in) {
      auto& kept = dynamic_cast<kept_state&>(*in);
      Backend::assign(kept.links, links_);
      Backend::assign(kept.momenta, momenta_);
    } else {
      in = std::make_unique<kept_state>(Backend::copy_of(links_), Backend::copy_of(momenta_));
    }
    dynamic_cast<kept_state&>(*in).noted = noted_;
  }
  void put_back(const md_state& kept) override {
    const auto& from = dynamic_cast<const kept_state&>(kept);
    Backend::assign(links_, from.links);
    Backend::assign(momenta_, from.momenta);
    noted_ = from.noted;
    ++moves_;
  }
  void get(md_matrices which, std::span<const coordinate> at, std::span<site_links> to) const override {
    if (which == md_matrices::links)
      Backend::get(to, links_, at);
    else
      Backend::get(to, which == md_matrices::momenta ? momenta_ : force_, at);
  }

  void make_force(int term, double tolerance) override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    const int one[] = {term};
    Backend::clear(force_);
    if (systems_) systems_->use_past(false);  // a trajectory under way does not notice
    add_forces(force_, one, 1.0, tolerance);
    if (systems_) systems_->use_past(true);
  }
  gauge_configuration force(int term, double tolerance) override {
    make_force(term, tolerance);
    return Backend::to_host(force_, context_);
  }

  void get(int number, factor_vectors which, int pair, spinor_configuration& to) const override {
    const factor_state& f = factors_.at(static_cast<std::size_t>(number));
    if (which == factor_vectors::force_x) return export_column(to, f.force_x, pair);
    if (which == factor_vectors::force_y) return export_column(to, f.force_y, pair);
    if (which == factor_vectors::heavier_x) return export_column(to, f.heavier_x.value(), pair);
    if (which == factor_vectors::heavier_y) return export_column(to, f.heavier_y.value(), pair);
    field full = like(f.force_x);
    zero(full);
    if (which == factor_vectors::pseudofermion) {
      field even = full.parity(0);
      copy(even, f.phi);
    } else {
      extend(full, which == factor_vectors::start ? f.start : f.end, number, false);
    }
    export_column(to, full, pair);
  }

  std::vector<force_size> sizes_of_forces() const override { return sizes_; }
  std::vector<factor_work> work() const override {
    std::vector<factor_work> all;
    for (const factor_state& f : factors_) all.push_back(f.work);
    return all;
  }
  hierarchy_work work_of_hierarchy() const override {
    return systems_ ? systems_->work_of_hierarchy() : hierarchy_work{};
  }
  plaquettes measure_plaquettes() override {
    const typename Backend::exact_sums exact(action_.exact_sums);
    return Backend::measure_plaquettes(links_, context_);
  }
  double distance_from_su3() override { return Backend::distance_from_su3(links_, context_); }
  void finish() override { Backend::finish(context_); }

 private:
  const quark_pairs& quarks() const { return *action_.quarks; }
  bool has_clover() const { return action_.has_determinant(); }
  factor_state& factor(int k) { return factors_[static_cast<std::size_t>(k)]; }

  /// Brings the operators to the links as they are.
  void follow_links() {
    if (!systems_ || followed_ == moves_) return;
    systems_->follow(links_);
    followed_ = moves_;
  }

  /// Draws eta with <eta eta^+> = 1 and makes phi of it, such that the action is |eta|^2: eta = phi + X with the X of
  /// the start; for the last factor eta = X.
  void draw_pseudofermion(int k) {
    follow_links();
    factor_state& f = factor(k);
    f.work = {};
    field& eta = quarks().is_last(k) ? f.start : f.end;
    for (int pair = 0; pair < quarks().pairs; ++pair)
      Backend::random_spinor(eta, pair, action_.seed, noise_index(trajectory_, k, pair), context_);
    scale(eta, uniform_scalars(eta, std::sqrt(0.5)));
    if (quarks().is_last(k)) return systems_->apply_last(f.phi, eta);
    systems_->solve_for_heat_bath(f.start, eta, k, f.work.actions);
    copy(f.phi, eta);
    add_multiple(f.phi, {-1.0, 0.0}, f.start);
  }

  double change_of_factor(int k) {
    factor_state& f = factor(k);
    field sum = like(f.end), difference = like(f.end);
    copy(sum, f.end);
    add_multiple(sum, {1.0, 0.0}, f.start);
    if (!quarks().is_last(k)) add_multiple(sum, {2.0, 0.0}, f.phi);
    copy(difference, f.end);
    add_multiple(difference, {-1.0, 0.0}, f.start);
    double change = 0.0;
    for (const complex<double>& product : host_values(dot(sum, difference))) change += product.re;
    return change;
  }

  /// The operators have followed the links.
  double change_of_log_determinant() const {
    auto before = Backend::make_blocks(context_);
    Backend::make_diagonal(before, start_, quarks().action);
    return systems_->log_determinant_difference(before);
  }

  /// Makes x of x_e such that M x, or M^+ x, is zero on odd sites.
  /// \param k  M is of W_k
  void extend(field& full, const field& even, int k, bool daggered) const {
    field here = full.parity(0), there = full.parity(1);
    copy(here, even);
    systems_->complement(k).parts().hop_and_divide(there, even, daggered, 1.0, nullptr, {});
  }

  void kick_and_note(int term, double step) {
    const int one[] = {term};
    Backend::clear(force_);
    add_forces(force_, one, 1.0, 0.0);
    sizes_[static_cast<std::size_t>(term)] = Backend::size_of_force(force_, context_);
    noted_[static_cast<std::size_t>(term)] = true;
    Backend::combine(momenta_, 1.0, force_, step);
  }

  /// Adds step dA/dt of these terms. All clover terms are gathered at once.
  void add_forces(momenta_type& to, std::span<const int> terms, double step, double tolerance) {
    if (leaves_) Backend::clear(*leaves_);
    bool has_leaves = false;
    for (const int term : terms) {
      if (term == 0) {
        Backend::add_gauge_force(to, links_, action_.gauge, step, context_);
        continue;
      }
      follow_links();
      has_leaves = has_clover();
      if (has_clover() && term == 1)
        Backend::add_determinant_leaves(*leaves_, quarks().action, systems_->inverse_of_diagonal(), 1,
                                        step * quarks().pairs, context_);
      else
        add_factor_force(to, term - first_factor_term(action_), step, tolerance);
    }
    if (has_leaves) Backend::add_clover_force(to, links_, *leaves_, 1.0, context_);
  }

  /// Adds the hopping part to momenta and the clover part to the leaves.
  void add_factor_force(momenta_type& to, int k, double step, double tolerance) {
    factor_state& f = factor(k);
    field x = like(f.phi), y = like(f.phi);
    systems_->solve_for_force(x, y, f.phi, k, tolerance, f.work.forces);
    const bool has_heavier = quarks().has_mass_shifts() && !quarks().is_last(k);
    if (has_heavier) add_multiple(x, {1.0, 0.0}, f.phi);
    extend(f.force_x, x, k, false);
    extend(f.force_y, y, k, true);
    add_force_of(to, f.force_x, f.force_y, step);
    if (!has_heavier) return;
    // dS = -2 Re y^+ (dW_k (phi + X) - dW_(k+1) phi)
    if (!f.heavier_x) f.heavier_x.emplace(like(f.force_x)), f.heavier_y.emplace(like(f.force_x));
    copy(x, f.phi);
    multiply_all(x, {-1.0, 0.0});
    extend(*f.heavier_x, x, k + 1, false);
    extend(*f.heavier_y, y, k + 1, true);
    add_force_of(to, *f.heavier_x, *f.heavier_y, step);
  }
  void add_force_of(momenta_type& to, const field& x, const field& y, double step) {
    Backend::add_hopping_force(to, links_, quarks().action, x, y, step, context_);
    if (has_clover()) Backend::add_leaves(*leaves_, quarks().action, x, y, step, context_);
  }

  context context_;
  hybrid_action action_;
  gauge links_, start_;
  std::optional<gauge> before_displacement_;
  momenta_type momenta_, force_;
  std::optional<momenta_type> momenta_of_start_;  ///< momenta of the host; drawn ones are drawn again
  std::optional<quark_systems<Backend>> systems_;
  std::optional<typename Backend::leaves> leaves_;
  std::vector<factor_state> factors_;
  std::uint64_t trajectory_ = 0;
  /// Of links, and the number of moves that the operators know. They follow the first links, too: a library may round
  /// otherwise when it makes operators.
  long moves_ = 0, followed_ = -1;
  std::vector<force_size> sizes_;
  std::vector<bool> noted_;  ///< of each term: whether its size was noted in this trajectory
};

}  // namespace plaquette
