// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// LIME, the container of ILDG and SciDAC files: records with a type, grouped into messages; and the few words of XML
/// that such records hold. Record header: 144 bytes, big-endian: magic 0x456789ab, version 1 (16 bits), flags (16 bits:
/// first and last record of a message), length of the data (64 bits), type (128 characters); data padded to 8 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/io/byte_source.hpp"

namespace plaquette {

inline constexpr std::uint32_t lime_magic = 0x456789ab;
inline constexpr std::uint64_t lime_header_bytes = 144;

struct lime_record {
  std::string type;
  std::uint64_t offset = 0;  ///< of the data in the file
  std::uint64_t size = 0;    ///< of the data, without padding
  bool ends_message = false;
};

/// Returns all records, in order. Throws input_error where the file is not a sequence of whole records to its last
/// byte. Two things are passed over, each with a remark. The last record may lack some of its padding. At most seven
/// bytes may follow it, where they are not the beginning of another record.
std::vector<lime_record> lime_records(const byte_source& source, std::vector<std::string>* remarks = nullptr);

/// Returns the data of a record that holds text, without the zero byte some programs end it with. Throws input_error
/// for one longer than a mebibyte.
std::string lime_text(const byte_source& source, const lime_record& record);

/// Returns the header of a record. A message's first and last record say so.
std::string lime_header(std::string_view type, std::uint64_t size, bool first_of_message, bool last_of_message);
/// Returns the number of zero bytes after `size` bytes of data.
constexpr std::uint64_t lime_padding(std::uint64_t size) { return (8 - size % 8) % 8; }

/// Returns a whole record of text, ended by a zero byte as QIO does it.
std::string lime_text_record(std::string_view type, std::string_view text, bool first_of_message, bool last_of_message);

/// Returns <tag>content</tag>.
std::string xml_tag(std::string_view tag, std::string_view content);
/// Returns a text whose &, < and > are escaped.
std::string escaped_xml(std::string_view text);
inline constexpr const char* xml_begin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Returns the text of the first element <tag ...>text</tag>, blanks around it removed. A prefix of the name, as in
/// <ildg:field>, is passed over.
std::optional<std::string> xml_element(std::string_view xml, std::string_view tag);

}  // namespace plaquette
