// SPDX-License-Identifier: BSD-3-Clause
// The text header of NERSC files: lines "KEY = value" between BEGIN_HEADER and END_HEADER.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <string>

#include "common/error.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/text.hpp"

namespace plaquette {

namespace {

using keys_and_values = std::map<std::string, std::string>;
constexpr std::uint64_t longest_header = 1 << 16;

[[noreturn]] void refuse(const byte_source& source, const std::string& key, const std::string& expected,
                         const std::string& found) {
  throw input_error(source.name() + ": expected " + key + " = " + expected + " in the NERSC header, found " +
                    (found.empty() ? "nothing" : quoted(found)));
}

/// MILC writes lines of its own between two that frame them, "MILC_INFO = -------BEGIN-------" and the same with END:
/// keys in between are not the header's.
bool frames_milc_info(std::string_view line, std::string_view word) {
  return line.find("MILC_INFO") != std::string_view::npos && line.find(word) != std::string_view::npos;
}

/// Returns where the links begin: a block of MILC's that follows the header ends before them.
std::size_t after_milc_info(const byte_source& source, const std::string& text, std::size_t begin) {
  const std::string_view rest = std::string_view(text).substr(begin);
  if (!rest.starts_with("MILC_INFO") && !rest.starts_with("BEGIN MILC_INFO") && !rest.starts_with("BEGIN_MILC_INFO"))
    return begin;
  while (true) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      throw input_error(source.name() + ": truncated: expected the end of a MILC_INFO block after the NERSC header " +
                        "within the first " + std::to_string(text.size()) + " bytes, found none");
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (frames_milc_info(line, "END")) return begin;
  }
}

/// The lines between the first and END_HEADER, and where the links begin. Those of a MILC_INFO block are passed over.
keys_and_values header_lines(const byte_source& source, described_gauge& file) {
  const std::string text = source.read_text(0, std::min(source.size(), longest_header));
  keys_and_values keys;
  bool milc_info = false, inside = false;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      throw input_error(source.name() + ": truncated: expected END_HEADER of a NERSC header within the first " +
                        std::to_string(text.size()) + " bytes, found none");
    const std::string_view line = trimmed(std::string_view(text).substr(begin, end - begin));
    const bool first = begin == 0;
    begin = end + 1;
    if (line == "END_HEADER") {
      file.layout.data_offset = after_milc_info(source, text, begin);
      if (milc_info || file.layout.data_offset != begin)
        file.header.remarks.push_back("the NERSC header has a MILC_INFO block, whose lines were passed over");
      return keys;
    }
    if (frames_milc_info(line, "BEGIN")) milc_info = inside = true;
    if (inside) {
      inside = !frames_milc_info(line, "END");
      continue;
    }
    const std::size_t sign = line.find('=');
    if (first || sign == std::string_view::npos) continue;
    const std::string key = cleaned(trimmed(line.substr(0, sign))), value = cleaned(trimmed(line.substr(sign + 1)));
    const auto [entry, is_new] = keys.emplace(key, value);
    if (!is_new && entry->second != value)
      throw input_error(source.name() + ": expected one value of " + one_line(key) + " in the NERSC header, found " +
                        quoted(entry->second) + " and " + quoted(value));
  }
}

std::string value_of(const keys_and_values& keys, const std::string& key) {
  const auto found = keys.find(key);
  return found == keys.end() ? std::string() : found->second;
}

extents lattice_of(const byte_source& source, const keys_and_values& keys) {
  std::array<std::int64_t, dimensions> lattice{};
  for (int mu = 0; mu < dimensions; ++mu) {
    const std::string key = "DIMENSION_" + std::to_string(mu + 1);
    const auto length = integer_of(value_of(keys, key));
    if (!length) refuse(source, key, "an integer", value_of(keys, key));
    lattice[static_cast<std::size_t>(mu)] = *length;
  }
  checked_volume(source, lattice);
  extents result;
  std::ranges::transform(lattice, result.begin(), [](std::int64_t length) { return static_cast<int>(length); });
  return result;
}

bool is_two_row(const byte_source& source, const keys_and_values& keys) {
  std::string type = value_of(keys, "DATATYPE");
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (type == "4D_SU3_GAUGE") return true;
  if (type == "4D_SU3_GAUGE_3X3") return false;
  refuse(source, "DATATYPE", "4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3", type);
}

