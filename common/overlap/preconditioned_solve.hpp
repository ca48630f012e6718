// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// D(m) x = b for many masses at once by minimal residuals, preconditioned by M^-1 of a clover operator on smeared
/// links: D(m)^-1 is about M^-1 + 1 / (2 rho). Columns that are solved for together have one search space, which serves
/// all of them and all masses: D(m) Z is (rho - m/2) D Z + m Z. (After Brannick, Frommer, Kahl, Leder, Rottmann,
/// Strebel 2016, arXiv:1410.7170; block methods: Guennouni, Jbilou, Sadok 2004.)
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/algorithms/krylov_basis.hpp"
#include "common/error.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/stopwatch.hpp"

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

namespace detail {

/// Returns independent_directions of a Gram matrix without those whose eigenvalue is at most `least`.
inline host_matrix directions_above(const host_matrix& gram, double least) {
  return independent_directions(gram, least / eigenpairs_of_hermitian(hermitian_part(gram)).values.back());
}

}  // namespace detail

/// Directions Z, with W = D Z and the inner products of both. Storage grows by blocks, of directions with accurate
/// images or of others. What is in double precision takes images as accurate as they are; what is in single takes
/// single ones.
///
/// Each z may have a partner s = sign(H) z = gamma_5 (D z - z). Its image costs nothing: D s = gamma_5 D z, since
/// sign(H)^2 = 1. On low modes of D, s is about -gamma_5 z, so that one sign function finds both of their chiralities.
/// Partners are not stored: products with them are those of z and D z with gamma_5 x. In matrices the row of a
/// direction is followed by that of its partner.
template <field_batch Field, field_batch InnerField>
class search_space {
 public:
  using block = direction_block<Field, InnerField>;

  /// Columns that add() takes at once: as many as kernels of products do.
  static constexpr int columns_of_sums = 24;

  /// \param first         directions to begin with, which copies of this space share; may have none
  /// \param has_partners  whether each direction has one, which needs sign(H)^2 = 1
  search_space(const block& first, bool has_partners) : each_(has_partners ? 2 : 1) {
    if (first.size == 0) return;
    blocks_.push_back(first);
    first_blocks_ = 1;
    enlarge(first.size);
    in_batches(first.size, 12, [&](int from, int count) { record(first.in_double(from, count), from); });
  }

  /// Directions that are stored.
  int size() const { return size_; }
  /// Rows of matrices: of a direction, and all.
  int rows_of_direction() const { return each_; }
  int dimension() const { return each_ * size_; }
  /// Makes storage grow by as many columns at once as solves of this many columns use.
  void set_columns(int columns) { block_length_ = block_length_of(columns); }

