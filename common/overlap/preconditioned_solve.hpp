// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// D(m) x = b for many masses at once by minimal residuals, preconditioned by M^-1 of a clover operator on smeared
/// links: D(m)^-1 is about M^-1 + 1 / (2 rho). Each column has one search space, which serves all masses: D(m) Z is
/// (rho - m/2) D Z + m Z. (After Brannick, Frommer, Kahl, Leder, Rottmann, Strebel 2016, arXiv:1410.7170.)
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/algorithms/krylov_basis.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"

namespace plaquette {

/// Some directions z, orthonormal, with their images w = D z.
template <field_batch Field>
struct direction_block {
  Field z, w;
  int size = 0;
  Field directions() const { return view(z, 0, size); }
  Field images() const { return view(w, 0, size); }
};

/// A field of double precision that is rounded at the first use of it in single precision.
template <field_batch Field, field_batch InnerField>
class rounded_once {
 public:
  explicit rounded_once(const Field& x) : x_(&x) {}
  /// Returns it as blocks of V take it.
  template <class V>
  const V& as_blocks_of() {
    if constexpr (std::same_as<V, Field>) {
      return *x_;
    } else {
      if (!rounded_) {
        rounded_ = like(*x_, x_->columns(), as<InnerField>);
        convert(*rounded_, *x_);
      }
      return *rounded_;
    }
  }

 private:
  const Field* x_;
  std::optional<InnerField> rounded_;
};

/// The directions Z of one column, with W = D Z and the inner products of both. Storage grows by blocks. Directions
/// whose images are no better than single precision may be kept in it.
template <field_batch Field, field_batch InnerField>
class search_space {
 public:
  static constexpr int block_length = 8;

  /// \param first  directions to begin with, which copies of this space share; may have none
  explicit search_space(const direction_block<Field>& first) {
    if (first.size == 0) return;
    blocks_.push_back(first);
    size_ = first.size;
    zz_ = overlaps(first.directions(), first.directions());
    zw_ = overlaps(first.directions(), first.images());
    ww_ = overlaps(first.images(), first.images());
    first_blocks_ = 1;
  }

  int size() const { return size_; }

  /// Returns orthonormal combinations of the directions, those first that D makes shortest.
  host_matrix shortest_images(int count) const {
    const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(ww_));
    return block_of(pairs.vectors, 0, 0, size_, std::min(count, size_));
  }

  /// Takes out of one column what lies along the directions.
  void project(Field& t) const {
    for (int pass = 0; pass < 2; ++pass) {
      rounded_once<Field, InnerField> rounded(t);
      std::optional<InnerField> sum;  // of what is in single precision
      for (const auto& any : blocks_)
        std::visit(
            [&]<class V>(const direction_block<V>& block) {
              if constexpr (std::same_as<V, Field>) {
                subtract_combinations(t, block.directions(), inner_products(block.directions(), t));
              } else {
                const InnerField& in = rounded.template as_blocks_of<V>();
                start(sum, in);
                add_combinations(*sum, block.directions(), inner_products(block.directions(), in));
              }
            },
            any);
      if (sum) add_rounded(t, *sum, -1.0);
    }
  }

  /// \param both       a direction of norm 1, orthogonal to the others, and what D makes of it
  /// \param as_single  both are kept in single precision, which they have
  void append(const Field& both, bool as_single) {
    if (as_single)
      push_back<InnerField>(both);
    else
      push_back<Field>(both);
    const int k = size_++;
    zz_ = grown(zz_);
    zw_ = grown(zw_);
    ww_ = grown(ww_);
    rounded_once<Field, InnerField> rounded(both);
    int row = 0;
    for (const auto& any : blocks_)
      std::visit(
          [&]<class V>(const direction_block<V>& block) {
            const V& pair = rounded.template as_blocks_of<V>();
            const host_matrix of_z = overlaps(block.directions(), pair), of_w = overlaps(block.images(), pair);
            for (int i = 0; i < block.size; ++i, ++row) {
              zz_(row, k) = of_z(i, 0);
              zz_(k, row) = conj(of_z(i, 0));
              zw_(row, k) = of_z(i, 1);
              zw_(k, row) = conj(of_w(i, 0));
              ww_(row, k) = of_w(i, 1);
              ww_(k, row) = conj(of_w(i, 1));
            }
          },
          any);
  }

