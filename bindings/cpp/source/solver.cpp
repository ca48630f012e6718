// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "common/algebra/largest.hpp"
#include "common/algorithms/multigrid_parameters.hpp"
#include "common/algorithms/precision.hpp"
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

plaquette::precision inner(precision p) {
  switch (p) {
    case precision::double_:
      return plaquette::precision::double_;
    case precision::single:
      return plaquette::precision::single;
    case precision::half:
      return plaquette::precision::half;
  }
  throw error(code::unusable_input, "precision: expected double, single or half");
}

/// What solves a batch of right-hand sides on even sites; the solutions are fetched one by one.
class batch_solver {
 public:
  virtual ~batch_solver() = default;
  virtual schur_report solve(std::span<const spinor_configuration> b, std::span<spinor_configuration> x,
                             const stopping_rule& rule) = 0;
};

class krylov_batches final : public batch_solver {
 public:
  krylov_batches(std::unique_ptr<plaquette::propagator_solver> solver, const lattice_geometry& geometry)
      : solver_(std::move(solver)), nothing_(geometry) {}
  schur_report solve(std::span<const spinor_configuration> b, std::span<spinor_configuration> x,
                     const stopping_rule& rule) override {
    const int used = static_cast<int>(b.size());
    for (int n = 0; n < solver_->settings().columns; ++n)
      solver_->set_source(n, n < used ? b[static_cast<std::size_t>(n)] : nothing_);
    schur_report report = solver_->solve(rule).report;
    for (int n = 0; n < used; ++n) solver_->get_solution(n, x[static_cast<std::size_t>(n)]);
    return report;
  }

 private:
  std::unique_ptr<plaquette::propagator_solver> solver_;
  spinor_configuration nothing_;  ///< fills a batch, and costs no iteration
};

class multigrid_batches final : public batch_solver {
 public:
  explicit multigrid_batches(std::unique_ptr<plaquette::multigrid_solver> solver) : solver_(std::move(solver)) {}
  schur_report solve(std::span<const spinor_configuration> b, std::span<spinor_configuration> x,
                     const stopping_rule& rule) override {
    const int used = static_cast<int>(b.size());
    solver_->resize(used);
    for (int n = 0; n < used; ++n) solver_->set_source(n, b[static_cast<std::size_t>(n)]);
    schur_report report = solver_->solve(rule).report;
    for (int n = 0; n < used; ++n) solver_->get_solution(n, x[static_cast<std::size_t>(n)]);
    return report;
  }

 private:
  std::unique_ptr<plaquette::multigrid_solver> solver_;
};

}  // namespace

void require_columns(int columns) {
  if (columns < 1 || columns > most_columns)
    throw error(code::unusable_input, "solver: expected 1 to 1024 columns, found " + std::to_string(columns));
}

void require_rule(const rule& wanted) {
  if (!(wanted.tolerance > 0.0 && wanted.tolerance < 1.0))
    throw error(code::unusable_input,
                "solver: expected a tolerance between 0 and 1, found " + std::to_string(wanted.tolerance));
  if (wanted.iteration_limit < 1)
    throw error(code::unusable_input,
                "solver: expected at least 1 iteration, found " + std::to_string(wanted.iteration_limit));
}

struct solver::state {
  gauge_field links;
  fermion_action quarks;
  device where;
  int width;        ///< right-hand sides of a batch
  double roundoff;  ///< of the solution
  double setup_seconds = 0.0;
  std::unique_ptr<batch_solver> batches{};
  std::mutex busy{};

  ~state() {
    const auto turn = turn_on(links.on(), where);
    batches.reset();
  }

  const lattice::state& on() const { return *links.on().get(); }

  /// Solves all columns and judges what it returns.
  solve_report solve(fields& x, const fields& b, const rule& wanted) {
    const std::lock_guard one_at_a_time(busy);
    solve_report result;
    const stopwatch solving;
    std::vector<std::size_t> updates;
    {
      const auto turn = turn_on(links.on(), where);
      stopping_rule how;
      how.tolerance = wanted.tolerance;
      how.limit = wanted.iteration_limit;
      how.interrupted = stops_of_call::question();
      for (std::size_t first = 0; first < b.size(); first += static_cast<std::size_t>(width)) {
        const std::size_t count = std::min(static_cast<std::size_t>(width), b.size() - first);
        const schur_report report =
            batches->solve(std::span(b).subspan(first, count), std::span(x).subspan(first, count), how);
        stops_of_call::leave();
        for (std::size_t n = 0; n < count; ++n) {
          const column_report& c = report.columns[n];
          result.columns.push_back({.iterated = c.residual,
                                    .device = report.true_residuals[n],
                                    .reference = nan,
                                    .tolerance = 0.0,
                                    .iterations = c.iterations,
                                    .passed = false,
                                    .status = name(c.status)});
          updates.push_back(c.updates.size());
        }
      }
    }
    result.seconds = solving.seconds();
    const stopwatch judging;
    if (wanted.judge) judge(result.columns, x, b, wanted.tolerance, updates);
    result.judging_seconds = judging.seconds();
    return result;
  }

