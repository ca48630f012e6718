// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The propagator solver of any library, written once over the names that it gives to things.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/algebra/float_pair.hpp"
#include "common/error.hpp"
#include "common/krylov/groups.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/operators/even_complement.hpp"
#include "common/solvers/alternating_inputs.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/propagator_solver.hpp"
#include "common/solvers/solver_arguments.hpp"
#include "common/solvers/solver_vectors_of.hpp"
#include "common/solvers/vectors_of.hpp"

namespace plaquette {

/// A backend that makes sources and correlators. B names in addition
///
/// - `links_of(links)`: the links of operators; `make_source(field, column, source, component, links, ctx)`.
/// - `copy_of_links(gauge)`: a copy that can be made `links`; `assign_links(copy, gauge)` gives it other links.
/// - `make_blocks(ctx)`, `make_diagonal(blocks, gauge, action)`, `invert(blocks, of, ctx)`: A and A^-1 in existing
///   memory.
/// - `columns_at_once(precision, columns, geometry)`: of a batch, that a Krylov solver iterates together.
/// - `correlators(field)`: of a propagator, if the library makes them; `finish(ctx)` waits for all that was queued.
template <class Backend>
concept propagator_backend =
    backend<Backend> && requires(const typename Backend::context& ctx, const typename Backend::links& links,
                                 typename Backend::template field<double>& x) {
      Backend::links_of(links);
      Backend::make_source(x, 0, source_description{}, source_component{}, links, ctx);
      { Backend::columns_at_once(precision::single, 12, ctx.geometry()) } -> std::same_as<int>;
      { Backend::correlators(x) } -> std::same_as<std::optional<correlator_pair>>;
      Backend::finish(ctx);
    };

/// See operator_trial.
/// \tparam Operator  M or its Schur complement
/// \tparam Full      M, whose hops have the settings of the halo
template <class Field, class Operator, class Full>
class operator_trial_of final : public operator_trial {
 public:
  /// \param like_input  a field with the sites and columns of the input
  /// \param followed    by the solver; lives as long
  operator_trial_of(const Operator& a, std::shared_ptr<Full> m, const auto& like_input, double sites,
                    const followed_links& followed)
      : operator_(a),
        m_(std::move(m)),
        sites_(sites),
        followed_(followed),
        in_(like(like_input, like_input.columns(), as<Field>)) {}

  int columns() const override { return in_.first().columns(); }
  void set_input(int column, const spinor_configuration& in) override {
    require_columns(column, 1, columns(), "an input");
    require_same_lattice(in.geometry(), in_.first().get_context().geometry(), "an input", "an operator on ");
    import_column(in_.first(), column, in);
  }
  void set_inputs(const spinor_array<const double>& in) override {
    require_columns(0, in.columns, columns(), "inputs");
    import_array(in_.first(), in);
  }
  void get_outputs(const spinor_array<double>& out) const override {
    require_columns(0, out.columns, columns(), "outputs");
    export_array(out, output());
  }
  void restart(complex<double> first, complex<double> second) override {
    make_room();
    in_.refresh(first, second);
    zero(*out_);
  }
  void apply(bool dagger) override {
    followed_.require_current("this operator");
    make_room();
    const Field& in = in_.next();
    dagger ? operator_.apply_dagger(*out_, in) : operator_.apply(*out_, in);
  }
  double flops() const override { return operator_.flops_per_site() * sites_ * columns(); }
  void get_input(int column, spinor_configuration& in) const override {
    require_columns(column, 1, columns(), "an input");
    export_column(in, in_.last(), column);
  }
  void get_output(int column, spinor_configuration& out) const override {
    require_columns(column, 1, columns(), "an output");
    export_column(out, output(), column);
  }

  bool has_halo_settings() const override { return has_settings; }
  void set_overlap(bool overlap) override { m_->hopping().set_overlap(overlap); }
  void set_communication(bool communicates) override {
    if constexpr (has_settings) m_->hopping().set_communication(communicates);
  }
  double halo_bytes() const override {
    if constexpr (has_settings) return static_cast<double>(m_->hopping().halo_bytes(columns()));
    return 0.0;
  }

