// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/lime_record.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "common/io/lime.hpp"

namespace plaquette {

json_document checkpoint_in_lime_record(const std::string& path, const std::string& record_type,
                                        const std::string& what, int version) {
  constexpr std::uint64_t longest_record = std::uint64_t{1} << 28;
  constexpr std::string_view magic{"\x45\x67\x89\xab", 4};
  const file_source source(path);
  const std::string name = printable(path);
  const auto refuse = [&](const std::string& found) {
    throw input_error(name + ": expected " + what + ", found " + found);
  };
  if (source.size() < lime_header_bytes || source.read_text(0, magic.size()) != magic) refuse("no LIME file");
  const auto records = lime_records(source);
  const auto record = std::ranges::find(records, record_type, &lime_record::type);
  if (record == records.end()) refuse("a LIME file without a record " + record_type);
  if (record->size == 0 || record->size > longest_record) refuse("a record of unusable size");
  std::string text = source.read_text(record->offset, record->size);
  if (text.back() == '\0') text.pop_back();
  json_document state = parse_checkpoint_text(path, text);
  if (const int found = checkpoint_value<int>(name, state, "version"); found != version)
    refuse(fmt::format("version {} of it, where this program knows {}", found, version));
  return state;
}

}  // namespace plaquette
