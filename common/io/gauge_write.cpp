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

namespace plaquette {

namespace {

/// What stands before and after the links.
struct surroundings {
  std::string before, after;
};
/// Both depend on the checksum, but their lengths do not.
using compose_surroundings = std::function<surroundings(const site_checksum&)>;

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

/// This rank's links into their places.
void write_own_sites(atomic_file_part& part, const described_gauge& file, const gauge_configuration& links,
                     site_checksum& checksum) {
  constexpr std::int64_t longest = 4096;
  const std::uint64_t per_site = site_bytes(file.header), per_link = link_bytes(file.header);
  std::vector<std::byte> buffer;
  for_each_contiguous_piece(
      links.geometry(), longest, [&](std::int64_t first, std::int64_t count, std::int64_t global_first) {
        buffer.resize(static_cast<std::size_t>(count) * per_site);
        for (std::int64_t i = 0; i < count; ++i) {
          const auto site = std::span(buffer).subspan(static_cast<std::size_t>(i) * per_site, per_site);
          for (std::size_t mu = 0; mu < dimensions; ++mu)
            encode_link(site.subspan(mu * per_link, per_link), links.at_site(first + i)[mu], file.header);
          checksum.add(static_cast<std::uint64_t>(global_first + i), site, file.header.big_endian);
        }
        part.write_at(file.layout.data_offset + static_cast<std::uint64_t>(global_first) * per_site, buffer);
      });
}

/// The first rank's word for all.
std::string broadcast_text(std::string text, const communicator& comm) {
  std::uint64_t size = text.size();
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  text.resize(size);
  comm.broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

void write_gauge(const std::string& path, const gauge_configuration& links, const communicator& comm,
                 const gauge_write_options& options, described_gauge file, const compose_surroundings& compose) {
  require_no_unsuitable_link(path, first_unsuitable_link(links), links.geometry(), comm);
  file.header.lattice = links.geometry().global();
  file.header.precision_bits = options.precision_bits;
  file.header.big_endian = true;
  file.layout.data_offset = compose(site_checksum(file.layout.checksum)).before.size();
  const std::uint64_t links_end =
      file.layout.data_offset + static_cast<std::uint64_t>(links.geometry().global_volume()) * site_bytes(file.header);

  std::unique_ptr<atomic_file> whole;  // the first rank's: its destructor removes what was not committed
  on_all_ranks_or_none(comm, [&] {
    if (comm.rank() == 0) whole = std::make_unique<atomic_file>(path, options.existing);
  });
  const std::string temporary = broadcast_text(whole ? whole->temporary_path() : "", comm);
  site_checksum checksum(file.layout.checksum);
  on_all_ranks_or_none(comm, [&] {
    atomic_file_part part(temporary, path);
    write_own_sites(part, file, links, checksum);
    part.finish();
  });
  checksum.combine(comm);
  on_all_ranks_or_none(comm, [&] {
    if (!whole) return;
    const surroundings texts = compose(checksum);
    whole->write_at(0, std::as_bytes(std::span(texts.before)));
    whole->write_at(links_end, std::as_bytes(std::span(texts.after)));
    whole->commit();
  });
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

std::string escaped_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  return escaped;
}

std::string element(const std::string& tag, const std::string& content) {
  return "<" + tag + ">" + content + "</" + tag + ">";
}

std::string lime_text_record(const std::string& type, const std::string& text, bool first, bool last) {
  std::string data = text + '\0';  // as QIO ends its strings
  const std::uint64_t size = data.size();
  data.append(lime_padding(size), '\0');
  return lime_header(type, size, first, last) + data;
}

surroundings ildg_records(const extents& lattice, const gauge_write_options& options, double link_trace,
                          const std::string& date, const site_checksum& checksum) {
  const std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
  const bool single = options.precision_bits == 32;
  std::string dims, ildg_dims;
  const char* tags[] = {"lx", "ly", "lz", "lt"};
  for (int mu = 0; mu < dimensions; ++mu) {
    dims += std::to_string(lattice[mu]) + " ";
    ildg_dims += element(tags[mu], std::to_string(lattice[mu]));
  }
  const int reals = colours * colours * 2;
  const std::uint64_t data_bytes = static_cast<std::uint64_t>(volume(lattice)) *
                                   static_cast<std::uint64_t>(dimensions * reals * options.precision_bits / 8);
  surroundings records;
  records.before =
      lime_text_record("scidac-private-file-xml",
                       xml + element("scidacFile", element("version", "1.1") + element("spacetime", "4") +
                                                       element("dims", dims) + element("volfmt", "0")),
                       true, false) +
      lime_text_record("scidac-file-xml", xml + element("title", escaped_xml(options.ensemble_label)), false, true) +
      lime_text_record(
          "scidac-private-record-xml",
          xml + element("scidacRecord", element("version", "1.1") + element("date", date) + element("recordtype", "0") +
                                            element("datatype", single ? "QDP_F3_ColorMatrix" : "QDP_D3_ColorMatrix") +
                                            element("precision", single ? "F" : "D") + element("colors", "3") +
                                            element("spins", "1") +
                                            element("typesize", std::to_string(reals * options.precision_bits / 8)) +
                                            element("datacount", "4")),
          true, false) +
      lime_text_record("scidac-record-xml",
                       xml + element("usqcdInfo", element("version", "1.0") +
                                                      (std::isnan(options.plaquette)
                                                           ? ""
                                                           : element("plaq", formatted("%.12e", options.plaquette))) +
                                                      element("linktr", formatted("%.12e", link_trace)) +
                                                      element("info", escaped_xml(options.information))),
                       false, false) +
      lime_text_record("ildg-format",
                       xml +
                           "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\" "
                           "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                           "xsi:schemaLocation=\"http://www.lqcd.org/ildg/filefmt.xsd\">" +
                           element("version", "1.0") + element("field", "su3gauge") +
                           element("precision", std::to_string(options.precision_bits)) + ildg_dims + "</ildgFormat>",
                       false, false);
  if (!options.logical_file_name.empty())
    records.before += lime_text_record("ildg-data-lfn", options.logical_file_name, false, false);
  records.before += lime_header("ildg-binary-data", data_bytes, false, false);
  records.after = std::string(lime_padding(data_bytes), '\0') +
                  lime_text_record("scidac-checksum",
                                   xml + element("scidacChecksum", element("version", "1.0") +
                                                                       element("suma", hexadecimal(checksum.first())) +
                                                                       element("sumb", hexadecimal(checksum.second()))),
                                   false, true);
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
