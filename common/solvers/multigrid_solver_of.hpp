// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The multigrid solver of any library: it holds the sources, the solutions and the modes. Its parts do the work:
/// multigrid_operators.hpp, multigrid_hierarchy.hpp (set-up and cycle), cycle_tuner.hpp, multigrid_solves.hpp,
/// low_mode_finder.hpp.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/same_lattice.hpp"
#include "common/solvers/coarse_identities.hpp"
#include "common/solvers/cycle_tuner.hpp"
#include "common/solvers/low_mode_finder.hpp"
#include "common/solvers/multigrid_hierarchy.hpp"
#include "common/solvers/multigrid_operators.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/multigrid_solves.hpp"
#include "common/solvers/multigrid_work.hpp"
#include "common/solvers/null_space_study.hpp"
#include "common/solvers/solver_arguments.hpp"
#include "common/solvers/solver_vectors_of.hpp"
#include "common/solvers/vectors_of.hpp"

namespace plaquette {

/// See multigrid_solver.hpp.
template <multigrid_backend Backend>
class multigrid_solver_of final : public multigrid_solver {
  using types = multigrid_types<Backend>;
  using context = typename types::context;
  using library = typename types::library;
  using outer_field = typename types::outer_field;
  using single_field = typename types::single_field;

 public:
  /// \param distance_from_su3  the largest of a link
  multigrid_solver_of(const context& ctx, typename types::links u, const multigrid_settings& settings,
                      double distance_from_su3)
      : context_(ctx), settings_(settings), operators_(context_, std::move(u), settings_, distance_from_su3) {}

  // ---- Set-up and tuning

  setup_report set_up(const multigrid_parameters& wanted, const null_vector_origin& origin) override {
    require_current_links();
    return hierarchy_.set_up(wanted, origin);
  }
  setup_report renew(int iterations) override {
    hierarchy_.require_setup("a renewal");
    require_current_links();
    return hierarchy_.renew(iterations);
  }
  tuning_report tune(const tuning_choices& open) override {
    require_current_links();
    hierarchy_.require_setup("tuning");
    const tuning_report report = cycle_tuner<Backend>(hierarchy_, open).tune();
    hierarchy_.update_report();
    return report;
  }
  setup_report setup() const override { return hierarchy_.report(); }
  stored_setup null_vectors() const override {
    hierarchy_.require_setup("its null vectors are taken");
    return hierarchy_.null_vectors();
  }

  // ---- Checks and studies

  std::vector<identity_check> identities(bool with_cycle) override {
    require_current_links();
    hierarchy_.require_setup("checks");
    const coarse_identities<library> of(hierarchy_.lattices());
    std::vector<identity_check> found = of.of_all_levels();
    if (with_cycle && hierarchy_.has_host()) {
      if (!operators_.has_first_links())
        throw input_error(
            "multigrid: a cycle is checked against one of the CPU on the links that the solver was made from; "
            "expected those, found links that it has followed");
      multigrid_parameters fixed = hierarchy_.parameters();
      fixed.k_tolerance = fixed.coarsest_tolerance = 0.0;
      found.push_back(of.of_cycle(*hierarchy_.on_host(fixed)));
    }
    return found;
  }

  std::vector<low_mode> low_modes(const mode_probe& probe, const std::function<bool()>& interrupted) override {
    require_current_links();
    hierarchy_.require_setup("a search for modes");
    const low_mode_finder<Backend> finder(operators_, hierarchy_, solves_);
    const auto modes = finder.find(probe, interrupted);
    modes_.emplace(modes.vectors);
    return finder.described(modes);
  }
  void get_low_mode(int number, spinor_configuration& v) const override {
    require_modes();
    require_columns(number, 1, modes_->columns(), "modes");
    require_same_lattice(v.geometry(), context_.geometry(), "a mode", "a solver on ");
    export_column(v, *modes_, number);
  }

  null_space_study study_null_space() override {
    require_current_links();
    require_modes();
    null_space_examiner<library, outer_field> examiner(hierarchy_.lattices(), *modes_);
    outer_field random(context_, field_shape{});
    assign(random, operators_.library().random_fine_field(1, hierarchy_.seed() + 998));
    outer_field even = operators_.schur().even_like(random);
    copy(even, random.parity(0));
    constexpr int iterations = 12;
    null_space_study study;
    examiner.add_errors(study, operators_.schur(), hierarchy_.cycle(1), even, iterations);
    examiner.add_coherence(study);
    if (context_.comm().size() == 1) study.plane = examiner.picture(context_.geometry());
    return study;
  }

  // ---- Sources and solutions

  void resize(int columns) override {
    require_some_columns(columns, "multigrid");
    b_.emplace(context_, field_shape{.columns = columns});
    resize_solutions();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    scale(*x_, of_all_columns({nan, nan}));  // the memory may hold the solution of a solve before
  }
  void set_source(int column, const spinor_configuration& b) override {
    require_sources();
    require_columns(column, 1, b_->columns(), "a source");
    require_same_lattice(b.geometry(), context_.geometry(), "a source", "a solver on ");
    import_column(*b_, column, b);
  }
  bool set_sources(const spinor_array<const double>& b) override {
    resize(b.columns);
    import_array(*b_, b);
    return !b.is_on_device || all_finite(norm2(*b_));
  }
  void make_sources(const source_description& source, const std::vector<int>& components,
                    complex<double> phase) override {
    require_current_links();
    require_spin_colours(components);
    resize(static_cast<int>(components.size()));
    int column = 0;
    for (const int component : components)
      Backend::make_source(*b_, column++, source, component_of_column(component), operators_.links(), context_);
    scale(*b_, of_all_columns(phase));
  }
  void set_residuals_as_sources() override {
    require_current_links();
    require_sources();
    outer_field r = like(*b_);
    residual(r, operators_.full(), *x_, *b_);
    copy(*b_, r);
  }

