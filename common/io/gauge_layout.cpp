// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/gauge_layout.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "common/algebra/su3.hpp"
#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/text.hpp"

namespace plaquette {

std::uint64_t checked_volume(const byte_source& source, const std::array<std::int64_t, dimensions>& lattice) {
  constexpr std::int64_t longest = 1 << 16, largest = std::int64_t{1} << 40;
  std::int64_t sites = 1;
  for (const std::int64_t length : lattice) {
    if (length >= 1 && length <= longest) sites *= length;
    if (length < 1 || length > longest || sites > largest) {
      std::string found;
      for (const std::int64_t each : lattice) found += joined({found.empty() ? "" : "x", std::to_string(each)});
      throw input_error(source.name() + ": expected four positive extents of at most 2^16 and 2^40 sites, found " +
                        found);
    }
  }
  return static_cast<std::uint64_t>(sites);
}

void require_size(const byte_source& source, const described_gauge& file) {
  require_size(source, file, std::string(name_of(file.header.format)) + ", " + to_string(file.header.lattice));
}

void require_size(const byte_source& source, const described_gauge& file, const std::string& what) {
  const auto sites = static_cast<std::uint64_t>(volume(file.header.lattice));
  const std::uint64_t expected = file.layout.data_offset + sites * site_bytes(file.header);
  if (source.size() == expected) return;
  throw input_error(source.name() + (source.size() < expected ? ": truncated" : ": followed by other bytes") +
                    ": its header (" + what + ", " + std::to_string(file.header.precision_bits) + " bits, " +
                    (file.header.two_row ? "two rows" : "3x3") + ") means " + std::to_string(expected) +
                    " bytes, found " + std::to_string(source.size()));
}

su3<double> decode_link(std::span<const std::byte> data, const gauge_file_header& header) {
  su3<double> link;
  const std::byte* next = data.data();
  const auto number = [&] {
    const double value = load_real_of(next, header.precision_bits, header.big_endian);
    next += header.precision_bits / 8;
    return value;
  };
  for (int i = 0; i < rows_of(header); ++i)
    for (int j = 0; j < colours; ++j) {
      link(i, j).re = number();
      link(i, j).im = number();
    }
  if (header.two_row) complete_third_row(link);
  return link;
}

void encode_link(std::span<std::byte> data, const su3<double>& link, const gauge_file_header& header) {
  std::byte* next = data.data();
  const auto number = [&](double value) {
    store_real_of(next, value, header.precision_bits, header.big_endian);
    next += header.precision_bits / 8;
  };
  for (int i = 0; i < rows_of(header); ++i)
    for (int j = 0; j < colours; ++j) {
      number(link(i, j).re);
      number(link(i, j).im);
    }
}

std::uint64_t odd_record_offset(const described_gauge& file, const coordinate& x) {
  const extents& l = file.header.lattice;
  // Every line along z has as many odd sites as even ones: z / 2 of its odd sites come before this one.
  const std::int64_t line = (static_cast<std::int64_t>(x[3]) * l[0] + x[0]) * l[1] + x[1];
  const auto record = static_cast<std::uint64_t>(line * (l[2] / 2) + x[2] / 2);
  return file.layout.data_offset + record * links_per_record * link_bytes(file.header);
}

std::uint64_t link_offset(const described_gauge& file, const coordinate& x, int mu) {
  const auto place =
      static_cast<std::uint64_t>(std::ranges::find(file.layout.direction, mu) - file.layout.direction.begin());
  if (file.header.format != gauge_format::openqcd)
    return file.layout.data_offset +
           static_cast<std::uint64_t>(lexicographic(x, file.header.lattice)) * site_bytes(file.header) +
           place * link_bytes(file.header);
  if (parity(x) == 1) return odd_record_offset(file, x) + 2 * place * link_bytes(file.header);
  coordinate above = x;
  above[mu] = (x[mu] + 1) % file.header.lattice[mu];
  return odd_record_offset(file, above) + (2 * place + 1) * link_bytes(file.header);
}

namespace {

/// True where the last 29 bits of the fraction are zero, so that a float holds it (unless it is beyond a float's range,
/// which a link's entries are not). Asked of the bits: g++ 12.2 at -O2 takes double -> float -> double of neighbouring
/// numbers to be no change.
bool is_a_float(double value) { return (std::bit_cast<std::uint64_t>(value) & 0x1fffffff) == 0; }

}  // namespace

bool has_floats(const su3<double>& link, int precision_bits) {
  bool floats = true;
  for (int i = 0; i < colours - 1; ++i)
    for (int j = 0; j < colours; ++j) floats = floats && is_a_float(link(i, j).re) && is_a_float(link(i, j).im);
  return precision_bits == 32 || floats;
}

double su3_tolerance(const su3<double>& link, int precision_bits) {
  return 1024 * (has_floats(link, precision_bits) ? 0x1p-24 : 0x1p-53);
}

bool has_drifted(const su3<double>& link, double distance, int precision_bits) {
  return !has_floats(link, precision_bits) && distance > su3_tolerance(link, precision_bits) &&
         distance <= drift_of_doubles;
}

void take_back(su3<double>& link) {
  link = reunitarised(link, [](double x) { return std::sqrt(x); });
}

std::string remark_on_drift(std::int64_t links, double distance) {
  char text[160];
  std::snprintf(text, sizeof text,
                "%lld links were up to %.1e off SU(3), as updates in double precision leave them, and were taken back",
                static_cast<long long>(links), distance);
  return text;
}

double claim_tolerance(double unit, int precision_bits, double sites) {
  const double stored = precision_bits == 32 ? 0x1p-24 : 0x1p-53;
  constexpr double summed = 0x1p-53;
  return std::min(unit, 1e-3) + 4 * stored / std::sqrt(sites) + summed * (4 + std::sqrt(6 * sites));
}

void require_no_unsuitable_link(const std::string& name, const std::optional<unsuitable_link>& own,
                                const lattice_geometry& geometry, const communicator& comm, const std::string& help) {
  constexpr double nowhere = -1e300;
  double first = own ? -static_cast<double>(own->global_site) : nowhere;  // the smallest index as a maximum
  comm.maximum({&first, 1});
  if (first == nowhere) return;
  on_all_ranks_or_none(comm, [&] {
    if (!own || -static_cast<double>(own->global_site) != first) return;
    const coordinate x = coordinate_of(own->global_site, geometry.global());
    std::string place = "(";
    for (int mu = 0; mu < dimensions; ++mu) place += std::to_string(x[mu]) + (mu < 3 ? ", " : ")");
    throw input_error(name + ": expected links in SU(3), found one at site (x, y, z, t) = " + place + ", direction " +
                      "xyzt"[own->mu] + ", with a distance of " + short_number(own->distance) + help);
  });
}

}  // namespace plaquette