  /// Returns orthonormal combinations of the stored directions, those first that D makes shortest.
  host_matrix shortest_images(int count) const {
    host_matrix squares(size_, size_);
    for (int j = 0; j < size_; ++j)
      for (int i = 0; i < size_; ++i) squares(i, j) = ww_(each_ * i, each_ * j);
    const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(squares));
    host_matrix chosen(dimension(), std::min(count, size_));
    for (int j = 0; j < chosen.columns(); ++j)
      for (int i = 0; i < size_; ++i) chosen(each_ * i, j) = pairs.vectors(i, j);
    return chosen;
  }

  /// Takes out of all columns of t what lies along the directions.
  /// \param along  minimises |t - Z y|
  template <field_batch X, class Minimiser>
  void project(X& t, const Minimiser& along) const {
    for (int pass = 0; pass < 2 && size_ > 0; ++pass) {
      const auto [zt, wt] = products_with(t, false);
      host_matrix c = along.solve(zt, wt);
      scale_rows(c, std::vector<double>(static_cast<std::size_t>(c.rows()), -1.0));
      add(t, c);
    }
  }

  /// \param both         new directions, orthogonal to each other and to the rest, which single precision holds; after
  ///                     them their images
  /// \param is_accurate  whether images are better than single precision
  void append(const Field& both, bool is_accurate) {
    const int before = size_;
    push_back(both, is_accurate);
    enlarge(before + both.columns() / 2);
    record(both, before);
  }

  /// Keeps the first directions alone, also where memory ran out while others were appended.
  void truncate(int size) {
    int row = 0;
    for (block& some : blocks_) {
      some.size = std::clamp(size - row, 0, some.size);
      row += some.size;
    }
    while (std::ssize(blocks_) > first_blocks_ && blocks_.back().size == 0) blocks_.pop_back();
    size_ = size;
    for (host_matrix* products : {&zz_, &zw_, &ww_}) *products = block_of(*products, 0, 0, dimension(), dimension());
  }

  /// Returns [x, gamma_5 x], or x where there are no partners.
  template <field_batch X>
  X doubled(const X& x) const {
    if (each_ == 1) return x;
    const int n = x.columns();
    X both = like(x, 2 * n), same = view(both, 0, n), rotated = view(both, n, n);
    copy(same, x);
    gamma5(rotated, x);
    return both;
  }
  /// Returns products of directions with x, partners among them, and those of their images.
  /// \param p  Z^+ y and, below it, W^+ y, y being doubled(x)
  std::pair<host_matrix, host_matrix> sorted(const host_matrix& p) const {
    const int size = p.rows() / 2, n = p.columns() / each_;
    std::pair<host_matrix, host_matrix> all{host_matrix(each_ * size, n), host_matrix(each_ * size, n)};
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < size; ++i) {
        all.first(each_ * i, j) = p(i, j);
        all.second(each_ * i, j) = p(size + i, j);
        if (each_ == 1) continue;
        all.first(2 * i + 1, j) = p(size + i, n + j) - p(i, n + j);
        all.second(2 * i + 1, j) = p(size + i, n + j);
      }
    return all;
  }

  /// Returns Z^+ b and W^+ b, of b in either precision.
  /// \param of_images  false: zeros in place of W^+ b will do
  template <field_batch X>
  std::pair<host_matrix, host_matrix> products_with(const X& b, bool of_images = true) const {
    const X twice = doubled(b);
    in_both_precisions<X> x(twice);
    std::pair<host_matrix, host_matrix> all{host_matrix(dimension(), b.columns()),
                                            host_matrix(dimension(), b.columns())};
    int row = 0;
    for (const block& some : blocks_) {
      if (of_images || each_ == 2) {  // partners are combinations of images too
        const auto [of_z, of_w] = sorted(x.products_of(some));
        set_block(all.first, row, 0, of_z);
        set_block(all.second, row, 0, of_w);
      } else {
        set_block(all.first, row, 0, overlaps(some.directions(), x.single()));
      }
      row += each_ * some.size;
    }
    return all;
  }

  /// Returns A^+ A of A = alpha W + beta Z.
  host_matrix normal_matrix(double alpha, double beta) const {
    const int k = dimension();
    host_matrix normal(k, k);
    for (int j = 0; j < k; ++j)
      for (int i = 0; i < k; ++i)
        normal(i, j) =
            alpha * alpha * ww_(i, j) + alpha * beta * (zw_(i, j) + conj(zw_(j, i))) + beta * beta * zz_(i, j);
    return hermitian_part(normal);
  }

  /// Computes x += Z C and, where it is given, x += W E: columns of x, in either precision, as those of C.
  template <field_batch X>
  void add(X& x, const host_matrix& c, const host_matrix* e = nullptr) const {
    constexpr int at_once = columns_of_sums;  // the sums below take as much memory as three times these
    in_batches(x.columns(), at_once, [&](int from, int n) {
      X part = view(x, from, n);
      std::optional<X> same;
      std::optional<InnerField> single;
      int row = 0;
      for (const block& some : blocks_) {
        const bool has_images = e != nullptr || each_ == 2;
        host_matrix of_z(some.size, each_ * n), of_w(has_images ? some.size : 0, each_ * n);
        for (int j = 0; j < n; ++j)
          for (int i = 0, k = row; i < some.size; ++i, k += each_) {
            of_z(i, j) = c(k, from + j);
            if (e != nullptr) of_w(i, j) = (*e)(k, from + j);
            if (each_ == 1) continue;
            of_z(i, n + j) = -c(k + 1, from + j);
            of_w(i, n + j) = e == nullptr ? c(k + 1, from + j) : c(k + 1, from + j) + (*e)(k + 1, from + j);
          }
        const host_matrix* const w = has_images ? &of_w : nullptr;
        if (std::same_as<X, Field> && !some.is_accurate())
          add_to(single, part, some, of_z, w);
        else if (each_ == 1)
          some.add(part, of_z, w);
        else
          add_to(same, part, some, of_z, w);
        row += each_ * some.size;
      }
      if (same) axpy(part, uniform_scalars(part, 1.0), folded(*same));
      if (!single) return;
      X y = like(part);
      assign(y, folded(*single));
      axpy(part, uniform_scalars(part, 1.0), y);
    });
  }

 private:
  /// A field in either precision, and its rounding to single precision from the first use of that on.
  template <class X>
  class in_both_precisions {
   public:
    explicit in_both_precisions(const X& x) : x_(&x) {}
    const InnerField& single() {
      if constexpr (std::same_as<X, InnerField>) {
        return *x_;
      } else {
        if (!rounded_) {
          rounded_ = like(*x_, x_->columns(), as<InnerField>);
          convert(*rounded_, *x_);
        }
        return *rounded_;
      }
    }
    host_matrix products_of(const block& some) {
      return some.is_accurate() ? some.products(*x_) : some.products(single());
    }

   private:
    const X* x_;
    std::optional<InnerField> rounded_;
  };

  void push_back(const Field& both, bool is_accurate) {
    const int count = both.columns() / 2;
    for (int from = 0; from < count;) {
      if (std::ssize(blocks_) == first_blocks_ || blocks_.back().is_accurate() != is_accurate ||
          blocks_.back().is_full())
        blocks_.push_back(block(both, block_length_, is_accurate));
      block& last = blocks_.back();
      const int some = std::min(count - from, last.length - last.size);
      last.append(view(both, from, some), view(both, count + from, some));
      from += some;
    }
  }
  /// Makes room for products of more directions.
  void enlarge(int size) {
    size_ = size;
    for (host_matrix* products : {&zz_, &zw_, &ww_}) {
      host_matrix larger(dimension(), dimension());
      if (products->rows() > 0) set_block(larger, 0, 0, *products);
      *products = std::move(larger);
    }
  }
  /// Takes the products of all directions with some.
  /// \param both    these and what D makes of them
  /// \param before  directions before these
  void record(const Field& both, int before) {
    const int count = both.columns() / 2, rotated = 2 * count;
    const Field twice = doubled(both);
    in_both_precisions<Field> in(twice);
    int first = 0;
    const auto set = [this](int row, int k, complex<double> zz, complex<double> zw, complex<double> wz,
                            complex<double> ww) {
      zz_(row, k) = zz;
      zz_(k, row) = conj(zz);
      zw_(row, k) = zw;
      zw_(k, row) = conj(wz);
      ww_(row, k) = ww;
      ww_(k, row) = conj(ww);
    };
    for (const block& some : blocks_) {
      const host_matrix p = in.products_of(some);
      const auto [z, w] = sorted(p);
      for (int i = 0; i < z.rows(); ++i)
        for (int j = 0; j < count; ++j)
          set(first + i, each_ * (before + j), z(i, j), z(i, count + j), w(i, j), w(i, count + j));
      if (each_ == 2) {  // of gamma_5 (w - z), whose image is gamma_5 w
        host_matrix swapped(p.rows(), p.columns());
        set_block(swapped, 0, 0, block_of(p, 0, rotated, p.rows(), rotated));
        set_block(swapped, 0, rotated, block_of(p, 0, 0, p.rows(), rotated));
        const auto [gz, gw] = sorted(swapped);
        for (int i = 0; i < gz.rows(); ++i)
          for (int j = 0; j < count; ++j)
            set(first + i, 2 * (before + j) + 1, gz(i, count + j) - gz(i, j), gz(i, count + j),
                gw(i, count + j) - gw(i, j), gw(i, count + j));
      }
      first += z.rows();
    }
  }
  template <class V, class X>
  void add_to(std::optional<V>& sum, const X& x, const block& some, const host_matrix& of_z,
              const host_matrix* of_w) const {
    if (!sum) {
      sum = like(x, each_ * x.columns(), as<V>);
      zero(*sum);
    }
    some.add(*sum, of_z, of_w);
  }
  /// Returns x + gamma_5 y of [x, y].
  template <class V>
  V folded(V& sum) const {
    if (each_ == 1) return sum;
    const int n = sum.columns() / 2;
    V x = view(sum, 0, n), y = view(sum, n, n);
    gamma5(y, y);
    axpy(x, uniform_scalars(x, 1.0), y);
    return x;
  }

  std::vector<block> blocks_;
  host_matrix zz_, zw_, ww_;  ///< Z^+ Z, Z^+ W and W^+ W
  int each_, size_ = 0, first_blocks_ = 0, block_length_ = block_length_of(1);
};

/// Minimises |b - A y|, A = alpha W + beta Z of a search space that grows: of one mass.
class residual_minimiser {
 public:
  residual_minimiser(double alpha, double beta) : alpha_(alpha), beta_(beta) {}

  double alpha() const { return alpha_; }
  double beta() const { return beta_; }

