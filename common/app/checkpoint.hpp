// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What checkpoints have in common: a text that says which run they belong to and how far it came, guarded by a
/// checksum. Also which files a stopped run has left behind, that the run continuing it may replace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/app/report.hpp"
#include "common/error.hpp"

namespace plaquette {

/// Returns "0a1b2c3d" (CRC-32 of what follows), a line feed, and the document. Numbers come back to the last bit.
std::string checkpoint_text(const json_document& state);

/// Returns the inverse. Throws input_error, naming the file, where the text is not what was written.
json_document parse_checkpoint_text(const std::string& path, const std::string& text);

/// Throws input_error, naming the file and the first parameter that differs, unless both are the same in every key.
void require_same_parameters(const std::string& path, const json_document& stored, const json_document& now);

/// Throws the input_error of a checkpoint that has no usable value of a key.
[[noreturn]] void refuse_checkpoint_value(const std::string& path, const std::string& key);

/// Returns whether a document is one integer, or a list of them, that fits `Value`: conversions of nlohmann::json go
/// beyond the range of a type without a word.
template <class Value>
bool fits_integers(const json_document& value) {
  if constexpr (requires { typename Value::value_type; }) {
    if constexpr (std::is_integral_v<typename Value::value_type> && !std::is_same_v<Value, std::string>)
      return value.is_array() && std::ranges::all_of(value, fits_integers<typename Value::value_type>);
  } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    if (value.is_number_unsigned()) return std::in_range<Value>(value.get<std::uint64_t>());
    return value.is_number_integer() && std::in_range<Value>(value.get<std::int64_t>());
  }
  return true;
}

/// Returns the value of a key. Throws input_error, naming the file, where it is not there, of another type, or an
/// integer that the type does not hold.
template <class Value>
Value checkpoint_value(const std::string& path, const json_document& state, const char* key) {
  try {
    const json_document& value = state.at(key);
    if (!fits_integers<Value>(value)) refuse_checkpoint_value(path, key);
    return value.get<Value>();
  } catch (const nlohmann::json::exception&) {
    refuse_checkpoint_value(path, key);
  }
}

/// Returns the same for a number in [lowest, highest]; not for NaN.
template <class Number>
Number checkpoint_number(const std::string& path, const json_document& state, const char* key, Number lowest,
                         Number highest) {
  const auto value = checkpoint_value<Number>(path, state, key);
  if (!(value >= lowest && value <= highest)) refuse_checkpoint_value(path, key);
  return value;
}

/// True where a checkpoint is there to continue from: the path is not empty and names a file.
bool checkpoint_exists(const std::string& path);

/// Returns paths independent of where the program was started; empty ones are left out.
std::vector<std::string> absolute_paths(const std::vector<std::string>& paths);

/// Whether `path` is one of the files that a stopped run named in its checkpoint, from `absolute_paths`.
bool was_left_by(const std::vector<std::string>& files, const std::string& path);

}  // namespace plaquette
