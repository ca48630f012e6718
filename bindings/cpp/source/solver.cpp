// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "bindings/cpp/source/vectors_state.hpp"
#include "common/algebra/largest.hpp"
#include "common/krylov/precision.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/number_text.hpp"
#include "common/solvers/residual_tolerance.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/spinor_norm.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int most_columns = 1024;

using fields = std::vector<spinor_configuration>;

/// Right-hand sides of a call: columns of a source that the solver makes, vectors that are filled for it, columns of a
/// caller's array, or fields of the host.
struct right_hand_sides {
  int count;
  std::optional<source_description> made{};
  std::function<plaquette::vectors(int first, int count)> filled{};
  std::optional<spinor_array<const double>> array{};
  const fields* of_host = nullptr;
};

/// Solves a batch of right-hand sides, and keeps the solutions in the memory of its fields.
class batch_solver {
 public:
  virtual ~batch_solver() = default;
  /// Takes some of the right-hand sides. Returns false if columns of an array in memory of a GPU must be looked at.
  virtual bool take(const right_hand_sides& b, int first, int count) = 0;
  virtual schur_report solve(const stopping_rule& rule) = 0;
  /// Returns the solutions. Called once for each solve.
  virtual vectors_handle solutions() = 0;
  /// Returns the solver for vectors of the library.
  virtual vector_solver& of_vectors() = 0;
  /// Recomputes null vectors. Throws error(unusable_input) if there are none.
  virtual void renew(int iterations) = 0;
};

/// \tparam Solver  propagator_solver or multigrid_solver
template <class Solver>
class batches_of final : public batch_solver {
 public:
  batches_of(std::unique_ptr<Solver> solver, const lattice_geometry& geometry)
      : solver_(std::move(solver)), geometry_(geometry) {}

  bool take(const right_hand_sides& b, int first, int count) override {
    filled_.reset();
    if (b.filled) {
      filled_.emplace(b.filled(first, count));
      return true;
    }
    if (b.made) {
      std::vector<int> components(static_cast<std::size_t>(count));
      std::iota(components.begin(), components.end(), first);
      solver_->make_sources(*b.made, components, {1.0, 0.0});
      return true;
    }
    if (b.array) return solver_->set_sources(b.array->part(first, count));
    int room = count;
    if constexpr (std::is_same_v<Solver, plaquette::multigrid_solver>)
      solver_->resize(count);
    else
      room = solver_->settings().columns;
    if (count < room && !nothing_) nothing_.emplace(geometry_);
    for (int n = 0; n < room; ++n)
      solver_->set_source(n, n < count ? (*b.of_host)[static_cast<std::size_t>(first + n)] : *nothing_);
    return true;
  }
  schur_report solve(const stopping_rule& rule) override {
    if (!filled_) return solver_->solve(rule).report;
    plaquette::vectors x = filled_->like();
    schur_report report = solver_->solve(x, *filled_, rule);
    filled_.emplace(std::move(x));
    return report;
  }
  vectors_handle solutions() override {
    if (!filled_) return solver_->solutions();
    vectors_handle x = std::move(*filled_).freeze();
    filled_.reset();
    return x;
  }
  vector_solver& of_vectors() override { return *solver_; }
  void renew(int iterations) override {
    if constexpr (std::is_same_v<Solver, plaquette::multigrid_solver>)
      solver_->renew(iterations);
    else
      throw error(code::unusable_input, "renew: expected multigrid, found a Krylov solver, which has no null vectors");
  }

 private:
  std::unique_ptr<Solver> solver_;
  lattice_geometry geometry_;
  std::optional<plaquette::vectors> filled_{};     ///< right-hand sides that are vectors, then their solutions
  std::optional<spinor_configuration> nothing_{};  ///< fills a batch, and costs no iteration
};

}  // namespace

void require_columns(int columns, const char* what) {
  if (columns < 1 || columns > most_columns)
    throw error(code::unusable_input,
                std::string(what) + ": expected 1 to 1024 columns, found " + std::to_string(columns));
}

void require_rule(const rule& wanted) {
  if (!(wanted.tolerance > 0.0 && wanted.tolerance < 1.0))
    throw error(code::unusable_input,
                "solver: expected a tolerance between 0 and 1, found " + number_text(wanted.tolerance));
  if (wanted.iteration_limit < 1)
    throw error(code::unusable_input,
                "solver: expected at least 1 iteration, found " + std::to_string(wanted.iteration_limit));
}

