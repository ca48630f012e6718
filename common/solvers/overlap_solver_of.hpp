// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The overlap solver of a library, written once over the names that the library gives to things.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/comms/communicator.hpp"
#include "common/eigen/hermitian_modes.hpp"
#include "common/krylov/ordinary_columns.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/overlap/mode_checks.hpp"
#include "common/overlap/overlap_modes.hpp"
#include "common/overlap/overlap_solve.hpp"
#include "common/overlap/overlap_solve_preconditioned.hpp"
#include "common/overlap/sign_function.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/clover_inverse.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "common/solvers/solver_arguments.hpp"
#include "common/solvers/solver_vectors_of.hpp"
#include "common/stopwatch.hpp"

namespace plaquette {

/// A library's backend with two additions for an overlap solver: H, and the place of a configuration's fields.
template <class Backend>
concept overlap_backend =
    backend<Backend> &&
    precisions_of_one_field<typename Backend::template field<double>, typename Backend::template field<float>> &&
    requires(Backend& library, const Backend& same, typename Backend::template field<double>& x,
             const fermion_action& action, const source_description& source,
             const typename Backend::template wilson_clover<double>::links_type& links) {
      typename Backend::template hermitian_wilson<double>;
      typename Backend::template hermitian_wilson<float>;
      typename Backend::template hermitian_wilson<plaquette::half>;
      same.ctx;  // the lattice that fields live on
      { same.template kernel<double>(action, reconstruct::none) };
      // A field for the basis of a search, in memory of the host or not; and bytes that lie there.
      { library.template basis<double>(field_shape{}, true) } -> std::same_as<typename Backend::template field<double>>;
      { same.host_bytes() } -> std::same_as<double>;
      // A solver of the clover operator on links that are smeared for it.
      { same.make_clover_solver(action, stout_smearing{}) } -> std::same_as<std::unique_ptr<multigrid_solver>>;
      library.follow(links);                           // takes other links, for sources and for that solver
      same.finish();                                   // waits for all that was queued
      same.fill(x, std::uint64_t{}, std::uint64_t{});  // random Dirac spinors number first, first + 1, ... of a seed
      same.make_source(x, int{}, source);              // column of a propagator's sources
    };

/// Returns the fields behind a handle. Throws input_error for vectors of another library or lattice.
/// \param mark   of the library, if it is known
/// \param whose  "this overlap solver"
template <class Field>
const Field& given_fields(const vectors_handle& x, const library_mark& mark, const lattice_geometry& geometry,
                          const char* whose) {
  require_library_of(x, mark, "vectors", whose);
  const Field& fields = fields_of<Field>(x);
  require_same_lattice(fields.get_context().geometry(), geometry, "vectors", std::string(whose) + " on ");
  return fields;
}

/// sign(H) of a library behind the interface.
template <overlap_backend Backend>
class sign_operator_of final : public sign_operator {
  using Field = typename Backend::template field<double>;

 public:
  /// \param mark  of the solver
  sign_operator_of(std::shared_ptr<const Backend> backend, std::shared_ptr<const links_of_overlap> links,
                   sign_function<Backend> sign, library_mark mark)
      : backend_(std::move(backend)),
        links_(std::move(links)),
        follows_(links_->follows()),
        sign_(std::move(sign)),
        mark_(std::move(mark)) {}

  /// Throws input_error if it is of other links than the ones that H has now.
  const sign_function<Backend>& function() const {
    links_->require_current("a sign function", follows_);
    return sign_;
  }

  const sign_options& options() const override { return sign_.options(); }
  const minimax_polynomial& polynomial(double delta) const override { return sign_.polynomial(delta); }
  zolotarev_function rational(double delta) const override { return sign_.rational(delta); }
  bool is_single_near_modes(double delta) const override { return sign_.near_modes().is_single(delta); }
  vectors_handle apply(const vectors_handle& x, double delta, sign_precision precision,
                       double* seconds) const override {
    const sign_function<Backend>& current = function();
    const Field& in = given_fields<Field>(x, mark_, backend_->ctx.geometry(), "this sign function");
    Field y = like(in);
    if (seconds != nullptr) {
      backend_->finish();
      backend_->ctx.comm().barrier();
    }
    const stopwatch watch;
    current.apply(y, in, delta, precision);
    if (seconds != nullptr) {
      backend_->finish();
      *seconds = watch.seconds();
    }
    return handle_of(std::move(y), 0, mark_);
  }

