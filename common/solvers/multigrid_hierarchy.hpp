// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The set-up of a multigrid solver: null vectors and coarse lattices, where these live, and the cycle made of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/krylov/bridge.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/cycle_in_single.hpp"
#include "common/solvers/level_placement.hpp"
#include "common/solvers/multigrid_operators.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// Waits for all work of the library, and for all ranks.
template <class Library>
void start_together(const Library& library) {
  library.finish();
  library.get_context().comm().barrier();
}

/// Returns the seconds of the slowest rank.
inline double largest_of_ranks(double seconds, const communicator& comm) {
  comm.maximum(std::span(&seconds, 1));
  return seconds;
}

/// Holds the lattices of a solver and one cycle. A function that changes lattices forgets the cycle; the next call for
/// a cycle makes one.
template <multigrid_backend Backend>
class multigrid_hierarchy {
  using types = multigrid_types<Backend>;
  using library_type = typename types::library;
  using outer_field = typename types::outer_field;
  using single_field = typename types::single_field;
  template <class T>
  using schur_operator = typename types::template schur_operator<T>;

 public:
  using lattices_type = multigrid<library_type>;

  /// Both must live as long as this object.
  multigrid_hierarchy(multigrid_operators<Backend>& operators, const multigrid_settings& settings)
      : operators_(operators), settings_(settings) {}

  // ---- Set-up

  /// Makes null vectors and coarse lattices, or only the latter from vectors that `origin` loads.
  setup_report set_up(const multigrid_parameters& wanted, const null_vector_origin& origin) {
    start_together(library());
    const work_clock whole(library());
    forget_cycle();
    report_ = {};
    multigrid_parameters parameters = wanted;
    parameters.additive_on.reset();  // until `tune`
    if (origin.load)
      load(parameters, origin);
    else
      lattices_.emplace(library(), parameters);
    places_ = {};
    library().finish();
    report_.seconds.whole = whole.seconds(), report_.seconds.tuning = whole.tuning_seconds();
    return update_report();
  }

  /// Improves the null vectors on the present links and makes new coarse lattices. These stay on their devices.
  setup_report renew(int iterations) {
    require_setup("a renewal");
    if (iterations < 1)
      throw input_error("multigrid: expected at least 1 inverse iteration, found " + std::to_string(iterations));
    start_together(library());
    const work_clock whole(library());
    forget_cycle();
    const level_places before{places_.first, lattices_->parameters().additive_on.has_value()};
    place({}, nullptr);  // levels of the other device belong to the old vectors
    for (int pass = 0; pass < iterations; ++pass) lattices_->improve();
    place(before, before.first > 0 ? on_host(lattices_->parameters()) : nullptr);
    library().finish();
    report_.seconds.whole += whole.seconds(), report_.seconds.tuning += whole.tuning_seconds();
    return update_report();
  }

  /// Throws input_error without a setup.
  /// \param what  "a solve"
  void require_setup(const std::string& what) const {
    if (!lattices_) throw input_error("multigrid: expected a setup before " + what + ": call set_up first");
  }