  /// Returns Z^+ b and W^+ b.
  std::pair<host_matrix, host_matrix> products_with(const Field& b) const {
    host_matrix zb(size_, b.columns()), wb(size_, b.columns());
    rounded_once<Field, InnerField> rounded(b);
    int row = 0;
    for (const auto& any : blocks_)
      std::visit(
          [&]<class V>(const direction_block<V>& block) {
            const V& in = rounded.template as_blocks_of<V>();
            set_block(zb, row, 0, overlaps(block.directions(), in));
            set_block(wb, row, 0, overlaps(block.images(), in));
            row += block.size;
          },
          any);
    return {std::move(zb), std::move(wb)};
  }

  /// Returns the y that minimises |b - (alpha W + beta Z) y|.
  /// \param zb, wb  Z^+ b and W^+ b of one column
  host_matrix least_squares(double alpha, double beta, const host_matrix& zb, const host_matrix& wb) const {
    host_matrix normal(size_, size_), right(size_, 1);
    for (int j = 0; j < size_; ++j) {
      for (int i = 0; i < size_; ++i)
        normal(i, j) =
            alpha * alpha * ww_(i, j) + alpha * beta * (zw_(i, j) + conj(zw_(j, i))) + beta * beta * zz_(i, j);
      right(j, 0) = alpha * wb(j, 0) + beta * zb(j, 0);
    }
    normal = hermitian_part(normal);
    if (const auto factor = cholesky_factor(normal)) {
      const host_matrix inverse = inverse_of_upper(*factor);
      return product(inverse, adjoint_product(inverse, right));
    }
    // Directions whose images are combinations of the others tell nothing.
    const host_matrix independent = independent_directions(normal, 1e-13);
    return product(independent, adjoint_product(independent, right));
  }

  /// Computes x += Z C and, where it is given, x += W E: columns of x as those of C.
  void add(Field& x, const host_matrix& c, const host_matrix* e = nullptr) const {
    std::optional<InnerField> sum;
    int row = 0;
    for (const auto& any : blocks_)
      std::visit(
          [&]<class V>(const direction_block<V>& block) {
            const auto add_to = [&](V& to) {
              add_combinations(to, block.directions(), block_of(c, row, 0, block.size, c.columns()).numbers());
              if (e != nullptr)
                add_combinations(to, block.images(), block_of(*e, row, 0, block.size, e->columns()).numbers());
            };
            if constexpr (std::same_as<V, Field>) {
              add_to(x);
            } else {
              if (!sum) start(sum, like(x, x.columns(), as<InnerField>));
              add_to(*sum);
            }
            row += block.size;
          },
          any);
    if (sum) add_rounded(x, *sum, 1.0);
  }

 private:
  template <class V>
  void push_back(const Field& both) {
    const bool is_full = std::ssize(blocks_) == first_blocks_ ||
                         !std::holds_alternative<direction_block<V>>(blocks_.back()) ||
                         std::get<direction_block<V>>(blocks_.back()).size == block_length;
    if (is_full) {
      const V block = like(both, block_length, as<V>);
      blocks_.push_back(direction_block<V>{block, like(block), 0});
    }
    auto& last = std::get<direction_block<V>>(blocks_.back());
    V z = view(last.z, last.size, 1), w = view(last.w, last.size, 1);
    assign(z, view(both, 0, 1));
    assign(w, view(both, 1, 1));
    ++last.size;
  }
  static void start(std::optional<InnerField>& sum, const InnerField& shape) {
    if (sum) return;
    sum = like(shape);
    zero(*sum);
  }
  static void add_rounded(Field& x, const InnerField& sum, double factor) {
    Field y = like(x);
    convert(y, sum);
    axpy(x, uniform_scalars(x, factor), y);
  }
  host_matrix grown(const host_matrix& before) const {
    host_matrix larger(size_, size_);
    if (before.rows() > 0) set_block(larger, 0, 0, before);
    return larger;
  }