  /// Takes the directions into account that are new in the space, and after all of them their partners. Those that are
  /// nearly combinations of others, as partners of modes of D are of modes, are left out: large multiples of them would
  /// add errors of images.
  template <class Space>
  void update(const Space& space) {
    constexpr double least = 1e-2;
    const int before = q_.rows(), each = space.rows_of_direction();
    enlarge(space);
    const int all = normal_.rows();
    for (int which = 0; which < each; ++which)
      for (int from = before + which; from < all; from += each * at_once) {
        std::vector<int> fresh;
        for (int i = from; i < std::min(all, from + each * at_once); i += each) fresh.push_back(i);
        host_matrix units(all, static_cast<int>(fresh.size()));
        for (int j = 0; j < units.columns(); ++j) units(fresh[static_cast<std::size_t>(j)], j).re = 1.0;
        grow(units, least);
      }
  }
  /// Adds the new combinations of another minimiser.
  template <class Space>
  void update(const Space& space, const residual_minimiser& other) {
    enlarge(space);
    for (; taken_ < other.q_.columns(); taken_ += std::min(at_once, other.q_.columns() - taken_))
      grow(block_of(other.q_, 0, taken_, other.q_.rows(), std::min(at_once, other.q_.columns() - taken_)), 0.0);
  }
  /// Returns the y of each column.
  /// \param zb, wb  Z^+ b and W^+ b
  host_matrix solve(const host_matrix& zb, const host_matrix& wb) const {
    const host_matrix right = image_products(zb, wb), y = solution(right);
    // The second time makes good what rounding of Q leaves.
    return sum(y, solution(rest_of(right, y)));
  }
  /// Returns by how much the squares of residuals |b - A y| fall when y becomes the best, of each column.
  std::vector<double> gains(const host_matrix& zb, const host_matrix& wb, const host_matrix& y) const {
    std::vector<double> squares = column_norms(adjoint_product(q_, rest_of(image_products(zb, wb), y)));
    for (double& gain : squares) gain *= gain;
    return squares;
  }
  /// Does the same as solve() to some ten digits.
  host_matrix solve_about(const host_matrix& zb, const host_matrix& wb) const {
    return solution(image_products(zb, wb));
  }

 private:
  /// A^+ b
  host_matrix image_products(const host_matrix& zb, const host_matrix& wb) const {
    host_matrix right(zb.rows(), zb.columns());
    for (int j = 0; j < zb.columns(); ++j)
      for (int i = 0; i < zb.rows(); ++i) right(i, j) = alpha_ * wb(i, j) + beta_ * zb(i, j);
    return right;
  }
  /// A^+ (b - A y), from right = A^+ b
  host_matrix rest_of(host_matrix right, const host_matrix& y) const {
    const host_matrix of_y = product(normal_, y);
    for (int j = 0; j < right.columns(); ++j)
      for (int i = 0; i < right.rows(); ++i) right(i, j) = right(i, j) - of_y(i, j);
    return right;
  }
  host_matrix solution(const host_matrix& right) const { return product(q_, adjoint_product(q_, right)); }

  template <class Space>
  void enlarge(const Space& space) {
    normal_ = space.normal_matrix(alpha_, beta_);
    host_matrix longer(normal_.rows(), q_.columns());
    if (q_.columns() > 0) set_block(longer, 0, 0, q_);
    q_ = std::move(longer);
  }
  /// Makes the images of some combinations of directions orthonormal, and orthogonal to those of the others. Those
  /// whose images are combinations of others tell nothing.
  /// \param least  square of the least part of an image that others lack
  void grow(const host_matrix& candidates, double least) {
    const host_matrix images = product(normal_, candidates);
    host_matrix left = adjoint_product(candidates, images), along(q_.columns(), left.columns());
    double longest = 0.0;
    for (int i = 0; i < left.rows(); ++i) longest = std::max(longest, left(i, i).re);
    if (q_.columns() > 0) {
      along = adjoint_product(q_, images);
      const host_matrix known = adjoint_product(along, along);
      for (int j = 0; j < left.columns(); ++j)
        for (int i = 0; i < left.rows(); ++i) left(i, j) = left(i, j) - known(i, j);
    }
    const host_matrix chosen = detail::directions_above(left, std::max(1e-13 * longest, least));
    if (chosen.columns() == 0) return;
    host_matrix larger(q_.rows(), q_.columns() + chosen.columns());
    if (q_.columns() > 0) set_block(larger, 0, 0, q_);
    host_matrix fresh = product(candidates, chosen);
    if (q_.columns() > 0) {
      host_matrix minus = product(q_, product(along, chosen));
      scale_columns(minus, std::vector<double>(static_cast<std::size_t>(minus.columns()), -1.0));
      fresh = sum(fresh, minus);
    }
    set_block(larger, 0, q_.columns(), fresh);
    q_ = std::move(larger);
  }

  static constexpr int at_once = 64;  // eigenpairs of many take long
  int taken_ = 0;                     ///< columns of the other's q_
  double alpha_, beta_;
  host_matrix normal_, q_;  ///< A^+ A; A Q is orthonormal
};

namespace detail {

/// Numbers, one a column, as a handle.
template <field_batch Field>
typename Field::scalars scalars_of(const Field& x, const std::vector<double>& numbers) {
  std::vector<complex<double>> list;
  for (const double number : numbers) list.push_back({number, 0.0});
  return make_scalars(x, std::span<const complex<double>>(list));
}

/// Adds the seconds of part(), where work can be waited for, before it and after it.
template <class Part>
void add_seconds(double& seconds, const std::function<void()>& finish, const Part& part) {
  if (!finish) return part();
  finish();
  const stopwatch watch;
  part();
  finish();
  seconds += watch.seconds();
}

/// About D(m)^-1 in single precision: some steps of GCR on D(m) with a cheap sign function, each of which starts from
/// P(r) = M^-1 r + a r. They look for what the search space does not hold: images are made orthogonal to the space's,
/// so that low modes that it knows do not slow them down. (GCRO: de Sturler 1996)
/// \tparam Inverse  InnerField inverse(const InnerField& r): about M^-1 r
template <class Sign, class Inverse>
class nested_preconditioner {
 public:
  using Field = typename Sign::Field;
  using InnerField = typename Sign::InnerField;

  nested_preconditioner(const overlap_operator<Sign>& d, const Inverse& inverse, const overlap_solve_rule& rule,
                        preconditioned_work& work)
      : d_(&d), inverse_(&inverse), rule_(rule.preconditioner), finish_(rule.finish), work_(&work) {}

