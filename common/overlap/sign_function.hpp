// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// sign(H) on a batch of vectors: exact on the modes of H that are known, a polynomial or a rational function of H^2 on
/// the rest. (Alexandru, Pelissier, Gamari, Lee 2011, eq. 7)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/approximation/minimax.hpp"
#include "common/approximation/zolotarev.hpp"
#include "common/eigen/krylov_basis.hpp"
#include "common/error.hpp"
#include "common/krylov/multishift_cg.hpp"
#include "common/krylov/squared_map.hpp"
#include "common/overlap/hermitian_kernel.hpp"
#include "common/overlap/sign_options.hpp"

namespace plaquette {

/// sign(H), deflated.
template <class Backend>
class sign_function {
 public:
  using Field = typename hermitian_kernel<Backend>::double_field;
  using InnerField = typename hermitian_kernel<Backend>::single_field;
  using HalfField = typename hermitian_kernel<Backend>::half_field;

  /// \param modes    orthonormal eigenvectors of H, kept as they are (a shared copy); may have no columns
  /// \param values   their eigenvalues, |values| ascending
  /// \param options  highest must be given, lowest too where there are no modes
  sign_function(const hermitian_kernel<Backend>& h, Field modes, std::vector<double> values,
                const sign_options& options)
      : h_(h), modes_(std::move(modes)), values_(std::move(values)), options_(options) {
    if (options_.lowest <= 0.0 && !values_.empty()) options_.lowest = std::abs(values_.back());
    if (!(options_.lowest > 0.0 && options_.highest > options_.lowest))
      throw input_error("sign function: expected a range 0 < lowest < highest of |H|, found [" +
                        std::to_string(options_.lowest) + ", " + std::to_string(options_.highest) + "]");
  }

  double lowest() const { return options_.lowest; }
  double highest() const { return options_.highest; }
  double eps() const { return std::pow(options_.lowest / options_.highest, 2); }
  const sign_options& options() const { return options_; }

  /// Makes steps of Clenshaw's recurrence, of two orders each, on any fields of one shape: what a sign function spends
  /// its time with.
  void steps(Field& b1, Field& b2, const Field& psi, int count) const {
    const std::vector<double> any(static_cast<std::size_t>(count) + 1, 0.1);
    recur(h_.as_double(), any, 2 * count, 1, b1, b2, psi);
  }
  const Field& modes() const { return modes_; }
  const std::vector<double>& values() const { return values_; }
  const hermitian_kernel<Backend>& kernel() const { return h_; }

  /// Returns the polynomial of an accuracy; made once.
  const minimax_polynomial& polynomial(double delta) const { return approximation(delta).polynomial; }
  zolotarev_function rational(double delta) const {
    return options_.poles > 0 ? zolotarev_of_poles(options_.poles, options_.lowest, options_.highest)
                              : zolotarev_of_error(delta, options_.lowest, options_.highest);
  }

  /// Gives low precision as much to do as keeps the error of sign(H) x at 0.85 delta, on these unit vectors: others err
  /// by more. The polynomial's own error and that of rounding add up in squares, and rounding goes with `low_share`.
  /// Where nothing helps, double does all. Returns the largest error. Collective.
  /// \param interrupted  asked between sign functions, or null; true ends the calibration
  double calibrate(const Field& x, double delta, const std::function<bool()>& interrupted = nullptr) {
    Field exact = like(x), as_double = like(x);
    apply(exact, x, std::max(1e-13, 1e-3 * delta), sign_precision::as_double);
    apply(as_double, x, delta, sign_precision::as_double);
    return calibrate(x, exact, as_double, delta, interrupted);
  }
  /// Does the same where both are known.
  /// \param exact      sign(H) x, far more accurate than delta
  /// \param as_double  what this function makes of x in double, to delta
  double calibrate(const Field& x, const Field& exact, const Field& as_double, double delta,
                   const std::function<bool()>& interrupted = nullptr) {
    constexpr double allowed = 0.85, aim = 0.8;
    constexpr int most_steps = 20;
    Field y = like(x), d = like(x);
    const auto largest = [&](const Field& a, const Field& b) {
      double worst = 0.0;
      for (const complex<double>& n : host_values(subtract_norm2(d, a, b))) keep_largest(worst, std::sqrt(n.re));
      return worst / delta;
    };
    const double truncation = largest(as_double, exact);
    const auto is_free = [&] {
      return options_.precision != sign_precision::as_double && options_.method == sign_method::polynomial;
    };
    if (!is_free()) return truncation * delta;
    const double goal = aim * std::sqrt(std::max(0.0, allowed * allowed - truncation * truncation));
    for (int step = 0;; ++step) {
      apply(y, x, delta);
      const double worst = largest(y, exact), rounding = largest(y, as_double);
      const bool is_right = worst <= allowed;
      // Two corrections find the share to a few orders; more only where it is too large.
      const bool is_near = rounding > 0.6 * goal && rounding <= goal;
      if (!is_free() || (is_right && (is_near || step >= 2 || !is_mixed(delta, options_.precision))))
        return worst * delta;
      if (interrupted && interrupted()) return worst * delta;
      if (step == most_steps) {  // not even a small share is right
        options_.precision = sign_precision::as_double;
        continue;
      }
      const double factor = rounding > 0.0 ? std::clamp(goal / rounding, 0.05, 20.0) : 20.0;
      options_.low_share *= is_right ? factor : std::min(0.5, factor);
      if (!is_right && options_.low_share < 1e-4) options_.precision = sign_precision::as_double;
    }
  }