struct solver::state {
  used_links links;
  fermion_action quarks;
  device where;
  int width;                     ///< right-hand sides of a batch
  plaquette::precision numbers;  ///< of the solution
  std::shared_ptr<const plaquette::library> library{};
  double setup_seconds = 0.0;
  std::unique_ptr<batch_solver> batches{};
  busy_object busy{};

  ~state() {
    const auto turn = turn_on(links.on(), where);
    batches.reset();
  }

  const lattice::state& on() const { return *links.on().get(); }

  /// All columns, not judged.
  struct solved_columns {
    solve_report report{};
    std::vector<std::size_t> updates{};  ///< of each column's residual, by its solver
    std::vector<solution_columns::batch> x{};
    bool may_stay = true;  ///< there is room on the device
  };

  /// Solves all columns.
  /// \param require_finite  throws if a number is not finite. Called on all ranks, if an array on a GPU may have such
  /// numbers
  solved_columns solve(const right_hand_sides& b, const rule& wanted, const std::function<void()>& require_finite) {
    solved_columns result;
    const stopwatch solving;
    stopping_rule how;
    how.tolerance = wanted.tolerance;
    how.limit = wanted.iteration_limit;
    const stops_of_call::solve stops(how);
    for (int first = 0; first < b.count; first += width) {
      const auto turn = turn_on(links.on(), where);
      const int count = std::min(width, b.count - first);
      std::optional<schur_report> solved;
      stops_of_call::unless_stopped([&] {
        std::array<double, 1> unclear{batches->take(b, first, count) ? 0.0 : 1.0};
        on().comm.maximum(std::span(unclear));
        if (unclear[0] > 0.0) require_finite();
        solved = batches->solve(how);
      });
      if (!solved) {
        append_zeros(result, count);
        continue;
      }
      const schur_report& report = *solved;
      result.x.push_back({batches->solutions(), count});
      append(result, report, count);
    }
    result.may_stay = library->has_room();
    result.report.seconds = solving.seconds();
    return result;
  }

  /// Appends how the first columns of a batch ended.
  static void append(solved_columns& to, const schur_report& report, int count) {
    for (int n = 0; n < count; ++n) {
      const column_report& c = report.columns[static_cast<std::size_t>(n)];
      to.report.columns.push_back({.iterated = c.residual,
                                   .device = report.true_residuals[static_cast<std::size_t>(n)],
                                   .reference = nan,
                                   .tolerance = 0.0,
                                   .iterations = c.iterations,
                                   .passed = false,
                                   .status = name(c.status)});
      to.updates.push_back(c.updates.size());
    }
  }

  /// Solves for vectors, and judges systems on all sites if the rule says so.
  solve_report solve(vectors::state& x, const vectors::state& b, const rule& wanted, const vector_system& system) {
    stopping_rule how;
    how.tolerance = wanted.tolerance;
    how.limit = wanted.iteration_limit;
    const stops_of_call::solve stops(how);
    solved_columns solved;
    const std::lock_guard one_at_a_time(busy);
    fields solutions, sources;
    {
      const auto turn = turn_on(links.on(), where);
      const stopwatch solving;
      std::optional<schur_report> report;
      stops_of_call::unless_stopped([&] {
        report = batches->of_vectors().solve(x.change(), *b.numbers, how,
                                             {.dagger = system.dagger, .squared = system.squared, .mu = system.mu});
      });
      solved.report.seconds = solving.seconds();
      if (report) {
        append(solved, *report, b.options.columns);
      } else {
        x.change().zero();
        append_stopped(solved, b.options.columns);
      }
      if (wanted.judge && b.options.sites == site_set::all && !stops_of_call::has_stopped())
        solutions = fields_of(x), sources = fields_of(b);
    }
    const stopwatch judging;
    if (!sources.empty()) {
      if (system.dagger) rotate_by_gamma_5(solutions), rotate_by_gamma_5(sources);  // gamma_5 M gamma_5 = M^+
      judge_unless_stopped(solved.report.columns, solutions, sources, wanted.tolerance, solved.updates);
    }
    solved.report.judging_seconds = judging.seconds();
    stops_of_call::keep_results();
    if (!system.dagger && b.options.sites == site_set::all)
      x.report = solved.report, x.from = b.from, x.first = b.first;
    return std::move(solved.report);
  }
  static void rotate_by_gamma_5(fields& columns) {
    for (spinor_configuration& column : columns)
#pragma omp parallel for schedule(static)
      for (std::int64_t site = 0; site < column.geometry().local_volume(); ++site)
        for (int s = 2; s < spins; ++s)
          for (int c = 0; c < colours; ++c) {
            plaquette::complex<double>& number = column.at_site(site)(s, c);
            number = {-number.re, -number.im};
          }
  }

