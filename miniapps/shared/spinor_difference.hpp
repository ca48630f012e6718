// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The length of a spinor field of the host, and how far two of them are from each other.
#pragma once

#include <array>
#include <cmath>

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/fields/spinor_norm.hpp"

namespace plaquette {

using cpu::norm_of;

/// Returns |found - expected| / |expected| over all sites; NaN if either holds one. Collective.
inline double relative_difference(const spinor_configuration& found, const spinor_configuration& expected,
                                  const communicator& comm) {
  const auto [wrong, size] =
      cpu::sum_over_sites<2>(found.geometry(), comm, [&](const coordinate& x) -> std::array<double, 2> {
        return {norm2(found(x) - expected(x)), norm2(expected(x))};
      });
  return std::sqrt(wrong / size);
}

}  // namespace plaquette
