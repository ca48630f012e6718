// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The field of the CUDA library: a batch of columns in blocks of 32 sites (storage.hpp, site_order.hpp). It meets
/// `field_batch` of common/concepts.hpp with the operations of gpu/blas.
#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "common/algebra/spin_basis.hpp"
#include "common/concepts.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/spinor_array.hpp"
#include "gpu/context.hpp"
#include "gpu/fields/scalars.hpp"
#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {

using plaquette::spin_basis, plaquette::rotate_spin_basis;

/// T is double, float_pair, float or half. Numbers of a site are [spin][colour] of `basis()`. Copies share storage;
/// `like` makes a field of its own, with undefined contents. Sites that pad the last block of a part hold zeros at
/// first, and then anything.
template <class T>
class field {
 public:
  using scalars = gpu::scalars;
  using value_type = T;

  /// Undefined contents. Throws memory_error; std::invalid_argument for a shape that is none.
  field(const context& ctx, const field_shape& shape);

  const context& get_context() const { return context_; }
  const gpu::execution& get_execution() const { return context_.execution(); }
  const site_order& order() const { return context_.order(); }
  const field_shape& shape() const { return shape_; }
  int columns() const { return shape_.columns; }
  int components() const { return shape_.spins * shape_.colours; }
  /// Returns 1 for a field of one parity, 2 for a full one (even sites first).
  int parts() const { return shape_.sites == site_subset::full ? 2 : 1; }
  /// Returns parity of the sites of part 0 or 1.
  int parity_of_part(int part) const { return shape_.sites == site_subset::odd ? 1 : part; }
  spin_basis basis() const { return shape_.spins == 4 ? spin_basis::time_diagonal : spin_basis::as_given; }

  /// Returns the sites of a part as kernels take them. Part 1 follows part 0 as if its blocks were further blocks of
  /// part 0.
  spinor_pointer<T> sites(int part) {
    return {begin_ + part * part_stride(), block_stride_, column_bytes<T>(components())};
  }
  spinor_pointer<const T> sites(int part) const {
    return {begin_ + part * part_stride(), block_stride_, column_bytes<T>(components())};
  }
  /// Returns the blocks of all parts: consecutive from sites(0).
  std::int32_t all_blocks() const { return parts() * order().blocks(); }

  /// Returns the even (0) or odd (1) sites of a full field; shares storage.
  field parity(int p) const;

  /// Keeps its numbers alive.
  std::shared_ptr<const void> storage() const { return storage_; }

  template <class U>
  friend field<U> view(const field<U>& x, int first, int count);
  template <class U>
  friend void compact(field<U>& x, std::span<const int> keep);

 private:
  std::int64_t part_stride() const { return order().blocks() * block_stride_; }

  context context_;
  field_shape shape_;
  std::shared_ptr<std::byte> storage_;
  std::byte* begin_;           ///< block 0 of part 0, first column of this view
  std::int64_t block_stride_;  ///< bytes from one block to the next
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
/// Computes x = 0
template <class T>
void zero(field<T>& x);
/// Computes x = u, the same bits
template <class T>
void copy(field<T>& x, const field<T>& u);
template <class T>
field<T> view(const field<T>& x, int first, int count);
/// In place: every block keeps its room, so this is for a view too.
template <class T>
void compact(field<T>& x, std::span<const int> keep);
template <class T>
void copy_columns(field<T>& x, std::span<const int> to, const field<T>& u, std::span<const int> from);

/// Returns how many of a field's columns a solver with `vectors` such fields best iterates at once: all. A batch saves
/// more on links, and on launches, than the cache gives back to a smaller one. In the hopping term of 12 columns a
/// column is faster than alone, down to 16^3 x 32 (single and half, measured).
template <class T>
int columns_at_once(const field<T>& x, int vectors);

/// Copies column `column` of x from a canonical spinor field, whose sites of the other parity are ignored where x has
/// one.
template <class T>
void import_column(field<T>& x, int column, const spinor_configuration& from);
/// Does the inverse; waits. Sites that x does not have are set to zero; ghosts stay unchanged.
template <class T>
void export_column(spinor_configuration& to, const field<T>& x, int column);
/// Returns a column of any shape as numbers of the host, [part][i of site_order][spin][colour], in the field's own
/// basis; waits.
template <class T>
std::vector<complex<double>> column_numbers(const field<T>& x, int column);
/// Does the inverse, rounded.
template <class T>
void set_column_numbers(field<T>& x, int column, std::span<const complex<double>> numbers);

/// Copies the columns of an array of a caller to the first columns of x, which has all sites; waits. Between the host
/// and the device the numbers go through two stretches of page-locked memory: one is filled or emptied while the other
/// travels. A kernel changes their order. The bits are the same as by import_column.
template <class T>
void import_array(field<T>& x, const spinor_array<const double>& from);
/// Does the inverse; waits.
template <class T>
void export_array(const spinor_array<double>& to, const field<T>& x);

/// Copies the same numbers in another precision, rounded; shapes agree.
template <class To, class From>
void convert(field<To>& to, const field<From>& from);

}  // namespace plaquette::gpu
