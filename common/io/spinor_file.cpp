// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/spinor_file.hpp"

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/scidac.hpp"

namespace plaquette {

namespace {

spinor<double> decode_spinor(std::span<const std::byte> data, int precision_bits) {
  spinor<double> value;
  const std::byte* next = data.data();
  const auto number = [&] {
    const double real = load_real_of(next, precision_bits, true);
    next += precision_bits / 8;
    return real;
  };
  for (int spin = 0; spin < spins; ++spin)
    for (int colour = 0; colour < colours; ++colour) {
      value(spin, colour).re = number();
      value(spin, colour).im = number();
    }
  return value;
}

/// Returns false where a number of this rank's box is not finite.
bool read_own_spinors(const byte_source& source, const scidac_field& field, spinor_configuration& spinors,
                      site_checksum& checksum) {
  constexpr std::int64_t longest = 4096;
  const auto per_site = static_cast<std::uint64_t>(spinor_reals * field.precision_bits / 8);
  std::vector<std::byte> buffer;
  bool finite = true;
  for_each_contiguous_piece(
      spinors.geometry(), longest, [&](std::int64_t first, std::int64_t count, std::int64_t global_first) {
        buffer.resize(static_cast<std::size_t>(count) * per_site);
        source.read(field.offset + static_cast<std::uint64_t>(global_first) * per_site, buffer);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto site =
              std::span<const std::byte>(buffer).subspan(static_cast<std::size_t>(i) * per_site, per_site);
          checksum.add(static_cast<std::uint64_t>(global_first + i), site, true);
          spinors.at_site(first + i) = decode_spinor(site, field.precision_bits);
          // The sum of 24 squares is finite where all numbers are, unless they are beyond 1e153.
          finite = finite && std::isfinite(norm2(spinors.at_site(first + i)));
        }
      });
  return finite;
}

}  // namespace

extents lime_spinor_lattice(const byte_source& source) {
  return find_scidac_field(source, lime_records(source), scidac_content::spinor).lattice;
}

spinor_configuration read_lime_spinor(const byte_source& source, const lattice_geometry& geometry,
                                      const communicator& comm) {
  std::optional<spinor_configuration> spinors;
  site_checksum checksum(checksum_kind::scidac);
  scidac_field field;
  bool finite = true;
  on_all_ranks_or_none(comm, [&] {
    field = find_scidac_field(source, lime_records(source), scidac_content::spinor);
    if (field.lattice != geometry.global())
      throw input_error(source.name() + ": expected a lattice of " + to_string(geometry.global()) + ", found " +
                        to_string(field.lattice));
    spinors.emplace(geometry);
    finite = read_own_spinors(source, field, *spinors, checksum);
  });
  checksum.combine(comm);
  if (!field.checksum.empty() && field.checksum != checksum.text())
    throw input_error(source.name() + ": wrong checksum: expected " + field.checksum + ", found " + checksum.text());
  on_all_ranks_or_none(comm, [&] {
    if (!finite) throw input_error(source.name() + ": expected finite numbers in the spinor field, found others");
  });
  exchange_ghosts(*spinors, comm);
  return std::move(*spinors);
}

spinor_configuration read_lime_spinor(const std::string& path, const lattice_geometry& geometry,
                                      const communicator& comm) {
  std::unique_ptr<file_source> source;
  on_all_ranks_or_none(comm, [&] { source = std::make_unique<file_source>(path); });
  return read_lime_spinor(*source, geometry, comm);
}

}  // namespace plaquette