 private:
  static constexpr bool has_settings = requires(Full& m) { m.hopping().set_communication(true); };

  const Field& output() const {
    if (!out_)
      throw input_error("this operator: expected an application before its output, found none: call apply first");
    return *out_;
  }
  void make_room() {
    if (!out_) out_.emplace(like(in_.first()));
  }

  const Operator& operator_;
  std::shared_ptr<Full> m_;
  double sites_;
  const followed_links& followed_;
  scaling::alternating_inputs<Field> in_;
  std::optional<Field> out_;
};

/// See propagator_solver.hpp. Solutions and their residuals have the precision of Outer, Krylov spaces have the
/// precision of Inner.
template <propagator_backend Backend, class Outer, class Inner>
class propagator_solver_of final : public propagator_solver {
  using context = typename Backend::context;
  using links = typename Backend::links;
  using high_field = typename Backend::template field<Outer>;
  using low_field = typename Backend::template field<Inner>;
  template <class T>
  using full_type = typename Backend::template wilson_clover<T>;
  template <class T>
  using schur_type = typename Backend::template schur_wilson_clover<T>;

 public:
  /// \param source_links  that smear a Gaussian source
  propagator_solver_of(const context& ctx, links u, links source_links, const propagator_settings& settings)
      : context_(ctx),
        links_(std::move(u)),
        source_links_(std::move(source_links)),
        settings_(settings),
        full_(
            std::make_shared<full_type<Outer>>(context_, Backend::links_of(links_), settings_.action, settings_.links)),
        inner_(inner_operator()),
        schur_(full_, settings_.preconditioning),
        inner_schur_(inner_, settings_.preconditioning),
        b_(context_, {.columns = settings_.columns}),
        x_(like(b_)) {
    zero(b_);
    full_->hopping().set_overlap(settings_.overlap);
    inner_->hopping().set_overlap(settings_.overlap);
  }

  const propagator_settings& settings() const override { return settings_; }

  void set_source(int column, const spinor_configuration& b) override {
    require_columns(column, 1, b_.columns(), "a source");
    require_same_lattice(b.geometry(), context_.geometry(), "a source", "a solver on ");
    if (components_.size() <= static_cast<std::size_t>(column)) components_.resize(column + std::size_t{1}, -1);
    components_[static_cast<std::size_t>(column)] = column;
    import_column(b_, column, b);
  }

  bool set_sources(const spinor_array<const double>& b) override {
    require_columns(0, b.columns, b_.columns(), "sources");
    components_.resize(static_cast<std::size_t>(b.columns));
    std::iota(components_.begin(), components_.end(), 0);
    import_array(b_, b);
    clear_sources_from(b.columns);
    return !b.is_on_device || all_finite(norm2(b_));
  }

  void make_sources(const source_description& source, const std::vector<int>& components,
                    complex<double> phase) override {
    require_current_links();
    require_columns(0, static_cast<int>(components.size()), b_.columns(), "sources");
    require_spin_colours(components);
    components_ = components;
    int column = 0;
    for (const int component : components)
      Backend::make_source(b_, column++, source, component_of_column(component), source_links_, context_);
    if (!(phase.re == 1.0 && phase.im == 0.0)) {
      constexpr double nan = std::numeric_limits<double>::quiet_NaN();
      scale(b_, same_for_all(phase));
      leave_given_solutions();
      scale(x_, same_for_all({nan, nan}));
    }
    clear_sources_from(column);
  }

  propagator_report solve(const stopping_rule& rule, const schur_parameters& parameters) override {
    require_current_links();
    leave_given_solutions();
    propagator_report result{solve_full(x_, b_, rule, parameters)};
    // An application of the full operator is one of the Schur complement, to a few flops.
    result.flops = static_cast<double>(result.report.column_applications) * schur_.flops_per_site() * even_sites();
    return result;
  }

