// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The space that the columns and masses of a solve of D(m) x = b share: D(m) Z is (rho - m/2) D Z + m Z, so that one
/// set of products serves all masses. (Block methods: Guennouni, Jbilou, Sadok 2004)
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "common/eigen/krylov_basis.hpp"
#include "common/overlap/direction_block.hpp"
#include "common/overlap/overlap_solve_rule.hpp"

namespace plaquette {

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

}  // namespace plaquette
