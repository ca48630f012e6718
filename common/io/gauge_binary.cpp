// SPDX-License-Identifier: BSD-3-Clause
// Formats with a short binary header: MILC v5, and openQCD and DDalphaAMG, which begin alike.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/text.hpp"

namespace plaquette {

namespace {

std::array<std::int64_t, dimensions> four_integers(const byte_source& source, std::uint64_t offset, bool big_endian) {
  std::array<std::byte, 4 * dimensions> data{};
  source.read(offset, data);
  std::array<std::int64_t, dimensions> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(load_unsigned<std::uint32_t>(data.data() + 4 * i, big_endian));
  return values;
}

std::uint32_t word_at(const byte_source& source, std::uint64_t offset, bool big_endian) {
  std::array<std::byte, 4> data{};
  source.read(offset, data);
  return load_unsigned<std::uint32_t>(data.data(), big_endian);
}

}  // namespace

// MILC v5: magic, 4 extents (x, y, z, t), 64 characters of date, order of sites (0: natural), then two checksums.
described_gauge describe_milc(const byte_source& source, bool big_endian) {
  constexpr std::uint64_t extents_at = 4, date_at = 20, date_bytes = 64, order_at = 84, checksums_at = 88,
                          links_at = 96;
  described_gauge file;
  gauge_file_header& header = file.header;
  header.format = gauge_format::milc_v5;
  header.precision_bits = 32;
  header.big_endian = big_endian;
  const auto lattice = four_integers(source, extents_at, big_endian);
  checked_volume(source, lattice);
  std::ranges::transform(lattice, header.lattice.begin(), [](std::int64_t length) { return static_cast<int>(length); });
  const std::string date = source.read_text(date_at, date_bytes);
  header.text["time_stamp"] = printable(date.substr(0, date.find('\0')));
  if (const std::uint32_t order = word_at(source, order_at, big_endian); order != 0)
    throw input_error(source.name() + ": expected sites in natural order (0) in the MILC header, found order " +
                      std::to_string(order));
  header.checksum_claimed = hexadecimal(word_at(source, checksums_at, big_endian)) + ' ' +
                            hexadecimal(word_at(source, checksums_at + 4, big_endian));
  file.layout.data_offset = links_at;
  file.layout.checksum = checksum_kind::milc;
  require_size(source, file);
  return file;
}

namespace {

/// openQCD begins with extents (t, x, y, z), DDalphaAMG with (t, z, y, x); then both have three times the average
/// plaquette as a double, and as many links. Which of the two a file is shows in where its plaquettes close.
described_gauge binary_layout(gauge_format format, const std::array<std::int64_t, dimensions>& numbers, bool big_endian,
                              double plaquette) {
  described_gauge file;
  gauge_file_header& header = file.header;
  header.format = format;
  header.precision_bits = 64;
  header.big_endian = big_endian;
  header.plaquette = plaquette;
  file.layout.data_offset = 4 * dimensions + 8;
  file.layout.direction = format == gauge_format::openqcd ? std::array{3, 0, 1, 2} : std::array{3, 2, 1, 0};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    header.lattice[static_cast<std::size_t>(file.layout.direction[i])] = static_cast<int>(numbers[i]);
  header.plaquette_tolerance = claim_tolerance(0.0, 64, 6 * static_cast<double>(volume(header.lattice)));
  return file;
}

su3<double> link_at(const byte_source& source, const described_gauge& file, coordinate x, int mu) {
  for (int nu = 0; nu < dimensions; ++nu) x[nu] %= file.header.lattice[nu];
  std::array<std::byte, colours * colours * 16> data{};
  source.read(link_offset(file, x, mu), data);
  return decode_link(data, file.header);
}

/// Average of Re tr P / 3 over the planes of `sample` sites, evenly spread over the file's lattice.
double sampled_plaquette(const byte_source& source, const described_gauge& file, std::int64_t sample) {
  const std::int64_t sites = volume(file.header.lattice);
  double sum = 0.0;
  for (std::int64_t i = 0; i < sample; ++i) {
    // i * sites may pass 2^63 only for samples of more than 2^23 sites, which are whole lattices, then i itself.
    const coordinate x = coordinate_of(sample == sites ? i : i * sites / sample, file.header.lattice);
    for (int mu = 1; mu < dimensions; ++mu)
      for (int nu = 0; nu < mu; ++nu) {
        const su3<double> there = link_at(source, file, x, mu) * link_at(source, file, shifted(x, mu, +1), nu);
        const su3<double> back = link_at(source, file, x, nu) * link_at(source, file, shifted(x, nu, +1), mu);
        sum += trace(there * adjoint(back)).re / colours;
      }
  }
  return sum / (6.0 * static_cast<double>(sample));
}

/// The one of two layouts whose plaquettes are nearer to the one claimed.
described_gauge likelier(const byte_source& source, const described_gauge& a, const described_gauge& b,
                         const std::optional<extents>& expected) {
  const std::int64_t sites = volume(a.header.lattice);
  // A plaquette in SU(3) scatters by less than 1: five standard deviations of the sample's mean, twice.
  const std::int64_t sample = std::min<std::int64_t>(sites, 1024);
  const double margin =
      sample == sites ? a.header.plaquette_tolerance : 10.0 / std::sqrt(6.0 * static_cast<double>(sample));
  double off_a = std::abs(sampled_plaquette(source, a, sample) - a.header.plaquette);
  double off_b = std::abs(sampled_plaquette(source, b, sample) - b.header.plaquette);
  if (sample < sites && !(std::abs(off_a - off_b) > margin)) {
    off_a = std::abs(sampled_plaquette(source, a, sites) - a.header.plaquette);
    off_b = std::abs(sampled_plaquette(source, b, sites) - b.header.plaquette);
  }
  if (std::abs(off_a - off_b) > a.header.plaquette_tolerance) return off_a < off_b ? a : b;
  return expected && *expected == b.header.lattice ? b : a;  // a constant field closes in both
}

}  // namespace

described_gauge describe_binary(const byte_source& source, bool big_endian, const std::optional<extents>& expected) {
  const auto numbers = four_integers(source, 0, big_endian);
  checked_volume(source, numbers);
  std::array<std::byte, 8> data{};
  source.read(4 * dimensions, data);
  const double plaquette = load_real<double>(data.data(), big_endian) / 3;
  const described_gauge openqcd = binary_layout(gauge_format::openqcd, numbers, big_endian, plaquette);
  const described_gauge ddalphaamg = binary_layout(gauge_format::ddalphaamg, numbers, big_endian, plaquette);
  require_size(source, openqcd);
  if (!(std::abs(plaquette) <= 1 + 1e-12))
    throw input_error(source.name() +
                      ": expected three times an average plaquette between -1 and 1 at offset 16, found " +
                      short_number(3 * plaquette));
  const bool even = std::ranges::all_of(numbers, [](std::int64_t length) { return length % 2 == 0; });
  return even ? likelier(source, openqcd, ddalphaamg, expected) : ddalphaamg;
}

}  // namespace plaquette