 private:
  std::shared_ptr<const Backend> backend_;
  std::shared_ptr<const links_of_overlap> links_;
  int follows_;  ///< of the solver, when this was made
  sign_function<Backend> sign_;
  library_mark mark_;
};

template <overlap_backend Backend>
class overlap_solver_of final : public overlap_solver {
  using Field = typename Backend::template field<double>;
  using InnerField = typename Backend::template field<float>;
  using HalfField = typename Backend::template field<plaquette::half>;
  using sign_type = sign_function<Backend>;

 public:
  overlap_solver_of(Backend backend, const overlap_settings& settings)
      : backend_(std::make_shared<Backend>(std::move(backend))),
        settings_(settings),
        double_(make_kernel<double>()),
        single_(make_kernel<float>()),
        half_(settings.half_precision ? make_kernel<plaquette::half>() : nullptr),
        kernel_(double_, single_, half_),
        shape_(backend_->ctx, field_shape{4, 3, site_subset::full, 1}) {
    if (!(settings.rho > 0.0 && settings.rho < 2.0))
      throw input_error("overlap solver: expected rho between 0 and 2, found " + std::to_string(settings.rho));
  }

  // --- vectors

  vectors_handle random_vectors(int count) override { return own_handle(random_unit_vectors(count)); }
  vectors_handle sources(const source_description& source) override {
    followed().require_current();
    Field b = like(shape_, spin_colours);
    for (int column = 0; column < spin_colours; ++column) backend_->make_source(b, column, source);
    return own_handle(std::move(b));
  }
  vectors_handle import_vectors(int count, int chirality, const vector_source& source) override {
    Field x = chirality == 0 ? like(shape_, count) : half(count);
    spinor_configuration vector(backend_->ctx.geometry());
    for (int n = 0; n < count; ++n) {
      source(n, vector);
      if (chirality == 0) {
        import_column(x, n, vector);
      } else {
        Field whole = like(shape_, 1), target = view(x, n, 1);
        import_column(whole, 0, vector);
        take_chirality(target, whole, chirality);
      }
    }
    return own_handle(std::move(x), chirality);
  }
  vectors_handle columns(const vectors_handle& x, int first, int count) const override {
    const Field& all = fields_behind(x);
    require_columns(first, count, all.columns(), "vectors of a solver");
    return own_handle(view(all, first, count), x->chirality());
  }
  double distance(const vectors_handle& a, const vectors_handle& b) const override {
    return norm_of_difference(fields_behind(a), fields_behind(b));
  }
  double distance_from_orthonormal(const vectors_handle& v) const override {
    return plaquette::distance_from_orthonormal(fields_behind(v));
  }

  // --- H

  const kernel_count& count() const override { return kernel_.count(); }
  void reset_count() override { kernel_.count() = {}; }
  kernel_application apply_kernel(const vectors_handle& x, precision number) const override {
    followed().require_current();
    const Field& in = fields_behind(x);
    return with_kernel(number, in, [&](const auto& h, const auto& rounded) {
      auto out = like(rounded);
      h.apply(out, rounded);
      Field y = like(in), psi = like(in);
      assign(y, out);
      assign(psi, rounded);
      return kernel_application{own_handle(std::move(psi)), own_handle(std::move(y))};
    });
  }
  double seconds_of_kernel(const vectors_handle& x, precision number) const override {
    followed().require_current();
    return with_kernel(number, fields_behind(x), [&](const auto& h, const auto& in) {
      auto y = like(in), u = like(in), w = like(in);
      zero(y);
      zero(u);
      zero(w);
      double least = 1e300;
      backend_->finish();
      for (int sample = 0; sample < 6; ++sample) {  // orders of Clenshaw's recurrence: odd ones add two fields
        const stopwatch watch;
        h.apply(y, 0.1, in, 0.0, 0.0, nullptr, -0.5, &y);
        h.apply(w, 0.1, y, 0.0, 0.5, &u, -0.5, &w);
        backend_->finish();
        if (sample > 0) least = std::min(least, 0.5 * watch.seconds());
      }
      return least / in.columns();
    });
  }

