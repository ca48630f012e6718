// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Complex numbers on host and device, with the four rules of schoolbook arithmetic and nothing else.
/// (std::complex checks products for NaN, and has no device code.)
#pragma once

#ifdef __CUDACC__
#define PLAQUETTE_HOST_DEVICE __host__ __device__
#else
#define PLAQUETTE_HOST_DEVICE
#endif

namespace plaquette {

template <class T>
struct complex {
  T re{}, im{};

  PLAQUETTE_HOST_DEVICE constexpr complex& operator+=(const complex& b) {
    re += b.re;
    im += b.im;
    return *this;
  }
  PLAQUETTE_HOST_DEVICE constexpr complex& operator-=(const complex& b) {
    re -= b.re;
    im -= b.im;
    return *this;
  }
  PLAQUETTE_HOST_DEVICE constexpr complex& operator*=(const complex& b) { return *this = *this * b; }

  PLAQUETTE_HOST_DEVICE friend constexpr complex operator+(complex a, const complex& b) { return a += b; }
  PLAQUETTE_HOST_DEVICE friend constexpr complex operator-(complex a, const complex& b) { return a -= b; }
  PLAQUETTE_HOST_DEVICE friend constexpr complex operator-(const complex& a) { return {-a.re, -a.im}; }
  PLAQUETTE_HOST_DEVICE friend constexpr complex operator*(const complex& a, const complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  PLAQUETTE_HOST_DEVICE friend constexpr complex operator*(T a, const complex& b) { return {a * b.re, a * b.im}; }
  PLAQUETTE_HOST_DEVICE friend constexpr complex operator*(const complex& b, T a) { return {a * b.re, a * b.im}; }
  PLAQUETTE_HOST_DEVICE friend constexpr complex operator/(const complex& a, const complex& b) {
    const T scale = T(1) / (b.re * b.re + b.im * b.im);
    return {(a.re * b.re + a.im * b.im) * scale, (a.im * b.re - a.re * b.im) * scale};
  }
  PLAQUETTE_HOST_DEVICE friend constexpr bool operator==(const complex&, const complex&) = default;
};

template <class T>
PLAQUETTE_HOST_DEVICE constexpr complex<T> conj(const complex<T>& a) {
  return {a.re, -a.im};
}
/// Returns |a|^2
template <class T>
PLAQUETTE_HOST_DEVICE constexpr T norm2(const complex<T>& a) {
  return a.re * a.re + a.im * a.im;
}
template <class To, class From>
PLAQUETTE_HOST_DEVICE constexpr complex<To> complex_cast(const complex<From>& a) {
  return {static_cast<To>(a.re), static_cast<To>(a.im)};
}

}  // namespace plaquette
