// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Noise for stochastic sources, on host and device.
#pragma once

#include <cstdint>

#include "common/algebra/complex.hpp"
#include "common/lattice/momentum_phase.hpp"
#include "common/random/random_stream.hpp"

namespace plaquette {

enum class noise_kind {
  z2,  ///< 1, -1
  z4   ///< 1, i, -1, -i
};

/// Noise on a time slice. A site's number is the same for all spins and colours.
struct noise_description {
  noise_kind kind = noise_kind::z2;
  int time = 0;  ///< global
  std::uint64_t seed = 1;
  lattice_momentum momentum{0, 0, 0};  ///< of a plane wave e^(i p x), by which the noise is multiplied
};

/// Returns the number of a site: each of its kind is as likely as the others.
/// \param site  lexicographic index in the whole lattice
PLAQUETTE_HOST_DEVICE inline complex<double> noise_number(noise_kind kind, std::uint64_t seed, std::uint64_t site) {
  constexpr std::uint64_t stream = std::uint64_t{0x6e} << 56;  // no purpose of random_stream_id has it
  random_stream numbers(seed, stream, site);
  const std::uint64_t bits = numbers.bits();
  const double sign = (bits & 1) != 0 ? -1.0 : 1.0;
  return kind == noise_kind::z4 && (bits & 2) != 0 ? complex<double>{0.0, sign} : complex<double>{sign, 0.0};
}

}  // namespace plaquette
