// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/lime.hpp"
#include "common/io/scidac.hpp"
#include "common/io/site_arrays.hpp"

namespace plaquette {

namespace {

void require_sensible(const std::string& path, const gauge_write_options& options) {
  if (options.precision_bits != 32 && options.precision_bits != 64)
    throw input_error(path + ": expected a precision of 32 or 64 bits, found " +
                      std::to_string(options.precision_bits));
  for (const std::string* text : {&options.ensemble_id, &options.ensemble_label, &options.sequence_number,
                                  &options.creator, &options.date, &options.logical_file_name})
    if (std::ranges::any_of(*text, [](unsigned char c) { return c < ' '; }) || text->size() > 1000)
      throw input_error(path + ": expected texts of the header in one line of at most 1000 characters");
}

std::optional<unsuitable_link> first_unsuitable_link(const gauge_configuration& links) {
  const lattice_geometry& geometry = links.geometry();
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int mu = 0; mu < dimensions; ++mu) {
      const su3<double>& link = links.at_site(site)[static_cast<std::size_t>(mu)];
      if (const double distance = distance_from_su3(link); !(distance <= su3_tolerance(link, 64)))
        return unsuitable_link{geometry.global_index(geometry.local_coordinate(site)), mu, distance};
    }
  return std::nullopt;
}

void write_gauge(const std::string& path, const gauge_configuration& links, const communicator& comm,
                 const gauge_write_options& options, described_gauge file, const compose_surroundings& compose) {
  require_no_unsuitable_link(path, first_unsuitable_link(links), links.geometry(), comm);
  file.header.precision_bits = options.precision_bits;
  file.header.big_endian = true;
  const std::uint64_t per_link = link_bytes(file.header);
  const auto encode = [&](std::int64_t site, std::span<std::byte> data) {
    for (std::size_t mu = 0; mu < dimensions; ++mu)
      encode_link(data.subspan(mu * per_link, per_link), links.at_site(site)[mu], file.header);
  };
  const site_array array{site_bytes(file.header), file.layout.checksum, encode, compose};
  write_site_arrays(path, options.existing, links.geometry(), std::span(&array, 1), comm);
}

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// On all ranks the first one's.
std::string date_of(const gauge_write_options& options, const communicator& comm) {
  if (!options.date.empty()) return options.date;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y UTC", &utc);
  return broadcast_text(text, comm);
}

std::string nersc_header(const extents& lattice, const gauge_write_options& options, double link_trace,
                         const std::string& date, const site_checksum& checksum) {
  std::string text = "BEGIN_HEADER\n";
  const auto line = [&](const std::string& key, const std::string& value) { text += key + " = " + value + "\n"; };
  line("HDR_VERSION", "1.0");
  line("DATATYPE", options.two_row ? "4D_SU3_GAUGE" : "4D_SU3_GAUGE_3x3");
  line("STORAGE_FORMAT", "1.0");
  for (int mu = 0; mu < dimensions; ++mu) line("DIMENSION_" + std::to_string(mu + 1), std::to_string(lattice[mu]));
  for (int mu = 0; mu < dimensions; ++mu) line("BOUNDARY_" + std::to_string(mu + 1), "PERIODIC");
  line("CHECKSUM", checksum.text());
  line("LINK_TRACE", formatted("%.12f", link_trace));
  if (!std::isnan(options.plaquette)) line("PLAQUETTE", formatted("%.12f", options.plaquette));
  line("ENSEMBLE_ID", options.ensemble_id);
  line("ENSEMBLE_LABEL", options.ensemble_label);
  line("SEQUENCE_NUMBER", options.sequence_number);
  line("CREATOR", options.creator);
  line("CREATION_DATE", date);
  line("FLOATING_POINT", options.precision_bits == 32 ? "IEEE32BIG" : "IEEE64BIG");
  return text + "END_HEADER\n";
}

surroundings ildg_records(const extents& lattice, const gauge_write_options& options, double link_trace,
                          const std::string& date, const site_checksum& checksum) {
  const std::string xml = xml_begin;
  const bool single = options.precision_bits == 32;
  std::string dims, ildg_dims;
  const char* tags[] = {"lx", "ly", "lz", "lt"};
  for (int mu = 0; mu < dimensions; ++mu) {
    dims += std::to_string(lattice[mu]) + " ";
    ildg_dims += xml_tag(tags[mu], std::to_string(lattice[mu]));
  }
  const int reals = colours * colours * 2;
  const std::uint64_t data_bytes = static_cast<std::uint64_t>(volume(lattice)) *
                                   static_cast<std::uint64_t>(dimensions * reals * options.precision_bits / 8);
  surroundings records;
  records.before =
      scidac_file_records(dims, options.ensemble_label) +
      lime_text_record(
          "scidac-private-record-xml",
          xml + xml_tag("scidacRecord", xml_tag("version", "1.1") + xml_tag("date", date) + xml_tag("recordtype", "0") +
                                            xml_tag("datatype", single ? "QDP_F3_ColorMatrix" : "QDP_D3_ColorMatrix") +
                                            xml_tag("precision", single ? "F" : "D") + xml_tag("colors", "3") +
                                            xml_tag("spins", "1") +
                                            xml_tag("typesize", std::to_string(reals * options.precision_bits / 8)) +
                                            xml_tag("datacount", "4")),
          true, false) +
      lime_text_record("scidac-record-xml",
                       xml + xml_tag("usqcdInfo", xml_tag("version", "1.0") +
                                                      (std::isnan(options.plaquette)
                                                           ? ""
                                                           : xml_tag("plaq", formatted("%.12e", options.plaquette))) +
                                                      xml_tag("linktr", formatted("%.12e", link_trace)) +
                                                      xml_tag("info", escaped_xml(options.information))),
                       false, false) +
      lime_text_record("ildg-format",
                       xml +
                           "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\" "
                           "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                           "xsi:schemaLocation=\"http://www.lqcd.org/ildg/filefmt.xsd\">" +
                           xml_tag("version", "1.0") + xml_tag("field", "su3gauge") +
                           xml_tag("precision", std::to_string(options.precision_bits)) + ildg_dims + "</ildgFormat>",
                       false, false);
  if (!options.logical_file_name.empty())
    records.before += lime_text_record("ildg-data-lfn", options.logical_file_name, false, false);
  records.before += lime_header("ildg-binary-data", data_bytes, false, false);
  records.after = std::string(lime_padding(data_bytes), '\0') + scidac_checksum_record(checksum);
  for (const auto& [type, text] : options.records) records.after += lime_text_record(type, text, true, true);
  return records;
}

}  // namespace

void write_nersc(const std::string& path, const gauge_configuration& links, const communicator& comm,
                 const gauge_write_options& options) {
  require_sensible(path, options);
  const double link_trace = average_link_trace(links, comm);
  const std::string date = date_of(options, comm);
  described_gauge file;
  file.header.format = gauge_format::nersc;
  file.header.two_row = options.two_row;
  file.layout.checksum = checksum_kind::nersc;
  write_gauge(path, links, comm, options, file, [&](const site_checksum& checksum) {
    return surroundings{nersc_header(links.geometry().global(), options, link_trace, date, checksum), ""};
  });
}

void write_ildg(const std::string& path, const gauge_configuration& links, const communicator& comm,
                const gauge_write_options& options) {
  require_sensible(path, options);
  if (options.two_row) throw input_error(path + ": expected whole links in an ILDG file, found the option of two rows");
  const double link_trace = average_link_trace(links, comm);
  const std::string date = date_of(options, comm);
  described_gauge file;
  file.header.format = gauge_format::ildg;
  file.layout.checksum = checksum_kind::scidac;
  write_gauge(path, links, comm, options, file, [&](const site_checksum& checksum) {
    return ildg_records(links.geometry().global(), options, link_trace, date, checksum);
  });
}

}  // namespace plaquette