  /// \param r        is used up
  /// \param masses   one a column
  /// \param project  project(y) takes out of images what those of the search space hold, of the same masses
  template <class Project>
  InnerField apply(InnerField r, const std::vector<double>& masses, const Project& project) const {
    if (rule_.inner_steps == 0) return first(r);
    std::vector<double> weights;
    for (const double mass : masses) weights.push_back(d_->rho() - 0.5 * mass);
    const auto alpha = scalars_of(r, weights), beta = scalars_of(r, masses);
    InnerField t = like(r);
    zero(t);
    std::vector<InnerField> p, q;
    std::vector<typename InnerField::scalars> qq;
    for (int step = 0; step < rule_.inner_steps; ++step) {
      InnerField z = first(r), image = like(r);
      apply_cheap_sign(image, z);
      gamma5(image, image);
      axpy(image, uniform_scalars(z, 1.0), z);  // D z
      scale(image, alpha);
      axpy(image, beta, z);
      add_seconds(work_->projection_seconds, finish_, [&] { project(image); });
      for (std::size_t i = 0; i < q.size(); ++i) {
        const auto c = ratio(dot(q[i], image), qq[i]);
        axpy(image, -c, q[i]);
        axpy(z, -c, p[i]);
      }
      qq.push_back(norm2(image));
      const auto c = ratio(dot(image, r), qq.back());
      axpy(t, c, z);
      axpy(r, -c, image);
      p.push_back(std::move(z));
      q.push_back(std::move(image));
    }
    return t;
  }

 private:
  /// P(r)
  InnerField first(const InnerField& r) const {
    std::optional<InnerField> found;
    add_seconds(work_->clover_seconds, finish_, [&] { found = (*inverse_)(r); });
    InnerField& z = *found;
    axpy(z, uniform_scalars(r, rule_.constant), r);
    return std::move(z);
  }
  void apply_cheap_sign(InnerField& y, const InnerField& x) const {
    work_->cheap_signs += x.columns();
    add_seconds(work_->cheap_sign_seconds, finish_, [&] { compute_cheap_sign(y, x); });
  }
  void compute_cheap_sign(InnerField& y, const InnerField& x) const {
    const Sign& sign = d_->sign();
    if (rule_.modes_in_single && sign.is_single(rule_.inner_delta)) return sign.apply(y, x, rule_.inner_delta);
    Field in = like(x, x.columns(), as<Field>), out = like(in);
    convert(in, x);
    sign.apply(out, in, rule_.inner_delta);
    convert(y, out);
  }

  const overlap_operator<Sign>* d_;
  const Inverse* inverse_;
  overlap_preconditioner rule_;
  std::function<void()> finish_;
  preconditioned_work* work_;
};

/// Where the solves of one column stand.
struct preconditioned_column {
  int number = 0;                   ///< among those that are solved for together
  double norm = 0.0;                ///< of the source
  std::vector<double> residuals{};  ///< of each mass, |r| / |source|
  bool is_open = true;
  std::vector<double> computed{};     ///< of the residuals, when vectors r told them last
  std::vector<bool> is_computed{};    ///< whether they tell those of now
  std::optional<std::size_t> held{};  ///< the mass of which r is kept

  /// Takes what fell of the squares of residuals: they are known without vectors.
  void reduce(std::size_t mass, double gain) {
    double& residual = residuals[mass];
    residual = std::sqrt(std::max(0.0, residual * residual - gain / (norm * norm)));
    is_computed[mass] = false;
  }
  /// Returns whether a residual must be computed by vectors. That is the worst, all once they seem to be below the
  /// goal, and one that fell to where rounding may count.
  bool is_wanted(std::size_t mass, double goal) const {
    if (is_computed[mass]) return false;
    const std::size_t most = worst();
    return mass == most || !(residuals[most] > goal) || residuals[mass] < 1e-3 * computed[mass];
  }

  /// Takes a residual that vectors tell. Returns whether r is to be kept.
  bool take(std::size_t mass, double length) {
    residuals[mass] = computed[mass] = length / norm;
    is_computed[mass] = true;
    if (held && !(residuals[mass] > residuals[*held])) return false;
    held = mass;
    return true;
  }

  std::size_t worst() const {
    return static_cast<std::size_t>(std::ranges::max_element(residuals) - residuals.begin());
  }
  bool is_finite() const {
    return std::ranges::all_of(residuals, [](double residual) { return std::isfinite(residual); });
  }
};

}  // namespace detail

/// The solves of some columns, made together in one search space.
template <class Sign, class Inverse>
class preconditioned_solver {
 public:
  using Field = typename Sign::Field;
  using InnerField = typename Sign::InnerField;

  /// All must outlive it.
  /// \param first  the space to begin with
  preconditioned_solver(const overlap_operator<Sign>& d, const search_space<Field, InnerField>& first,
                        const std::vector<double>& masses, const overlap_solve_rule& rule, const Inverse& inverse,
                        overlap_solve_report& report)
      : d_(&d),
        first_(&first),
        masses_(&masses),
        rule_(&rule),
        inverse_(d, inverse, rule, report.work),
        report_(&report),
        space_(first) {}

  /// Computes x[i] = D(masses[i])^-1 b, as far as the rule allows; adds to the report.
  /// \param solutions  returns the x of all masses, whose numbers do not matter. It is called when they are known, so
  ///                   that a search space may grow into their memory.
  /// \param records    whether the report's history is of these columns
  void solve(const std::function<std::vector<Field>()>& solutions, const Field& b, bool records) {
    records_ = records;
    x_.clear();
    const auto take_solutions = [&] {
      if (!x_.empty()) return;
      x_ = solutions();
      for (Field& of_mass : x_) zero(of_mass);
    };
    begin(b);
    for (int round = 0; !open_.empty(); ++round) {
      start_round(round);
      iterate();
      r_.reset();
      take_solutions();
      correct();
      std::erase_if(open_, [&](int n) { return !at(n).is_open; });
      if (open_.empty() || round == rule_->corrections || stops_) break;
      ++report_->work.corrections;
    }
    take_solutions();
    note();
  }

  /// Returns the directions that D makes shortest, in single precision, with images as they are. The space is given
  /// back.
  /// \param count  at most
  direction_block<Field, InnerField> give_shortest(const Field& shape, int count) {
    const host_matrix chosen = space_.shortest_images(count);
    direction_block<Field, InnerField> some(shape, chosen.columns(), false);
    in_batches(chosen.columns(), 4, [&](int first, int n) {
      Field z = like(shape, n), w = like(z);
      const host_matrix combination = block_of(chosen, 0, first, chosen.rows(), n);
      zero(z);
      zero(w);
      space_.add(z, combination);
      space_.add(w, host_matrix(chosen.rows(), n), &combination);
      some.append(z, w);
    });
    space_ = *first_;
    return some;
  }
  bool is_stopped() const { return stops_; }

 private:
  using column = detail::preconditioned_column;

  int mass_count() const { return static_cast<int>(masses_->size()); }
  double weight(std::size_t mass) const { return d_->rho() - 0.5 * (*masses_)[mass]; }
  column& at(int n) { return columns_[static_cast<std::size_t>(n)]; }
  /// Number of the right-hand side of an open column: all masses have one until true residuals are known.
  int source_of(int slot, int mass) const {
    return b_->columns() == std::ssize(open_) ? slot : slot * mass_count() + mass;
  }

