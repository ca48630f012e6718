// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The calculation on any device, written once over the names that its library gives to things: modes of H, sign
/// function, modes of D, propagators, each kept in a file and checked.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "miniapps/overlap-propagator/mode_files.hpp"
#include "miniapps/overlap-propagator/overlap_program.hpp"
#include "miniapps/overlap-propagator/overlap_report.hpp"
#include "miniapps/overlap-propagator/rational_reference.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {

/// \tparam Device  the names of a library and what a run holds of its device: types `field<T>`, `hermitian_wilson<T>`;
///                 constants `name`, `columns` (right-hand sides that one measurement takes); members `ctx`,
///                 `kernel<T>(action, reconstruct)`, `fill(x, seed, first)` (random Dirac spinors), `make_source(b,
///                 column, source)` and `finish()`, which waits for all that was queued
template <class Device>
class overlap_pipeline {
  using F = typename Device::template field<double>;
  using G = typename Device::template field<float>;
  using sign_type = sign_function<Device>;

 public:
  overlap_pipeline(Device device, app_run& run, const overlap_options& options, const gauge_input& gauge)
      : device_(std::move(device)),
        run_(run),
        options_(options),
        gauge_(gauge),
        kernel_(make_kernel<double>(), make_kernel<float>()),
        shape_(device_.ctx, field_shape{4, 3, site_subset::full, 1}),
        modes_{like(shape_, 0)} {}

  exit_status operator()() {
    measure_kernel();
    find_kernel_modes();
    const auto done = [this](overlap_stage stage) { return options_.until == stage; };
    if (!done(overlap_stage::modes)) {
      make_sign_function();
      check_sign_function();
      if (!done(overlap_stage::sign)) {
        find_overlap_modes();
        if (!done(overlap_stage::overlap_modes)) solve();
      }
    }
    return conclude();
  }

 private:
  template <class T>
  auto make_kernel() const {
    // The third row of a link is made of the others where that costs no digit.
    const reconstruct stored = gauge_.distance_from_su3 < 1e-12 ? reconstruct::twelve : reconstruct::none;
    return std::make_shared<const typename Device::template hermitian_wilson<T>>(
        device_.template kernel<T>(options_.shared.action, stored));
  }

  double volume() const { return static_cast<double>(run_.geometry.global_volume()); }
  int width() const { return 12; }

  random_fill<F> random() {
    return [this](F& x) {
      if (x.shape().spins == 4) {
        device_.fill(x, options_.shared.seed, next_random_);
      } else {
        F whole(x.get_context(), field_shape{4, 3, x.shape().sites, x.columns()});
        device_.fill(whole, options_.shared.seed, next_random_);
        take_chirality(x, whole, +1);
      }
      next_random_ += static_cast<std::uint64_t>(x.columns());
    };
  }

  std::function<bool()> stop() {
    return [this] { return run_.control.should_stop(); };
  }

  /// Runs a stage: its time, its applications of H.
  template <class Body>
  void stage(const std::string& name, double predicted_applications, const Body& body) {
    stage_record record{.name = name};
    record.predicted_seconds = predicted_applications * seconds_an_application_;
    const kernel_count before = kernel_.count();
    run_.stage(name, [&] { record.restored = body(); });
    run_.stop_if_asked();
    record.seconds = run_.result.stages.back()["seconds"].template get<double>();
    record.wide = kernel_.count().wide - before.wide;
    record.narrow = kernel_.count().narrow - before.narrow;
    record.signs = kernel_.count().signs - before.signs;
    stages_.push_back(record);
  }

  /// Seconds of an application of H in double, one of twelve columns, for predictions.
  void measure_kernel() {
    const F x = [&] {
      F made = like(shape_, 12);
      random()(made);
      return made;
    }();
    F y = like(x);
    kernel_.wide().apply(y, x);
    device_.finish();
    const stopwatch watch;
    constexpr int times = 3;
    for (int i = 0; i < times; ++i) kernel_.wide().apply(y, x);
    device_.finish();
    std::array<double, 1> seconds{watch.seconds() / (12.0 * times)};
    run_.world.maximum(std::span(seconds));
    seconds_an_application_ = seconds[0];
    kernel_.count() = {};
  }

  // --- problems that files belong to

