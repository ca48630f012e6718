// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The site-diagonal part A of the Wilson-clover operator, or its inverse, packed for the kernels. The twin of
/// cpu_ref/dirac/site_diagonal.
#pragma once

#include <concepts>
#include <memory>

#include "gpu/dirac/clover_term.hpp"
#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

/// One number, or blocks packed for the kernels, [parity][block][chirality] as `loaded_clover` (hopping_site.hpp) reads
/// them. Copies share the blocks.
template <class T>
class site_diagonal {
 public:
  /// Times a number.
  site_diagonal(const context& ctx, double value) : context_(ctx), value_(value) {}
  site_diagonal(const context& ctx, const clover_configuration& blocks);

  /// Takes other blocks, in the memory of the blocks so far; copies of this object have them too. Throws
  /// std::logic_error if it is a number.
  void follow(const clover_configuration& blocks);

  bool is_number() const { return blocks_ == nullptr; }
  double value() const { return value_; }
  /// Returns the blocks of one parity, or null if it is a number.
  const std::byte* blocks(int parity) const {
    return blocks_ == nullptr ? nullptr : blocks_.get() + parity * parity_bytes_;
  }
  /// Returns where the blocks are packed, for a kernel that makes them there; null of a number. The caller waits for
  /// it.
  packed_diagonal memory() const { return {blocks_.get(), parity_bytes_}; }
  /// Makes the blocks of a parity NaN: they must not be read any more.
  void spoil(int parity);
  /// Returns the blocks as a configuration in the same memory: blocks that are made there need no packing. Not of a
  /// number.
  clover_configuration configuration() const
    requires std::same_as<T, double>
  {
    return {context_, blocks_};
  }
  /// Computes out = A in, Dirac spinors of one parity.
  void apply(field<T>& out, const field<T>& in) const;

 private:
  context context_;
  double value_ = 0.0;
  std::shared_ptr<std::byte> blocks_;
  std::int64_t parity_bytes_ = 0;
};

}  // namespace plaquette::gpu