  /// Appends columns of 0, for which the caller left the solver no time.
  void append_zeros(solved_columns& to, int count) const {
    plaquette::vectors zeros = library->make_vectors({.columns = count});
    zeros.zero();
    to.x.push_back({std::move(zeros).freeze(), count});
    append_stopped(to, count);
  }
  /// Appends how such columns ended.
  static void append_stopped(solved_columns& to, int count) {
    to.report.columns.insert(to.report.columns.end(), static_cast<std::size_t>(count),
                             {.iterated = 1.0, .device = 1.0, .reference = nan, .status = stops_of_call::status});
    to.updates.insert(to.updates.end(), static_cast<std::size_t>(count), 0);
  }

  /// Judges columns unless the caller has stopped the call, or does so meanwhile: then the remaining columns do not
  /// pass.
  void judge_unless_stopped(std::vector<column_result>& columns, std::span<spinor_configuration> x, const fields& b,
                            double tolerance, const std::vector<std::size_t>& updates) const {
    if (stops_of_call::unless_stopped([&] { judge(columns, x, b, tolerance, updates); })) return;
    for (column_result& c : columns)
      if (!(c.tolerance > 0.0)) c.status = stops_of_call::status;
  }

  /// Solves all columns, judges them if the rule says so, and returns them.
  /// \param host_sources  returns the right-hand sides for the judge
  propagator solve(const api::source& from, const right_hand_sides& b, const rule& wanted,
                   const std::function<fields()>& host_sources) {
    const std::lock_guard one_at_a_time(busy);
    solved_columns solved = solve(b, wanted, [] {});
    const stopwatch leaving;
    const auto x = std::make_shared<solution_columns>(links.on(), where, std::move(solved.x));
    if (!solved.may_stay) {
      x->on_host();
      x->leave_device();
    }
    solved.report.seconds += leaving.seconds();
    const stopwatch judging;
    if (wanted.judge && !stops_of_call::has_stopped())
      judge_unless_stopped(solved.report.columns, x->with_ghosts(), host_sources(), wanted.tolerance, solved.updates);
    solved.report.judging_seconds = judging.seconds();
    stops_of_call::keep_results();
    return propagator(std::make_shared<const propagator::state>(links.on(), from, std::move(solved.report), x));
  }

  /// Judges columns with the textbook operator.
  /// \param updates  of each column's residual, by its solver
  void judge(std::vector<column_result>& columns, std::span<spinor_configuration> x, const fields& b, double tolerance,
             const std::vector<std::size_t>& updates) const {
    const communicator& comm = on().comm;
    const std::vector<double> residuals = cpu::textbook::relative_residuals(b, x, *links, quarks, comm);
    for (std::size_t n = 0; n < b.size(); ++n, stops_of_call::ask()) {
      column_result& c = columns[n];
      c.reference = residuals[n];
      const double b_norm = cpu::norm_of(b[n], comm);
      const double roundoff = unit_roundoff(numbers);
      const double rounding =
          b_norm > 0.0 ? residual_rounding(quarks, roundoff, cpu::norm_of(x[n], comm), b_norm) : 0.0;
      c.tolerance = tolerance + residual_floor(rounding, roundings_of_solution(updates[n], c.iterations), roundoff);
      // False for NaN. x = 0 leaves a residual of 1: a tolerance that it meets is none.
      c.passed = c.reference <= c.tolerance && c.tolerance < 0.5;
    }
  }
};

namespace {

fields sources_of(const source& from, const used_links& links) {
  if (from.smearing_links) require_same_lattice(links.on(), from.smearing_links->on(), "source");
  const gauge_configuration& hops = from.smearing_links ? *from.smearing_links->get()->on_host() : *links;
  fields b;
  for (int n = 0; n < spin_colours; ++n) b.push_back(make_source(from, n, hops, links.on().get()->comm));
  return b;
}

}  // namespace