  kernel_modes lowest_kernel_modes(const mode_search& sought, int wanted,
                                   search_memory<mode_search_state>* memory) override {
    followed().require_current();
    mode_search search = sought;
    if (!search.interrupted) search.interrupted = settings_.interrupted;
    const random_fill<Field> fill = random();
    if (search.highest <= 0.0)
      search.highest = largest_eigenvalue(kernel_.as_double(), shape_, fill, search.interrupted);
    search.highest = std::min(search.highest, (8.0 - settings_.rho) * (1.0 + 1e-12));
    const InnerField sample = random_sample(4);
    std::optional<std::pair<Field, mode_search_state>> stored;
    if (memory != nullptr)
      if (auto last = memory->last()) stored.emplace(fields_behind(last->basis), last->state);
    const mode_keeper<Field> keeper = [&](const Field& basis, const mode_search_state& state) {
      if (memory != nullptr)
        memory->keep([&] { return search_snapshot<mode_search_state>{state, own_handle(Field(basis))}; });
    };
    kernel_modes found;
    found.follows = follows();
    const basis_maker<Field> make_basis = [&](int columns) {
      return make<double>({4, 3, site_subset::full, columns}, settings_.kernel_basis_on_host,
                          found.basis_bytes_on_host);
    };
    const mode_space<Field, InnerField> space{shape_, sample, 12.0 * volume(), fill};
    mode_set<Field> modes =
        lowest_modes(kernel_.as_double(), kernel_.as_single(), space, search,
                     {.width = width, .keeper = keeper, .make_basis = make_basis, .stored = std::move(stored)});
    static_cast<mode_search_course&>(found) = modes;
    found.sought = wanted;
    found.complete = modes.complete;
    found.probing = modes.filtered > 0.0 ? modes.probed / modes.filtered : 0.0;
    if (search.modes > wanted && modes.complete && !modes.values.empty()) {
      found.lowest_of_rest = (1.0 - 1e-9) * std::abs(modes.values[static_cast<std::size_t>(wanted)]);
      if (wanted == 0) found.lowest_of_rest *= 0.999;
      modes.vectors = copied_columns(modes.vectors, 0, wanted);
      modes.values.resize(static_cast<std::size_t>(wanted));
      modes.residuals.resize(static_cast<std::size_t>(wanted));
    }
    found.vectors = own_handle(std::move(modes.vectors));
    found.values = std::move(modes.values);
    found.residuals = std::move(modes.residuals);
    return found;
  }
  std::vector<double> residuals(const kernel_modes& modes) const override {
    followed().require_current();
    return eigen_residuals(kernel_.as_double(), fields_behind(modes.vectors), modes.values, width);
  }

  // --- sign function