  json_document problem_of_modes() const {
    json_document problem = parameters_of(options_, run_.geometry);
    json_document kept;
    for (const char* key : {"lattice", "gauge", "seed", "boundary_phases", "stout", "rho", "modes", "mode_tolerance"})
      if (problem.contains(key)) kept[key] = problem[key];
    return kept;
  }
  json_document problem_of_overlap() const {
    json_document problem = parameters_of(options_, run_.geometry), kept = problem_of_modes();
    for (const char* key : {"sign", "degree", "poles", "range", "overlap_modes", "overlap_mode_tolerance"})
      kept[key] = problem[key];
    return kept;
  }
  json_document problem_of_solutions() const {
    json_document problem = parameters_of(options_, run_.geometry), kept = problem_of_overlap();
    for (const char* key : {"masses", "tolerance", "source", "source_position", "smearing_radius", "smearing_steps"})
      kept[key] = problem[key];
    return kept;
  }
  json_document state_of(const json_document& problem) const {
    return {{"problem", problem}, {"plaquette", gauge_.plaquette.average}};
  }
  json_document load_state(const std::string& path, const json_document& problem) const {
    json_document state = read_state(path, problem, run_.world);
    const auto plaquette = checkpoint_value<double>(path, state, "plaquette");
    if (!(std::abs(plaquette - gauge_.plaquette.average) <= 1e-12))
      throw input_error(
          fmt::format("{}: expected a checkpoint on the configuration of plaquette {:.12f}, found {:.12f}",
                      printable(path), gauge_.plaquette.average, plaquette));
    return state;
  }

  // --- modes of H

  void find_kernel_modes() {
    const double guess = expected_mode(options_.modes, volume());
    stage("modes of H", work_of(options_, guess, 6.2).kernel_modes, [&] {
      if (!options_.modes_file().empty() && checkpoint_exists(options_.modes_file())) {
        load_kernel_modes();
        return true;
      }
      search_kernel_modes();
      return false;
    });
    if (!options_.modes_file().empty() && !stages_.back().restored) store_kernel_modes();
    run_.result.observables["kernel"] = to_json(kernel_record_);
    if (run_.talks()) print(kernel_record_);
    if (!modes_.residuals.empty())
      run_.result.checks.add("modes of H: |H v - lambda v|",
                             *std::max_element(modes_.residuals.begin(), modes_.residuals.end()),
                             options_.mode_tolerance);
  }

  void search_kernel_modes() {
    const auto wide = kernel_.wide();
    const random_fill<F> fill = random();
    mode_search search;
    search.modes = std::max(options_.modes, 1);
    search.tolerance = options_.modes > 0 ? options_.mode_tolerance : 1e-6;
    search.method = options_.method;
    search.window = options_.window;
    search.degree = options_.filter_degree;
    search.block = options_.block;
    search.most = options_.search_space;
    search.cycles = options_.mode_cycles;
    search.interrupted = stop();
    const stopwatch watch;
    search.progress = [&](int cycle, int converged, double worst) {
      tell_cycle("H", cycle, converged, search.modes, worst, watch.seconds());
    };
    search.highest = largest_eigenvalue(wide, shape_, fill);
    const double bound = 8.0 - options_.rho;
    search.highest = std::min(search.highest, bound * (1.0 + 1e-12));
    G sample = like(shape_, 4, as<G>);
    {
      F made = like(shape_, 4);
      fill(made);
      convert(sample, made);
    }
    modes_ = lowest_modes(wide, kernel_.narrow(), shape_, sample, 12.0 * volume(), search, fill, width());
    if (run_.control.stopped()) return;
    if (modes_.values.empty())
      throw error(exit_status::no_convergence,
                  fmt::format("modes of H: none of {} converged in {} cycles; expected some: allow more with "
                              "--mode-cycles, or a larger --search-space",
                              search.modes, modes_.cycles));
    kernel_record_ = {modes_.values,  modes_.residuals, modes_.highest, modes_.window, 0.0,
                      modes_.degree,  modes_.block,     modes_.keep,    modes_.most,   modes_.cycles,
                      modes_.widened, options_.modes,   modes_.complete};
    if (options_.modes == 0) {
      kernel_record_.lowest_of_rest = 0.999 * std::abs(modes_.values[0]);
      kernel_record_.values.clear();
      kernel_record_.residuals.clear();
      modes_.vectors = like(shape_, 0);
      modes_.values.clear();
      modes_.residuals.clear();
    }
  }

  /// A line for a search that takes long, and the progress line.
  void tell_cycle(const char* what, int cycle, int converged, int sought, double worst, double seconds) {
    if (seconds > 10.0 && run_.talks()) {
      run_.progress.clear();
      fmt::print("cycle      {}: {} of {} modes of {}, largest residual about {:.1e}, {:.0f} s\n", cycle, converged,
                 sought, what, worst, seconds);
      std::fflush(stdout);
    }
    run_.progress.update(static_cast<double>(converged) / sought);
  }

