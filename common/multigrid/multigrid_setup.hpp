// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Adaptive multigrid: null vectors (null_vectors.hpp), the coarse operators that they make (multigrid_levels.hpp), and
/// the cycle made of these (cycle_factory.hpp). Written once for all libraries: `Library` names the types and the few
/// functions that differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/multigrid/cycle_factory.hpp"
#include "common/multigrid/multigrid_levels.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/multigrid/null_vectors.hpp"

namespace plaquette {

/// A solver of the coarsest lattice stalls if a second solve leaves more than this fraction of the first one's
/// residual.
inline constexpr double stalling_rate = 0.9;

/// The parts of a hierarchy of lattices. Library has
///   fine_field, coarse_field           field types of the cycle
///   fine_operator, coarse_system         Mhat: apply, prepare_source, reconstruct_solution, (full_residual)
///   transfer, basis, matrices           P; its columns; P^+ M P
///   make_orthonormal(basis)             returns an `orthonormalisation`, or an object with `replaced`, `is_useless`
///   singular_values, take_leading_vectors(kept, of kept, fresh, weights)   a pool of null vectors, with a `rank`
///   fine_domains, coarse_domains       schwarz_domains of Mhat and of matrices, given their shape
/// and the functions called below.
template <class Library>
class multigrid {
 public:
  using fine_field = typename Library::fine_field;
  using coarse_field = typename Library::coarse_field;
  using fine_operator = typename Library::fine_operator;
  using coarse_system = typename Library::coarse_system;
  using transfer = typename Library::transfer;
  using basis = typename Library::basis;
  using matrices = typename Library::matrices;

  using level = multigrid_level<Library>;

  /// Makes null vectors and coarse operators. Collective.
  multigrid(const Library& library, const multigrid_parameters& parameters)
      : multigrid(library, parameters, without_levels{}) {
    const int count = parameters.coarsenings.front().vectors;
    fine_field v = timed(library, report_.relaxation_seconds, [&] {
      fine_field random = library.random_fine_field(count, parameters.seed);
      null_vector_maker(library_, parameters_).relax(*library.system(), random);
      return random;
    });
    build(v);
    for (int pass = 0; pass < parameters.refinements; ++pass) refine(v);
    builder().note_quality(v);
  }

  /// From null vectors that are there already (a file, another mass): makes the coarse operators.
  /// \param coefficients  as the member function gives them
  multigrid(const Library& library, const multigrid_parameters& parameters, std::vector<basis> vectors,
            const std::vector<std::vector<complex<double>>>& coefficients)
      : multigrid(library, parameters, without_levels{}) {
    for (std::size_t number = 0; number < vectors.size(); ++number) {
      level next;
      timed(library, report_.galerkin_seconds, [&] {
        next.vectors = std::make_shared<const basis>(std::move(vectors[number]));
        builder().take_vectors(next, number);
      });
      levels_.push_back(next);
    }
    coefficients_.emplace(levels_.front().from_finer->coarse_like(static_cast<int>(coefficients.size())));
    for (std::size_t k = 0; k < coefficients.size(); ++k)
      import_column(*coefficients_, static_cast<int>(k), std::span<const complex<double>>(coefficients[k]));
  }

  /// Improves null vectors that are there, by one more inverse iteration, and makes the coarse lattices again: for
  /// vectors of another mass, or if the cycle converges slowly. Collective.
  void improve() {
    fine_field v = null_vectors();
    if (parameters_.null_space == null_space_kind::stages && !pool_)  // they came from a file
      timed(library_, report_.orthonormal_seconds, [&] { builder().put_into_pool(v); });
    refine(v);
    builder().note_quality(v);
  }

  /// P^+ v of the null vectors of the finest lattice before they were made orthonormal, on this rank: a column each,
  /// [site][number]. v is P times that, or nearly so if P holds the leading vectors of several stages.
  std::vector<std::vector<complex<double>>> coefficients() const {
    std::vector<std::vector<complex<double>>> all;
    for (int k = 0; k < coefficients_->columns(); ++k) {
      all.emplace_back(static_cast<std::size_t>(coefficients_->sites() * coefficients_->components()));
      export_column(std::span(all.back()), *coefficients_, k);
    }
    return all;
  }

  /// Returns the null vectors of the finest lattice, from their kept coefficients.
  fine_field null_vectors() const {
    fine_field v = library_.random_fine_field(coefficients_->columns(), 0);
    levels_.front().from_finer->prolong(v, *coefficients_);
    return v;
  }

