// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The calculation on any device, written once over the names that its library gives to things: modes of H, sign
/// function, modes of D, propagators, each kept in a file and checked.
#pragma once

#include <fmt/core.h>
#include <omp.h>

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

#include "common/algorithms/hermitian_modes.hpp"
#include "common/app/bit_sum.hpp"
#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/overlap/mode_checks.hpp"
#include "common/overlap/overlap_modes.hpp"
#include "common/overlap/overlap_solve.hpp"
#include "common/overlap/sign_function.hpp"
#include "cpu_ref/context.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "miniapps/overlap-propagator/mode_files.hpp"
#include "miniapps/overlap-propagator/overlap_program.hpp"
#include "miniapps/overlap-propagator/overlap_report.hpp"
#include "miniapps/overlap-propagator/rational_reference.hpp"
#include "miniapps/shared/machine_speed.hpp"
#include "miniapps/shared/operator_checks.hpp"
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
    const auto goes_on_after = [this](overlap_stage stage) { return !lacks_modes_ && options_.until > stage; };
    if (goes_on_after(overlap_stage::modes)) {
      make_sign_function();
      check_sign_function();
      if (goes_on_after(overlap_stage::sign)) find_overlap_modes();
      if (goes_on_after(overlap_stage::overlap_modes)) solve();
    }
    check_kernel();
    contract();
    return conclude();
  }

 private:
  static constexpr const char* judged_modes = "modes of D, judged";

  template <class T>
  auto make_kernel() const {
    // The third row of a link is made of the others where that costs no digit, and where memory is what counts.
    return std::make_shared<const typename Device::template hermitian_wilson<T>>(
        device_.template kernel<T>(options_.shared.action, stored_links()));
  }
  reconstruct stored_links() const {
    const double bytes = 72.0 * sizeof(double) * static_cast<double>(run_.geometry.local_volume());
    const bool in_cache = !run_.gpu && bytes < 32e6;
    return gauge_.distance_from_su3 < 1e-12 && !in_cache ? reconstruct::twelve : reconstruct::none;
  }

  /// H in each precision against the textbook, on a random vector: at all sites of small lattices, at sampled sites of
  /// others. At the end, so that it is the H of the whole run.
  void check_kernel() {
    run_.begin("comparison of H with the textbook");
    const scaling::site_sample sample(run_.geometry, false);
    const F x = random_unit_vectors(1);
    const auto check = [&](const char* precision, scaling::number_precision number, const auto& h, const auto& in) {
      auto out = like(in);
      h.apply(out, in);
      F y = like(x), psi = like(x);
      assign(y, out);
      gamma5(y, y);
      assign(psi, in);
      spinor_configuration found(run_.geometry), input(run_.geometry);
      export_column(found, y, 0);
      export_column(input, psi, 0);
      exchange_ghosts(input, run_.world);
      const scaling::difference off = scaling::compare_with_textbook(
          found, input, gauge_.links, options_.shared.action,
          {scaling::operator_kind::wilson, scaling::site_layout::full, {}}, sample, run_.world);
      const scaling::difference most =
          scaling::tolerance_of({scaling::operator_kind::wilson, scaling::site_layout::full, number, stored_links(), 1},
                                gauge_.distance_from_su3);
      run_.result.checks.add(fmt::format("H against the textbook, {}", precision), off.norm, most.norm);
      run_.result.checks.add(fmt::format("H against the textbook, {}, worst site", precision), off.worst_site,
                             most.worst_site);
    };
    check("double", scaling::number_precision::double_precision, kernel_.wide(), x);
    G x_g = like(x, 1, as<G>);
    convert(x_g, x);
    check("single", scaling::number_precision::single_precision, kernel_.narrow(), x_g);
    if (!kernel_.has_half()) return;
    auto x_l = like(x, 1, as<typename sign_type::L>);
    convert(x_l, x);
    check("half", scaling::number_precision::half_precision, kernel_.half(), x_l);
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
    record.sign_applications = kernel_.count().sign_applications - before.sign_applications;
    stages_.push_back(record);
  }

  /// Seconds of an application of H, a column, in the batches that the stages have: for predictions.
  void measure_kernel() {
    const auto measured = [this](const auto& h, auto x) {
      auto y = like(x), u = like(x), w = like(x);
      zero(u);
      zero(w);
      double least = 1e300;
      device_.finish();
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
              .narrow_of_search = std::min(seconds[3], seconds[6]),
              .many_of_twelve = seconds[2],
              .narrow_many_of_twelve = seconds[4]};
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
        if (!overlap_->of(chi).eigenvalues.empty()) gap = overlap_->of(chi).eigenvalues.back();
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
    judge_kernel_modes();
  }

  /// Restored or not. A mode is held to its residual as the search, or the file, has it: rounding alone moves that.
  void judge_kernel_modes() {
    verification& checks = run_.result.checks;
    const int lacking = options_.modes - static_cast<int>(modes_.values.size());
    // One more than --modes, sought where the range is fixed by hand, may be missing.
    const bool one_more = search_of(options_).modes > options_.modes;
    if (lacking > 0 || (!kernel_record_.complete && !one_more)) {
      checks.add("modes of H that were not found", std::max(1, lacking), 0.0);
      lacks_modes_ = true;
    }
    if (modes_.values.empty()) return;
    const std::vector<double> found = eigen_residuals(kernel_.wide(), modes_.vectors, modes_.values, width());
    worst_of_several worst;
    for (std::size_t i = 0; i < found.size(); ++i)
      worst.add(found[i], std::min(options_.mode_tolerance, 3.0 * modes_.residuals[i] + rounding_of_kernel()));
    checks.add("modes of H: |H v - lambda v|", worst.value, worst.tolerance);
    checks.add("modes of H: orthonormal", distance_from_orthonormal(modes_.vectors), rounding_of_bases());
    modes_.residuals = found;
    kernel_record_.residuals = found;
  }
  /// Of |H v| for a unit vector: a sum of 9 terms, each of some 12 numbers.
  double rounding_of_kernel() const { return 8.0 * 0x1p-53 * modes_.highest; }
  /// Of inner products of unit vectors that were made orthonormal in double precision, in a basis of hundreds.
  double rounding_of_bases() const { return 0x1p-53 * (256.0 + 0.1 * std::sqrt(24.0 * volume())); }

  /// The value that is largest in units of its tolerance; a NaN is.
  struct worst_of_several {
    double value = 0.0, tolerance = 1.0;
    bool any = false;
    void add(double v, double t) {
      if (any && (std::isnan(value) || v / t <= value / tolerance)) return;
      value = v;
      tolerance = t;
      any = true;
    }
  };

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
    throttled_checkpoint writer(run_);
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
  class throttled_checkpoint {
   public:
    explicit throttled_checkpoint(app_run& run) : run_(run) {}
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
  /// \param most  vectors of the search space
  static restart_state restart_from(const stored_state& state, int block, int most) {
    restart_state s;
    s.kept = state.integer("kept", 0, most);
    s.cycle = state.integer("cycle", 0, 1000000);
    s.values = state.reals("values", s.kept, s.kept);
    s.estimates = state.reals("estimates", s.kept, s.kept);
    const auto coupling = state.reals("coupling", 2 * s.kept * block, 2 * s.kept * block);
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
    const stored_state numbers(path, state);
    constexpr int many = 1000000;
    // A search has at most the vectors that its own command line gives it, and widens its window a few times.
    mode_search search = search_of(options_);
    search.block = numbers.integer("block", 1, 1000);
    mode_search_state s;
    s.block = search.block;
    const int allowed = std::max({sizes_of_search(search).most, search.most, 16}) * 2 + 2 * s.block;
    s.most = numbers.integer("most", 1, allowed);
    s.keep = numbers.integer("keep", 1, s.most);
    s.restart = restart_from(numbers, s.block, s.most);
    s.highest = numbers.real("highest", 1e-300, 1000.0);
    s.window = numbers.real("window", 0.0, s.highest);
    s.degree = numbers.integer("degree", 0, many);
    s.cycles = numbers.integer("cycles", 0, many);
    s.widened = numbers.integer("widened", 0, many);
    s.raised = numbers.integer("raised", 0, many);
    F basis = like(shape_, s.restart.kept + s.block);
    read_vectors(
        path, basis.columns(), state, [&](int n, const spinor_configuration& from) { import_column(basis, n, from); },
        run_.geometry, run_.world);
    resumed_ = true;
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
    const std::string& path = options_.modes_file();
    const json_document state = load_state(path, problem_of_modes());
    const stored_state numbers(path, state), record = numbers.part("record");
    constexpr int many = 1000000;
    const double bound = 8.0 - options_.rho + 1.0;
    modes_.values = record.reals("eigenvalues", 0, options_.modes, bound);
    const int count = static_cast<int>(modes_.values.size());
    modes_.residuals = record.reals("residuals", count, count);
    for (std::size_t i = 0; i < modes_.values.size(); ++i)
      if (modes_.residuals[i] < 0.0 || (i > 0 && std::abs(modes_.values[i]) < std::abs(modes_.values[i - 1])))
        throw input_error(fmt::format(
            "{}: expected |eigenvalues| in ascending order with residuals that are not negative", printable(path)));
    modes_.highest = record.real("bound", count > 0 ? std::abs(modes_.values.back()) : 1e-300, bound);
    kernel_record_ = {modes_.values,
                      modes_.residuals,
                      modes_.highest,
                      record.real("window", 0.0, bound),
                      numbers.real("lowest_of_rest", 0.0, bound),
                      record.integer("filter_degree", 0, many),
                      record.integer("block", 0, many),
                      record.integer("kept", 0, many),
                      record.integer("search_space", 0, many),
                      record.integer("cycles", 0, many),
                      record.integer("widened", 0, many),
                      record.integer("sought", 0, many),
                      record.flag("complete")};
    kernel_record_.raised = record.integer("raised", 0, many);
    kernel_record_.probing = record.real("probing", 0.0, 1.0);
    modes_.vectors = like(shape_, count);
    read_vectors(
        path, count, state, [&](int n, const spinor_configuration& from) { import_column(modes_.vectors, n, from); },
        run_.geometry, run_.world);
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

  /// Fixed by hand with its range, so that it has the error that it has.
  bool sign_is_by_hand() const {
    return options_.sign.lowest > 0.0 && options_.sign.degree + options_.sign.poles > 0 && !options_.delta_given;
  }
  /// 1 - |that function| of a number.
  static double error_at(const sign_options& options, double h) {
    if (options.method == sign_method::polynomial) {
      const double q = h / options.highest;
      const double eps = std::pow(options.lowest / options.highest, 2);
      return std::abs(1.0 - q * minimax_of_degree(options.degree, eps)(q * q));
    }
    return std::abs(1.0 - zolotarev_of_poles(options.poles, options.lowest, options.highest)(h));
  }

  /// The rest of |H| has to lie in the range. Another program's function, fixed by hand, may err a little beyond it;
  /// elsewhere nothing is computed beyond the sign function.
  void require_range(const sign_options& options) {
    // What bounds the largest |H| is 2 in 1000 above it.
    const double largest = modes_.highest / 1.002;
    const double smallest = kernel_record_.lowest_of_rest > 0.0 ? kernel_record_.lowest_of_rest
                            : modes_.values.empty()             ? 0.0
                                                                : std::abs(modes_.values.back());
    rest_lowest_ = smallest > 0.0 ? std::min(options.lowest, smallest) : options.lowest;
    rest_highest_ = std::max(options.highest, modes_.highest);
    const bool holds_largest = largest <= options.highest, holds_smallest = options.lowest <= smallest * (1.0 + 1e-8);
    constexpr double most_beyond = 0.1;
    if (!(holds_largest && holds_smallest) && sign_is_by_hand() && smallest > 0.0) {
      error_beyond_ = std::max(error_at(options, rest_lowest_), error_at(options, rest_highest_));
      if (error_beyond_ <= most_beyond) {
        if (run_.talks())
          fmt::print(
              "remark     |H| beside {} modes reaches from {:.6g} to {:.6g}, beyond --range {:g},{:g}: the sign "
              "function errs by {:.2g} there\n",
              modes_.values.size(), smallest, largest, options.lowest, options.highest, error_beyond_);
        return;
      }
    }
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
    if (sign_is_by_hand()) {
      delta_ = std::max({error, error_beyond_, 1e-13});
      // D^+ D is 2 P (1 +- sign H) P only as far as sign^2 = 1.
      solves_as_given_ = delta_ > 0.01 * options_.tolerance();
      return;
    }
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
      const sign_type finer(kernel_, modes_.vectors, modes_.values, {.lowest = rest_lowest_, .highest = rest_highest_});
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
    const double of_square = (2.0 + delta) * delta;
    checks.add("sign function: sign^2 = 1", r.square_error, of_square + 2.0 * rounding);
    checks.add("Ginsparg-Wilson relation", r.ginsparg_wilson, 2.0 * of_square + 4.0 * rounding);
    checks.add("D is normal", r.normality, 3.0 * of_square + 6.0 * rounding);
    check_against_series();
    if (volume() <= 16384.0 || options_.shared.check) check_against_rational();
    run_.stop_if_asked();
  }

  /// On lattices of any size: the modes' part of sign(H) x by their eigenvalues, the rest by a polynomial with the
  /// suite's Wilson operator on the CPU, by another recurrence. One random vector.
  void check_against_series() {
    run_.begin("comparison with a polynomial of the CPU");
    // A sign function of the CPU takes long compared with one of a GPU: there a cheaper one stands for all.
    const double delta = run_.gpu && volume() > 16384.0 ? std::max(delta_, 1e-4) : delta_;
    const F x = random_unit_vectors(1);
    F y = like(x), rest = like(x);
    sign_->apply(y, x, delta, sign_precision::wide);
    copy(rest, x);
    if (!modes_.values.empty()) {
      host_matrix c = overlaps(modes_.vectors, x);
      subtract_combinations(rest, modes_.vectors, c.numbers());
      std::vector<double> signs;
      for (const double value : modes_.values) signs.push_back(value > 0.0 ? 1.0 : -1.0);
      scale_rows(c, signs);
      subtract_combinations(y, modes_.vectors, c.numbers());
    }
    spinor_configuration psi(run_.geometry), ours(run_.geometry);
    export_column(psi, rest, 0);
    export_column(ours, y, 0);
    exchange_ghosts(psi, run_.world);
    const double finer = std::max(1e-13, 0.1 * delta);
    const spinor_configuration theirs = sign_by_chebyshev_series(
        psi, gauge_.links, options_.shared.action, rest_lowest_, rest_highest_, finer, run_.world, stop());
    run_.stop_if_asked();
    run_.result.checks.add("sign function against a polynomial of the CPU", distance(ours, theirs),
                           delta + finer + 1e-15 * std::max(sign_record_.degree, 100));
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
    const double lowest = 0.95 * (modes_.values.empty() ? rest_lowest_ : std::abs(modes_.values.front()));
    const spinor_configuration theirs = sign_by_rational_function(psi, gauge_.links, options_.shared.action, lowest,
                                                                  1.01 * modes_.highest, run_.world, stop());
    run_.stop_if_asked();
    // CG stops at a residual of 1e-12; the smallest shift's solution enters H (H^2 + s)^-1 with 1 / lowest.
    run_.result.checks.add("sign function against the rational function of the CPU", distance(ours, theirs),
                           delta_ + 2e-12 * modes_.highest / lowest);
  }
  /// |a - b|
  double distance(const spinor_configuration& a, const spinor_configuration& b) {
    std::array<double, 1> sum{0.0};
    for (std::int64_t site = 0; site < run_.geometry.local_volume(); ++site) {
      const coordinate at = run_.geometry.local_coordinate(site);
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) sum[0] += norm2(a(at)(s, c) - b(at)(s, c));
    }
    run_.world.sum(std::span(sum));
    run_.progress.clear();
    return std::sqrt(sum[0]);
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
    r.plus = overlap_->plus.eigenvalues;
    r.minus = overlap_->minus.eigenvalues;
    r.plus_residuals = overlap_->plus.residuals;
    r.minus_residuals = overlap_->minus.residuals;
    r.zero_plus = overlap_->zero_plus;
    r.zero_minus = overlap_->zero_minus;
    r.cycles = overlap_->cycles;
    r.restarts = overlap_->restarts;
    r.searched = overlap_->searched;
    r.eigenvalues = overlap_eigenvalues(*overlap_);
    if (options_.overlap_modes > 0) judge_overlap_modes();
    run_.result.observables["overlap"] = to_json(r);
    run_.result.observables["index"] = r.is_open() ? json_document(nullptr) : json_document(overlap_->index());
    if (run_.talks()) print(r);
  }

  /// Restored or not: residuals with products made here, and random vectors that would find what is missing.
  void judge_overlap_modes() {
    overlap_record& r = overlap_record_;
    verification& checks = run_.result.checks;
    const sign_type sign = sign_->near_modes();
    const int searched = overlap_->searched, found = static_cast<int>(overlap_->of(searched).eigenvalues.size());
    if (found < options_.overlap_modes || !overlap_->complete) {
      r.open = true;
      checks.add("modes of D that were not found", std::max(1, options_.overlap_modes - found), 0.0);
      lacks_modes_ = true;
      return;
    }
    const double delta = accuracy_of_residuals(options_.overlap_tolerance);
    const double last = overlap_->of(searched).eigenvalues.back(), size = 6.0 * volume();
    // Where all that were found are zero modes, there may be more.
    const int zeros = searched > 0 ? r.zero_plus : r.zero_minus;
    r.open = zeros == found;
    const double bound = 0.998 * last;
    const double steps = r.open ? 0.0 : 1.3 * steps_to_find(bound, size);
    const double predicted =
        2.0 * (r.plus.size() + r.minus.size()) * sign.polynomial(delta).degree() * speed_.many +
        4.0 * steps * sign.polynomial(1e-5).degree() * (sign.is_narrow(1e-5) ? speed_.narrow_one : speed_.one);
    std::array<double, 2> lowest{4.0, 4.0};
    bool settled = true;
    stage(judged_modes, predicted, [&] {
      for (const int chi : {+1, -1}) {
        run_.stop_if_asked();
        chiral_modes<F>& modes = overlap_->of(chi);
        modes.residuals = residuals_of_modes(sign, chi, modes, delta, width());
        if (r.open) continue;
        const complement_probe rest = probe_complement(sign, chi, modes.vectors, bound, size, random(), stop());
        lowest[chi > 0 ? 0 : 1] = rest.lowest;
        settled = settled && (rest.settled || rest.lowest < bound);
      }
      return false;
    });
    r.plus_residuals = overlap_->plus.residuals;
    r.minus_residuals = overlap_->minus.residuals;
    worst_of_several of_searched, of_partners, orthonormal;
    for (const int chi : {+1, -1}) {
      const chiral_modes<F>& modes = overlap_->of(chi);
      for (std::size_t i = 0; i < modes.eigenvalues.size(); ++i)
        if (chi == searched)
          of_searched.add(modes.residuals[i], options_.overlap_tolerance);
        else
          of_partners.add(modes.residuals[i], tolerance_of_partner(modes.eigenvalues[i], options_.overlap_tolerance,
                                                                   sign_is_by_hand() ? delta_ : 0.0));
      orthonormal.add(distance_from_orthonormal(modes.vectors), rounding_of_bases());
    }
    checks.add("modes of D: |D^+ D v - e v|", of_searched.value, of_searched.tolerance);
    if (of_partners.any)
      checks.add("modes of D, partners in the other chirality: |D^+ D v - e v|", of_partners.value,
                 of_partners.tolerance);
    checks.add("modes of D: orthonormal", orthonormal.value, orthonormal.tolerance);
    checks.add("modes of D: more than zero modes alone (or the index is open: more --overlap-modes)", !r.open);
    if (!r.open) {
      checks.add("modes of D: random vectors off them find none below the last: last / lowest",
                 bound / std::min(lowest[0], lowest[1]), 1.0);
      checks.add("modes of D: the search for such came to its end", settled);
    }
    // Those of both can cancel, but only a symmetry keeps them at zero.
    if (gauge_.plaquette.average < 1.0 - 1e-12)
      checks.add("modes of D: zero modes of one chirality only", r.zero_plus == 0 || r.zero_minus == 0);
    check_zero_modes();
  }

  /// The number of zero modes is that of the judged e, not of what a file says.
  void check_zero_modes() {
    const auto count = [&](const std::vector<double>& eigenvalues) {
      return std::ranges::count_if(eigenvalues, [](double e) { return std::abs(e) < overlap_mode_search{}.zero; });
    };
    run_.result.checks.add("modes of D: zero modes are those of e = 0",
                           count(overlap_record_.plus) == overlap_record_.zero_plus &&
                               count(overlap_record_.minus) == overlap_record_.zero_minus);
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
    throttled_checkpoint writer(run_);
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
    const stored_state numbers(path, state);
    const restart_state s = restart_from(numbers, block, sizes_of_search(overlap_search_of(options_)).most);
    chirality = numbers.integer("chirality", -1, 1);
    if (chirality == 0) throw input_error(fmt::format("{}: expected \"chirality\" 1 or -1, found 0", printable(path)));
    resumed_ = true;
    F basis = half(s.kept + block);
    read_vectors(
        path, basis.columns(), state,
        [&](int n, const spinor_configuration& from) { set_half_vector(basis, n, chirality, from); }, run_.geometry,
        run_.world);
    return {basis, s};
  }

  void store_overlap_modes() {
    json_document state = state_of(problem_of_overlap());
    const auto& o = *overlap_;
    state.update({{"plus", o.plus.eigenvalues},
                  {"plus_residuals", o.plus.residuals},
                  {"minus", o.minus.eigenvalues},
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
    const stored_state numbers(path, state);
    constexpr int many = 1000000,
                  most_zeros = 1000;  // zero modes of the other chirality are not sought by their number
    const auto load = [&](chiral_modes<F>& modes, const std::string& key, int most) {
      modes.eigenvalues = numbers.reals(key.c_str(), 0, most, 4.1);
      const int count = static_cast<int>(modes.eigenvalues.size());
      modes.residuals = numbers.reals((key + "_residuals").c_str(), count, count);
    };
    o.searched = numbers.integer("searched", -1, 1);
    load(o.plus, "plus", options_.overlap_modes + (o.searched > 0 ? 0 : most_zeros));
    load(o.minus, "minus", options_.overlap_modes + (o.searched > 0 ? most_zeros : 0));
    o.zero_plus = numbers.integer("zero_plus", 0, static_cast<int>(o.plus.eigenvalues.size()));
    o.zero_minus = numbers.integer("zero_minus", 0, static_cast<int>(o.minus.eigenvalues.size()));
    o.cycles = numbers.integer("cycles", 0, many);
    o.restarts = numbers.integer("restarts", 0, many);
    const int plus = static_cast<int>(o.plus.eigenvalues.size()), minus = static_cast<int>(o.minus.eigenvalues.size());
    o.plus.vectors = half(plus);
    o.minus.vectors = half(minus);
    read_vectors(
        path, plus + minus, state,
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
      report = solves_as_given_ ? solve_overlap_as_given(d, *overlap_, x, b, masses, rule, judging_delta())
                                : solve_overlap(d, *overlap_, x, b, masses, rule);
      return false;
    });
    const bool solved = std::ranges::all_of(report.masses, &overlap_mass_report::converged);
    if (!options_.solutions_file().empty() && !stages_.back().restored && solved) store_solutions(x, report);
    judge(d, b, x, report);
    // What was not solved, as it turned out, is solved again by the next run.
    if (unsolved_) remove(options_.solutions_file());
    source_ = std::move(b);
    solutions_ = std::move(x);
  }
  /// Accuracy of the sign function that judges solutions.
  double judging_delta() const { return std::clamp(1e-3 * options_.tolerance(), 1e-13, 1e-11); }

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
    const stored_state numbers(path, state);
    constexpr int many = 100000000;
    const int count = static_cast<int>(options_.masses.size());
    for (const stored_state& m : numbers.parts("masses", count)) {
      overlap_mass_report mass;
      mass.mass = options_.masses[report.masses.size()];
      m.real("mass", mass.mass, mass.mass);
      mass.iterations = m.integer("iterations", 0, many);
      mass.corrections = m.integer("corrections", 0, many);
      mass.iterated = m.reals("iterated", 0, 12);
      mass.residual = m.reals("residual", 12, 12);
      mass.converged = m.flag("converged");
      if (!mass.converged)
        throw input_error(fmt::format("{}: expected solutions that have converged, found others at mass {:g}",
                                      printable(path), mass.mass));
      report.masses.push_back(mass);
    }
    report.history = numbers.reals("history", 0, many);
    report.deltas = numbers.reals("deltas", 0, many);
    read_vectors(
        path, 12 * static_cast<int>(x.size()), state,
        [&](int n, const spinor_configuration& from) {
          import_column(x[static_cast<std::size_t>(n / 12)], n % 12, from);
        },
        run_.geometry, run_.world);
  }

  /// A sum over the bits of all columns of x, on this rank.
  bit_sum bits_of(const F& x) const {
    bit_sum sum;
    spinor_configuration column(run_.geometry);
    for (int c = 0; c < x.columns(); ++c) {
      export_column(column, x, c);
      add_bits(sum, column);
    }
    return sum;
  }
  void add_bits(bit_sum& sum, const spinor_configuration& column) const {
    for (std::int64_t site = 0; site < run_.geometry.local_volume(); ++site)
      sum.add(std::span(&column(run_.geometry.local_coordinate(site)), 1));
  }
  bit_sum bits_of(const cpu::propagator& columns) const {
    bit_sum sum;
    for (const spinor_configuration& column : columns) add_bits(sum, column);
    return sum;
  }

  /// S from x = D(m)^-1 b: (x - b / (2 rho)) / (1 - m / (2 rho)).
  double contact() const { return -0.5 / options_.rho; }
  double stretch(double mass) const { return 1.0 / (1.0 - 0.5 * mass / options_.rho); }

  /// The residual by D(m) with the accurate sign function, and GMOR: Re <b, S b> = m |S b|^2.
  mass_record judged(const overlap_operator<sign_type>& d, const F& b, const F& x, const overlap_mass_report& solve) {
    const double mass = solve.mass, rho = options_.rho;
    mass_record m{.solve = solve};
    m.bits = bits_of(x);
    m.mass_of_others = 0.5 * mass / rho;
    F r = like(b), dx = like(b);
    d.apply_massive(dx, x, mass, judging_delta());
    const auto r2 = host_values(subtract_norm2(r, b, dx)), n2 = host_values(norm2(b));
    for (std::size_t n = 0; n < r2.size(); ++n) {
      const double residual = std::sqrt(r2[n].re / n2[n].re);
      if (!(residual <= m.residual)) m.residual = residual;
    }
    F s = like(b);
    copy(s, x);
    axpy(s, uniform_scalars(s, contact()), b);
    scale(s, uniform_scalars(s, stretch(mass)));
    const double norm = sum_of(norm2(s)).re;
    m.condensate = sum_of(dot(b, s)).re;
    m.sum_of_squares = norm;
    if (!(mass > 0.0)) return m;
    m.gmor = std::abs(m.condensate / (mass * norm) - 1.0);
    // x has the source b - r, of which the relation is exact but for 1 - sign^2. So what r moves is known:
    F of_x = like(b);
    copy(of_x, b);
    axpy(of_x, uniform_scalars(of_x, -1.0), r);
    axpy(s, uniform_scalars(s, -contact() * stretch(mass)), r);
    const double exact = sum_of(dot(of_x, s)).re / (mass * sum_of(norm2(s)).re);
    const double moved = std::abs(m.condensate / (mass * norm) - exact);
    // Re <b, S b> - m |S b|^2 = (rho / 2) <x, (1 - sign^2) x>, |1 - sign^2| <= 2 delta.
    const double x2 = sum_of(norm2(x)).re;
    double of_sign = rho * judging_delta() * x2;
    if (solves_as_given_) {  // far larger, and known: |sign x| is |D(m) x - (rho + m/2) x| / (rho - m/2)
      axpy(dx, uniform_scalars(dx, -(rho + 0.5 * mass)), x);
      of_sign += rho * std::abs(x2 - sum_of(norm2(dx)).re / std::pow(rho - 0.5 * mass, 2));
    }
    m.gmor_tolerance = 2.0 * moved + of_sign / (mass * norm) + 64.0 * 0x1p-53;
    return m;
  }

  /// Every solution is judged, restored or not.
  void judge(const overlap_operator<sign_type>& d, const F& b, const std::vector<F>& x,
             const overlap_solve_report& report) {
    const std::vector<double>& masses = options_.masses;
    const double tolerance = options_.tolerance();
    const double applications = 24.0 * static_cast<double>(masses.size()) * sign_->polynomial(1e-11).degree();
    stage("verification", applications * speed_.many, [&] {
      for (std::size_t i = 0; i < masses.size(); ++i) {
        run_.stop_if_asked();
        masses_.push_back(judged(d, b, x[i], report.masses[i]));
      }
      return false;
    });
    verification& checks = run_.result.checks;
    for (const mass_record& m : masses_) {
      checks.add(fmt::format("residual of D({:g})", m.solve.mass), m.residual, tolerance);
      if (m.solve.mass > 0.0) checks.add(fmt::format("GMOR at mass {:g}", m.solve.mass), m.gmor, m.gmor_tolerance);
      unsolved_ = unsolved_ || !m.solve.converged || !(m.residual <= tolerance);
      double iterated = 0.0;
      for (const double residual : m.solve.iterated) iterated = std::max(iterated, residual);
      solve_record record;
      record.solver = solves_as_given_ ? "flexible gcr of D(m)" : "multi-mass cg of D^+ D";
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
  }

  /// Correlators and files of what was judged.
  void contract() {
    if (masses_.empty()) return;
    run_.begin("correlators");
    json_document list = json_document::array();
    for (std::size_t i = 0; i < masses_.size(); ++i) {
      run_.stop_if_asked();
      mass_record& m = masses_[i];
      cpu::propagator columns(12, spinor_configuration(run_.geometry));
      for (int c = 0; c < 12; ++c) export_column(columns[static_cast<std::size_t>(c)], solutions_[i], c);
      check_same_bits(run_.result.checks, fmt::format("solutions at mass {:g}", m.solve.mass), m.bits, bits_of(columns),
                      run_.world);
      spinor_configuration b(run_.geometry);
      for (int c = 0; c < 12; ++c) {
        export_column(b, *source_, c);
        spinor_configuration& s = columns[static_cast<std::size_t>(c)];
        for (std::int64_t site = 0; site < run_.geometry.local_volume(); ++site) {
          const coordinate at = run_.geometry.local_coordinate(site);
          s(at) = stretch(m.solve.mass) * (s(at) + contact() * b(at));
        }
      }
      const bit_sum contracted = bits_of(columns);
      m.pion = cpu::pion_correlator(columns, run_.world);
      m.rho = cpu::rho_correlator(columns, run_.world);
      if (!options_.propagators.empty()) write(columns, contracted, m, static_cast<int>(i));
      list.push_back(to_json(m));
    }
    run_.progress.clear();
    run_.result.observables["masses"] = list;
    run_.result.observables["pion"] = masses_.front().pion;
    run_.result.observables["rho"] = masses_.front().rho;
    run_.result.observables["source_time"] = options_.source.position[3];
    if (run_.talks()) print(masses_);
  }

  complex<double> sum_of(const typename F::scalars& numbers) const {
    complex<double> sum{};
    for (const complex<double>& n : host_values(numbers)) sum += n;
    return sum;
  }

  /// Writes a propagator, unless a check has failed by now.
  void write(const cpu::propagator& columns, const bit_sum& contracted, const mass_record& m, int number) {
    const std::string path = options_.propagator_file(number);
    check_same_bits(run_.result.checks, fmt::format("the propagator of mass {:g}", m.solve.mass), contracted,
                    bits_of(columns), run_.world);
    if (!run_.result.checks.passed()) {
      if (run_.talks())
        fmt::print("remark     {} is not written: expected a propagator that passed its checks, see below\n",
                   printable(path));
      return;
    }
    propagator_facts facts{options_.shared.action,     options_.source,
                           gamma_basis::degrand_rossi, options_.shared.gauge.describe(),
                           gauge_.plaquette.average,   {},
                           options_.tolerance()};
    facts.residuals.assign(12, m.residual);
    facts.more = {{"overlap_rho", options_.rho}, {"overlap_mass", m.solve.mass}};
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
    for (const stage_record& s : stages_)
      if (s.name != judged_modes) total += s.seconds;  // no part of the calculation
    // Stages that were read from files, or went on from some, are not measured.
    const bool whole = !resumed_ && std::ranges::none_of(stages_, &stage_record::restored);
    if (!masses_.empty() && whole) run_.result.fom.value = 3600.0 * static_cast<double>(masses_.size()) / total;
    note_figures();
    if (run_.talks()) print(stages_);
    return unsolved_ || lacks_modes_ ? exit_status::no_convergence : exit_status::success;
  }

  /// What H takes in all stages, against what the machine can give.
  void note_figures() {
    double total = 0.0, wide = 0.0, narrow = 0.0, half = 0.0;
    for (const stage_record& s : stages_) {
      total += s.seconds;
      wide += s.wide;
      narrow += s.narrow;
      half += s.half;
    }
    if (!(total > 0.0 && wide + narrow + half > 0.0)) return;
    const std::optional<cpu::context> ctx =
        run_.gpu ? std::nullopt : std::optional<cpu::context>(std::in_place, run_.geometry, run_.world);
    const double copy = run_.gpu ? run_.gpu->copy_gbytes_per_s() : copy_gbytes_per_s(*ctx);
    const auto peak = [&](bool in_double) {
      return run_.gpu    ? run_.gpu->fma_gflops(in_double)
             : in_double ? fma_gflops<double>(*ctx)
                         : fma_gflops<float>(*ctx);
    };
    const double of_double = peak(true), of_single = peak(false);
    // Of all stages: the arithmetic is 1368 flops a site, whatever the precision.
    operator_figure all = figure_of(12, sign_precision::wide);
    const double sites = volume(), flops = 1368.0 * sites;
    all.operator_name = "hermitian_wilson, all stages";
    all.seconds = {total, total, total, 1};
    all.gflops = 1e-9 * flops * (wide + narrow + half) / total;
    const double bytes = bytes_of(12, 8.0) * wide + bytes_of(12, 4.0) * narrow + bytes_of(12, 2.0) * half;
    all.gbytes_per_s = 1e-9 * bytes * sites / total;
    all.fraction_of_copy = copy > 0.0 ? all.gbytes_per_s / copy : 0.0;
    if (of_double > 0.0 && of_single > 0.0)
      all.fraction_of_fma_peak = 1e-9 * flops * (wide / of_double + (narrow + half) / of_single) / total;
    run_.result.figures.push_back(all);
    for (const bool in_double : {true, false}) {
      operator_figure one = figure_of(12, in_double ? sign_precision::wide : sign_precision::mixed);
      const double seconds = 12.0 * (in_double ? speed_.many_of_twelve : speed_.narrow_many_of_twelve);
      one.seconds = {seconds, seconds, seconds, 1};
      one.gflops = 1e-9 * flops * 12.0 / seconds;
      one.gbytes_per_s = 1e-9 * bytes_of(12, in_double ? 8.0 : 4.0) * 12.0 * sites / seconds;
      relate_to_machine(one, copy, in_double ? of_double : of_single);
      run_.result.figures.push_back(one);
    }
  }
  /// Fewest bytes a site and column of an application to a number of columns.
  double bytes_of(int columns, double real) const {
    return real * (4.0 * reals_of(stored_links()) / columns + 2.0 * 24.0);
  }
  operator_figure figure_of(int columns, sign_precision precision) const {
    operator_figure f;
    f.operator_name = "hermitian_wilson";
    f.layout = "full";
    f.precision = precision == sign_precision::wide ? "double" : "single";
    f.reconstruct = static_cast<int>(reals_of(stored_links()));
    f.rhs = columns;
    f.lattice = run_.geometry.global();
    f.device = Device::name;
    f.ranks = run_.world.size();
    f.threads = omp_get_max_threads();
    return f;
  }
  static double reals_of(reconstruct stored) { return stored == reconstruct::twelve ? 12.0 : 18.0; }

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
  double rest_lowest_ = 0.0, rest_highest_ = 0.0;  ///< |H| off the modes, and what the sign function covers
  double error_beyond_ = 0.0;                      ///< of a function fixed by hand, where |H| leaves its range
  bool solves_as_given_ = false;                   ///< the sign function is too coarse for sign^2 = 1
  bool lacks_modes_ = false;                       ///< fewer were found than were to be
  bool resumed_ = false;                           ///< a search went on from a file
  std::optional<F> source_{};                      ///< of the propagators
  std::vector<F> solutions_{};                     ///< D(m)^-1 b, as judged
  double delta_ = options_.delta;  ///< of the sign function that is checked; where all was fixed by hand its own
  bool unsolved_ = false;
};

}  // namespace plaquette