  std::vector<std::variant<direction_block<Field>, direction_block<InnerField>>> blocks_;
  host_matrix zz_, zw_, ww_;  ///< Z^+ Z, which is 1 but for rounding, Z^+ W and W^+ W
  int size_ = 0, first_blocks_ = 0;
};

namespace detail {

/// Numbers, one a column, as a handle.
template <field_batch Field>
typename Field::scalars scalars_of(const Field& x, const std::vector<double>& numbers) {
  std::vector<complex<double>> list;
  for (const double number : numbers) list.push_back({number, 0.0});
  return make_scalars(x, std::span<const complex<double>>(list));
}

/// About D(m)^-1 in single precision: some steps of GCR on D(m) with a cheap sign function, each of which starts from
/// P(r) = M^-1 r + a r.
/// \tparam Inverse  InnerField inverse(const InnerField& r): about M^-1 r
template <class Sign, class Inverse>
class nested_preconditioner {
 public:
  using Field = typename Sign::Field;
  using InnerField = typename Sign::InnerField;

  nested_preconditioner(const overlap_operator<Sign>& d, const Inverse& inverse, const overlap_preconditioner& rule,
                        preconditioned_work& work)
      : d_(&d), inverse_(&inverse), rule_(rule), work_(&work) {}

  /// \param r       is used up
  /// \param masses  one a column
  InnerField apply(InnerField r, const std::vector<double>& masses) const {
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
    InnerField z = (*inverse_)(r);
    axpy(z, uniform_scalars(r, rule_.constant), r);
    return z;
  }
  void apply_cheap_sign(InnerField& y, const InnerField& x) const {
    work_->cheap_signs += x.columns();
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
  preconditioned_work* work_;
};

/// One column, for all masses.
template <field_batch Field, field_batch InnerField>
struct preconditioned_column {
  search_space<Field, InnerField> space;
  Field b;                          ///< what is solved for: of all masses together, or one of each
  Field x, r;                       ///< one of each mass: the solution so far, and what this round leaves of b
  double norm = 0.0;                ///< of the source
  host_matrix zb{}, wb{};           ///< Z^+ b, W^+ b
  host_matrix y{};                  ///< a column a mass: the solution of this round is Z y
  std::vector<double> residuals{};  ///< |r| / |source|
  bool is_open = true;

  std::size_t worst() const {
    return static_cast<std::size_t>(std::ranges::max_element(residuals) - residuals.begin());
  }
};

}  // namespace detail

/// The solves of some columns, made together.
template <class Sign, class Inverse>
class preconditioned_solver {
 public:
  using Field = typename Sign::Field;
  using InnerField = typename Sign::InnerField;

  /// All must outlive it.
  /// \param first  the space that columns begin with
  preconditioned_solver(const overlap_operator<Sign>& d, const search_space<Field, InnerField>& first,
                        const std::vector<double>& masses, const overlap_solve_rule& rule, const Inverse& inverse,
                        overlap_solve_report& report)
      : d_(&d),
        first_(&first),
        masses_(&masses),
        rule_(&rule),
        inverse_(d, inverse, rule.preconditioner, report.work),
        report_(&report) {}

  /// Computes x[i] = D(masses[i])^-1 b, as far as the rule allows; adds to the report.
  /// \param records  whether the report's history is of these columns
  void solve(std::vector<Field>& x, const Field& b, bool records) {
    records_ = records;
    begin(b);
    for (int round = 0;; ++round) {
      iterate();
      correct();
      const bool all = std::ranges::none_of(columns_, [](const column& c) { return c.is_open; });
      if (all || round == rule_->corrections || stops_) break;
      ++report_->work.corrections;
      start_round(round);
    }
    note(x);
  }

