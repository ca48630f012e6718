// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Functions that tests of production fields and operators share, of the CPU or of the backend under test.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "validation/support/backend.hpp"

namespace plaquette::validation {

/// Bound on |out - M in| / |M in| for one application on random input, as a multiple of the unit roundoff. A component
/// is a sum of about 200 products, whose rounding errors of random sign leave a few roundoffs; measured 2 to 4.
inline constexpr double application_multiple = 16.0;

/// The unit roundoff. In 16-bit fixed point the step is 1/32767 of the largest number of a site, about 2.3 standard
/// deviations. That is an error of 2e-5 standard deviations in input and output. Links of typical size 0.4 add another
/// 2e-5 or so: 3.5e-5 in all, which 16 times this bounds by 1e-4.
template <class T>
inline constexpr double unit_roundoff = cpu::is_half<T> ? 6.25e-6 : std::numeric_limits<cpu::real_of<T>>::epsilon() / 2;
/// Links rebuilt from few numbers carry more of their rounding errors. It is twice as much for a third row, up to four
/// times for a matrix from eight parameters (d/dp of common/algebra/link_reconstruction.hpp, and a product of two).
inline double reconstruction_multiple(reconstruct stored) {
  return stored == reconstruct::none ? 1.0 : stored == reconstruct::twelve ? 2.0 : 8.0;
}

inline constexpr reconstruct every_reconstruct[] = {reconstruct::none, reconstruct::twelve, reconstruct::eight};

/// Random canonical columns and the same as a production field.
template <class T>
struct random_batch {
  std::vector<spinor_configuration> canonical;
  backend::field<T> packed;

  random_batch(const backend::context& ctx, int columns, std::uint64_t seed)
      : packed(ctx, {spins, colours, site_subset::full, columns}) {
    poison(packed);
    for (int c = 0; c < columns; ++c) {
      canonical.push_back(cpu::random_spinor(ctx.geometry(), seed, static_cast<std::uint64_t>(c), ctx.comm()));
      import_column(packed, c, canonical.back());
    }
  }
};

/// Returns |a - b| / |b| over all ranks; sites of one parity only if `only` is 0 or 1. NaN if a field holds one.
inline double relative_distance(const spinor_configuration& a, const spinor_configuration& b, const communicator& comm,
                                int only = -1) {
  double sums[2] = {0.0, 0.0};
  for (std::int64_t s = 0; s < a.geometry().local_volume(); ++s) {
    const coordinate x = a.geometry().local_coordinate(s);
    if (only >= 0 && parity(x) != only) continue;
    sums[0] += norm2(a(x) - b(x));
    sums[1] += norm2(b(x));
  }
  comm.sum(std::span(sums));
  return std::sqrt(sums[0] / sums[1]);
}

/// Returns the numbers of a canonical field as bytes, by global site: equal strings mean equal bits.
inline std::vector<double> site_numbers(const spinor_configuration& a) {
  std::vector<double> numbers;
  for (std::int64_t s = 0; s < a.geometry().local_volume(); ++s)
    for (int i = 0; i < spins; ++i)
      for (int c = 0; c < colours; ++c) {
        numbers.push_back(a.at_site(s)(i, c).re);
        numbers.push_back(a.at_site(s)(i, c).im);
      }
  return numbers;
}

inline bool same_bits(const spinor_configuration& a, const spinor_configuration& b) {
  const auto x = site_numbers(a), y = site_numbers(b);
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

/// Returns actions that between them use every term: Wilson, clover, anisotropic, twisted boundaries.
inline std::vector<fermion_action> actions_to_test() {
  fermion_action wilson = fermion_action::isotropic(0.1, 0.0);
  fermion_action clover = fermion_action::isotropic(-0.15, 1.7);
  clover.boundary_phase[3] = {1.0, 0.0};
  fermion_action anisotropic{0.05, 1.3, 0.9, 3.4, 0.95};
  anisotropic.boundary_phase = {complex<double>{std::cos(0.3), std::sin(0.3)}, complex<double>{-1.0, 0.0},
                                complex<double>{std::cos(1.1), -std::sin(1.1)},
                                complex<double>{std::cos(2.0), std::sin(2.0)}};
  return {wilson, clover, anisotropic};
}

}  // namespace plaquette::validation
