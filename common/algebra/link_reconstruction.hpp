// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links from 12 or 8 real numbers, for numbers, vector registers and device code alike. A `Complex` here is anything
/// with parts re and im of one type with + - * and a conversion-free division.
///
/// Twelve: the third row is the conjugate of the cross product of the first two (Clark et al., arXiv:0911.3191, eq. 4).
///
/// Eight: SU(3) is a bundle of spheres: the first row is a point of S^5, and given it, the other two rows are an
/// element of SU(2), a point of S^3. A point (x_0, x) of a sphere is stored as p = tan(theta/4) x/|x|, cos theta = x_0,
/// so that |p| <= 1 and r = 1 / (1 + p^2), x_0 = 1 - 8 r^2 p^2, x = 4 r^2 (1 - p^2) p. That is one division, no root,
/// no angle, and nothing is lost to cancellation. The parameters of arXiv:0911.3191, section 4, lose half the digits
/// near the unit matrix. With the first row a = (alpha, w) a frame of the other two is
///   R = ( alpha,            w                        )
///       ( -beta w^+,   1 - gamma w^+ w  ),   gamma = 1 / (1 + conj alpha),  beta = (1 + alpha) / (1 + conj alpha),
/// unitary, of determinant beta, and smooth but for alpha = -1, where digits are lost as 1 / |1 + alpha|. A constant
/// phase on the first row moves that point away from the matrices that occur on purpose (permutations, signs, roots of
/// one).
#pragma once

#include <cmath>

#include "common/algebra/su3.hpp"