  /// Returns of the space of each column the directions that D makes shortest, in single precision, with images as they
  /// are. Spaces are given back.
  /// \param count  of a column, at most
  std::vector<direction_block<InnerField>> give_shortest(int count) {
    std::vector<direction_block<InnerField>> all;
    for (column& c : columns_) {
      const host_matrix chosen = c.space.shortest_images(count);
      const int size = chosen.columns();
      direction_block<InnerField> some{like(c.b, std::max(1, size), as<InnerField>),
                                       like(c.b, std::max(1, size), as<InnerField>), size};
      in_batches(size, 4, [&](int first, int n) {
        Field part = like(c.b, n);
        const host_matrix combination = block_of(chosen, 0, first, chosen.rows(), n);
        const host_matrix nothing(chosen.rows(), n);
        for (const bool images : {false, true}) {
          zero(part);
          c.space.add(part, images ? nothing : combination, images ? &combination : nullptr);
          InnerField to = view(images ? some.w : some.z, first, n);
          convert(to, part);
        }
      });
      c.space = *first_;
      if (size > 0) all.push_back(std::move(some));
    }
    return all;
  }
  bool is_stopped() const { return stops_; }

 private:
  using column = detail::preconditioned_column<Field, InnerField>;
  using space = search_space<Field, InnerField>;

  int mass_count() const { return static_cast<int>(masses_->size()); }
  double weight(std::size_t mass) const { return d_->rho() - 0.5 * (*masses_)[mass]; }

  void begin(const Field& b) {
    columns_.clear();
    const std::vector<double> norms = detail::square_roots(host_values(norm2(b)));
    for (int n = 0; n < b.columns(); ++n) {
      column c{*first_, like(b, 1), like(b, mass_count()), like(b, mass_count())};
      copy(c.b, view(b, n, 1));
      zero(c.x);
      c.norm = norms[static_cast<std::size_t>(n)];
      c.is_open = c.norm > 0.0;
      c.residuals.assign(masses_->size(), c.is_open ? 1.0 : 0.0);
      columns_.push_back(std::move(c));
      if (columns_.back().is_open) find_residuals(columns_.back());
    }
    history_of_masses_.assign(static_cast<std::size_t>(b.columns()), {});
  }

  /// Makes the next round solve for what the accurate sign function has left.
  void start_round(int round) {
    for (column& c : columns_) {
      if (!c.is_open) continue;
      // Images that are as inexact as they were allowed to be serve once more and no longer.
      if (round > 0 || c.space.size() >= limit()) c.space = *first_;
      c.zb = c.wb = {};
      find_residuals(c);
    }
  }
  /// Of directions of a column.
  int limit() const { return first_->size() + rule_->preconditioner.directions; }

  /// Takes new directions until the iterated residuals of all masses and columns are below the tolerance.
  void iterate() {
    const double goal = 0.7 * rule_->tolerance;
    std::vector<std::size_t> active;
    for (std::size_t n = 0; n < columns_.size(); ++n)
      if (columns_[n].is_open) active.push_back(n);
    for (int k = 0;; ++k) {
      std::erase_if(active, [&](std::size_t n) {
        const column& c = columns_[n];
        double worst = 0.0;
        for (const double residual : c.residuals) keep_largest(worst, residual);
        return !(worst > goal) || !std::isfinite(worst) || c.space.size() >= limit();
      });
      if (active.empty()) return;
      stops_ = stops_ || (rule_->interrupted && rule_->interrupted());
      if (stops_ || k >= rule_->limit) return;
      if (!take_directions(active)) return;
    }
  }

