// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The contribution of one site to a scalar product and a norm. For .cu files only.
#pragma once

#include <cmath>
#include <type_traits>

#include "common/algebra/float_pair.hpp"
#include "gpu/blas/integer_products.hpp"
#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {

/// Returns a b + c, rounded once. Written out, so that every kernel that computes a number gives it the same bits.
template <class Real>
PLAQUETTE_HOST_DEVICE inline Real fused(Real a, Real b, Real c) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Real) == 4)
    return __fmaf_rn(a, b, c);
  else
    return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

/// Returns a b + c by pairs: both roundings are below float_pair_roundoff.
PLAQUETTE_HOST_DEVICE inline float_pair fused(const float_pair& a, const float_pair& b, const float_pair& c) {
  return c + a * b;
}

/// <left, right> and |norm_of|^2 of one site. Numbers in double or float: products and sums in double. Pairs of floats:
/// by pairs, so that one number a site becomes double where a native sum has 48 products.
template <class T>
struct site_sums {
  using number = std::conditional_t<std::is_same_v<T, float_pair>, float_pair, double>;
  number re{}, im{}, squares{};

  PLAQUETTE_HOST_DEVICE void add_dot(const complex<real_of<T>>& left, const complex<real_of<T>>& right) {
    const complex<number> l = complex_cast<number>(left), r = complex_cast<number>(right);
    re = fused(l.im, r.im, fused(l.re, r.re, re));
    im = fused(-l.im, r.re, fused(l.re, r.im, im));
  }
  PLAQUETTE_HOST_DEVICE void add_norm(const complex<real_of<T>>& z) {
    const complex<number> wide = complex_cast<number>(z);
    squares = fused(wide.im, wide.im, fused(wide.re, wide.re, squares));
  }
  PLAQUETTE_HOST_DEVICE double dot_re() const { return static_cast<double>(re); }
  PLAQUETTE_HOST_DEVICE double dot_im() const { return static_cast<double>(im); }
  PLAQUETTE_HOST_DEVICE double norm() const { return static_cast<double>(squares); }
};

/// 16-bit numbers: sums of products of integers are exact, and the scales of the site multiply them at the end.
template <>
struct site_sums<half> {
  sum_of_products re, im_plus, im_minus, squares;

  PLAQUETTE_HOST_DEVICE void add_dot(const bytes_of_integers& left, const bytes_of_integers& right) {
    re.add(left.re_high, left.re_low, right.re_high, right.re_low);
    re.add(left.im_high, left.im_low, right.im_high, right.im_low);
    im_plus.add(left.re_high, left.re_low, right.im_high, right.im_low);
    im_minus.add(left.im_high, left.im_low, right.re_high, right.re_low);
  }
  PLAQUETTE_HOST_DEVICE void add_norm(const bytes_of_integers& z) {
    squares.add_squares(z.re_high, z.re_low);
    squares.add_squares(z.im_high, z.im_low);
  }
  PLAQUETTE_HOST_DEVICE double dot_re() const { return re.value(); }
  PLAQUETTE_HOST_DEVICE double dot_im() const { return im_plus.value() - im_minus.value(); }
  PLAQUETTE_HOST_DEVICE double norm() const { return squares.value_of_squares(); }
};

}  // namespace plaquette::gpu
