// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The site-diagonal part A of the Wilson-clover operator, or its inverse, packed for the kernels.
#pragma once

#include <memory>

#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/fields/field.hpp"

namespace plaquette::cpu {

/// One number, or packed [block][chirality][18][re, im][W] a parity (six diagonal numbers of a 6x6 block, then those
/// below, row by row), for half [block][chirality][18][W] pairs of 16 bits, [W] scales. Only half of the matrix is
/// packed. Copies share the blocks.
template <class T>
class site_diagonal {
 public:
  /// Times a number.
  site_diagonal(const context& ctx, double value) : context_(ctx), value_(value) {}
  site_diagonal(const context& ctx, const clover_configuration& blocks);

  /// Takes other blocks, in the memory of the blocks so far; copies of this object have them too. Throws
  /// std::logic_error if it is a number.
  void follow(const clover_configuration& blocks);

  bool is_number() const { return blocks_[0] == nullptr; }
  double value() const { return value_; }
  /// Returns the blocks of one parity, or null if it is a number.
  const word_of<T>* blocks(int parity) const { return is_number() ? nullptr : blocks_[parity]->data(); }
  /// Computes out = A in, fields of one parity.
  void apply(field<T>& out, const field<T>& in) const;

 private:
  context context_;
  double value_ = 0.0;
  std::shared_ptr<aligned_buffer<word_of<T>>> blocks_[2];
};

}  // namespace plaquette::cpu
