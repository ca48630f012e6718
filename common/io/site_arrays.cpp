// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/site_arrays.hpp"

#include <memory>
#include <vector>

#include "common/io/collective_error.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/lime.hpp"

namespace plaquette {

namespace {

/// This rank's sites into their places.
void write_own_sites(atomic_file_part& part, std::uint64_t offset, const site_array& array,
                     const lattice_geometry& geometry, site_checksum& checksum) {
  constexpr std::int64_t longest = 4096;
  std::vector<std::byte> buffer;
  for_each_contiguous_piece(geometry, longest, [&](std::int64_t first, std::int64_t count, std::int64_t global_first) {
    buffer.resize(static_cast<std::size_t>(count) * array.site_bytes);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto site = std::span(buffer).subspan(static_cast<std::size_t>(i) * array.site_bytes, array.site_bytes);
      array.encode(first + i, site);
      checksum.add(static_cast<std::uint64_t>(global_first + i), site, true);
    }
    part.write_at(offset + static_cast<std::uint64_t>(global_first) * array.site_bytes, buffer);
  });
}

}  // namespace

std::string broadcast_text(std::string text, const communicator& comm) {
  std::uint64_t size = text.size();
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(size);
  comm.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

void write_site_arrays(const std::string& path, existing_file existing, const lattice_geometry& geometry,
                       std::span<const site_array> arrays, const communicator& comm) {
  std::vector<std::uint64_t> begins, ends;  // of the numbers of each array
  std::uint64_t at = 0;
  for (const site_array& array : arrays) {
    const surroundings texts = array.compose(site_checksum(array.checksum));
    begins.push_back(at + texts.before.size());
    ends.push_back(begins.back() + static_cast<std::uint64_t>(geometry.global_volume()) * array.site_bytes);
    at = ends.back() + texts.after.size();
  }
  std::unique_ptr<atomic_file> whole;  // the first rank's: its destructor removes what was not committed
  on_all_ranks_or_none(comm, [&] {
    if (comm.rank() == 0) whole = std::make_unique<atomic_file>(path, existing);
  });
  const std::string temporary = broadcast_text(whole ? whole->temporary_path() : "", comm);
  std::vector<site_checksum> checksums;
  for (const site_array& array : arrays) checksums.emplace_back(array.checksum);
  on_all_ranks_or_none(comm, [&] {
    atomic_file_part part(temporary, path);
    for (std::size_t i = 0; i < arrays.size(); ++i) write_own_sites(part, begins[i], arrays[i], geometry, checksums[i]);
    part.finish();
  });
  for (site_checksum& checksum : checksums) checksum.combine(comm);
  on_all_ranks_or_none(comm, [&] {
    if (!whole) return;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const surroundings texts = arrays[i].compose(checksums[i]);
      whole->write_at(begins[i] - texts.before.size(), std::as_bytes(std::span(texts.before)));
      whole->write_at(ends[i], std::as_bytes(std::span(texts.after)));
    }
    whole->commit();
  });
}

std::string scidac_checksum_record(const site_checksum& checksum) {
  return lime_text_record(
      "scidac-checksum",
      xml_begin + xml_tag("scidacChecksum", xml_tag("version", "1.0") + xml_tag("suma", hexadecimal(checksum.first())) +
                                                xml_tag("sumb", hexadecimal(checksum.second()))),
      false, true);
}

}  // namespace plaquette