  /// Adds a direction to the space of each of these columns: what the preconditioner makes of the worst residual of its
  /// masses. Columns without a new one leave. Returns whether some are left.
  bool take_directions(std::vector<std::size_t>& active) {
    const int count = static_cast<int>(active.size());
    const Field& shape = columns_[active.front()].b;
    Field r = like(shape, count);
    std::vector<double> masses, lengths;
    for (int i = 0; i < count; ++i) {
      const column& c = columns_[active[static_cast<std::size_t>(i)]];
      const std::size_t worst = c.worst();
      Field one = view(r, i, 1);
      copy(one, view(c.r, static_cast<int>(worst), 1));
      masses.push_back((*masses_)[worst]);
      lengths.push_back(c.residuals[worst]);
    }
    normalise_columns(r);
    Field t = like(r);
    {
      InnerField rounded = like(r, count, as<InnerField>);
      convert(rounded, r);
      convert(t, inverse_.apply(std::move(rounded), masses));
    }
    const std::vector<double> before = detail::square_roots(host_values(norm2(t)));
    for (int i = 0; i < count; ++i) {
      Field one = view(t, i, 1);
      columns_[active[static_cast<std::size_t>(i)]].space.project(one);
    }
    const std::vector<double> fresh = detail::square_roots(host_values(norm2(t)));
    normalise_columns(t);
    std::vector<int> kept;
    std::vector<std::size_t> left;
    double largest = 0.0;
    for (int i = 0; i < count; ++i) {
      const auto n = static_cast<std::size_t>(i);
      // Below that a direction is rounding of single precision.
      if (!(fresh[n] > 1e-5 * before[n])) continue;
      kept.push_back(i);
      left.push_back(active[n]);
      keep_largest(largest, fresh[n] * lengths[n]);
    }
    active = left;
    if (active.empty()) return false;
    // A direction of norm 1 enters x with about |t| |r|: by that its image may err less.
    const double delta =
        detail::rounded_down(std::clamp(rule_->preconditioner.relaxation * rule_->tolerance / largest, 1e-13, 1e-2));
    // Images that err more than single precision need no more; what it leaves of x is a small share of the tolerance.
    const bool as_single = delta >= 1e-6;
    Field q = gather_columns(t, kept), dq = like(q);
    if (as_single) round_to_single(q);
    d_->apply(dq, q, delta);
    if (as_single) round_to_single(dq);
    const int kept_count = q.columns();
    report_->work.accurate_signs += kept_count;
    report_->work.directions += kept_count;
    for (int i = 0; i < kept_count; ++i) {
      column& c = columns_[active[static_cast<std::size_t>(i)]];
      Field both = like(q, 2);
      Field to_q = view(both, 0, 1), to_dq = view(both, 1, 1);
      copy(to_q, view(q, i, 1));
      copy(to_dq, view(dq, i, 1));
      c.space.append(both, as_single);
      add_products(c, both);
      find_residuals(c);
    }
    double worst = 0.0, lightest = 0.0;
    for (const std::size_t n : active) {
      keep_largest(worst, columns_[n].residuals[columns_[n].worst()]);
      keep_largest(lightest, columns_[n].residuals.front());
    }
    if (records_) {
      report_->history.push_back(lightest);
      report_->deltas.push_back(delta);
    }
    ++iterations_;
    if (rule_->progress) rule_->progress(iterations_, worst);
    return true;
  }

