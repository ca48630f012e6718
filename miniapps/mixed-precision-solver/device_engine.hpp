// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The engine of any device, written once over the names that its library gives to things.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/algorithms/groups.hpp"
#include "common/app/timing.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "miniapps/mixed-precision-solver/solve_engine.hpp"
#include "miniapps/mixed-precision-solver/work_estimate.hpp"
#include "miniapps/shared/device_timing.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

/// The longest of all ranks.
inline double slowest(const communicator& comm, double seconds) {
  std::array<double, 1> longest{seconds};
  comm.maximum(std::span(longest));
  return longest[0];
}

/// Solutions and their residuals in the precision of High, Krylov spaces in that of Low.
/// \tparam Device  the names of a library and what a run holds of its device: types `context`, `field<T>`,
///                 `wilson_clover<T>`, `schur_wilson_clover<T>`; constants `name`, `look_every` and `look_behind`;
///                 members `ctx`, `gpu` (a gpu_access, null on the CPU), `threads()`, `columns_at_once(numbers,
///                 columns)`, `make_source(b, place, column, source)`, and `finish()`, which waits for all that was
///                 queued
template <class Device, class High, class Low>
class device_engine final : public solve_engine {
  using high_field = typename Device::template field<High>;
  using low_field = typename Device::template field<Low>;
  template <class T>
  using full_operator = typename Device::template wilson_clover<T>;
  template <class T>
  using schur_operator = typename Device::template schur_wilson_clover<T>;

 public:
  device_engine(Device device, const solver_options& options)
      : device_(std::move(device)),
        options_(options),
        full_(std::make_shared<full_operator<High>>(context(), device_.links, options.shared.action, options.links)),
        inner_(inner_operator()),
        schur_(full_, options.preconditioning),
        inner_schur_(inner_, options.preconditioning),
        b_(context(), {.columns = options.batch_size()}),
        x_(like(b_)) {
    zero(b_);
    full_->hopping().set_overlap(options.shared.overlap);
    inner_->hopping().set_overlap(options.shared.overlap);
  }

  scaling::weighed_sums apply_to_random(bool inner, bool dagger) override {
    return inner ? sums_of_applied<low_field>(*inner_, dagger) : sums_of_applied<high_field>(*full_, dagger);
  }

  void set_sources(const std::vector<int>& columns, complex<double> phase) override {
    columns_ = columns;
    const bool is_timed = !(phase.re == 1.0 && phase.im == 0.0);
    int place = 0;
    for (const int column : columns) device_.make_source(b_, place++, column, options_.source);
    if (is_timed) {
      scale(b_, same_for_all(b_, phase));
      scale(x_, same_for_all(x_, scaling::not_a_number));
    }
    if (place == b_.columns()) return;
    high_field rest = view(b_, place, b_.columns() - place);
    zero(rest);
  }

  timed_solve solve(const stopping_rule& rule, const schur_parameters& parameters) override {
    const auto in_groups = [&](const auto& a, high_field& x, const high_field& b, const stopping_rule& even) {
      return solve_in_groups(device_.columns_at_once(options_.inner, b.columns()), x, b, even,
                             [&](high_field& x_part, const high_field& b_part, const stopping_rule& part) {
                               return solve_even(a, x_part, b_part, part);
                             });
    };
    stopping_rule here = rule;
    here.look_every = Device::look_every;
    here.look_behind = Device::look_behind;
    device_.finish();
    if (device_.gpu) device_.gpu->monitor().begin();  // which takes some milliseconds, on one rank more than on another
    context().comm().barrier();
    const stopwatch watch;
    zero(x_);
    here.guess_is_zero = true;
    timed_solve result;
    const double tuned = tuning_seconds();
    result.report = schur_solve(schur_, *full_, x_, b_, here, in_groups, parameters);
    device_.finish();
    result.tuning_seconds = tuning_seconds() - tuned;
    result.seconds = slowest(context().comm(), watch.seconds() - result.tuning_seconds);
    if (device_.gpu) result.gpu = of_all_gpus(device_.gpu->monitor().end());
    // An application of the full operator is one of the Schur complement, to a few flops.
    result.flops = static_cast<double>(result.report.column_applications) * schur_.flops_per_site() * even_sites();
    return result;
  }

  void get_solution(int place, spinor_configuration& out) const override { export_column(out, x_, place); }

  std::optional<correlator_pair> correlators() const override {
    std::vector<int> all(spin_colours);
    std::iota(all.begin(), all.end(), 0);
    if (columns_ != all) return std::nullopt;
    return device_.correlators(x_);
  }

