// SPDX-License-Identifier: BSD-3-Clause
#include "plaquette/own_operator.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "bindings/cpp/source/called_library.hpp"
#include "common/krylov/bridge.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/residual_tolerance.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/fields/spinor_norm.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

using outer_field = cpu::field<double>;
using fields = std::vector<spinor_configuration>;
constexpr double roundoff = 0x1p-53, nan = std::numeric_limits<double>::quiet_NaN();

/// A preconditioner that is none.
struct as_it_is {
  void apply(outer_field& x, const outer_field& b) const { copy(x, b); }
};

/// Returns a u + b v.
spinor_configuration combined(double a, const spinor_configuration& u, plaquette::complex<double> b,
                              const spinor_configuration& v) {
  spinor_configuration sum(u.geometry());
  for (std::int64_t site = 0; site < u.geometry().local_volume(); ++site)
    for (int k = 0; k < spin_colours; ++k) {
      const int s = k / colours, c = k % colours;
      sum.at_site(site)(s, c) = a * u.at_site(site)(s, c) + b * v.at_site(site)(s, c);
    }
  return sum;
}

}  // namespace

struct own_solver::state {
  lattice on;
  own_options options;
  std::shared_ptr<called_vectors> m;
  cpu::context context;
  called_operator<double> outer;
  std::optional<multigrid<called_library>> hierarchy{};
  std::optional<any_operator<outer_field>> cycle{};
  double norm = 0.0;  ///< of M, about
  double setup_seconds = 0.0;
  busy_object busy{};

  state(const lattice& where, own_operator by, const own_options& how)
      : on(where),
        options(how),
        m(std::make_shared<called_vectors>(where.get()->geometry, std::move(by))),
        context(where.get()->geometry, where.get()->comm, where.get()->threads),
        outer(where.get()->geometry, m) {}

  const communicator& comm() const { return on.get()->comm; }
  spinor_configuration image(const spinor_configuration& x) const {
    spinor_configuration mx(x.geometry());
    m->apply(mx, x);
    return mx;
  }

  /// Throws unless M (u + 2 i v) = M u + 2 i M v. Finds |M| by some steps of the power method.
  void require_linear() {
    const lattice_geometry& geometry = on.get()->geometry;
    spinor_configuration u = cpu::random_spinor(geometry, options.seed, 0, comm());
    const spinor_configuration v = cpu::random_spinor(geometry, options.seed, 1, comm());
    const plaquette::complex<double> factor{0.0, 2.0};
    const spinor_configuration mu = image(u), mv = image(v);
    const spinor_configuration sum = combined(1.0, mu, factor, mv);
    const double off = cpu::norm_of(combined(1.0, image(combined(1.0, u, factor, v)), {-1.0, 0.0}, sum), comm());
    const double size = cpu::norm_of(mu, comm()) + 2.0 * cpu::norm_of(mv, comm());
    constexpr double tolerance = 100.0 * roundoff;  // a sum of some hundred products a number
    if (!(std::isfinite(size) && size > 0.0 && off <= tolerance * size))
      throw error(code::unusable_input,
                  "operator: expected a linear one with finite numbers; M (u + 2 i v) differs from M u + 2 i M v by " +
                      std::to_string(off / size) + " of it");
    constexpr int steps = 6;
    for (int step = 0; step < steps; ++step) {
      const double before = cpu::norm_of(u, comm());
      u = image(u);
      norm = std::max(norm, cpu::norm_of(u, comm()) / before);
      u = combined(1.0 / cpu::norm_of(u, comm()), u, {}, u);
    }
  }