  /// Rounds a field to what single precision holds: products with it are then those with what is kept.
  static void round_to_single(Field& x) {
    InnerField rounded = like(x, x.columns(), as<InnerField>);
    convert(rounded, x);
    convert(x, rounded);
  }
  /// Adds the products of a new direction and its image with b. In double precision, whatever they are kept in.
  static void add_products(column& c, const Field& both) {
    const host_matrix of_both = overlaps(both, c.b);
    const int k = c.zb.rows();
    for (const auto& [products, row] : {std::pair{&c.zb, 0}, std::pair{&c.wb, 1}}) {
      host_matrix longer(k + 1, c.b.columns());
      if (k > 0) set_block(longer, 0, 0, *products);
      for (int m = 0; m < c.b.columns(); ++m) longer(k, m) = of_both(row, m);
      *products = std::move(longer);
    }
  }
  /// Finds the best solution in the space of a column, and what it leaves.
  void find_residuals(column& c) {
    const int k = c.space.size();
    if (c.zb.rows() != k) std::tie(c.zb, c.wb) = c.space.products_with(c.b);
    c.y = host_matrix(k, mass_count());
    host_matrix of_z(k, mass_count()), of_w(k, mass_count());
    for (int m = 0; m < mass_count(); ++m) {
      const auto i = static_cast<std::size_t>(m);
      const int from = c.b.columns() == 1 ? 0 : m;
      Field r = view(c.r, m, 1);
      copy(r, view(c.b, from, 1));
      if (k == 0) continue;
      const host_matrix y =
          c.space.least_squares(weight(i), (*masses_)[i], block_of(c.zb, 0, from, k, 1), block_of(c.wb, 0, from, k, 1));
      set_block(c.y, 0, m, y);
      for (int j = 0; j < k; ++j) {
        of_z(j, m) = -(*masses_)[i] * y(j, 0);
        of_w(j, m) = -weight(i) * y(j, 0);
      }
    }
    if (k > 0) c.space.add(c.r, of_z, &of_w);
    c.residuals = detail::square_roots(host_values(norm2(c.r)));
    for (double& residual : c.residuals) residual /= c.norm;
  }

  /// Adds the solutions of this round to x; b becomes what the accurate sign function leaves of it.
  void correct() {
    std::vector<std::size_t> list;
    for (std::size_t n = 0; n < columns_.size(); ++n)
      if (columns_[n].is_open) list.push_back(n);
    const int at_once = std::max(1, static_cast<int>(columns_.size()) / mass_count());
    in_batches(static_cast<int>(list.size()), at_once, [&](int first, int count) {
      if (!stops_ && rule_->interrupted && rule_->interrupted()) stops_ = true;
      const int masses = mass_count();
      Field change = like(columns_[list[static_cast<std::size_t>(first)]].b, count * masses), image = like(change);
      zero(change);
      double longest = 1e-8;
      for (int i = 0; i < count; ++i) {
        const column& c = columns_[list[static_cast<std::size_t>(first + i)]];
        Field of = view(change, i * masses, masses);
        if (c.space.size() > 0) c.space.add(of, c.y);
        for (const double length : column_norms(c.y)) longest = std::max(longest, length / c.norm);
      }
      d_->apply(image, change, std::clamp(0.05 * rule_->tolerance / longest, 1e-13, 1e-2));
      report_->work.accurate_signs += count * masses;
      for (int i = 0; i < count; ++i)
        subtract(columns_[list[static_cast<std::size_t>(first + i)]], view(change, i * masses, masses),
                 view(image, i * masses, masses));
    });
  }

  /// Computes b -= D(m) change and x += change for all masses of a column.
  void subtract(column& c, const Field& change, const Field& image) {
    const int masses = mass_count();
    Field left = like(c.r);
    for (int m = 0; m < masses; ++m) {
      Field one = view(left, m, 1);
      copy(one, view(c.b, c.b.columns() == 1 ? 0 : m, 1));
    }
    std::vector<double> of_image, of_change;
    for (std::size_t m = 0; m < masses_->size(); ++m) {
      of_image.push_back(-weight(m));
      of_change.push_back(-(*masses_)[m]);
    }
    axpy(left, detail::scalars_of(left, of_image), image);
    axpy(left, detail::scalars_of(left, of_change), change);
    axpy(c.x, uniform_scalars(c.x, 1.0), change);
    c.b = std::move(left);
    const std::vector<double> iterated = c.residuals;
    c.residuals = detail::square_roots(host_values(norm2(c.b)));
    for (double& residual : c.residuals) residual /= c.norm;
    const auto n = static_cast<std::size_t>(&c - columns_.data());
    history_of_masses_[n].push_back({iterated, c.residuals});
    double worst = 0.0;
    for (const double residual : c.residuals) keep_largest(worst, residual);
    c.is_open = !(worst <= 0.9 * rule_->tolerance) && std::isfinite(worst);
  }