  void get_solution(int column, spinor_configuration& x) const override {
    require_columns(column, 1, x_.columns(), "a solution");
    require_same_lattice(x.geometry(), context_.geometry(), "a solution", "a solver on ");
    export_column(x, x_, column);
  }
  vectors_handle solutions() override {
    vectors_handle here = handle_of(x_, 0, mark());
    given_ = here;
    return here;
  }
  std::vector<double> solution_norms() const override {
    std::vector<double> norms;
    for (const auto& square : host_values(norm2(x_))) norms.push_back(std::sqrt(square.re));
    return norms;
  }

  std::optional<correlator_pair> correlators() const override {
    std::vector<int> all(spin_colours);
    std::iota(all.begin(), all.end(), 0);
    if (components_ != all || b_.columns() != spin_colours) return std::nullopt;
    return Backend::correlators(x_);
  }

  std::unique_ptr<operator_trial> full_operator(bool inner) override {
    const auto sites = static_cast<double>(context_.geometry().global_volume());
    if (inner)
      return std::make_unique<operator_trial_of<low_field, full_type<Inner>, full_type<Inner>>>(*inner_, inner_, b_,
                                                                                                sites, followed());
    return std::make_unique<operator_trial_of<high_field, full_type<Outer>, full_type<Outer>>>(*full_, full_, b_, sites,
                                                                                               followed());
  }

  std::unique_ptr<operator_trial> schur_operator(bool inner) override {
    const high_field even = schur_.even_like(b_);
    if (inner)
      return std::make_unique<operator_trial_of<low_field, schur_type<Inner>, full_type<Inner>>>(
          inner_schur_, inner_, even, even_sites(), followed());
    return std::make_unique<operator_trial_of<high_field, schur_type<Outer>, full_type<Outer>>>(
        schur_, full_, even, even_sites(), followed());
  }

  std::string halo_policy() const override {
    if constexpr (requires { inner_->hopping().halo_description(); }) return inner_->hopping().halo_description();
    return {};
  }

 private:
  /// Takes other memory for solutions if somebody has a handle to the solutions of the last solve.
  void leave_given_solutions() {
    if (!given_.expired()) x_ = like(b_);
    given_.reset();
  }
  void clear_sources_from(int column) {
    if (column == b_.columns()) return;
    high_field rest = view(b_, column, b_.columns() - column);
    zero(rest);
  }
  auto same_for_all(complex<double> number) const {
    return make_scalars(b_, std::vector<complex<double>>(static_cast<std::size_t>(b_.columns()), number));
  }
  double even_sites() const { return 0.5 * static_cast<double>(context_.geometry().global_volume()); }

  // Links that move.

  using gauge = typename full_type<Outer>::links_type;

  void follow_checked(const link_field& handle) override {
    const gauge& u = links_behind<gauge>(handle, context_.geometry(), "a solver");
    const bool has_other_operator = static_cast<const void*>(full_.get()) != static_cast<const void*>(inner_.get());
    begin_to_follow();
    if (settings_.action.has_clover()) {
      if (!diagonal_) {
        diagonal_.emplace(Backend::make_blocks(context_));
        inverse_diagonal_.emplace(Backend::make_blocks(context_));
      }
      Backend::make_diagonal(*diagonal_, u, settings_.action);
      Backend::invert(*inverse_diagonal_, *diagonal_, context_);
      full_->follow(u, *diagonal_, *inverse_diagonal_);
      if (has_other_operator) inner_->follow(u, *diagonal_, *inverse_diagonal_);
    } else {
      full_->follow(u);
      if (has_other_operator) inner_->follow(u);
    }
    if (settings_.source_links) return;
    if (copy_) return Backend::assign_links(*copy_, u);
    copy_.emplace(Backend::copy_of_links(u));
    links_ = source_links_ = *copy_;
  }

  // Solves of vectors.

  using vector_field =
      typename Backend::template field<std::conditional_t<std::is_same_v<Outer, float_pair>, double, Outer>>;

  static constexpr bool has_even_systems = std::is_same_v<vector_field, high_field>;

