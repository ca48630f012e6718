// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The leading left singular vectors of a few long columns, from the inner products of these: on host and device, by a
/// team of threads that share a matrix.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/algebra/complex.hpp"

namespace plaquette {

/// A team of one thread. A team has members; `lanes` of them share a column. `sum` adds over the lanes of a column,
/// `any` tells whether something holds for a member, and waits like `wait` until all members have come.
struct lone_thread {
  static constexpr int lanes = 1;
  static constexpr int member() { return 0; }
  static constexpr int members() { return 1; }
  static void wait() {}
  static double sum(double own) { return own; }
  static bool any(bool own) { return own; }
};

/// Columns a_j, j < n, that are short for long ones: a_i^+ a_j are inner products of these. Column j begins at a + j n.
/// All members of a team call its functions.
template <class Team>
struct gram_columns {
  complex<double>* a;
  int n;
  Team team;

  /// G = L L^+ in place of G, the largest pivot first. Columns of L stand where those of their pivots were; those that
  /// are left out, since only rounding is left of them, become zero.
  /// \param left  of n numbers, shared by the team
  PLAQUETTE_HOST_DEVICE void factorise(double* left) const {
    constexpr double rounding = 0x1p-52;
    for (int j = team.member(); j < n; j += team.members()) left[j] = a[j * n + j].re;
    team.wait();
    double least = 0.0;
    for (int step = 0; step < n; ++step) {
      int pivot = 0;  // the same for all members
      for (int j = 1; j < n; ++j)
        if (left[j] > left[pivot]) pivot = j;
      const double largest = left[pivot];
      if (step == 0) least = n * rounding * largest;
      if (!(largest > least)) break;
      const double scale = 1.0 / sqrt(largest);
      complex<double>* const l = a + pivot * n;
      for (int i = team.member(); i < n; i += team.members()) l[i] = scale * l[i];
      team.wait();
      for (int k = team.member(); k < n * n; k += team.members()) {
        const int j = k / n, i = k - j * n;
        if (left[j] < 0.0 || j == pivot) continue;  // a column of L
        a[k] = i == pivot ? complex<double>{} : a[k] - l[i] * conj(l[j]);
      }
      team.wait();
      for (int j = team.member(); j < n; j += team.members())
        left[j] = left[j] < 0.0 || j == pivot ? -1.0 : a[j * n + j].re > 0.0 ? a[j * n + j].re : 0.0;
      team.wait();
    }
    for (int k = team.member(); k < n * n; k += team.members())
      if (!(left[k / n] < 0.0)) a[k] = {};
    team.wait();
  }

  /// Rotates pairs of columns until all are orthogonal (Jacobi's method, one-sided; each round takes disjoint pairs).
  /// Columns of L, L L^+ = G, become eigenvectors of G times the roots of their eigenvalues.
  PLAQUETTE_HOST_DEVICE void make_orthogonal() const {
    constexpr int most_sweeps = 40;
    const int places = n + n % 2, rounds = places - 1;
    const int groups = team.members() / Team::lanes, group = team.member() / Team::lanes;
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      bool rotated = false;
      for (int round = 0; round < rounds; ++round) {
        for (int first = 0; first < places / 2; first += groups) {  // lanes of a warp do the same
          const int pair = first + group;
          // As in a tournament: one stays, the others move on by a place a round.
          const int p = pair == 0 ? rounds : (round + pair) % rounds, q = (round + rounds - pair % rounds) % rounds;
          const bool is_one = pair < places / 2 && p < n && q < n;
          rotated = rotate(is_one ? p : 0, is_one ? q : 0, is_one) || rotated;
        }
        team.wait();
      }
      if (!team.any(rotated)) return;
    }
  }