  void set_up() {
    const stopwatch watch;
    const stops_of_call::part setup("multigrid setup");
    require_linear();
    if (options.levels > 1) {
      const lattice_geometry& geometry = on.get()->geometry;
      multigrid_parameters parameters =
          default_multigrid_parameters(geometry.global(), geometry.local(), options.levels);
      parameters.seed = options.seed;
      parameters.between_parts = [] { stops_of_call::ask_within_a_step(); };
      if (options.null_vectors > 0)
        for (coarsening& c : parameters.coarsenings) c.vectors = options.null_vectors;
      hierarchy.emplace(called_library(context, m), parameters);
      require_coarse_identity();
      const outer_field shape(context, {spins, colours, site_subset::full, options.columns});
      cycle.emplace(bridge<cpu::field<float>>(hierarchy->cycle(options.columns), shape));
    }
    setup_seconds = watch.seconds();
  }

  /// Throws unless the coarse operator is P^+ M P on a random vector: it is not if M joins aggregates without a common
  /// face.
  void require_coarse_identity() {
    const auto& level = hierarchy->levels().front();
    const called_library& library = hierarchy->library();
    auto c = level.from_finer->coarse_like(1), there = like(c), here = like(c);
    library.fill_random(c, options.seed);
    auto fine = library.even_field(1), image = like(fine);
    level.from_finer->prolong(fine, c);
    library.apply_full(image, fine);
    level.from_finer->restrict_to(there, image);
    library.apply_full(here, c, *level.operator_numbers);
    const double size = std::sqrt(host_values(norm2(there))[0].re);
    const double off = std::sqrt(host_values(axpy_norm2(here, uniform_scalars(here, -1.0), there))[0].re);
    constexpr double tolerance = 1000 * 0x1p-24;  // sums of some hundred numbers in single precision
    if (!(off <= tolerance * size))
      throw error(code::unusable_input,
                  "operator: expected hops to nearest sites; its image between aggregates without a common face is " +
                      std::to_string(off / size) + " of the whole (levels = 1 solves without multigrid)");
  }

  solve_report solve(fields& x, const fields& b, const rule& wanted) {
    const std::lock_guard one_at_a_time(busy);
    solve_report result;
    const stopwatch solving;
    stopping_rule how;
    how.tolerance = wanted.tolerance;
    how.limit = wanted.iteration_limit;
    how.guess_is_zero = true;
    const stops_of_call::solve stops(how);
    const flexible_gcr_parameters parameters{options.directions, 3};
    for (std::size_t first = 0; first < b.size(); first += static_cast<std::size_t>(options.columns)) {
      const int count =
          static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(options.columns), b.size() - first));
      outer_field source(context, {spins, colours, site_subset::full, count}), solution = like(source);
      for (int n = 0; n < count; ++n) import_column(source, n, b[first + static_cast<std::size_t>(n)]);
      zero(solution);
      std::optional<plaquette::solve_report> solved;
      stops_of_call::unless_stopped([&] {
        solved = cycle ? flexible_gcr(outer, solution, source, how, *cycle, parameters)
                       : flexible_gcr(outer, solution, source, how, any_operator<outer_field>(as_it_is{}), parameters);
      });
      if (!solved) {  // x stays 0
        result.columns.insert(result.columns.end(), static_cast<std::size_t>(count),
                              {.iterated = 1.0, .device = 1.0, .reference = nan, .status = stops_of_call::status});
        continue;
      }
      const plaquette::solve_report& report = *solved;
      for (int n = 0; n < count; ++n) {
        const column_report& c = report.columns[static_cast<std::size_t>(n)];
        export_column(x[first + static_cast<std::size_t>(n)], solution, n);
        result.columns.push_back({.iterated = c.residual,
                                  .device = c.true_residual,
                                  .reference = nan,
                                  .tolerance = 0.0,
                                  .iterations = c.iterations,
                                  .passed = false,
                                  .status = name(c.status)});
      }
    }
    result.seconds = solving.seconds();
    const stopwatch judging;
    for (std::size_t n = 0; wanted.judge && n < b.size(); ++n)
      if (!stops_of_call::unless_stopped([&] {
            stops_of_call::ask();
            judge(result.columns[n], x[n], b[n], wanted.tolerance);
          }))
        result.columns[n].status = stops_of_call::status;
    result.judging_seconds = judging.seconds();
    stops_of_call::keep_results();
    return result;
  }

  void judge(column_result& c, const spinor_configuration& x, const spinor_configuration& b, double tolerance) const {
    const double b_norm = cpu::norm_of(b, comm());
    const double left = cpu::norm_of(combined(1.0, b, {-1.0, 0.0}, image(x)), comm());
    c.reference = b_norm > 0.0 ? left / b_norm : left;
    const double rounding = b_norm > 0.0 ? roundoff * norm * cpu::norm_of(x, comm()) / b_norm : 0.0;
    c.tolerance = tolerance + residual_floor(rounding, roundings_of_solution(0, c.iterations), roundoff);
    c.passed = c.reference <= c.tolerance && c.tolerance < 0.5;  // false for NaN
  }
};