  bool solves_even_systems() const override { return has_even_systems; }
  precision numbers_of_solutions() const override { return precision_of<vector_field>; }

  schur_report solve_checked(vectors& x, const vectors& b, const stopping_rule& rule,
                             const vector_system& system) override {
    vector_field& to = field_of<vector_field>(x);
    const vector_field& from = field_of<vector_field>(b);
    if (!system.dagger || system.squared) return solve_system(to, from, rule, system);
    // gamma_5 M gamma_5 = M^+, and gamma_5 (Mhat - i mu gamma_5) gamma_5 = (Mhat + i mu gamma_5)^+
    vector_system rotated = system;
    for (double& mu : rotated.mu) mu = -mu;
    vector_field source = like(from);
    gamma5(source, from);
    schur_report report = solve_system(to, source, rule, rotated);
    gamma5(to, to);
    return report;
  }

  schur_report solve_system(vector_field& x, const vector_field& b, const stopping_rule& rule,
                            const vector_system& system) {
    if constexpr (has_even_systems) {
      return b.shape().sites == site_subset::full ? solve_full(x, b, rule, {}) : solve_even_system(x, b, rule, system);
    } else {
      high_field found = like(x, x.columns(), as<high_field>), source = like(found);
      convert(source, b);
      schur_report report = solve_full(found, source, rule, {});
      convert(x, found);
      return report;
    }
  }

  schur_report solve_full(high_field& x, const high_field& b, const stopping_rule& rule,
                          const schur_parameters& parameters) {
    const auto in_groups = [&](const auto& a, high_field& y, const high_field& c, const stopping_rule& even) {
      return solve_in_groups(Backend::columns_at_once(settings_.inner, c.columns(), context_.geometry()), y, c, even,
                             [&](high_field& x_part, const high_field& b_part, const stopping_rule& part) {
                               return solve_even(a, inner_schur_, x_part, b_part, part);
                             });
    };
    stopping_rule here = rule;
    here.check_interval = Backend::check_interval;
    here.check_lag = Backend::check_lag;
    here.guess_is_zero = true;
    zero(x);
    schur_parameters of_precision = parameters;
    of_precision.unit_roundoff = unit_roundoff(settings_.outer);
    schur_report report = schur_solve(schur_, *full_, x, b, here, in_groups, of_precision);
    Backend::finish(context_);
    return report;
  }

  /// The Krylov solver of the settings for Mhat + i mu gamma_5, and CG for Mhat^+ Mhat + mu^2: columns of one mu at
  /// once, since columns leave a batch as they converge.
  schur_report solve_even_system(high_field& x, const high_field& b, const stopping_rule& rule,
                                 const vector_system& system) {
    stopping_rule here = rule;
    here.check_interval = Backend::check_interval;
    here.check_lag = Backend::check_lag;
    here.guess_is_zero = true;
    zero(x);
    const schur_type<Outer> outer(full_, schur_kind::asymmetric);
    const schur_type<Inner> inner(inner_, schur_kind::asymmetric);
    const auto of_one_mu = [&](high_field& y, const high_field& c, const stopping_rule& part, int first) {
      const double mu = system.mu[static_cast<std::size_t>(first)];
      if (system.squared)
        return reliable_conjugate_gradients<low_field>(squared_complement(outer, mu), squared_complement(inner, mu), y,
                                                       c, part, settings_.updates);
      return solve_even(twisted_complement(outer, mu), twisted_complement(inner, mu), y, c, part);
    };
    schur_report report;
    static_cast<solve_report&>(report) = solve_groups(groups_of_one_mu(b.columns(), system.mu), x, b, here, of_one_mu);
    system.squared ? note_true_residuals(report, x, b, squared_complement(outer, system.mu))
                   : note_true_residuals(report, x, b, twisted_complement(outer, system.mu));
    Backend::finish(context_);
    return report;
  }
  std::vector<int> groups_of_one_mu(int columns, const std::vector<double>& mu) const {
    const int most = Backend::columns_at_once(settings_.inner, columns, context_.geometry());
    std::vector<int> counts{0};
    for (std::size_t n = 0; n < mu.size(); ++n) {
      if (n > 0 && (mu[n] != mu[n - 1] || counts.back() == most)) counts.push_back(0);
      ++counts.back();
    }
    return counts;
  }
  static void note_true_residuals(schur_report& report, const high_field& x, const high_field& b, const auto& a) {
    high_field r = like(x);
    const auto both = host_values_of(std::vector{residual(r, a, x, b), norm2(b)});
    for (std::size_t n = 0; n < both[0].size(); ++n)
      report.true_residuals.push_back(both[1][n].re == 0.0 ? std::sqrt(both[0][n].re)
                                                           : std::sqrt(both[0][n].re / both[1][n].re));
    report.corrections.assign(report.columns.size(), 0);
  }