  std::vector<double> solution_norms() const override {
    require_sources();
    return norms(*x_);
  }
  std::vector<double> source_norms() const override {
    require_sources();
    return norms(*b_);
  }
  void get_solution(int column, spinor_configuration& x) const override {
    require_sources();
    require_columns(column, 1, x_->columns(), "a solution");
    require_same_lattice(x.geometry(), context_.geometry(), "a solution", "a solver on ");
    export_column(x, *x_, column);
  }
  vectors_handle solutions() override {
    require_sources();
    vectors_handle here = handle_of(outer_field(*x_), 0, mark());
    given_ = here;
    return here;
  }

  // ---- Solves

  /// As many iterations as directions are kept: every vector of the solve is allocated then. A library that records and
  /// tunes nothing has little to warm up.
  int warm_up_iterations() const override { return Backend::records ? settings_.restart_length + 1 : 1; }

  multigrid_solve_report solve(const stopping_rule& rule) override {
    require_current_links();
    require_sources();
    hierarchy_.require_setup("a solve");
    if (!given_.expired()) resize_solutions();
    return solves_.with_cycle(*x_, *b_, rule);
  }
  multigrid_solve_report solve_by_bicgstab(const stopping_rule& rule, precision inner) override {
    require_current_links();
    require_sources();
    if (!given_.expired()) resize_solutions();
    return solves_.by_bicgstab(*x_, *b_, rule, inner);
  }
  single_solution solve_in_single(const vectors_handle& b, const stopping_rule& rule, bool by_bicgstab) override {
    require_current_links();
    if (!by_bicgstab) hierarchy_.require_setup("a solve");
    require_library_of(b, mark(), "vectors", "this solver");
    const single_field& in = fields_of<single_field>(b);
    require_same_lattice(in.get_context().geometry(), context_.geometry(), "vectors", "this solver on ");
    return by_bicgstab ? solves_.in_single_by_bicgstab(in, rule, mark()) : solves_.in_single(in, rule, mark());
  }
  solve_profile profile(const stopping_rule& rule) override {
    require_current_links();
    require_sources();
    hierarchy_.require_setup("a solve");
    const auto [solved, lattices] = hierarchy_.profiled(b_->columns(), [&] { return solve(rule); });
    return {solved.seconds, solved.report.iterations(), lattices,
            work_of(static_cast<double>(solved.report.column_applications), lattices, hierarchy_.parameters(),
                    flops_of_lattices(), fine_sites())};
  }

 private:
  /// A recorded cycle stays: it reads the operators' memory, the null vectors and the coarse operators.
  void follow_checked(const link_field& handle) override {
    operators_.follow(
        links_behind<typename multigrid_operators<Backend>::gauge>(handle, context_.geometry(), "a solver"),
        [this] { begin_to_follow(); });
    hierarchy_.forget_domains();
  }

  bool solves_even_systems() const override { return false; }
  precision numbers_of_solutions() const override { return precision::double_; }
  /// gamma_5 M gamma_5 = M^+
  schur_report solve_checked(vectors& x, const vectors& b, const stopping_rule& rule,
                             const vector_system& system) override {
    hierarchy_.require_setup("a solve");
    outer_field& to = field_of<outer_field>(x);
    const outer_field& from = field_of<outer_field>(b);
    if (!system.dagger) return solves_.with_cycle(to, from, rule).report;
    outer_field rotated = like(from);
    gamma5(rotated, from);
    schur_report report = solves_.with_cycle(to, rotated, rule).report;
    gamma5(to, to);
    return report;
  }

  void require_sources() const {
    if (!b_)
      throw input_error(
          "multigrid: expected sources and solutions, found no room for them: call resize, set_sources or make_sources "
          "first");
  }
  void require_modes() const {
    if (!modes_) throw input_error("multigrid: expected modes of a search, found none: call low_modes first");
  }

  /// Takes other memory for solutions, whose last ones somebody has a handle to.
  void resize_solutions() {
    x_.emplace(like(*b_));
    given_.reset();
  }

  double fine_sites() const { return static_cast<double>(context_.geometry().global_volume()); }
  /// Returns the flops of one application of the red-black operator on each lattice, of all ranks.
  std::vector<double> flops_of_lattices() const {
    std::vector<double> flops{operators_.schur().flops_per_site() * 0.5 * fine_sites()};
    for (const auto& level : hierarchy_.lattices().levels())
      flops.push_back(level.system->flops() * context_.comm().size());
    return flops;
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
  multigrid_settings settings_;
  multigrid_operators<Backend> operators_;
  multigrid_hierarchy<Backend> hierarchy_{operators_, settings_};
  multigrid_solves<Backend> solves_{operators_, hierarchy_, settings_};
  std::optional<outer_field> b_, x_, modes_;
  std::weak_ptr<const solver_vectors> given_{};  ///< shares the memory of x_
};

}  // namespace plaquette
