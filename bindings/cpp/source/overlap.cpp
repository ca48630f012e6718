// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "common/algebra/largest.hpp"
#include "common/number_text.hpp"
#include "common/stopwatch.hpp"
#include "cpu_ref/solvers/reference_sign.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

struct overlap_solver::state {
  used_links links;
  overlap_options options;
  std::shared_ptr<const plaquette::library> library{};
  std::unique_ptr<plaquette::overlap_solver> solver{};
  sign_handle sign{};
  kernel_modes h{};
  overlap_modes modes{};
  bool has_given_kernel = false;  ///< the modes of H are a caller's
  double kernel_error = 0.0;      ///< of sign(H) along the modes of H, by their residuals
  double compared_to = 1.0;       ///< accuracy to which sign(H) has been found to agree with the reference operator
  double setup_seconds = 0.0;
  busy_object busy{};
  bool is_half_moved = false;  ///< a follow has failed after H had followed

  /// Forgets what belongs to the links so far.
  void drop_modes() {
    modes = {};
    h = {};
    sign.reset();
    has_given_kernel = false;
    compared_to = 1.0;
  }
  void require_modes() const {
    if (is_half_moved)
      throw error(code::unusable_input,
                  "this overlap solver follows no links, since its last follow failed halfway: call follow(links) with "
                  "links that it can follow");
  }

  ~state() {
    const auto turn = turn_on(links.on(), options.device);
    drop_modes();
    solver.reset();
  }
};

namespace {

overlap_settings settings_of(const overlap_options& options) {
  overlap_settings settings;
  settings.rho = options.rho;
  settings.seed = options.seed;
  for (std::size_t mu = 0; mu < 4; ++mu) settings.boundary_phase[mu] = v1::inner(options.boundary_phase[mu]);
  return settings;
}

constexpr double kernel_tolerance = 1e-8;   ///< of |H v - lambda v| of a caller's modes
constexpr double orthonormal_to = 1e-11;    ///< |V^+ V - 1| of a caller's modes
constexpr double accuracy_of_modes = 1e-6;  ///< of sign(H), where modes of D are sought
constexpr int most_modes = 4096;

/// Throws error(which), if `found` is above the expected bound. NaN is.
void require_at_most(double found, double most, code which, const std::string& what) {
  if (found <= most) return;
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, ": expected at most %.2e, found %.2e", most, found);
  throw error(which, "overlap: " + what + numbers);
}

/// Returns how far sign(H) is off along modes of H, |H v_i - lambda_i v_i| = r_i: v_i has parts along modes of the
/// other sign, which are |lambda_i| + |lambda_0| away at least. So they are smaller than r_i over that, and sign(H)
/// errs by twice as much.
double error_of_modes(const kernel_modes& h) {
  double sum = 0.0;
  for (std::size_t i = 0; i < h.values.size(); ++i)
    sum += std::pow(2.0 * h.residuals[i] / (std::abs(h.values[i]) + std::abs(h.values[0])), 2);
  return std::sqrt(sum);
}