  void begin(const Field& b) {
    const std::vector<double> norms = detail::square_roots(host_values(norm2(b)));
    columns_.clear();
    open_.clear();
    for (int n = 0; n < b.columns(); ++n) {
      const double norm = norms[static_cast<std::size_t>(n)];
      columns_.push_back({n, norm, std::vector<double>(masses_->size(), norm > 0.0 ? 1.0 : 0.0), norm > 0.0});
      if (norm > 0.0) open_.push_back(n);
    }
    b_ = some_columns(b, open_);
    history_of_masses_.assign(static_cast<std::size_t>(b.columns()), {});
  }

  /// Begins to solve for what is left of each open column.
  void start_round(int round) {
    // Images that are as inexact as they were allowed to be serve once more and no longer.
    if (round != 1 || space_.size() >= limit() || has_no_room_) {
      space_ = *first_;
      space_.set_columns(static_cast<int>(columns_.size()));
    }
    minimisers_.clear();
    for (std::size_t i = 0; i < masses_->size(); ++i) minimisers_.emplace_back(weight(i), (*masses_)[i]);
    along_ = residual_minimiser(0.0, 1.0);
    r_ = like(*b_, static_cast<int>(open_.size()), as<InnerField>);
    std::tie(zb_, wb_) = space_.products_with(*b_);
    y_ = host_matrix(space_.dimension(), static_cast<int>(open_.size()) * mass_count());
    for (const int n : open_) {
      at(n).computed = at(n).residuals;
      at(n).is_computed.assign(masses_->size(), false);
    }
    std::vector<int> all(open_.size());
    std::iota(all.begin(), all.end(), 0);
    find_residuals(all);
  }
  /// Of directions.
  int limit() const { return first_->size() + rule_->preconditioner.directions * static_cast<int>(columns_.size()); }

  /// For iterated residuals.
  double goal() const { return 0.7 * rule_->tolerance; }

  /// Takes new directions until the iterated residuals of all masses and columns are below the tolerance.
  void iterate() {
    std::vector<int> active(open_.size());  // places among the open columns
    std::iota(active.begin(), active.end(), 0);
    for (int k = 0;; ++k) {
      std::erase_if(active, [&](int slot) {
        const column& c = at(open_of(slot));
        return !c.is_finite() || !(c.residuals[c.worst()] > goal());
      });
      if (active.empty() || space_.size() >= limit()) return;
      stops_ = stops_ || (rule_->interrupted && rule_->interrupted());
      if (stops_ || k >= rule_->limit) return;
      const int size = space_.size();
      const host_matrix y = y_;
      try {
        if (!take_directions(active)) return;
      } catch (const memory_error&) {
        // As if the space were full. One of few directions is worth nothing.
        if (!rule_->may_shrink_batch || k < 4) throw;
        space_.truncate(size);
        y_ = y;
        has_no_room_ = true;
        return;
      }
    }
  }

  /// Adds to the space what the preconditioner makes of the worst residual of the masses of each of these columns.
  /// Returns whether there was something new.
  bool take_directions(const std::vector<int>& active) {
    std::vector<int> numbers;
    std::vector<double> masses, lengths;
    for (const int slot : active) {
      const column& c = at(open_of(slot));
      numbers.push_back(static_cast<int>(c.held.value()));
      masses.push_back((*masses_)[*c.held]);
      lengths.push_back(c.residuals[*c.held]);
    }
    InnerField t = gather_columns(*r_, active);
    normalise_columns(t);
    in_batches(t.columns(), width_of(t.columns()), [&](int first, int n) {
      InnerField part = view(t, first, n), residuals = like(t, n);
      copy(residuals, part);
      const auto of_part = [&](const auto& list) {
        return std::vector(list.begin() + first, list.begin() + first + n);
      };
      const std::vector<int> of_images = of_part(numbers);
      copy(part, inverse_.apply(std::move(residuals), of_part(masses),
                                [&](InnerField& image) { project_images(image, of_images); }));
    });
    double share = 0.0;
    Field both = new_directions(t, lengths, share);
    const int count = both.columns() / 2;
    if (count == 0) return false;
    // A direction of norm 1 enters x with about this share: by that its image may err less.
    const double delta =
        detail::rounded_down(std::clamp(rule_->preconditioner.relaxation * rule_->tolerance / share, 1e-13, 1e-2));
    // Images that err more than single precision need no more; what it leaves of x is a small share of the tolerance.
    const bool as_single = delta >= least_delta_of_single;
    const Field q = view(both, 0, count);
    Field dq = view(both, count, count);
    detail::add_seconds(report_->work.accurate_sign_seconds, rule_->finish, [&] {
      in_batches(count, width_of(count), [&](int first, int n) {
        Field part = view(dq, first, n);
        d_->apply(part, view(q, first, n), delta);
      });
    });
    if (as_single) round_to_single(dq);
    report_->work.accurate_signs += count;
    report_->work.directions += count;
    space_.append(both, !as_single);
    add_products(both);
    find_residuals(active);
    double largest = 0.0, lightest = 0.0;
    for (const int slot : active) {
      const column& c = at(open_of(slot));
      keep_largest(largest, c.residuals[c.worst()]);
      keep_largest(lightest, c.residuals.front());
    }
    if (records_) {
      report_->history.push_back(lightest);
      report_->deltas.push_back(delta);
    }
    ++iterations_;
    if (rule_->progress) rule_->progress(iterations_, largest);
    return true;
  }

  /// Columns at once in inner steps and sign functions.
  int width_of(int columns) const {
    const int narrow = rule_->preconditioner.narrow;
    return narrow > 0 ? std::min(narrow, columns) : columns;
  }

  /// Takes out of images of D(m) what those of the space hold.
  /// \param numbers  of the masses
  void project_images(InnerField& image, const std::vector<int>& numbers) const {
    if (space_.size() == 0) return;
    const auto [zy, wy] = space_.products_with(image);
    host_matrix c(zy.rows(), zy.columns()), e(zy.rows(), zy.columns());
    for (int m = 0; m < mass_count(); ++m) {
      std::vector<int> some;
      for (int j = 0; j < zy.columns(); ++j)
        if (numbers[static_cast<std::size_t>(j)] == m) some.push_back(j);
      if (some.empty()) continue;
      const residual_minimiser& a = minimisers_[static_cast<std::size_t>(m)];
      const host_matrix y = a.solve_about(columns_of(zy, some), columns_of(wy, some));
      for (std::size_t j = 0; j < some.size(); ++j)
        for (int i = 0; i < y.rows(); ++i) {
          c(i, some[j]) = -a.beta() * y(i, static_cast<int>(j));
          e(i, some[j]) = -a.alpha() * y(i, static_cast<int>(j));
        }
    }
    space_.add(image, c, &e);
  }

