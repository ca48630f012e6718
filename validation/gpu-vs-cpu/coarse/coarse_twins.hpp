// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Coarse fields of the CPU library with the same fields of the CUDA library.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "cpu_ref/coarse/coarse_field.hpp"
#include "gpu/coarse/coarse_field.hpp"
#include "gpu/context.hpp"

namespace plaquette::validation {

using host_numbers = std::vector<complex<double>>;

template <class Field>
host_numbers numbers_of(const Field& x, int column) {
  host_numbers numbers(static_cast<std::size_t>(x.sites() * x.components()));
  export_column(std::span(numbers), x, column);
  return numbers;
}

/// Returns |a - b| / |b|, the largest of all columns; NaN if a number is.
template <class Field, class InnerField>
double distance_of(const Field& a, const InnerField& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double worst = 0.0;
  for (int c = 0; c < b.columns(); ++c) {
    const host_numbers x = numbers_of(a, c), y = numbers_of(b, c);
    double difference = 0.0, size = 0.0;
    for (std::size_t k = 0; k < y.size(); ++k) {
      difference += norm2(x[k] - y[k]);
      size += norm2(y[k]);
    }
    const double relative = std::sqrt(difference / size);
    if (!(relative <= worst)) worst = relative;
  }
  return worst;
}

template <class Field>
void poison_coarse(Field& x) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const host_numbers bad(static_cast<std::size_t>(x.sites() * x.components()), {nan, nan});
  for (int c = 0; c < x.columns(); ++c) import_column(x, c, std::span(bad));
}

/// A lattice and both libraries on it.
struct coarse_pair {
  cpu::context host;
  gpu::context device;
  std::shared_ptr<const coarse_geometry> geometry;
  std::shared_ptr<const gpu::coarse_lattice> lattice;

  /// \param fine  any lattice that the contexts may live on
  coarse_pair(const extents& fine, const extents& coarse)
      : host(lattice_geometry(fine), communicator()),
        device(lattice_geometry(fine), communicator()),
        geometry(std::make_shared<const coarse_geometry>(coarse, extents{1, 1, 1, 1}, 0)),
        lattice(std::make_shared<const gpu::coarse_lattice>(device, *geometry)) {}

  template <class T>
  cpu::coarse_field<T> on_host(const field_shape& shape, std::uint64_t seed) const {
    cpu::coarse_field<T> x(host, geometry, shape);
    fill_random(x, seed, 0);
    return x;
  }
  template <class T>
  gpu::coarse_field<T> on_device(const cpu::coarse_field<T>& x) const {
    gpu::coarse_field<T> y(device, lattice, x.shape());
    for (int c = 0; c < x.columns(); ++c) import_column(y, c, std::span<const complex<double>>(numbers_of(x, c)));
    return y;
  }
};

template <class T>
constexpr double roundoff = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;

}  // namespace plaquette::validation