/// Compares sign(H) outside the modes of H with sign(H) of the CPU's Wilson operator, by another recurrence, on a
/// random vector. Modes and residuals are then judged with the right operator. Along the modes it is as right as they
/// are. A mode that a caller's list lacks, below the last one, shows in sign(H)^2. Does nothing if it was done as
/// accurately before. Throws if they differ by more than `delta`.
void require_sign_of_reference(overlap_solver::state& s, double delta) {
  if (s.compared_to <= delta) return;
  constexpr double rounding = 1e-12;
  const double finer = std::max(1e-13, 0.1 * delta);
  if (s.has_given_kernel) {
    require_at_most(s.kernel_error, delta, code::unusable_input,
                    "error of sign(H) that residuals of the given modes of H leave; give better ones, or a larger "
                    "tolerance");
    const double of_square = std::min(finer, 1e-10);
    const vectors_handle x = s.solver->random_vectors(2);
    const auto sign_of = [&](const vectors_handle& v) {
      return s.sign->apply(v, of_square, sign_precision::as_double);
    };
    // (s + d)^2 = 1 + s d + d s + d^2, |d| <= of_square and what rounding and the given modes leave.
    const double d = of_square + rounding + s.kernel_error + orthonormal_to;
    require_at_most(s.solver->distance(sign_of(sign_of(x)), x), (2.0 + d) * d, code::unusable_input,
                    "|sign(H)^2 x - x| of random vectors, since a mode of H below the last given one is missing");
  }
  const sign_options range = s.sign->options();
  const double off = cpu::sign_off_from_reference(*s.solver, s.sign, *s.links, kernel_action(settings_of(s.options)),
                                                  range.lowest, range.highest, delta, finer, s.links.on().get()->comm);
  require_at_most(off, delta + finer + rounding, code::not_verified,
                  "sign(H) of a random vector is off from that of the reference operator");
  s.compared_to = delta;
}

const char* name(mode_kind of) {
  return of == mode_kind::kernel ? "modes of H"
         : of == mode_kind::plus ? "modes of D, gamma_5 = +1"
                                 : "modes of D, gamma_5 = -1";
}
int chirality(mode_kind of) { return of == mode_kind::kernel ? 0 : of == mode_kind::plus ? +1 : -1; }

/// Returns the norm of the part of a vector that has the other chirality.
double part_of_other(const spinor_configuration& v, int chirality, const communicator& comm) {
  const int first = chirality > 0 ? 2 : 0;
  std::array<double, 1> sum{0.0};
  for (std::int64_t site = 0; site < v.geometry().local_volume(); ++site)
    for (int s = first; s < first + 2; ++s)
      for (int c = 0; c < colours; ++c) sum[0] += norm2(v.at_site(site)(s, c));
  comm.sum(std::span(sum));
  return std::sqrt(sum[0]);
}

/// Returns a caller's vectors. Throws error(unusable_input) if they cannot be modes, whatever the operator is.
vectors_handle vectors_of(overlap_solver::state& s, mode_kind of, const given_modes& given) {
  const lattice& on = s.links.on();
  const std::string called = name(of);
  const int count = static_cast<int>(std::min<std::size_t>(given.values.size(), most_modes + 1));
  if (count > most_modes)
    throw error(code::unusable_input, called + ": expected at most 4096, found " + std::to_string(given.values.size()));
  const auto size = [&](double value) { return of == mode_kind::kernel ? std::abs(value) : value; };
  on_all_ranks_or_none(on.get()->comm, [&] {
    for (std::size_t i = 0; i < given.values.size(); ++i)
      if (!std::isfinite(given.values[i]) || (i > 0 && size(given.values[i]) < size(given.values[i - 1])))
        throw input_error(called + ": expected finite eigenvalues that ascend, found " +
                          std::to_string(given.values[i]) + " at place " + std::to_string(i));
  });
  array_on_host<const double> array(given.vectors, given.layout.memory, on, spinor_reals * count, called.c_str());
  require_spinors(array.get(), true, count, given.layout, on, called.c_str());
  double other = 0.0;
  vectors_handle made = s.solver->import_vectors(count, chirality(of), [&](int n, spinor_configuration& to) {
    take_spinor(to, array.get(), n, given.layout);
    if (of != mode_kind::kernel) keep_largest(other, part_of_other(to, chirality(of), on.get()->comm));
  });
  require_at_most(other, orthonormal_to, code::unusable_input, called + ", part in the other chirality");
  require_at_most(s.solver->distance_from_orthonormal(made), orthonormal_to, code::unusable_input,
                  called + ", |V^+ V - 1|");
  return made;
}

