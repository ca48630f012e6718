// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The norm of a canonical spinor field of any size: squares of numbers below 1e-162 or above 1e154 are none.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

/// Returns the power of two that makes the largest number of a field about 1, so that squares neither underflow nor
/// overflow; 1 for zero and for fields that are not finite. Collective.
inline double factor_to_one(const spinor_configuration& x, const communicator& comm) {
  double largest = 0.0;
  const std::int64_t sites = x.geometry().local_volume();
#pragma omp parallel for reduction(max : largest)
  for (std::int64_t site = 0; site < sites; ++site)
    for (const colour_vector<double>& v : x.at_site(site).s)
      for (const complex<double>& z : v.c) largest = std::max({largest, std::abs(z.re), std::abs(z.im)});
  std::array<double, 1> all{largest};
  comm.maximum(std::span(all));
  if (!(all[0] > 0.0 && std::isfinite(all[0]))) return 1.0;
  return std::ldexp(1.0, std::min(-std::ilogb(all[0]), 1000));
}

/// Returns |x|; NaN if x holds one. Collective.
inline double norm_of(const spinor_configuration& x, const communicator& comm) {
  const double factor = factor_to_one(x, comm);
  const auto sum = sum_over_sites<1>(
      x.geometry(), comm, [&](const coordinate& at) -> std::array<double, 1> { return {norm2(factor * x(at))}; });
  return std::sqrt(sum[0]) / factor;
}

}  // namespace plaquette::cpu
