// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The multigrid solver of any library, written once over the names that it gives to things.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/algebra/float_pair.hpp"
#include "common/algebra/reconstruct.hpp"
#include "common/eigen/inverse_modes.hpp"
#include "common/error.hpp"
#include "common/krylov/bridge.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/krylov/mixed_solve.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/coarse_identities.hpp"
#include "common/solvers/cycle_choice.hpp"
#include "common/solvers/cycle_in_single.hpp"
#include "common/solvers/level_placement.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/null_space_study.hpp"
#include "common/solvers/solver_vectors_of.hpp"
#include "common/solvers/vectors_of.hpp"

namespace plaquette {

/// A backend that has coarse lattices. B names in addition
///
/// - `multigrid_library`, see multigrid_setup.hpp, made from (ctx, links, action, M in single precision).
/// - `links_of(links)`: what operators are made of. `stored_reals<T>(distance from SU(3))`: the numbers of a link that
/// an operator of T keeps. `distance_from_su3(gauge)`, if that depends on it.
/// - `copy_of_links`, `assign_links`, `make_diagonal`, `invert`: see propagator_backend. `blocks_behind(diagonal, ctx)`
/// makes blocks for a site_diagonal of double precision, in its memory if layouts agree.
/// - `make_source(field, column, source, component, links, ctx)`.
/// - `on_host(basis)`, `on_host(matrices)`, `from_host(ctx, null_space, is coarse)`: levels there and back.
/// - `recorded(ctx, any_operator)`: the same operator, cheaper to queue where the library records.
template <class Backend>
concept multigrid_backend =
    backend<Backend> &&
    std::constructible_from<typename Backend::multigrid_library, const typename Backend::context&,
                            const typename Backend::links&, const fermion_action&,
                            std::shared_ptr<const typename Backend::template wilson_clover<float>>> &&
    requires(const typename Backend::context& ctx, const typename Backend::links& links,
             const typename Backend::multigrid_library::basis& basis,
             const typename Backend::multigrid_library::matrices& matrices,
             typename Backend::template field<double>& b) {
      Backend::links_of(links);
      { Backend::template stored_reals<float>(0.0) } -> std::same_as<reconstruct>;
      Backend::make_source(b, 0, source_description{}, source_component{}, links, ctx);
      { Backend::on_host(basis) } -> std::convertible_to<null_space>;
      { Backend::on_host(matrices) } -> std::convertible_to<coarse_matrices>;
    };

/// See multigrid_solver.hpp.
template <multigrid_backend Backend>
class multigrid_solver_of final : public multigrid_solver {
  using context = typename Backend::context;
  using links = typename Backend::links;
  using library = typename Backend::multigrid_library;
  using outer_field = typename Backend::template field<double>;
  using single_field = typename Backend::template field<float>;
  using cycle_field = typename library::fine_field;
  template <class T>
  using full_operator = typename Backend::template wilson_clover<T>;
  template <class T>
  using schur_operator = typename Backend::template schur_wilson_clover<T>;
  using pair_of_floats = std::conditional_t<Backend::has_pairs, float_pair, double>;

 public:
  /// \param distance_from_su3  the largest of a link
  multigrid_solver_of(const context& ctx, links u, const multigrid_settings& settings, double distance_from_su3)
      : context_(ctx),
        links_(std::move(u)),
        settings_(settings),
        distance_from_su3_(distance_from_su3),
        single_(full_operator_in<float>()),
        library_(context_, links_, settings_.action, single_),
        full_(full_operator_in<double>()),
        schur_(full_, schur_kind::asymmetric),
        reference_schur_(full_, schur_kind::symmetric) {
    if (settings_.operator_precision != precision::pairs) return;
    if (settings_.direction_precision == precision::double_)
      throw input_error("multigrid: pairs of floats go with directions in single, found directions in double");
    if (!Backend::has_pairs) refuse_pairs();
    pairs_ = full_operator_in<pair_of_floats>();
    in_pairs_.emplace(pairs_, schur_kind::asymmetric);
    reference_in_pairs_.emplace(pairs_, schur_kind::symmetric);
  }

  setup_report set_up(const multigrid_parameters& wanted, const null_vector_origin& origin) override {
    require_current_links();
    start_together();
    const work_clock whole(library_);
    cycle_.reset();
    setup_ = {};
    multigrid_parameters parameters = wanted;
    parameters.additive_on.reset();  // until `tune`
    if (!origin.load) {
      multigrid_.emplace(library_, parameters);
    } else {
      stored_setup loaded = origin.load();
      std::vector<typename library::basis> vectors;
      for (null_space& v : loaded.vectors)
        vectors.push_back(Backend::from_host(context_, std::move(v), !vectors.empty()));
      multigrid_.emplace(library_, parameters, std::move(vectors), loaded.coefficients);
      setup_.mass_of_vectors = loaded.mass;
      for (int pass = 0; pass < origin.refresh; ++pass) multigrid_->improve();
    }
    offloaded_from_ = 0;
    library_.finish();
    setup_.seconds.whole = whole.seconds(), setup_.seconds.tuning = whole.tuning_seconds();
    note_setup();
    return setup_;
  }