  sign_handle sign(const kernel_modes& modes, const sign_options& options) const override {
    followed().require_current();
    if (modes.vectors || !modes.values.empty() || options.highest <= 0.0 || options.lowest <= 0.0)
      followed().require_current("modes of H", modes.follows);
    sign_options chosen = options;
    if (chosen.highest <= 0.0) chosen.highest = modes.highest;
    if (chosen.lowest <= 0.0)
      chosen.lowest = modes.values.empty() ? modes.lowest_of_rest : std::abs(modes.values.back());
    if (!chosen.interrupted) chosen.interrupted = settings_.interrupted;
    return handle_of_sign(
        {kernel_, modes.vectors ? fields_behind(modes.vectors) : like(shape_, 0), modes.values, chosen});
  }
  int fastest_batch(const sign_handle& sign) override {
    double best = 1e300;
    int fastest = 1;
    for (const int batch : {12, 4, 2, 1}) {
      const double seconds = seconds_of_step(function_of(sign), batch);
      if (seconds < 0.9 * best) {  // a smaller one has to be worth it
        best = seconds;
        fastest = batch;
      }
    }
    return fastest;
  }
  sign_handle calibrated(const sign_handle& sign, const sign_samples& samples, double delta) const override {
    sign_type changed = function_of(sign);
    changed.calibrate(fields_behind(samples.x), fields_behind(samples.exact), fields_behind(samples.as_double), delta,
                      settings_.interrupted);
    return handle_of_sign(std::move(changed));
  }
  sign_of_rest apply_to_rest(const sign_handle& sign, const vectors_handle& x, double delta) const override {
    const sign_type& function = function_of(sign);
    const Field& in = fields_behind(x);
    Field y = like(in), rest = like(in);
    function.apply(y, in, delta, sign_precision::as_double);
    copy(rest, in);
    if (!function.values().empty()) {
      host_matrix c = overlaps(function.modes(), in);
      subtract_combinations(rest, function.modes(), c.numbers());
      std::vector<double> signs;
      for (const double value : function.values()) signs.push_back(value > 0.0 ? 1.0 : -1.0);
      scale_rows(c, signs);
      subtract_combinations(y, function.modes(), c.numbers());
    }
    return {own_handle(std::move(rest)), own_handle(std::move(y))};
  }
  overlap_algebra algebra(const sign_handle& sign, const vectors_handle& vectors, double delta,
                          const vectors_handle& image) const override {
    const overlap_operator<sign_type> d(function_of(sign), settings_.rho);
    const Field& x = fields_behind(vectors);
    const int n = x.columns();
    // [x, gamma_5 x] -> [D x, D gamma_5 x]; then [gamma_5 D x, D^+ x]. D^+ = gamma_5 D gamma_5, as D computes it.
    Field in = like(x, 2 * n), out = like(in);
    Field in_first = view(in, 0, n), in_rest = view(in, n, n), out_first = view(out, 0, n), out_rest = view(out, n, n);
    copy(in_first, x);
    gamma5(in_rest, x);
    if (image) {  // D x = x + gamma_5 sign(H) x
      gamma5(out_first, fields_behind(image));
      axpy(out_first, uniform_scalars(x, 1.0), x);
      d.apply(out_rest, in_rest, delta);
    } else {
      d.apply(out, in, delta);
    }
    gamma5(in_first, out_first);
    gamma5(in_rest, out_rest);
    Field sum = like(x);  // gamma_5 D x + D gamma_5 x
    copy(sum, in_first);
    axpy(sum, uniform_scalars(sum, 1.0), out_rest);
    d.apply(out, in, delta);  // [D gamma_5 D x, D D^+ x]
    overlap_algebra errors;
    errors.ginsparg_wilson = norm_of_difference(sum, out_first);
    gamma5(sum, out_first);  // D^+ D x
    errors.normality = norm_of_difference(sum, out_rest);
    return errors;
  }

  // --- modes of D

  overlap_modes lowest_overlap_modes(const sign_handle& sign, const overlap_mode_search& sought,
                                     search_memory<overlap_search_state>* memory) override {
    overlap_mode_search search = sought;
    if (!search.interrupted) search.interrupted = settings_.interrupted;
    std::optional<std::pair<Field, restart_state>> stored;
    int stored_chirality = 0;
    if (memory != nullptr)
      if (auto last = memory->last()) {
        stored.emplace(fields_behind(last->basis), last->state.restart);
        stored_chirality = last->state.chirality;
      }
    const restart_keeper<Field> keeper = [&](const std::function<Field()>& basis, const restart_state& state,
                                             int chirality) {
      if (memory != nullptr)
        memory->keep(
            [&] { return search_snapshot<overlap_search_state>{{state, chirality}, own_handle(basis(), chirality)}; });
    };
    overlap_modes found;
    found.follows = follows();
    const auto make_half = [&]<class T>(int columns, T) {
      return make<T>({2, 3, site_subset::full, columns}, settings_.overlap_basis_on_host, found.basis_bytes_on_host);
    };
    const overlap_basis_makers<Backend> make_basis{[&](int columns) { return make_half(columns, double{}); },
                                                   [&](int columns) { return make_half(columns, float{}); }};
    const overlap_mode_set<Field> modes = plaquette::lowest_overlap_modes<Backend>(
        function_of(sign), half(1), search, random(), width, keeper, std::move(stored), stored_chirality, make_basis);
    copy_numbers(found, modes);
    for (const int chirality : {+1, -1})
      found.of(chirality).vectors = own_handle(Field(modes.of(chirality).vectors), chirality);
    return found;
  }
  std::vector<double> residuals(const sign_handle& sign, int chirality, const chiral_modes<vectors_handle>& modes,
                                double delta) const override {
    return residuals_of_modes(function_of(sign).near_modes(), chirality, with_fields(modes), delta, width);
  }
  complement_probe probe_complement(const sign_handle& sign, int chirality, const vectors_handle& known, double bound,
                                    bool zero_modes_alone) override {
    return plaquette::probe_complement(function_of(sign).near_modes(), chirality, fields_behind(known), bound,
                                       6.0 * volume(), zero_modes_alone, random(), settings_.interrupted);
  }

