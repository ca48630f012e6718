// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random numbers for lattice fields: each depends on (seed, stream, global site, draw) and on nothing else. So a field
/// is the same whatever the process grid, the number of threads and the order of the sites.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/random/philox.hpp"

namespace plaquette {

/// What random numbers are for. Two purposes never share a number, nor do two indices of one purpose (a right-hand
/// side, a sweep of the heat bath).
enum class random_purpose : std::uint8_t {
  test = 0,
  gauge_field = 1,
  gauge_transformation = 2,
  spinor = 3,
  heatbath = 4,
  momenta = 5,
  accept_step = 6,
};

/// Returns a stream: a purpose and an index below 2^56.
PLAQUETTE_HOST_DEVICE constexpr std::uint64_t random_stream_id(random_purpose purpose, std::uint64_t index = 0) {
  return static_cast<std::uint64_t>(purpose) << 56 | index;
}

/// The numbers of one site in one stream, drawn in sequence. At most 2^24 blocks of two numbers; sites below 2^40.
class random_stream {
 public:
  /// Two independent normal deviates.
  struct gaussian_pair {
    double first, second;
  };

  /// \param site  lexicographic index in the whole lattice, `lattice_geometry::global_index`
  PLAQUETTE_HOST_DEVICE constexpr random_stream(std::uint64_t seed, std::uint64_t stream, std::uint64_t site)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(stream),
                 static_cast<std::uint32_t>(stream >> 32)},
        site_above_(static_cast<std::uint32_t>(site >> 32) << 24) {}

  /// Returns the next 64 random bits.
  PLAQUETTE_HOST_DEVICE constexpr std::uint64_t bits() {
    if (!half_used_) {
      counter_[0] = site_above_ | block_++;
      block_bits_ = philox(counter_, key_);
    }
    // Chosen, not indexed: what is indexed at run time lies in a GPU's memory.
    const std::uint32_t low = half_used_ ? block_bits_[2] : block_bits_[0];
    const std::uint32_t high = half_used_ ? block_bits_[3] : block_bits_[1];
    half_used_ = !half_used_;
    return static_cast<std::uint64_t>(high) << 32 | low;
  }

  /// Returns a multiple of 2^-53, uniform in [0, 1).
  PLAQUETTE_HOST_DEVICE constexpr double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// Returns a multiple of 2^-53, uniform in (0, 1]: safe under a logarithm.
  PLAQUETTE_HOST_DEVICE constexpr double uniform_above_zero() {
    return static_cast<double>((bits() >> 11) + 1) * 0x1p-53;
  }

  /// Returns two normal deviates of mean 0 and variance 1, from two draws. (Box, Muller 1958)
  PLAQUETTE_HOST_DEVICE gaussian_pair gaussians() {
    constexpr double two_pi = 6.283185307179586476925286766559;
    const double radius = std::sqrt(-2.0 * std::log(uniform_above_zero()));
    const double angle = two_pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  philox_key key_;
  philox_counter counter_;
  philox_counter block_bits_{};
  std::uint32_t site_above_;  ///< bits 32 to 39 of the site, above the 24 of the block
  std::uint32_t block_ = 0;
  bool half_used_ = false;
};

}  // namespace plaquette