  /// Returns an orthonormal basis of what t has beyond the space, rounded to single precision, with as much room again
  /// for images.
  /// \param lengths  of the residuals, of which t was made
  /// \param share    becomes the largest one that a solution is expected to take of a direction
  Field new_directions(InnerField& t, const std::vector<double>& lengths, double& share) const {
    // Below that a direction is rounding of single precision.
    constexpr double least = 1e-5;
    const std::vector<double> before = detail::square_roots(host_values(norm2(t)));
    space_.project(t, along_);
    const std::vector<double> fresh = detail::square_roots(host_values(norm2(t)));
    std::vector<int> kept;
    for (std::size_t i = 0; i < fresh.size(); ++i)
      if (fresh[i] > least * before[i]) kept.push_back(static_cast<int>(i));  // false for NaN
    if (kept.empty()) return like(*b_, 0);
    const InnerField some = gather_columns(t, kept);
    std::vector<double> shares, scales;
    for (const int i : kept) {
      const auto n = static_cast<std::size_t>(i);
      shares.push_back(lengths[n]);
      scales.push_back(1.0 / before[n]);
    }
    const host_matrix gram = overlaps(some, some);
    const auto scaled = [&](const std::vector<double>& factors) {
      host_matrix matrix = gram;
      scale_columns(matrix, factors);
      scale_rows(matrix, factors);
      return hermitian_part(matrix);
    };
    share = std::sqrt(eigenpairs_of_hermitian(scaled(shares)).values.back());
    host_matrix chosen = detail::directions_above(scaled(scales), least * least);
    const int count = chosen.columns();
    if (count == 0) return like(*b_, 0);
    scale_rows(chosen, scales);
    InnerField directions = like(t, count);
    combine(directions, some, chosen.numbers());
    Field both = like(*b_, 2 * count), q = view(both, 0, count);
    convert(q, directions);
    return both;
  }

  /// Rounds to single precision, so that inner products agree with those of the stored copy.
  static void round_to_single(Field& x) {
    InnerField rounded = like(x, x.columns(), as<InnerField>);
    convert(rounded, x);
    convert(x, rounded);
  }
  /// Adds the products of new directions and their images with b. In double precision, whatever they are kept in.
  void add_products(const Field& both) {
    const auto [of_z, of_w] = space_.sorted(overlaps(both, space_.doubled(*b_)));
    for (const auto& [products, fresh] : {std::pair{&zb_, &of_z}, std::pair{&wb_, &of_w}}) {
      host_matrix longer(products->rows() + fresh->rows(), fresh->columns());
      set_block(longer, 0, 0, *products);
      set_block(longer, products->rows(), 0, *fresh);
      *products = std::move(longer);
    }
  }
  /// Finds the best solutions of open columns in the space, and what they leave of the masses that are wanted.
  void find_residuals(const std::vector<int>& slots) {
    const int k = space_.dimension(), masses = mass_count();
    host_matrix y(k, y_.columns());
    set_block(y, 0, 0, y_);
    y_ = std::move(y);
    if (k > 0) along_.update(space_);
    for (int m = 0; m < masses && k > 0; ++m) {
      const auto i = static_cast<std::size_t>(m);
      std::vector<int> sources, places;
      for (const int slot : slots) {
        sources.push_back(source_of(slot, m));
        places.push_back(slot * masses + m);
      }
      residual_minimiser& minimiser = minimisers_[i];
      minimiser.update(space_, along_);
      const host_matrix zb = columns_of(zb_, sources), wb = columns_of(wb_, sources);
      const std::vector<double> gains = minimiser.gains(zb, wb, columns_of(y_, places));
      const host_matrix found = minimiser.solve(zb, wb);
      for (std::size_t n = 0; n < slots.size(); ++n) {
        at(open_of(slots[n])).reduce(i, gains[n]);
        set_block(y_, 0, places[n], block_of(found, 0, static_cast<int>(n), k, 1));
      }
    }
    for (const int slot : slots) at(open_of(slot)).held.reset();
    for (;;) {  // what is computed may change what is wanted
      std::vector<int> wanted;
      for (const int slot : slots)
        for (std::size_t m = 0; m < masses_->size(); ++m)
          if (at(open_of(slot)).is_wanted(m, goal())) wanted.push_back(slot * masses + static_cast<int>(m));
      if (wanted.empty()) return;
      in_batches(
          static_cast<int>(wanted.size()), search_space<Field, InnerField>::columns_of_sums,
          [&](int from, int count) { compute_residuals({wanted.begin() + from, wanted.begin() + from + count}); });
    }
  }
  /// Computes what some solutions leave, and keeps the largest of each column. It is a small difference, found in
  /// double precision; single holds it.
  /// \param places  of the solutions in y_
  void compute_residuals(const std::vector<int>& places) {
    const int count = static_cast<int>(places.size()), masses = mass_count();
    const auto mass_of = [&](int i) { return places[static_cast<std::size_t>(i)] % masses; };
    const auto slot_of = [&](int i) { return places[static_cast<std::size_t>(i)] / masses; };
    Field left = like(*b_, count);
    std::vector<double> of_z, of_w;
    for (int i = 0; i < count; ++i) {
      Field one = view(left, i, 1);
      copy(one, view(*b_, source_of(slot_of(i), mass_of(i)), 1));
      of_z.push_back(-(*masses_)[static_cast<std::size_t>(mass_of(i))]);
      of_w.push_back(-weight(static_cast<std::size_t>(mass_of(i))));
    }
    if (space_.dimension() > 0) {
      host_matrix z = columns_of(y_, places), w = z;
      scale_columns(z, of_z);
      scale_columns(w, of_w);
      space_.add(left, z, &w);
    }
    const std::vector<double> norms = detail::square_roots(host_values(norm2(left)));
    for (int i = 0; i < count; ++i) {
      column& c = at(open_of(slot_of(i)));
      if (!c.take(static_cast<std::size_t>(mass_of(i)), norms[static_cast<std::size_t>(i)])) continue;
      InnerField kept = view(*r_, slot_of(i), 1);
      convert(kept, view(left, i, 1));
    }
  }