  std::vector<operator_figure> time_operators(const operator_judge& judge,
                                              const std::function<bool()>& should_stop) override {
    std::vector<operator_figure> figures;
    const auto add = [&](auto& m, const std::vector<timed_samples>& timed, precision numbers, reconstruct links) {
      for (const timed_samples& samples : timed) {
        figures.push_back(figure_of(samples, numbers, links));
        if (measures_halo()) figures.back().details["halo"] = halo_of(m, samples);
      }
    };
    const auto judged = [&](precision numbers, reconstruct links) {
      return [&judge, numbers, links](const scaling::weighed_sums& sums, int columns) {
        judge(sums, columns, numbers, links);
      };
    };
    add(*inner_, time_of<low_field>(*inner_, inner_schur_, judged(options_.inner, options_.inner_links), should_stop),
        options_.inner, options_.inner_links);
    if (!one_operator() && !(should_stop && should_stop()))
      add(*full_, time_of<high_field>(*full_, schur_, judged(options_.outer, options_.links), should_stop),
          options_.outer, options_.links);
    return figures;
  }

  json_document halo() const override {
    json_document facts = nullptr;
    if constexpr (has_halo_facts) {
      if (is_cut()) facts = {{"policy", inner_->hopping().halo_description()}};
    }
    if (is_cut()) facts["overlap"] = options_.shared.overlap ? "on" : "off";
    return facts;
  }

 private:
  static constexpr bool has_halo_facts = requires(const full_operator<Low>& m) { m.hopping().halo_description(); };

  const typename Device::context& context() const { return device_.ctx; }
  double tuning_seconds() const { return device_.gpu ? device_.gpu->tuning_seconds() : 0.0; }

  template <class Field>
  static auto same_for_all(const Field& of, complex<double> number) {
    return make_scalars(of, std::vector<complex<double>>(static_cast<std::size_t>(of.columns()), number));
  }

  /// Random numbers on all sites: of a point source's image most sites are zero, and would judge nothing.
  template <class Field>
  void set_random(Field& in) const {
    for (int n = 0; n < in.columns(); ++n)
      import_column(in, n,
                    cpu::random_spinor(context().geometry(), options_.shared.seed, static_cast<std::uint64_t>(n),
                                       context().comm()));
  }

  template <class Field, class Operator>
  scaling::weighed_sums sums_of_applied(const Operator& m, bool dagger) const {
    Field in = like(b_, b_.columns(), as<Field>), out = like(in);
    set_random(in);
    dagger ? m.apply_dagger(out, in) : m.apply(out, in);
    return sums_of(in, out);
  }

  template <class Field>
  scaling::weighed_sums sums_of(const Field& in, const Field& out) const {
    const lattice_geometry& geometry = context().geometry();
    scaling::weighed_sums sums{spinor_configuration(geometry), spinor_configuration(geometry)};
    spinor_configuration column(geometry);
    const auto add = [&](spinor_configuration& sum, const Field& field, int n) {
      export_column(column, field, n);
      for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
        sum.at_site(site) += scaling::weight_of(n) * column.at_site(site);
    };
    for (int n = 0; n < in.columns(); ++n) {
      add(sums.in, in, n);
      add(sums.out, out, n);
    }
    exchange_ghosts(sums.in, context().comm());
    return sums;
  }

  bool is_cut() const {
    return std::ranges::any_of(context().geometry().grid(), [](int ranks) { return ranks > 1; });
  }

  /// Clocks are those of this rank's GPU; energy is that of all, where all tell it.
  json_document of_all_gpus(const gpu_window& window) const {
    json_document seen = to_json(window);
    std::array<double, 2> sums{window.energy_joule.value_or(0.0), window.energy_joule ? 1.0 : 0.0};
    context().comm().sum(std::span(sums));
    if (sums[1] == context().comm().size()) seen["energy_joule_of_all_ranks"] = sums[0];
    return seen;
  }

  bool one_operator() const { return options_.inner == options_.outer && options_.inner_links == options_.links; }

  std::shared_ptr<full_operator<Low>> inner_operator() const {
    if constexpr (std::is_same_v<High, Low>)
      if (one_operator()) return full_;
    return std::make_shared<full_operator<Low>>(context(), device_.links, options_.shared.action, options_.inner_links);
  }

  solve_report solve_even(const auto& a, high_field& x, const high_field& b, const stopping_rule& rule) const {
    if constexpr (std::is_same_v<High, Low>)
      if (options_.plain()) return plaquette::solve(options_.solver, a, x, b, rule, options_.parameters);
    return solve_mixed<low_field>(options_.solver, options_.scheme, a, inner_schur_, x, b, rule, options_.updates,
                                  options_.parameters);
  }

  /// What the halo costs is measured beside an operator where there is one, on GPUs.
  bool measures_halo() const {
    if constexpr (has_halo_facts) return device_.gpu && is_cut();
    return false;
  }