propagator solver::solve(const source& from, const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    state_->links.require_current();
    const used_links& links = state_->links;
    require_source(from, links.on().get()->geometry.global());
    if (from.smearing_links) require_same_lattice(links.on(), from.smearing_links->on(), "source");
    right_hand_sides b{.count = spin_colours, .made = library_source(from)};
    if (!b.made)
      b.filled = [&](int first, int count) {
        const auto turn = turn_on_vectors(links.on(), state_->where);
        plaquette::vectors made = state_->library->make_vectors({.columns = count, .numbers = state_->numbers});
        fill(made, from, first, links.on(), *state_->library);
        return made;
      };
    return state_->solve(from, b, wanted, [&] { return sources_of(from, links); });
  });
}

propagator solver::sequential(const propagator& through, meson gamma, int time, const std::array<int, 3>& momentum,
                              const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    state_->links.require_current();
    require_momentum(momentum, "sequential source");
    const lattice& on = state_->links.on();
    require_same_lattice(on, through.on(), "sequential source");
    const lattice_geometry& geometry = on.get()->geometry;
    if (time < 0 || time >= geometry.global()[3])
      throw error(code::unusable_input, "sequential source: expected a time from 0 to " +
                                            std::to_string(geometry.global()[3] - 1) + ", found " +
                                            std::to_string(time));
    const spin_matrix vertex = gamma_of(gamma);
    fields b = through.get()->columns();
    for (spinor_configuration& column : b)
#pragma omp parallel for schedule(static)
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
        const coordinate at = geometry.to_global(geometry.local_coordinate(site));
        spinor<double>& value = column.at_site(site);
        value = at[3] == time ? momentum_phase(momentum, at, geometry.global()) * (vertex * value) : spinor<double>{};
      }
    propagator quark = state_->solve(through.from(), {.count = static_cast<int>(b.size()), .of_host = &b}, wanted,
                                     [&] { return std::move(b); });
    const bool is_known = through.get()->source_is_known, passed = through.verdict().passed;
    if (passed && is_known) return quark;
    solve_report report = quark.report();
    if (!passed)
      for (column_result& c : report.columns) {
        c.passed = false;
        if (c.status != stops_of_call::status) c.status = "made of a propagator that did not pass";
      }
    return propagator(
        propagator::state(on, through.from(), std::move(report), quark.get()->solved).of_source(is_known));
  });
}

propagator solver::judged(const propagator& quark, const source& from, const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    state_->links.require_current();
    const used_links& links = state_->links;
    require_same_lattice(links.on(), quark.on(), "propagator");
    const fields b = sources_of(from, links);
    fields x = quark.get()->columns();  // the ghosts are filled
    solve_report report;
    const stopwatch judging;
    report.columns.assign(b.size(), {.iterated = nan,
                                     .device = nan,
                                     .reference = nan,
                                     .tolerance = 0.0,
                                     .iterations = 0,
                                     .passed = false,
                                     .status = "converged"});
    state_->judge(report.columns, x, b, wanted.tolerance, std::vector<std::size_t>(b.size(), 0));
    report.judging_seconds = judging.seconds();
    return propagator(
        std::make_shared<const propagator::state>(links.on(), from, std::move(report), quark.get()->solved));
  });
}

solve_report solver::solve(std::span<double> x, std::span<const double> b, int columns, const spinor_layout& layout,
                           const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    state_->links.require_current();
    require_columns(columns);
    const lattice& on = state_->links.on();
    array_on_host<const double> from(b, layout.memory, on, spinor_reals * columns, "right-hand sides", state_->where);
    array_on_host<double> to(x, layout.memory, on, spinor_reals * columns, "solutions", state_->where);
    const auto require_numbers = [&] {
      require_spinors(from.get(), !from.is_in_place(), columns, layout, on, "right-hand sides");
    };
    require_numbers();
    require_spinors(to.get(), false, columns, layout, on, "solutions");
    const std::lock_guard one_at_a_time(state_->busy);
    state::solved_columns solved =
        state_->solve({.count = columns, .array = from.spinors(columns, layout)}, wanted, [&] {
          if (from.is_in_place()) from.copy_to_host();
          require_numbers();
        });
    const stopwatch leaving;
    solution_columns found(on, state_->where, std::move(solved.x));
    fields sources;
    const bool is_judged = wanted.judge && !stops_of_call::has_stopped();
    if (is_judged) {  // before the solutions are written: the caller may have given one array for both
      if (from.is_in_place()) from.copy_to_host();
      sources.assign(static_cast<std::size_t>(columns), spinor_configuration(on.get()->geometry));
      for (int n = 0; n < columns; ++n) take_spinor(sources[static_cast<std::size_t>(n)], from.get(), n, layout);
    }
    found.write(to.spinors(columns, layout));
    to.put();
    solve_report report = std::move(solved.report);
    report.seconds += leaving.seconds();
    const stopwatch judging;
    if (is_judged)
      state_->judge_unless_stopped(report.columns, found.with_ghosts(), sources, wanted.tolerance, solved.updates);
    report.judging_seconds = judging.seconds();
    stops_of_call::keep_results();
    return report;
  });
}

