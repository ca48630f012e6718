// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The same numbers in a field of the CPU library and in one of the CUDA library, and bounds on how far they may be
/// apart.
///
/// Bounds. A number is stored to within u = unit_of<T> times the largest magnitude M of its site (in double and float
/// to much less, if it is itself small). Both libraries store Dirac spinors in the time-diagonal basis: their versions
/// of the same numbers are 2 u M apart at the most. For numbers in the DeGrand-Rossi basis, M is at most sqrt 2 larger
/// in the other, and on the way back two errors add up with factors 1 / sqrt 2. Each library is off by at most 2 u M,
/// and the rotations in double add a few 2^-53 M, which is where precision double needs part of the factor 4.
#pragma once

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/random/random_stream.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "gpu/blas/blas.hpp"
#include "validation/gpu-vs-cpu/support/poison.hpp"

namespace plaquette::validation {

/// Half the distance of neighbouring numbers, as a multiple of the largest of the site; 1% more in half, for the
/// rounding of scales and products to float.
template <class T>
inline constexpr double unit_of =
    cpu::is_half<T> ? 1.01 / 65534.0 : std::numeric_limits<cpu::real_of<T>>::epsilon() / 2;
/// How far apart the twins are, as a multiple of unit_of<T> and of the largest number of the site.
inline constexpr double twin_factor = 4.0;

/// [part][i of gpu::site_order][spin * colours + colour], in the basis of the fields.
using site_numbers = std::vector<complex<double>>;

/// Returns the numbers of a field's column; sites differ in size by up to two decades.
inline site_numbers random_numbers(std::size_t sites, int components, std::uint64_t seed, std::uint64_t column) {
  site_numbers numbers;
  for (std::size_t s = 0; s < sites; ++s) {
    random_stream random(seed, column, s);
    const double size = std::pow(10.0, std::sin(static_cast<double>(s)));
    for (int k = 0; k < components; ++k) {
      const auto [re, im] = random.gaussians();
      numbers.push_back({size * re, size * im});
    }
  }
  return numbers;
}

template <class T>
struct twin_machines {
  explicit twin_machines(const extents& lattice)
      : geometry(lattice), cpu(geometry, communicator(), 2), gpu(geometry, communicator()) {}
  lattice_geometry geometry;
  cpu::context cpu;
  gpu::context gpu;
};

inline std::size_t parts_of(const field_shape& shape) { return shape.sites == site_subset::full ? 2 : 1; }
inline std::size_t sites_of(const lattice_geometry& geometry, const field_shape& shape) {
  return parts_of(shape) * static_cast<std::size_t>(geometry.local_volume() / 2);
}

/// Visits the sites of a CPU field in the order of site_numbers: visit(number of the site, its block's first word,
/// lane).
template <class T, class Visit>
void visit_sites_of(const cpu::field<T>& x, int column, Visit&& visit) {
  const gpu::site_order order(x.layout().geometry().local());
  std::size_t number = 0;
  for (int part = 0; part < x.parts(); ++part)
    for (std::int32_t i = 0; i < order.sites; ++i, ++number) {
      const gpu::site_coordinate at = order.coordinate_of(x.parity_of_part(part), i);
      const cpu::block_site place = x.layout().place({at.x[0], at.x[1], at.x[2], at.x[3]});
      visit(number, const_cast<cpu::word_of<T>*>(x.block(part, place.block, column)), place.lane);
    }
}

template <class T>
site_numbers numbers_of(const cpu::field<T>& x, int column) {
  const auto components = static_cast<std::size_t>(x.components());
  site_numbers numbers(sites_of(x.layout().geometry(), x.shape()) * components);
  const int width = x.layout().width();
  visit_sites_of(x, column, [&](std::size_t site, const cpu::word_of<T>* at, int lane) {
    for (int k = 0; k < x.components(); ++k) {
      complex<double>& z = numbers[site * components + static_cast<std::size_t>(k)];
      if constexpr (cpu::is_half<T>)
        z = static_cast<double>(std::bit_cast<float>(at[x.components() * width + lane])) *
            complex_cast<double>(unpack_fixed_point(at[k * width + lane]));
      else
        z = {static_cast<double>(at[2 * k * width + lane]), static_cast<double>(at[(2 * k + 1) * width + lane])};
    }
  });
  return numbers;
}

template <class T>
void set_numbers(cpu::field<T>& x, int column, const site_numbers& numbers) {
  const auto components = static_cast<std::size_t>(x.components());
  const int width = x.layout().width();
  visit_sites_of(x, column, [&](std::size_t site, cpu::word_of<T>* at, int lane) {
    const complex<double>* const z = numbers.data() + site * components;
    if constexpr (cpu::is_half<T>) {
      double largest = 0.0;
      for (std::size_t k = 0; k < components; ++k)
        largest = larger_magnitude(larger_magnitude(largest, z[k].re), z[k].im);
      const auto scale = static_cast<float>(largest);
      at[x.components() * width + lane] = std::bit_cast<std::uint32_t>(scale);
      for (int k = 0; k < x.components(); ++k)
        at[k * width + lane] =
            pack_fixed_point({static_cast<float>(z[k].re / largest), static_cast<float>(z[k].im / largest)});
    } else {
      for (int k = 0; k < x.components(); ++k) {
        at[2 * k * width + lane] = static_cast<T>(z[k].re);
        at[(2 * k + 1) * width + lane] = static_cast<T>(z[k].im);
      }
    }
  });
}

template <class T>
site_numbers numbers_of(const gpu::field<T>& x, int column) {
  return gpu::column_numbers(x, column);
}
template <class T>
void set_numbers(gpu::field<T>& x, int column, const site_numbers& numbers) {
  gpu::set_column_numbers(x, column, numbers);
}

/// One field on each side.
template <class T>
struct twins {
  cpu::field<T> on_cpu;
  gpu::field<T> on_gpu;