  /// The same for vectors along modes of D, where roundings are some six times as large as on random vectors: low
  /// precision has no more to do than before `calibrate`. Shares modes and polynomials.
  sign_function near_modes() const {
    sign_function other = *this;
    other.options_.low_share = std::min(options_.low_share, share_of_low_precision);
    return other;
  }

  /// Computes y = sign(H) x to an error of about delta |x|. Collective.
  void apply(Field& y, const Field& x, double delta) const { apply(y, x, delta, options_.precision); }
  void apply(Field& y, const Field& x, double delta, sign_precision precision) const {
    const int n = x.columns();
    if (single_modes_->columns() > 0 && precision == sign_precision::mixed && delta >= 1e-4 && is_single(delta)) {
      InnerField x_single = like(x, n, as<InnerField>), y_single = like(x_single);
      convert(x_single, x);
      apply(y_single, x_single, delta);
      convert(y, y_single);
      return;
    }
    h_.count().sign_applications += n;
    if (modes_.columns() == 0) return apply_to_rest(y, x, delta, precision);
    if (is_mixed(delta, precision)) {  // what lies along the modes is right to more digits than low precision has
      host_matrix missing = overlaps(modes_, x);
      Field rest = like(x);
      copy(rest, x);
      subtract_combinations(rest, modes_, missing.numbers());
      apply_to_rest(y, rest, delta, precision);
      const host_matrix c = overlaps(modes_, y);
      scale_rows(missing, signs());
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < modes_.columns(); ++i) missing(i, j) = missing(i, j) - c(i, j);
      add_combinations(y, modes_, missing.numbers());
      return;
    }
    Field both = like(x, 2 * n);
    Field before = view(both, 0, n), after = view(both, n, n);
    copy(before, x);
    apply_to_rest(after, x, delta, precision);
    copy(y, after);
    replace_modes(y, modes_, both);
  }

  /// Whether all of Clenshaw's recurrence is in single precision at this accuracy, so that vectors may be too.
  bool is_single(double delta) const {
    if (options_.precision == sign_precision::as_double || options_.method != sign_method::polynomial) return false;
    return first_single_order(delta) == 0;
  }
  /// Does the same on vectors in single precision, for such an accuracy. Makes a copy of the modes that is kept. While
  /// it is there, vectors in double precision go through single precision for accuracies from 1e-4 up.
  void apply(InnerField& y, const InnerField& x, double delta) const {
    const int n = x.columns();
    h_.count().sign_applications += n;
    InnerField both = like(x, 2 * n);
    InnerField before = view(both, 0, n), after = view(both, n, n);
    copy(before, x);
    in_batches(n, batch_of(n), [&](int first, int count) {
      InnerField part = view(after, first, count);
      const InnerField psi = view(before, first, count);
      const std::vector<double>& a = odd_coefficients_of(delta);
      InnerField b1 = like(psi), b2 = like(psi);
      begin(a, b1, b2, psi);
      recur(h_.as_single(), a, last_order(a) - 1, 1, b1, b2, psi);
      finish(h_.as_single(), b1, b2);
      copy(part, b2);
    });
    copy(y, after);
    if (modes_.columns() == 0) return;
    if (single_modes_->columns() == 0) {
      *single_modes_ = like(modes_, modes_.columns(), as<InnerField>);
      convert(*single_modes_, modes_);
    }
    replace_modes(y, *single_modes_, both);
  }
  /// Gives back the memory of this copy.
  void forget_single_modes() const { *single_modes_ = like(modes_, 0, as<InnerField>); }

