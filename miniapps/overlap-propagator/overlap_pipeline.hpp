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
#include <filesystem>
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

/// \tparam Device  the names of a library and what a run holds of its device.
///   Types: `field<T>`, `hermitian_wilson<T>`.
///   Constants: `name`, and `columns`, the right-hand sides that one measurement takes.
///   Members: `ctx`, `basis<T>(shape, on_host)`, `kernel<T>(action, reconstruct)`;
///   `host_bytes()`: what lies in memory of the host;
///   `fill(x, seed, first)`: random Dirac spinors; `make_source(b, column, source)`;
///   `finish()`: waits for all that was queued.
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
        kernel_(make_kernel<double>(), make_kernel<float>(),
                options.sign.precision == sign_precision::half ? make_kernel<plaquette::half>() : nullptr),
        shape_(device_.ctx, field_shape{4, 3, site_subset::full, 1}),
        modes_{like(shape_, 0)} {}

  exit_status operator()() {
    measure_kernel();
    predict();
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
    // The third row of a link is made of the others where that costs no digit, and where memory is what counts.
    const double bytes = 72.0 * sizeof(double) * static_cast<double>(run_.geometry.local_volume());
    const bool in_cache = !run_.gpu && bytes < 32e6;
    const reconstruct stored = gauge_.distance_from_su3 < 1e-12 && !in_cache ? reconstruct::twelve : reconstruct::none;
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
  void stage(const std::string& name, double predicted_seconds, const Body& body) {
    stage_record record{.name = name};
    record.predicted_seconds = predicted_seconds;
    const kernel_count before = kernel_.count();
    run_.stage(name, [&] { record.restored = body(); });
    run_.stop_if_asked();
    record.seconds = run_.result.stages.back()["seconds"].template get<double>();
    record.wide = kernel_.count().wide - before.wide;
    record.narrow = kernel_.count().narrow - before.narrow;
    record.half = kernel_.count().half - before.half;
    record.signs = kernel_.count().signs - before.signs;
    stages_.push_back(record);
  }

  /// Seconds of an application of H, a column, in the batches that the stages have: for predictions.
  void measure_kernel() {
    const auto measured = [this](const auto& h, auto x) {
      auto y = like(x), u = like(x), w = like(x);
      zero(u);
      zero(w);
      double least = 1e300;
      for (int sample = 0; sample < 6; ++sample) {  // steps of Clenshaw's recurrence: the second H adds two fields
        const stopwatch watch;
        h.apply(y, 0.1, x, 0.5, 0.0, nullptr, 0.0, nullptr);
        h.apply(w, 0.1, y, -0.5, 0.5, &u, -0.5, &w);
        device_.finish();
        if (sample > 0) least = std::min(least, 0.5 * watch.seconds());
      }
      return least / x.columns();
    };
    F x = like(shape_, 12);
    random()(x);
    G x_g = like(x, 12, as<G>);
    convert(x_g, x);
    const int block = std::clamp(static_cast<int>(2.5 * options_.modes / 50.0), 1, 10);
    const int of_search = std::min(12, overlap_search_of(options_).block);
    std::array<double, 7> seconds{measured(kernel_.wide(), view(x, 0, 1)),
                                  measured(kernel_.wide(), view(x, 0, block)),
                                  measured(kernel_.wide(), x),
                                  measured(kernel_.narrow(), view(x_g, 0, 1)),
                                  measured(kernel_.narrow(), x_g),
                                  measured(kernel_.wide(), view(x, 0, of_search)),
                                  measured(kernel_.narrow(), view(x_g, 0, of_search))};
    run_.world.maximum(std::span(seconds));
    // The sign function takes as many columns at once as is fastest.
    speed_ = {.one = seconds[0],
              .block = seconds[1],
              .many = std::min(seconds[0], seconds[2]),
              .narrow_one = seconds[3],
              .narrow_many = std::min(seconds[3], seconds[4]),
              .of_search = std::min(seconds[0], seconds[5]),
              .narrow_of_search = std::min(seconds[3], seconds[6])};
    kernel_.count() = {};
  }

  double smallest_of_rest() const {
    return options_.sign.lowest > 0.0 ? options_.sign.lowest : expected_mode(options_.modes, volume());
  }

  /// Tells how long the stages will take, before any of them has begun.
  void predict() {
    const overlap_times t = times_of(options_, smallest_of_rest(), expected_bound(options_),
                                     expected_overlap_mode(options_, volume()), speed_);
    run_.result.observables["prediction"] = {{"modes of H", t.kernel_modes},
                                             {"sign function", t.sign},
                                             {"modes of D", t.overlap_modes},
                                             {"propagators", t.propagators},
                                             {"seconds_an_application",
                                              {{"double_1", speed_.one},
                                               {"double_block", speed_.block},
                                               {"double_12", speed_.many},
                                               {"single_1", speed_.narrow_one},
                                               {"single_12", speed_.narrow_many}}}};
    if (run_.talks())
      fmt::print(
          "predicted  about {}: modes of H {:.0f}%, sign function {:.0f}%, modes of D {:.0f}%, propagators "
          "{:.0f}%\n",
          fmt::format("{:.3g} s", t.total()), 100.0 * t.kernel_modes / t.total(), 100.0 * t.sign / t.total(),
          100.0 * t.overlap_modes / t.total(), 100.0 * t.propagators / t.total());
  }
  /// The same with what is known by now.
  overlap_times times_now() const {
    double gap = expected_overlap_mode(options_, volume());
    if (overlap_)
      for (const int chi : {+1, -1})
        if (!overlap_->of(chi).squares.empty()) gap = overlap_->of(chi).squares.back();
    return times_of(options_, sign_->lowest(), sign_->highest(), gap, speed_);
  }

  // --- problems that files belong to

  json_document problem_of_modes() const {
    json_document problem = parameters_of(options_, run_.geometry);
    json_document kept;
    for (const char* key : {"lattice", "gauge", "seed", "boundary_phases", "stout", "rho", "modes", "mode_tolerance"})
      if (problem.contains(key)) kept[key] = problem[key];
    return kept;
  }
  json_document problem_of_mode_search() const {
    json_document problem = parameters_of(options_, run_.geometry), kept = problem_of_modes();
    for (const char* key : {"mode_method", "filter_window", "filter_degree", "mode_block", "search_space", "range"})
      kept[key] = problem[key];
    return kept;
  }
  json_document problem_of_overlap() const {
    json_document problem = parameters_of(options_, run_.geometry), kept = problem_of_modes();
    for (const char* key : {"sign", "degree", "poles", "range", "overlap_modes", "overlap_mode_tolerance"})
      kept[key] = problem[key];
    return kept;
  }
  json_document problem_of_overlap_search() const {
    json_document problem = problem_of_overlap();
    problem["overlap_mode_block"] = overlap_search_of(options_).block;
    return problem;
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
    const double predicted = times_of(options_, smallest_of_rest(), expected_bound(options_), 1.0, speed_).kernel_modes;
    stage("modes of H", predicted, [&] {
      if (!options_.modes_file().empty() && checkpoint_exists(options_.modes_file())) {
        load_kernel_modes();
        return true;
      }
      search_kernel_modes();
      return false;
    });
    if (!options_.modes_file().empty() && !stages_.back().restored) {
      store_kernel_modes();
      remove(options_.mode_search_file());
    }
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
    mode_search search = search_of(options_);
    const bool one_more = search.modes > options_.modes;
    search.interrupted = stop();
    const stopwatch watch;
    search.progress = [&](int cycle, int converged, double worst) {
      tell_cycle("H", cycle, converged, search.modes, worst, watch.seconds());
    };
    search.highest = largest_eigenvalue(wide, shape_, fill, search.interrupted);
    const double bound = 8.0 - options_.rho;
    search.highest = std::min(search.highest, bound * (1.0 + 1e-12));
    G sample = like(shape_, 4, as<G>);
    {
      F made = like(shape_, 4);
      fill(made);
      convert(sample, made);
    }
    std::optional<std::pair<F, mode_search_state>> stored;
    if (checkpoint_exists(options_.mode_search_file())) stored = load_mode_search();
    patient_writer writer(run_);
    const mode_keeper<F> keeper = [&](const F& basis, const mode_search_state& state) {
      if (!options_.mode_search_file().empty()) writer.write([&] { store_mode_search(basis, state); });
    };
    const basis_maker<F> make_basis = [&](int columns) {
      return make<double>({4, 3, site_subset::full, columns}, options_.kernel_basis_on_host, host_bytes_of_kernel_);
    };
    modes_ = lowest_modes(wide, kernel_.narrow(), shape_, sample, 12.0 * volume(), search, fill, width(), keeper,
                          std::move(stored), make_basis);
    if (run_.control.stopped()) return;
    if (modes_.values.empty())
      throw error(exit_status::no_convergence,
                  fmt::format("modes of H: none of {} converged in {} cycles; expected some: allow more with "
                              "--mode-cycles, a larger --search-space or a filter of a higher degree",
                              search.modes, modes_.cycles));
    kernel_record_ = {modes_.values,  modes_.residuals, modes_.highest, modes_.window, 0.0,
                      modes_.degree,  modes_.block,     modes_.keep,    modes_.most,   modes_.cycles,
                      modes_.widened, options_.modes,   modes_.complete};
    kernel_record_.raised = modes_.raised;
    kernel_record_.probing = modes_.filtered > 0.0 ? modes_.probed / modes_.filtered : 0.0;
    if (one_more && modes_.complete) {
      kernel_record_.lowest_of_rest = (1.0 - 1e-9) * std::abs(modes_.values.back());
      if (options_.modes == 0) kernel_record_.lowest_of_rest *= 0.999;
      F fewer = like(shape_, options_.modes);
      if (options_.modes > 0) copy(fewer, view(modes_.vectors, 0, options_.modes));
      modes_.vectors = fewer;
      modes_.values.pop_back();
      modes_.residuals.pop_back();
      kernel_record_.values = modes_.values;
      kernel_record_.residuals = modes_.residuals;
    }
  }

  /// The basis of a search, in memory of the host where it shall be; what it takes there is measured.
  template <class T>
  auto make(const field_shape& shape, bool on_host, double& host_bytes) {
    const double before = device_.host_bytes();
    auto basis = device_.template basis<T>(shape, on_host);
    host_bytes = std::max(host_bytes, device_.host_bytes() - before);
    return basis;
  }

  /// A line for a search that takes long, and the progress line.
  void tell_cycle(const char* what, int cycle, int converged, int sought, double worst, double seconds) {
    if (seconds > 10.0)
      tell(fmt::format("cycle      {}: {} of {} modes of {}, largest residual about {:.1e}, {:.0f} s", cycle, converged,
                       sought, what, worst, seconds));
    run_.progress.update(static_cast<double>(converged) / sought);
  }

  /// A line that is seen at once.
  void tell(const std::string& line) {
    if (!run_.talks()) return;
    run_.progress.clear();
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  /// Writes not more often than every half minute, and when the run is about to stop.
  class patient_writer {
   public:
    explicit patient_writer(app_run& run) : run_(run) {}
    template <class Write>
    void write(const Write& write) {
      std::array<double, 1> since{seconds_now() - last_};
      run_.world.maximum(std::span(since));
      if (since[0] < 30.0 && !run_.control.should_stop()) return;
      write();
      last_ = seconds_now();
    }

   private:
    app_run& run_;
    double last_ = seconds_now();
  };

  /// Removes a file that is no longer of use.
  void remove(const std::string& path) const {
    std::error_code ignored;
    if (!path.empty() && run_.world.rank() == 0) std::filesystem::remove(path, ignored);
  }

  static json_document to_state(const restart_state& s) {
    std::vector<double> coupling;
    for (int j = 0; j < s.coupling.columns(); ++j)
      for (int i = 0; i < s.coupling.rows(); ++i) {
        coupling.push_back(s.coupling(i, j).re);
        coupling.push_back(s.coupling(i, j).im);
      }
    return {
        {"values", s.values}, {"estimates", s.estimates}, {"coupling", coupling}, {"kept", s.kept}, {"cycle", s.cycle}};
  }
  static restart_state restart_from(const std::string& path, const json_document& state, int block) {
    restart_state s;
    s.values = checkpoint_value<std::vector<double>>(path, state, "values");
    s.estimates = checkpoint_value<std::vector<double>>(path, state, "estimates");
    s.kept = checkpoint_value<int>(path, state, "kept");
    s.cycle = checkpoint_value<int>(path, state, "cycle");
    const auto coupling = checkpoint_value<std::vector<double>>(path, state, "coupling");
    s.coupling = host_matrix(s.kept, block);
    for (int j = 0; j < block; ++j)
      for (int i = 0; i < s.kept; ++i) {
        const auto k = 2 * static_cast<std::size_t>(i + j * s.kept);
        s.coupling(i, j) = {coupling.at(k), coupling.at(k + 1)};
      }
    return s;
  }

  void store_mode_search(const F& basis, const mode_search_state& s) {
    json_document state = state_of(problem_of_mode_search());
    state.update(to_state(s.restart));
    state.update({{"highest", s.highest},
                  {"window", s.window},
                  {"degree", s.degree},
                  {"block", s.block},
                  {"keep", s.keep},
                  {"most", s.most},
                  {"cycles", s.cycles},
                  {"widened", s.widened},
                  {"raised", s.raised}});
    write_vectors(
        options_.mode_search_file(), basis.columns(),
        [&](int n, spinor_configuration& to) { export_column(to, basis, n); }, state, run_.geometry, run_.world);
  }
  std::pair<F, mode_search_state> load_mode_search() {
    const std::string& path = options_.mode_search_file();
    const json_document state = load_state(path, problem_of_mode_search());
    const auto integer = [&](const char* key) { return checkpoint_value<int>(path, state, key); };
    mode_search_state s;
    s.block = integer("block");
    s.restart = restart_from(path, state, s.block);
    s.highest = checkpoint_value<double>(path, state, "highest");
    s.window = checkpoint_value<double>(path, state, "window");
    s.degree = integer("degree");
    s.keep = integer("keep");
    s.most = integer("most");
    s.cycles = integer("cycles");
    s.widened = integer("widened");
    s.raised = integer("raised");
    F basis = like(shape_, s.restart.kept + s.block);
    read_vectors(
        path, basis.columns(), [&](int n, const spinor_configuration& from) { import_column(basis, n, from); },
        run_.geometry, run_.world);
    if (run_.talks()) fmt::print("remark     goes on after {} cycles of {}\n", s.cycles, printable(path));
    return {basis, s};
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
    kernel_record_.raised = number("raised");
    kernel_record_.probing = record.at("probing").template get<double>();
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
    options.interrupted = stop();
    if (options.lowest <= 0.0)
      options.lowest = modes_.values.empty() ? kernel_record_.lowest_of_rest : std::abs(modes_.values.back());
    require_range(options);
    require_accuracy(options);
    sign_.emplace(kernel_, modes_.vectors, modes_.values, options);
    if (options.batch > 0) return;
    double best = 1e300;
    for (const int batch : {12, 4, 2, 1}) {
      const double seconds = seconds_of_step(batch);
      if (seconds < 0.9 * best) {  // a smaller one has to be worth it
        best = seconds;
        options.batch = batch;
      }
    }
    sign_.emplace(kernel_, modes_.vectors, modes_.values, options);
    kernel_.count() = {};
  }

  /// The rest of |H| has to lie in the range; where it does not, nothing is computed beyond the sign function.
  void require_range(const sign_options& options) {
    // What bounds the largest |H| is 2 in 1000 above it.
    const double largest = modes_.highest / 1.002;
    const double smallest = kernel_record_.lowest_of_rest > 0.0 ? kernel_record_.lowest_of_rest
                            : modes_.values.empty()             ? 0.0
                                                                : std::abs(modes_.values.back());
    const bool holds_largest = largest <= options.highest, holds_smallest = options.lowest <= smallest * (1.0 + 1e-8);
    run_.result.checks.add("the sign function's range holds the largest |H|", holds_largest);
    run_.result.checks.add("the sign function's range holds the smallest |H| beside the modes", holds_smallest);
    range_holds_ = holds_largest && holds_smallest;
    if (range_holds_ || options_.until == overlap_stage::sign) return;
    throw input_error(fmt::format(
        "--range: |H| beside {} modes reaches from {:.6g} to {:.6g}; expected a range that holds it, found {:g},{:g}",
        modes_.values.size(), smallest, largest, options.lowest, options.highest));
  }

  /// What was fixed by hand has to reach delta. With range and degree, or poles, of another program it has the error
  /// that it has.
  void require_accuracy(const sign_options& options) {
    const bool is_polynomial = options.method == sign_method::polynomial;
    const double eps = std::pow(options.lowest / options.highest, 2);
    const bool of_hand = options_.sign.lowest > 0.0 && !options_.delta_given;
    if (is_polynomial && options.degree == 0) {
      const int needed = estimated_degree(eps, options_.delta);
      constexpr int most = 2000;
      if (needed <= most) return;
      const double gap = std::log(0.41 / options_.delta) / (2.1 * most) * options.highest;
      throw input_error(fmt::format(
          "--modes {}: the polynomial of --delta {:g} on |H| from {:.3g} on has degree {}; expected {} at most, which "
          "|H| from {:.3g} on would have, {:.1f} times the gap: take more modes exactly, or smear the links",
          options_.modes, options_.delta, options.lowest, needed, most, gap, gap / options.lowest));
    }
    if (!is_polynomial && options.poles == 0) return;
    const double error = is_polynomial ? minimax_of_degree(options.degree, eps).delta
                                       : zolotarev_of_poles(options.poles, options.lowest, options.highest).delta;
    if (of_hand) delta_ = std::max(error, 1e-13);
    // D^+ D is 2 P (1 +- sign H) P only as far as sign^2 = 1.
    if (of_hand && error > options_.tolerance() && options_.until == overlap_stage::propagators && run_.talks())
      fmt::print(
          "remark     the sign function of --range errs by {:.2g}, and so do residuals of D(m): --tol {:g} is beyond "
          "it\n",
          error, options_.tolerance());
    if (error <= delta_) return;
    const std::string what = is_polynomial ? fmt::format("--degree {}: a polynomial of this degree", options.degree)
                                           : fmt::format("--poles {}: Zolotarev's function", options.poles);
    const std::string needed =
        is_polynomial
            ? fmt::format("degree {} has", minimax_of_error(delta_, eps).degree())
            : fmt::format("{} poles have", zolotarev_of_error(delta_, options.lowest, options.highest).poles());
    throw input_error(
        fmt::format("{} has an error of {:.3g} on |H| from {:.4g} to {:.4g}; expected --delta {:g} or "
                    "less, which {}",
                    what, error, options.lowest, options.highest, delta_, needed));
  }

  /// Of Clenshaw's recurrence in double, a column, in batches of `batch`.
  double seconds_of_step(int batch) {
    const F x = random_unit_vectors(batch);
    F b1 = like(x), b2 = like(x);
    copy(b1, x);
    zero(b2);
    std::array<double, 1> least{1e300};
    for (int sample = 0; sample < 4; ++sample) {
      const stopwatch watch;
      sign_->steps(b1, b2, x, 2);
      device_.finish();
      if (sample > 0) least[0] = std::min(least[0], 0.5 * watch.seconds() / batch);
    }
    run_.world.maximum(std::span(least));
    return least[0];
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
    normalise_columns(x);
    return x;
  }

  void describe_sign_function() {
    const sign_type& sign = *sign_;
    sign_record& r = sign_record_;
    r.method = name(sign.options().method);
    r.lowest = sign.lowest();
    r.highest = sign.highest();
    if (sign.options().method == sign_method::polynomial) {
      const minimax_polynomial& p = sign.polynomial(delta_);
      r.degree = p.degree();
      r.delta = p.delta;
      r.coefficients = p.coefficients;
    } else {
      const zolotarev_function f = sign.rational(delta_);
      r.poles = f.poles();
      r.delta = f.delta;
      r.shifts = f.shifts;
      r.weights = f.weights;
    }
  }

  void check_sign_function() {
    sign_type& sign = *sign_;
    const double delta = delta_;
    sign_record& r = sign_record_;
    describe_sign_function();
    if (!range_holds_) {  // what it is, but not what it does with this H
      run_.result.observables["sign"] = to_json(r);
      if (run_.talks()) print(r, true);
      return;
    }
    stage("sign function", times_now().sign, [&] {
      r.columns = Device::columns;
      const F x = random_unit_vectors(r.columns);
      F y = like(x), z = like(x);
      // A few columns do for what takes a sign function more.
      const int few = std::min(4, x.columns());
      const F first_x = view(x, 0, few), first_y = view(y, 0, few), first_z = view(z, 0, few);
      F other = like(first_x);
      const auto timed = [&](F& out, sign_precision precision) {
        device_.finish();
        run_.world.barrier();
        const stopwatch watch;
        sign.apply(out, x, delta, precision);
        device_.finish();
        return watch.seconds() / r.columns;
      };
      sign.calibrate(view(x, 0, std::min(2, x.columns())), delta, stop());
      run_.stop_if_asked();
      const sign_precision used = sign.options().precision;
      if (run_.gpu)  // launches are tuned, memory is there
        for (const sign_precision precision : {sign_precision::wide, used}) sign.apply(y, x, 0.1, precision);
      r.seconds_wide = timed(y, sign_precision::wide);
      r.seconds_mixed = timed(z, used);
      // A polynomial of its own, whatever was fixed by hand.
      run_.stop_if_asked();
      const sign_type finer(kernel_, modes_.vectors, modes_.values, {.lowest = r.lowest, .highest = r.highest});
      finer.apply(other, first_x, std::max(1e-13, 1e-3 * delta), sign_precision::wide);
      r.error_wide = norm_of_difference(first_y, other);
      r.error = norm_of_difference(first_z, other);
      run_.stop_if_asked();
      sign.apply(other, first_y, delta, sign_precision::wide);
      r.square_error = norm_of_difference(other, first_x);
      run_.stop_if_asked();
      check_overlap_algebra(view(x, 0, std::min(2, x.columns())));
      return false;
    });
    r.precision = name(sign.options().precision);
    r.batch = sign.options().batch;
    run_.result.observables["sign"] = to_json(r);
    if (run_.talks()) print(r, options_.sign.degree + options_.sign.poles > 0);
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
    const double delta = delta_;
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
    sign_->apply(y, x, delta_);
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
                           delta_ + 2e-12 * modes_.highest / lowest);
  }

  // --- modes of D

  void find_overlap_modes() {
    stage("modes of D", times_now().overlap_modes, [&] {
      if (!options_.overlap_file().empty() && checkpoint_exists(options_.overlap_file())) {
        load_overlap_modes();
        return true;
      }
      search_overlap_modes();
      return false;
    });
    const bool fresh = !stages_.back().restored;
    if (!options_.overlap_file().empty() && fresh) {
      store_overlap_modes();
      remove(options_.search_file());
    }
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
      // Where all that were found are zero modes, there may be more.
      const int zeros = overlap_->searched > 0 ? r.zero_plus : r.zero_minus;
      checks.add("modes of D: more than zero modes alone (or the index is open: more --overlap-modes)",
                 zeros < std::ssize(overlap_->of(overlap_->searched).squares));
      // Those of both can cancel, but only a symmetry keeps them at zero.
      if (gauge_.plaquette.average < 1.0 - 1e-12)
        checks.add("modes of D: zero modes of one chirality only", r.zero_plus == 0 || r.zero_minus == 0);
    }
    run_.result.observables["overlap"] = to_json(r);
    run_.result.observables["index"] = overlap_->index();
    if (run_.talks()) print(r);
  }

  void search_overlap_modes() {
    overlap_mode_search search = overlap_search_of(options_);
    search.interrupted = stop();
    const stopwatch watch;
    search.progress = [&](int cycle, int converged, double worst, double) {
      tell_cycle("D", cycle, converged, std::max(1, search.modes), worst, watch.seconds());
    };
    std::optional<std::pair<F, restart_state>> stored;
    int stored_chirality = 0;
    if (checkpoint_exists(options_.search_file())) stored = load_search(stored_chirality, search.block);
    patient_writer writer(run_);
    const restart_keeper<F> keeper = [&](const std::function<F()>& basis, const restart_state& state, int chirality) {
      if (!options_.search_file().empty()) writer.write([&] { store_search(basis(), state, chirality); });
    };
    const auto make_half = [&]<class T>(int columns, T) {
      return make<T>({2, 3, site_subset::full, columns}, options_.overlap_basis_on_host, host_bytes_of_overlap_);
    };
    const overlap_basis_makers<Device> make_basis{[&](int columns) { return make_half(columns, double{}); },
                                                  [&](int columns) { return make_half(columns, float{}); }};
    overlap_.emplace(lowest_overlap_modes<Device>(*sign_, half(1), search, random(), width(), keeper, std::move(stored),
                                                  stored_chirality, make_basis));
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
    json_document state = state_of(problem_of_overlap_search());
    state.update(to_state(s));
    state["chirality"] = chirality;
    write_vectors(options_.search_file(), basis.columns(), half_vectors(basis, chirality), state, run_.geometry,
                  run_.world);
  }
  std::pair<F, restart_state> load_search(int& chirality, int block) {
    const std::string& path = options_.search_file();
    const json_document state = load_state(path, problem_of_overlap_search());
    const restart_state s = restart_from(path, state, block);
    chirality = checkpoint_value<int>(path, state, "chirality");
    F basis = half(s.kept + block);
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
    stage("propagators", times_now().propagators, [&] {
      if (!options_.solutions_file().empty() && checkpoint_exists(options_.solutions_file())) {
        load_solutions(x, report);
        return true;
      }
      overlap_solve_rule rule;
      rule.tolerance = options_.tolerance();
      rule.scheme = options_.scheme;
      rule.fixed_delta = std::clamp(0.01 * rule.tolerance, 1e-13, 1e-10);
      rule.interrupted = stop();
      const stopwatch watch;
      double told = 0.0;
      rule.progress = [&](int iteration, double worst) {
        if (const double now = watch.seconds(); now > told + 10.0) {
          told = now;
          tell(fmt::format("solve      iteration {}, largest residual about {:.1e}, {:.0f} s", iteration, worst, now));
        }
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
    const double applications = 24.0 * static_cast<double>(masses.size()) * sign_->polynomial(1e-11).degree();
    stage("verification", applications * speed_.many, [&] {
      for (std::size_t i = 0; i < masses.size(); ++i) {
        run_.stop_if_asked();
        mass_record m{.solve = report.masses[i]};
        m.mass_of_others = 0.5 * masses[i] / rho;
        F r = like(b), dx = like(b);
        d.apply_massive(dx, x[i], masses[i], std::clamp(1e-3 * tolerance, 1e-13, 1e-11));
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
        // With r = b - D(m) x, x has the source b - r, of which the relation is exact. With c = 1 / (2 rho - m) both
        // sides differ by <r, S b> - c <b, r> + 2 m c <S b, r> at most, and by terms in |r|^2.
        const double c = 1.0 / (2.0 * rho - masses[i]), length = m.residual * std::sqrt(b2);
        const double moved = length * (std::sqrt(norm) * (1.0 + 2.0 * masses[i] * c) + c * std::sqrt(b2));
        m.gmor_tolerance = 1.1 * moved / (masses[i] * norm) + 1e-12;
        m.sum_of_squares = norm;
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
                        {"residuals_of_corrections", m.solve.worst},
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
    if (run_.gpu)
      run_.result.observables["basis_on_host"] = {{"kernel_bytes", host_bytes_of_kernel_},
                                                  {"overlap_bytes", host_bytes_of_overlap_}};
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
  double host_bytes_of_kernel_ = 0.0, host_bytes_of_overlap_ = 0.0;  ///< of search spaces, on this rank
  std::uint64_t next_random_ = 0;
  kernel_speed speed_;
  bool range_holds_ = true;
  double delta_ = options_.delta;  ///< of the sign function that is checked; where all was fixed by hand its own
  bool unsolved_ = false;
};

}  // namespace plaquette