  std::shared_ptr<full_type<Inner>> inner_operator() const {
    if constexpr (std::is_same_v<Outer, Inner>)
      if (settings_.one_operator()) return full_;
    return std::make_shared<full_type<Inner>>(context_, Backend::links_of(links_), settings_.action,
                                              settings_.inner_links);
  }

  solve_report solve_even(const auto& a, const auto& inner, high_field& x, const high_field& b,
                          const stopping_rule& rule) const {
    if constexpr (std::is_same_v<Outer, Inner>)
      if (settings_.plain()) return plaquette::solve(settings_.solver, a, x, b, rule, settings_.parameters);
    return solve_mixed<low_field>(settings_.solver, settings_.scheme, a, inner, x, b, rule, settings_.updates,
                                  settings_.parameters);
  }

  context context_;
  links links_, source_links_;
  propagator_settings settings_;
  std::shared_ptr<full_type<Outer>> full_;
  std::shared_ptr<full_type<Inner>> inner_;  ///< full_ itself if `one_operator`
  schur_type<Outer> schur_;
  schur_type<Inner> inner_schur_;
  high_field b_, x_;
  std::weak_ptr<const solver_vectors> given_{};  ///< shares the memory of x_
  std::vector<int> components_;                  ///< of a propagator, that b is made of
  /// Of links that move, for operators of both precisions: A and A^-1. Made at the first follow.
  std::optional<typename full_type<Outer>::blocks_type> diagonal_{}, inverse_diagonal_{};
  std::optional<decltype(Backend::copy_of_links(std::declval<const gauge&>()))> copy_{};  ///< smears sources
};

/// Returns the solver in the precisions of the settings. Throws input_error if the precisions do not go together.
template <propagator_backend Backend>
std::unique_ptr<propagator_solver> make_propagator_solver_of(const typename Backend::context& ctx,
                                                             const typename Backend::links& links,
                                                             const typename Backend::links& source_links,
                                                             const propagator_settings& settings) {
  default_parameters(settings.outer, settings.inner);  // refuses pairs that cannot be
  if (settings.columns < 1)
    throw input_error("propagator solver: expected at least 1 column, found " + std::to_string(settings.columns));
  const auto with_inner = [&]<class Outer>(std::type_identity<Outer>) -> std::unique_ptr<propagator_solver> {
    if constexpr (std::is_same_v<Outer, double>)
      if (settings.inner == precision::double_)
        return std::make_unique<propagator_solver_of<Backend, double, double>>(ctx, links, source_links, settings);
    if (settings.inner == precision::single)
      return std::make_unique<propagator_solver_of<Backend, Outer, float>>(ctx, links, source_links, settings);
    return std::make_unique<propagator_solver_of<Backend, Outer, half>>(ctx, links, source_links, settings);
  };
  switch (settings.outer) {
    case precision::pairs:
      if constexpr (Backend::has_pairs) return with_inner(std::type_identity<float_pair>{});
      refuse_pairs();
    case precision::single:
      return with_inner(std::type_identity<float>{});
    default:
      return with_inner(std::type_identity<double>{});
  }
}

}  // namespace plaquette
