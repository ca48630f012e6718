// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The checksums of gauge configuration files. All combine site by site in any order, hence over ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Returns the CRC of zip and Ethernet (polynomial 0x04c11db7, reflected, complemented before and after).
/// \param before  that of what comes before `data`
std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t before = 0);

enum class checksum_kind {
  none,
  nersc,   ///< sum of all 32-bit words modulo 2^32
  scidac,  ///< exclusive or of the sites' CRC-32, rotated by the site's index modulo 29 (first) and 31 (second)
  milc     ///< exclusive or of the 32-bit words, rotated by the word's index modulo 29 (first) and 31 (second)
};

/// A checksum under way, over the bytes as they stand in the file.
class site_checksum {
 public:
  explicit site_checksum(checksum_kind kind) : kind_(kind) {}

  /// \param site        index of the site in the file
  /// \param data        all bytes of the site
  /// \param big_endian  order of the bytes within a word of the file
  void add(std::uint64_t site, std::span<const std::byte> data, bool big_endian);

  /// Combines the checksums of all ranks. Collective.
  void combine(const communicator& comm);

  /// As the format's headers write it: "337cf07b", or two such numbers with a blank between; empty for `none`.
  std::string text() const;
  std::uint32_t first() const { return first_; }
  std::uint32_t second() const { return second_; }

 private:
  checksum_kind kind_;
  std::uint32_t first_ = 0, second_ = 0;
};

/// Returns eight hexadecimal digits.
std::string hexadecimal(std::uint32_t value);

}  // namespace plaquette
