// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coarse lattices that null vectors make: columns of P, orthonormal on aggregates, and P^+ M P.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/multigrid/null_vectors.hpp"

namespace plaquette {

/// Seconds and results of a setup.
struct multigrid_setup_report {
  double relaxation_seconds = 0;   ///< null vectors from random ones
  double refinement_seconds = 0;   ///< inverse iteration with the cycle
  double orthonormal_seconds = 0;  ///< of vectors on aggregates
  double galerkin_seconds = 0;     ///< products P^+ M P, inverses of diagonals
  std::int64_t replaced = 0;       ///< vectors that added nothing on an aggregate, over all levels
  int dropped = 0;                 ///< vectors that added nothing on any aggregate
  /// |M v| / |v|, smallest and largest of the null vectors of the finest lattice.
  double least_eigenvalue_estimate = 0, largest_of_null_space = 0;
};

/// One coarse lattice and the way to it.
template <class Library>
struct multigrid_level {
  using transfer = typename Library::transfer;
  std::shared_ptr<const transfer> from_finer;
  std::shared_ptr<const typename Library::basis> vectors;
  std::shared_ptr<const typename Library::matrices> operator_numbers;
  std::shared_ptr<const typename Library::coarse_system> system;
  /// P with null vectors in 16 bits, made when a cycle first reads it.
  mutable std::shared_ptr<const transfer> from_finer_in_16_bits = nullptr;
};

/// A pool of null vectors of the finest lattice: on each aggregate and chirality, the leading ones of all stages of the
/// setup so far, and their singular values.
template <class Library>
struct null_vector_pool {
  std::shared_ptr<const typename Library::basis> vectors;  ///< orthonormal
  typename Library::singular_values sizes;
  int stages = 0;  ///< that were put into it
};

/// Makes levels. A short-lived object: it refers to all that it is given.
template <class Library>
class level_builder {
  using fine_field = typename Library::fine_field;
  using coarse_field = typename Library::coarse_field;
  using basis = typename Library::basis;
  using matrices = typename Library::matrices;
  using pool = std::optional<null_vector_pool<Library>>;

 public:
  level_builder(const Library& library, multigrid_parameters& parameters, std::vector<multigrid_level<Library>>& levels,
                pool& all_stages, multigrid_setup_report& report)
      : library_(library), parameters_(parameters), levels_(levels), pool_(all_stages), report_(report) {}

  /// Puts vectors v of the finest lattice into the pool.
  void put_into_pool(fine_field& v) const {
    const extents& aggregate = parameters_.coarsenings.front().aggregate;
    typename Library::singular_values sizes;
    auto vectors = leading_vectors(v, aggregate, sizes);
    if (!pool_ && sizes.rank < v.columns()) {  // drops vectors of v that add nothing
      static_cast<void>(orthonormal_columns(v, aggregate));
      vectors = leading_vectors(v, aggregate, sizes);
    }
    report_.replaced += library_.make_orthonormal(vectors).replaced();
    pool_ = {std::make_shared<const basis>(std::move(vectors)), std::move(sizes), pool_ ? pool_->stages + 1 : 1};
  }

  /// Adds the lattice that vectors v of lattice `number` make, and the lattices below. The null vectors of a coarse
  /// lattice are the restricted vectors of the finer one.
  template <class Fine>
  void add_level(Fine& v, std::size_t number) const {
    coarsening& c = parameters_.coarsenings[number];
    multigrid_level<Library> next;
    timed(library_, report_.orthonormal_seconds, [&] { next.vectors = columns_of_p(v, number); });
    c.vectors = v.columns();
    timed(library_, report_.galerkin_seconds, [&] { take_vectors(next, number); });
    levels_.push_back(next);
    if (number + 1 == parameters_.coarsenings.size()) return;

    const int wanted = parameters_.coarsenings[number + 1].vectors;
    coarse_field below = next.from_finer->coarse_like(wanted);
    if (wanted > v.columns()) {
      timed(library_, report_.relaxation_seconds, [&] {
        library_.fill_random(below, parameters_.seed);
        null_vector_maker(library_, parameters_).relax(*next.system, below);
      });
    }
    const int taken = std::min(wanted, v.columns());
    coarse_field some = view(below, 0, taken);
    next.from_finer->restrict_to(some, view(v, 0, taken));
    add_level(below, number + 1);
  }