/// Throws if a residual is too large.
void require_residuals(mode_kind of, const std::vector<double>& residuals, const std::vector<double>& most) {
  for (std::size_t i = 0; i < residuals.size(); ++i)
    require_at_most(residuals[i], most[i], code::unusable_input,
                    std::string(name(of)) +
                        (of == mode_kind::kernel ? ", |H v - lambda v| of number " : ", |D^+ D v - e v| of number ") +
                        std::to_string(i));
}

/// Returns the bounds of residuals of modes of D^+ D: larger ones for a chirality that was not searched.
std::vector<double> tolerances_of(const overlap_solver::state& s, int chirality) {
  const double wanted = s.options.mode_tolerance, delta = accuracy_of_residuals(wanted);
  std::vector<double> result;
  for (const double e : s.modes.of(chirality).eigenvalues)
    result.push_back((chirality == s.modes.searched ? wanted : tolerance_of_partner(e, wanted)) + 2.0 * delta);
  return result;
}

kernel_modes sought_kernel_modes(overlap_solver::state& s) {
  mode_search search{.modes = s.options.kernel_modes, .interrupted = stops_of_call::question()};
  search.progress = [](int cycle, int, double worst) { stops_of_call::note(cycle, worst); };
  const stops_of_call::part part("modes of H", search.cycles, search.tolerance);
  return s.solver->lowest_kernel_modes(search);
}

overlap_modes sought_overlap_modes(overlap_solver::state& s) {
  overlap_mode_search search{.modes = s.options.modes, .tolerance = s.options.mode_tolerance};
  search.interrupted = stops_of_call::question();
  search.progress = [](int cycle, int, double worst, double) { stops_of_call::note(cycle, worst); };
  const stops_of_call::part part("modes of D", search.cycles, search.tolerance);
  return s.solver->lowest_overlap_modes(s.sign, search);
}

kernel_modes given_kernel_modes(overlap_solver::state& s, const given_modes& given) {
  kernel_modes h;
  h.vectors = vectors_of(s, mode_kind::kernel, given);
  h.values.assign(given.values.begin(), given.values.end());
  h.sought = static_cast<int>(h.values.size());
  h.highest = 8.0 - s.options.rho;  // |H| is no larger
  h.residuals = s.solver->residuals(h);
  require_residuals(mode_kind::kernel, h.residuals, std::vector<double>(h.values.size(), kernel_tolerance));
  return h;
}

overlap_modes given_overlap_modes(overlap_solver::state& s, const overlap_modes_given& given) {
  constexpr double is_zero = 1e-8;
  const double delta = accuracy_of_residuals(s.options.mode_tolerance);
  overlap_modes& modes = s.modes;
  double last = 0.0;
  for (const mode_kind of : {mode_kind::plus, mode_kind::minus}) {
    const given_modes& from = of == mode_kind::plus ? given.plus : given.minus;
    auto& to = modes.of(chirality(of));
    to.vectors = vectors_of(s, of, from);
    to.eigenvalues.assign(from.values.begin(), from.values.end());
    (of == mode_kind::plus ? modes.zero_plus : modes.zero_minus) =
        static_cast<int>(std::ranges::count_if(from.values, [](double e) { return std::abs(e) < is_zero; }));
    if (!from.values.empty()) last = std::max(last, from.values.back());
  }
  const double bound = 0.998 * last;
  if (!(bound > is_zero))  // a zero mode that is missing would not show
    throw error(code::unusable_input, "modes of D: expected one above 0 at least, found zero modes only");
  modes.searched = modes.zero_plus == 0 && !modes.plus.eigenvalues.empty() ? +1 : -1;
  for (const mode_kind of : {mode_kind::plus, mode_kind::minus}) {
    auto& to = modes.of(chirality(of));
    if (!to.eigenvalues.empty()) to.residuals = s.solver->residuals(s.sign, chirality(of), to, delta);
    require_residuals(of, to.residuals, tolerances_of(s, chirality(of)));
  }
  for (const mode_kind of : {mode_kind::plus, mode_kind::minus}) {
    const complement_probe found =
        s.solver->probe_complement(s.sign, chirality(of), modes.of(chirality(of)).vectors, bound);
    if (!(found.lowest >= bound))
      throw error(code::unusable_input, std::string(name(of)) + ": expected all below " + std::to_string(bound) +
                                            ", found one of e <= " + std::to_string(found.lowest) + " that is missing");
    if (!found.settled)
      throw error(code::no_convergence, std::string(name(of)) + ": the search for missing modes below " +
                                            std::to_string(bound) + " ended too early; give more modes");
  }
  return modes;
}

