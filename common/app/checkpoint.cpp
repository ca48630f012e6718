// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "common/app/parse.hpp"
#include "common/app/standard_streams.hpp"
#include "common/io/checksum.hpp"

namespace plaquette {

namespace {

constexpr std::size_t checksum_digits = 8;

std::string checksum_of(const std::string& text) { return hexadecimal(crc32(std::as_bytes(std::span(text)))); }

/// How deep brackets of a JSON text are nested: each level takes a call when the document is printed.
int nesting_of(const std::string& text) {
  int depth = 0, deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text && c == '\\')
      ++i;
    else if (c == '"')
      in_text = !in_text;
    else if (!in_text && (c == '{' || c == '['))
      deepest = std::max(deepest, ++depth);
    else if (!in_text && (c == '}' || c == ']'))
      --depth;
  }
  return deepest;
}

}  // namespace

std::string checkpoint_text(const json_document& state) {
  const std::string text = state.dump();
  return checksum_of(text) + '\n' + text;
}

json_document parse_checkpoint_text(const std::string& path, const std::string& text) {
  const std::string body = text.size() > checksum_digits ? text.substr(checksum_digits + 1) : "";
  const std::string claimed = text.substr(0, checksum_digits), found = checksum_of(body);
  if (claimed != found)
    throw input_error(fmt::format("{}: expected a checkpoint whose state has the checksum {}, found {}",
                                  printable(path), printable(claimed), found));
  constexpr int deepest = 32;
  if (nesting_of(body) > deepest)
    throw input_error(fmt::format("{}: expected the state of a checkpoint, found brackets nested more than {} deep",
                                  printable(path), deepest));
  json_document state = json_document::parse(body, nullptr, false);
  if (!state.is_object())
    throw input_error(fmt::format("{}: expected the state of a checkpoint, found no JSON object", printable(path)));
  return state;
}

void require_same_parameters(const std::string& path, const json_document& stored, const json_document& now) {
  const auto text = [](const json_document& from, const std::string& key) {
    return from.contains(key) ? printable(from.at(key).dump()) : std::string("nothing");
  };
  const auto refuse = [&](const std::string& key) {
    throw input_error(
        fmt::format("{}: expected a checkpoint of this run, with {} {}, found one of another run, with {}",
                    printable(path), key, text(now, key), text(stored, key)));
  };
  for (const auto& [key, value] : now.items())
    if (!stored.contains(key) || stored.at(key) != value) refuse(key);
  for (const auto& [key, value] : stored.items())
    if (!now.contains(key)) refuse(printable(key));
}

void refuse_checkpoint_value(const std::string& path, const std::string& key) {
  throw input_error(path + ": expected a checkpoint with a usable \"" + key + "\", found otherwise");
}

bool checkpoint_exists(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::exists(path, ignored);
}

std::vector<std::string> absolute_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> absolute;
  for (const std::string& path : paths) {
    if (path.empty() || path == standard_output_name) continue;
    std::error_code failed;
    const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path), failed);
    absolute.push_back(failed ? path : whole.string());
  }
  return absolute;
}

bool was_left_by(const std::vector<std::string>& files, const std::string& path) {
  const std::vector<std::string> whole = absolute_paths({path});
  return !whole.empty() && std::ranges::find(files, whole.front()) != files.end();
}

}  // namespace plaquette
