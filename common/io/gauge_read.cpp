// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/lime.hpp"
#include "common/io/text.hpp"

namespace plaquette {

std::string_view name_of(gauge_format format) {
  switch (format) {
    case gauge_format::nersc:
      return "NERSC";
    case gauge_format::ildg:
      return "ILDG";
    case gauge_format::scidac:
      return "SciDAC";
    case gauge_format::milc_v4:
      return "MILC v4";
    case gauge_format::milc_v5:
      return "MILC v5";
    case gauge_format::openqcd:
      return "openQCD";
    case gauge_format::ddalphaamg:
      return "DDalphaAMG";
  }
  return "unknown";
}

namespace {

constexpr std::string_view nersc_start = "BEGIN_HEADER";
constexpr std::uint32_t milc_magic = 20103, milc_v4_magic = 59354;

/// True where the file may begin with four extents in this byte order; below 2^16 they are beyond it in the other
/// order.
bool begins_with_extents(std::span<const std::byte> start, bool big_endian) {
  if (start.size() < 4 * dimensions) return false;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto length = load_unsigned<std::uint32_t>(start.data() + 4 * i, big_endian);
    if (length < 1 || length >= (1u << 16)) return false;
  }
  return true;
}

}  // namespace

described_gauge describe_gauge(const byte_source& source, const std::optional<extents>& expected) {
  std::array<std::byte, 4 * dimensions> buffer{};
  const auto start = std::span(buffer).first(std::min<std::size_t>(buffer.size(), source.size()));
  source.read(0, start);
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (text.starts_with(nersc_start)) return describe_nersc(source);
  if (start.size() >= 4) {
    if (load_unsigned<std::uint32_t>(start.data(), true) == lime_magic) return describe_lime(source, expected);
    for (const bool big_endian : {true, false}) {
      const auto magic = load_unsigned<std::uint32_t>(start.data(), big_endian);
      if (magic == milc_magic) return describe_milc(source, big_endian);
      if (magic == milc_v4_magic) return describe_milc_v4(source, big_endian);
    }
  }
  for (const bool big_endian : {false, true})
    if (begins_with_extents(start, big_endian)) return describe_binary(source, big_endian, expected);
  throw input_error(source.name() +
                    ": expected a gauge configuration (NERSC, ILDG or SciDAC in LIME, MILC v4 or v5, openQCD, "
                    "DDalphaAMG), found " +
                    (start.empty() ? "an empty file" : "a file that begins with bytes " + hexadecimal_bytes(start)));
}

namespace {

/// What one rank sees in its own part.
struct own_findings {
  explicit own_findings(checksum_kind kind) : checksum(kind) {}
  site_checksum checksum;
  std::optional<unsuitable_link> unsuitable;      // the first, by global index
  std::optional<unsuitable_link> first_negative;  // the first that is minus a link in SU(3)
  double distance = 0.0;
  double trace = 0.0;                // of links with the boundary condition taken out
  double negative_trace = 0.0;       // of those that have it, likewise
  std::uint64_t zero_links = 0;      // openQCD's open boundary
  std::uint64_t negative_links = 0;  // an antiperiodic boundary condition
  std::uint64_t off_links = 0;       // that are to be re-unitarised
};

/// True for the links that openQCD sets to zero on open boundaries: from the last time slice to the first.
bool may_be_zero(const gauge_file_header& header, const coordinate& global, int mu) {
  return header.format == gauge_format::openqcd && mu == 3 && global[3] == header.lattice[3] - 1;
}

/// True for time links of the last slice that are minus a matrix in SU(3): the other sign of det U leaves no doubt.
bool has_boundary_sign(const gauge_file_header& header, const coordinate& global, int mu, const su3<double>& link) {
  return mu == 3 && global[3] == header.lattice[3] - 1 && determinant(link).re < 0.0;
}

void examine(const described_gauge& file, const gauge_configuration& links, const gauge_read_options& options,
             own_findings& found) {
  const lattice_geometry& geometry = links.geometry();
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate local = geometry.local_coordinate(site);
    const coordinate global = geometry.to_global(local);
    for (int mu = 0; mu < dimensions; ++mu) {
      su3<double> link = links(local)[static_cast<std::size_t>(mu)];
      if (may_be_zero(file.header, global, mu) && link == su3<double>{}) {
        ++found.zero_links;
        continue;
      }
      // Local order is global order within a box, so the first one found is the rank's first.
      if (has_boundary_sign(file.header, global, mu, link)) {
        if (!found.first_negative)
          found.first_negative = {lexicographic(global, geometry.global()), mu, distance_from_su3(link)};
        link = -1.0 * link;
        ++found.negative_links;
        found.negative_trace += trace(link).re;
      }
      const double distance = distance_from_su3(link);
      keep_largest(found.distance, distance);
      if (!(distance <= su3_tolerance(link, file.header.precision_bits))) {
        if ((options.drifted && has_drifted(link, distance, file.header.precision_bits)) ||
            (options.reunitarisable &&
             distance <= reunitarisable_distance(has_floats(link, file.header.precision_bits))))
          ++found.off_links;
        else if (!found.unsuitable)
          found.unsuitable = {lexicographic(global, geometry.global()), mu, distance};
      }
      found.trace += trace(link).re;
    }
  }
}