/// Finds, or takes, the modes of H and of D, and the sign function in between.
void make_modes(overlap_solver::state& s, const overlap_modes_given& given) {
  s.has_given_kernel = !given.kernel.values.empty();
  s.h = s.has_given_kernel ? given_kernel_modes(s, given.kernel) : sought_kernel_modes(s);
  stops_of_call::leave();
  if (!s.h.complete)
    throw error(code::no_convergence, "overlap: " + std::to_string(s.h.values.size()) + " of " +
                                          std::to_string(s.options.kernel_modes) +
                                          " modes of H were found; choose fewer");
  s.kernel_error = error_of_modes(s.h);
  s.sign = s.solver->sign(s.h);
  require_sign_of_reference(s, accuracy_of_modes);
  if (!given.plus.values.empty() || !given.minus.values.empty())
    s.modes = given_overlap_modes(s, given);
  else if (s.options.modes > 0)
    s.modes = sought_overlap_modes(s);
  if (!s.modes.complete)
    throw error(code::no_convergence, "overlap: not all modes of D were found; choose fewer, or a larger tolerance");
}

}  // namespace

overlap_solver make_overlap_solver(const gauge_field& links, const overlap_options& options) {
  return make_overlap_solver(links, options, {});
}

overlap_solver make_overlap_solver(const gauge_field& links, const overlap_options& options,
                                   const overlap_modes_given& given) {
  return guarded(links.on(), [&] {
    require_any_sums(links.on(), "overlap");
    if (options.kernel_modes < 1 || options.kernel_modes > most_modes || options.modes < 0 ||
        options.modes > most_modes)
      throw error(code::unusable_input, "overlap: expected 1 to 4096 modes of H and 0 to 4096 of D, found " +
                                            std::to_string(options.kernel_modes) + " and " +
                                            std::to_string(options.modes));
    if (!(options.mode_tolerance > 0.0 && options.mode_tolerance < 1.0))
      throw error(code::unusable_input, "overlap: expected a tolerance of modes between 0 and 1");
    const stopwatch watch;
    auto s = std::make_shared<overlap_solver::state>(used_links(links, "this overlap solver"), options);
    const auto turn = turn_on(links.on(), options.device);
    s->library = open_device(links.on(), options.device);
    s->solver = s->library->make_overlap_solver(s->links.pointer(), settings_of(options));
    make_modes(*s, given);
    // A follow looks for as many modes as a caller gave.
    const auto &plus = given.plus.values, &minus = given.minus.values;
    if (s->has_given_kernel) s->options.kernel_modes = static_cast<int>(given.kernel.values.size());
    if (!plus.empty() || !minus.empty()) s->options.modes = static_cast<int>(std::max(plus.size(), minus.size()));
    s->setup_seconds = watch.seconds();
    return overlap_solver(std::move(s));
  });
}

void overlap_solver::follow(const gauge_field& links) {
  guarded(state_->links.on(), [&] {
    state& s = *state_;
    const std::lock_guard one_at_a_time(s.busy);
    const auto turn = turn_on(s.links.on(), s.options.device);
    const stopwatch watch;
    s.links.follow(links, *s.library, [&](const link_field& now) {
      const int before = s.solver->follows();
      try {
        s.solver->follow(now);
      } catch (...) {
        s.is_half_moved = s.is_half_moved || s.solver->follows() != before;
        throw;
      }
      s.is_half_moved = true;
    });
    s.drop_modes();
    make_modes(s, {});
    s.is_half_moved = false;
    s.setup_seconds = watch.seconds();
  });
}