namespace plaquette {

/// The phase of the first row: far from every root of one of low order.
inline constexpr double frame_phase_cos = 0.8, frame_phase_sin = 0.6;

#define PLAQUETTE_ALGEBRA PLAQUETTE_HOST_DEVICE inline __attribute__((always_inline))

/// Returns conj(x y - z w): an element of the third row from those of the first (x, z) and the second (y, w).
template <class Complex>
PLAQUETTE_ALGEBRA Complex conjugate_minor(const Complex& x, const Complex& y, const Complex& z, const Complex& w) {
  return {x.re * y.re - x.im * y.im - z.re * w.re + z.im * w.im, z.re * w.im + z.im * w.re - x.re * y.im - x.im * y.re};
}

namespace detail {

template <class Complex>
PLAQUETTE_ALGEBRA Complex times(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/// Returns conj(a) b
template <class Complex>
PLAQUETTE_ALGEBRA Complex conj_times(const Complex& a, const Complex& b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}
template <class Complex>
PLAQUETTE_ALGEBRA Complex minus(const Complex& a) {
  return {-a.re, -a.im};
}

/// Computes the second and third row of the frame of the row (alpha, w_0, w_1), of determinant conj(phase) with it.
/// \param half_height  (1 + re alpha) / 2 is its square
template <class Complex, class Real>
PLAQUETTE_ALGEBRA void frame_rows(Complex (&row)[2][3], const Complex& alpha, const Complex& w0, const Complex& w1,
                                  const Real& half_height, const Complex& phase, const Real& one) {
  const Complex t{half_height * half_height + half_height * half_height, alpha.im};  // 1 + alpha
  const Real over = one / (t.re * t.re + t.im * t.im);
  const Complex gamma{t.re * over, t.im * over};
  const Complex beta = times(t, gamma);
  const Complex second{phase.re * gamma.re - phase.im * gamma.im,
                       -(phase.re * gamma.im) - phase.im * gamma.re};  // conj(phase gamma)
  const Complex off = conj_times(w0, w1);
  const Real w00 = w0.re * w0.re + w0.im * w0.im, w11 = w1.re * w1.re + w1.im * w1.im;
  // conj(phase) conj(beta) (1 - gamma |w_0|^2) = conj(phase) (conj(beta) - conj(gamma) |w_0|^2), as conj(beta) gamma =
  // conj(gamma)
  const Complex rotated{phase.re * beta.re - phase.im * beta.im, -(phase.re * beta.im) - phase.im * beta.re};
  row[0][0] = minus(conj_times(w0, Complex{phase.re, -phase.im}));
  row[0][1] = {rotated.re - second.re * w00, rotated.im - second.im * w00};
  row[0][2] = minus(times(second, off));
  row[1][0] = minus(conj_times(w1, beta));
  row[1][1] = minus(times(gamma, Complex{off.re, -off.im}));
  row[1][2] = {one - gamma.re * w11, -(gamma.im * w11)};
}

}  // namespace detail

/// Computes the matrix of eight parameters.
/// \param phase  frame_phase_cos + i frame_phase_sin
/// \param one    the number 1 in the type of the parts
template <class Complex, class Real>
PLAQUETTE_ALGEBRA void matrix_of_parameters(Complex (&u)[3][3], const Real (&p)[8], const Complex& phase,
                                            const Real& one) {
  using namespace detail;
  const Real p2 = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3] + p[4] * p[4];
  const Real r = one / (one + p2), half_height = (one - p2) * r, r2 = r + r, r4 = r2 * half_height + r2 * half_height;
  const Complex alpha{one - (r2 * r2 + r2 * r2) * p2, r4 * p[0]};
  const Complex w0{r4 * p[1], r4 * p[2]}, w1{r4 * p[3], r4 * p[4]};
  Complex row[2][3];
  frame_rows(row, alpha, w0, w1, half_height, phase, one);
  const Real q2 = p[5] * p[5] + p[6] * p[6] + p[7] * p[7];
  const Real s = one / (one + q2), s2 = s + s, s4 = s2 * ((one - q2) * s) + s2 * ((one - q2) * s);
  const Real x0 = one - (s2 * s2 + s2 * s2) * q2;
  const Complex a{x0, s4 * p[7]}, b{s4 * p[6], s4 * p[5]};  // ((a, b), (-conj b, conj a)) in SU(2)
  u[0][0] = times(phase, alpha);
  u[0][1] = times(phase, w0);
  u[0][2] = times(phase, w1);
  for (int j = 0; j < 3; ++j) {
    const Complex first = times(a, row[0][j]), second = times(b, row[1][j]);
    u[1][j] = {first.re + second.re, first.im + second.im};
    const Complex third = conj_times(a, row[1][j]), fourth = conj_times(b, row[0][j]);
    u[2][j] = {third.re - fourth.re, third.im - fourth.im};
  }
}

/// Computes the eight parameters of a matrix in SU(3), each of magnitude at most 1.
PLAQUETTE_HOST_DEVICE inline void parameters_of_matrix(double (&p)[8], const su3<double>& u) {
  using namespace detail;
  const auto to_parameters = [](double* to, double x0, const double* x, int n) {
    double rest = 0.0;
    for (int i = 0; i < n; ++i) rest += x[i] * x[i];
    const double size = std::sqrt(rest);
    // tan(theta/4) / sin(theta), theta in [0, pi]; 1/4 at theta = 0
    const double quarter = std::tan(0.25 * std::atan2(size, x0));
    for (int i = 0; i < n; ++i) to[i] = size > 0.0 ? quarter * x[i] / size : (x0 < 0.0 && i == 0 ? 1.0 : 0.0);
  };
  const complex<double> phase{frame_phase_cos, frame_phase_sin};
  complex<double> a[3];
  double norm = 0.0;
  for (int j = 0; j < 3; ++j) {
    a[j] = conj_times(phase, u(0, j));
    norm += a[j].re * a[j].re + a[j].im * a[j].im;
  }
  for (auto& element : a) element = (1.0 / std::sqrt(norm)) * element;
  const double x[5] = {a[0].im, a[1].re, a[1].im, a[2].re, a[2].im};
  to_parameters(p, a[0].re, x, 5);
  complex<double> row[2][3];
  frame_rows(row, a[0], a[1], a[2], std::sqrt(std::fmax(0.5 * (1.0 + a[0].re), 1e-40)), phase, 1.0);
  complex<double> g00{}, g01{};
  for (int j = 0; j < 3; ++j) {
    g00 += conj_times(row[0][j], u(1, j));
    g01 += conj_times(row[1][j], u(1, j));
  }
  const double y[3] = {g01.im, g01.re, g00.im};
  to_parameters(p + 5, g00.re, y, 3);
}

}  // namespace plaquette
