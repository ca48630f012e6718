// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes cycles of levels: which relaxation, transfer and solver stand where.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/eigen/deflation.hpp"
#include "common/krylov/inner_gcr.hpp"
#include "common/multigrid/coarse_solvers.hpp"
#include "common/multigrid/multigrid.hpp"
#include "common/multigrid/multigrid_profile.hpp"
#include "common/multigrid/schwarz.hpp"
#include "common/multigrid/smoother_polynomials.hpp"
#include "common/multigrid/whole_lattices.hpp"

namespace plaquette {

/// The resources that cycles of a hierarchy share, in addition to its levels.
template <class Library>
struct cycle_resources {
  using coarse_field = typename Library::coarse_field;
  /// x = about M^-1 b on a coarse lattice, made for a number of columns.
  using solver_maker = std::function<coarse_solver<coarse_field>(int columns)>;

  explicit cycle_resources(const Library& library) : whole(library) {}

  whole_lattices<Library> whole;
  std::size_t offloaded_from = 0;  ///< the lattice that `offloaded` solves
  solver_maker offloaded = nullptr;
  std::shared_ptr<cycle_profile> profile = nullptr;           ///< null: cycles note nothing
  std::shared_ptr<recorded_coefficients> recorded = nullptr;  ///< of CA-GCR; null: nothing is recorded
  std::shared_ptr<const typename Library::coarse_system> system_of_modes = nullptr;
  std::optional<singular_vectors<coarse_field>> modes{};  ///< lowest ones of the coarsest lattice
};

/// Makes cycles for a number of columns. A short-lived object: it refers to all its arguments. The cycles that it makes
/// do not.
template <class Library>
class cycle_factory {
  using coarse_field = typename Library::coarse_field;
  using coarse_system = typename Library::coarse_system;
  using transfer = typename Library::transfer;
  using level = multigrid_level<Library>;

 public:
  cycle_factory(const Library& library, const multigrid_parameters& parameters, const std::vector<level>& levels,
                cycle_resources<Library>& resources)
      : library_(library), parameters_(parameters), levels_(levels), resources_(resources) {}

  /// x = about Mhat^-1 b on lattice `number`, 0 the finest, which is not the coarsest.
  /// \param shape  a field of the red-black system a, of as many columns as the widest batch
  template <class Field, class System>
  any_operator<Field> cycle(std::shared_ptr<const System> a, const Field& shape, std::size_t number) const {
    const int columns = shape.columns();
    const auto relaxation = [&](const std::vector<int>& steps) -> std::optional<any_relaxation<Field>> {
      const int count = multigrid_parameters::on_lattice(steps, number);
      if (count > 0) return smoother(a, shape, number, count);
      return std::nullopt;
    };
    const std::shared_ptr<const transfer> p = transfer_of<Field>(number);
    auto before = relaxation(parameters_.steps_before), after = relaxation(parameters_.steps_after);
    auto way = std::make_shared<const residual_transfer<Field, System, transfer, coarse_field>>(a, p, shape,
                                                                                                before.has_value());
    cycle_parts<Field, coarse_field> parts{std::move(before),       std::move(after),
                                           std::move(way),          solver(number + 1, columns),
                                           p->coarse_like(columns), p->coarse_like(columns)};
    const auto correction =
        parameters_.additive_on == number ? correction_kind::additive : correction_kind::multiplicative;
    if (!resources_.profile) return make_cycle(std::move(parts), correction);
    return profiled(make_cycle(profiled(std::move(parts), profile_of(number)), correction), profile_of(number));
  }

  /// x = about M^-1 b for full fields of the coarse lattice `number`, by this library.
  any_operator<coarse_field> inverse(std::size_t number, int columns) const {
    if (is_whole(number)) return gathered(number, columns);
    return red_black(number, columns);
  }

 private:
  /// The coarse lattice `number` below one, here or in another library.
  coarse_solver<coarse_field> solver(std::size_t number, int columns) const {
    if (resources_.offloaded && number == resources_.offloaded_from) return resources_.offloaded(columns);
    if (is_whole(number) && !is_whole(number - 1)) return coarse_solver<coarse_field>(gathered(number, columns));
    return coarse_solver<coarse_field>(red_black(number, columns));
  }

