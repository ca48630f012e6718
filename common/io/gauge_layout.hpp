// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the links of a configuration stand in its file. For the readers and writers of this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "common/io/byte_source.hpp"
#include "common/io/checksum.hpp"
#include "common/io/gauge_file.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// The binary part of a file.
struct gauge_layout {
  std::uint64_t data_offset = 0;
  std::array<int, dimensions> direction{0, 1, 2, 3};  ///< of the first, second, ... link of a site
  checksum_kind checksum = checksum_kind::none;
};

/// A file's header and where its links are.
struct described_gauge {
  gauge_file_header header;
  gauge_layout layout;
};

/// Recognises the format and reads the header. `expected` helps where a file leaves the order of its extents open.
described_gauge describe_gauge(const byte_source& source, const std::optional<extents>& expected);

// One format each; the source is known to begin as such a file does.
described_gauge describe_nersc(const byte_source& source);
described_gauge describe_lime(const byte_source& source, const std::optional<extents>& expected);
described_gauge describe_milc_v4(const byte_source& source, bool big_endian);
described_gauge describe_milc(const byte_source& source, bool big_endian);
described_gauge describe_binary(const byte_source& source, bool big_endian, const std::optional<extents>& expected);

inline constexpr std::uint64_t links_per_record = 2 * dimensions;  ///< openQCD: of an odd site

inline int rows_of(const gauge_file_header& header) { return header.two_row ? colours - 1 : colours; }
inline std::uint64_t link_bytes(const gauge_file_header& header) {
  return static_cast<std::uint64_t>(rows_of(header) * colours * 2 * header.precision_bits / 8);
}
inline std::uint64_t site_bytes(const gauge_file_header& header) { return dimensions * link_bytes(header); }

/// Throws input_error unless all extents are positive and the number of sites one that a file can hold (2^40).
std::uint64_t checked_volume(const byte_source& source, const std::array<std::int64_t, dimensions>& lattice);
/// Throws input_error unless the file ends where its links do.
void require_size(const byte_source& source, const described_gauge& file);
/// \param what  format and lattice, for the message; the file's, where it is not given
void require_size(const byte_source& source, const described_gauge& file, const std::string& what);

/// Returns a link from its bytes; the third row computed where it is not stored.
su3<double> decode_link(std::span<const std::byte> data, const gauge_file_header& header);
void encode_link(std::span<std::byte> data, const su3<double>& link, const gauge_file_header& header);

/// Returns where in an openQCD file the record of an odd site begins.
std::uint64_t odd_record_offset(const described_gauge& file, const coordinate& x);
/// Returns where U_mu(x) begins; x a global coordinate.
std::uint64_t link_offset(const described_gauge& file, const coordinate& x, int mu);

/// Returns whether all numbers of a link have the precision of floats; its third row, which may be computed, is left
/// out.
bool has_floats(const su3<double>& link, int precision_bits);
/// Returns the bound on `distance_from_su3` for a link of a file (or to be written to one) of this precision.
double su3_tolerance(const su3<double>& link, int precision_bits);
/// Returns whether a link of doubles is off SU(3) by more than that, and not by more than updates leave.
bool has_drifted(const su3<double>& link, double distance, int precision_bits);
/// Puts a link that has drifted back into SU(3).
void take_back(su3<double>& link);
/// Returns the remark on such links.
std::string remark_on_drift(std::int64_t links, double distance);

/// Bounds how far the average plaquette or link trace of a lattice of `sites` sites may be from what a file claims.
/// Three terms add up. One unit of the last digit printed, at most 1e-3 since some programs print no trailing zeros.
/// The order of a sum of 6 sites terms in double: each addition errs by 0.24 v of the partial sum, v = 2^-53. Four
/// standard deviations are v sqrt(6 sites); a few v are added for the terms.
/// The rounding u of the stored links, 2^-24 or 2^-53. An element errs by 0.4 u, and a link moves the average by
/// 0.1 u / sites. All of them move it by 0.2 u / sqrt(sites), or twice that where third rows are computed. The bound is
/// ten standard deviations of the latter.
double claim_tolerance(double unit, int precision_bits, double sites);

/// The link of smallest global index that is farther from SU(3) than it may be.
struct unsuitable_link {
  std::int64_t global_site;
  int mu;
  double distance;
};
/// Throws input_error, on all ranks the same, where any rank has found such a link. Collective.
/// \param help  what to do about it, for the end of the message
void require_no_unsuitable_link(const std::string& name, const std::optional<unsuitable_link>& own,
                                const lattice_geometry& geometry, const communicator& comm,
                                const std::string& help = {});

/// Calls visit(first local site, number of sites, index of the first in the whole lattice) for pieces of this rank's
/// box. They are contiguous in a file with x fastest, none longer than `longest` sites.
template <class Visit>
void for_each_contiguous_piece(const lattice_geometry& geometry, std::int64_t longest, Visit&& visit) {
  std::int64_t run = 1;
  for (int mu = 0; mu < dimensions; ++mu) {
    run *= geometry.local()[mu];
    if (geometry.is_cut(mu)) break;
  }
  for (std::int64_t begin = 0; begin < geometry.local_volume(); begin += run)
    for (std::int64_t at = begin; at < begin + run; at += longest)
      visit(at, std::min(longest, begin + run - at), geometry.global_index(geometry.local_coordinate(at)));
}

}  // namespace plaquette
