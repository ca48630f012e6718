// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What checkpoints have in common: a text that says which run they belong to and how far it came, guarded by a
/// checksum; and which files a stopped run has left behind, that the run continuing it may replace.
#pragma once

#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/error.hpp"

namespace plaquette {

/// "0a1b2c3d" (CRC-32 of what follows), a line feed, and the document. Numbers come back to the last bit.
std::string checkpoint_text(const json_document& state);

/// The inverse. Throws input_error, naming the file, where the text is not what was written.
json_document parse_checkpoint_text(const std::string& path, const std::string& text);

/// Throws input_error, naming the file and the first parameter that differs, unless both are the same in every key.
void require_same_parameters(const std::string& path, const json_document& stored, const json_document& now);

/// The value of a key. Throws input_error, naming the file, where it is not there or of another type.
template <class Value>
Value checkpoint_value(const std::string& path, const json_document& state, const char* key) {
  try {
    return state.at(key).get<Value>();
  } catch (const nlohmann::json::exception&) {
    throw input_error(path + ": expected a checkpoint with a usable \"" + key + "\", found otherwise");
  }
}

/// True where a checkpoint is there to continue from: the path is not empty and names a file.
bool checkpoint_exists(const std::string& path);

/// Paths independent of where the program was started; empty ones are left out.
std::vector<std::string> absolute_paths(const std::vector<std::string>& paths);

/// Whether `path` is one of the files that a stopped run named in its checkpoint, from `absolute_paths`.
bool was_left_by(const std::vector<std::string>& files, const std::string& path);

}  // namespace plaquette
