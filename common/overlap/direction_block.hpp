// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Search directions of D with their images, in single precision or, images alone, in 48 bits.
#pragma once

#include <algorithm>
#include <concepts>
#include <optional>

#include "common/eigen/krylov_basis.hpp"

namespace plaquette {

/// Some directions z with their images w = D z. Both are kept in single precision, in one field, so that a full block
/// takes part in products at once. Images that are better than single precision have a second part: what it leaves of
/// them, in single precision too. Together these parts have 48 bits.
template <field_batch Field, field_batch InnerField>
struct direction_block {
  /// Makes room for `count` directions, one at least, of which there are none yet.
  /// \param is_accurate  whether images have a second part
  template <field_batch Shape>
  direction_block(const Shape& shape, int count, bool is_accurate)
      : length(std::max(1, count)),
        both(like(shape, 2 * length, as<InnerField>)),
        z(view(both, 0, length)),
        w(view(both, length, length)) {
    if (is_accurate) rest.emplace(like(shape, length, as<InnerField>));
  }

  int length, size = 0;
  InnerField both, z, w;
  std::optional<InnerField> rest;  ///< the second part of images

  bool is_accurate() const { return rest.has_value(); }
  bool is_full() const { return size == length; }
  InnerField directions() const { return view(z, 0, size); }
  InnerField images() const { return view(w, 0, size); }

  /// Adds directions that single precision holds.
  /// \param images  Field, or InnerField where it is not accurate
  template <field_batch X>
  void append(const X& directions, const X& images) {
    const int count = directions.columns();
    InnerField to_z = view(z, size, count), to_w = view(w, size, count);
    assign(to_z, directions);
    assign(to_w, images);
    if constexpr (std::same_as<X, Field>) {
      if (is_accurate()) {
        Field left = like(images), first = like(images);
        convert(first, to_w);
        subtract_norm2(left, images, first);
        InnerField to_rest = view(*rest, size, count);
        convert(to_rest, left);
      }
    }
    size += count;
  }
  /// Adds those of another block that is accurate too.
  void append(const direction_block& other) {
    InnerField to_z = view(z, size, other.size), to_w = view(w, size, other.size),
               to_rest = view(*rest, size, other.size);
    copy(to_z, other.directions());
    copy(to_w, other.images());
    copy(to_rest, view(*other.rest, 0, other.size));
    size += other.size;
  }
  /// Returns some directions and, after them, their images, in double precision.
  Field in_double(int from, int count) const {
    Field copied = like(z, 2 * count, as<Field>);
    Field to_z = view(copied, 0, count), to_w = view(copied, count, count);
    convert(to_z, view(z, from, count));
    convert(to_w, view(w, from, count));
    if (!is_accurate()) return copied;
    Field second = like(to_w);
    convert(second, view(*rest, from, count));
    axpy(to_w, uniform_scalars(to_w, 1.0), second);
    return copied;
  }

  /// Returns Z^+ x and, below it, W^+ x, without second parts.
  host_matrix products(const InnerField& x) const {
    if (is_full()) return overlaps(both, x);
    host_matrix all(2 * size, x.columns());
    set_block(all, 0, 0, overlaps(directions(), x));
    set_block(all, size, 0, overlaps(images(), x));
    return all;
  }
  /// Returns the same with them.
  host_matrix products(const Field& x) const {
    host_matrix all(2 * size, x.columns());
    in_batches(size, at_once, [&](int from, int count) {
      const host_matrix some = overlaps(in_double(from, count), x);
      set_block(all, from, 0, block_of(some, 0, 0, count, x.columns()));
      set_block(all, size + from, 0, block_of(some, count, 0, count, x.columns()));
    });
    return all;
  }
  /// Computes x += Z C and, where it is given, x += W E, without second parts.
  void add(InnerField& x, const host_matrix& c, const host_matrix* e) const {
    if (e == nullptr || !is_full()) {
      add_combinations(x, directions(), c.numbers());
      if (e != nullptr) add_combinations(x, images(), e->numbers());
      return;
    }
    add_combinations(x, both, stacked(c, *e).numbers());
  }
  /// Does the same with them.
  void add(Field& x, const host_matrix& c, const host_matrix* e) const {
    in_batches(size, at_once, [&](int from, int count) {
      const host_matrix of_z = block_of(c, from, 0, count, c.columns());
      const host_matrix of_w =
          e == nullptr ? host_matrix(count, c.columns()) : block_of(*e, from, 0, count, c.columns());
      add_combinations(x, in_double(from, count), stacked(of_z, of_w).numbers());
    });
  }

 private:
  static constexpr int at_once = 16;  ///< directions in double precision
  static host_matrix stacked(const host_matrix& c, const host_matrix& e) {
    host_matrix all(c.rows() + e.rows(), c.columns());
    set_block(all, 0, 0, c);
    set_block(all, c.rows(), 0, e);
    return all;
  }
};

}  // namespace plaquette