  /// By ranks each of which holds the lattice whole, for fields that are divided.
  any_operator<coarse_field> gathered(std::size_t number, int columns) const {
    const level& whole = level_of(number);
    return any_operator<coarse_field>(whole_lattice_solver<coarse_field, typename Library::gather_of_lattice>(
        red_black(number, columns), resources_.whole.gather_to(whole, levels_[number - 1]),
        whole.system->full_field(columns)));
  }

  /// By the red-black system of the lattice.
  any_operator<coarse_field> red_black(std::size_t number, int columns) const {
    const auto a = level_of(number).system;
    const coarse_field shape = a->solved_field(columns);
    auto inverse = number == levels_.size() ? coarsest(a, shape) : intermediate(a, shape, number);
    return any_operator<coarse_field>(red_black_inverse<coarse_field, coarse_system>(a, shape, std::move(inverse)));
  }

  /// x = about Mhat^-1 b on a lattice between the finest and the coarsest: a cycle, or GCR around it.
  any_operator<coarse_field> intermediate(const std::shared_ptr<const coarse_system>& a, const coarse_field& shape,
                                          std::size_t number) const {
    auto inner = cycle<coarse_field>(a, shape, number);
    if (parameters_.cycle == cycle_kind::v) return inner;
    const int steps = parameters_.cycle == cycle_kind::w ? 2 : parameters_.k_steps;
    return gcr(a, shape, number, steps, parameters_.k_tolerance, std::move(inner));
  }

  /// x = about Mhat^-1 b on the coarsest lattice.
  any_operator<coarse_field> coarsest(const std::shared_ptr<const coarse_system>& a, const coarse_field& shape) const {
    const multigrid_parameters& p = parameters_;
    const std::size_t number = levels_.size();
    any_operator<coarse_field> steps =
        p.coarsest == coarsest_kind::gcr
            ? gcr(a, shape, number, p.coarsest_steps, p.coarsest_tolerance)
            : any_operator<coarse_field>(any_relaxation<coarse_field>(
                  ca_gcr_relaxation(*a, shape, p.coarsest_steps, p.steps_at_a_time, nullptr, between_steps(number)),
                  a));
    if (resources_.profile && p.coarsest == coarsest_kind::ca_gcr)
      steps = counting_steps(std::move(steps), p.coarsest_steps, profile_of(number));
    if (p.coarsest_modes == 0) return steps;
    return any_operator<coarse_field>(
        deflated_solver<coarse_field, coarse_system>(a, shape, modes_of_coarsest(a, shape), std::move(steps)));
  }

  /// \param preconditioner  none: GCR has none
  template <class... Preconditioner>
  any_operator<coarse_field> gcr(const std::shared_ptr<const coarse_system>& a, const coarse_field& shape,
                                 std::size_t number, int steps, double tolerance,
                                 Preconditioner&&... preconditioner) const {
    step_hook between = between_steps(number);
    if (resources_.profile) between = counting_steps(between, profile_of(number));
    return any_operator<coarse_field>(
        inner_gcr<coarse_field, coarse_system>(a, shape, {steps, library_.is_synchronous() ? tolerance : 0.0, between},
                                               std::forward<Preconditioner>(preconditioner)...));
  }

  const singular_vectors<coarse_field>& modes_of_coarsest(const std::shared_ptr<const coarse_system>& a,
                                                          const coarse_field& shape) const {
    const multigrid_parameters& p = parameters_;
    if (resources_.system_of_modes != a) {
      coarse_field v = like(shape, p.coarsest_modes + std::max(2, p.coarsest_modes / 4));
      library_.fill_random(v, p.seed + 1);
      resources_.modes.emplace(lowest_singular_vectors(*a, v, p.coarsest_modes, 6, 16,
                                                       is_whole(levels_.size()) ? nullptr : p.between_parts));
      resources_.system_of_modes = a;
    }
    return *resources_.modes;
  }

  // Relaxations.

  /// A relaxation of `steps` steps on lattice `number`.
  template <class Field, class System>
  any_relaxation<Field> smoother(std::shared_ptr<const System> a, const Field& shape, std::size_t number,
                                 int steps) const {
    const multigrid_parameters& p = parameters_;
    switch (p.smoother) {
      case smoother_kind::mr:
        return any_relaxation<Field>(mr_relaxation(*a, shape, steps, p.relaxation_factor, between_steps(number)), a);
      case smoother_kind::gcr:
        return any_relaxation<Field>(gcr_relaxation(*a, shape, steps, between_steps(number)), a);
      case smoother_kind::ca_gcr:
      case smoother_kind::polynomial:
        return by_polynomials<Field>(a, shape, number, steps);
      default:
        return any_relaxation<Field>(
            schwarz_relaxation(*a, shape, domains<Field>(*a, number), steps, p.domain_steps, between_steps(number)), a);
    }
  }