  twins(const twin_machines<T>& machines, const field_shape& shape)
      : on_cpu(machines.cpu, shape), on_gpu(machines.gpu, shape) {
    poison(on_gpu);
  }
  /// Random numbers; the padding of the CUDA field stays NaN.
  twins(const twin_machines<T>& machines, const field_shape& shape, std::uint64_t seed) : twins(machines, shape) {
    gpu::field<T> staged(machines.gpu, shape);
    for (int c = 0; c < shape.columns; ++c) {
      const site_numbers numbers =
          random_numbers(sites_of(machines.geometry, shape), on_cpu.components(), seed, static_cast<std::uint64_t>(c));
      set_numbers(on_cpu, c, numbers);
      set_numbers(staged, c, numbers);
    }
    convert(on_gpu, staged);  // a kernel that leaves padding alone
  }
};

/// Returns the largest magnitude of each site's parts.
inline std::vector<double> largest_of_sites(const site_numbers& numbers, int components) {
  std::vector<double> largest(numbers.size() / static_cast<std::size_t>(components));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double& of_site = largest[i / static_cast<std::size_t>(components)];
    of_site = larger_magnitude(larger_magnitude(of_site, numbers[i].re), numbers[i].im);
  }
  return largest;
}

/// Returns |re| + |im|: bounds the growth of the error of a part by a complex factor.
inline double size_of(const complex<double>& a) { return std::abs(a.re) + std::abs(a.im); }

/// True if `a` and `b` have the same bits, number by number.
inline bool same_bits(const site_numbers& a, const site_numbers& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint64_t>(a[i].re) != std::bit_cast<std::uint64_t>(b[i].re) ||
        std::bit_cast<std::uint64_t>(a[i].im) != std::bit_cast<std::uint64_t>(b[i].im))
      return false;
  return true;
}

inline const char* name_of(site_subset sites) {
  return sites == site_subset::full ? "full" : sites == site_subset::even ? "even" : "odd";
}
inline std::string describe(const extents& lattice, const field_shape& shape) {
  return to_string(lattice) + ", " + std::to_string(shape.spins) + "x" + std::to_string(shape.colours) + ", " +
         name_of(shape.sites) + ", " + std::to_string(shape.columns) + " columns";
}

}  // namespace plaquette::validation