  /// Adds the solutions of this round to x; b becomes what the accurate sign function leaves of those that stay open.
  void correct() {
    const int masses = mass_count(), slots = static_cast<int>(open_.size());
    const int at_once = std::max(1, static_cast<int>(columns_.size()) / masses);
    std::vector<Field> left;
    in_batches(slots, at_once, [&](int first, int count) {
      if (!stops_ && rule_->interrupted && rule_->interrupted()) stops_ = true;
      Field change = like(*b_, count * masses), image = like(change), part = like(change);
      std::vector<int> stay;
      zero(change);
      const host_matrix y = block_of(y_, 0, first * masses, y_.rows(), count * masses);
      if (space_.size() > 0) space_.add(change, y);
      const std::vector<double> lengths = column_norms(y);
      double longest = 1e-8;
      for (int i = 0; i < count * masses; ++i)
        longest = std::max(longest, lengths[static_cast<std::size_t>(i)] / at(open_of(first + i / masses)).norm);
      const double delta = std::clamp(0.05 * rule_->tolerance / longest, 1e-13, 1e-2);
      detail::add_seconds(report_->work.accurate_sign_seconds, rule_->finish,
                          [&] { apply_in_room(image, change, delta); });
      report_->work.accurate_signs += count * masses;
      std::vector<double> of_image, of_change;
      for (int i = 0; i < count; ++i) {
        for (int m = 0; m < masses; ++m) {
          const int number = i * masses + m;
          Field one = view(part, number, 1), x = view(x_[static_cast<std::size_t>(m)], open_of(first + i), 1);
          copy(one, view(*b_, source_of(first + i, m), 1));
          axpy(x, uniform_scalars(x, 1.0), view(change, number, 1));
          of_image.push_back(-weight(static_cast<std::size_t>(m)));
          of_change.push_back(-(*masses_)[static_cast<std::size_t>(m)]);
        }
      }
      axpy(part, detail::scalars_of(part, of_image), image);
      axpy(part, detail::scalars_of(part, of_change), change);
      const std::vector<double> norms = detail::square_roots(host_values(norm2(part)));
      for (int i = 0; i < count; ++i) {
        column& c = at(open_of(first + i));
        const std::vector<double> iterated = c.residuals;
        for (int m = 0; m < masses; ++m)
          c.residuals[static_cast<std::size_t>(m)] = norms[static_cast<std::size_t>(i * masses + m)] / c.norm;
        history_of_masses_[static_cast<std::size_t>(c.number)].push_back({iterated, c.residuals});
        c.is_open = c.is_finite() && !(c.residuals[c.worst()] <= 0.9 * rule_->tolerance);
        for (int m = 0; m < masses && c.is_open; ++m) stay.push_back(i * masses + m);
      }
      if (stay.empty()) return;
      left.push_back(gather_columns(part, stay));
    });
    b_ = detail::side_by_side(*b_, std::span<const Field>(left));
  }
  /// Computes D x; where memory runs out, of fewer columns at once.
  void apply_in_room(Field& y, const Field& x, double delta) const {
    const int all = x.columns(), half = all / 2;
    try {
      return d_->apply(y, x, delta);
    } catch (const memory_error&) {
      if (!rule_->may_shrink_batch || half == 0) throw;
    }
    for (const auto& [from, count] : {std::pair{0, half}, std::pair{half, all - half}}) {
      Field part = view(y, from, count);
      apply_in_room(part, view(x, from, count), delta);
    }
  }
  int open_of(int slot) const { return open_[static_cast<std::size_t>(slot)]; }

  /// Says how the solutions were found.
  void note() {
    for (std::size_t m = 0; m < masses_->size(); ++m) {
      overlap_mass_report& mass = report_->masses[m];
      mass.iterations = std::max(mass.iterations, iterations_);
      for (std::size_t n = 0; n < columns_.size(); ++n) {
        const column& c = columns_[n];
        const auto& rounds = history_of_masses_[n];
        const double residual = c.residuals[m];
        mass.corrections = std::max(mass.corrections, static_cast<int>(rounds.size()) - 1);
        mass.iterated.push_back(rounds.empty() ? 0.0 : rounds.front().iterated[m]);
        mass.residual.push_back(residual);
        for (std::size_t k = 0; k < rounds.size(); ++k) {
          if (mass.worst.size() <= k) mass.worst.push_back(0.0);
          keep_largest(mass.worst[k], rounds[k].found[m]);
        }
        mass.converged = mass.converged && residual <= 0.9 * rule_->tolerance;  // false for NaN
      }
    }
  }

  /// Residuals of the masses at the end of a round: iterated, and by the accurate sign function.
  struct round_record {
    std::vector<double> iterated, found;
  };

  const overlap_operator<Sign>* d_;
  const search_space<Field, InnerField>* first_;
  const std::vector<double>* masses_;
  const overlap_solve_rule* rule_;
  detail::nested_preconditioner<Sign, Inverse> inverse_;
  overlap_solve_report* report_;
  search_space<Field, InnerField> space_;
  std::vector<residual_minimiser> minimisers_;  ///< of the masses
  residual_minimiser along_{0.0, 1.0};          ///< minimises |t - Z y|
  std::vector<column> columns_;
  std::vector<int> open_;          ///< numbers of columns
  std::vector<Field> x_;           ///< the solutions so far
  std::optional<Field> b_;         ///< of open columns: what is solved for, of all masses together or of each
  std::optional<InnerField> r_;    ///< of open columns: what this round leaves of b, of the worst mass
  host_matrix zb_{}, wb_{}, y_{};  ///< Z^+ b and W^+ b; the solution of this round is Z y
  std::vector<std::vector<round_record>> history_of_masses_;
  int iterations_ = 0;
  bool records_ = false, stops_ = false, has_no_room_ = false;
};

namespace detail {

/// Appends directions, rounded to single precision, with their images to an accuracy.
template <class Sign>
void append_with_images(direction_block<typename Sign::Field, typename Sign::InnerField>& directions,
                        const overlap_operator<Sign>& d, const typename Sign::Field& z, double delta,
                        preconditioned_work& work) {
  using Field = typename Sign::Field;
  in_batches(z.columns(), 12, [&](int from, int count) {
    typename Sign::InnerField rounded = like(z, count, as<typename Sign::InnerField>);
    convert(rounded, view(z, from, count));
    Field exact = like(z, count), image = like(exact);
    convert(exact, rounded);
    d.apply(image, exact, delta);
    directions.append(exact, image);
    work.accurate_signs += count;
  });
}

}  // namespace detail

/// Returns the lowest modes of both chiralities as first directions of all columns, with their images to an accuracy.
/// Nothing is assumed of them, so that they need not be accurate.
template <class Sign>
direction_block<typename Sign::Field, typename Sign::InnerField> first_directions(
    const overlap_operator<Sign>& d, const overlap_mode_set<typename Sign::Field>& modes,
    const typename Sign::Field& shape, double delta, preconditioned_work& work) {
  using Field = typename Sign::Field;
  const auto count_of = [&modes](int chi) {
    return std::min(modes.of(chi).vectors.columns(), most_modes_as_directions);
  };
  direction_block<Field, typename Sign::InnerField> first(shape, count_of(+1) + count_of(-1), true);
  for (const int chi : {+1, -1}) {
    const Field& v = modes.of(chi).vectors;
    in_batches(count_of(chi), 12, [&](int from, int count) {
      Field z = like(shape, count);
      put_chirality(z, view(v, from, count), chi);
      detail::append_with_images(first, d, z, delta, work);
    });
  }
  return first;
}