solve_report solver::solve_vectors(vectors& x, const vectors& b, const api::rule& wanted, const vector_system& system) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    state_->links.require_current();
    return state_->solve(x.get(), b.get(), wanted, system);
  });
}

solved_vectors solver::solve_vectors(const vectors& b, const api::rule& wanted, const vector_system& system) {
  vectors x = guarded(b.on(), [&] { return vectors(std::make_shared<vectors::state>(b.on(), b.options())); });
  solve_report report = solve_vectors(x, b, wanted, system);
  return {std::move(x), std::move(report)};
}

void solver::follow(const gauge_field& links) {
  guarded(state_->links.on(), [&] {
    const std::lock_guard one_at_a_time(state_->busy);
    const auto turn = turn_on(state_->links.on(), state_->where);
    stops_of_call::keep_results();  // half of a move would leave a solver of no links
    state_->links.follow(links, *state_->library,
                         [&](const link_field& now) { state_->batches->of_vectors().follow(now); });
  });
}

void solver::renew(int iterations) {
  guarded(state_->links.on(), [&] {
    state_->links.require_current();
    const std::lock_guard one_at_a_time(state_->busy);
    const auto turn = turn_on(state_->links.on(), state_->where);
    state_->batches->renew(iterations);
  });
}

const gauge_field& solver::links() const { return state_->links.handle(); }
double solver::setup_seconds() const { return state_->setup_seconds; }

solver make_krylov_solver(const gauge_field& links, const action& quarks, const krylov_options& options) {
  return guarded(links.on(), [&] {
    require_columns(options.columns);
    if (options.device == device::gpu) require_any_sums(links.on(), "a solver on a GPU");
    const stopwatch watch;
    propagator_settings settings = settings_of(inner(quarks), inner(options.outer), inner(options.inner));
    settings.columns = options.columns;
    auto s = std::make_shared<solver::state>(used_links(links, "this solver"), settings.action, options.device,
                                             options.columns, settings.outer);
    const auto turn = turn_on(links.on(), options.device);
    s->library = open_device(links.on(), options.device);
    s->batches = std::make_unique<batches_of<plaquette::propagator_solver>>(
        s->library->make_propagator_solver(s->links.pointer(), settings), links.on().get()->geometry);
    s->setup_seconds = watch.seconds();
    return solver(std::move(s));
  });
}

namespace {

multigrid_parameters parameters_of(const multigrid_options& options, const plaquette::library& on) {
  constexpr int most_levels = 8, most_vectors = 128;
  if (options.levels < 2 || options.levels > most_levels)
    throw error(code::unusable_input, "multigrid: expected 2 to 8 levels, found " + std::to_string(options.levels));
  if (options.null_vectors < 0 || options.null_vectors > most_vectors)
    throw error(code::unusable_input,
                "multigrid: expected 0 to 128 null vectors, found " + std::to_string(options.null_vectors));
  multigrid_parameters parameters = on.default_parameters(options.levels);
  parameters.seed = options.seed;
  parameters.between_parts = [] { stops_of_call::ask_within_a_step(); };
  if (options.null_vectors > 0)
    for (coarsening& c : parameters.coarsenings) c.vectors = options.null_vectors;
  return parameters;
}

}  // namespace

solver make_multigrid_solver(const gauge_field& links, const action& quarks, const multigrid_options& options) {
  return guarded(links.on(), [&] {
    require_columns(options.columns);
    require_any_sums(links.on(), "multigrid");
    const stopwatch watch;
    multigrid_settings settings;
    settings.action = inner(quarks);
    auto s = std::make_shared<solver::state>(used_links(links, "this solver"), settings.action, options.device,
                                             options.columns, plaquette::precision::double_);
    const auto turn = turn_on(links.on(), options.device);
    const auto library = s->library = open_device(links.on(), options.device);
    settings.cycle_precision = !options.half_cycle   ? library->default_cycle_precision()
                               : *options.half_cycle ? plaquette::precision::half
                                                     : plaquette::precision::single;
    const stops_of_call::part setup("multigrid setup");
    const multigrid_parameters parameters = parameters_of(options, *library);
    auto made = library->make_multigrid_solver(s->links.pointer(), settings);
    made->set_up(parameters);
    if (options.tune.value_or(library->is_gpu())) made->tune({.columns = options.columns});
    s->batches = std::make_unique<batches_of<plaquette::multigrid_solver>>(std::move(made), links.on().get()->geometry);
    s->setup_seconds = watch.seconds();
    return solver(std::move(s));
  });
}

