// SPDX-License-Identifier: BSD-3-Clause
// ILDG and SciDAC gauge configurations: which of a LIME file's records they use, and what those must say.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "common/error.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/lime.hpp"
#include "common/io/scidac.hpp"
#include "common/io/text.hpp"

namespace plaquette {

namespace {

constexpr std::uint64_t longest_kept_text = 1 << 16;

/// Claims that some programs leave in the file: the USQCD record's averages, tmLQCD's and ETMC's xlf-info.
void set_claims(gauge_file_header& header) {
  const double sites = static_cast<double>(volume(header.lattice));
  const auto set = [&](const std::optional<std::string>& text, double terms, double& value, double& tolerance) {
    const auto number = text ? printed_number_of(*text) : std::nullopt;
    if (!number) return;
    value = number->value;
    tolerance = claim_tolerance(number->unit, header.precision_bits, terms);
  };
  if (const auto record = header.text.find("scidac-record-xml");
      record != header.text.end() && xml_element(record->second, "usqcdInfo")) {
    set(xml_element(record->second, "plaq"), 6 * sites, header.plaquette, header.plaquette_tolerance);
    set(xml_element(record->second, "linktr"), 4 * sites, header.link_trace, header.link_trace_tolerance);
  }
  if (const auto info = header.text.find("xlf-info"); info != header.text.end()) {
    std::istringstream lines(info->second);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t sign = line.find('=');
      if (sign != std::string::npos && trimmed(std::string_view(line).substr(0, sign)) == "plaquette")
        set(line.substr(sign + 1), 6 * sites, header.plaquette, header.plaquette_tolerance);
    }
  }
}

void keep_texts(const byte_source& source, const std::vector<lime_record>& records, gauge_file_header& header) {
  for (const char* type : {"scidac-file-xml", "scidac-record-xml", "ildg-data-lfn", "xlf-info"}) {
    const auto record = std::ranges::find(records, type, &lime_record::type);
    if (record != records.end() && record->size <= longest_kept_text)
      header.text[type] = cleaned(lime_text(source, *record));
  }
}

}  // namespace

described_gauge describe_lime(const byte_source& source) {
  const auto records = lime_records(source);
  const scidac_field field = find_scidac_field(source, records, scidac_content::gauge);
  described_gauge file;
  gauge_file_header& header = file.header;
  header.format = field.is_ildg ? gauge_format::ildg : gauge_format::scidac;
  header.lattice = field.lattice;
  header.precision_bits = field.precision_bits;
  header.big_endian = true;
  header.checksum_claimed = field.checksum;
  file.layout.data_offset = field.offset;
  file.layout.checksum = checksum_kind::scidac;
  keep_texts(source, records, header);
  set_claims(header);
  return file;
}

}  // namespace plaquette