/// True where the first link's first row, read in this byte order, has length one to a percent.
bool first_row_has_unit_length(const byte_source& source, gauge_file_header header, std::uint64_t offset, bool big) {
  header.big_endian = big;
  header.two_row = true;
  std::array<std::byte, 2 * colours * 2 * 8> data{};
  const auto bytes = std::span(data).first(static_cast<std::size_t>(link_bytes(header)));
  if (source.size() < offset + bytes.size()) return false;
  source.read(offset, bytes);
  const su3<double> link = decode_link(bytes, header);
  const double length = norm2(link(0, 0)) + norm2(link(0, 1)) + norm2(link(0, 2));
  return std::abs(length - 1.0) <= 0.01;
}

/// MILC names no precision: the size of the file decides, and the links on the byte order.
void find_floating_point(const byte_source& source, described_gauge& file) {
  gauge_file_header& header = file.header;
  const auto sites = static_cast<std::uint64_t>(volume(header.lattice));
  for (const int bits : {32, 64}) {
    header.precision_bits = bits;
    if (source.size() != file.layout.data_offset + sites * site_bytes(header)) continue;
    header.big_endian = !first_row_has_unit_length(source, header, file.layout.data_offset, false);
    header.remarks.push_back(joined({"the NERSC header has no FLOATING_POINT: ", bits == 32 ? "32" : "64",
                                     " bits as the size of the file says, ",
                                     header.big_endian ? "big-endian" : "little-endian", " as its first link does"}));
    return;
  }
  header.precision_bits = 32;
  const std::uint64_t half = file.layout.data_offset + sites * site_bytes(header);
  throw input_error(source.name() + ": expected FLOATING_POINT in the NERSC header, or " + std::to_string(half) +
                    " bytes (32 bits) or " + std::to_string(2 * half - file.layout.data_offset) +
                    " (64 bits) in the file, found " + std::to_string(source.size()));
}

/// "IEEE32BIG" and its like; where the name leaves the byte order open, the links decide.
void set_floating_point(const byte_source& source, const keys_and_values& keys, described_gauge& file) {
  const std::string value = value_of(keys, "FLOATING_POINT");
  if (!keys.contains("FLOATING_POINT")) return find_floating_point(source, file);
  const std::string_view name = value;
  if (!name.starts_with("IEEE32") && !name.starts_with("IEEE64"))
    refuse(source, "FLOATING_POINT", "IEEE32, IEEE64, each with BIG, LITTLE or neither", value);
  file.header.precision_bits = name[4] == '3' ? 32 : 64;
  const std::string_view order = name.substr(6);
  if (order == "BIG")
    file.header.big_endian = true;
  else if (order == "LITTLE")
    file.header.big_endian = false;
  else if (order.empty())
    file.header.big_endian = !first_row_has_unit_length(source, file.header, file.layout.data_offset, false);
  else
    refuse(source, "FLOATING_POINT", "IEEE32, IEEE64, each with BIG, LITTLE or neither", value);
}

/// A claimed average and how far the links' may be from it.
void set_claim(const byte_source& source, const keys_and_values& keys, const std::string& key,
               const gauge_file_header& header, double& value, double& tolerance) {
  const std::string text = value_of(keys, key);
  if (text.empty()) return;
  const auto number = printed_number_of(text);
  if (!number) refuse(source, key, "a number", text);
  value = number->value;
  tolerance = claim_tolerance(number->unit, header.precision_bits, static_cast<double>(volume(header.lattice)));
}

}  // namespace

described_gauge describe_nersc(const byte_source& source) {
  described_gauge file;
  gauge_file_header& header = file.header;
  header.format = gauge_format::nersc;
  header.text = header_lines(source, file);
  header.lattice = lattice_of(source, header.text);
  header.two_row = is_two_row(source, header.text);
  set_floating_point(source, header.text, file);
  require_size(source, file);
  set_claim(source, header.text, "PLAQUETTE", header, header.plaquette, header.plaquette_tolerance);
  set_claim(source, header.text, "LINK_TRACE", header, header.link_trace, header.link_trace_tolerance);
  file.layout.checksum = checksum_kind::nersc;
  if (const std::string text = value_of(header.text, "CHECKSUM"); !text.empty()) {
    const auto checksum = hexadecimal_of(text);
    if (!checksum) refuse(source, "CHECKSUM", "a 32-bit number in hexadecimal digits", text);
    header.checksum_claimed = hexadecimal(*checksum);
  }
  return file;
}

}  // namespace plaquette