  // --- solutions

  overlap_solutions solve(const sign_handle& sign, overlap_modes modes, const vectors_handle& sources,
                          const std::vector<double>& masses, const overlap_solve_rule& sought) override {
    if (modes.plus.vectors || modes.minus.vectors) followed().require_current("modes of D", modes.follows);
    overlap_solve_rule rule = sought;
    if (!rule.interrupted) rule.interrupted = settings_.interrupted;
    rule.finish = [this] { backend_->finish(); };
    rule.may_shrink_batch = backend_->ctx.comm().size() == 1;
    const overlap_operator<sign_type> d(function_of(sign), settings_.rho);
    overlap_mode_set<Field> with{with_fields(modes.plus), with_fields(modes.minus)};
    copy_numbers(with, modes);
    modes = {};
    const Field& given = fields_behind(sources);
    const ordinary_columns lengths(given);
    const Field b = lengths.scaled(given);
    std::vector<Field> x;  // the preconditioned scheme makes them when they are known
    for (std::size_t i = 0; i < masses.size() && rule.scheme != overlap_scheme::preconditioned; ++i)
      x.push_back(like(b));
    overlap_solutions solved;
    if (rule.scheme == overlap_scheme::preconditioned)
      solved.report = solve_preconditioned(d, std::move(with), x, b, masses, rule);
    else if (rule.coarse_sign_delta > 0.0)
      solved.report = solve_overlap_as_given(d, with, x, b, masses, rule, rule.coarse_sign_delta);
    else
      solved.report = solve_overlap(d, with, x, b, masses, rule);
    for (Field& one : x) {
      lengths.restore(one);
      solved.x.push_back(own_handle(std::move(one)));
    }
    return solved;
  }
  double judging_delta(const vectors_handle& sources, const vectors_handle& solution, double mass,
                       double tolerance) const override {
    const ordinary_columns lengths(fields_behind(sources));
    const double size =
        largest_ratio(norm2(lengths.scaled(fields_behind(solution))), norm2(lengths.scaled(fields_behind(sources))));
    return accuracy_of_judgement(tolerance, (settings_.rho - 0.5 * mass) * size);
  }
  double judging_error(const sign_handle& sign, const vectors_handle& vectors, double delta) const override {
    const sign_type& function = function_of(sign);
    const Field x = ordinary_columns(fields_behind(vectors)).scaled(fields_behind(vectors));
    Field s = like(x), finer = like(x), d = like(x);
    judging_sign(function).apply(s, x, delta);
    function.apply(finer, x, std::max(1e-13, 0.1 * delta), sign_precision::as_double);
    return largest_ratio(subtract_norm2(d, s, finer), norm2(x));
  }
  overlap_judgement judge(const sign_handle& sign, const vectors_handle& sources, const vectors_handle& solution,
                          double mass, double delta, bool is_coarse) const override {
    const double rho = settings_.rho, contact = -0.5 / rho, stretch = 1.0 / (1.0 - 0.5 * mass / rho);
    const judging_sign function(function_of(sign));
    const overlap_operator<judging_sign> d(function, rho);
    const ordinary_columns lengths(fields_behind(sources));
    const Field b = lengths.scaled(fields_behind(sources)), x = lengths.scaled(fields_behind(solution));
    overlap_judgement found;
    Field r = like(b), dx = like(b);
    d.apply_massive(dx, x, mass, delta);
    const auto r2 = host_values(subtract_norm2(r, b, dx)), n2 = host_values(norm2(b));
    for (std::size_t n = 0; n < r2.size(); ++n) {
      const double residual = std::sqrt(r2[n].re / n2[n].re);
      keep_largest(found.residual, residual);
    }
    Field s = like(b);
    copy(s, x);
    axpy(s, uniform_scalars(s, contact), b);
    scale(s, uniform_scalars(s, stretch));
    const double norm = sum_of(norm2(s)).re, condensate = sum_of(dot(b, s)).re;
    found.condensate = condensate;
    found.sum_of_squares = norm;
    if (lengths.are_scaled()) {
      found.condensate = unscaled_sum(dot(b, s), lengths.factors());
      found.sum_of_squares = unscaled_sum(norm2(s), lengths.factors());
    }
    if (!(mass > 0.0)) return found;
    found.gmor = std::abs(condensate / (mass * norm) - 1.0);
    // x has the source b - r, of which the relation is exact but for 1 - sign^2. So the change by r is known:
    Field of_x = like(b);
    copy(of_x, b);
    axpy(of_x, uniform_scalars(of_x, -1.0), r);
    axpy(s, uniform_scalars(s, -contact * stretch), r);
    const double exact = sum_of(dot(of_x, s)).re / (mass * sum_of(norm2(s)).re);
    const double moved = std::abs(condensate / (mass * norm) - exact);
    // Re <b, S b> - m |S b|^2 = (rho / 2) (|x|^2 - |sign x|^2), at most rho delta |x|^2 and mostly far less. It is
    // known: sign x is gamma_5 (D(m) x - (rho + m/2) x) / (rho - m/2).
    const double x2 = sum_of(norm2(x)).re;
    axpy(dx, uniform_scalars(dx, -(rho + 0.5 * mass)), x);
    const double known = rho * std::abs(x2 - sum_of(norm2(dx)).re / std::pow(rho - 0.5 * mass, 2)),
                 most = rho * delta * x2, rounding = 64.0 * 0x1p-53 * (rho * x2 + mass * norm);
    const double of_sign = is_coarse ? most + known : std::min(most, known);
    found.gmor_tolerance = 2.0 * moved + (of_sign + rounding) / (mass * norm);
    return found;
  }

