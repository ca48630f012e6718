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
  bool is_ildg = false, is_etmc = false;
  bool has_scidac_record = false;
  std::optional<scidac_content> content;
  std::string refused;  // why the field is of no use, where it is not
  field_role role = field_role::unsaid;
  std::optional<std::pair<int, int>> spin_colour;
};

const char* name_of(scidac_content content) {
  using enum scidac_content;
  return content == gauge ? "links" : content == spinor ? "a spinor" : "a propagator";
}

class field_finder {
 public:
  field_finder(const byte_source& source, scidac_content wanted, const std::optional<extents>& lattice)
      : source_(source), wanted_(wanted), lattice_(lattice) {}

  void take(const lime_record& record) {
    if (record.type == "scidac-private-file-xml")
      take_file(lime_text(source_, record));
    else if (record.type == "scidac-private-record-xml")
      take_record(lime_text(source_, record));
    else if (record.type == "ildg-format")
      take_format(lime_text(source_, record), "ildg-format", "su3gauge", scidac_content::gauge);
    else if (record.type == "etmc-propagator-format")
      take_propagator_format(lime_text(source_, record));
    else if (record.type == "etmc-source-format")
      take_source_format();
    else if (record.type == "propagator-type" || record.type == "etmc-propagator-type")
      take_type_of_file(lime_text(source_, record));
    else if (record.type == "scidac-file-xml")
      take_type_of_file(xml_element(beginning_of(record), "type").value_or(""));
    else if (record.type == "scidac-record-xml")
      take_user_record(beginning_of(record));
    else if (record.type == "ildg-binary-data" || record.type == "scidac-binary-data")
      take_data(record);
    else if (record.type == "scidac-checksum")
      take_checksum(lime_text(source_, record));
  }

  scidac_fields all() const {
    return {found_, are_pairs_ && !describes_sources_,
            found_.empty() && reason_.empty() ? "it has no record of data" : reason_};
  }

  scidac_field result() const {
    const std::string kind = wanted_ == scidac_content::gauge    ? "gauge configuration"
                             : wanted_ == scidac_content::spinor ? "spinor field"
                                                                 : "propagator";
    if (found_.empty() && undescribed_)
      throw input_error(source_.name() + ": expected a record 'ildg-format' before 'ildg-binary-data', or --lattice, " +
                        "found neither");
    if (found_.size() != 1)
      throw input_error(source_.name() + ": expected one " + kind + " in the LIME file, found " +
                        std::to_string(found_.size()) + (found_.empty() ? " (" + all().reason + ")" : ""));
    scidac_field field = found_.front();
    field.remarks.insert(field.remarks.end(), remarks_.begin(), remarks_.end());
    return field;
  }

 private:
  void remark(const std::string& text) { remarks_.push_back(text); }
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

  /// Returns the text of a record that may be long; its first mebibyte says all that is used here.
  std::string beginning_of(const lime_record& record) const {
    return source_.read_text(record.offset, std::min<std::uint64_t>(record.size, 1 << 20));
  }

  /// The word that tmLQCD and USQCD have for a file of several fields: "..._Source_Sink_Pairs" and others.
  void take_type_of_file(const std::string& type) {
    if (type.find("DiracFermion_Source_Sink_Pairs") != std::string::npos) are_pairs_ = true;
  }

  void take_source_format() {
    describes_sources_ = true;
    const auto lattice = said_.file_lattice;
    said_ = {};
    said_.file_lattice = lattice;
    said_.role = field_role::source;
    said_.refused = "a record 'etmc-source-format' describes a source";
    etmc_.reset();
  }

  void take_propagator_format(const std::string& xml) {
    const char* record = "etmc-propagator-format";
    if (said_.role == field_role::source) said_.refused.clear();  // a source that has no data
    said_.role = field_role::unsaid;
    take_format(xml, record, "diracFermion", scidac_content::spinor);
    etmc_ = said_;
    if (wanted_ == scidac_content::gauge || !xml_element(xml, "flavours")) return;
    if (const auto flavours = required_integer(xml, "flavours", record); flavours != 1)
      refuse("one flavour in record 'etmc-propagator-format' (a file of each flavour can be read)",
             std::to_string(flavours));
  }

