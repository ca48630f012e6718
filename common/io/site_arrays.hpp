// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arrays of numbers, one entry a site, x fastest, in a file that all ranks write together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common/comms/communicator.hpp"
#include "common/io/atomic_file.hpp"
#include "common/io/checksum.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// What stands before and after an array.
struct surroundings {
  std::string before, after;
};
/// Both may depend on the array's checksum, but their lengths must not.
using compose_surroundings = std::function<surroundings(const site_checksum&)>;

struct site_array {
  std::uint64_t site_bytes;
  checksum_kind checksum;
  /// Writes the bytes of a local site, big-endian.
  std::function<void(std::int64_t site, std::span<std::byte> data)> encode;
  compose_surroundings compose;
};

/// Writes arrays one after the other; ranks write their own boxes into one file, which appears complete or not at all
/// (atomic_file.hpp). Throws output_error, on all ranks together, where it cannot be written. Collective.
void write_site_arrays(const std::string& path, existing_file existing, const lattice_geometry& geometry,
                       std::span<const site_array> arrays, const communicator& comm);

/// Returns the first rank's text on all ranks. Collective.
std::string broadcast_text(std::string text, const communicator& comm);

/// Returns the record "scidac-checksum" that ends a message.
std::string scidac_checksum_record(const site_checksum& checksum);

}  // namespace plaquette