 private:
  static constexpr int width = 12;  ///< columns that H takes at once if there are many

  using gauge = typename Backend::template wilson_clover<double>::links_type;

  const Field& fields_behind(const vectors_handle& x) const {
    return given_fields<Field>(x, mark(), backend_->ctx.geometry(), "this overlap solver");
  }
  vectors_handle own_handle(Field fields, int chirality = 0) const {
    return handle_of(std::move(fields), chirality, mark());
  }

  void follow_checked(const link_field& handle) override {
    const gauge& u = links_behind<gauge>(handle, backend_->ctx.geometry(), "an overlap solver");
    begin_to_follow();
    clover_.reset();  // the next solve makes it of these links
    double_->follow(u);
    single_->follow(u);
    if (half_) half_->follow(u);
    backend_->follow(u);
  }

  /// sign(H) on solutions, which are largest along low modes of D: in mixed precision at most, and with no more of low
  /// precision than these allow.
  class judging_sign {
   public:
    using Field = typename sign_type::Field;
    explicit judging_sign(const sign_type& sign) : sign_(sign.near_modes()) {}
    void apply(Field& y, const Field& x, double delta) const {
      const sign_precision most = sign_.options().precision;
      sign_.apply(y, x, delta, most == sign_precision::half ? sign_precision::mixed : most);
    }

   private:
    sign_type sign_;
  };

  /// Returns the sum of products of two columns each, which were scaled by the factors.
  static double unscaled_sum(const typename Field::scalars& products, const std::vector<double>& factors) {
    const auto values = host_values(products);
    double sum = 0.0;
    for (std::size_t n = 0; n < factors.size(); ++n) sum += values[n].re / factors[n] / factors[n];
    return sum;
  }

