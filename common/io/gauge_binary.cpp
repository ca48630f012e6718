// SPDX-License-Identifier: BSD-3-Clause
// Formats with a short binary header: MILC v4 and v5, and openQCD and DDalphaAMG, which begin alike.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "common/algebra/su3.hpp"
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

// MILC v1 to v4: magic, 4 extents (x, y, z, t), two couplings (floats); links as in v5, without a checksum.
described_gauge describe_milc_v4(const byte_source& source, bool big_endian) {
  constexpr std::uint64_t extents_at = 4, links_at = 28;
  described_gauge file;
  gauge_file_header& header = file.header;
  header.format = gauge_format::milc_v4;
  header.precision_bits = 32;
  header.big_endian = big_endian;
  const auto lattice = four_integers(source, extents_at, big_endian);
  checked_volume(source, lattice);
  std::ranges::transform(lattice, header.lattice.begin(), [](std::int64_t length) { return static_cast<int>(length); });
  file.layout.data_offset = links_at;
  require_size(source, file);
  header.remarks.push_back(
      "MILC's format of versions 1 to 4 has no checksum: that its links are in SU(3) is all that was checked");
  return file;
}

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
  header.text["time_stamp"] = one_line(date.substr(0, date.find('\0')));
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
  header.plaquette_tolerance = claim_tolerance(0.0, 64, static_cast<double>(volume(header.lattice)));
  return file;
}

su3<double> link_at(const byte_source& source, const described_gauge& file, coordinate x, int mu) {
  for (int nu = 0; nu < dimensions; ++nu) x[nu] %= file.header.lattice[nu];
  std::array<std::byte, colours * colours * 16> data{};
  source.read(link_offset(file, x, mu), data);
  return decode_link(data, file.header);
}

/// True for a link that a plaquette can be judged by; zero is one, since openQCD's open boundaries count as zero.
bool is_usable(const su3<double>& link) { return link == su3<double>{} || distance_from_su3(link) <= 1e-6; }

struct plaquette_sample {
  double average = 0.0;  ///< of Re tr P / 3 over all planes of the sites, those with a damaged link counted as 0
  double doubt = 0.0;    ///< how much the damaged ones may change that
};

/// The planes of `count` sites, evenly spread over the file's lattice.
plaquette_sample sampled_plaquette(const byte_source& source, const described_gauge& file, std::int64_t count) {
  const std::int64_t sites = volume(file.header.lattice);
  double sum = 0.0;
  std::int64_t damaged = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    // i * sites would pass 2^63 only for more than 2^23 sites, and then count is small or all of them.
    const coordinate x = coordinate_of(count == sites ? i : i * sites / count, file.header.lattice);
    std::array<su3<double>, dimensions> here;
    for (int mu = 0; mu < dimensions; ++mu) here[static_cast<std::size_t>(mu)] = link_at(source, file, x, mu);
    for (int mu = 1; mu < dimensions; ++mu)
      for (int nu = 0; nu < mu; ++nu) {
        const std::array links{here[static_cast<std::size_t>(mu)], link_at(source, file, shifted(x, mu, +1), nu),
                               link_at(source, file, shifted(x, nu, +1), mu), here[static_cast<std::size_t>(nu)]};
        if (std::ranges::all_of(links, is_usable))
          sum += trace(links[0] * links[1] * adjoint(links[3] * links[2])).re / colours;
        else
          ++damaged;
      }
  }
  const double planes = 6.0 * static_cast<double>(count);
  return {sum / planes, static_cast<double>(damaged) / planes};
}

/// Whether two layouts of one lattice read the same links.
bool are_same_links(const byte_source& source, const described_gauge& a, const described_gauge& b) {
  const std::int64_t sites = volume(a.header.lattice);
  for (std::int64_t i = 0; i < sites; ++i) {
    const coordinate x = coordinate_of(i, a.header.lattice);
    for (int mu = 0; mu < dimensions; ++mu)
      if (!(link_at(source, a, x, mu) == link_at(source, b, x, mu))) return false;
  }
  return true;
}

/// The one of two layouts in which the plaquettes are what the header claims. Throws input_error where they are so in
/// neither, or in both and it matters.
described_gauge likelier(const byte_source& source, const described_gauge& a, const described_gauge& b,
                         const std::optional<extents>& expected) {
  const double claimed = a.header.plaquette;
  const std::int64_t sites = volume(a.header.lattice);
  constexpr std::int64_t sample = 1024;
  const auto excess = [&](const described_gauge& file, std::int64_t count, double tolerance) {
    const plaquette_sample found = sampled_plaquette(source, file, count);
    return std::abs(found.average - claimed) - found.doubt - tolerance;
  };
  if (sites > sample) {
    // A plaquette scatters by less than 0.5: five standard deviations of the sample's mean, twice.
    const double margin = 5.0 / std::sqrt(6.0 * static_cast<double>(sample));
    const bool a_fits = excess(a, sample, margin) <= 0, b_fits = excess(b, sample, margin) <= 0;
    if (a_fits != b_fits) return a_fits ? a : b;
  }
  // In the wrong order the average is that of products of unrelated links, 0 to within 0.24 / sqrt(6 sites).
  constexpr double same = 1e-6;
  const double off_a = excess(a, sites, same), off_b = excess(b, sites, same);
  if (!(off_a <= 0) && !(off_b <= 0))
    throw input_error(source.name() + ": expected plaquette " + short_number(claimed) +
                      " as its header says, found one that is off by " + short_number(off_a) +
                      " (openQCD's order of links) or " + short_number(off_b) + " (DDalphaAMG's)");
  if ((off_a <= 0) != (off_b <= 0)) return off_a <= 0 ? a : b;
  // A constant field closes in both, a damaged one may seem to: then the requested lattice decides.
  if (a.header.lattice != b.header.lattice) {
    if (expected && (a.header.lattice == *expected) != (b.header.lattice == *expected))
      return a.header.lattice == *expected ? a : b;
  } else if (are_same_links(source, a, b)) {
    return a;
  }
  throw input_error(source.name() + ": expected plaquettes that tell openQCD's order of links, on " +
                    to_string(a.header.lattice) + ", from DDalphaAMG's, on " + to_string(b.header.lattice) +
                    ", found them the same in both (--lattice decides where the two differ; NERSC and ILDG files say " +
                    "what they hold)");
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
  // Which of the two it is only the links tell.
  require_size(
      source, openqcd,
      "openQCD " + to_string(openqcd.header.lattice) + " or DDalphaAMG " + to_string(ddalphaamg.header.lattice));
  if (!(std::abs(plaquette) <= 1 + openqcd.header.plaquette_tolerance))
    throw input_error(source.name() +
                      ": expected three times an average plaquette between -1 and 1 at offset 16, found " +
                      short_number(3 * plaquette));
  const bool even = std::ranges::all_of(numbers, [](std::int64_t length) { return length % 2 == 0; });
  return even ? likelier(source, openqcd, ddalphaamg, expected) : ddalphaamg;
}

}  // namespace plaquette