  /// \param m  the operator that schur is made of; as it was, afterwards
  /// \param judge  judge(sums, columns)
  template <class Field, class Operator, class Schur, class Judge>
  std::vector<timed_samples> time_of(Operator& m, const Schur& schur, Judge&& judge,
                                     const std::function<bool()>& should_stop) {
    const high_field even = schur_.even_like(b_);
    Field in = like(even, even.columns(), as<Field>), other = like(in), out = like(in);
    set_random(in);
    copy(other, in);
    bool next_is_other = false;  // inputs alternate, see stretch_length
    const auto apply = [&] {
      schur.apply(out, next_is_other ? other : in);
      next_is_other = !next_is_other;
    };
    const timed_work work = [&](int applications) {
      if (device_.gpu) return device_.gpu->seconds_of(applications, apply);
      context().comm().barrier();
      const stopwatch watch;
      for (int i = 0; i < applications; ++i) apply();
      return slowest(context().comm(), watch.seconds());
    };
    int stretch = 0;
    const stretch_guard guard{[&] {
                                ++stretch;
                                scale(in, scaling::phases(in, stretch));
                                copy(other, in);
                                scale(other, scaling::phases(in, 2 * stretch + 1));
                                zero(out);
                                next_is_other = false;
                              },
                              [&] { judge(sums_of(next_is_other ? in : other, out), in.columns()); }};
    std::vector<timed_work> beside;
    if constexpr (has_halo_facts) {
      const bool overlap = options_.shared.overlap;
      if (measures_halo()) {
        beside.push_back([&m, &work, overlap](int applications) {
          m.hopping().set_overlap(!overlap);
          const double seconds = work(applications);
          m.hopping().set_overlap(overlap);
          return seconds;
        });
        beside.push_back([&m, &work](int applications) {
          m.hopping().set_communication(false);
          const double seconds = work(applications);
          m.hopping().set_communication(true);
          return seconds;
        });
      }
    }
    return time_applications(device_.gpu, 9, work, should_stop, beside, guard);
  }

  /// \param timed  with the other overlap and without communication beside it
  json_document halo_of(const auto& m, const timed_samples& timed) const {
    json_document halo = json_document::object();
    if constexpr (requires { m.hopping().halo_bytes(1); }) {
      const bool overlap = options_.shared.overlap;
      const double whole = timed.seconds.median, other = timed.beside[0].median, alone = timed.beside[1].median;
      const double with_overlap = overlap ? whole : other, without_overlap = overlap ? other : whole;
      constexpr double hops = 2.0;  // of the Schur complement
      std::array<double, 1> bytes{hops * static_cast<double>(m.hopping().halo_bytes(b_.columns()))};
      context().comm().sum(std::span(bytes));
      halo = {{"overlap", overlap ? "on" : "off"},
              {"policy", m.hopping().halo_description()},
              {"bytes_sent", bytes[0] / context().comm().size()},
              {"exposed_seconds", whole - alone},
              {"exchange_seconds", without_overlap - alone},
              {"hidden_seconds", without_overlap - with_overlap},
              {"seconds_without_overlap", without_overlap},
              {"seconds_without_communication", alone},
              {"recorded", false}};
    }
    return halo;
  }

  double even_sites() const { return 0.5 * static_cast<double>(context().geometry().global_volume()); }

  operator_figure figure_of(const timed_samples& timed, precision numbers, reconstruct links) const {
    const bool clover = options_.shared.action.has_clover();
    const int columns = b_.columns();
    operator_figure figure;
    figure.operator_name = clover ? "clover_schur" : "wilson_schur";
    figure.layout = "even-odd";
    figure.precision = name(numbers);
    figure.reconstruct = stored_reals(links);
    figure.rhs = columns;
    figure.lattice = context().geometry().global();
    figure.ranks = context().comm().size();
    figure.device = Device::name;
    figure.threads = device_.threads();
    figure.seconds = timed.seconds;
    figure.details = timed.details;
    figure.gflops = 1e-9 * schur_.flops_per_site() * even_sites() * columns / figure.seconds.median;
    figure.gbytes_per_s =
        1e-9 * schur_bytes_per_site(clover, columns, numbers, links) * even_sites() / figure.seconds.median;
    return figure;
  }

  Device device_;
  const solver_options& options_;
  std::shared_ptr<full_operator<High>> full_;
  std::shared_ptr<full_operator<Low>> inner_;  ///< the same where there is one operator
  schur_operator<High> schur_;
  schur_operator<Low> inner_schur_;
  high_field b_, x_;
  std::vector<int> columns_;  ///< of a propagator, that b is made of
};

/// The engine in the precisions of the options.
template <class Device>
std::unique_ptr<solve_engine> make_engine(const Device& device, const solver_options& options) {
  const auto with_inner = [&]<class High>(std::type_identity<High>) -> std::unique_ptr<solve_engine> {
    if constexpr (std::is_same_v<High, double>)
      if (options.inner == precision::double_)
        return std::make_unique<device_engine<Device, double, double>>(device, options);
    if (options.inner == precision::single)
      return std::make_unique<device_engine<Device, High, float>>(device, options);
    return std::make_unique<device_engine<Device, High, half>>(device, options);
  };
  return options.outer == precision::double_ ? with_inner(std::type_identity<double>{})
                                             : with_inner(std::type_identity<float>{});
}

}  // namespace plaquette