  setup_report renew(int iterations) override {
    require_setup("a renewal");
    require_current_links();
    if (iterations < 1)
      throw input_error("multigrid: expected at least 1 inverse iteration, found " + std::to_string(iterations));
    start_together();
    const work_clock whole(library_);
    cycle_.reset();
    const bool additive = multigrid_->parameters().additive_on.has_value();
    offload(*multigrid_, nullptr, 0, false);  // levels of the other device stay those of the vectors before
    for (int pass = 0; pass < iterations; ++pass) multigrid_->improve();
    const auto there = offloaded_from_ > 0 ? hierarchy_on_host(multigrid_->parameters()) : nullptr;
    offload(*multigrid_, there, offloaded_from_, additive);
    library_.finish();
    setup_.seconds.whole += whole.seconds(), setup_.seconds.tuning += whole.tuning_seconds();
    note_setup();
    return setup_;
  }

  tuning_report tune(const tuning_choices& open) override {
    require_current_links();
    library_.finish();
    const work_clock whole(library_);
    tuning_report report;
    trial_columns_ = open.columns;
    if (open.coarsest_steps && open.trials > 0) find_coarsest_steps(report);
    improve_while_slow(report, open.trials);
    report.coarsest_steps = multigrid_->parameters().coarsest_steps;
    report.cycle = multigrid_->parameters().shape();
    if (open.shape) choose_shape(report);
    choose_division(report, open);
    place_levels(report, open);
    library_.finish();
    report.seconds.whole = whole.seconds(), report.seconds.tuning = whole.tuning_seconds();
    report.seconds.tuning = longest_tuning(report.seconds.tuning);
    std::array<double, 2> seconds{report.seconds.trial, report.seconds.whole};
    take_out_tuning(seconds, context_.comm());
    report.seconds.trial = seconds[0], report.seconds.whole = seconds[1];
    note_setup();
    return report;
  }

  setup_report setup() const override { return setup_; }

  stored_setup null_vectors() const override {
    stored_setup setup;
    for (const auto& level : multigrid_->levels()) setup.vectors.push_back(Backend::on_host(*level.vectors));
    setup.coefficients = multigrid_->coefficients();
    setup.mass = settings_.action.mass;
    return setup;
  }

  std::vector<identity_check> identities(bool with_cycle) override {
    require_current_links();
    const coarse_identities<library> of(*multigrid_);
    std::vector<identity_check> found = of.of_all_levels();
    if (with_cycle && settings_.on_host) {
      if (copy_)
        throw input_error(
            "multigrid: a cycle is checked against one of the CPU on the links that the solver was made from; "
            "expected those, found links that it has followed");
      multigrid_parameters fixed = multigrid_->parameters();
      fixed.k_tolerance = fixed.coarsest_tolerance = 0.0;
      found.push_back(of.of_cycle(*hierarchy_on_host(fixed)));
    }
    return found;
  }

  std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) override {
    require_current_links();
    const auto& cycle = cycle_for(probe.modes);
    stopping_rule rule;
    rule.tolerance = probe.tolerance;
    rule.limit = probe.iteration_limit;
    rule.guess_is_zero = true;
    rule.interrupted = interrupted;
    const auto inverse = [&](outer_field& x, const outer_field& b) {  // (gamma_5 M)^-1 = M^-1 gamma_5
      outer_field rotated = like(b);
      gamma5(rotated, b);
      solve_once(x, rotated, cycle, rule);
    };
    std::uint64_t drawn = seed() + 1000;
    const random_fill<outer_field> fill = [&](outer_field& v) {
      assign(v, library_.random_fine_field(v.columns(), drawn++));
    };
    outer_field start = outer_field(context_, field_shape{.columns = probe.modes});
    fill(start);
    {
      const auto best = lowest_in_span(hermitian_in_single{library_}, multigrid_->null_vectors(), probe.modes);
      outer_field some = view(start, 0, best.columns());
      assign(some, best);
    }
    const hermitian_in_double h{full_};
    auto modes = modes_by_inverse(h, inverse, start, probe.steps, probe.modes, fill);
    // A mode near zero needs a small residual before its sign is known.
    const auto is_vague = [&] {
      for (std::size_t k = 0; k < std::min<std::size_t>(2, modes.values.size()); ++k)
        if (modes.residuals[k] > 0.3 * std::abs(modes.values[k])) return true;
      return false;
    };
    for (int round = 1; round < probe.rounds && is_vague() && !(interrupted && interrupted()); ++round) {
      copy(start, modes.vectors);
      modes = modes_by_inverse(h, inverse, start, probe.steps, probe.modes, fill);
    }
    modes_.emplace(modes.vectors);
    return described(modes);
  }

  void get_low_mode(int number, spinor_configuration& v) const override { export_column(v, *modes_, number); }