own_solver::own_solver(const lattice& on, own_operator m, const own_options& options)
    : state_(guarded(on, [&] {
        constexpr int most_levels = 8, most_vectors = 128;
        if (!m) throw error(code::unusable_input, "operator: expected a function, found none");
        if (options.levels < 1 || options.levels > most_levels || options.null_vectors < 0 ||
            options.null_vectors > most_vectors || options.directions < 1 || options.directions > most_vectors)
          throw error(code::unusable_input,
                      "operator: expected 1 to 8 levels, 0 to 128 null vectors and 1 to 128 directions");
        require_columns(options.columns);
        require_any_sums(on, "an operator of one's own");
        auto s = std::make_shared<state>(on, std::move(m), options);
        s->set_up();
        return s;
      })) {}

solve_report own_solver::solve(std::span<double> x, std::span<const double> b, int columns, const spinor_layout& layout,
                               const api::rule& wanted) {
  return guarded(state_->on, [&] {
    require_rule(wanted);
    require_columns(columns);
    const lattice& on = state_->on;
    if (layout.memory == memory::device)
      throw error(code::unusable_input, "operator: expected arrays on the host, found a layout of device memory");
    require_spinors(b, true, columns, layout, on, "right-hand sides");
    require_spinors(x, false, columns, layout, on, "solutions");
    fields sources(static_cast<std::size_t>(columns), spinor_configuration(on.get()->geometry)), solutions(sources);
    for (int n = 0; n < columns; ++n) take_spinor(sources[static_cast<std::size_t>(n)], b, n, layout);
    solve_report report = state_->solve(solutions, sources, wanted);
    for (int n = 0; n < columns; ++n) put_spinor(x, solutions[static_cast<std::size_t>(n)], n, layout);
    return report;
  });
}

propagator own_solver::solve(const source& from, const api::rule& wanted) {
  return guarded(state_->on, [&] {
    require_rule(wanted);
    const lattice& on = state_->on;
    const lattice_geometry& geometry = on.get()->geometry;
    if (from.kind == source_kind::gaussian && !from.smearing_links)
      throw error(code::unusable_input, "source: a Gaussian one needs smearing_links here");
    if (from.smearing_links) require_same_lattice(on, from.smearing_links->on(), "source");
    const gauge_configuration none(geometry);
    const gauge_configuration& hops = from.smearing_links ? *from.smearing_links->get()->on_host() : none;
    fields b, x(spin_colours, spinor_configuration(geometry));
    for (int n = 0; n < spin_colours; ++n) b.push_back(make_source(from, n, hops, on.get()->comm));
    solve_report report = state_->solve(x, b, wanted);
    return propagator(std::make_shared<const propagator::state>(on, from, std::move(report), std::move(x)));
  });
}

const lattice& own_solver::on() const { return state_->on; }
int own_solver::levels() const {
  return state_->hierarchy ? 1 + static_cast<int>(state_->hierarchy->levels().size()) : 1;
}
double own_solver::setup_seconds() const { return state_->setup_seconds; }

}  // namespace v1
}  // namespace plaquette::api