  void store_kernel_modes() {
    json_document state = state_of(problem_of_modes());
    state["record"] = to_json(kernel_record_);
    state["lowest_of_rest"] = kernel_record_.lowest_of_rest;
    write_vectors(
        options_.modes_file(), modes_.vectors.columns(),
        [&](int n, spinor_configuration& to) { export_column(to, modes_.vectors, n); }, state, run_.geometry,
        run_.world);
  }

  void load_kernel_modes() {
    const json_document state = load_state(options_.modes_file(), problem_of_modes());
    const auto record = checkpoint_value<json_document>(options_.modes_file(), state, "record");
    const auto number = [&](const char* key) { return record.at(key).template get<int>(); };
    modes_.values = record.at("eigenvalues").template get<std::vector<double>>();
    modes_.highest = record.at("bound").template get<double>();
    kernel_record_ = {modes_.values,
                      {},
                      modes_.highest,
                      record.at("window").template get<double>(),
                      state.at("lowest_of_rest").template get<double>(),
                      number("filter_degree"),
                      number("block"),
                      number("kept"),
                      number("search_space"),
                      number("cycles"),
                      number("widened"),
                      number("sought"),
                      record.at("complete").template get<bool>()};
    modes_.vectors = like(shape_, static_cast<int>(modes_.values.size()));
    read_vectors(
        options_.modes_file(), modes_.vectors.columns(),
        [&](int n, const spinor_configuration& from) { import_column(modes_.vectors, n, from); }, run_.geometry,
        run_.world);
    modes_.residuals = eigen_residuals(kernel_.wide(), modes_.vectors, modes_.values, width());
    kernel_record_.residuals = modes_.residuals;
  }

  // --- sign function

  void make_sign_function() {
    sign_options options = options_.sign;
    if (options.highest <= 0.0) options.highest = modes_.highest;
    if (options.lowest <= 0.0)
      options.lowest = modes_.values.empty() ? kernel_record_.lowest_of_rest : std::abs(modes_.values.back());
    run_.result.checks.add("the sign function's range holds the largest |H|",
                           modes_.highest / 1.002 <= options.highest);
    const double wanted = options_.delta;
    const double root = options.lowest / options.highest;
    if (options.method == sign_method::polynomial) {
      const int needed = estimated_degree(root * root, wanted);
      constexpr int most = 2000;
      if (options.degree == 0 && needed > most) {
        const double gap = std::log(0.41 / wanted) / (2.1 * most) * options.highest;
        throw input_error(fmt::format(
            "--modes {}: the polynomial of --delta {:g} on |H| from {:.3g} on has degree {}; expected {} at most, "
            "which "
            "|H| from {:.3g} on would have: {:.1f} times the gap: take more modes exactly, or smear the links",
            options_.modes, wanted, options.lowest, needed, most, gap, gap / options.lowest));
      }
      if (options.degree > 0) {
        const minimax_polynomial p = minimax_of_degree(options.degree, root * root);
        if (p.delta > wanted)
          throw input_error(fmt::format(
              "--degree {}: a polynomial of this degree has an error of {:.3g} on |H| from {:.4g} to {:.4g}; expected "
              "--delta {:g} or less, which degree {} has",
              options.degree, p.delta, options.lowest, options.highest, wanted,
              minimax_of_error(wanted, root * root).degree()));
      }
    } else if (options.poles > 0) {
      const zolotarev_function f = zolotarev_of_poles(options.poles, options.lowest, options.highest);
      if (f.delta > wanted)
        throw input_error(fmt::format(
            "--poles {}: Zolotarev's function has an error of {:.3g} on |H| from {:.4g} to {:.4g}; expected "
            "--delta {:g} or less, which {} poles have",
            options.poles, f.delta, options.lowest, options.highest, wanted,
            zolotarev_of_error(wanted, options.lowest, options.highest).poles()));
    }
    sign_.emplace(kernel_, modes_.vectors, modes_.values, options);
  }

  double norm_of_difference(const F& a, const F& b) const {
    F d = like(a);
    double worst = 0.0;
    for (const complex<double>& n : host_values(subtract_norm2(d, a, b))) {
      const double norm = std::sqrt(n.re);
      if (!(norm <= worst)) worst = norm;
    }
    return worst;
  }

  F random_unit_vectors(int columns) {
    F x = like(shape_, columns);
    random()(x);
    std::vector<complex<double>> factors;
    for (const complex<double>& n : host_values(norm2(x))) factors.push_back({1.0 / std::sqrt(n.re), 0.0});
    scale(x, make_scalars(x, std::span<const complex<double>>(factors)));
    return x;
  }