  null_space_study study_null_space() override {
    require_current_links();
    null_space_examiner<library, outer_field> examiner(*multigrid_, *modes_);
    outer_field random(context_, field_shape{});
    assign(random, library_.random_fine_field(1, seed() + 998));
    outer_field even = schur_.even_like(random);
    copy(even, random.parity(0));
    constexpr int iterations = 12;
    null_space_study study;
    examiner.add_errors(study, schur_, cycle_for(1), even, iterations);
    examiner.add_coherence(study);
    if (context_.comm().size() == 1) study.plane = examiner.picture(context_.geometry());
    return study;
  }

  void resize(int columns) override {
    b_.emplace(context_, field_shape{.columns = columns});
    resize_solutions();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    scale(*x_, of_all_columns({nan, nan}));  // the memory may hold the solution of a solve before
  }
  void set_source(int column, const spinor_configuration& b) override { import_column(*b_, column, b); }
  bool set_sources(const spinor_array<const double>& b) override {
    resize(b.columns);
    import_array(*b_, b);
    return !b.is_on_device || all_finite(norm2(*b_));
  }
  void make_sources(const source_description& source, const std::vector<int>& components,
                    complex<double> phase) override {
    require_current_links();
    resize(static_cast<int>(components.size()));
    int column = 0;
    for (const int component : components)
      Backend::make_source(*b_, column++, source, component_of_column(component), links_, context_);
    scale(*b_, of_all_columns(phase));
  }

  void set_residuals_as_sources() override {
    require_current_links();
    outer_field r = like(*b_);
    residual(r, *full_, *x_, *b_);
    copy(*b_, r);
  }

  /// As many iterations as directions are kept: every vector of the solve is allocated then. A library that records and
  /// tunes nothing has little to warm up.
  int warm_up_iterations() const override { return Backend::records ? settings_.restart_length + 1 : 1; }

  multigrid_solve_report solve(const stopping_rule& rule) override {
    require_current_links();
    if (!given_.expired()) resize_solutions();
    return solve_with_cycle(*x_, *b_, rule);
  }

  multigrid_solve_report solve_by_bicgstab(const stopping_rule& rule, precision inner) override {
    require_current_links();
    if (!given_.expired()) resize_solutions();
    stopping_rule here = rule;
    here.check_interval = Backend::check_interval;
    here.check_lag = Backend::check_lag;
    const auto solve_with = [&](const auto& schur) {
      return inner == precision::double_  ? solve_by(schur, *x_, *b_, here, plain_bicgstab{})
             : inner == precision::single ? solve_mixed_bicgstab<float>(schur, here)
                                          : solve_mixed_bicgstab<half>(schur, here);
    };
    auto timed = reference_in_pairs_ ? solve_with(*reference_in_pairs_) : solve_with(reference_schur_);
    timed.flops = static_cast<double>(timed.report.column_applications) * reference_schur_.flops_per_site() * 0.5 *
                  static_cast<double>(context_.geometry().global_volume());
    return timed;
  }

  single_solution solve_in_single(const vectors_handle& b, const stopping_rule& sought, bool by_bicgstab) override {
    require_current_links();
    const single_field& in = fields_of<single_field>(b);
    stopping_rule rule = sought;
    rule.guess_is_zero = true;
    if (by_bicgstab) {
      // Few iterations are enough, so that checks come often.
      rule.check_interval = std::min(Backend::check_interval, 5);
      const auto solve = [&](const auto& schur, const auto& rounded) {
        return solve_even_sites(schur, rounded,
                                [&](auto& x, const auto& even) { return bicgstab(schur, x, even, rule); });
      };
      // 16 bits resolve far less than this: their rounding is 3e-5 of the largest number of a site.
      if (rule.tolerance < 1e-2) {
        if (!single_schur_) single_schur_.emplace(inner_operator<float>(), schur_kind::symmetric);
        return solve(*single_schur_, in);
      }
      if (!half_schur_) half_schur_.emplace(inner_operator<half>(), schur_kind::symmetric);
      inner_field<half> rounded = like(in, in.columns(), as<inner_field<half>>);
      convert(rounded, in);
      return solve(*half_schur_, rounded);
    }
    cycle_for(std::max(in.columns(), cycle_columns_));
    return solve_even_sites(*library_.system(), in, [&](single_field& x, const single_field& even) {
      return flexible_gcr(*library_.system(), x, even, rule, *cycle_in_single_, {settings_.restart_length, 0});
    });
  }

  std::vector<double> solution_norms() const override { return norms(*x_); }
  std::vector<double> source_norms() const override { return norms(*b_); }
  void get_solution(int column, spinor_configuration& x) const override { export_column(x, *x_, column); }
  vectors_handle solutions() override {
    vectors_handle here = handle_of(outer_field(*x_));
    given_ = here;
    return here;
  }

  solve_profile profile(const stopping_rule& rule) override {
    require_current_links();
    const auto p = multigrid_->start_profile();
    profiles_ = true;
    cycle_.reset();
    cycle_for(b_->columns());
    std::ranges::fill(p->lattices, lattice_profile{});
    const multigrid_solve_report solved = solve(rule);
    multigrid_->stop_profile();
    profiles_ = false;
    cycle_.reset();
    return {solved.seconds, solved.report.iterations(), p->lattices, work_of(solved.report, p->lattices)};
  }