  template <class T>
  auto make_kernel() const {
    return std::make_shared<typename Backend::template hermitian_wilson<T>>(
        backend_->template kernel<T>(kernel_action(settings_), settings_.links));
  }
  /// Calls use(H, x), both in a precision.
  template <class Use>
  auto with_kernel(precision number, const Field& x, const Use& use) const {
    const auto rounded = [&]<class V>(std::type_identity<V>) {
      V y = like(x, x.columns(), as<V>);
      convert(y, x);
      return y;
    };
    if (number == precision::double_) return use(kernel_.as_double(), x);
    if (number == precision::single) return use(kernel_.as_single(), rounded(as<InnerField>));
    if (!kernel_.has_half()) throw input_error("overlap solver: expected settings with half_precision, found none");
    return use(kernel_.half(), rounded(as<HalfField>));
  }

  overlap_solve_report solve_preconditioned(const overlap_operator<sign_type>& d, overlap_mode_set<Field> modes,
                                            std::vector<Field>& x, const Field& b, const std::vector<double>& masses,
                                            const overlap_solve_rule& rule) {
    const overlap_preconditioner& settings = rule.preconditioner;
    if (!clover_ || !(made_clover_ == settings)) {
      const stopwatch watch;
      clover_.reset();
      const int batch = settings.batch > 0 ? settings.batch : b.columns();
      clover_ = make_clover_inverse(settings, settings.narrow > 0 ? std::min(settings.narrow, batch) : batch);
      made_clover_ = settings;
      clover_seconds_ = watch.seconds();
    }
    preconditioned_work of_clover;
    const auto inverse = [&](const InnerField& r) { return clover_->apply(r, of_clover); };
    overlap_solve_report report = solve_overlap_preconditioned(d, std::move(modes), x, b, masses, rule, inverse);
    d.sign().forget_single_modes();
    report.work.clover_solves = of_clover.clover_solves;
    report.work.clover_applications = of_clover.clover_applications;
    report.work.by_multigrid = clover_->by_multigrid();
    report.work.setup_seconds = clover_seconds_;
    return report;
  }
  std::unique_ptr<clover_inverse<InnerField>> make_clover_inverse(const overlap_preconditioner& settings, int columns) {
    fermion_action action = fermion_action::isotropic(settings.mass, settings.csw);
    action.boundary_phase = settings_.boundary_phase;
    constexpr std::uint64_t own_stream = 1U << 24;  // not the streams of checks
    const InnerField sample =
        rounded_to_single([&](Field& x) { backend_->fill(x, settings_.seed, own_stream); }, columns);
    return std::make_unique<clover_inverse<InnerField>>(backend_->make_clover_solver(action, settings.smearing),
                                                        settings, sample, backend_->ctx.geometry(),
                                                        backend_->ctx.comm(), settings_.interrupted);
  }

  double volume() const { return static_cast<double>(backend_->ctx.geometry().global_volume()); }
  Field half(int columns) const { return Field(backend_->ctx, field_shape{2, 3, site_subset::full, columns}); }

  /// Vectors of the seed, one after the other; of one chirality, its part of gamma_5 = +1.
  random_fill<Field> random() {
    return [this](Field& x) {
      if (x.shape().spins == 4) {
        backend_->fill(x, settings_.seed, next_random_);
      } else {
        Field whole(x.get_context(), field_shape{4, 3, x.shape().sites, x.columns()});
        backend_->fill(whole, settings_.seed, next_random_);
        take_chirality(x, whole, +1);
      }
      next_random_ += static_cast<std::uint64_t>(x.columns());
    };
  }
  Field random_unit_vectors(int columns) {
    Field x = like(shape_, columns);
    random()(x);
    normalise_columns(x);
    return x;
  }
  InnerField random_sample(int columns) {
    return rounded_to_single([&](Field& x) { random()(x); }, columns);
  }
  /// Returns columns that `fill` has filled, in single precision.
  template <class Fill>
  InnerField rounded_to_single(const Fill& fill, int columns) const {
    Field made = like(shape_, columns);
    fill(made);
    InnerField rounded = like(made, columns, as<InnerField>);
    convert(rounded, made);
    return rounded;
  }

