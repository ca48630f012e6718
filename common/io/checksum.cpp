// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/checksum.hpp"

#include <array>
#include <bit>
#include <cstdio>

#include "common/io/byte_order.hpp"

namespace plaquette {

namespace {

/// table[k][b]: the remainder of byte b followed by k zero bytes, so that four bytes are taken in one step.
constexpr auto crc_tables = [] {
  std::array<std::array<std::uint32_t, 256>, 4> table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t remainder = b;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) ? 0xedb88320u : 0u);
    table[0][b] = remainder;
  }
  for (std::size_t k = 1; k < 4; ++k)
    for (std::size_t b = 0; b < 256; ++b) table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
  return table;
}();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t before) {
  std::uint32_t crc = ~before;
  std::size_t i = 0;
  for (; i + 4 <= data.size(); i += 4) {
    crc ^= load_unsigned<std::uint32_t>(data.data() + i, false);
    crc = crc_tables[3][crc & 0xff] ^ crc_tables[2][(crc >> 8) & 0xff] ^ crc_tables[1][(crc >> 16) & 0xff] ^
          crc_tables[0][crc >> 24];
  }
  for (; i < data.size(); ++i) crc = (crc >> 8) ^ crc_tables[0][(crc ^ static_cast<std::uint32_t>(data[i])) & 0xff];
  return ~crc;
}

void site_checksum::add(std::uint64_t site, std::span<const std::byte> data, bool big_endian) {
  const std::uint64_t words = data.size() / 4;
  const auto word = [&](std::uint64_t i) { return load_unsigned<std::uint32_t>(data.data() + 4 * i, big_endian); };
  switch (kind_) {
    case checksum_kind::none:
      return;
    case checksum_kind::nersc:
      for (std::uint64_t i = 0; i < words; ++i) first_ += word(i);
      return;
    case checksum_kind::scidac: {
      const std::uint32_t crc = crc32(data);
      first_ ^= std::rotl(crc, static_cast<int>(site % 29));
      second_ ^= std::rotl(crc, static_cast<int>(site % 31));
      return;
    }
    case checksum_kind::milc:
      for (std::uint64_t i = 0; i < words; ++i) {
        const std::uint64_t index = site * words + i;
        first_ ^= std::rotl(word(i), static_cast<int>(index % 29));
        second_ ^= std::rotl(word(i), static_cast<int>(index % 31));
      }
      return;
  }
}

void site_checksum::combine(const communicator& comm) {
  if (kind_ == checksum_kind::nersc) {
    std::uint64_t sum = first_;
    comm.sum({&sum, 1});
    first_ = static_cast<std::uint32_t>(sum);
  } else {
    std::uint32_t both[] = {first_, second_};
    comm.exclusive_or(both);
    first_ = both[0];
    second_ = both[1];
  }
}

std::string hexadecimal(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", value);
  return text;
}

std::string site_checksum::text() const {
  if (kind_ == checksum_kind::none) return {};
  if (kind_ == checksum_kind::nersc) return hexadecimal(first_);
  return hexadecimal(first_) + ' ' + hexadecimal(second_);
}

}  // namespace plaquette
