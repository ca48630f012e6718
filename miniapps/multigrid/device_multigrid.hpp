// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The engine of any device, written once over the names that its library gives to things.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/algorithms/bridge.hpp"
#include "common/algorithms/flexible_gcr.hpp"
#include "common/algorithms/inverse_modes.hpp"
#include "common/algorithms/mixed_solve.hpp"
#include "common/algorithms/multigrid_setup.hpp"
#include "common/app/timing.hpp"
#include "miniapps/multigrid/level_placement.hpp"
#include "miniapps/multigrid/setup_file.hpp"
#include "miniapps/multigrid/why_it_works.hpp"
#include "miniapps/shared/stretch_numbers.hpp"

namespace plaquette {

/// \tparam Device  names the types `field<T>`, `wilson_clover<T>`, `schur_wilson_clover<T>` and `library` (see
///                 multigrid_setup.hpp). Its constants are `look_every`, `look_behind` and `records`. Its members are
///                 `ctx`, `links` (operators are made of them), `multigrid_library(action)`,
///                 `make_source(b, place, column, source)`, `on_host(basis)`, `from_host(null_space, is coarse)`
///                 and `stored_reals<T>()` of each link in an operator of T. Where it records,
///                 `recorded(any_operator)` is the same operator, cheaper to queue.
template <class Device>
class device_multigrid final : public multigrid_engine {
  using library = typename Device::library;
  using high_field = typename Device::template field<double>;
  using single_field = typename Device::template field<float>;
  using cycle_field = typename library::quark_field;
  template <class T>
  using full_operator = typename Device::template wilson_clover<T>;
  template <class T>
  using schur_operator = typename Device::template schur_wilson_clover<T>;

 public:
  device_multigrid(Device device, const setup_origin& origin, const multigrid_options& options)
      : device_(std::move(device)),
        origin_(origin),
        options_(options),
        library_(device_.multigrid_library(options.shared.action)),
        full_(full_operator_in<double>()),
        schur_(full_, schur_kind::asymmetric),
        reference_schur_(full_, schur_kind::symmetric) {}

  setup_summary set_up() override {
    library_.finish();
    device_.ctx.comm().barrier();
    const work_clock whole(library_);
    cycle_.reset();
    setup_summary summary;
    int passes = options_.refresh;
    multigrid_parameters parameters = options_.multigrid;
    parameters.additive_on.reset();  // until `place`
    if (options_.load_setup.empty()) {
      multigrid_.emplace(library_, parameters);
      passes = 0;
    } else {
      stored_setup loaded = read_setup(options_.load_setup, origin_, device_.ctx.geometry(), device_.ctx.comm());
      std::vector<typename library::basis> vectors;
      for (null_space& v : loaded.vectors) vectors.push_back(device_.from_host(v, !vectors.empty()));
      multigrid_.emplace(library_, parameters, std::move(vectors), loaded.coefficients);
      summary.mass_of_vectors = loaded.mass;
    }
    for (int pass = 0; pass < passes; ++pass) multigrid_->improve();
    some_on_cpu_ = false;
    try_cycle(summary);
    try_shapes(summary);
    place(summary);
    library_.finish();
    const multigrid_setup_report& r = multigrid_->report();
    std::array<double, 7> seconds{r.relaxation_seconds,  r.refinement_seconds,  r.orthonormal_seconds,
                                  r.galerkin_seconds,    summary.seconds.trial, whole.seconds(),
                                  whole.tuning_seconds()};
    device_.ctx.comm().maximum(std::span(seconds));
    summary.seconds = {seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], seconds[5], seconds[6]};
    summary.replaced = r.replaced;
    summary.dropped = r.dropped;
    summary.coarsenings = multigrid_->parameters().coarsenings;
    summary.smallest_gain = r.least_eigenvalue_estimate;
    summary.largest_gain = r.largest_of_null_space;
    return summary;
  }

  void save_setup(const std::string& path, bool force) override {
    stored_setup setup;
    for (const auto& level : multigrid_->levels()) setup.vectors.push_back(device_.on_host(*level.vectors));
    setup.coefficients = multigrid_->coefficients();
    write_setup(path, force, setup, origin_, device_.ctx.geometry(), device_.ctx.comm());
  }