/// All formats but openQCD's: sites in lexicographic order.
void read_sites(const byte_source& source, const described_gauge& file, gauge_configuration& links,
                site_checksum& checksum) {
  const lattice_geometry& geometry = links.geometry();
  const std::uint64_t per_site = site_bytes(file.header), per_link = link_bytes(file.header);
  constexpr std::int64_t longest = 4096;
  std::vector<std::byte> buffer;
  for_each_contiguous_piece(geometry, longest, [&](std::int64_t first, std::int64_t count, std::int64_t global_first) {
    buffer.resize(static_cast<std::size_t>(count) * per_site);
    source.read(file.layout.data_offset + static_cast<std::uint64_t>(global_first) * per_site, buffer);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto site = std::span<const std::byte>(buffer).subspan(static_cast<std::size_t>(i) * per_site, per_site);
      checksum.add(static_cast<std::uint64_t>(global_first + i), site, file.header.big_endian);
      site_links& here = links.at_site(first + i);
      for (std::size_t place = 0; place < dimensions; ++place)
        here[static_cast<std::size_t>(file.layout.direction[place])] =
            decode_link(site.subspan(place * per_link, per_link), file.header);
    }
  });
}

/// The links of one odd site's record that belong to this rank's box: its own forward links and its neighbours'.
void take_odd_record(std::span<const std::byte> record, const described_gauge& file, const coordinate& local,
                     gauge_configuration& links) {
  const lattice_geometry& geometry = links.geometry();
  const std::uint64_t per_link = link_bytes(file.header);
  const coordinate global = geometry.to_global(local);
  for (std::size_t place = 0; place < dimensions; ++place) {
    const int mu = file.layout.direction[place];
    links(local)[static_cast<std::size_t>(mu)] =
        decode_link(record.subspan(2 * place * per_link, per_link), file.header);
    coordinate below = global, local_below;
    below[mu] = (below[mu] + geometry.global()[mu] - 1) % geometry.global()[mu];
    if (geometry.holds(below, local_below))
      links(local_below)[static_cast<std::size_t>(mu)] =
          decode_link(record.subspan((2 * place + 1) * per_link, per_link), file.header);
  }
}

void read_odd_sites(const byte_source& source, const described_gauge& file, gauge_configuration& links) {
  const lattice_geometry& geometry = links.geometry();
  const extents& local = geometry.local();
  const std::uint64_t per_record = links_per_record * link_bytes(file.header);
  std::vector<std::byte> line(static_cast<std::size_t>(local[2] / 2) * per_record);
  coordinate x;
  for (x[3] = 0; x[3] < local[3]; ++x[3])
    for (x[0] = 0; x[0] < local[0]; ++x[0])
      for (x[1] = 0; x[1] < local[1]; ++x[1]) {
        x[2] = 0;
        x[2] = 1 - parity(geometry.to_global(x));  // the first odd site of the line along z, of which half are odd
        source.read(odd_record_offset(file, geometry.to_global(x)), line);
        for (std::size_t i = 0; x[2] < local[2]; x[2] += 2, ++i)
          take_odd_record(std::span<const std::byte>(line).subspan(i * per_record, per_record), file, x, links);
      }
}