// ---- M itself

struct dirac_operator::state {
  used_links links;
  device where;
  std::unique_ptr<plaquette::propagator_solver> solver;
  std::unique_ptr<operator_trial> m;
  fermion_action quarks;
  std::shared_ptr<const plaquette::library> library;
  std::array<std::unique_ptr<vector_operator>, 3> of_vectors{};  ///< of each precision, made at the first use
  busy_object busy{};
  bool is_half_moved = false;  ///< a follow has failed after some of these had followed

  void require_current() const {
    if (is_half_moved)
      throw error(code::unusable_input,
                  "this operator follows no links, since its last follow failed halfway: call follow(links) with links "
                  "that it can follow");
    links.require_current();
  }

  ~state() {
    const auto turn = turn_on(links.on(), where);
    m.reset();
    for (auto& one : of_vectors) one.reset();
    solver.reset();
  }
};

dirac_operator::dirac_operator(const gauge_field& links, const action& quarks, device where)
    : state_(guarded(links.on(), [&] {
        propagator_settings settings =
            settings_of(inner(quarks), plaquette::precision::double_, plaquette::precision::double_);
        settings.columns = 1;
        const auto turn = turn_on(links.on(), where);
        used_links used(links, "this operator");
        auto library = open_device(links.on(), where);
        auto made = library->make_propagator_solver(used.pointer(), settings);
        auto m = made->full_operator(false);
        return std::make_shared<state>(std::move(used), where, std::move(made), std::move(m), settings.action,
                                       std::move(library));
      })) {}

void dirac_operator::apply(std::span<double> out, std::span<const double> in, const spinor_layout& layout,
                           bool dagger) const {
  guarded(state_->links.on(), [&] {
    state_->require_current();
    const lattice& on = state_->links.on();
    array_on_host<const double> from(in, layout.memory, on, spinor_reals, "operator's input", state_->where);
    array_on_host<double> to(out, layout.memory, on, spinor_reals, "operator's output", state_->where);
    require_spinors(from.get(), !from.is_in_place(), 1, layout, on, "operator's input");
    require_spinors(to.get(), false, 1, layout, on, "operator's output");
    {
      const std::lock_guard one_at_a_time(state_->busy);
      const auto turn = turn_on(on, state_->where);
      state_->m->set_inputs(from.spinors(1, layout));
      state_->m->apply(dagger);
      state_->m->get_outputs(to.spinors(1, layout));
    }
    to.put();
  });
}

void dirac_operator::apply_vectors(vectors& y, const vectors& x, const operator_form& form) const {
  guarded(state_->links.on(), [&] {
    state_->require_current();
    const auto numbers = inner(x.options().precision);
    const std::lock_guard one_at_a_time(state_->busy);
    const auto turn = turn_on_vectors(state_->links.on(), state_->where);
    auto& m = state_->of_vectors[static_cast<std::size_t>(x.options().precision)];
    if (!m)
      m = state_->library->make_vector_operator(state_->links.pointer(),
                                                {.action = state_->quarks, .numbers = numbers});
    m->apply(y.get().change(), *x.get().numbers, {form.dagger, form.gamma_5, form.shift, form.mu});
  });
}

void dirac_operator::follow(const gauge_field& links) {
  guarded(state_->links.on(), [&] {
    const std::lock_guard one_at_a_time(state_->busy);
    const auto turn = turn_on_vectors(state_->links.on(), state_->where);
    stops_of_call::keep_results();  // as of solvers
    state_->links.follow(links, *state_->library, [&](const link_field& now) {
      state_->is_half_moved = true;
      state_->solver->follow(now);
      for (const auto& m : state_->of_vectors)
        if (m) m->follow(now);
      state_->is_half_moved = false;
    });
  });
}

const lattice& dirac_operator::on() const { return state_->links.on(); }

}  // namespace v1
}  // namespace plaquette::api