  void check_sign_function() {
    const sign_type& sign = *sign_;
    const double delta = options_.delta;
    sign_record& r = sign_record_;
    stage("sign function", work_of(options_, sign.lowest(), sign.highest()).sign, [&] {
      r.method = name(sign.options().method);
      r.lowest = sign.lowest();
      r.highest = sign.highest();
      if (sign.options().method == sign_method::polynomial) {
        const minimax_polynomial& p = sign.polynomial(delta);
        r.degree = p.degree();
        r.delta = p.delta;
        r.coefficients = p.coefficients;
      } else {
        const zolotarev_function f = sign.rational(delta);
        r.poles = f.poles();
        r.delta = f.delta;
        r.shifts = f.shifts;
        r.weights = f.weights;
      }
      r.columns = Device::columns;
      const F x = random_unit_vectors(r.columns);
      F y = like(x), z = like(x), accurate = like(x);
      const auto timed = [&](F& out, sign_precision precision) {
        device_.finish();
        run_.world.barrier();
        const stopwatch watch;
        sign.apply(out, x, delta, precision);
        device_.finish();
        return watch.seconds() / r.columns;
      };
      if (run_.gpu) timed(y, sign_precision::wide);  // launches are tuned, memory is there
      if (run_.gpu) timed(y, sign_precision::mixed);
      r.seconds_wide = timed(y, sign_precision::wide);
      r.seconds_mixed = timed(z, sign_precision::mixed);
      sign.apply(accurate, x, std::max(1e-13, 1e-3 * delta), sign_precision::wide);
      r.error_wide = norm_of_difference(y, accurate);
      r.error = norm_of_difference(z, accurate);
      sign.apply(z, y, delta, sign_precision::wide);
      r.square_error = norm_of_difference(z, x);
      check_overlap_algebra(view(x, 0, std::min(2, x.columns())));
      return false;
    });
    run_.result.observables["sign"] = to_json(r);
    if (run_.talks()) print(r);
    verification& checks = run_.result.checks;
    // Rounding: a Clenshaw recurrence of n steps, each of some hundred operations.
    const double rounding = 1e-15 * std::max(r.degree, 100);
    checks.add("sign function: error on random vectors, double", r.error_wide, delta + rounding);
    checks.add("sign function: error on random vectors, as used", r.error, delta + rounding);
    // (s + d)^2 = 1 + s d + d s + d^2, |d| <= delta.
    checks.add("sign function: sign^2 = 1", r.square_error, 2.0 * delta + 2.0 * rounding);
    checks.add("Ginsparg-Wilson relation", r.ginsparg_wilson, 4.0 * delta + 4.0 * rounding);
    checks.add("D is normal", r.normality, 6.0 * delta + 6.0 * rounding);
    if (volume() <= 16384.0 || options_.shared.check) check_against_rational();
  }

  void check_overlap_algebra(const F& x) {
    const overlap_operator<sign_type> d(*sign_, options_.rho);
    const double delta = options_.delta;
    F dx = like(x), gx = like(x), a = like(x), b = like(x), c = like(x);
    d.apply(dx, x, delta);
    gamma5(gx, x);
    gamma5(a, dx);          // gamma_5 D x
    d.apply(b, gx, delta);  // D gamma_5 x
    d.apply(c, a, delta);   // D gamma_5 D x
    axpy(a, uniform_scalars(a, 1.0), b);
    sign_record_.ginsparg_wilson = norm_of_difference(a, c);
    d.apply_dagger(a, dx, delta);  // D^+ D x
    d.apply_dagger(b, x, delta);
    d.apply(c, b, delta);  // D D^+ x
    sign_record_.normality = norm_of_difference(a, c);
  }