 private:
  /// The minimax polynomial P of an accuracy, and the a_k of q P(q^2) = sum_k a_k T_k(q), k odd.
  struct expansion {
    minimax_polynomial polynomial;
    std::vector<double> odd;
  };
  const expansion& approximation(double delta) const {
    const double key = options_.degree > 0 ? 0.0 : delta;
    auto found = expansions_->find(key);
    if (found == expansions_->end()) {
      minimax_polynomial p =
          options_.degree > 0 ? minimax_of_degree(options_.degree, eps()) : minimax_of_error(delta, eps());
      std::vector<double> odd = odd_coefficients(p);
      found = expansions_->emplace(key, expansion{std::move(p), std::move(odd)}).first;
    }
    return found->second;
  }
  const std::vector<double>& odd_coefficients_of(double delta) const { return approximation(delta).odd; }
  static int last_order(const std::vector<double>& odd) { return 2 * static_cast<int>(odd.size()) - 1; }

  /// Whether part of Clenshaw's recurrence, but not all, is in lower precision.
  bool is_mixed(double delta, sign_precision precision) const {
    if (precision == sign_precision::as_double || options_.method != sign_method::polynomial) return false;
    const int first = first_single_order(delta);
    return first > 0 && first < last_order(odd_coefficients_of(delta));
  }
  int first_single_order(double delta) const {
    return first_order_in_single(odd_coefficients_of(delta), delta, options_.low_share);
  }
  int batch_of(int columns) const { return options_.batch > 0 ? std::min(options_.batch, columns) : columns; }