  /// Judges columns with the textbook operator.
  /// \param updates  of each column's residual, by its solver
  void judge(std::vector<column_result>& columns, fields& x, const fields& b, double tolerance,
             const std::vector<std::size_t>& updates) const {
    const communicator& comm = on().comm;
    const std::vector<double> residuals = cpu::textbook::relative_residuals(b, x, *links.get()->links, quarks, comm);
    for (std::size_t n = 0; n < b.size(); ++n, stops_of_call::ask()) {
      column_result& c = columns[n];
      c.reference = residuals[n];
      const double b_norm = cpu::norm_of(b[n], comm);
      const double rounding =
          b_norm > 0.0 ? residual_rounding(quarks, roundoff, cpu::norm_of(x[n], comm), b_norm) : 0.0;
      c.tolerance = tolerance + residual_floor(rounding, roundings_of_solution(updates[n], c.iterations), roundoff);
      // False for NaN. x = 0 leaves a residual of 1: a tolerance that it meets is none.
      c.passed = c.reference <= c.tolerance && c.tolerance < 0.5;
    }
  }
};

namespace {

fields sources_of(const source& from, const gauge_field& links) {
  const gauge_field& hops = from.smearing_links ? *from.smearing_links : links;
  require_same_lattice(links.on(), hops.on(), "source");
  fields b;
  for (int n = 0; n < spin_colours; ++n) b.push_back(make_source(from, n, *hops.get()->links, links.on().get()->comm));
  return b;
}

}  // namespace

propagator solver::solve(const source& from, const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    const gauge_field& links = state_->links;
    const fields b = sources_of(from, links);
    fields x(b.size(), spinor_configuration(links.on().get()->geometry));
    solve_report report = state_->solve(x, b, wanted);
    return propagator(std::make_shared<const propagator::state>(links.on(), from, std::move(report), std::move(x)));
  });
}

propagator solver::sequential(const propagator& through, meson gamma, int time, const std::array<int, 3>& momentum,
                              const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    require_momentum(momentum, "sequential source");
    const lattice& on = state_->links.on();
    require_same_lattice(on, through.on(), "sequential source");
    const lattice_geometry& geometry = on.get()->geometry;
    if (time < 0 || time >= geometry.global()[3])
      throw error(code::unusable_input, "sequential source: expected a time from 0 to " +
                                            std::to_string(geometry.global()[3] - 1) + ", found " +
                                            std::to_string(time));
    const spin_matrix vertex = gamma_of(gamma);
    fields b = through.get()->columns, x(b.size(), spinor_configuration(geometry));
    for (spinor_configuration& column : b)
#pragma omp parallel for schedule(static)
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
        const coordinate at = geometry.to_global(geometry.local_coordinate(site));
        spinor<double>& value = column.at_site(site);
        value = at[3] == time ? plane_wave(momentum, at, geometry.global()) * (vertex * value) : spinor<double>{};
      }
    solve_report report = state_->solve(x, b, wanted);
    if (!through.verdict().passed)
      for (column_result& c : report.columns) c.passed = false, c.status = "made of a propagator that did not pass";
    return propagator(std::make_shared<const propagator::state>(on, through.from(), std::move(report), std::move(x)));
  });
}

propagator solver::judged(const propagator& quark, const source& from, const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    const gauge_field& links = state_->links;
    require_same_lattice(links.on(), quark.on(), "propagator");
    const fields b = sources_of(from, links);
    fields x = quark.get()->columns;
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
    return propagator(std::make_shared<const propagator::state>(links.on(), from, std::move(report), std::move(x)));
  });
}

solve_report solver::solve(std::span<double> x, std::span<const double> b, int columns, const spinor_layout& layout,
                           const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    require_columns(columns);
    const lattice& on = state_->links.on();
    array_on_host<const double> from(b, layout.memory, on, spinor_reals * columns, "right-hand sides");
    array_on_host<double> to(x, layout.memory, on, spinor_reals * columns, "solutions");
    require_spinors(from.get(), true, columns, layout, on, "right-hand sides");
    require_spinors(to.get(), false, columns, layout, on, "solutions");
    fields sources(static_cast<std::size_t>(columns), spinor_configuration(on.get()->geometry)), solutions(sources);
    for (int n = 0; n < columns; ++n) take_spinor(sources[static_cast<std::size_t>(n)], from.get(), n, layout);
    solve_report report = state_->solve(solutions, sources, wanted);
    for (int n = 0; n < columns; ++n) put_spinor(to.get(), solutions[static_cast<std::size_t>(n)], n, layout);
    to.put();
    return report;
  });
}