  /// The same function by another way on the CPU, one random vector.
  void check_against_rational() {
    run_.begin("comparison with the rational function");
    const F x = random_unit_vectors(1);
    F y = like(x);
    sign_->apply(y, x, options_.delta);
    spinor_configuration psi(run_.geometry), ours(run_.geometry);
    export_column(psi, x, 0);
    export_column(ours, y, 0);
    exchange_ghosts(psi, run_.world);
    const double lowest = 0.95 * (modes_.values.empty() ? sign_->lowest() : std::abs(modes_.values.front()));
    const spinor_configuration theirs =
        sign_by_rational_function(psi, gauge_.links, options_.shared.action, lowest, 1.01 * modes_.highest, run_.world);
    std::array<double, 1> sum{0.0};
    for (std::int64_t site = 0; site < run_.geometry.local_volume(); ++site) {
      const coordinate at = run_.geometry.local_coordinate(site);
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) sum[0] += norm2(ours(at)(s, c) - theirs(at)(s, c));
    }
    run_.world.sum(std::span(sum));
    run_.progress.clear();
    // CG stops at a residual of 1e-12; the smallest shift's solution enters H (H^2 + s)^-1 with 1 / lowest.
    run_.result.checks.add("sign function against the rational function of the CPU", std::sqrt(sum[0]),
                           options_.delta + 2e-12 * modes_.highest / lowest);
  }

  // --- modes of D

  void find_overlap_modes() {
    stage("modes of D", work_of(options_, sign_->lowest(), sign_->highest()).overlap_modes, [&] {
      if (!options_.overlap_file().empty() && checkpoint_exists(options_.overlap_file())) {
        load_overlap_modes();
        return true;
      }
      search_overlap_modes();
      return false;
    });
    const bool fresh = !stages_.back().restored;
    if (!options_.overlap_file().empty() && fresh) store_overlap_modes();
    overlap_record& r = overlap_record_;
    r.plus = overlap_->plus.squares;
    r.minus = overlap_->minus.squares;
    r.plus_residuals = overlap_->plus.residuals;
    r.minus_residuals = overlap_->minus.residuals;
    r.zero_plus = overlap_->zero_plus;
    r.zero_minus = overlap_->zero_minus;
    r.cycles = overlap_->cycles;
    r.restarts = overlap_->restarts;
    r.searched = overlap_->searched;
    r.eigenvalues = overlap_eigenvalues(*overlap_);
    if (options_.overlap_modes > 0) {
      verification& checks = run_.result.checks;
      const auto worst = [](const std::vector<double>& numbers) {
        double most = 0.0;
        for (const double x : numbers)
          if (!(x <= most)) most = x;
        return most;
      };
      checks.add("modes of D: |D^+ D v - e v|", worst(overlap_->of(overlap_->searched).residuals),
                 options_.overlap_tolerance);
      checks.add("modes of D: zero modes of one chirality only", r.zero_plus == 0 || r.zero_minus == 0);
    }
    run_.result.observables["overlap"] = to_json(r);
    run_.result.observables["index"] = overlap_->index();
    if (run_.talks()) print(r);
  }

  void search_overlap_modes() {
    overlap_mode_search search;
    search.modes = options_.overlap_modes;
    search.tolerance = options_.overlap_tolerance;
    search.relaxed = options_.relaxed_modes;
    search.most = options_.overlap_search_space;
    search.interrupted = stop();
    const stopwatch watch;
    search.progress = [&](int cycle, int converged, double worst, double) {
      tell_cycle("D", cycle, converged, std::max(1, search.modes), worst, watch.seconds());
    };
    std::optional<std::pair<F, restart_state>> stored;
    int stored_chirality = 0;
    if (!options_.search_file().empty() && checkpoint_exists(options_.search_file()))
      stored = load_search(stored_chirality);
    double last = seconds_now();
    const restart_keeper<F> keeper = [&](const F& basis, const restart_state& state, int chirality) {
      if (options_.search_file().empty()) return;
      std::array<double, 1> since{seconds_now() - last};
      run_.world.maximum(std::span(since));
      if (since[0] < 30.0 && !run_.control.should_stop()) return;
      store_search(basis, state, chirality);
      last = seconds_now();
    };
    overlap_.emplace(lowest_overlap_modes<Device>(*sign_, half(1), search, random(), width(), keeper, std::move(stored),
                                                  stored_chirality));
  }

  F half(int columns) const { return F(device_.ctx, field_shape{2, 3, site_subset::full, columns}); }

  vector_source half_vectors(const F& from, int chirality, int first = 0) {
    return [this, from, chirality, first](int n, spinor_configuration& to) {
      F whole = like(shape_, 1);
      put_chirality(whole, view(from, n - first, 1), chirality);
      export_column(to, whole, 0);
    };
  }
  void set_half_vector(F& to, int n, int chirality, const spinor_configuration& from) {
    F whole = like(shape_, 1), target = view(to, n, 1);
    import_column(whole, 0, from);
    take_chirality(target, whole, chirality);
  }

  void store_search(const F& basis, const restart_state& s, int chirality) {
    json_document state = state_of(problem_of_overlap());
    std::vector<double> coupling;
    for (int i = 0; i < s.coupling.rows(); ++i) {
      coupling.push_back(s.coupling(i, 0).re);
      coupling.push_back(s.coupling(i, 0).im);
    }
    state.update({{"values", s.values},
                  {"estimates", s.estimates},
                  {"coupling", coupling},
                  {"kept", s.kept},
                  {"cycle", s.cycle},
                  {"chirality", chirality}});
    write_vectors(options_.search_file(), basis.columns(), half_vectors(basis, chirality), state, run_.geometry,
                  run_.world);
  }
  std::pair<F, restart_state> load_search(int& chirality) {
    const std::string& path = options_.search_file();
    const json_document state = load_state(path, problem_of_overlap());
    restart_state s;
    s.values = checkpoint_value<std::vector<double>>(path, state, "values");
    s.estimates = checkpoint_value<std::vector<double>>(path, state, "estimates");
    s.kept = checkpoint_value<int>(path, state, "kept");
    s.cycle = checkpoint_value<int>(path, state, "cycle");
    chirality = checkpoint_value<int>(path, state, "chirality");
    const auto coupling = checkpoint_value<std::vector<double>>(path, state, "coupling");
    s.coupling = host_matrix(s.kept, 1);
    for (int i = 0; i < s.kept; ++i) {
      const auto k = static_cast<std::size_t>(i);
      s.coupling(i, 0) = {coupling.at(2 * k), coupling.at(2 * k + 1)};
    }
    F basis = half(s.kept + 1);
    read_vectors(
        path, basis.columns(),
        [&](int n, const spinor_configuration& from) { set_half_vector(basis, n, chirality, from); }, run_.geometry,
        run_.world);
    return {basis, s};
  }

  void store_overlap_modes() {
    json_document state = state_of(problem_of_overlap());
    const auto& o = *overlap_;
    state.update({{"plus", o.plus.squares},
                  {"plus_residuals", o.plus.residuals},
                  {"minus", o.minus.squares},
                  {"minus_residuals", o.minus.residuals},
                  {"zero_plus", o.zero_plus},
                  {"zero_minus", o.zero_minus},
                  {"searched", o.searched},
                  {"cycles", o.cycles},
                  {"restarts", o.restarts}});
    const int plus = o.plus.vectors.columns(), minus = o.minus.vectors.columns();
    const vector_source of_plus = half_vectors(o.plus.vectors, +1), of_minus = half_vectors(o.minus.vectors, -1, plus);
    write_vectors(
        options_.overlap_file(), plus + minus,
        [&](int n, spinor_configuration& to) { n < plus ? of_plus(n, to) : of_minus(n, to); }, state, run_.geometry,
        run_.world);
  }
  void load_overlap_modes() {
    const std::string& path = options_.overlap_file();
    const json_document state = load_state(path, problem_of_overlap());
    overlap_.emplace(overlap_mode_set<F>{{half(0)}, {half(0)}});
    auto& o = *overlap_;
    const auto numbers = [&](const char* key) { return checkpoint_value<std::vector<double>>(path, state, key); };
    o.plus.squares = numbers("plus");
    o.plus.residuals = numbers("plus_residuals");
    o.minus.squares = numbers("minus");
    o.minus.residuals = numbers("minus_residuals");
    o.zero_plus = checkpoint_value<int>(path, state, "zero_plus");
    o.zero_minus = checkpoint_value<int>(path, state, "zero_minus");
    o.searched = checkpoint_value<int>(path, state, "searched");
    o.cycles = checkpoint_value<int>(path, state, "cycles");
    o.restarts = checkpoint_value<int>(path, state, "restarts");
    const int plus = static_cast<int>(o.plus.squares.size()), minus = static_cast<int>(o.minus.squares.size());
    o.plus.vectors = half(plus);
    o.minus.vectors = half(minus);
    read_vectors(
        path, plus + minus,
        [&](int n, const spinor_configuration& from) {
          n < plus ? set_half_vector(o.plus.vectors, n, +1, from)
                   : set_half_vector(o.minus.vectors, n - plus, -1, from);
        },
        run_.geometry, run_.world);
  }

  // --- propagators

  void solve() {
    const std::vector<double>& masses = options_.masses;
    if (masses.front() == 0.0 && overlap_->zero_plus + overlap_->zero_minus > 0)
      throw input_error(
          fmt::format("--masses 0: D has {} zero modes on this configuration, so that D(0) has no inverse; "
                      "expected positive masses",
                      overlap_->zero_plus + overlap_->zero_minus));
    const overlap_operator<sign_type> d(*sign_, options_.rho);
    F b = like(shape_, 12);
    for (int column = 0; column < 12; ++column) device_.make_source(b, column, options_.source);
    std::vector<F> x;
    for (std::size_t i = 0; i < masses.size(); ++i) x.push_back(like(b));
    overlap_solve_report report;
    stage("propagators", work_of(options_, sign_->lowest(), sign_->highest()).propagators, [&] {
      if (!options_.solutions_file().empty() && checkpoint_exists(options_.solutions_file())) {
        load_solutions(x, report);
        return true;
      }
      overlap_solve_rule rule;
      rule.tolerance = options_.tolerance();
      rule.scheme = options_.scheme;
      rule.interrupted = stop();
      rule.progress = [&](int, double worst) {
        const double digits = std::log(worst) / std::log(rule.tolerance);
        run_.progress.update(std::clamp(digits, 0.0, 1.0));
      };
      report = solve_overlap(d, *overlap_, x, b, masses, rule);
      return false;
    });
    if (!options_.solutions_file().empty() && !stages_.back().restored) store_solutions(x, report);
    judge(d, b, x, report);
  }

  void store_solutions(const std::vector<F>& x, const overlap_solve_report& report) {
    json_document state = state_of(problem_of_solutions());
    json_document masses = json_document::array();
    for (const overlap_mass_report& m : report.masses)
      masses.push_back({{"mass", m.mass},
                        {"iterations", m.iterations},
                        {"corrections", m.corrections},
                        {"iterated", m.iterated},
                        {"residual", m.residual},
                        {"converged", m.converged}});
    state["masses"] = masses;
    state["history"] = report.history;
    state["deltas"] = report.deltas;
    write_vectors(
        options_.solutions_file(), 12 * static_cast<int>(x.size()),
        [&](int n, spinor_configuration& to) { export_column(to, x[static_cast<std::size_t>(n / 12)], n % 12); }, state,
        run_.geometry, run_.world);
  }
  void load_solutions(std::vector<F>& x, overlap_solve_report& report) {
    const std::string& path = options_.solutions_file();
    const json_document state = load_state(path, problem_of_solutions());
    for (const json_document& m : checkpoint_value<json_document>(path, state, "masses")) {
      overlap_mass_report mass;
      mass.mass = m.at("mass").get<double>();
      mass.iterations = m.at("iterations").get<int>();
      mass.corrections = m.at("corrections").get<int>();
      mass.iterated = m.at("iterated").get<std::vector<double>>();
      mass.residual = m.at("residual").get<std::vector<double>>();
      mass.converged = m.at("converged").get<bool>();
      report.masses.push_back(mass);
    }
    report.history = checkpoint_value<std::vector<double>>(path, state, "history");
    report.deltas = checkpoint_value<std::vector<double>>(path, state, "deltas");
    read_vectors(
        path, 12 * static_cast<int>(x.size()),
        [&](int n, const spinor_configuration& from) {
          import_column(x[static_cast<std::size_t>(n / 12)], n % 12, from);
        },
        run_.geometry, run_.world);
  }

  /// Residuals by D(m) with the accurate sign function, GMOR, correlators.
  void judge(const overlap_operator<sign_type>& d, const F& b, std::vector<F>& x, const overlap_solve_report& report) {
    const std::vector<double>& masses = options_.masses;
    const double rho = options_.rho, tolerance = options_.tolerance();
    const double b2 = sum_of(norm2(b)).re;
    bool all = true;
    stage("verification", 24.0 * static_cast<double>(masses.size()) * sign_->polynomial(1e-11).degree(), [&] {
      for (std::size_t i = 0; i < masses.size(); ++i) {
        mass_record m{.solve = report.masses[i]};
        F r = like(b), dx = like(b);
        d.apply_massive(dx, x[i], masses[i], std::min(1e-11, 1e-3 * tolerance));
        const auto r2 = host_values(subtract_norm2(r, b, dx)), n2 = host_values(norm2(b));
        for (std::size_t n = 0; n < r2.size(); ++n) {
          const double residual = std::sqrt(r2[n].re / n2[n].re);
          if (!(residual <= m.residual)) m.residual = residual;
        }
        // S = (D(m)^-1 - 1 / (2 rho)) / (1 - m / (2 rho))
        F s = like(b);
        copy(s, x[i]);
        axpy(s, uniform_scalars(s, -0.5 / rho), b);
        scale(s, uniform_scalars(s, 1.0 / (1.0 - 0.5 * masses[i] / rho)));
        const double norm = sum_of(norm2(s)).re;
        m.condensate = sum_of(dot(b, s)).re;
        m.gmor = masses[i] > 0.0 ? std::abs(m.condensate / (masses[i] * norm) - 1.0) : 0.0;
        // |dS| <= |D(m)^-1| |r| / (1 - m/2rho) <= tolerance |b| / m: both sides move by |b||dS| + 2 m |S||dS|.
        const double ds = tolerance * std::sqrt(b2) / std::max(masses[i], 1e-300) / (1.0 - 0.5 * masses[i] / rho);
        m.gmor_tolerance = (std::sqrt(b2) * ds + 2.0 * masses[i] * std::sqrt(norm) * ds) / (masses[i] * norm);
        cpu::propagator columns(12, spinor_configuration(run_.geometry));
        for (int c = 0; c < 12; ++c) export_column(columns[static_cast<std::size_t>(c)], s, c);
        m.pion = cpu::pion_correlator(columns, run_.world);
        m.rho = cpu::rho_correlator(columns, run_.world);
        if (!options_.propagators.empty()) write(columns, m, static_cast<int>(i));
        all = all && m.solve.converged;
        masses_.push_back(m);
      }
      return false;
    });
    json_document list = json_document::array();
    verification& checks = run_.result.checks;
    for (const mass_record& m : masses_) {
      checks.add(fmt::format("residual of D({:g})", m.solve.mass), m.residual, tolerance);
      if (m.solve.mass > 0.0) checks.add(fmt::format("GMOR at mass {:g}", m.solve.mass), m.gmor, m.gmor_tolerance);
      list.push_back(to_json(m));
      double iterated = 0.0;
      for (const double residual : m.solve.iterated) iterated = std::max(iterated, residual);
      solve_record record;
      record.solver = "multi-mass cg of D^+ D";
      record.precision = "double";
      record.iterations = m.solve.iterations;
      record.seconds = seconds_of("propagators");
      record.iterated_residual = iterated;
      record.device_residual =
          m.solve.residual.empty() ? 0.0 : *std::max_element(m.solve.residual.begin(), m.solve.residual.end());
      record.reference_residual = m.residual;
      record.history = report.history;
      record.details = {{"converged", m.solve.converged},
                        {"mass", m.solve.mass},
                        {"overlap_scheme", name(options_.scheme)},
                        {"corrections", m.solve.corrections},
                        {"sign_accuracies", report.deltas}};
      run_.result.solves.push_back(record);
    }
    run_.result.observables["masses"] = list;
    run_.result.observables["pion"] = masses_.front().pion;
    run_.result.observables["rho"] = masses_.front().rho;
    run_.result.observables["source_time"] = options_.source.position[3];
    if (run_.talks()) print(masses_);
    unsolved_ = !all;
  }

  complex<double> sum_of(const typename F::scalars& numbers) const {
    complex<double> sum{};
    for (const complex<double>& n : host_values(numbers)) sum += n;
    return sum;
  }

  void write(const cpu::propagator& columns, const mass_record& m, int number) {
    propagator_facts facts{options_.shared.action,     options_.source,
                           gamma_basis::degrand_rossi, options_.shared.gauge.describe(),
                           gauge_.plaquette.average,   {},
                           options_.tolerance()};
    facts.residuals.assign(12, m.residual);
    facts.more = {{"overlap_rho", options_.rho}, {"overlap_mass", m.solve.mass}};
    const std::string path = options_.propagator_file(number);
    write_propagator(path, run_.replaces(path), columns, facts, run_.world);
  }

  double seconds_of(const std::string& stage_name) const {
    for (const stage_record& s : stages_)
      if (s.name == stage_name) return s.seconds;
    return 0.0;
  }

  exit_status conclude() {
    run_.result.observables["calculation"] = to_json(stages_);
    double total = 0.0;
    for (const stage_record& s : stages_) total += s.seconds;
    if (!masses_.empty()) run_.result.fom.value = 3600.0 * static_cast<double>(masses_.size()) / total;
    if (run_.talks()) print(stages_);
    return unsolved_ ? exit_status::no_convergence : exit_status::success;
  }

  Device device_;
  app_run& run_;
  const overlap_options& options_;
  const gauge_input& gauge_;
  hermitian_kernel<Device> kernel_;
  F shape_;
  mode_set<F> modes_;
  std::optional<sign_type> sign_;
  std::optional<overlap_mode_set<F>> overlap_;
  std::vector<mass_record> masses_;
  kernel_record kernel_record_;
  sign_record sign_record_;
  overlap_record overlap_record_;
  std::vector<stage_record> stages_;
  std::uint64_t next_random_ = 0;
  double seconds_an_application_ = 0.0;
  bool unsolved_ = false;
};

}  // namespace plaquette