/// Links of this rank's even sites that stand in records of the next rank's odd sites.
void read_links_across_cuts(const byte_source& source, const described_gauge& file, gauge_configuration& links) {
  const lattice_geometry& geometry = links.geometry();
  std::vector<std::byte> data(link_bytes(file.header));
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    if (parity(x) == 1) continue;
    for (int mu = 0; mu < dimensions; ++mu) {
      if (!geometry.is_cut(mu) || x[mu] != geometry.local()[mu] - 1) continue;
      source.read(link_offset(file, geometry.to_global(x), mu), data);
      links(x)[static_cast<std::size_t>(mu)] = decode_link(data, file.header);
    }
  }
}

void require_lattice(const byte_source& source, const described_gauge& file, const lattice_geometry& geometry) {
  if (file.header.lattice != geometry.global())
    throw input_error(source.name() + ": expected a lattice of " + to_string(geometry.global()) + ", found " +
                      to_string(file.header.lattice) + " (" + std::string(name_of(file.header.format)) + ")");
}

void require_matching(const lattice_geometry& geometry, const communicator& comm) {
  if (volume(geometry.grid()) != comm.size() || geometry.rank() != comm.rank())
    throw std::logic_error("read_gauge: the geometry's process grid is not the communicator's");
}

void check_checksum(const byte_source& source, const gauge_file_header& header) {
  if (!header.checksum_claimed.empty() && header.checksum_claimed != header.checksum_found)
    throw input_error(source.name() + ": wrong checksum: expected " + header.checksum_claimed + ", found " +
                      header.checksum_found);
}

/// A format with a checksum, and a file without one: flipped bits of a link that leave it in SU(3) are not seen.
void remark_on_missing_checksum(const described_gauge& file, gauge_file_header& header) {
  if (file.layout.checksum != checksum_kind::none && header.checksum_claimed.empty())
    header.remarks.push_back(std::string("the file has no checksum: that its links are in SU(3)") +
                             (std::isnan(header.plaquette) ? "" : ", and their plaquette,") +
                             " is all that was checked");
}

/// A checksum that is right proves the numbers; averages may then come from sums in single precision.
void allow_single_sums(gauge_file_header& header) {
  if (!header.checksum_claimed.empty()) header.single_sum_tolerance = 1e-6;
}

/// \param as_stored  the average with the boundary condition in the links, where the file has it there
void check_link_trace(const byte_source& source, gauge_file_header& header, double as_stored) {
  if (std::isnan(header.link_trace)) return;
  double off = std::abs(header.link_trace - header.link_trace_found);
  if (const double stored = std::abs(header.link_trace - as_stored); !(off <= stored)) off = stored;
  if (off <= header.link_trace_tolerance) return;
  if (!(off <= header.single_sum_tolerance))
    throw input_error(source.name() + ": expected an average link trace of " + short_number(header.link_trace) +
                      " to within " + short_number(std::max(header.link_trace_tolerance, header.single_sum_tolerance)) +
                      ", found " + short_number(header.link_trace_found));
  header.remarks.push_back("the link trace in the header is off by " + short_number(off) +
                           ", as a sum in single precision leaves it; the checksum is right");
}

/// Where all time links of the last slice have the sign of an antiperiodic boundary condition, takes it out.
void take_out_boundary_condition(const byte_source& source, const own_findings& found, gauge_file_header& header,
                                 gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  const auto slice = static_cast<std::uint64_t>(volume(header.lattice) / header.lattice[3]);
  std::uint64_t negative = found.negative_links;
  comm.sum({&negative, 1});
  if (negative == 0) return;
  if (negative != slice)
    return require_no_unsuitable_link(source.name(), found.first_negative, geometry, comm,
                                      " (" + std::to_string(negative) + " of the " + std::to_string(slice) +
                                          " time links of the last time slice have the other sign)");
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    if (geometry.to_global(geometry.local_coordinate(site))[3] != header.lattice[3] - 1) continue;
    su3<double>& link = links.at_site(site)[3];
    link = -1.0 * link;
  }
  header.antiperiodic_links = true;
  header.remarks.push_back(
      "antiperiodic boundary condition in the links of the file: the sign of the time links of the last time slice was "
      "taken out");
}