  /// What a program adds to a SciDAC record. USQCD names the source that a solution belongs to.
  void take_user_record(const std::string& xml) {
    for (const char* tag : {"usqcdPropInfo", "usqcdInfo"}) {
      const auto info = xml_element(xml, tag);
      if (!info) continue;
      said_.role = field_role::solution;
      if (!xml_element(*info, "spin") && !xml_element(*info, "color")) return;
      const auto spin = required_integer(*info, "spin", tag), colour = required_integer(*info, "color", tag);
      if (spin < 0 || spin >= spins || colour < 0 || colour >= colours)
        refuse(joined({"a spin from 0 to 3 and a color from 0 to 2 in <", tag, ">"}),
               std::to_string(spin) + " and " + std::to_string(colour));
      said_.spin_colour = std::pair(static_cast<int>(spin), static_cast<int>(colour));
      return;
    }
    if (xml_element(xml, "usqcdSourceInfo")) said_.role = field_role::source;
  }

  void take_file(const std::string& xml) {
    const char* record = "scidac-private-file-xml";
    // QIO of 2004 has no volfmt.
    if (!xml_element(xml, "volfmt"))
      remark("record 'scidac-private-file-xml' has no <volfmt>: one volume, as in files of 2004");
    else if (const auto volumes = required_integer(xml, "volfmt", record); volumes != 0)
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
    if (const auto text = xml_element(xml, "field"); !text && content == scidac_content::gauge)
      remark(joined({"record '", record, "' has no <field>: ", field, ", as its size says"}));
    else if (const std::string named = required(xml, "field", record); named != field)
      refuse(std::string("<field>") + field + "</field> in record '" + record + "'", quoted(named));
    if (xml.find("<lx") == std::string::npos)
      remark(joined({"the names in record '", record, "' have a prefix, which was passed over"}));
    std::array<std::int64_t, dimensions> lattice{};
    const char* tags[] = {"lx", "ly", "lz", "lt"};
    for (std::size_t mu = 0; mu < dimensions; ++mu) lattice[mu] = required_integer(xml, tags[mu], record);
    const auto precision = required_integer(xml, "precision", record);
    if (precision != 32 && precision != 64)
      refuse(std::string("a precision of 32 or 64 in record '") + record + "'", std::to_string(precision));
    etmc_.reset();
    said_.format_lattice = checked(lattice);
    said_.format_precision = static_cast<int>(precision);
    said_.is_ildg = content == scidac_content::gauge;
    said_.is_etmc = content == scidac_content::spinor;
    said_.content = content;
  }

