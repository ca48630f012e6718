// SPDX-License-Identifier: BSD-3-Clause
// ILDG and SciDAC gauge configurations: which of a LIME file's records they use, and what those must say.
#include <algorithm>
#include <array>
#include <cmath>
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

/// Some programs leave the sum over all plaquettes of Re tr P / 3, or of Re tr P, where others have the average.
void divide_sum(gauge_file_header& header, printed_number& plaquette) {
  const double terms = 6 * static_cast<double>(volume(header.lattice));
  if (!(std::abs(plaquette.value) > 1 + plaquette.unit)) return;
  const bool of_traces = std::abs(plaquette.value) > terms * (1 + 1e-6);
  const double divisor = of_traces ? colours * terms : terms;
  if (std::abs(plaquette.value) > divisor * (1 + 1e-6)) return;
  header.remarks.push_back(
      joined({"the plaquette ", short_number(plaquette.value), " in record 'xlf-info' is above 1: a sum of ",
              of_traces ? "Re tr P" : "Re tr P / 3", " over ", short_number(terms), " plaquettes"}));
  plaquette.value /= divisor;
  plaquette.unit /= divisor;
}

/// Claims that some programs leave in the file: the USQCD record's averages, tmLQCD's and ETMC's xlf-info.
void set_claims(gauge_file_header& header) {
  const auto set = [&](const std::optional<std::string>& text, bool may_be_sum, double& value, double& tolerance) {
    auto number = text ? printed_number_of(*text) : std::nullopt;
    if (!number) return;
    if (may_be_sum) divide_sum(header, *number);
    value = number->value;
    tolerance = claim_tolerance(number->unit, header.precision_bits, static_cast<double>(volume(header.lattice)));
  };
  if (const auto record = header.text.find("scidac-record-xml");
      record != header.text.end() && xml_element(record->second, "usqcdInfo")) {
    set(xml_element(record->second, "plaq"), false, header.plaquette, header.plaquette_tolerance);
    set(xml_element(record->second, "linktr"), false, header.link_trace, header.link_trace_tolerance);
  }
  if (const auto info = header.text.find("xlf-info"); info != header.text.end()) {
    std::istringstream lines(info->second);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t sign = line.find('=');
      if (sign != std::string::npos && trimmed(std::string_view(line).substr(0, sign)) == "plaquette")
        set(line.substr(sign + 1), true, header.plaquette, header.plaquette_tolerance);
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

described_gauge describe_lime(const byte_source& source, const std::optional<extents>& expected) {
  described_gauge file;
  gauge_file_header& header = file.header;
  const auto records = lime_records(source, &header.remarks);
  const scidac_field field = find_scidac_field(source, records, scidac_content::gauge, expected);
  header.remarks.insert(header.remarks.end(), field.remarks.begin(), field.remarks.end());
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
