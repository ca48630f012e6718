// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/lime.hpp"

#include <algorithm>
#include <array>

#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/text.hpp"

namespace plaquette {

namespace {

constexpr std::uint64_t largest_text = 1 << 20;
constexpr std::size_t most_records = 10000;
constexpr std::uint64_t type_bytes = 128;
constexpr unsigned message_begin = 0x8000, message_end = 0x4000;

std::string type_of(const byte_source& source, std::uint64_t header) {
  std::string type = source.read_text(header + lime_header_bytes - type_bytes, type_bytes);
  type.resize(std::min(type.find('\0'), type.size()));
  if (type.empty() || !std::ranges::all_of(type, [](char c) { return c > ' ' && c < 127; }))
    throw input_error(source.name() + ": expected the type of a LIME record at offset " + std::to_string(header) +
                      ", found " + quoted(type));
  return type;
}

lime_record record_at(const byte_source& source, std::uint64_t header) {
  const std::uint64_t left = source.size() - header;
  if (left < lime_header_bytes)
    throw input_error(source.name() + ": truncated, or followed by other bytes: expected a LIME record of at least " +
                      std::to_string(lime_header_bytes) + " bytes at offset " + std::to_string(header) + ", found " +
                      std::to_string(left));
  std::array<std::byte, 16> start{};
  source.read(header, start);
  const auto magic = load_unsigned<std::uint32_t>(start.data(), true);
  const auto version = load_unsigned<std::uint16_t>(start.data() + 4, true);
  if (magic != lime_magic || version != 1)
    throw input_error(source.name() + ": expected a LIME record (456789ab, version 1) at offset " +
                      std::to_string(header) + ", found " + hexadecimal_bytes(std::span(start).first(6)));
  lime_record record;
  record.type = type_of(source, header);
  record.offset = header + lime_header_bytes;
  record.ends_message = (load_unsigned<std::uint16_t>(start.data() + 6, true) & message_end) != 0;
  record.size = load_unsigned<std::uint64_t>(start.data() + 8, true);
  const std::uint64_t room = left - lime_header_bytes;
  if (record.size > room)
    throw input_error(source.name() + ": truncated: LIME record '" + record.type + "' says that it holds " +
                      std::to_string(record.size) + " bytes, found " + std::to_string(room));
  return record;
}

/// True where what follows the last record is no record: a few bytes that are not the beginning of one.
bool ends_with_stray_bytes(const byte_source& source, std::uint64_t header) {
  constexpr std::string_view beginning("\x45\x67\x89\xab\x00\x01", 6);
  constexpr std::uint64_t most = 7;
  const std::uint64_t left = source.size() - header;
  if (header == 0 || left > most) return false;
  const std::string found = source.read_text(header, left);
  return found.substr(0, beginning.size()) != beginning.substr(0, left);
}

}  // namespace

std::vector<lime_record> lime_records(const byte_source& source, std::vector<std::string>* remarks) {
  std::vector<lime_record> records;
  const auto remark = [&](const std::string& text) {
    if (remarks) remarks->push_back(text);
  };
  for (std::uint64_t header = 0; header < source.size();) {
    if (ends_with_stray_bytes(source, header)) {
      remark("the last LIME record is followed by " + std::to_string(source.size() - header) +
             " bytes, which were passed over");
      break;
    }
    if (records.size() == most_records)
      throw input_error(source.name() + ": expected at most " + std::to_string(most_records) +
                        " LIME records, found more");
    records.push_back(record_at(source, header));
    const lime_record& last = records.back();
    header = last.offset + last.size + lime_padding(last.size);
    if (header > source.size())
      remark("the last LIME record lacks " + std::to_string(header - source.size()) + " of the zero bytes that pad it");
  }
  return records;
}

std::string lime_text(const byte_source& source, const lime_record& record) {
  if (record.size > largest_text)
    throw input_error(source.name() + ": expected at most " + std::to_string(largest_text) +
                      " bytes of text in LIME record '" + record.type + "', found " + std::to_string(record.size));
  std::string text = source.read_text(record.offset, record.size);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::string lime_header(std::string_view type, std::uint64_t size, bool first_of_message, bool last_of_message) {
  std::array<std::byte, lime_header_bytes> header{};
  store_unsigned(header.data(), lime_magic, true);
  store_unsigned(header.data() + 4, std::uint16_t{1}, true);
  const unsigned flags = (first_of_message ? message_begin : 0u) | (last_of_message ? message_end : 0u);
  store_unsigned(header.data() + 6, static_cast<std::uint16_t>(flags), true);
  store_unsigned(header.data() + 8, size, true);
  std::ranges::transform(type.substr(0, type_bytes - 1), header.begin() + 16,
                         [](char c) { return static_cast<std::byte>(c); });
  return {reinterpret_cast<const char*>(header.data()), header.size()};
}

std::string lime_text_record(std::string_view type, std::string_view text, bool first_of_message,
                             bool last_of_message) {
  std::string data = joined({text, std::string_view("\0", 1)});
  const std::uint64_t size = data.size();
  data.append(lime_padding(size), '\0');
  return lime_header(type, size, first_of_message, last_of_message) + data;
}

std::string xml_tag(std::string_view tag, std::string_view content) {
  return joined({"<", tag, ">", content, "</", tag, ">"});
}

std::string escaped_xml(std::string_view text) {
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

std::optional<std::string> xml_element(std::string_view xml, std::string_view tag) {
  // The name in <name ...> or <prefix:name ...> that stands at `at`, prefix included; empty for other things.
  const auto name_at = [&](std::size_t at) {
    std::size_t end = at + 1;
    while (end < xml.size() && xml[end] != '>' && xml[end] != '<' && !is_blank(xml[end])) ++end;
    return end < xml.size() ? xml.substr(at + 1, end - at - 1) : std::string_view();
  };
  for (std::size_t at = xml.find('<'); at != std::string_view::npos; at = xml.find('<', at + 1)) {
    const std::string_view name = name_at(at);
    const std::size_t colon = name.find(':');
    if (name.substr(colon == std::string_view::npos ? 0 : colon + 1) != tag) continue;
    const std::size_t begin = xml.find('>', at);
    if (begin == std::string_view::npos) return std::nullopt;
    const std::size_t end = xml.find(joined({"</", name}), begin);
    if (end == std::string_view::npos) return std::nullopt;
    return std::string(trimmed(xml.substr(begin + 1, end - begin - 1)));
  }
  return std::nullopt;
}

}  // namespace plaquette
