// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What has to be known of the spectrum of H before its lowest modes are searched: its largest |eigenvalue|, and how
/// many there are below some |lambda|.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include "common/eigen/thick_restart.hpp"
#include "common/krylov/squared_map.hpp"

namespace plaquette {

/// Returns an upper bound of |H| to a few in a thousand, by Lanczos: sqrt(largest Ritz value of H^2 + its residual),
/// and 2 in 1000 more. No proof: a start without the highest mode misses it; `fill` gives random vectors.
/// \param shape_of  any field of the shape
/// \param interrupted  asked between applications, or null; where it is true what is returned is no bound
template <field_batch Field, class H>
double largest_eigenvalue(const H& h, const Field& shape_of, const random_fill<Field>& fill,
                          const std::function<bool()>& interrupted = nullptr) {
  const restart_sizes sizes{.keep = 4, .most = 28, .block = 1, .cycles = 6};
  Field basis = like(shape_of, sizes.most + sizes.block), scratch = like(shape_of, 1);
  Field start = view(basis, 0, 1);
  fill(start);
  double bound = 0.0;
  thick_restart_lanczos<Field>(
      basis, sizes, {},
      [&](Field& out, const Field& in) {
        h.apply(scratch, in);
        h.apply(out, scratch);
      },
      [&](Field&, const restart_state& state) {
        bound = std::sqrt(state.values[0] + state.estimates[0]);
        return state.estimates[0] < 2e-3 * state.values[0];
      },
      fill, interrupted);
  return 1.002 * bound;
}

/// The number of eigenvalues with |h| below a value, from Chebyshev moments of random vectors with Jackson's damping.
/// (Weisse, Wellein, Alvermann, Fehske, Rev. Mod. Phys. 78 (2006) 275; Di Napoli, Polizzi, Saad 2016) It has a
/// resolution of some highest / moments, and is too large where the spectrum ends within that of zero.
class mode_count {
 public:
  /// \param moments  <x, T_k(z) x> / <x, x>, z = 2 h^2 / highest^2 - 1
  /// \param size     of the space
  mode_count(std::vector<double> moments, double size, double highest)
      : moments_(std::move(moments)), size_(size), highest_(highest) {}

  /// Returns false where there are eigenvalues above `highest` that x had a share of.
  bool is_bounded() const {
    return std::ranges::all_of(moments_, [](double moment) { return std::abs(moment) <= 1.0 + 1e-3; });
  }

  double operator()(double value) const {
    const double ratio = std::min(1.0, value / highest_);
    const double angle = std::acos(2.0 * ratio * ratio - 1.0);
    const auto m = static_cast<double>(moments_.size());
    const double q = std::numbers::pi / (m + 1.0);
    double fraction = (std::numbers::pi - angle) / std::numbers::pi;
    for (std::size_t i = 1; i < moments_.size(); ++i) {
      const auto k = static_cast<double>(i);
      const double jackson = ((m - k + 1.0) * std::cos(q * k) + std::sin(q * k) / std::tan(q)) / (m + 1.0);
      fraction -= 2.0 * jackson * moments_[i] * std::sin(k * angle) / (k * std::numbers::pi);
    }
    return size_ * fraction;
  }
  /// Returns the smallest value that has this number of others below it, to 1e-4 of the highest.
  double value_of(double count) const {
    double below = 0.0, above = highest_;
    while (above - below > 1e-4 * highest_) {
      const double middle = 0.5 * (below + above);
      ((*this)(middle) < count ? below : above) = middle;
    }
    return above;
  }

 private:
  std::vector<double> moments_;
  double size_, highest_;
};

/// Moments up to `moments`, two from each application of z: 2 <t_k, t_k> - mu_0 and 2 <t_k+1, t_k> - mu_1.
/// \param x     random columns
/// \param size  of the space: 12 numbers a site of the whole lattice
/// \param interrupted  asked between applications, or null; where it is true the count is of no use
template <field_batch Field, class H>
mode_count count_modes(const H& h, const Field& x, int moments, double size, double highest,
                       const std::function<bool()>& interrupted = nullptr) {
  const squared_map z = squared_map::of_range(0.0, highest);
  Field before = like(x), now = like(x), scratch = like(x);
  const auto total = [](const auto& numbers) {
    double sum = 0.0;
    for (const complex<double>& number : host_values(numbers)) sum += number.re;
    return sum;
  };
  copy(before, x);
  apply_map(h, now, scratch, 1.0, z, x, 0.0, static_cast<const Field*>(nullptr), 0.0,
            static_cast<const Field*>(nullptr));
  const double mu0 = total(norm2(x)), mu1 = total(dot(x, now));
  std::vector<double> mu{mu0, mu1};
  while (static_cast<int>(mu.size()) < moments && !(interrupted && interrupted())) {
    mu.push_back(2.0 * total(norm2(now)) - mu0);
    apply_map(h, before, scratch, 2.0, z, now, 0.0, static_cast<const Field*>(nullptr), -1.0, &before);
    std::swap(before, now);
    mu.push_back(2.0 * total(dot(now, before)) - mu1);
  }
  for (double& moment : mu) moment /= mu0;
  return {std::move(mu), size, highest};
}

}  // namespace plaquette