  /// A record of another kind (global data, a part of the lattice, other types) is not an error: it is passed over.
  void take_record(const std::string& xml) {
    const char* record = "scidac-private-record-xml";
    said_.record_precision.reset();
    said_.refused.clear();
    said_.content.reset();
    said_.role = field_role::unsaid;
    said_.spin_colour.reset();
    etmc_.reset();
    said_.has_scidac_record = true;
    for (const char* tag : {"globaldata", "recordtype"})
      if (const auto text = xml_element(xml, tag); text && integer_of(*text) != 0)
        said_.refused = "its record is not a field on the whole lattice";
    const std::string type = required(xml, "datatype", record);
    const auto count = required_integer(xml, "datacount", record);
    if (type == "Lattice") return take_record_of_2004(xml, count);
    if ((type.ends_with("ColorMatrix") || type.ends_with("c3_GaugeField")) && count == dimensions)
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

  /// QIO of 2004, and QDP++ to this day, call every type "Lattice": the bytes of an object say what it is, and its
  /// precision.
  void take_record_of_2004(const std::string& xml, std::int64_t count) {
    const auto bytes = required_integer(xml, "typesize", "scidac-private-record-xml");
    using enum scidac_content;
    for (const scidac_content content : {gauge, spinor, propagator})
      for (const int size : {4, 8})
        if (count == (content == gauge ? dimensions : 1) && bytes * count == reals_of(content) * size) {
          said_.content = content;
          said_.record_precision = 8 * size;
          remark("a SciDAC record of datatype 'Lattice', as in 2004: " + std::to_string(count) + " objects of " +
                 std::to_string(bytes) + " bytes, hence " + name_of(content) + " of " + std::to_string(8 * size) +
                 " bits");
          return;
        }
    said_.refused = "a record is " + std::to_string(count) + " x 'Lattice' of " + std::to_string(bytes) + " bytes";
  }

  /// Links that no record describes. Returns true where the lattice that the caller knows makes them a field.
  bool take_undescribed(const description& said, const lime_record& record) {
    if (wanted_ != scidac_content::gauge || record.type != "ildg-binary-data" || said.has_scidac_record ||
        said.format_lattice || said.file_lattice)
      return false;
    undescribed_ = true;
    if (!lattice_) return false;
    const auto reals = static_cast<std::uint64_t>(volume(*lattice_) * reals_of(wanted_));
    for (const std::uint64_t size : {4u, 8u}) {
      if (record.size != reals * size) continue;
      found_.push_back(
          {.is_ildg = true,
           .is_etmc = false,
           .lattice = *lattice_,
           .precision_bits = static_cast<int>(8 * size),
           .offset = record.offset,
           .checksum = {},
           .remarks = {"record 'ildg-binary-data' has no 'ildg-format' before it: the lattice " + to_string(*lattice_) +
                       " of --lattice, and " + std::to_string(8 * size) + " bits as its size says"}});
      return true;
    }
    refuse(std::to_string(4 * reals) + " or " + std::to_string(8 * reals) +
               " bytes in record 'ildg-binary-data' for the lattice " + to_string(*lattice_) + " of --lattice",
           std::to_string(record.size));
  }

  void take_data(const lime_record& record) {
    description said = std::exchange(said_, {});
    said_.file_lattice = said.file_lattice;
    if (etmc_ && !said.content && said.refused.empty() && record.type == "scidac-binary-data") said = *etmc_;
    checksum_wanted_ = false;
    if (take_undescribed(said, record)) {
      checksum_wanted_ = true;
      return;
    }
    if (!said.refused.empty() || said.content != wanted_) {
      reason_ = !said.refused.empty() ? said.refused
                : said.content        ? joined({"a record holds ", name_of(*said.content)})
                                      : joined({"no record describes the data of record '", record.type, "'"});
      return;
    }
    checksum_wanted_ = true;
    found_.push_back(field_of(said, record));
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
    field.is_etmc = said.is_etmc;
    field.lattice = said.format_lattice ? *said.format_lattice : *said.file_lattice;
    field.precision_bits = said.format_precision ? *said.format_precision : *said.record_precision;
    field.offset = record.offset;
    field.role = said.role;
    field.spin_colour = said.spin_colour;
    const auto expected = static_cast<std::uint64_t>(volume(field.lattice)) *
                          static_cast<std::uint64_t>(reals_of(wanted_) * field.precision_bits / 8);
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
    found_.back().checksum = hexadecimal(*a) + ' ' + hexadecimal(*b);
    checksum_wanted_ = false;
  }

  const byte_source& source_;
  scidac_content wanted_;
  std::optional<extents> lattice_;
  std::vector<std::string> remarks_;
  bool undescribed_ = false;  // links have come that no record describes
  description said_;
  std::optional<description> etmc_;  // the last etmc-propagator-format: one may stand before several fields
  bool are_pairs_ = false, describes_sources_ = false;
  std::vector<scidac_field> found_;
  bool checksum_wanted_ = false;  // the last field has come, its checksum has not
  std::string reason_;
};

}  // namespace

int reals_of(scidac_content content) {
  if (content == scidac_content::gauge) return dimensions * colours * colours * 2;
  return content == scidac_content::spinor ? spinor_reals : spinor_reals * spins * colours;
}

namespace {

/// A file cut off before its checksum record would pass for one that never had any, but for its unfinished message.
void require_whole(const byte_source& source, const std::vector<lime_record>& records, const scidac_field& last) {
  if (last.offset == records.back().offset && !records.back().ends_message)
    throw input_error(source.name() + ": truncated: expected more LIME records after '" + records.back().type +
                      "', which does not end its message, found none");
}

}  // namespace

scidac_field find_scidac_field(const byte_source& source, const std::vector<lime_record>& records,
                               scidac_content content, const std::optional<extents>& lattice) {
  field_finder finder(source, content, lattice);
  for (const lime_record& record : records) finder.take(record);
  const scidac_field field = finder.result();
  require_whole(source, records, field);
  return field;
}

std::string scidac_file_records(const std::string& dims, const std::string& title) {
  return lime_text_record("scidac-private-file-xml",
                          xml_begin + xml_tag("scidacFile", xml_tag("version", "1.1") + xml_tag("spacetime", "4") +
                                                                xml_tag("dims", dims) + xml_tag("volfmt", "0")),
                          true, false) +
         lime_text_record("scidac-file-xml", xml_begin + xml_tag("title", escaped_xml(title)), false, true);
}

scidac_fields find_scidac_fields(const byte_source& source, const std::vector<lime_record>& records,
                                 scidac_content content) {
  field_finder finder(source, content, {});
  for (const lime_record& record : records) finder.take(record);
  scidac_fields found = finder.all();
  if (!found.fields.empty()) require_whole(source, records, found.fields.back());
  return found;
}

}  // namespace plaquette
