// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Functions that tests of coarse lattices share: null vectors from random fields, and distances.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "common/krylov/batch.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::validation {

/// Fills an output, so that a number that is left out shows.
template <class T>
void poison(cpu::coarse_field<T>& x) {
  for (std::int64_t s = 0; s < x.sites(); ++s)
    for (int c = 0; c < x.columns(); ++c)
      for (int k = 0; k < x.components(); ++k)
        x.at(s, c)[k] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
}

/// Returns |a - b| / |b|, the largest of all columns; NaN if a number is.
template <class Field>
double distance(const Field& a, const Field& b) {
  Field difference = like(a);
  const auto d2 = host_values(subtract_norm2(difference, a, b)), b2 = host_values(norm2(b));
  double worst = 0.0;
  for (std::size_t c = 0; c < d2.size(); ++c) {
    const double relative = std::sqrt(d2[c].re / b2[c].re);
    if (!(relative <= worst)) worst = relative;
  }
  return worst;
}

inline cpu::field<double> random_fine_field(const cpu::context& ctx, int columns, std::uint64_t seed,
                                            site_subset sites = site_subset::full) {
  cpu::field<double> x(ctx, {spins, colours, sites, columns});
  for (int c = 0; c < columns; ++c)
    import_column(x, c, cpu::random_spinor(ctx.geometry(), seed, static_cast<std::uint64_t>(c), ctx.comm()));
  return x;
}

/// A lattice, its quarks' operator, orthonormal random null vectors and the coarse operator.
struct coarse_setting {
  cpu::context ctx;
  gauge_configuration links;
  fermion_action action;
  cpu::wilson_clover<double> fine;
  cpu::field<double> seeds;  ///< the fields that the null vectors were made of
  null_space vectors;
  coarse_matrices numbers;
  cpu::transfer<double> p;
  cpu::coarse_operator<double> coarse;

  coarse_setting(const cpu::context& context, const fermion_action& with, const extents& aggregate, int count)
      : ctx(context),
        links(cpu::weak_field_configuration(ctx.geometry(), 0.3, 11, ctx.comm())),
        action(with),
        fine(ctx, links, action),
        seeds(random_fine_field(ctx, count, 21)),
        vectors(orthonormal(cpu::gathered(seeds, aggregates(ctx.geometry(), coarsened(ctx.geometry(), aggregate))))),
        numbers(cpu::galerkin_product(ctx, links, action, vectors)),
        p(ctx, vectors),
        coarse(ctx, numbers) {}

  null_space orthonormal(null_space v) const {
    EXPECT_EQ(cpu::orthonormalise(v, ctx).replaced(), 0);
    return v;
  }
  cpu::coarse_field<double> random_coarse(int columns, std::uint64_t seed) const {
    auto x = p.coarse_like(columns);
    fill_random(x, seed, 0);
    return x;
  }
};

/// Null vectors and coarse matrices are stored in single precision: 2^-24 each number, products of some hundred of
/// random sign. Orthonormality, projections and Galerkin identities hold to a few of that; measured 1 to 3e-7.
inline constexpr double single_precision_bound = 16 * 0x1p-24;

}  // namespace plaquette::validation