  std::vector<double> signs() const {
    std::vector<double> s;
    for (const double value : values_) s.push_back(value > 0.0 ? 1.0 : -1.0);
    return s;
  }
  /// Replaces what the approximation makes of the modes. Both products with them read the basis once.
  /// \param both  x, and what the approximation makes of it, as y is
  template <class V>
  void replace_modes(V& y, const V& modes, const V& both) const {
    const int n = y.columns();
    const host_matrix c = overlaps(modes, both);
    const std::vector<double> s = signs();
    host_matrix missing(modes.columns(), n);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < modes.columns(); ++i) missing(i, j) = s[static_cast<std::size_t>(i)] * c(i, j) - c(i, n + j);
    add_combinations(y, modes, missing.numbers());
  }

  /// Computes y = sign(H) x but for the modes' part. The polynomial is bounded there, so it takes x as it is; conjugate
  /// gradients go without the modes.
  void apply_to_rest(Field& y, const Field& x, double delta, sign_precision precision) const {
    if (options_.method == sign_method::polynomial) return apply_polynomial(y, x, delta, precision);
    Field rest = like(x);
    copy(rest, x);
    if (modes_.columns() > 0) subtract_combinations(rest, modes_, inner_products(modes_, x));
    apply_rational(y, rest, delta);
  }

  /// Does the same in batches, which may stay in a cache.
  void apply_polynomial(Field& y, const Field& psi, double delta, sign_precision precision) const {
    in_batches(psi.columns(), batch_of(psi.columns()), [&](int first, int n) {
      Field part = view(y, first, n);
      apply_clenshaw(part, view(psi, first, n), delta, precision);
    });
  }

  /// Computes y = Q P(Q^2) psi, Q = H / highest, by Clenshaw: b_k = a_k psi + 2 Q b_{k+1} - b_{k+2}, y = Q b_1 - b_2.
  ///
  /// In powers of H^2 an application of H would read and write 3 vectors, here 3.5. But there |z| > 1 on the modes and
  /// z = -1 next to them, where b_k grow; here |Q| < 1, and next to Q = 0 each rounding counts once. So all orders in
  /// single precision err by 1e-7 in place of 8e-7.
  void apply_clenshaw(Field& y, const Field& psi, double delta, sign_precision precision) const {
    const std::vector<double>& a = odd_coefficients_of(delta);
    const int n = last_order(a);
    const bool is_double = precision == sign_precision::as_double;
    const double share = options_.low_share;
    const int first_single = is_double ? n : first_order_in_single(a, delta, share);  // orders above are narrow
    const bool has_half = precision == sign_precision::half && h_.has_half();
    const int first_half = has_half ? std::max(first_single, first_order_in_half(a, delta, share)) : n;
    Field b1 = like(psi), b2 = like(psi);
    int k = n - 1;
    if (first_single < n) {
      InnerField psi_g = like(psi, psi.columns(), as<InnerField>), b1_g = like(psi_g), b2_g = like(psi_g);
      convert(psi_g, psi);
      if (first_half < n) {
        HalfField psi_l = like(psi, psi.columns(), as<HalfField>), b1_l = like(psi_l), b2_l = like(psi_l);
        convert(psi_l, psi);
        begin(a, b1_l, b2_l, psi_l);
        recur(h_.half(), a, k, first_half + 1, b1_l, b2_l, psi_l);
        convert(b1_g, b1_l);
        convert(b2_g, b2_l);
        k = std::min(k, first_half);
      } else {
        begin(a, b1_g, b2_g, psi_g);
      }
      recur(h_.as_single(), a, k, first_single + 1, b1_g, b2_g, psi_g);
      if (first_single == 0) {
        finish(h_.as_single(), b1_g, b2_g);
        convert(y, b2_g);
        return;
      }
      convert(b1, b1_g);
      convert(b2, b2_g);
      k = std::min(k, first_single);
    } else {
      begin(a, b1, b2, psi);
    }
    recur(h_.as_double(), a, k, 1, b1, b2, psi);
    finish(h_.as_double(), b1, b2);
    copy(y, b2);
  }

  /// Computes b1 = b_n, b2 = b_{n+1} = 0.
  template <class V>
  static void begin(const std::vector<double>& odd, V& b1, V& b2, const V& psi) {
    copy(b1, psi);
    scale(b1, uniform_scalars(b1, odd.back()));
    zero(b2);
  }
  /// Orders k = from, ..., to; b1 is b_to at the end.
  template <class V, class H>
  void recur(const H& h, const std::vector<double>& odd, int from, int to, V& b1, V& b2, const V& psi) const {
    const int orders = 2 * steps_between_stops(psi);
    for (int k = from; k >= to; --k) {
      if (options_.interrupted && (from - k) % orders == 0 && options_.interrupted()) break;
      const bool is_odd = k % 2 == 1;
      h.apply(b2, 2.0 / options_.highest, b1, 0.0, is_odd ? odd[static_cast<std::size_t>(k / 2)] : 0.0,
              is_odd ? &psi : nullptr, -1.0, &b2);
      std::swap(b1, b2);
    }
  }
  /// Computes b2 = Q b_1 - b_2.
  template <class V, class H>
  void finish(const H& h, const V& b1, V& b2) const {
    h.apply(b2, 1.0 / options_.highest, b1, 0.0, 0.0, static_cast<const V*>(nullptr), -1.0, &b2);
  }

  /// H^2
  struct square {
    const hermitian_kernel<Backend>& h;
    void apply(Field& out, const Field& in) const {
      Field between = like(in);
      h.as_double().apply(between, in);
      h.as_double().apply(out, between);
    }
    void apply_dagger(Field& out, const Field& in) const { apply(out, in); }
  };

  /// Computes y = H sum_l w_l (H^2 + sigma_l)^-1 psi
  void apply_rational(Field& y, const Field& psi, double delta) const {
    const zolotarev_function f = rational(delta);
    const square h2{h_};
    stopping_rule rule;
    rule.tolerance = 0.3 * delta;
    rule.limit = 100000;
    rule.interrupted = options_.interrupted;
    Field sum_of_poles = like(psi);
    if (options_.method == sign_method::zolotarev) {
      std::vector<Field> x;
      for (int l = 0; l < f.poles(); ++l) x.push_back(like(psi));
      multishift_cg(h2, x, psi, f.shifts, rule);
      zero(sum_of_poles);
      for (int l = 0; l < f.poles(); ++l)
        axpy(sum_of_poles, uniform_scalars(psi, f.weights[static_cast<std::size_t>(l)]),
             x[static_cast<std::size_t>(l)]);
    } else {
      double_pass_sum(h2, sum_of_poles, psi, f, rule.tolerance, rule.limit);
    }
    h_.as_double().apply(y, sum_of_poles);
  }

  /// Computes y = sum_l w_l (A + sigma_l)^-1 psi without a vector for each pole: conjugate gradients once for its
  /// numbers, then again for the residuals r_j themselves: y = sum_j C_j r_j. (Neuberger 1998; Chiu, Hsieh 2003)
  void double_pass_sum(const square& a, Field& y, const Field& psi, const zolotarev_function& f, double tolerance,
                       int limit) const {
    const int columns = psi.columns(), poles = f.poles();
    const auto at = [](auto& list, int i) -> auto& { return list[static_cast<std::size_t>(i)]; };
    // alpha_j, beta_j and |r_j|^2 of each column
    std::vector<std::vector<double>> alpha, beta, r2;
    const double lowest_shift = f.shifts[0];
    const auto pass = [&](bool first, const auto& with_residual) {
      Field r = like(psi), p = like(psi), ap = like(psi);
      copy(r, psi);
      copy(p, psi);
      auto rr = norm2(r);
      for (int j = 0;; ++j) {
        with_residual(j, r);
        if (first) {
          std::vector<double> now;
          for (const complex<double>& number : host_values(rr)) now.push_back(number.re);
          r2.push_back(now);
          bool all = true;
          for (int n = 0; n < columns; ++n) all = all && at(now, n) <= tolerance * tolerance * at(r2.front(), n);
          if (all || j >= limit || (options_.interrupted && options_.interrupted())) return j;
        } else if (j == std::ssize(alpha)) {
          return j;
        }
        a.apply(ap, p);
        axpy(ap, uniform_scalars(ap, lowest_shift), p);
        const auto step = ratio(rr, dot(p, ap));
        axpy(r, -step, ap);
        const auto rr_new = norm2(r);
        const auto next = ratio(rr_new, rr);
        if (first) {
          std::vector<double> here, there;
          for (const complex<double>& number : host_values(step)) here.push_back(number.re);
          for (const complex<double>& number : host_values(next)) there.push_back(number.re);
          alpha.push_back(here);
          beta.push_back(there);
        }
        xpay(p, r, next);
        rr = rr_new;
      }
    };
    const int steps = pass(true, [](int, const Field&) {});
    // x_s = sum_i alpha_i^s p_i^s with p_i^s = sum_{j <= i} (prod_{k=j+1}^{i} beta_{k-1}^s) zeta_j^s r_j.
    std::vector<std::vector<complex<double>>> coefficients(
        static_cast<std::size_t>(steps), std::vector<complex<double>>(static_cast<std::size_t>(columns)));
    for (int n = 0; n < columns; ++n)
      for (int s = 0; s < poles; ++s) {
        const double sigma = at(f.shifts, s) - lowest_shift;
        std::vector<double> zeta{1.0}, ratio_of(static_cast<std::size_t>(steps) + 1, 1.0);
        // ratio_of[i] = zeta_i / zeta_{i-1}
        for (int i = 0; i < steps; ++i) {
          const double a_i = at(at(alpha, i), n), a_before = i > 0 ? at(at(alpha, i - 1), n) : 1.0,
                       b_before = i > 0 ? at(at(beta, i - 1), n) : 0.0;
          const double denominator =
              a_before * (1.0 + a_i * sigma) + a_i * b_before * (1.0 - (i > 0 ? at(ratio_of, i) : 1.0));
          at(ratio_of, i + 1) = a_before / denominator;
          zeta.push_back(zeta.back() * at(ratio_of, i + 1));
        }
        // Backwards: S_j = alpha_j^s + beta_j^s S_{j+1}, and C_j += w_s zeta_j S_j.
        double tail = 0.0;
        for (int j = steps - 1; j >= 0; --j) {
          const double q = at(ratio_of, j + 1);
          const double alpha_s = at(at(alpha, j), n) * q;
          const double beta_s = at(at(beta, j), n) * q * q;
          tail = alpha_s + beta_s * tail;
          at(at(coefficients, j), n).re += at(f.weights, s) * at(zeta, j) * tail;
        }
      }
    zero(y);
    pass(false, [&](int j, const Field& r) {
      if (j < steps) axpy(y, make_scalars(r, std::span<const complex<double>>(at(coefficients, j))), r);
    });
  }

  hermitian_kernel<Backend> h_;
  Field modes_;
  std::vector<double> values_;
  sign_options options_;
  std::shared_ptr<InnerField> single_modes_ = std::make_shared<InnerField>(like(modes_, 0, as<InnerField>));
  std::shared_ptr<std::map<double, expansion>> expansions_ = std::make_shared<std::map<double, expansion>>();
};

}  // namespace plaquette