  /// Makes transfer and operator of a level whose vectors are there.
  void take_vectors(multigrid_level<Library>& next, std::size_t number) const {
    next.from_finer = library_.make_transfer(*next.vectors);
    next.operator_numbers = std::make_shared<const matrices>(
        number == 0 ? library_.galerkin(*next.vectors)
                    : library_.galerkin(*levels_[number - 1].operator_numbers, *next.vectors));
    next.system = library_.make_system(*next.operator_numbers);
  }

  /// Notes how small M v is against v.
  void note_quality(fine_field& v) const {
    const std::vector<double> gains = gains_of(v);
    report_.least_eigenvalue_estimate = std::ranges::min(gains);
    report_.largest_of_null_space = std::ranges::max(gains);
  }

 private:
  /// Returns the columns of P that vectors v of lattice `number` make, on the finest with the vectors of earlier
  /// stages.
  template <class Fine>
  std::shared_ptr<const basis> columns_of_p(Fine& v, std::size_t number) const {
    if constexpr (std::is_same_v<Fine, fine_field>)
      if (number == 0 && parameters_.null_space == null_space_kind::stages) {
        put_into_pool(v);
        return pool_->vectors;
      }
    return orthonormal_columns(v, parameters_.coarsenings[number].aggregate);
  }

  /// Returns |M v| / |v|, a number a column.
  std::vector<double> gains_of(fine_field& v) const {
    std::vector<double> gains;
    for (int first = 0; first < v.columns(); first += parameters_.setup_batch) {
      fine_field part = view(v, first, std::min(parameters_.setup_batch, v.columns() - first)), mv = like(part);
      library_.apply_full(mv, part);
      const auto both = host_values_of(std::vector{norm2(mv), norm2(part)});
      for (std::size_t k = 0; k < both[0].size(); ++k) gains.push_back(std::sqrt(both[0][k].re / both[1][k].re));
    }
    return gains;
  }

  /// The leading vectors of the pool together with v, which count the more, the smaller M v is.
  basis leading_vectors(fine_field& v, const extents& aggregate, typename Library::singular_values& sizes) const {
    std::vector<double> weights = gains_of(v);
    for (double& w : weights) w = 1.0 / w;
    auto vectors = library_.gather(v, aggregate);
    if (pool_)
      sizes = library_.take_leading_vectors(pool_->vectors.get(), pool_->sizes, vectors, weights);
    else
      sizes = library_.take_leading_vectors(nullptr, {}, vectors, weights);
    return vectors;
  }

  /// The columns of P that vectors v make. Drops vectors of v that add nothing on any aggregate to the earlier ones:
  /// random numbers in their place are no null vectors.
  template <class Fine>
  std::shared_ptr<const basis> orthonormal_columns(Fine& v, const extents& aggregate) const {
    for (;;) {
      auto vectors = library_.gather(v, aggregate);
      const auto found = library_.make_orthonormal(vectors);
      std::vector<int> keep;
      for (int k = 0; k < v.columns(); ++k)
        if (!found.is_useless(k)) keep.push_back(k);
      if (std::ssize(keep) == v.columns()) {
        report_.replaced += found.replaced();
        return std::make_shared<const basis>(std::move(vectors));
      }
      if (keep.empty())
        throw input_error("multigrid: no null vector of " + std::to_string(v.columns()) +
                          " adds anything to the others; is the operator finite and not zero?");
      report_.dropped += v.columns() - static_cast<int>(keep.size());
      v = gather_columns(v, keep);
    }
  }

  const Library& library_;
  multigrid_parameters& parameters_;
  std::vector<multigrid_level<Library>>& levels_;
  pool& pool_;
  multigrid_setup_report& report_;
};

}  // namespace plaquette