  /// sizes[k], k < kept, become the largest lengths of columns, descending, and order[k] their columns; a length of
  /// `least` times the largest or less is rounding, and becomes zero.
  /// \param lengths  of n numbers, shared by the team
  PLAQUETTE_HOST_DEVICE void sort(double* lengths, int* order, int kept, double least, double* sizes) const {
    for (int j = team.member(); j < n; j += team.members()) {
      double sum = 0.0;
      for (int i = 0; i < n; ++i) sum += norm2(a[j * n + i]);
      lengths[j] = sqrt(sum);
    }
    team.wait();
    for (int j = team.member(); j < n; j += team.members()) {
      int before = 0;
      double largest = 0.0;
      for (int i = 0; i < n; ++i) {
        before += lengths[i] > lengths[j] || (lengths[i] == lengths[j] && i < j) ? 1 : 0;
        largest = lengths[i] > largest ? lengths[i] : largest;
      }
      if (before >= kept) continue;
      order[before] = j;
      sizes[before] = lengths[j] > least * largest ? lengths[j] : 0.0;
    }
    team.wait();
  }

 private:
  /// Makes columns p and q orthogonal where they are not. Returns whether they were not.
  PLAQUETTE_HOST_DEVICE bool rotate(int p, int q, bool is_one) const {
    constexpr double orthogonal = 1e-11;  // vectors are stored in single precision
    complex<double>*const x = a + p * n, *const y = a + q * n;
    double x2 = 0.0, y2 = 0.0;
    complex<double> xy{};
    for (int i = team.member() % Team::lanes; is_one && i < n; i += Team::lanes) {
      x2 += norm2(x[i]);
      y2 += norm2(y[i]);
      xy += conj(x[i]) * y[i];
    }
    x2 = team.sum(x2), y2 = team.sum(y2), xy = {team.sum(xy.re), team.sum(xy.im)};
    const double size = sqrt(norm2(xy));
    if (!is_one || !(size > orthogonal * sqrt(x2) * sqrt(y2))) return false;
    // t = tan of the angle by which x and e y have to turn, with a phase e that makes x^+ e y real. Columns keep their
    // own phases.
    const double z = (y2 - x2) / (2.0 * size), t = (z < 0.0 ? -1.0 : 1.0) / (fabs(z) + sqrt(1.0 + z * z)),
                 c = 1.0 / sqrt(1.0 + t * t);
    const complex<double> s = c * t / size * xy;
    for (int i = team.member() % Team::lanes; i < n; i += Team::lanes) {
      const complex<double> u = x[i], v = y[i];
      x[i] = c * u - conj(s) * v;
      y[i] = s * u + c * v;
    }
    return true;
  }
};

/// A singular vector shorter than this times the longest is rounding of the columns, which are in single precision.
inline constexpr double least_singular_value = 1e-6;

/// Computes the first `kept` left singular vectors of n columns from their Gram matrix. They are sums of the columns:
/// vector k = sum_i combination[k n + i] column_i. Each has length 1, or is zero where the columns have no such vector.
/// All members of the team call this.
/// \param gram      of the columns divided by `scales`: [j][i] = column_i^+ column_j; for workspace afterwards
/// \param scales    factors of the columns; combinations are of columns divided by them
/// \param sizes     singular values, descending
/// \param workspace  of n numbers, shared by the team, as `order` is
template <class Team>
PLAQUETTE_HOST_DEVICE void leading_combinations(const Team& team, complex<double>* gram, int n, const double* scales,
                                                int kept, double* sizes, complex<double>* combination,
                                                double* workspace, int* order) {
  for (int k = team.member(); k < n * n; k += team.members()) {
    const int j = k / n, i = k - j * n;
    gram[k] = scales[i] * scales[j] * gram[k];
  }
  team.wait();
  const gram_columns<Team> columns{gram, n, team};
  columns.factorise(workspace);
  columns.make_orthogonal();
  columns.sort(workspace, order, kept, least_singular_value, sizes);
  for (int index = team.member(); index < n * kept; index += team.members()) {
    const int k = index / n, i = index - k * n;
    const double size = sizes[k];
    combination[index] = size > 0.0 ? scales[i] / (size * size) * gram[order[k] * n + i] : complex<double>{};
  }
  team.wait();
}

}  // namespace plaquette