  /// The parts of a level: its columns of P and its operator.
  struct made_level {
    basis vectors;
    matrices numbers;
  };
  /// Builds the hierarchy from finished levels, e.g. of another library.
  multigrid(const Library& library, const multigrid_parameters& parameters, std::vector<made_level> made)
      : multigrid(library, parameters, without_levels{}) {
    for (made_level& from : made) {
      level next;
      next.vectors = std::make_shared<const basis>(std::move(from.vectors));
      next.from_finer = library_.make_transfer(*next.vectors);
      next.operator_numbers = std::make_shared<const matrices>(std::move(from.numbers));
      next.system = library_.make_system(*next.operator_numbers);
      levels_.push_back(next);
    }
  }

  /// Returns the hierarchy of M + i mu gamma_5, with the null vectors of this one: cycles of it have the twist on all
  /// coarse lattices. Its system of the finest lattice has none. Takes no modes out of the coarsest lattice, since
  /// gamma_5 M gamma_5 is not M^+ there.
  multigrid with_twist(double mu) const {
    multigrid twisted(library_, parameters_, without_levels{});
    twisted.parameters_.coarsest_modes = 0;
    for (const level& from : levels_) {
      level next = from;
      next.operator_numbers = std::make_shared<const matrices>(library_.with_twist(*from.operator_numbers, mu));
      next.system = library_.make_system(*next.operator_numbers);
      twisted.levels_.push_back(std::move(next));
    }
    return twisted;
  }

  const std::vector<level>& levels() const { return levels_; }
  const multigrid_setup_report& report() const { return report_; }
  const multigrid_parameters& parameters() const { return parameters_; }
  /// Returns how many stages of null vectors P is made of; 0 if this setup did not collect stages.
  int stages() const { return pool_ ? pool_->stages : 0; }
  const Library& library() const { return library_; }

  /// Lets cycles that are made from here on note their seconds and steps. Returns the profile that they fill.
  std::shared_ptr<cycle_profile> start_profile() {
    const auto profile = std::make_shared<cycle_profile>();
    profile->lattices.resize(parameters_.coarsenings.size() + 1);
    profile->finish = [library = library_] { library.finish(); };
    return resources_.profile = profile;
  }
  /// Cycles that are made from here on note nothing.
  void stop_profile() { resources_.profile = nullptr; }

  /// x = about Mhat^-1 b for even fields of quarks, of `columns` columns or fewer.
  any_operator<fine_field> cycle(int columns) const {
    return cycle_in(library_.system(), library_.even_field(columns));
  }
  /// x = about M^-1 b for full fields of the coarse lattice `number`, of `columns` columns or fewer.
  any_operator<coarse_field> coarse_inverse(std::size_t number, int columns) const {
    return factory().inverse(number, columns);
  }

  /// Returns the fraction of a first solve's residual that a second solve on the coarsest lattice leaves: the largest
  /// over random sources. Near 1 if the solver misses a mode. Collective.
  double left_by_coarsest() const {
    constexpr int columns = 12, rounds = 2;
    const level& last = levels_.back();
    const auto inverse = coarse_inverse(levels_.size(), columns);
    coarse_field r = last.from_finer->coarse_like(columns), x = like(r), mx = like(r);
    library_.fill_random(r, parameters_.seed + 994);
    auto before = norm2(r), after = before;
    for (int round = 0; round < rounds; ++round) {
      inverse.apply(x, r);
      library_.apply_full(mx, x, *last.operator_numbers);
      before = after;
      after = axpy_norm2(r, uniform_scalars(r, -1.0), mx);
    }
    double largest = 0.0;
    for (const auto& left2 : host_values(ratio(after, before))) keep_largest(largest, std::sqrt(left2.re));
    return largest;
  }

  /// Gives the coarsest lattice up to four times as many steps, if its solver stalls and does not with more. A mode
  /// that it misses may stop a solve. Of cycles that are made from here on. Collective.
  void find_coarsest_steps() {
    const int steps = parameters_.coarsest_steps;
    for (const int factor : {1, 2, 4}) {
      use_coarsest_steps(factor * steps);
      if (left_by_coarsest() <= stalling_rate) break;  // NaN stalls
      if (factor == 4) use_coarsest_steps(steps);
    }
  }

