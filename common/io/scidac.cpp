// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/scidac.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <utility>

#include "common/algebra/spinor.hpp"
#include "common/error.hpp"
#include "common/io/checksum.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/text.hpp"

namespace plaquette {

namespace {

/// What records before the binary one have said; each item from the record nearest before it.
struct description {
  std::optional<extents> format_lattice,
      file_lattice;  // ildg-format (or etmc-propagator-format); scidac-private-file-xml
  std::optional<int> format_precision, record_precision;
  bool is_ildg = false;
  std::optional<scidac_content> content;
  std::string refused;  // why the field is of no use, where it is not
};

class field_finder {
 public:
  field_finder(const byte_source& source, scidac_content wanted) : source_(source), wanted_(wanted) {}

  void take(const lime_record& record) {
    if (record.type == "scidac-private-file-xml")
      take_file(lime_text(source_, record));
    else if (record.type == "scidac-private-record-xml")
      take_record(lime_text(source_, record));
    else if (record.type == "ildg-format")
      take_format(lime_text(source_, record), "ildg-format", "su3gauge", scidac_content::gauge);
    else if (record.type == "etmc-propagator-format")
      take_format(lime_text(source_, record), "etmc-propagator-format", "diracFermion", scidac_content::spinor);
    else if (record.type == "ildg-binary-data" || record.type == "scidac-binary-data")
      take_data(record);
    else if (record.type == "scidac-checksum")
      take_checksum(lime_text(source_, record));
  }

  scidac_field result() const {
    const std::string kind = wanted_ == scidac_content::gauge ? "gauge configuration" : "spinor field";
    if (found_ != 1)
      throw input_error(source_.name() + ": expected one " + kind + " in the LIME file, found " +
                        std::to_string(found_) + (reason_.empty() ? "" : " (" + reason_ + ")"));
    return field_;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    throw input_error(source_.name() + ": expected " + expected + ", found " + found);
  }
  std::string required(const std::string& xml, const char* tag, const char* record) const {
    const auto text = xml_element(xml, tag);
    if (!text) refuse(joined({"<", tag, "> in record '", record, "'"}), "none");
    return *text;
  }
  std::int64_t required_integer(const std::string& xml, const char* tag, const char* record) const {
    const std::string text = required(xml, tag, record);
    const auto number = integer_of(text);
    if (!number) refuse(joined({"an integer in <", tag, "> of record '", record, "'"}), quoted(text));
    return *number;
  }
  extents checked(const std::array<std::int64_t, dimensions>& lattice) const {
    checked_volume(source_, lattice);
    extents result;
    std::ranges::transform(lattice, result.begin(), [](std::int64_t length) { return static_cast<int>(length); });
    return result;
  }

  void take_file(const std::string& xml) {
    const char* record = "scidac-private-file-xml";
    if (const auto volumes = required_integer(xml, "volfmt", record); volumes != 0)
      refuse("a SciDAC file of one volume (volfmt 0)", std::to_string(volumes));
    if (const auto number = required_integer(xml, "spacetime", record); number != dimensions)
      refuse("4 dimensions in record 'scidac-private-file-xml'", std::to_string(number));
    const std::string text = required(xml, "dims", record);
    std::istringstream words(text);
    std::array<std::int64_t, dimensions> lattice{};
    std::string word;
    for (std::int64_t& length : lattice) {
      words >> word;
      const auto number = words ? integer_of(word) : std::nullopt;
      if (!number) refuse("four integers in <dims> of record 'scidac-private-file-xml'", quoted(text));
      length = *number;
    }
    if (words >> word) refuse("four integers in <dims> of record 'scidac-private-file-xml'", quoted(text));
    said_.file_lattice = checked(lattice);
  }

  void take_format(const std::string& xml, const char* record, const char* field, scidac_content content) {
    if (const std::string text = required(xml, "field", record); text != field)
      refuse(std::string("<field>") + field + "</field> in record '" + record + "'", quoted(text));
    std::array<std::int64_t, dimensions> lattice{};
    const char* tags[] = {"lx", "ly", "lz", "lt"};
    for (std::size_t mu = 0; mu < dimensions; ++mu) lattice[mu] = required_integer(xml, tags[mu], record);
    const auto precision = required_integer(xml, "precision", record);
    if (precision != 32 && precision != 64)
      refuse(std::string("a precision of 32 or 64 in record '") + record + "'", std::to_string(precision));
    said_.format_lattice = checked(lattice);
    said_.format_precision = static_cast<int>(precision);
    said_.is_ildg = content == scidac_content::gauge;
    said_.content = content;
  }