void check_open_boundary(const byte_source& source, gauge_file_header& header, std::uint64_t zero_links) {
  const auto slice = static_cast<std::uint64_t>(volume(header.lattice) / header.lattice[3]);
  if (zero_links != 0 && zero_links != slice)
    throw input_error(source.name() + ": expected no link from the last time slice to the first to be zero, or all " +
                      std::to_string(slice) + ", found " + std::to_string(zero_links));
  header.open_boundary = zero_links != 0;
}

}  // namespace

gauge_file_header read_gauge_header(const byte_source& source, const std::optional<extents>& expected) {
  return describe_gauge(source, expected).header;
}

gauge_file_header read_gauge_header(const std::string& path, const std::optional<extents>& expected) {
  return read_gauge_header(file_source(path), expected);
}

loaded_gauge read_gauge(const byte_source& source, const lattice_geometry& geometry, const communicator& comm,
                        const gauge_read_options& options) {
  described_gauge file;
  std::optional<gauge_configuration> links;
  std::optional<own_findings> found;
  on_all_ranks_or_none(comm, [&] {
    file = describe_gauge(source, geometry.global());
    require_lattice(source, file, geometry);
    require_matching(geometry, comm);
    links.emplace(geometry);
    found.emplace(file.layout.checksum);
    if (file.header.format == gauge_format::openqcd) {
      read_odd_sites(source, file, *links);
      read_links_across_cuts(source, file, *links);
    } else {
      read_sites(source, file, *links, found->checksum);
    }
    examine(file, *links, options, *found);
  });
  gauge_file_header& header = file.header;
  found->checksum.combine(comm);
  header.checksum_found = found->checksum.text();
  check_checksum(source, header);  // this and the other checks see the same on all ranks
  allow_single_sums(header);
  remark_on_missing_checksum(file, header);
  std::string help;
  if (found->unsuitable && !options.reunitarisable &&
      found->unsuitable->distance <= reunitarisable_distance(header.precision_bits == 32))
    help = " (--reunitarise puts links back that are up to " +
           short_number(reunitarisable_distance(header.precision_bits == 32)) + " off)";
  require_no_unsuitable_link(source.name(), found->unsuitable, geometry, comm, help);
  take_out_boundary_condition(source, *found, header, *links, comm);
  comm.sum({&found->trace, 1});
  comm.sum({&found->negative_trace, 1});
  comm.sum({&found->zero_links, 1});
  comm.sum({&found->off_links, 1});
  comm.maximum({&found->distance, 1});
  header.distance_from_su3 = found->distance;
  header.links_off_su3 = static_cast<std::int64_t>(found->off_links);
  const double traces = colours * dimensions * static_cast<double>(geometry.global_volume());
  header.link_trace_found = found->trace / traces;
  check_link_trace(source, header, (found->trace - 2 * found->negative_trace) / traces);
  check_open_boundary(source, header, found->zero_links);
  exchange_ghosts(*links, comm);
  return {std::move(*links), std::move(header)};
}

std::string take_back_drift(gauge_configuration& links, gauge_file_header& header, const communicator& comm) {
  if (header.links_off_su3 == 0) return {};
  const lattice_geometry& geometry = links.geometry();
  double distance = 0.0, drift = 0.0;  // that is left, that there was
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (su3<double>& link : links.at_site(site)) {
      if (link == su3<double>{}) continue;  // of an open boundary
      if (const double off = distance_from_su3(link); has_drifted(link, off, header.precision_bits)) {
        keep_largest(drift, off);
        take_back(link);
      }
      keep_largest(distance, distance_from_su3(link));
    }
  comm.maximum({&distance, 1});
  comm.maximum({&drift, 1});
  exchange_ghosts(links, comm);
  header.distance_from_su3 = distance;
  header.remarks.push_back(remark_on_drift(header.links_off_su3, drift));
  return header.remarks.back();
}

loaded_gauge read_gauge(const std::string& path, const lattice_geometry& geometry, const communicator& comm,
                        const gauge_read_options& options) {
  std::unique_ptr<file_source> source;
  on_all_ranks_or_none(comm, [&] { source = std::make_unique<file_source>(path); });
  return read_gauge(*source, geometry, comm, options);
}

double average_link_trace(const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  double sum = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (const su3<double>& link : links.at_site(site)) sum += trace(link).re;
  comm.sum({&sum, 1});
  return sum / (colours * dimensions * static_cast<double>(geometry.global_volume()));
}

}  // namespace plaquette