  setup_report report() const { return report_; }
  /// Updates the report from the report of the lattices, and returns it.
  setup_report update_report() {
    const multigrid_setup_report& r = lattices_->report();
    auto& s = report_.seconds;
    const communicator& comm = operators_.get_context().comm();
    std::array<double, 5> seconds{r.relaxation_seconds, r.refinement_seconds, r.orthonormal_seconds, r.galerkin_seconds,
                                  s.whole};
    take_out_tuning(seconds, comm);
    s = {seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], largest_of_ranks(s.tuning, comm)};
    report_.replaced = r.replaced;
    report_.dropped = r.dropped;
    report_.stages = lattices_->stages();
    report_.coarsenings = lattices_->parameters().coarsenings;
    report_.smallest_gain = r.least_eigenvalue_estimate;
    report_.largest_gain = r.largest_of_null_space;
    return report_;
  }

  /// Returns the null vectors on the host, for the set-up of another run.
  stored_setup null_vectors() const {
    stored_setup setup;
    for (const auto& level : lattices_->levels()) setup.vectors.push_back(Backend::on_host(*level.vectors));
    setup.coefficients = lattices_->coefficients();
    setup.mass = settings_.action.mass;
    return setup;
  }

  // ---- Lattices

  const library_type& library() const { return operators_.library(); }
  lattices_type& lattices() { return *lattices_; }
  const lattices_type& lattices() const { return *lattices_; }
  const multigrid_parameters& parameters() const { return lattices_->parameters(); }
  /// Returns the seed of the set-up, or the default one before.
  std::uint64_t seed() const { return lattices_ ? parameters().seed : multigrid_parameters{}.seed; }
  int restart_length() const { return settings_.restart_length; }

  /// Returns whether coarse lattices may live in the CPU library.
  bool has_host() const { return static_cast<bool>(settings_.on_host); }
  /// Copies all levels to the CPU library, for cycles with these parameters.
  std::shared_ptr<const coarse_hierarchy> on_host(const multigrid_parameters& parameters) const {
    std::vector<host_level> levels;
    for (const auto& level : lattices_->levels())
      levels.push_back({Backend::on_host(*level.vectors), Backend::on_host(*level.operator_numbers)});
    return settings_.on_host(parameters, std::move(levels));
  }
  /// Puts coarse lattices there. The present cycle does not change.
  void place(const level_places& places, const std::shared_ptr<const coarse_hierarchy>& there) {
    offload(*lattices_, there, places);
    places_ = places;
  }

  // ---- The cycle

  /// Returns x = about Mhat^-1 b for as many columns. Cycles are made once for a width, and run twice, outside of timed
  /// stretches: a device records the second run.
  const any_operator<outer_field>& cycle(int columns) {
    if (cycle_ && columns_ == columns) return *cycle_;
    lattices_->fit_polynomial_smoothers();
    cycle_.reset();
    cycle_in_single_.reset();
    const outer_field shape(operators_.get_context(), {.sites = site_subset::even, .columns = columns});
    std::shared_ptr<const schur_operator<half>> in_half;
    if (settings_.cycle_precision == precision::half)
      in_half = std::make_shared<const schur_operator<half>>(operators_.template inner<half>(), schur_kind::asymmetric);
    cycle_in_single_.emplace(plaquette::cycle_in_single<Backend>(operators_.get_context(), *lattices_, in_half, columns,
                                                                 !profile_ && places_.first == 0));
    cycle_.emplace(bridge<single_field>(*cycle_in_single_, shape));
    columns_ = columns;
    warm_up(*cycle_, shape);
    library().finish();
    return *cycle_;
  }
  /// Returns the same for fields in single precision.
  const any_operator<single_field>& cycle_in_single(int columns) {
    cycle(columns);
    return *cycle_in_single_;
  }
  /// Returns the width of the last cycle, 0 before the first.
  int columns_of_cycle() const { return columns_; }
  void forget_cycle() { cycle_.reset(); }
  /// Forgets a cycle with domains of Schwarz's procedure, which have links of their own: the links have moved.
  void forget_domains() {
    if (!lattices_) return;
    const smoother_kind kind = parameters().smoother;
    if (kind == smoother_kind::multiplicative_schwarz || kind == smoother_kind::additive_schwarz) forget_cycle();
  }

  /// Runs `work` with a cycle for as many columns that times its stages. Returns the result of `work`, and the profile.
  template <class Work>
  auto profiled(int columns, const Work& work) {
    profile_ = lattices_->start_profile();
    forget_cycle();
    cycle(columns);
    std::ranges::fill(profile_->lattices, lattice_profile{});
    auto result = work();
    lattices_->stop_profile();
    forget_cycle();
    return std::pair{std::move(result), std::exchange(profile_, nullptr)->lattices};
  }

 private:
  /// Makes coarse lattices from the null vectors that `origin` loads, and improves these `origin.refresh` times.
  void load(const multigrid_parameters& parameters, const null_vector_origin& origin) {
    stored_setup loaded = origin.load();
    std::vector<typename library_type::basis> vectors;
    for (null_space& v : loaded.vectors)
      vectors.push_back(Backend::from_host(operators_.get_context(), std::move(v), !vectors.empty()));
    lattices_.emplace(library(), parameters, std::move(vectors), loaded.coefficients);
    report_.mass_of_vectors = loaded.mass;
    for (int pass = 0; pass < origin.refresh; ++pass) lattices_->improve();
  }

  multigrid_operators<Backend>& operators_;
  const multigrid_settings& settings_;
  std::optional<lattices_type> lattices_{};
  setup_report report_{};
  level_places places_{};
  std::optional<any_operator<single_field>> cycle_in_single_{};
  std::optional<any_operator<outer_field>> cycle_{};  ///< the same for fields in double precision
  int columns_ = 0;
  std::shared_ptr<cycle_profile> profile_{};  ///< of a cycle whose stages are timed
};

}  // namespace plaquette