  /// A record of another kind (global data, a part of the lattice, other types) is not an error: it is passed over.
  void take_record(const std::string& xml) {
    const char* record = "scidac-private-record-xml";
    said_.record_precision.reset();
    said_.refused.clear();
    said_.content.reset();
    for (const char* tag : {"globaldata", "recordtype"})
      if (const auto text = xml_element(xml, tag); text && integer_of(*text) != 0)
        said_.refused = "its record is not a field on the whole lattice";
    const std::string type = required(xml, "datatype", record);
    const auto count = required_integer(xml, "datacount", record);
    if (type.ends_with("ColorMatrix") && count == dimensions)
      said_.content = scidac_content::gauge;
    else if (type.ends_with("DiracFermion") && count == 1)
      said_.content = scidac_content::spinor;
    else
      said_.refused = "a record is " + std::to_string(count) + " x " + quoted(type);
    if (said_.content)
      if (const auto number = xml_element(xml, "colors"); number && integer_of(*number) != colours)
        said_.refused = joined({"a record has ", quoted(*number), " colours"});
    const std::string precision = required(xml, "precision", record);
    if (precision == "F" || precision == "D")
      said_.record_precision = precision == "F" ? 32 : 64;
    else
      said_.refused = "a record is of precision " + quoted(precision);
  }

  void take_data(const lime_record& record) {
    const description said = std::exchange(said_, {});
    said_.file_lattice = said.file_lattice;
    checksum_wanted_ = false;
    if (!said.refused.empty() || said.content != wanted_) {
      if (!said.refused.empty()) reason_ = said.refused;
      return;
    }
    ++found_;
    checksum_wanted_ = true;
    field_ = field_of(said, record);
  }

  scidac_field field_of(const description& said, const lime_record& record) const {
    if (!said.format_lattice && !said.file_lattice)
      refuse("the lattice of record '" + record.type + "' in a record before it", "none");
    if (said.format_lattice && said.file_lattice && *said.format_lattice != *said.file_lattice)
      refuse("one lattice in all records",
             to_string(*said.file_lattice) + " in one and " + to_string(*said.format_lattice) + " in another");
    if (said.format_precision && said.record_precision && *said.format_precision != *said.record_precision)
      refuse("one precision in all records", std::to_string(*said.record_precision) + " bits in one and " +
                                                 std::to_string(*said.format_precision) + " in another");
    scidac_field field;
    field.is_ildg = said.is_ildg;
    field.lattice = said.format_lattice ? *said.format_lattice : *said.file_lattice;
    field.precision_bits = said.format_precision ? *said.format_precision : *said.record_precision;
    field.offset = record.offset;
    const int reals = wanted_ == scidac_content::gauge ? dimensions * colours * colours * 2 : spinor_reals;
    const auto expected = static_cast<std::uint64_t>(volume(field.lattice)) *
                          static_cast<std::uint64_t>(reals * field.precision_bits / 8);
    if (record.size != expected)
      refuse(std::to_string(expected) + " bytes in record '" + record.type + "' for " + to_string(field.lattice) +
                 " and " + std::to_string(field.precision_bits) + " bits",
             std::to_string(record.size));
    return field;
  }

  void take_checksum(const std::string& xml) {
    if (!checksum_wanted_) return;
    const std::string first = required(xml, "suma", "scidac-checksum"),
                      second = required(xml, "sumb", "scidac-checksum");
    const auto a = hexadecimal_of(first), b = hexadecimal_of(second);
    if (!a || !b)
      refuse("two hexadecimal numbers in record 'scidac-checksum'", joined({quoted(first), ", ", quoted(second)}));
    field_.checksum = hexadecimal(*a) + ' ' + hexadecimal(*b);
    checksum_wanted_ = false;
  }

  const byte_source& source_;
  scidac_content wanted_;
  description said_;
  scidac_field field_;
  bool checksum_wanted_ = false;  // the field has come, its checksum has not
  int found_ = 0;
  std::string reason_;
};

}  // namespace

scidac_field find_scidac_field(const byte_source& source, const std::vector<lime_record>& records,
                               scidac_content content) {
  field_finder finder(source, content);
  for (const lime_record& record : records) finder.take(record);
  const scidac_field field = finder.result();
  // A file cut off before its checksum record would pass for one that never had any, but for its unfinished message.
  if (field.offset == records.back().offset && !records.back().ends_message)
    throw input_error(source.name() + ": truncated: expected more LIME records after '" + records.back().type +
                      "', which does not end its message, found none");
  return field;
}

}  // namespace plaquette