int overlap_solver::mode_count(mode_kind of) const {
  state_->require_modes();
  const auto& values = of == mode_kind::kernel ? state_->h.values : state_->modes.of(chirality(of)).eigenvalues;
  return static_cast<int>(values.size());
}

mode_list overlap_solver::modes(mode_kind of) const {
  return guarded(on(), [&] {
    const std::lock_guard one_at_a_time(state_->busy);
    state_->require_modes();
    const auto turn = turn_on(state_->links.on(), state_->options.device);
    mode_list result;
    std::vector<double> most;
    if (of == mode_kind::kernel) {
      result.values = state_->h.values;
      result.residuals = state_->solver->residuals(state_->h);
      most.assign(result.values.size(), kernel_tolerance);
    } else {
      const auto& modes = state_->modes.of(chirality(of));
      result.values = modes.eigenvalues;
      if (!modes.eigenvalues.empty())
        result.residuals = state_->solver->residuals(state_->sign, chirality(of), modes,
                                                     accuracy_of_residuals(state_->options.mode_tolerance));
      most = tolerances_of(*state_, chirality(of));
    }
    verdict& verdict = result.verdict;
    verdict.judged = !result.values.empty();
    verdict.passed = verdict.judged;
    for (std::size_t i = 0; i < result.residuals.size(); ++i) {
      keep_largest(verdict.worst, result.residuals[i]);
      verdict.tolerance = std::max(verdict.tolerance, most[i]);
      verdict.passed = verdict.passed && result.residuals[i] <= most[i];
    }
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%s: largest residual %.2e, tolerance %.2e",
                  verdict.passed ? "passed" : "failed", verdict.worst, verdict.tolerance);
    verdict.text = verdict.judged ? numbers : "not judged: there are no modes";
    return result;
  });
}

void overlap_solver::copy_modes(mode_kind of, std::span<double> vectors, const spinor_layout& layout) const {
  guarded(state_->links.on(), [&] {
    const lattice& on = state_->links.on();
    const std::lock_guard one_at_a_time(state_->busy);
    state_->require_modes();
    const auto turn = turn_on(on, state_->options.device);
    const vectors_handle& modes = of == mode_kind::kernel ? state_->h.vectors : state_->modes.of(chirality(of)).vectors;
    array_on_host<double> to(vectors, layout.memory, on, spinor_reals * count(modes), name(of));
    require_spinors(to.get(), false, count(modes), layout, on, name(of));
    spinor_configuration vector(on.get()->geometry);
    for (int n = 0; n < count(modes); ++n) {
      modes->get(n, vector);
      put_spinor(to.get(), vector, n, layout);
    }
    to.put();
  });
}

namespace {

source_description description_of(const source& from, const extents& lattice) {
  source_description result;
  if (from.smearing_links || from.momentum != std::array<int, 3>{0, 0, 0} || from.kind == source_kind::z2 ||
      from.kind == source_kind::z4)
    throw error(code::unusable_input,
                "overlap: expected a point, a Gaussian of its own links or a wall without momentum as source");
  result.kind = from.kind == source_kind::point  ? plaquette::source_kind::point
                : from.kind == source_kind::wall ? plaquette::source_kind::wall
                                                 : plaquette::source_kind::gaussian;
  result.position = from.position;
  result.smearing_radius = from.radius;
  result.smearing_steps = from.steps;
  require_source_on(result, lattice);
  return result;
}

}  // namespace

