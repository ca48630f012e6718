// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The list of operations on vectors: what each reads, writes and sums, and its formula for one complex number of each
/// field. The libraries walk over fields and call `operate`; concepts.hpp says what the operations are for.
#pragma once

#include "common/algebra/complex.hpp"

namespace plaquette {

/// Fields that are written: x, y, z. Fields that are read: u, v, w. One complex number a column: a, b, c.
enum class vector_operation {
  scale,               ///< x = a x
  axpy,                ///< x += a u
  xpay,                ///< x = u + a x
  dot,                 ///< <u, v>
  norm2,               ///< |u|^2
  axpy_norm2,          ///< x += a u; |x|^2
  axpy_pair,           ///< x += a u + b v
  subtract_norm2,      ///< x = u - v; |x|^2
  cg_update,           ///< x += a u; y -= a v; |y|^2
  bicgstab_direction,  ///< x = u + a (x - b v)
  bicgstab_step,       ///< x += a z + b y; y -= b u; z = y + c (z - b v), with the y that is stored; |y|^2
  dot_norm2,           ///< <u, v>; |u|^2
  axpy_dot_norm2       ///< x += a u; <w, x>; |x|^2
};
inline constexpr int vector_operations = static_cast<int>(vector_operation::axpy_dot_norm2) + 1;

/// The fields of an operation.
enum class operand { none, x, y, z, u, v, w };

/// What an operation reads, writes and sums: <dot_left, dot_right> and |norm_of|^2, of results.
struct operation_traits {
  bool reads_x = false, writes_x = false, uses_y = false, uses_z = false, reads_u = true, reads_v = false;
  operand dot_left = operand::none, dot_right = operand::none, norm_of = operand::none;

  /// Returns whether the operation has coefficients: all that write, but for the plain difference.
  constexpr bool has_coefficients() const { return writes_x && !(reads_v && !reads_x); }
  constexpr bool reads_w() const { return dot_left == operand::w; }
  constexpr bool has_dot() const { return dot_left != operand::none; }
  constexpr bool has_norm() const { return norm_of != operand::none; }
  /// Sums a column: the dot product's real and imaginary part, then the norm.
  constexpr int sums() const { return (has_dot() ? 2 : 0) + (has_norm() ? 1 : 0); }
  /// Returns fields that pass over the bus; those that are read and written count twice.
  constexpr int passes() const {
    return (reads_x ? 1 : 0) + (writes_x ? 1 : 0) + (uses_y ? 2 : 0) + (uses_z ? 2 : 0) + (reads_u ? 1 : 0) +
           (reads_v ? 1 : 0) + (reads_w() ? 1 : 0);
  }
};

constexpr operation_traits traits_of(vector_operation operation) {
  using enum operand;
  switch (operation) {
    case vector_operation::scale:
      return {.reads_x = true, .writes_x = true, .reads_u = false};
    case vector_operation::axpy:
    case vector_operation::xpay:
      return {.reads_x = true, .writes_x = true};
    case vector_operation::dot:
      return {.reads_v = true, .dot_left = u, .dot_right = v};
    case vector_operation::norm2:
      return {.norm_of = u};
    case vector_operation::axpy_norm2:
      return {.reads_x = true, .writes_x = true, .norm_of = x};
    case vector_operation::axpy_pair:
      return {.reads_x = true, .writes_x = true, .reads_v = true};
    case vector_operation::subtract_norm2:
      return {.writes_x = true, .reads_v = true, .norm_of = x};
    case vector_operation::cg_update:
      return {.reads_x = true, .writes_x = true, .uses_y = true, .reads_v = true, .norm_of = y};
    case vector_operation::bicgstab_direction:
      return {.reads_x = true, .writes_x = true, .reads_v = true};
    case vector_operation::bicgstab_step:
      return {.reads_x = true, .writes_x = true, .uses_y = true, .uses_z = true, .reads_v = true, .norm_of = y};
    case vector_operation::dot_norm2:
      return {.reads_v = true, .dot_left = u, .dot_right = v, .norm_of = u};
    case vector_operation::axpy_dot_norm2:
      return {.reads_x = true, .writes_x = true, .dot_left = w, .dot_right = x, .norm_of = x};
  }
  return {};
}

/// One number of each field, and the results.
template <class Number>
struct operands_of_number {
  Number x, y, z, u, v;
};

/// Returns u + a (x - b v)
template <class Number>
PLAQUETTE_HOST_DEVICE inline Number direction(const Number& u, const Number& a, const Number& x, const Number& b,
                                              const Number& v) {
  return add_product(u, a, add_product(x, -b, v));
}

/// Applies the formulas, but for z, which needs y as it is stored: `direction` follows then.
/// \tparam Number  complex, of a kind that has `fused_product(a, u)` and `add_product(x, a, u)` = x + a u
template <vector_operation operation, class Number>
PLAQUETTE_HOST_DEVICE inline void operate(operands_of_number<Number>& n, const Number& a, const Number& b) {
  using enum vector_operation;
  if constexpr (operation == scale) n.x = fused_product(a, n.x);
  if constexpr (operation == axpy || operation == axpy_norm2 || operation == axpy_dot_norm2)
    n.x = add_product(n.x, a, n.u);
  if constexpr (operation == xpay) n.x = add_product(n.u, a, n.x);
  if constexpr (operation == axpy_pair) n.x = add_product(add_product(n.x, a, n.u), b, n.v);
  if constexpr (operation == subtract_norm2) n.x = n.u - n.v;
  if constexpr (operation == cg_update) {
    n.x = add_product(n.x, a, n.u);
    n.y = add_product(n.y, -a, n.v);
  }
  if constexpr (operation == bicgstab_direction) n.x = direction(n.u, a, n.x, b, n.v);
  if constexpr (operation == bicgstab_step) {
    n.x = add_product(add_product(n.x, a, n.z), b, n.y);
    n.y = add_product(n.y, -b, n.u);
  }
}

}  // namespace plaquette