/// Returns first directions for later columns: modes, and of what earlier columns took the directions that D makes
/// shortest. Their images are made again: those that served a solve are too inexact for another.
/// \param modes   come first
/// \param taken   by earlier columns; is used up
/// \param count   of directions other than modes, at most
template <class Sign>
direction_block<typename Sign::Field, typename Sign::InnerField> recycled_directions(
    const overlap_operator<Sign>& d, const direction_block<typename Sign::Field, typename Sign::InnerField>& modes,
    direction_block<typename Sign::Field, typename Sign::InnerField> taken, int count, double delta,
    preconditioned_work& work) {
  using Field = typename Sign::Field;
  const auto minus_along_modes = [&](const Field& z) {
    host_matrix c = block_of(modes.products(z), 0, 0, modes.size, z.columns());
    scale_columns(c, std::vector<double>(static_cast<std::size_t>(c.columns()), -1.0));
    return c;
  };
  if (modes.size > 0) {  // D z less what D makes of the modes
    Field both = taken.in_double(0, taken.size), z = view(both, 0, taken.size), w = view(both, taken.size, taken.size);
    const host_matrix c = minus_along_modes(z), nothing(c.rows(), c.columns());
    modes.add(z, c, nullptr);
    modes.add(w, nothing, &c);
    taken.size = 0;
    taken.append(z, w);
  }
  const host_matrix squares = overlaps(taken.images(), taken.images());
  const host_matrix independent = independent_directions(overlaps(taken.directions(), taken.directions()), 1e-3);
  const hermitian_eigenpairs pairs =
      eigenpairs_of_hermitian(hermitian_part(adjoint_product(independent, product(squares, independent))));
  const int kept = std::min(count, independent.columns());
  const host_matrix chosen = product(independent, block_of(pairs.vectors, 0, 0, independent.columns(), kept));
  direction_block<Field, typename Sign::InnerField> first(modes.z, modes.size + kept, true);
  if (modes.size > 0) first.append(modes);
  if (kept == 0) return first;
  Field z = like(taken.z, kept, as<Field>);
  {
    auto sum = like(taken.z, kept);
    combine(sum, taken.directions(), chosen.numbers());
    convert(z, sum);
  }
  for (int pass = 0; pass < 2; ++pass) {
    if (modes.size > 0) modes.add(z, minus_along_modes(z), nullptr);
    rotate_basis(z, inverse_root(overlaps(z, z)));
  }
  detail::append_with_images(first, d, z, delta, work);
  work.recycled = kept;
  return first;
}

/// x[i] = D(masses[i])^-1 b for all masses and columns. Collective.
///
/// Each step takes a direction of each column: what the preconditioner makes of the worst residual of its masses. All
/// columns that are solved for together minimise their residuals over the directions of all. The low modes of D, which
/// are many on large lattices, are the same for all of them. Images are as accurate as the share of a solution
/// requires. At the end the accurate sign function decides, and what is above the tolerance goes on from there. No
/// modes of D are needed; the lowest of those that are there are first directions, and then they are given back.
/// \param x        as many fields as masses; if none, they are made when they are known: before that a search space
///                 may take their memory
/// \param b        columns of any chirality
/// \param masses   ascending, not negative
/// \param inverse  InnerField inverse(const InnerField& r): about M^-1 r
template <class Sign, class Inverse>
overlap_solve_report solve_overlap_preconditioned(const overlap_operator<Sign>& d,
                                                  overlap_mode_set<typename Sign::Field> modes,
                                                  std::vector<typename Sign::Field>& x, const typename Sign::Field& b,
                                                  const std::vector<double>& masses, const overlap_solve_rule& rule,
                                                  const Inverse& inverse) {
  using Field = typename Sign::Field;
  overlap_solve_report report;
  for (const double mass : masses) report.masses.push_back({.mass = mass, .converged = true});
  const double delta = std::clamp(0.01 * rule.tolerance, 1e-13, 1e-4);
  const direction_block<Field, typename Sign::InnerField> of_modes = first_directions(d, modes, b, delta, report.work);
  for (const int chi : {+1, -1}) modes.of(chi).vectors = detail::half_like(b, 0);
  const overlap_preconditioner& settings = rule.preconditioner;
  int batch = std::min(settings.batch > 0 ? settings.batch : b.columns(), b.columns());
  using space = search_space<Field, typename Sign::InnerField>;
  const auto space_of = [&](const direction_block<Field, typename Sign::InnerField>& directions) {
    // After many inner steps partners tell little: 20 directions for 19 on 12^3x24 with eight.
    return space(directions, !(rule.coarse_sign_delta > 0.0) && settings.inner_steps <= 4);
  };
  space first = space_of(of_modes);
  // Few columns lead where others gain from what they find.
  const int leading = settings.recycled > 0 ? std::min(batch, leading_columns(b.columns())) : batch;
  double last = 0.0;  // directions of a column of the batch before
  for (int begin = 0; begin < b.columns();) {
    const int count = std::min({begin == 0 ? leading : batch, batch, b.columns() - begin});
    const auto part = [&] {
      while (x.size() < masses.size()) x.push_back(like(b));
      std::vector<Field> of_columns;
      for (Field& of_mass : x) of_columns.push_back(view(of_mass, begin, count));
      return of_columns;
    };
    preconditioned_solver<Sign, Inverse> solver(d, first, masses, rule, inverse, report);
    const double before = report.work.directions;
    try {
      solver.solve(part, view(b, begin, count), begin == 0);
    } catch (const memory_error&) {
      if (!rule.may_shrink_batch || count == 1) throw;
      batch = count / 2;
      if (begin == 0) report.history = report.deltas = {};
      continue;
    }
    report.work.columns_at_once = std::max(report.work.columns_at_once, count);
    const double each = (report.work.directions - before) / count;
    if (begin == 0) {
      report.work.leading = count;
      report.work.directions_of_leading = each;
    }
    begin += count;
    // What the next exchange saves is about half of what the last one did; an image costs some 0.6 directions.
    const bool pays =
        report.work.recycled == 0 || 0.5 * (last - each) * (b.columns() - begin) > 0.6 * settings.recycled;
    last = each;
    if (begin == b.columns() || settings.recycled == 0 || !pays || solver.is_stopped()) continue;
    auto taken = solver.give_shortest(b, settings.recycled + of_modes.size);
    if (taken.size > 0)
      first = space_of(recycled_directions(d, of_modes, std::move(taken), settings.recycled, delta, report.work));
  }
  return report;
}

}  // namespace plaquette
