// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The production field of the CPU library: a batch of columns in blocks of W sites (block_layout.hpp). It meets
/// `field_batch` of common/concepts.hpp.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "common/algebra/spin_basis.hpp"
#include "common/concepts.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/spinor_array.hpp"
#include "cpu_ref/context.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// One complex number a column. Ready at once on this side.
class scalars {
 public:
  explicit scalars(std::vector<complex<double>> values) : values_(std::move(values)) {}
  int columns() const { return static_cast<int>(values_.size()); }
  const complex<double>& operator[](int column) const { return values_[static_cast<std::size_t>(column)]; }

  friend scalars operator+(const scalars& a, const scalars& b);
  friend scalars operator-(const scalars& a, const scalars& b);
  friend scalars operator*(const scalars& a, const scalars& b);
  friend scalars operator-(const scalars& a);
  friend scalars conj(const scalars& a);
  friend scalars ratio(const scalars& a, const scalars& b);
  friend scalars where_above(const scalars& a, std::span<const double> limits);
  friend scalars compacted(const scalars& a, std::span<const int> keep);
  friend std::vector<complex<double>> host_values(const scalars& a) { return a.values_; }

 private:
  std::vector<complex<double>> values_;
};

/// T is double, float or half. Numbers lie as [parity][block][column][spin * colours + colour][re, im][W], in the spin
/// basis that `basis()` says. Numbers of half lie as [parity][block][column][spin * colours + colour][W] pairs of 16
/// bits, then [W] scales, one a site (simd/storage.hpp). Copies share storage; `like` makes a field of its own, with
/// undefined contents.
template <class T>
class field {
 public:
  using scalars = cpu::scalars;
  using value_type = T;
  using word = word_of<T>;

  /// Undefined contents. Throws memory_error; std::invalid_argument for a shape that is none, or has too many
  /// components for half (most_fixed_point_components).
  field(const context& ctx, const field_shape& shape);

  const context& get_context() const { return context_; }
  const cpu::execution& get_execution() const { return context_.execution(); }
  const block_layout& layout() const { return context_.template layout<T>(); }
  const field_shape& shape() const { return shape_; }
  int columns() const { return shape_.columns; }
  int components() const { return shape_.spins * shape_.colours; }
  /// Returns 1 for a field of one parity, 2 for a full one (even sites first).
  int parts() const { return shape_.sites == site_subset::full ? 2 : 1; }
  /// Returns parity of the sites of part 0 or 1.
  int parity_of_part(int part) const { return shape_.sites == site_subset::odd ? 1 : part; }
  spin_basis basis() const { return shape_.spins == 4 ? spin_basis::time_diagonal : spin_basis::as_given; }

  /// Returns the blocks of a part as kernels take them.
  field_pointer<word> blocks(int part) { return {begin_ + part * part_stride_, column_stride_}; }
  field_pointer<const word> blocks(int part) const { return {begin_ + part * part_stride_, column_stride_}; }

  /// Returns the words of a column of a block.
  std::int64_t block_words() const { return static_cast<std::int64_t>(site_words<T>(components())) * layout().width(); }
  /// Returns the first word of a block's column: [components][re, im][W], or [components][W], [W] scales.
  word* block(int part, std::int64_t b, int column) {
    return begin_ + part * part_stride_ + (b * column_stride_ + column) * block_words();
  }
  const word* block(int part, std::int64_t b, int column) const {
    return const_cast<field*>(this)->block(part, b, column);
  }

  /// Returns the even (0) or odd (1) sites of a full field; shares storage.
  field parity(int p) const;

  template <class U>
  friend field<U> view(const field<U>& x, int first, int count);
  template <class U>
  friend void compact(field<U>& x, std::span<const int> keep);

 private:
  context context_;
  field_shape shape_;
  std::shared_ptr<std::byte> storage_;
  word* begin_;                 ///< block 0 of part 0, first column of this view
  std::int64_t column_stride_;  ///< columns from one block to the next
  std::int64_t part_stride_;    ///< words from part 0 to part 1
};

template <class T>
field<T> make_field(const context& ctx, const field_shape& shape) {
  return field<T>(ctx, shape);
}
template <class T>
field<T> like(const field<T>& x) {
  return field<T>(x.get_context(), x.shape());
}
template <class T>
field<T> like(const field<T>& x, int columns) {
  field_shape shape = x.shape();
  shape.columns = columns;
  return field<T>(x.get_context(), shape);
}
/// Returns the same with n columns in another precision T: like(x, n, as<field<T>>).
template <class T, class U>
field<T> like(const field<U>& x, int columns, std::type_identity<field<T>>) {
  field_shape shape = x.shape();
  shape.columns = columns;
  return field<T>(x.get_context(), shape);
}
template <class T>
scalars make_scalars(const field<T>& x, std::span<const complex<double>> numbers);
template <class T>
field<T> view(const field<T>& x, int first, int count);
/// In place; for a field that is not a view of some of another's columns.
template <class T>
void compact(field<T>& x, std::span<const int> keep);
template <class T>
void copy_columns(field<T>& x, std::span<const int> to, const field<T>& u, std::span<const int> from);

/// Returns how many of a field's columns a solver with `vectors` such fields best iterates at once. These are as many
/// as keep them in a quarter of the last-level cache (others use it too). All, if not even two columns stay there,
/// since then it is the links that a batch saves. Measured with BiCGstab at 16^4: simd/NOTES.md.
template <class T>
int columns_at_once(const field<T>& x, int vectors);
/// Returns the same for columns whose fields hold `bytes` bytes together.
int columns_at_once(double bytes_of_a_column, int columns);

/// Copies column `column` of x from a canonical spinor field, whose sites of the other parity are ignored where x has
/// one. Numbers are rotated from the DeGrand-Rossi basis to the basis of x in double, then rounded.
template <class T>
void import_column(field<T>& x, int column, const spinor_configuration& from);
/// Does the inverse, to a few roundings of the largest number of a site. Sites that x does not have are set to zero;
/// ghosts stay unchanged.
template <class T>
void export_column(spinor_configuration& to, const field<T>& x, int column);
/// Copies the columns of an array of a caller, in one pass, to the first columns of x, which has all sites. The bits
/// are the same as by import_column.
template <class T>
void import_array(field<T>& x, const spinor_array<const double>& from);
/// Does the inverse.
template <class T>
void export_array(const spinor_array<double>& to, const field<T>& x);
/// Copies the same numbers in another precision, rounded; shapes agree.
template <class To, class From>
void convert(field<To>& to, const field<From>& from);

}  // namespace plaquette::cpu
