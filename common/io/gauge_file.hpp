// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Gauge configurations in files. Formats are recognised by content, never by name; nothing in a file is trusted.
///
/// Formats read
///   NERSC       text header; 3x3 or the first two rows; 32 or 64 bits; both byte orders; checksum, link trace
///   ILDG        LIME; 3x3; 32 or 64 bits, big-endian; SciDAC checksum (may be absent)
///   SciDAC      the same without the ILDG records (QIO, one file, field of four colour matrices; QUDA's too)
///   MILC v4     binary header of 28 bytes; 3x3; 32 bits, both byte orders; natural order; no checksum
///   MILC v5     binary header; 3x3; 32 bits, both byte orders; natural order; checksums
///   openQCD     binary header; 64 bits; odd sites with their eight links; no checksum
///   DDalphaAMG  binary header; 64 bits; no checksum
/// In all of them but openQCD's sites go with x fastest, t slowest.
///
/// Files that leave something out are read where the rest decides; `remarks` of the header says what was assumed.
/// An antiperiodic boundary condition that was folded into the links is taken out of them: all time links of the last
/// time slice are minus a matrix in SU(3).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/io/atomic_file.hpp"
#include "common/io/byte_source.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

enum class gauge_format { nersc, ildg, scidac, milc_v4, milc_v5, openqcd, ddalphaamg };
/// Returns "NERSC", "ILDG", ...
std::string_view name_of(gauge_format format);

/// What a file says of itself; the second group is known once its links have been read.
struct gauge_file_header {
  static constexpr double not_claimed = std::numeric_limits<double>::quiet_NaN();

  gauge_format format{};
  extents lattice{};
  int precision_bits = 0;  ///< 32 or 64, as stored
  bool big_endian = false;
  bool two_row = false;  ///< the third row is not in the file
  /// Average over all plaquettes of Re tr P / 3, and the largest difference to the links' that the digits printed, the
  /// stored precision and the order of a sum may leave. `not_claimed` (NaN) where the file says nothing.
  double plaquette = not_claimed;
  double plaquette_tolerance = 0.0;
  /// The same for a program that sums in single precision: 1e-6, once a checksum was found right; else 0. A claim that
  /// needs it is worth a remark.
  double single_sum_tolerance = 0.0;
  /// Average over all links of Re tr U / 3, alike. Compared with the links by `read_gauge`.
  double link_trace = not_claimed;
  double link_trace_tolerance = 0.0;
  std::string checksum_claimed;             ///< empty where the file holds none
  std::map<std::string, std::string> text;  ///< what else it says, in ASCII: header keys, or LIME records by type

  std::string checksum_found;  ///< empty where the format has none
  double link_trace_found = not_claimed;
  double distance_from_su3 = not_claimed;  ///< the largest over all links, by `distance_from_su3` of su3.hpp
  bool open_boundary = false;  ///< openQCD: all links from the last time slice to the first are zero, as they stand
  bool antiperiodic_links = false;   ///< the boundary condition was folded into the file's links, and was taken out
  std::int64_t links_off_su3 = 0;    ///< farther from SU(3) than the precision explains, of a file read so
  std::vector<std::string> remarks;  ///< what the file leaves out or has otherwise, and what was assumed; a line each
};

/// Returns the header of a gauge configuration. Throws input_error where the file is of no known format or its size is
/// not what the header implies. One line names the file, what was expected and what was found. Not collective.
/// \param expected  where it is known: the lattice, by which files are told apart that begin alike
gauge_file_header read_gauge_header(const std::string& path, const std::optional<extents>& expected = {});
gauge_file_header read_gauge_header(const byte_source& source, const std::optional<extents>& expected = {});

struct loaded_gauge {
  gauge_configuration links;  ///< as stored (third rows computed for two-row files), ghosts filled
  gauge_file_header header;
};

struct gauge_read_options {
  /// Accepts links that are up to `reunitarisable_distance` off SU(3), as they stand: the caller re-unitarises them.
  bool reunitarisable = false;
  /// Accepts links of doubles that are up to `drift_of_doubles` off SU(3), as they stand: the caller calls
  /// `take_back_drift`, after it has compared the plaquette.
  bool drifted = false;
};
/// The largest distance from SU(3) that updates in double precision leave: thousands of them, without taking links
/// back.
inline constexpr double drift_of_doubles = 1e-10;
/// Returns the largest distance from SU(3) that re-unitarising may mend. What is farther off is damage, not rounding.
/// \param floats  the numbers have the precision of floats
constexpr double reunitarisable_distance(bool floats) { return floats ? 1e-3 : 1e-6; }

/// Reads a gauge configuration; each rank the part of its own box. Links are as they stand in the file. Checks the
/// lattice against `geometry`, the checksum, the link trace and that every link is in SU(3) to the precision stored;
/// the caller compares the plaquette. Throws input_error for any of them, on all ranks together. Collective. The
/// tolerance on SU(3) is 1024 u, u = 2^-24 or 2^-53 the rounding of the numbers held. Rounding a link once moves U U^+
/// by 2 u and det U by 3 u. Programs update links some hundred times, with an error of order u each, between two
/// re-unitarisations. Doubles that were converted from floats (the first two rows say so) are held to the floats' u.
loaded_gauge read_gauge(const std::string& path, const lattice_geometry& geometry, const communicator& comm,
                        const gauge_read_options& options = {});
/// Puts links of doubles that were read with `drifted`, and are farther from SU(3) than their precision explains, back
/// into it. Returns a remark, which the header has too, or nothing where there are none; the header's distance becomes
/// that of the links. Collective.
std::string take_back_drift(gauge_configuration& links, gauge_file_header& header, const communicator& comm);
/// Returns the same from any source (all ranks the same bytes).
loaded_gauge read_gauge(const byte_source& source, const lattice_geometry& geometry, const communicator& comm,
                        const gauge_read_options& options = {});

/// Average over all links of Re tr U / 3. Collective.
double average_link_trace(const gauge_configuration& links, const communicator& comm);

struct gauge_write_options {
  int precision_bits = 64;                            ///< 32 or 64
  bool two_row = false;                               ///< NERSC alone
  existing_file existing = existing_file::keep;       ///< what to do where the file exists
  double plaquette = gauge_file_header::not_claimed;  ///< average Re tr P / 3, written where it is a number
  std::string ensemble_id = "plaquette";              ///< NERSC; one line, as all of these
  std::string ensemble_label = "none";                ///< NERSC, and the title of an ILDG file
  std::string sequence_number = "0";                  ///< NERSC
  std::string creator = "Plaquette";                  ///< NERSC
  std::string date = {};                              ///< empty: now, UTC
  std::string logical_file_name = {};                 ///< ILDG's lfn; empty: no such record
  std::string information = {};                       ///< ILDG: free text of the record, escaped as XML
  /// ILDG: further records behind the links, as type and text.
  std::vector<std::pair<std::string, std::string>> records = {};
};

/// Write a gauge configuration, big-endian; ranks write their own boxes into one file, which appears complete or not at
/// all (atomic_file.hpp). Throw output_error where it cannot be written. Throw input_error where a link is not in SU(3)
/// (it could not be read back) or an option makes no sense. All ranks throw together. Collective.
void write_nersc(const std::string& path, const gauge_configuration& links, const communicator& comm,
                 const gauge_write_options& options = {});
void write_ildg(const std::string& path, const gauge_configuration& links, const communicator& comm,
                const gauge_write_options& options = {});

}  // namespace plaquette