  /// Hands the solutions over, and says how they were found.
  void note(std::vector<Field>& x) {
    for (std::size_t m = 0; m < masses_->size(); ++m) {
      overlap_mass_report& mass = report_->masses[m];
      mass.iterations = std::max(mass.iterations, iterations_);
      for (std::size_t n = 0; n < columns_.size(); ++n) {
        const column& c = columns_[n];
        Field to = view(x[m], static_cast<int>(n), 1);
        copy(to, view(c.x, static_cast<int>(m), 1));
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
  const space* first_;
  const std::vector<double>* masses_;
  const overlap_solve_rule* rule_;
  detail::nested_preconditioner<Sign, Inverse> inverse_;
  overlap_solve_report* report_;
  std::vector<column> columns_;
  std::vector<std::vector<round_record>> history_of_masses_;
  int iterations_ = 0;
  bool records_ = false, stops_ = false;
};

namespace detail {

/// Makes the images of directions to an accuracy.
template <class Sign>
void make_images(const overlap_operator<Sign>& d, direction_block<typename Sign::Field>& directions, int from,
                 double delta, preconditioned_work& work) {
  in_batches(directions.size - from, 12, [&](int begin, int count) {
    typename Sign::Field to = view(directions.w, from + begin, count);
    d.apply(to, view(directions.z, from + begin, count), delta);
    work.accurate_signs += count;
  });
}

}  // namespace detail

/// Returns modes of both chiralities as first directions of all columns, with their images to an accuracy. Nothing is
/// assumed of them, so that they need not be accurate.
template <class Sign>
direction_block<typename Sign::Field> first_directions(const overlap_operator<Sign>& d,
                                                       const overlap_mode_set<typename Sign::Field>& modes,
                                                       const typename Sign::Field& shape, double delta,
                                                       preconditioned_work& work) {
  using Field = typename Sign::Field;
  const int plus = modes.plus.vectors.columns(), all = plus + modes.minus.vectors.columns();
  direction_block<Field> first{like(shape, std::max(1, all)), like(shape, std::max(1, all)), all};
  for (const int chi : {+1, -1}) {
    const Field& v = modes.of(chi).vectors;
    if (v.columns() == 0) continue;
    Field to = view(first.z, chi > 0 ? 0 : plus, v.columns());
    put_chirality(to, v, chi);
  }
  detail::make_images(d, first, 0, delta, work);
  return first;
}

/// Returns first directions for later columns: modes, and of what earlier columns took the directions that D makes
/// shortest. Their images are made again: those that served a column are too inexact for others.
/// \param modes   come first
/// \param earlier  of each column; is used up
/// \param count   of directions other than modes, at most
template <class Sign>
direction_block<typename Sign::Field> recycled_directions(
    const overlap_operator<Sign>& d, const direction_block<typename Sign::Field>& modes,
    std::vector<direction_block<typename Sign::InnerField>> earlier, int count, double delta,
    preconditioned_work& work) {
  using Field = typename Sign::Field;
  std::vector<int> begins{0};
  for (auto& block : earlier) {
    if (modes.size > 0) {  // D z less what D makes of the modes
      Field z = like(block.z, block.size, as<Field>), w = like(z);
      convert(z, block.directions());
      convert(w, block.images());
      const auto along = inner_products(modes.directions(), z);
      subtract_combinations(z, modes.directions(), along);
      subtract_combinations(w, modes.images(), along);
      convert(block.z, z);
      convert(block.w, w);
    }
    begins.push_back(begins.back() + block.size);
  }
  const int all = begins.back();
  host_matrix gram(all, all), squares(all, all);
  for (std::size_t i = 0; i < earlier.size(); ++i)
    for (std::size_t j = 0; j < earlier.size(); ++j) {
      set_block(gram, begins[i], begins[j], overlaps(earlier[i].directions(), earlier[j].directions()));
      set_block(squares, begins[i], begins[j], overlaps(earlier[i].images(), earlier[j].images()));
    }
  const host_matrix independent = independent_directions(gram, 1e-3);
  const hermitian_eigenpairs pairs =
      eigenpairs_of_hermitian(hermitian_part(adjoint_product(independent, product(squares, independent))));
  const int kept = std::min(count, independent.columns()), total = modes.size + kept;
  const host_matrix chosen = product(independent, block_of(pairs.vectors, 0, 0, independent.columns(), kept));
  direction_block<Field> first{like(modes.z, std::max(1, total)), like(modes.z, std::max(1, total)), total};
  if (modes.size > 0) {
    Field z = view(first.z, 0, modes.size), w = view(first.w, 0, modes.size);
    copy(z, modes.directions());
    copy(w, modes.images());
  }
  if (kept == 0) return first;
  Field z = view(first.z, modes.size, kept);
  {
    auto sum = like(z, kept, as<typename Sign::InnerField>);
    zero(sum);
    for (std::size_t i = 0; i < earlier.size(); ++i)
      add_combinations(sum, earlier[i].directions(), block_of(chosen, begins[i], 0, earlier[i].size, kept).numbers());
    convert(z, sum);
  }
  earlier.clear();
  for (int pass = 0; pass < 2; ++pass) {
    if (modes.size > 0) subtract_combinations(z, modes.directions(), inner_products(modes.directions(), z));
    rotate_basis(z, inverse_root(overlaps(z, z)));
  }
  detail::make_images(d, first, modes.size, delta, work);
  work.recycled = kept;
  return first;
}

/// x[i] = D(masses[i])^-1 b for all masses and columns. Collective.
///
/// Each step gives a column one direction: what the preconditioner makes of the worst residual of its masses. Its image
/// is as accurate as its share of the solution requires. At the end the accurate sign function decides, and what is
/// above the tolerance goes on from there. No modes of D are needed; those that are there are first directions.
/// \param b        columns of any chirality
/// \param masses   ascending, not negative
/// \param inverse  InnerField inverse(const InnerField& r): about M^-1 r
template <class Sign, class Inverse>
overlap_solve_report solve_overlap_preconditioned(const overlap_operator<Sign>& d,
                                                  const overlap_mode_set<typename Sign::Field>& modes,
                                                  std::vector<typename Sign::Field>& x, const typename Sign::Field& b,
                                                  const std::vector<double>& masses, const overlap_solve_rule& rule,
                                                  const Inverse& inverse) {
  using Field = typename Sign::Field;
  overlap_solve_report report;
  for (const double mass : masses) report.masses.push_back({.mass = mass, .converged = true});
  const double delta = std::clamp(0.01 * rule.tolerance, 1e-13, 1e-4);
  const direction_block<Field> of_modes = first_directions(d, modes, b, delta, report.work);
  search_space<Field, typename Sign::InnerField> first(of_modes);
  const overlap_preconditioner& settings = rule.preconditioner;
  const int batch = settings.batch > 0 ? settings.batch : b.columns();
  // Few columns lead where others gain from what they find.
  const int leading = settings.recycled > 0 ? std::min(batch, leading_columns(b.columns())) : batch;
  double last = 0.0;  // directions of a column of the batch before
  for (int begin = 0; begin < b.columns();) {
    const int count = std::min(begin == 0 ? leading : batch, b.columns() - begin);
    std::vector<Field> part;
    for (Field& of_mass : x) part.push_back(view(of_mass, begin, count));
    preconditioned_solver<Sign, Inverse> solver(d, first, masses, rule, inverse, report);
    const double before = report.work.directions;
    solver.solve(part, view(b, begin, count), begin == 0);
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
    if (begin < b.columns() && settings.recycled > 0 && pays && !solver.is_stopped())
      first = search_space<Field, typename Sign::InnerField>(recycled_directions(
          d, of_modes, solver.give_shortest(settings.recycled + of_modes.size), settings.recycled, delta, report.work));
  }
  return report;
}

}  // namespace plaquette