  /// Returns CA-GCR, or its mean polynomial if that is wanted and known.
  template <class Field, class System>
  any_relaxation<Field> by_polynomials(std::shared_ptr<const System> a, const Field& shape, std::size_t number,
                                       int steps) const {
    const multigrid_parameters& p = parameters_;
    const auto& recorded = resources_.recorded;
    const auto known = p.polynomials.find({number, steps});
    if (p.smoother == smoother_kind::polynomial && known != p.polynomials.end() && !known->second.empty() && !recorded)
      return any_relaxation<Field>(polynomial_relaxation(*a, shape, known->second), a);
    if (!recorded || steps > longest_polynomial)
      return any_relaxation<Field>(
          ca_gcr_relaxation(*a, shape, steps, p.steps_at_a_time, nullptr, between_steps(number)), a);
    const auto record = [recorded, number, steps](const auto& c) {
      std::vector<double> numbers;
      for (const auto& values : host_values_of(c)) numbers.push_back(values[0].re);
      recorded->record({number, steps}, std::move(numbers));
    };
    return any_relaxation<Field>(ca_gcr_relaxation(*a, shape, steps, steps, record), a);
  }

  /// The aggregates of lattice `number` as domains.
  template <class Field, class System>
  schwarz_domains<Field> domains(const System& a, std::size_t number) const {
    const extents& shape = parameters_.coarsenings[number].aggregate;
    const auto chosen = [&](schwarz_domains<Field> made) {
      if (parameters_.smoother == smoother_kind::additive_schwarz) made.colours.clear();
      return made;
    };
    if constexpr (std::same_as<Field, coarse_field>)
      if (number > 0) return chosen(coarse_library(number).coarse_domains(*level_of(number).operator_numbers, shape));
    if constexpr (requires { library_.fine_domains(a, shape); }) return chosen(library_.fine_domains(a, shape));
    throw error(exit_status::internal_error, "multigrid: domains of a lattice without an operator");
  }

  /// P as the cycle of lattice `number` reads it, whose fields there are Field.
  template <class Field>
  std::shared_ptr<const transfer> transfer_of(std::size_t number) const {
    // A divided lattice leads to a divided one, whose sites are gathered behind it.
    const level& next = is_whole(number) ? level_of(number + 1) : levels_[number];
    if constexpr (requires { library_.make_transfer_in_16_bits(*next.vectors); })
      if (parameters_.vectors_in_16_bits && Library::template relaxes_in_16_bits<Field>) {
        if (!next.from_finer_in_16_bits)
          next.from_finer_in_16_bits = coarse_library(number).make_transfer_in_16_bits(*next.vectors);
        return next.from_finer_in_16_bits;
      }
    return next.from_finer;
  }

  // Where lattices live.

  /// Whether every rank holds the lattice whole.
  bool is_whole(std::size_t number) const {
    const std::size_t first = parameters_.whole_from;
    return first > 0 && number >= first && library_.get_context().comm().size() > 1;
  }
  /// Returns the library of a coarse lattice.
  Library coarse_library(std::size_t number) const { return is_whole(number) ? library_.alone() : library_; }
  /// Returns the coarse lattice `number` as cycles have it. Makes whole ones at the first call: collective then.
  const level& level_of(std::size_t number) const {
    if (!is_whole(number)) return levels_[number - 1];
    return resources_.whole.at(number, levels_, is_whole(number - 1));
  }
  /// Returns the hook that cycles of a lattice call between steps. It is collective, so it is null on lattices that
  /// each rank solves by itself.
  step_hook between_steps(std::size_t number) const {
    return library_.is_synchronous() && !is_whole(number) ? parameters_.between_parts : nullptr;
  }
  profile_of_lattice profile_of(std::size_t number) const { return {resources_.profile, number}; }

  const Library& library_;
  const multigrid_parameters& parameters_;
  const std::vector<level>& levels_;
  cycle_resources<Library>& resources_;
};

}  // namespace plaquette
