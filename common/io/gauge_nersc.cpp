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

/// The lines between the first and END_HEADER, and where the links begin.
keys_and_values header_lines(const byte_source& source, std::uint64_t& data_offset) {
  const std::string text = source.read_text(0, std::min(source.size(), longest_header));
  keys_and_values keys;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos)
      throw input_error(source.name() + ": truncated: expected END_HEADER of a NERSC header within the first " +
                        std::to_string(text.size()) + " bytes, found none");
    const std::string_view line = trimmed(std::string_view(text).substr(begin, end - begin));
    const bool first = begin == 0;
    begin = end + 1;
    if (line == "END_HEADER") {
      data_offset = begin;
      return keys;
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

/// "IEEE32BIG" and its like; where the name leaves the byte order open, the links decide.
void set_floating_point(const byte_source& source, const keys_and_values& keys, described_gauge& file) {
  const std::string value = value_of(keys, "FLOATING_POINT");
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
void set_claim(const byte_source& source, const keys_and_values& keys, const std::string& key, double terms,
               const gauge_file_header& header, double& value, double& tolerance) {
  const std::string text = value_of(keys, key);
  if (text.empty()) return;
  const auto number = printed_number_of(text);
  if (!number) refuse(source, key, "a number", text);
  value = number->value;
  tolerance = claim_tolerance(number->unit, header.precision_bits, terms);
}

}  // namespace

described_gauge describe_nersc(const byte_source& source) {
  described_gauge file;
  gauge_file_header& header = file.header;
  header.format = gauge_format::nersc;
  header.text = header_lines(source, file.layout.data_offset);
  header.lattice = lattice_of(source, header.text);
  header.two_row = is_two_row(source, header.text);
  set_floating_point(source, header.text, file);
  require_size(source, file);
  const double sites = static_cast<double>(volume(header.lattice));
  set_claim(source, header.text, "PLAQUETTE", 6 * sites, header, header.plaquette, header.plaquette_tolerance);
  set_claim(source, header.text, "LINK_TRACE", 4 * sites, header, header.link_trace, header.link_trace_tolerance);
  file.layout.checksum = checksum_kind::nersc;
  if (const std::string text = value_of(header.text, "CHECKSUM"); !text.empty()) {
    const auto checksum = hexadecimal_of(text);
    if (!checksum) refuse(source, "CHECKSUM", "a 32-bit number in hexadecimal digits", text);
    header.checksum_claimed = hexadecimal(*checksum);
  }
  return file;
}

}  // namespace plaquette
