// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <utility>

#include "common/algorithms/groups.hpp"
#include "common/app/timing.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"
#include "miniapps/mixed-precision-solver/solve_engine.hpp"
#include "miniapps/mixed-precision-solver/work_estimate.hpp"

namespace plaquette {

namespace {

/// The longest of all ranks.
double slowest(const communicator& comm, double seconds) {
  std::array<double, 1> longest{seconds};
  comm.maximum(std::span(longest));
  return longest[0];
}

/// Solutions and their residuals in the precision of High, Krylov spaces in that of Low.
template <class High, class Low>
class cpu_engine final : public solve_engine {
  using high_field = cpu::field<High>;
  using low_field = cpu::field<Low>;

 public:
  cpu_engine(const cpu::context& ctx, const gauge_configuration& links, const solver_options& options)
      : context_(ctx),
        options_(options),
        full_(std::make_shared<const cpu::wilson_clover<High>>(ctx, links, options.shared.action, options.links)),
        schur_(full_, options.preconditioning),
        inner_schur_(inner_operator(links), options.preconditioning),
        b_(ctx, {.columns = options.shared.rhs}),
        x_(like(b_)) {}

  void apply(spinor_configuration& out, const spinor_configuration& in, bool dagger) override {
    high_field from(context_, {}), to(context_, {});
    import_column(from, 0, in);
    if (dagger)
      full_->apply_dagger(to, from);
    else
      full_->apply(to, from);
    export_column(out, to, 0);
  }

  void set_source(int column, const spinor_configuration& source) override { import_column(b_, column, source); }

  timed_solve solve(const stopping_rule& rule, const schur_parameters& parameters) override {
    const auto in_groups = [&](const auto& a, high_field& x, const high_field& b, const stopping_rule& even) {
      return solve_in_groups(columns_at_once(options_.inner, b.columns(), context_.geometry()), x, b, even,
                             [&](high_field& x_part, const high_field& b_part, const stopping_rule& part) {
                               return solve_even(a, x_part, b_part, part);
                             });
    };
    context_.comm().barrier();
    const stopwatch watch;
    zero(x_);
    timed_solve result;
    result.report = schur_solve(schur_, *full_, x_, b_, rule, in_groups, parameters);
    result.seconds = slowest(context_.comm(), watch.seconds());
    // An application of the full operator is one of the Schur complement, to a few flops.
    result.flops = static_cast<double>(result.report.column_applications) * schur_.flops_per_site() * even_sites();
    return result;
  }

  void get_solution(int column, spinor_configuration& out) const override { export_column(out, x_, column); }

  std::vector<operator_figure> time_operators() override {
    std::vector<operator_figure> figures{
        figure_of(time_of<low_field>(inner_schur_), options_.inner, options_.inner_links)};
    if (!one_operator()) figures.push_back(figure_of(time_of<high_field>(schur_), options_.outer, options_.links));
    return figures;
  }

 private:
  bool one_operator() const { return options_.inner == options_.outer && options_.inner_links == options_.links; }

  std::shared_ptr<const cpu::wilson_clover<Low>> inner_operator(const gauge_configuration& links) const {
    if constexpr (std::is_same_v<High, Low>)
      if (one_operator()) return full_;
    return std::make_shared<const cpu::wilson_clover<Low>>(context_, links, options_.shared.action,
                                                           options_.inner_links);
  }

  solve_report solve_even(const auto& a, high_field& x, const high_field& b, const stopping_rule& rule) const {
    if constexpr (std::is_same_v<High, Low>)
      if (options_.plain()) return plaquette::solve(options_.solver, a, x, b, rule, options_.parameters);
    return solve_mixed<low_field>(options_.solver, options_.scheme, a, inner_schur_, x, b, rule, options_.updates,
                                  options_.parameters);
  }

  template <class Field, class Schur>
  sample_statistics time_of(const Schur& schur) {
    high_field source = schur_.even_like(b_);
    Field in = like(source, source.columns(), as<Field>), out = like(in);
    schur_.prepare_source(source, b_);
    assign(in, source);
    const auto sample = [&](int applications) {
      context_.comm().barrier();
      const stopwatch watch;
      for (int i = 0; i < applications; ++i) schur.apply(out, in);
      return slowest(context_.comm(), watch.seconds()) / applications;
    };
    const double rough = sample(2);  // the warm-up
    constexpr double sample_seconds = 0.03;
    const int applications = rough > 0.0 ? static_cast<int>(std::clamp(sample_seconds / rough, 1.0, 10000.0)) : 1;
    std::vector<double> seconds;
    for (int i = 0; i < 9; ++i) seconds.push_back(sample(applications));
    return statistics(std::move(seconds));
  }

  double even_sites() const { return 0.5 * static_cast<double>(context_.geometry().global_volume()); }

  operator_figure figure_of(const sample_statistics& seconds, precision numbers, reconstruct links) const {
    const bool clover = options_.shared.action.has_clover();
    const int columns = b_.columns();
    operator_figure figure;
    figure.operator_name = clover ? "clover_schur" : "wilson_schur";
    figure.layout = "even-odd";
    figure.precision = name(numbers);
    figure.reconstruct = stored_reals(links);
    figure.rhs = columns;
    figure.lattice = context_.geometry().global();
    figure.ranks = context_.comm().size();
    figure.threads = context_.threads();
    figure.seconds = seconds;
    figure.gflops = 1e-9 * schur_.flops_per_site() * even_sites() * columns / seconds.median;
    figure.gbytes_per_s = 1e-9 * schur_bytes_per_site(clover, columns, numbers, links) * even_sites() / seconds.median;
    return figure;
  }

  cpu::context context_;
  const solver_options& options_;
  std::shared_ptr<const cpu::wilson_clover<High>> full_;
  cpu::schur_wilson_clover<High> schur_;
  cpu::schur_wilson_clover<Low> inner_schur_;
  high_field b_, x_;
};

}  // namespace

std::unique_ptr<solve_engine> make_cpu_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options) {
  const auto with_inner = [&]<class High>(std::type_identity<High>) -> std::unique_ptr<solve_engine> {
    if constexpr (std::is_same_v<High, double>)
      if (options.inner == precision::double_) return std::make_unique<cpu_engine<double, double>>(ctx, links, options);
    if (options.inner == precision::single) return std::make_unique<cpu_engine<High, float>>(ctx, links, options);
    return std::make_unique<cpu_engine<High, half>>(ctx, links, options);
  };
  return options.outer == precision::double_ ? with_inner(std::type_identity<double>{})
                                             : with_inner(std::type_identity<float>{});
}

}  // namespace plaquette