 private:
  std::uint64_t seed() const { return multigrid_->parameters().seed; }

  void start_together() const {
    library_.finish();
    context_.comm().barrier();
  }

  // ---- Setup and tuning

  /// \param what  "a solve"
  void require_setup(const std::string& what) const {
    if (!multigrid_) throw input_error("multigrid: expected a setup before " + what + ": call set_up first");
  }

  double longest_tuning(double seconds) const {
    context_.comm().maximum(std::span(&seconds, 1));
    return seconds;
  }

  /// Takes over what the hierarchy says of itself.
  void note_setup() {
    const multigrid_setup_report& r = multigrid_->report();
    auto& s = setup_.seconds;
    std::array<double, 5> seconds{r.relaxation_seconds, r.refinement_seconds, r.orthonormal_seconds, r.galerkin_seconds,
                                  s.whole};
    take_out_tuning(seconds, context_.comm());
    s = {seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], longest_tuning(s.tuning)};
    setup_.replaced = r.replaced;
    setup_.dropped = r.dropped;
    setup_.stages = multigrid_->stages();
    setup_.coarsenings = multigrid_->parameters().coarsenings;
    setup_.smallest_gain = r.least_eigenvalue_estimate;
    setup_.largest_gain = r.largest_of_null_space;
  }

  /// Tries the cycle on a random right-hand side, and improves the null vectors while it converges slowly and that
  /// helps.
  void improve_while_slow(tuning_report& report, int most_improvements) {
    while (most_improvements > 0) {
      const work_clock watch(library_);
      report.trial_rates.push_back(rate_of_cycle());
      report.seconds.trial += watch.seconds();
      if (!is_worth_improving(report.trial_rates, most_improvements)) return;
      cycle_.reset();
      multigrid_->improve();
    }
  }

  /// A mode that the coarsest lattice misses may stop a solve, while the trial converges.
  void find_coarsest_steps(tuning_report& report) {
    const work_clock watch(library_);
    cycle_.reset();
    multigrid_->find_coarsest_steps();
    report.seconds.trial += watch.seconds();
  }

  /// Takes the cycle with which solves are fastest, where its steps are fixed.
  void choose_shape(tuning_report& report) {
    const multigrid_parameters& p = multigrid_->parameters();
    if (!Backend::records || p.coarsenings.size() < 2 || report.trial_rates.empty()) return;
    const work_clock watch(library_);
    std::vector<cycle_trial>& tried = report.shapes;
    tried.push_back(trial_with(report.trial_rates.back()));
    // Seconds are known before a rate is. They tell what cannot be the fastest.
    const auto attempt = [&](const cycle_shape& shape, double longest_iteration) {
      multigrid_->use_cycle(shape);
      cycle_.reset();
      cycle_trial now = trial_with(0.0);
      if (now.seconds > longest_iteration) return;
      now.rate = rate_of_cycle();
      tried.push_back(now);
    };
    while (const auto shape = next_shape(tried)) attempt(*shape, std::numeric_limits<double>::infinity());
    const cycle_trial best = fastest(tried);  // CA-GCR converges about as polynomials of as many steps do
    if (best.shape.smoother == smoother_kind::polynomial) attempt(by_ca_gcr(best.shape), 1.1 * best.seconds);
    report.cycle = fastest(tried).shape;
    multigrid_->use_cycle(report.cycle);
    cycle_.reset();
    report.seconds.trial += watch.seconds();
  }

  /// Takes the division of coarse lattices among ranks with which iterations are fastest, unless one is given.
  void choose_division(tuning_report& report, const tuning_choices& open) {
    if (context_.comm().size() == 1) return;
    const std::size_t before = multigrid_->parameters().whole_from;
    const auto take = [&](std::size_t first) {
      if (first != multigrid_->parameters().whole_from) cycle_.reset();
      multigrid_->use_whole_lattices(first);
    };
    if (open.whole_from || open.offload != coarse_device::same) {
      report.whole_from = open.whole_from.value_or(before);
      if (report.whole_from > multigrid_->levels().size())
        throw input_error("multigrid: lattice " + std::to_string(report.whole_from) +
                          " cannot be whole on every rank: there are " + std::to_string(multigrid_->levels().size()) +
                          " coarse lattices");
      return take(report.whole_from);
    }
    const work_clock watch(library_);
    std::vector<extents> lattices;
    for (const auto& level : multigrid_->levels()) lattices.push_back(level.system->geometry().global());
    for (const std::size_t first : whole_lattices_to_try(lattices)) {
      take(first);
      const bool is_timed = first == before && !report.shapes.empty();  // by the trial of shapes
      report.divisions.push_back(is_timed ? fastest(report.shapes) : trial_with(0.0));
      report.divisions.back().whole_from = first;
    }
    report.whole_from = fastest_iteration(report.divisions).whole_from;
    take(report.whole_from);
    report.seconds.trial += watch.seconds();
  }

  /// Puts the coarse lattices where they are wanted, and adds their correction or not. What is left open is tried: that
  /// is taken with which solves are fastest.
  void place_levels(tuning_report& report, const tuning_choices& open) {
    const cycle_shape before = multigrid_->parameters().shape();
    const bool wants_additive = open.correction == correction_kind::additive;
    std::vector<cycle_trial>& tried = report.placements;
    std::shared_ptr<const coarse_hierarchy> there;
    if (open.offload != coarse_device::same && settings_.on_host) there = hierarchy_on_host(multigrid_->parameters());
    std::size_t first = 0;
    bool additive = wants_additive;
    if (there && open.offload == coarse_device::host) {
      first = 1;
    } else if (there) {
      for (std::size_t level = 0; level <= multigrid_->levels().size(); ++level)
        for (const bool adds : {false, true}) {
          // Where nothing is with the CPU an additive correction has no use.
          const bool is_open = !open.correction && (!adds || level > 0);
          if (!is_open && adds != wants_additive) continue;
          offload(*multigrid_, there, level, adds);
          tried.push_back(trial_of_placement(report, level));
        }
      first = fastest(tried).offload_from_level;
      additive = fastest(tried).shape.additive_on.has_value();
    }
    offload(*multigrid_, there, first, additive);
    offloaded_from_ = first;
    report.offload_from_level = first;
    report.cycle = multigrid_->parameters().shape();
    if (first > 0 || !(report.cycle == before) || !tried.empty()) cycle_.reset();
  }
  cycle_trial trial_of_placement(tuning_report& report, std::size_t first) {
    const work_clock watch(library_);
    offloaded_from_ = first;
    cycle_.reset();
    cycle_trial tried = trial_with(rate_of_cycle());
    tried.offload_from_level = first;
    report.seconds.trial += watch.seconds();
    return tried;
  }

  std::shared_ptr<const coarse_hierarchy> hierarchy_on_host(const multigrid_parameters& parameters) const {
    std::vector<host_level> levels;
    for (const auto& level : multigrid_->levels())
      levels.push_back({Backend::on_host(*level.vectors), Backend::on_host(*level.operator_numbers)});
    return settings_.on_host(parameters, std::move(levels));
  }

  /// Returns what a cycle leaves of the residual, on average, once the first ones have taken what is easy.
  double rate_of_cycle() {
    constexpr int first = 3, last = 10;
    cycle_for(1);
    single_field b = library_.even_field(1), x = like(b);
    library_.restrict_to_even(b, library_.random_fine_field(1, seed() + 999));
    zero(x);
    stopping_rule rule;
    rule.tolerance = 1e-13;
    rule.limit = last;
    rule.guess_is_zero = true;
    rule.interrupted = [this] {
      const auto& between_parts = multigrid_->parameters().between_parts;
      if (between_parts) between_parts();
      return false;
    };
    const solve_report report =
        flexible_gcr(*library_.system(), x, b, rule, *cycle_in_single_, {settings_.restart_length, 0});
    const std::vector<double>& r = report.history.front();
    const int end = static_cast<int>(r.size()) - 1, begin = std::min(first, end - 1);
    if (begin < 0 || !(r[static_cast<std::size_t>(begin)] > 0.0)) return 0.0;
    const double fallen = r[static_cast<std::size_t>(end)] / r[static_cast<std::size_t>(begin)];
    return std::pow(fallen, 1.0 / (end - begin));
  }

  /// Returns a trial of the present cycle, of which the rate is known.
  cycle_trial trial_with(double rate) {
    cycle_trial tried{multigrid_->parameters().shape(), rate, seconds_of_iteration()};
    tried.columns = trial_columns_;
    return tried;
  }

  /// Returns seconds of the outer GCR with as many right-hand sides as will be solved at once: a cycle, and its own
  /// part, half of which is its operator.
  double seconds_of_iteration() {
    cycle_for(trial_columns_);
    cycle_field in = library_.even_field(trial_columns_), out = like(in);
    library_.restrict_to_even(in, library_.random_fine_field(trial_columns_, seed() + 995));
    return seconds_of([&] { cycle_in_single_->apply(out, in); }) +
           2.0 * seconds_of([&] { library_.system()->apply(out, in); });
  }
  /// Returns those of the fastest of three, or of one where that takes long, on the slowest rank.
  template <class Work>
  double seconds_of(const Work& work) {
    double least = 1e300;
    const int runs = trial_columns_ < 4 ? 4 : 2;
    for (int run = 0; run < runs; ++run) {
      library_.finish();
      const auto start = std::chrono::steady_clock::now();
      work();
      library_.finish();
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (run > 0) least = std::min(least, seconds);
    }
    std::array<double, 1> slowest{least};
    context_.comm().maximum(std::span(slowest));
    return slowest[0];
  }

  // ---- Cycles

  /// Returns the cycle for so many columns. Cycles are made once for a width, and run twice, outside of what is timed:
  /// a device records the second run.
  const any_operator<outer_field>& cycle_for(int columns) {
    if (!cycle_ || cycle_columns_ != columns) {
      multigrid_->fit_polynomial_smoothers();
      cycle_.reset();
      cycle_in_single_.reset();
      const outer_field shape(context_, {.sites = site_subset::even, .columns = columns});
      std::shared_ptr<const schur_operator<half>> in_half;
      if (settings_.cycle_precision == precision::half)
        in_half = std::make_shared<const schur_operator<half>>(inner_operator<half>(), schur_kind::asymmetric);
      cycle_in_single_.emplace(
          cycle_in_single<Backend>(context_, *multigrid_, in_half, columns, !profiles_ && offloaded_from_ == 0));
      cycle_.emplace(bridge<single_field>(*cycle_in_single_, shape));
      cycle_columns_ = columns;
      warm_up(*cycle_, shape);
      library_.finish();
    }
    return *cycle_;
  }
  // ---- Operators

  template <class T>
  reconstruct stored_reals() const {
    return Backend::template stored_reals<T>(distance_from_su3_);
  }
  template <class T>
  std::shared_ptr<full_operator<T>> full_operator_in() const {
    return std::make_shared<full_operator<T>>(context_, Backend::links_of(links_), settings_.action, stored_reals<T>());
  }
  template <class T>
  using inner_field = typename Backend::template field<T>;
  /// That in 16 bits is made at the first call.
  template <class T>
  std::shared_ptr<full_operator<T>> inner_operator() {
    if constexpr (std::is_same_v<T, float>) {
      return single_;
    } else {
      if (!half_) half_ = full_operator_in<T>();
      return half_;
    }
  }
  /// Returns |M v| / |v| of a random v, from which the floor of residuals follows. Made at the first call.
  double norm_of_operator() {
    if (!(operator_norm_ > 0.0)) {
      outer_field v(context_, field_shape{}), mv = like(v);
      assign(v, library_.random_fine_field(1, seed() + 997));
      full_->apply(mv, v);
      const auto both = host_values_of(std::vector{norm2(mv), norm2(v)});
      operator_norm_ = std::sqrt(both[0][0].re / both[1][0].re);
    }
    return operator_norm_;
  }
  /// gamma_5 M in double, and in the precision of the null vectors.
  struct hermitian_in_double {
    std::shared_ptr<full_operator<double>> full;
    void apply(outer_field& out, const outer_field& in) const {
      full->apply(out, in);
      gamma5(out, out);
    }
  };
  struct hermitian_in_single {
    const library& of;
    void apply(cycle_field& out, const cycle_field& in) const {
      of.apply_full(out, in);
      gamma5(out, out);
    }
  };

  // ---- Links that move

  using gauge = typename full_operator<double>::links_type;
  using blocks = typename full_operator<double>::blocks_type;

  /// A recorded cycle stays: it reads the operators' memory, the null vectors and the coarse operators.
  void follow_checked(const link_field& handle) override {
    const gauge& u = links_behind<gauge>(handle, context_.geometry(), "a solver");
    require_as_near_to_su3(u);
    if (settings_.action.has_clover()) {
      if (!diagonal_) {
        diagonal_.emplace(Backend::blocks_behind(full_->diagonal(), context_));
        inverse_diagonal_.emplace(Backend::blocks_behind(full_->inverse_diagonal(), context_));
      }
      Backend::make_diagonal(*diagonal_, u, settings_.action);
      Backend::invert(*inverse_diagonal_, *diagonal_);
      for_each_operator([&](auto& a) { a.follow(u, *diagonal_, *inverse_diagonal_); });
    } else {
      for_each_operator([&](auto& a) { a.follow(u); });
    }
    operator_norm_ = 0.0;
    if (multigrid_ && has_domains(multigrid_->parameters().smoother)) cycle_.reset();  // they have links of their own
    if (copy_) return Backend::assign_links(*copy_, u);
    copy_.emplace(Backend::copy_of_links(u));
    links_ = *copy_;
    library_.use_links(links_);
  }
  template <class Work>
  void for_each_operator(const Work& work) {
    work(*full_);
    work(*single_);
    if (half_) work(*half_);
    if (pairs_) work(*pairs_);
  }
  static bool has_domains(smoother_kind kind) {
    return kind == smoother_kind::multiplicative_schwarz || kind == smoother_kind::additive_schwarz;
  }
  /// Operators may store two rows of a link, which must cost no more digits than when they were made.
  void require_as_near_to_su3(const gauge& u) const {
    if constexpr (requires { Backend::distance_from_su3(u); }) {
      const double distance = Backend::distance_from_su3(u);
      const auto loses = [&]<class T>() {
        return stored_reals<T>() != reconstruct::none &&
               Backend::template stored_reals<T>(distance) != stored_reals<T>();
      };
      if (loses.template operator()<double>() || loses.template operator()<float>())
        throw input_error(
            "links: expected them as near to SU(3) as those that this solver was made from, found a distance of " +
            std::to_string(distance) + "; make a solver from them");
    }
  }

  // ---- Solves

  /// x = about M^-1 b by GCR with the cycle, from x = 0, without corrections of the full system.
  schur_report solve_once(outer_field& x, const outer_field& b, const any_operator<outer_field>& cycle,
                          const stopping_rule& rule) const {
    zero(x);
    return schur_solve(schur_, *full_, x, b, rule,
                       [&](const auto& a, outer_field& y, const outer_field& c, const stopping_rule& even) {
                         return flexible_gcr(a, y, c, even, cycle, {settings_.restart_length, 0});
                       },
                       {.corrections = 0});
  }

  /// Returns the solution of the full system, in single precision, from one on even sites.
  template <class Schur, field_batch Field, class Solver>
  single_solution solve_even_sites(const Schur& schur, const Field& b, const Solver& solver) const {
    Field even = schur.even_like(b), y = like(even), x = like(b);
    schur.prepare_source(even, b);
    zero(y);
    single_solution found;
    found.report = solver(y, even);
    schur.reconstruct_solution(x, y, b);
    if constexpr (std::same_as<Field, single_field>) {
      found.x = handle_of(std::move(x));
    } else {
      single_field converted = like(x, x.columns(), as<single_field>);
      convert(converted, x);
      found.x = handle_of(std::move(converted));
    }
    return found;
  }

  bool solves_even_systems() const override { return false; }
  precision numbers_of_solutions() const override { return precision::double_; }
  /// gamma_5 M gamma_5 = M^+
  schur_report solve_checked(vectors& x, const vectors& b, const stopping_rule& rule,
                             const vector_system& system) override {
    require_setup("a solve");
    outer_field& to = field_of<outer_field>(x);
    const outer_field& from = field_of<outer_field>(b);
    if (!system.dagger) return solve_with_cycle(to, from, rule).report;
    outer_field rotated = like(from);
    gamma5(rotated, from);
    schur_report report = solve_with_cycle(to, rotated, rule).report;
    gamma5(to, to);
    return report;
  }

  multigrid_solve_report solve_with_cycle(outer_field& x, const outer_field& b, const stopping_rule& rule) {
    cycle_for(b.columns());
    const flexible_gcr_parameters parameters{settings_.restart_length, 3};
    // Each update costs a third of an iteration; in between, rounding in single precision takes five digits and more.
    const reliable_updates updates{.delta = 1e-5, .longest_interval = rule.limit};
    stopping_rule here = rule;
    here.check_interval = 1;  // an iteration takes much longer than an answer
    const auto in_single = [&](const auto& a, auto& y, const auto& c, const stopping_rule& even) {
      return reliable_flexible_gcr<single_field>(a, *library_.system(), y, c, even, updates, *cycle_in_single_,
                                                 parameters);
    };
    if (in_pairs_) return solve_by(*in_pairs_, x, b, here, in_single);
    return solve_by(
        schur_, x, b, here, [&](const auto& a, outer_field& y, const outer_field& c, const stopping_rule& even) {
          return settings_.direction_precision == precision::double_ ? flexible_gcr(a, y, c, even, *cycle_, parameters)
                                                                     : in_single(a, y, c, even);
        });
  }

  /// \param schur  in double, or in pairs, to which the source is converted and from which the solution is
  template <class Schur, class Solver>
  multigrid_solve_report solve_by(const Schur& schur, outer_field& x, const outer_field& b, stopping_rule rule,
                                  const Solver& solver) {
    using field = typename Schur::full_operator::field;
    rule.guess_is_zero = true;
    const double norm = norm_of_operator();
    start_together();
    const work_clock watch(library_);
    multigrid_solve_report result;
    const auto find = [&](field& y, const field& c) {
      zero(y);
      result.report = schur_solve(schur, schur.full(), y, c, rule, solver,
                                  {.operator_norm = norm, .unit_roundoff = unit_roundoff(precision_of<field>)});
    };
    if constexpr (std::is_same_v<field, outer_field>) {
      find(x, b);
    } else {
      field y = like(x, x.columns(), as<field>), c = like(y);
      convert(c, b);
      find(y, c);
      convert(x, y);
    }
    library_.finish();
    const stretch_seconds spent = end_together(watch, context_.comm());
    result.seconds = spent.work;
    result.tuning_seconds = spent.tuning;
    return result;
  }
  /// Takes other memory for solutions, whose last ones somebody has a handle to.
  void resize_solutions() {
    x_.emplace(like(*b_));
    given_.reset();
  }
  struct plain_bicgstab {
    template <class A, class Field>
    solve_report operator()(const A& a, Field& x, const Field& b, const stopping_rule& rule) const {
      return bicgstab(a, x, b, rule);
    }
  };
  template <class Inner, class Schur>
  multigrid_solve_report solve_mixed_bicgstab(const Schur& schur, const stopping_rule& rule) {
    const schur_operator<Inner> inner(inner_operator<Inner>(), schur_kind::symmetric);
    const mixed_precision_defaults defaults = default_parameters(precision::double_, precision_of<inner_field<Inner>>);
    const reliable_updates updates{.delta = defaults.delta, .longest_interval = defaults.longest_interval};
    return solve_by(schur, *x_, *b_, rule, [&](const auto& a, auto& x, const auto& b, const stopping_rule& even) {
      return solve_mixed<inner_field<Inner>>(solver_kind::bicgstab, mixed_scheme::reliable, a, inner, x, b, even,
                                             updates);
    });
  }

  /// Returns applications and flops of a solve, from what was counted of it.
  std::vector<lattice_work> work_of(const solve_report& report, const std::vector<lattice_profile>& lattices) const {
    const multigrid_parameters& p = multigrid_->parameters();
    // A relaxation of k steps applies the operator k times, and once more for the residual that it starts from.
    const auto volume = static_cast<double>(context_.geometry().global_volume());
    const int saved = p.smoother == smoother_kind::polynomial ? 1 : 0;
    const auto of_relaxation = [saved](int steps) { return steps > 0 ? steps + 1.0 - saved : 0.0; };
    std::vector<lattice_work> work(lattices.size());
    double sites = volume, rows = 6.0;
    for (std::size_t k = 0; k < lattices.size(); ++k) {
      const auto cycles = static_cast<double>(lattices[k].cycles);
      const bool coarsest = k + 1 == lattices.size();
      // The source is prepared and the solution reconstructed once a visit of a coarse lattice: about one application.
      const double outside = k == 0 ? static_cast<double>(report.column_applications)
                                    : static_cast<double>(lattices[k].krylov_steps + lattices[k - 1].cycles);
      // An additive correction's relaxation starts from zero where there is none before it.
      const int before = multigrid_parameters::on_lattice(p.steps_before, k),
                after = multigrid_parameters::on_lattice(p.steps_after, k);
      const bool from_zero = p.additive_on == k && before == 0;
      const double of_cycle = of_relaxation(before) + of_relaxation(after) - (from_zero ? 1.0 : 0.0);
      work[k].applications = outside + (coarsest ? 0.0 : cycles * of_cycle);
      const double flops = k == 0 ? schur_.flops_per_site() * 0.5 * volume
                                  : multigrid_->levels()[k - 1].system->flops() * context_.comm().size();
      work[k].flops = work[k].applications * flops;
      if (coarsest) break;
      const coarsening& c = p.coarsenings[k];
      work[k].flops += cycles * 2.0 * 8.0 * sites * chiralities * rows * c.vectors;
      sites /= static_cast<double>(plaquette::volume(c.aggregate));
      rows = c.vectors;
    }
    return work;
  }

  std::vector<low_mode> described(const inverse_mode_set<outer_field>& modes) const {
    const outer_field& v = modes.vectors;
    outer_field rotated = like(v);
    gamma5(rotated, v);
    const auto chirality = host_values(dot(v, rotated));
    const auto& p = *multigrid_->levels().front().from_finer;
    cycle_field fine = like(v, v.columns(), as<cycle_field>), kept = like(fine);
    assign(fine, v);
    auto coarse = p.coarse_like(v.columns());
    p.restrict_to(coarse, fine);
    p.prolong(kept, coarse);
    const auto missed2 = host_values(subtract_norm2(kept, fine, kept)), all2 = host_values(norm2(fine));
    std::vector<low_mode> found;
    for (std::size_t k = 0; k < modes.values.size(); ++k)
      found.push_back({modes.values[k], modes.residuals[k], chirality[k].re, std::sqrt(missed2[k].re / all2[k].re)});
    return found;
  }

  auto of_all_columns(complex<double> number) const {
    return make_scalars(*b_, std::vector<complex<double>>(static_cast<std::size_t>(b_->columns()), number));
  }
  static std::vector<double> norms(const outer_field& x) {
    std::vector<double> all;
    for (const auto& value : host_values(norm2(x))) all.push_back(std::sqrt(value.re));
    return all;
  }

  context context_;
  links links_;
  multigrid_settings settings_;
  double distance_from_su3_;
  std::shared_ptr<full_operator<float>> single_;
  library library_;
  std::shared_ptr<full_operator<double>> full_;
  std::shared_ptr<full_operator<half>> half_;
  std::shared_ptr<full_operator<pair_of_floats>> pairs_;
  schur_operator<double> schur_, reference_schur_;
  std::optional<schur_operator<pair_of_floats>> in_pairs_, reference_in_pairs_;  ///< in place of these
  std::optional<schur_operator<float>> single_schur_;
  std::optional<schur_operator<half>> half_schur_;
  std::optional<multigrid<library>> multigrid_;
  setup_report setup_;
  std::optional<any_operator<single_field>> cycle_in_single_;
  std::optional<any_operator<outer_field>> cycle_;  ///< the same for fields in double
  int cycle_columns_ = 0, trial_columns_ = 1;
  double operator_norm_ = 0.0;
  bool profiles_ = false;
  std::size_t offloaded_from_ = 0;  ///< lattices from this one on live with the other device; 0: none
  std::optional<outer_field> b_, x_, modes_;
  std::weak_ptr<const solver_vectors> given_{};  ///< shares the memory of x_
  /// Of links that move: A and A^-1 for operators of all precisions, and the links. Made at the first follow.
  std::optional<blocks> diagonal_{}, inverse_diagonal_{};
  std::optional<decltype(Backend::copy_of_links(std::declval<const gauge&>()))> copy_{};
};

}  // namespace plaquette
