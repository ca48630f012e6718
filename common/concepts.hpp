// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The contract between algorithms and backends: what a field, its scalars and a linear operator must offer.
///
/// It is written for a device that answers late. A reduction returns a handle to one number a column, which lives where
/// the field lives; arithmetic on handles and updates that take them are queued like everything else. The one way to a
/// number on the host is `host_values`, and an algorithm calls it only where it must decide. A backend whose answers
/// are ready at once (the CPU) meets the same contract.
///
/// Functions are found by argument-dependent lookup, so a backend is a namespace with a field type in it.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/error.hpp"

namespace plaquette {

/// Which sites a field has.
enum class site_subset { even, odd, full };

/// The shape of a field is data. 4 x 3 spinors; 2 x 3 of one chirality; 2 x Nc on a coarse lattice.
struct field_shape {
  int spins = 4;
  int colours = 3;
  site_subset sites = site_subset::full;
  int columns = 1;  ///< right-hand sides

  bool operator==(const field_shape&) const = default;
};

/// One complex number (double) a column, living where the fields live. A real quantity has imaginary part 0.
/// `ratio(a, b)` is a / b, and 0 where b is 0, so that a column that has converged exactly stands still instead of
/// turning to NaN. `where_above(a, limits)` is 1 where re a > limit and 0 elsewhere (0 for NaN): a mask to multiply
/// with. `host_values` waits for the numbers and returns them: the only operation that reads. A backend where waiting
/// costs may also offer `host_values(std::span<const S>)`, which returns the numbers of several handles after one wait
/// (a vector for each handle). Without it they are read one after the other. And `values_on_their_way(std::span<const
/// S>)`, which queues the reading and returns a function that waits for it, but not for what is queued later.
template <class S>
concept column_scalars =
    std::copyable<S> && requires(const S& a, const S& b, std::span<const double> limits, std::span<const int> keep) {
      { a + b } -> std::same_as<S>;
      { a - b } -> std::same_as<S>;
      { a* b } -> std::same_as<S>;
      { -a } -> std::same_as<S>;
      { conj(a) } -> std::same_as<S>;
      { ratio(a, b) } -> std::same_as<S>;
      { where_above(a, limits) } -> std::same_as<S>;
      { compacted(a, keep) } -> std::same_as<S>;  // number keep[i] becomes number i
      { a.columns() } -> std::same_as<int>;
      { host_values(a) } -> std::same_as<std::vector<complex<double>>>;
    };

/// A batch of columns (right-hand sides) of one shape. Copying a field object shares its storage; `like` makes another.
/// In the updates, a scalar handle holds one number for each column. All fields of one call have the same shape, and
/// those that are written are none of the others. No number of a column depends on the other columns of the batch.
template <class Field>
concept field_batch =
    std::copyable<Field> && column_scalars<typename Field::scalars> &&
    requires(Field& x, Field& y, Field& z, const Field& u, const Field& v, const typename Field::scalars& a,
             const typename Field::scalars& b, const typename Field::scalars& c, std::span<const int> list,
             std::span<const complex<double>> numbers, int n) {
      { u.shape() } -> std::convertible_to<field_shape>;
      { u.columns() } -> std::same_as<int>;
      { like(u) } -> std::same_as<Field>;                                     // same shape, contents undefined
      { like(u, n) } -> std::same_as<Field>;                                  // the same with n columns
      { make_scalars(u, numbers) } -> std::same_as<typename Field::scalars>;  // numbers of the host, one a column
      { view(x, n, n) } -> std::same_as<Field>;  // columns [first, first + count): shares storage
      // Columns `list` (ascending) move to the front, and the field has that many columns; storage is kept.
      compact(x, list);
      // Column to[i] of x becomes column from[i] of u.
      copy_columns(x, list, u, list);

      zero(x);
      copy(x, u);
      scale(x, a);                                             // x = a x
      axpy(x, a, u);                                           // x += a u
      xpay(x, u, a);                                           // x = u + a x
      { dot(u, v) } -> std::same_as<typename Field::scalars>;  // <u, v>, u conjugated
      { norm2(u) } -> std::same_as<typename Field::scalars>;   // <u, u>

      // Fused forms: each reads and writes a number of memory once.
      { axpy_norm2(x, a, u) } -> std::same_as<typename Field::scalars>;      // x += a u; |x|^2
      axpy_pair(x, a, u, b, v);                                              // x += a u + b v
      { subtract_norm2(x, u, v) } -> std::same_as<typename Field::scalars>;  // x = u - v; |x|^2
      // x += a u; y -= a v; |y|^2                                      (CG)
      { cg_update(x, y, a, u, v) } -> std::same_as<typename Field::scalars>;
      // x += a z + b y; y -= b u; z = y + c (z - b v); |y|^2           (BiCGstab: x, r = s - omega t, p)
      { bicgstab_step(x, y, z, a, b, c, u, v) } -> std::same_as<typename Field::scalars>;
      // <u, v> and <u, u>                                              (BiCGstab, MR: omega)
      { dot_norm2(u, v) } -> std::same_as<std::pair<typename Field::scalars, typename Field::scalars>>;
      // x += a u; <v, x> and |x|^2                                     (BiCGstab: s = r - alpha v; GCR)
      { axpy_dot_norm2(x, a, u, v) } -> std::same_as<std::pair<typename Field::scalars, typename Field::scalars>>;
    };

/// Names a field type to a function that makes one.
template <class Field>
inline constexpr std::type_identity<Field> as{};

/// Two fields of one backend that differ in what their numbers are stored in and in nothing else. They have the same
/// shapes and the same scalars, so a number that was summed in one precision steers an update in the other. Field and
/// InnerField may be one.
template <class Field, class InnerField>
concept precisions_of_one_field =
    field_batch<Field> && field_batch<InnerField> &&
    std::same_as<typename Field::scalars, typename InnerField::scalars> &&
    requires(Field& f, const Field& cf, InnerField& g, const InnerField& cg, int n) {
      {
        like(cf, n, as<InnerField>)
      } -> std::same_as<InnerField>;  // a shape as cf has, with n columns, contents undefined
      { like(cg, n, as<Field>) } -> std::same_as<Field>;
      convert(g, cf);  // g = f, rounded; fields of one shape
      convert(f, cg);
    };

/// out = A in, for fields of one shape; out and in are different fields. `out` is not read.
template <class A, class Field>
concept forward_operator = requires(const A& a, Field& out, const Field& in) { a.apply(out, in); };

/// out = A in and out = A^+ in.
template <class A, class Field>
concept linear_operator =
    forward_operator<A, Field> && requires(const A& a, Field& out, const Field& in) { a.apply_dagger(out, in); };

/// `apply(x, b)`: x approximates A^-1 b for some A. x is not read. It reads nothing on the host. It need not be linear:
/// solvers that take one are flexible. It serves batches of any width up to the one that it was made for.
template <class P, class Field>
concept preconditioner = forward_operator<P, Field>;

/// Computes out = A in; returns <out, w> and <out, out>. An operator may offer it as `apply_dot_norm2`, and save the
/// passes over memory; where it does not, the sums are made afterwards.
template <class A, class Field>
auto apply_dot_norm2(const A& a, Field& out, const Field& in, const Field& w) {
  if constexpr (requires { a.apply_dot_norm2(out, in, w); }) {
    return a.apply_dot_norm2(out, in, w);
  } else {
    a.apply(out, in);
    return dot_norm2(out, w);
  }
}

/// The even-odd Schur complement of a full operator M: a linear operator on even-site fields, and the way there and
/// back.
template <class A, class Field>
concept schur_complement = linear_operator<A, Field> && requires(const A& a, Field& even, const Field& ceven,
                                                                 Field& full, const Field& cfull) {
  a.prepare_source(even, cfull);                  // the source of the even system from the full one
  a.reconstruct_solution(full, ceven, cfull);     // the full solution from the even one and the full source
  { a.even_like(cfull) } -> std::same_as<Field>;  // an even-site field with the columns of a full one
};

/// An operator or a preconditioner whose type is hidden: levels of a solver may differ in what they are made of, and a
/// mini-app chooses at run time. It may lack the dagger. `bridge` (krylov/bridge.hpp) makes one of an operator on
/// fields of another type: of another precision, shape or library.
template <class Field>
class any_operator {
 public:
  template <forward_operator<Field> A>
    requires(!std::same_as<std::remove_cvref_t<A>, any_operator>)
  explicit any_operator(A a) {
    auto held = std::make_shared<const A>(std::move(a));
    apply_ = [held](Field& out, const Field& in) { held->apply(out, in); };
    if constexpr (linear_operator<A, Field>)
      apply_dagger_ = [held](Field& out, const Field& in) { held->apply_dagger(out, in); };
  }
  void apply(Field& out, const Field& in) const { apply_(out, in); }
  /// \throws error (internal) where there is none
  void apply_dagger(Field& out, const Field& in) const {
    if (!apply_dagger_)
      throw error(exit_status::internal_error, "any_operator: this operator has no dagger; use a solver without it");
    apply_dagger_(out, in);
  }

 private:
  std::function<void(Field&, const Field&)> apply_, apply_dagger_;
};

}  // namespace plaquette