  /// Finds the polynomials with which later cycles relax, if wanted: the mean coefficients of CA-GCR in cycles on a
  /// random right-hand side. These cycles make x += alpha B r, r = b - A x, with the alpha of the smallest |r|, which
  /// an additive correction needs. M is gamma_5-Hermitian, its eigenvalues come in conjugate pairs, and the
  /// coefficients of the best polynomial are real. Collective.
  void fit_polynomial_smoothers() {
    const auto places = places_of_polynomials(parameters_);
    const auto is_known = [this](const auto& place) { return parameters_.polynomials.contains(place); };
    if (parameters_.smoother != smoother_kind::polynomial || std::ranges::all_of(places, is_known)) return;
    constexpr int rounds = 6, ignored = 1;
    const auto recorded = resources_.recorded = std::make_shared<recorded_coefficients>();
    const auto& a = *library_.system();
    fine_field r = library_.even_field(1), x = like(r), ax = like(r);
    library_.restrict_to_even(r, library_.random_fine_field(1, parameters_.seed + 996));
    {
      const auto inverse = cycle(1);
      for (int round = 0; round < rounds + ignored; ++round) {
        if (round == ignored) recorded->clear();
        inverse.apply(x, r);
        const auto [ax_r, ax2] = apply_dot_norm2(a, ax, x, r);
        axpy(r, -ratio(ax_r, ax2), ax);
      }
    }
    resources_.recorded = nullptr;
    for (auto& [place, mean] : recorded->means()) parameters_.polynomials[place] = mean;
    for (const auto& place : places) parameters_.polynomials.try_emplace(place);
  }

  /// Of cycles that are made from here on.
  void use_cycle(const cycle_shape& shape) {
    if (shape.additive_on != parameters_.additive_on) parameters_.polynomials.clear();  // they met other residuals
    parameters_.set_shape(shape);
  }

  /// Of cycles that are made from here on.
  void use_coarsest_steps(int count) { parameters_.coarsest_steps = count; }

  /// Every rank holds the lattices from `number` on whole, in cycles that are made from here on; 0: none.
  void use_whole_lattices(std::size_t number) { parameters_.whole_from = number; }

  using solver_maker = typename cycle_resources<Library>::solver_maker;
  /// Cycles that are made from here on solve the lattices from `number` on by the solver that `make` returns, in
  /// another library, say. Without `make` they are solved here.
  void offload_from_level(std::size_t number, solver_maker make) {
    resources_.offloaded_from = number;
    resources_.offloaded = std::move(make);
  }

  /// The same in another precision on the finest lattice.
  /// \param a      Mhat in it, of the kind of `Library::fine_operator`
  /// \param shape  an even field of as many columns as the widest batch
  template <class System, field_batch Field>
  any_operator<Field> cycle_in(std::shared_ptr<const System> a, const Field& shape) const {
    return factory().cycle(std::move(a), shape, 0);
  }

 private:
  struct without_levels {};
  multigrid(const Library& library, const multigrid_parameters& parameters, without_levels)
      : library_(library), parameters_(parameters), resources_(library) {}

  level_builder<Library> builder() { return {library_, parameters_, levels_, pool_, report_}; }
  cycle_factory<Library> factory() const { return {library_, parameters_, levels_, resources_}; }

  /// Makes all levels. Drops vectors of v that add nothing.
  void build(fine_field& v) {
    levels_.clear();
    resources_.whole.forget();
    parameters_.polynomials.clear();
    builder().add_level(v, 0);
    coefficients_.emplace(levels_.front().from_finer->coarse_like(v.columns()));
    levels_.front().from_finer->restrict_to(*coefficients_, v);
  }

  /// Inverse iteration with the cycle: v = about M^-1 v, and levels of the new v.
  void refine(fine_field& v) {
    timed(library_, report_.refinement_seconds, [&] {
      const int columns = std::min(parameters_.setup_batch, v.columns());
      const red_black_inverse<fine_field, fine_operator> inverse(library_.system(), library_.even_field(columns),
                                                                 cycle(columns));
      null_vector_maker(library_, parameters_).refine(v, inverse);
    });
    build(v);
  }

  Library library_;
  multigrid_parameters parameters_;
  std::vector<level> levels_;
  std::optional<null_vector_pool<Library>> pool_;
  std::optional<coarse_field> coefficients_;
  mutable cycle_resources<Library> resources_;
  multigrid_setup_report report_;
};

}  // namespace plaquette