  std::vector<identity> identities(bool with_cycle) override {
    std::vector<identity> found;
    std::size_t number = 0;
    for (const auto& level : multigrid_->levels()) {
      auto c = level.from_finer->coarse_like(1);
      library_.fill_random(c, options_.shared.seed + ++number);
      if (number == 1) {
        add_identities(found, number, c, library_.random_quarks(1, 1),
                       [&](cycle_field& out, const cycle_field& in) { library_.apply_full(out, in); });
      } else {
        const auto& finer = multigrid_->levels()[number - 2];
        using field = std::remove_cvref_t<decltype(c)>;
        add_identities(found, number, c, finer.system->full_field(1),
                       [&](field& out, const field& in) { library_.apply_full(out, in, *finer.operator_numbers); });
      }
    }
    if constexpr (Device::records)
      if (with_cycle) found.push_back(cycle_of_both_libraries());
    return found;
  }

  std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) override {
    const auto& cycle = cycle_for(probe.modes);
    stopping_rule rule;
    rule.tolerance = probe.tolerance;
    rule.limit = probe.iteration_limit;
    rule.guess_is_zero = true;
    rule.interrupted = interrupted;
    const auto inverse = [&](high_field& x, const high_field& b) {  // (gamma_5 M)^-1 = M^-1 gamma_5
      high_field turned = like(b);
      gamma5(turned, b);
      solve_once(x, turned, cycle, rule);
    };
    std::uint64_t drawn = options_.shared.seed + 1000;
    const random_fill<high_field> fill = [&](high_field& v) {
      assign(v, library_.random_quarks(v.columns(), drawn++));
    };
    high_field start = high_field(device_.ctx, field_shape{.columns = probe.modes});
    fill(start);
    {
      const auto best = lowest_in_span(hermitian_in_single{library_}, multigrid_->null_vectors(), probe.modes);
      high_field some = view(start, 0, best.columns());
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

  json_document explanation() override {
    why_it_works<library, high_field> why(*multigrid_, *modes_);
    high_field random(device_.ctx, field_shape{});
    assign(random, library_.random_quarks(1, options_.shared.seed + 998));
    high_field even = schur_.even_like(random);
    copy(even, random.parity(0));
    constexpr int iterations = 12;
    json_document document;
    document["errors"] = why.errors(schur_, cycle_for(1), even, iterations);
    document["coherence"] = why.coherence();
    if (device_.ctx.comm().size() == 1) document["picture"] = why.picture(device_.ctx.geometry());
    return document;
  }

  void set_sources(const std::vector<int>& columns, complex<double> phase) override {
    b_.emplace(device_.ctx, field_shape{.columns = static_cast<int>(columns.size())});
    x_.emplace(like(*b_));
    int place = 0;
    for (const int column : columns) device_.make_source(*b_, place++, column, options_.source);
    const auto for_all = [&](complex<double> number) {
      return make_scalars(*b_, std::vector<complex<double>>(columns.size(), number));
    };
    scale(*b_, for_all(phase));
    scale(*x_, for_all(scaling::not_a_number));  // the memory may hold the solution of a solve before
  }

  void set_residuals_as_sources() override {
    high_field r = like(*b_);
    residual(r, *full_, *x_, *b_);
    copy(*b_, r);
  }

  void warm_up(bool by_multigrid, const stopping_rule& rule) override {
    stopping_rule few = rule;
    few.progress = nullptr;
    // As many iterations as directions are kept: every vector of the solve is allocated then. A library that records
    // and tunes nothing has little to warm up.
    few.limit = std::min(rule.limit, Device::records ? options_.restart_length + 1 : 1);
    by_multigrid ? solve_by_multigrid(few) : solve_by_bicgstab(few);
  }

  timed_multigrid_solve solve_by_multigrid(const stopping_rule& rule) override {
    cycle_for(b_->columns());
    const flexible_gcr_parameters parameters{options_.restart_length, 3};
    // Each update costs a third of an iteration; in between, rounding in single precision takes five digits and more.
    const reliable_updates updates{.delta = 1e-5, .longest_interval = rule.limit};
    stopping_rule here = rule;
    here.look_every = 1;  // an iteration takes much longer than an answer
    return solve(schur_, here, [&](const auto& a, high_field& x, const high_field& b, const stopping_rule& even) {
      if (options_.outer_precision == "double") return flexible_gcr(a, x, b, even, *cycle_, parameters);
      return reliable_flexible_gcr<single_field>(a, *library_.system(), x, b, even, updates, *cycle_in_single_,
                                                 parameters);
    });
  }

  timed_multigrid_solve solve_by_bicgstab(const stopping_rule& rule) override {
    stopping_rule here = rule;
    here.look_every = Device::look_every;
    here.look_behind = Device::look_behind;
    auto timed = options_.reference == "double"          ? solve(reference_schur_, here, plain_bicgstab{})
                 : options_.reference == "double-single" ? solve_mixed_bicgstab<float>(here)
                                                         : solve_mixed_bicgstab<half>(here);
    timed.flops = static_cast<double>(timed.report.column_applications) * reference_schur_.flops_per_site() * 0.5 *
                  static_cast<double>(device_.ctx.geometry().global_volume());
    return timed;
  }

  std::vector<double> solution_norms() const override { return norms(*x_); }
  std::vector<double> source_norms() const override { return norms(*b_); }
  void get_solution(int place, spinor_configuration& out) const override { export_column(out, *x_, place); }

  solve_profile profile(const stopping_rule& rule) override {
    cycle_profile& p = multigrid_->profile();
    profiles_ = true;
    cycle_.reset();
    cycle_for(b_->columns());
    p.on = true;
    std::ranges::fill(p.lattices, lattice_profile{});
    const timed_multigrid_solve solved = solve_by_multigrid(rule);
    p.on = profiles_ = false;
    cycle_.reset();
    return {solved.seconds, solved.report.iterations(), p.lattices, work_of(solved.report, p.lattices)};
  }

 private:
  /// Applications and flops of a solve, from what was counted of it.
  std::vector<lattice_work> work_of(const solve_report& report, const std::vector<lattice_profile>& lattices) const {
    const multigrid_parameters& p = options_.multigrid;
    // A relaxation of k steps applies the operator k times, and once more for the residual that it starts from.
    const auto volume = static_cast<double>(device_.ctx.geometry().global_volume());
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
                                  : multigrid_->levels()[k - 1].system->flops() * device_.ctx.comm().size();
      work[k].flops = work[k].applications * flops;
      if (coarsest) break;
      const coarsening& c = p.coarsenings[k];
      work[k].flops += cycles * 2.0 * 8.0 * sites * chiralities * rows * c.vectors;
      sites /= static_cast<double>(plaquette::volume(c.aggregate));
      rows = c.vectors;
    }
    return work;
  }

  /// Tries the cycle on a random right-hand side, and improves the null vectors while it converges slowly and that
  /// helps.
  void try_cycle(setup_summary& summary) {
    for (int passes = 0; options_.trials > 0; ++passes) {
      const work_clock watch(library_);
      summary.trial_rates.push_back(rate_of_cycle());
      summary.seconds.trial += watch.seconds();
      const auto& rates = summary.trial_rates;
      if (rates.back() <= slow_rate || passes >= options_.trials) return;
      if (rates.size() > 1 && rates.back() > 0.95 * rates[rates.size() - 2]) return;  // it did not help
      cycle_.reset();
      multigrid_->improve();
    }
  }
  /// Takes the cycle with which solves are fastest, where its steps are fixed and the options leave it open.
  void try_shapes(setup_summary& summary) {
    const multigrid_parameters& p = options_.multigrid;
    summary.cycle = multigrid_->parameters().shape();
    if (!Device::records || options_.chose_cycle || p.coarsenings.size() < 2 || summary.trial_rates.empty()) return;
    const work_clock watch(library_);
    std::vector<cycle_trial>& tried = summary.trials;
    tried.push_back({summary.cycle, summary.trial_rates.back(), seconds_of_iteration()});
    const auto attempt = [&](const cycle_shape& shape) {
      if (std::ranges::find(tried, shape, &cycle_trial::shape) != tried.end()) return;
      multigrid_->use_cycle(shape);
      cycle_.reset();
      const double rate = rate_of_cycle();
      tried.push_back({shape, rate, seconds_of_iteration()});
    };
    for (const cycle_shape& shape : shapes_to_try(tried.front().rate, p.smoother)) attempt(shape);
    const auto fastest = [&] { return std::ranges::min_element(tried, {}, &cycle_trial::cost)->shape; };
    if (fastest().smoother == smoother_kind::polynomial) attempt(by_ca_gcr(fastest()));
    summary.cycle = fastest();
    if (!(summary.cycle == tried.back().shape)) cycle_.reset();
    multigrid_->use_cycle(summary.cycle);
    summary.seconds.trial += watch.seconds();
  }
  /// Moves coarse lattices, and adds their correction, as the options say or as solves are fastest.
  void place(setup_summary& summary) {
    const cycle_shape before = multigrid_->parameters().shape();
    summary.first_on_cpu = place_levels(device_, *multigrid_, options_, summary.placements, [&](std::size_t first) {
      const work_clock watch(library_);
      some_on_cpu_ = first > 0;
      cycle_.reset();
      const double rate = rate_of_cycle();
      const cycle_trial tried{multigrid_->parameters().shape(), rate, seconds_of_iteration(), first};
      summary.seconds.trial += watch.seconds();
      return tried;
    });
    some_on_cpu_ = summary.first_on_cpu > 0;
    summary.cycle = multigrid_->parameters().shape();
    if (some_on_cpu_ || !(summary.cycle == before) || !summary.placements.empty()) cycle_.reset();
  }
  /// The relaxation that polynomials stand for, where they save less than they cost: at most six steps.
  static cycle_shape by_ca_gcr(cycle_shape shape) {
    shape.smoother = smoother_kind::ca_gcr;
    std::vector<int>& list = shape.steps_after;
    for (int& steps : list) steps = std::min(steps, 6);
    while (list.size() > 1 && list.back() == list[list.size() - 2]) list.pop_back();  // one list for one cycle
    return shape;
  }
  /// More work on coarse lattices, with less relaxation a visit; and less work, unless cycles converge slowly.
  static std::vector<cycle_shape> shapes_to_try(double rate, smoother_kind smoother) {
    constexpr double slow = 0.5, very_slow = 0.7;
    const bool by_polynomials = smoother == smoother_kind::polynomial;
    const int fine = by_polynomials ? 7 : 6;
    const std::vector<int> steps = by_polynomials ? std::vector{fine, 6} : std::vector{fine};
    std::vector<cycle_shape> shapes{{cycle_kind::k, 1, steps, smoother}, {cycle_kind::k, 2, {fine, 4}, smoother}};
    if (rate < slow)
      shapes.push_back({cycle_kind::v, 1, steps, smoother});
    else
      shapes.push_back({cycle_kind::k, rate < very_slow ? 2 : 3, steps, smoother});
    if (rate >= very_slow && by_polynomials) shapes.push_back({cycle_kind::k, 2, {6}, smoother_kind::ca_gcr});
    return shapes;
  }
  /// A cycle that leaves more than this of the residual is improved: 46 iterations for ten digits.
  static constexpr double slow_rate = 0.6;

  /// x = about M^-1 b by GCR with the cycle, from x = 0, without corrections of the full system.
  schur_report solve_once(high_field& x, const high_field& b, const any_operator<high_field>& cycle,
                          const stopping_rule& rule) const {
    zero(x);
    return schur_solve(schur_, *full_, x, b, rule,
                       [&](const auto& a, high_field& y, const high_field& c, const stopping_rule& even) {
                         return flexible_gcr(a, y, c, even, cycle, {options_.restart_length, 0});
                       },
                       {.corrections = 0});
  }

  /// What a cycle leaves of the residual, on average, once the first ones have taken what is easy.
  double rate_of_cycle() {
    constexpr int first = 3, last = 10;
    high_field b(device_.ctx, field_shape{}), x = like(b);
    assign(b, library_.random_quarks(1, options_.shared.seed + 999));
    stopping_rule rule;
    rule.tolerance = 1e-13;
    rule.limit = last;
    rule.guess_is_zero = true;
    rule.interrupted = [this] {
      if (options_.multigrid.between_parts) options_.multigrid.between_parts();
      return false;
    };
    const schur_report report = solve_once(x, b, cycle_for(1), rule);
    const std::vector<double>& r = report.history.front();
    const int end = static_cast<int>(r.size()) - 1, begin = std::min(first, end - 1);
    if (begin < 0 || !(r[static_cast<std::size_t>(begin)] > 0.0)) return 0.0;
    const double fallen = r[static_cast<std::size_t>(end)] / r[static_cast<std::size_t>(begin)];
    return std::pow(fallen, 1.0 / (end - begin));
  }

  /// gamma_5 M in double, and in the precision of the null vectors.
  struct hermitian_in_double {
    std::shared_ptr<full_operator<double>> full;
    void apply(high_field& out, const high_field& in) const {
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

  std::vector<low_mode> described(const inverse_mode_set<high_field>& modes) const {
    const high_field& v = modes.vectors;
    high_field turned = like(v);
    gamma5(turned, v);
    const auto chirality = host_values(dot(v, turned));
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

  /// P^+ P = 1 and P^+ M P = Mhat on coarse numbers c, where M is that of the lattice above.
  template <class Coarse, class Fine, class Apply>
  void add_identities(std::vector<identity>& found, std::size_t number, const Coarse& c, Fine fine,
                      const Apply& apply) const {
    const std::string name = "level " + std::to_string(number);
    const auto& level = multigrid_->levels()[number - 1];
    const auto& p = *level.from_finer;
    Coarse back = like(c);
    Fine image = like(fine);
    p.prolong(fine, c);
    p.restrict_to(back, fine);
    const double rounding = rounding_of_transfer(number);
    found.push_back({name + ": restriction undoes prolongation", distance_at_worst_site(back, c), 2.0 * rounding});
    apply(image, fine);
    p.restrict_to(back, image);  // P^+ M P c
    const auto& coarse = *level.system;
    auto source = coarse.working_field(1), mc = like(source), working = like(source);
    coarse.prepare_source(source, back);
    library_.take_working_sites(working, c);
    coarse.apply(mc, working);
    // The red-black system multiplies errors of P^+ M P c by what it makes of random numbers of that length.
    Coarse noise = like(c);
    library_.fill_random(noise, options_.shared.seed + number + 100);
    auto of_noise = like(source);
    coarse.prepare_source(of_noise, noise);
    const double factor = norm_of(of_noise) / norm_of(source) * norm_of(back) / norm_of(noise);
    // Both operators sum 9 n products each. Rounding of the stored matrices, each number by itself, adds its size for
    // each of the few largest products.
    const auto rounding_of_products = [](double numbers) { return std::sqrt(9.0 * numbers / 3.0) * 0x1p-24; };
    const double allowed = 2.0 * (1.0 + factor) * rounding +
                           2.0 * (rounding_of_products(coarse.n()) + rounding_of_products(numbers_of_finer(number))) +
                           4.0 * decltype(library_)::matrix_roundoff;
    found.push_back({name + ": coarse operator is P^+ M P", distance(mc, source), allowed});
  }
  /// Returns what rounding in single precision leaves of P^+ P c, relative to c. Each number is a sum over an aggregate
  /// whose N terms have random signs. It is rounded N times, at the length of its partial sums.
  double rounding_of_transfer(std::size_t number) const {
    const auto& all = multigrid_->parameters().coarsenings;
    const double terms =
        numbers_of_finer(number) / chiralities * static_cast<double>(volume(all[number - 1].aggregate));
    return (1.0 + std::sqrt(terms / 3.0)) * 0x1p-24;
  }
  /// Numbers of a site of the lattice above.
  double numbers_of_finer(std::size_t number) const {
    return number == 1 ? 12.0 : 2.0 * multigrid_->parameters().coarsenings[number - 2].vectors;
  }

  /// A cycle of this library in single precision beside the CPU library's, of the same vectors and matrices, where no
  /// loop ends early. Rounding of the coarse matrices that cycles read is multiplied by the condition of the coarse
  /// systems, and reduced by relaxation; measured half of that rounding near the critical mass.
  identity cycle_of_both_libraries() {
    multigrid_parameters fixed = multigrid_->parameters();
    fixed.k_tolerance = fixed.coarsest_tolerance = 0.0;
    const auto host = hierarchy_on_host(device_, *multigrid_, fixed, options_.shared.action);
    cycle_field b = library_.random_quarks(1, options_.shared.seed + 77);
    cycle_field even = library_.working_quarks(1), x = like(even);
    library_.take_working_sites(even, b);
    spinor_configuration from(device_.ctx.geometry()), here(from), there(from);
    export_column(from, even, 0);
    multigrid_->cycle(1).apply(x, even);
    export_column(here, x, 0);
    host->cycle(there, from);
    std::array<double, 2> sums{};  // of |here - there|^2 and |there|^2
    for (std::int64_t site = 0; site < from.geometry().local_volume(); ++site)
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) {
          sums[0] += norm2(here.at_site(site)(s, c) - there.at_site(site)(s, c));
          sums[1] += norm2(there.at_site(site)(s, c));
        }
    device_.ctx.comm().sum(std::span(sums));
    return {"cycle: that of the CPU library", std::sqrt(sums[0] / sums[1]), 50.0 * decltype(library_)::matrix_roundoff};
  }

  /// Of the outer GCR with one right-hand side: a cycle, and its own part, half of which is its operator.
  double seconds_of_iteration() {
    cycle_for(1);
    cycle_field in = library_.working_quarks(1), out = like(in);
    library_.take_working_sites(in, library_.random_quarks(1, options_.shared.seed + 995));
    return seconds_of([&] { cycle_in_single_->apply(out, in); }) +
           2.0 * seconds_of([&] { library_.system()->apply(out, in); });
  }
  /// The fastest of three, on the slowest rank.
  template <class Work>
  double seconds_of(const Work& work) {
    double least = 1e300;
    for (int run = 0; run < 4; ++run) {
      library_.finish();
      const stopwatch watch;
      work();
      library_.finish();
      if (run > 0) least = std::min(least, watch.seconds());
    }
    std::array<double, 1> slowest{least};
    device_.ctx.comm().maximum(std::span(slowest));
    return slowest[0];
  }

  /// |M v| / |v| of a random v, from which the floor of residuals follows. Made at the first call.
  double norm_of_operator() {
    if (!(operator_norm_ > 0.0)) {
      high_field v(device_.ctx, field_shape{}), mv = like(v);
      assign(v, library_.random_quarks(1, options_.shared.seed + 997));
      full_->apply(mv, v);
      const auto both = host_values_of(std::vector{norm2(mv), norm2(v)});
      operator_norm_ = std::sqrt(both[0][0].re / both[1][0].re);
    }
    return operator_norm_;
  }

  struct plain_bicgstab {
    template <class A, class F>
    solve_report operator()(const A& a, F& x, const F& b, const stopping_rule& rule) const {
      return bicgstab(a, x, b, rule);
    }
  };

  template <class Low>
  timed_multigrid_solve solve_mixed_bicgstab(const stopping_rule& rule) {
    const schur_operator<Low> inner(low_operator<Low>(), schur_kind::symmetric);
    const mixed_precision_defaults defaults = default_parameters(precision::double_, precision_of<low_field<Low>>);
    const reliable_updates updates{.delta = defaults.delta, .longest_interval = defaults.longest_interval};
    return solve(reference_schur_, rule,
                 [&](const auto& a, high_field& x, const high_field& b, const stopping_rule& even) {
                   return solve_mixed<low_field<Low>>(solver_kind::bicgstab, mixed_scheme::reliable, a, inner, x, b,
                                                      even, updates);
                 });
  }
  template <class T>
  std::shared_ptr<full_operator<T>> full_operator_in() const {
    return std::make_shared<full_operator<T>>(device_.ctx, device_.links, options_.shared.action,
                                              device_.template stored_reals<T>());
  }
  template <class Low>
  using low_field = typename Device::template field<Low>;
  /// Made at the first call.
  template <class Low>
  std::shared_ptr<full_operator<Low>> low_operator() {
    const auto made = [&](auto& held) {
      if (!held) held = full_operator_in<Low>();
      return held;
    };
    if constexpr (std::is_same_v<Low, float>)
      return made(single_);
    else
      return made(half_);
  }

  template <class Solver>
  timed_multigrid_solve solve(const schur_operator<double>& schur, stopping_rule rule, const Solver& solver) {
    rule.guess_is_zero = true;
    const double norm = norm_of_operator();
    library_.finish();
    device_.ctx.comm().barrier();
    const work_clock watch(library_);
    zero(*x_);
    timed_multigrid_solve result;
    result.report = schur_solve(schur, *full_, *x_, *b_, rule, solver, {.operator_norm = norm});
    library_.finish();
    std::array<double, 2> longest{watch.seconds(), watch.tuning_seconds()};
    device_.ctx.comm().maximum(std::span(longest));
    result.seconds = longest[0];
    result.tuning_seconds = longest[1];
    return result;
  }

  /// Cycles are made once for a width, and run twice, outside of what is timed: a device records the second run.
  const any_operator<high_field>& cycle_for(int columns) {
    if (!cycle_ || cycle_columns_ != columns) {
      multigrid_->learn_polynomials();
      cycle_.reset();
      cycle_in_single_.reset();
      const field_shape even{.sites = site_subset::even, .columns = columns};
      const high_field shape(device_.ctx, even);
      const single_field single_shape(device_.ctx, even);
      if (options_.cycle_precision == "half") {
        const auto a = std::make_shared<const schur_operator<half>>(low_operator<half>(), schur_kind::asymmetric);
        cycle_in_single_.emplace(in_single(multigrid_->cycle_in(a, low_field<half>(device_.ctx, even)), single_shape));
      } else {
        cycle_in_single_.emplace(in_single(multigrid_->cycle(columns), single_shape));
      }
      cycle_.emplace(bridge<single_field>(*cycle_in_single_, shape));
      cycle_columns_ = columns;
      high_field in = like(shape), out = like(shape);
      zero(in);
      for (int run = 0; run < 2; ++run) cycle_->apply(out, in);
      library_.finish();
    }
    return *cycle_;
  }
  /// Recorded, but for a profile: stages of a graph cannot be timed. What is recorded has one width, so that nothing is
  /// recorded, allocated or tuned in the middle of a solve from which columns leave.
  template <class F>
  any_operator<single_field> in_single(any_operator<F> cycle, const single_field& shape) const {
    if constexpr (Device::records)
      if (!profiles_ && !some_on_cpu_)
        return any_operator<single_field>(bridge<F>(device_.recorded(std::move(cycle)), shape, bridge_width::whole));
    return any_operator<single_field>(bridge<F>(std::move(cycle), shape));
  }

  static std::vector<double> norms(const high_field& x) {
    std::vector<double> all;
    for (const auto& value : host_values(norm2(x))) all.push_back(std::sqrt(value.re));
    return all;
  }

  template <class F>
  static double norm_of(const F& x) {
    return std::sqrt(host_values(norm2(x))[0].re);
  }
  /// The largest |a - b| of a site over the mean |b| of sites: one wrong number shows on a lattice of any size.
  template <class F>
  double distance_at_worst_site(const F& a, const F& b) const {
    std::vector<complex<double>> here(static_cast<std::size_t>(a.sites() * a.components())), there(here);
    export_column(std::span(here), a, 0);
    export_column(std::span(there), b, 0);
    const auto of_site = static_cast<std::size_t>(a.components());
    double worst2 = 0.0;
    for (std::size_t site = 0; site < here.size(); site += of_site) {
      double sum = 0.0;
      for (std::size_t k = site; k < site + of_site; ++k) sum += norm2(here[k] - there[k]);
      if (!(sum <= worst2)) worst2 = sum;  // NaN stays
    }
    const communicator& comm = device_.ctx.comm();
    std::array<double, 2> largest{worst2, std::isnan(worst2) ? 1.0 : 0.0};
    comm.maximum(std::span(largest));
    if (largest[1] > 0.0) return std::numeric_limits<double>::quiet_NaN();
    std::array<double, 1> sites{static_cast<double>(b.sites())};
    comm.sum(std::span(sites));
    return std::sqrt(largest[0] * sites[0]) / norm_of(b);
  }
  template <class F>
  static double distance(const F& a, const F& b) {
    F difference = like(a);
    const auto d2 = host_values(subtract_norm2(difference, a, b)), b2 = host_values(norm2(b));
    return std::sqrt(d2[0].re / b2[0].re);
  }

  Device device_;
  setup_origin origin_;
  const multigrid_options& options_;
  library library_;
  std::shared_ptr<full_operator<double>> full_;
  std::shared_ptr<full_operator<float>> single_;
  std::shared_ptr<full_operator<half>> half_;
  schur_operator<double> schur_, reference_schur_;
  std::optional<multigrid<library>> multigrid_;
  std::optional<any_operator<single_field>> cycle_in_single_;
  std::optional<any_operator<high_field>> cycle_;  ///< the same for fields in double
  int cycle_columns_ = 0;
  double operator_norm_ = 0.0;
  bool profiles_ = false, some_on_cpu_ = false;
  std::optional<high_field> b_, x_, modes_;
};

}  // namespace plaquette