  /// Returns the basis of a search, in memory of the host if `on_host`. Records the bytes that it takes there.
  template <class T>
  auto make(const field_shape& shape, bool on_host, double& host_bytes) {
    const double before = backend_->host_bytes();
    auto basis = backend_->template basis<T>(shape, on_host);
    host_bytes = std::max(host_bytes, backend_->host_bytes() - before);
    return basis;
  }

  /// Of Clenshaw's recurrence in double, a column, in batches of `batch`; the slowest rank's.
  double seconds_of_step(const sign_type& sign, int batch) {
    const Field x = random_unit_vectors(batch);
    Field b1 = like(x), b2 = like(x);
    copy(b1, x);
    zero(b2);
    std::array<double, 1> least{1e300};
    for (int sample = 0; sample < 4; ++sample) {
      const stopwatch watch;
      sign.steps(b1, b2, x, 2);
      backend_->finish();
      if (sample > 0) least[0] = std::min(least[0], 0.5 * watch.seconds() / batch);
    }
    backend_->ctx.comm().maximum(std::span(least));
    return least[0];
  }

  /// The largest |a| / |b| of columns, from their squares.
  static double largest_ratio(const typename Field::scalars& a2, const typename Field::scalars& b2) {
    const auto above = host_values(a2), below = host_values(b2);
    double largest = 0.0;
    for (std::size_t n = 0; n < above.size(); ++n) {
      const double each = std::sqrt(above[n].re / below[n].re);
      keep_largest(largest, each);
    }
    return largest;
  }
  static double norm_of_difference(const Field& a, const Field& b) {
    Field d = like(a);
    double worst = 0.0;
    for (const complex<double>& n : host_values(subtract_norm2(d, a, b))) {
      const double norm = std::sqrt(n.re);
      keep_largest(worst, norm);
    }
    return worst;
  }
  static complex<double> sum_of(const typename Field::scalars& numbers) {
    complex<double> sum{};
    for (const complex<double>& n : host_values(numbers)) sum += n;
    return sum;
  }

  sign_handle handle_of_sign(sign_type sign) const {
    return std::make_shared<const sign_operator_of<Backend>>(backend_, shared_followed(), std::move(sign), mark());
  }
  const sign_type& function_of(const sign_handle& sign) const {
    followed().require_current();
    const auto* known = dynamic_cast<const sign_operator_of<Backend>*>(sign.get());
    if (known == nullptr)
      throw input_error("overlap solver: expected a sign function that a solver of this library made, found another");
    return known->function();
  }
  /// Vectors as fields, which share storage; none if the handle is null.
  chiral_modes<Field> with_fields(const chiral_modes<vectors_handle>& modes) const {
    return {modes.vectors ? fields_behind(modes.vectors) : half(0), modes.eigenvalues, modes.residuals};
  }
  template <class To, class From>
  static void copy_numbers(To& to, const From& from) {
    for (const int chirality : {+1, -1}) {
      to.of(chirality).eigenvalues = from.of(chirality).eigenvalues;
      to.of(chirality).residuals = from.of(chirality).residuals;
    }
    to.zero_plus = from.zero_plus;
    to.zero_minus = from.zero_minus;
    to.searched = from.searched;
    to.cycles = from.cycles;
    to.restarts = from.restarts;
    to.late = from.late;
    to.complete = from.complete;
  }

  std::shared_ptr<Backend> backend_;
  overlap_settings settings_;
  std::shared_ptr<typename Backend::template hermitian_wilson<double>> double_;
  std::shared_ptr<typename Backend::template hermitian_wilson<float>> single_;
  std::shared_ptr<typename Backend::template hermitian_wilson<plaquette::half>> half_;  ///< or null
  hermitian_kernel<Backend> kernel_;                                                    ///< these, counted
  Field shape_;
  std::uint64_t next_random_ = 0;
  std::unique_ptr<clover_inverse<InnerField>> clover_;  ///< of the preconditioned scheme
  overlap_preconditioner made_clover_;                  ///< that it was made for
  double clover_seconds_ = 0.0;
};

}  // namespace plaquette