std::vector<propagator> overlap_solver::solve(const source& from, std::span<const double> masses,
                                              const api::rule& wanted) {
  return guarded(state_->links.on(), [&] {
    require_rule(wanted);
    state_->require_modes();
    state_->links.require_current();
    const double rho = state_->options.rho;
    for (std::size_t i = 0; i < masses.size(); ++i)
      if (!(masses[i] > (i == 0 ? 0.0 : masses[i - 1]) && masses[i] < 2.0 * rho))
        throw error(code::unusable_input, "overlap: expected masses that ascend between 0 and 2 rho, found " +
                                              number_text(masses[i]) + " at place " + std::to_string(i));
    if (masses.empty()) throw error(code::unusable_input, "overlap: expected at least one mass, found none");
    const lattice& on = state_->links.on();
    const lattice_geometry& geometry = on.get()->geometry;
    const source_description description = description_of(from, geometry.global());
    const std::lock_guard one_at_a_time(state_->busy);
    const auto turn = turn_on(on, state_->options.device);
    plaquette::overlap_solver& solver = *state_->solver;
    if (wanted.judge) require_sign_of_reference(*state_, std::clamp(0.1 * wanted.tolerance, 1e-12, 1e-6));
    const stopwatch solving;
    const vectors_handle b = solver.sources(description);
    const std::vector<double> list(masses.begin(), masses.end());
    overlap_solve_rule how;
    how.tolerance = wanted.tolerance;
    how.limit = wanted.iteration_limit;
    const overlap_solutions quarks = [&] {
      stopping_rule asks;
      asks.tolerance = how.tolerance, asks.limit = how.limit;
      const stops_of_call::solve stops(asks);
      how.interrupted = asks.interrupted, how.progress = asks.progress;
      return solver.solve(state_->sign, state_->modes, b, list, how);
    }();
    const double seconds = solving.seconds();
    const bool has_stopped = stops_of_call::has_stopped();
    std::vector<propagator> result;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const stopwatch judging;
      const overlap_mass_report& told = quarks.report.masses[i];
      solve_report report;
      report.seconds = seconds / static_cast<double>(list.size());
      for (int n = 0; n < spin_colours; ++n) {
        const auto at = static_cast<std::size_t>(n);
        column_result c{.iterated = told.iterated.at(at),
                        .device = told.residual.at(at),
                        .reference = nan,
                        .tolerance = 0.0,
                        .iterations = told.iterations,
                        .passed = false,
                        .status = told.converged ? "converged"
                                  : has_stopped  ? stops_of_call::status
                                                 : "iteration limit"};
        const auto judge = [&] {
          stops_of_call::ask();
          const double accuracy = std::clamp(1e-3 * wanted.tolerance, 1e-13, 1e-6);
          c.reference =
              solver.judge(state_->sign, solver.columns(b, n, 1), solver.columns(quarks.x[i], n, 1), list[i], accuracy)
                  .residual;
          // The solver recomputed the residual to twice that accuracy, times |x| / |b| <= 1 / m. A tiny mass is no
          // excuse for a residual far above the requested tolerance.
          c.tolerance = wanted.tolerance + std::min(4.0 * accuracy / list[i], wanted.tolerance);
          c.passed = c.reference <= c.tolerance;
        };
        if (wanted.judge && !stops_of_call::unless_stopped(judge)) c.status = stops_of_call::status;
        report.columns.push_back(c);
      }
      report.judging_seconds = judging.seconds();
      result.emplace_back(std::make_shared<const propagator::state>(
          on, from, std::move(report), overlap_propagator(geometry, quarks.x[i], b, list[i], rho)));
    }
    stops_of_call::keep_results();
    return result;
  });
}

const lattice& overlap_solver::on() const { return state_->links.on(); }
int overlap_solver::index() const {
  state_->require_modes();
  return state_->modes.index();
}
std::vector<std::complex<double>> overlap_solver::eigenvalues() const {
  return guarded([&] {
    state_->require_modes();
    std::vector<std::complex<double>> values;
    for (const auto& value : overlap_eigenvalues(state_->modes)) values.emplace_back(value.re, value.im);
    return values;
  });
}
double overlap_solver::setup_seconds() const { return state_->setup_seconds; }

}  // namespace v1
}  // namespace plaquette::api
