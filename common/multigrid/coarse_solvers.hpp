// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a coarse lattice is solved as a whole: by way of its red-black system, and by ranks that all hold it.
#pragma once

#include <memory>
#include <utility>

#include "common/concepts.hpp"

namespace plaquette {

/// x = about M^-1 b on all sites of a lattice, by way of its red-black system.
template <field_batch Field, class System>
class red_black_inverse {
 public:
  /// \param inverse  of the red-black system
  /// \param shape    one of its fields, with as many columns as the widest batch
  red_black_inverse(std::shared_ptr<const System> a, const Field& shape, any_operator<Field> inverse)
      : a_(std::move(a)), inverse_(std::move(inverse)), x_(like(shape)), b_(like(shape)) {}

  void apply(Field& x, const Field& b) const {
    Field x_even = view(x_, 0, b.columns()), b_even = view(b_, 0, b.columns());
    a_->prepare_source(b_even, b);
    inverse_.apply(x_even, b_even);
    a_->reconstruct_solution(x, x_even, b);
  }

 private:
  std::shared_ptr<const System> a_;
  any_operator<Field> inverse_;
  mutable Field x_, b_;
};

/// x = about M^-1 b on a lattice that is divided among ranks, by a solver of the same lattice that every rank holds
/// whole: b is gathered, all ranks solve alike, each takes its own sites.
/// \tparam Gather  gather(whole, part), take_part(part, whole)
template <field_batch Field, class Gather>
class whole_lattice_solver {
 public:
  /// \param whole  a field of the whole lattice with as many columns as the widest batch
  whole_lattice_solver(any_operator<Field> inverse, std::shared_ptr<const Gather> ranks, const Field& whole)
      : inverse_(std::move(inverse)), ranks_(std::move(ranks)), b_(like(whole)), x_(like(whole)) {}

  void apply(Field& x, const Field& b) const {
    Field all_b = view(b_, 0, b.columns()), all_x = view(x_, 0, b.columns());
    ranks_->gather(all_b, b);
    inverse_.apply(all_x, all_b);
    ranks_->take_part(x, all_x);
  }

 private:
  any_operator<Field> inverse_;
  std::shared_ptr<const Gather> ranks_;
  mutable Field b_, x_;
};

}  // namespace plaquette
