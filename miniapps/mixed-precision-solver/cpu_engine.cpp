// SPDX-License-Identifier: BSD-3-Clause
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

/// A Schur complement that counts the columns it is applied to.
template <class T>
class counted_schur {
 public:
  counted_schur(const cpu::schur_wilson_clover<T>& schur, double& columns) : schur_(schur), columns_(columns) {}

  void apply(cpu::field<T>& out, const cpu::field<T>& in) const {
    columns_ += in.columns();
    schur_.apply(out, in);
  }
  void apply_dagger(cpu::field<T>& out, const cpu::field<T>& in) const {
    columns_ += in.columns();
    schur_.apply_dagger(out, in);
  }
  auto apply_dot_norm2(cpu::field<T>& out, const cpu::field<T>& in, const cpu::field<T>& w) const {
    columns_ += in.columns();
    return schur_.apply_dot_norm2(out, in, w);
  }
  void prepare_source(cpu::field<T>& even, const cpu::field<T>& b) const { schur_.prepare_source(even, b); }
  void reconstruct_solution(cpu::field<T>& x, const cpu::field<T>& even, const cpu::field<T>& b) const {
    schur_.reconstruct_solution(x, even, b);
  }
  cpu::field<T> even_like(const cpu::field<T>& full) const { return schur_.even_like(full); }

 private:
  const cpu::schur_wilson_clover<T>& schur_;
  double& columns_;
};

/// The longest of all ranks.
double slowest(const communicator& comm, double seconds) {
  std::array<double, 1> longest{seconds};
  comm.maximum(std::span(longest));
  return longest[0];
}

/// Fields that a solver goes through in an iteration, the operator's own among them; more only for gcr.
constexpr int solver_vectors = 7;

template <class T>
class cpu_engine final : public solve_engine {
 public:
  cpu_engine(const cpu::context& ctx, const gauge_configuration& links, const solver_options& options)
      : context_(ctx),
        options_(options),
        full_(std::make_shared<const cpu::wilson_clover<T>>(ctx, links, options.shared.action)),
        schur_(full_, options.preconditioning),
        b_(ctx, {.columns = options.shared.rhs}),
        x_(like(b_)) {}

  void apply(spinor_configuration& out, const spinor_configuration& in, bool dagger) override {
    cpu::field<T> from(context_, {}), to(context_, {});
    import_column(from, 0, in);
    if (dagger)
      full_->apply_dagger(to, from);
    else
      full_->apply(to, from);
    export_column(out, to, 0);
  }

  void set_source(int column, const spinor_configuration& source) override { import_column(b_, column, source); }

  timed_solve solve(const stopping_rule& rule, const schur_parameters& parameters) override {
    double column_applications = 0.0;
    const counted_schur<T> schur(schur_, column_applications);
    const auto krylov = [this](const auto& a, auto& x, const auto& b, const stopping_rule& inner) {
      return solve_in_groups(cpu::columns_at_once(b, solver_vectors), x, b, inner,
                             [&](auto& x_part, const auto& b_part, const stopping_rule& part) {
                               return plaquette::solve(options_.solver, a, x_part, b_part, part, options_.parameters);
                             });
    };
    context_.comm().barrier();
    const stopwatch watch;
    zero(x_);
    timed_solve result;
    result.report = schur_solve(schur, *full_, x_, b_, rule, krylov, parameters);
    result.seconds = slowest(context_.comm(), watch.seconds());
    result.flops = column_applications * schur_.flops_per_site() * even_sites();
    return result;
  }

  void get_solution(int column, spinor_configuration& out) const override { export_column(out, x_, column); }

  operator_figure time_operator() override {
    cpu::field<T> in = schur_.even_like(b_), out = like(in);
    schur_.prepare_source(in, b_);
    const auto sample = [&](int applications) {
      context_.comm().barrier();
      const stopwatch watch;
      for (int i = 0; i < applications; ++i) schur_.apply(out, in);
      return slowest(context_.comm(), watch.seconds()) / applications;
    };
    const double rough = sample(2);  // the warm-up
    constexpr double sample_seconds = 0.03;
    const int applications = rough > 0.0 ? static_cast<int>(std::clamp(sample_seconds / rough, 1.0, 10000.0)) : 1;
    std::vector<double> seconds;
    for (int i = 0; i < 9; ++i) seconds.push_back(sample(applications));
    return figure_of(statistics(std::move(seconds)));
  }

 private:
  double even_sites() const { return 0.5 * static_cast<double>(context_.geometry().global_volume()); }

  operator_figure figure_of(const sample_statistics& seconds) const {
    const bool clover = options_.shared.action.has_clover();
    const int columns = b_.columns();
    operator_figure figure;
    figure.operator_name = clover ? "clover_schur" : "wilson_schur";
    figure.layout = "even-odd";
    figure.precision = options_.shared.precision;
    figure.rhs = columns;
    figure.lattice = context_.geometry().global();
    figure.ranks = context_.comm().size();
    figure.threads = context_.threads();
    figure.seconds = seconds;
    figure.gflops = 1e-9 * schur_.flops_per_site() * even_sites() * columns / seconds.median;
    figure.gbytes_per_s = 1e-9 * schur_bytes_per_site(clover, columns, sizeof(T)) * even_sites() / seconds.median;
    return figure;
  }

  cpu::context context_;
  const solver_options& options_;
  std::shared_ptr<const cpu::wilson_clover<T>> full_;
  cpu::schur_wilson_clover<T> schur_;
  cpu::field<T> b_, x_;
};

}  // namespace

std::unique_ptr<solve_engine> make_cpu_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options) {
  if (options.is_single()) return std::make_unique<cpu_engine<float>>(ctx, links, options);
  return std::make_unique<cpu_engine<double>>(ctx, links, options);
}

}  // namespace plaquette