const gauge_field& solver::links() const { return state_->links; }
double solver::setup_seconds() const { return state_->setup_seconds; }

solver make_propagator_solver(const gauge_field& links, const action& quarks, const krylov_options& options) {
  return guarded(links.on(), [&] {
    require_columns(options.columns);
    if (options.device == device::gpu) require_any_sums(links.on(), "a solver on a GPU");
    const stopwatch watch;
    propagator_settings settings = settings_of(inner(quarks), inner(options.outer), inner(options.inner));
    settings.columns = options.columns;
    auto s = std::make_shared<solver::state>(links, settings.action, options.device, options.columns,
                                             unit_roundoff(settings.outer));
    const auto turn = turn_on(links.on(), options.device);
    s->batches = std::make_unique<krylov_batches>(
        open_device(links.on(), options.device)->make(links.get()->links, settings), links.on().get()->geometry);
    s->setup_seconds = watch.seconds();
    return solver(std::move(s));
  });
}

namespace {

multigrid_parameters parameters_of(const multigrid_options& options, const lattice_geometry& geometry) {
  constexpr int most_levels = 8, most_vectors = 128;
  if (options.levels < 2 || options.levels > most_levels)
    throw error(code::unusable_input, "multigrid: expected 2 to 8 levels, found " + std::to_string(options.levels));
  if (options.null_vectors < 0 || options.null_vectors > most_vectors)
    throw error(code::unusable_input,
                "multigrid: expected 0 to 128 null vectors, found " + std::to_string(options.null_vectors));
  multigrid_parameters parameters = default_multigrid_parameters(geometry.global(), geometry.local(), options.levels);
  set_device_defaults(parameters, options.device == device::gpu);
  parameters.seed = options.seed;
  parameters.between_parts = [] { stops_of_call::ask(); };
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
    const bool on_gpu = options.device == device::gpu;
    settings.cycle_precision = !options.half_cycle   ? default_cycle_precision(on_gpu)
                               : *options.half_cycle ? plaquette::precision::half
                                                     : plaquette::precision::single;
    const multigrid_parameters parameters = parameters_of(options, links.on().get()->geometry);
    auto s = std::make_shared<solver::state>(links, settings.action, options.device, options.columns,
                                             unit_roundoff(plaquette::precision::double_));
    const auto turn = turn_on(links.on(), options.device);
    auto made = open_device(links.on(), options.device)->make(links.get()->links, settings);
    made->set_up(parameters);
    if (options.tune.value_or(on_gpu)) made->tune({.columns = options.columns});
    s->batches = std::make_unique<multigrid_batches>(std::move(made));
    s->setup_seconds = watch.seconds();
    return solver(std::move(s));
  });
}

// ---- M itself

struct dirac_operator::state {
  gauge_field links;
  device where;
  std::unique_ptr<plaquette::propagator_solver> solver;
  std::unique_ptr<operator_trial> m;
  std::mutex busy{};

  ~state() {
    const auto turn = turn_on(links.on(), where);
    m.reset();
    solver.reset();
  }
};

dirac_operator::dirac_operator(const gauge_field& links, const action& quarks, device where)
    : state_(guarded(links.on(), [&] {
        propagator_settings settings =
            settings_of(inner(quarks), plaquette::precision::double_, plaquette::precision::double_);
        settings.columns = 1;
        const auto turn = turn_on(links.on(), where);
        auto made = open_device(links.on(), where)->make(links.get()->links, settings);
        auto m = made->full_operator(false);
        return std::make_shared<state>(links, where, std::move(made), std::move(m));
      })) {}

void dirac_operator::apply(std::span<double> out, std::span<const double> in, const spinor_layout& layout,
                           bool dagger) const {
  guarded(state_->links.on(), [&] {
    const lattice& on = state_->links.on();
    array_on_host<const double> from(in, layout.memory, on, spinor_reals, "operator's input");
    array_on_host<double> to(out, layout.memory, on, spinor_reals, "operator's output");
    require_spinors(from.get(), true, 1, layout, on, "operator's input");
    require_spinors(to.get(), false, 1, layout, on, "operator's output");
    spinor_configuration x(on.get()->geometry), y(x);
    take_spinor(x, from.get(), 0, layout);
    {
      const std::lock_guard one_at_a_time(state_->busy);
      const auto turn = turn_on(on, state_->where);
      state_->m->set_input(0, x);
      state_->m->apply(dagger);
      state_->m->get_output(0, y);
    }
    put_spinor(to.get(), y, 0, layout);
    to.put();
  });
}

const lattice& dirac_operator::on() const { return state_->links.on(); }

}  // namespace v1
}  // namespace plaquette::api
