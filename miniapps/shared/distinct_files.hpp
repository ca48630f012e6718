// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Files that a run reads and writes, each under a name of its own.
#pragma once

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/app/parse.hpp"
#include "common/error.hpp"

namespace plaquette {

/// Throws input_error where two of these options name one file: what one writes the other would take away. Options
/// without a file (empty) do not count.
inline void require_distinct_files(const std::vector<std::pair<std::string, std::string>>& files_of_options) {
  std::map<std::filesystem::path, std::string> option_of;
  for (const auto& [option, file] : files_of_options) {
    if (file.empty()) continue;
    std::error_code unknown;
    std::filesystem::path place = std::filesystem::weakly_canonical(std::filesystem::absolute(file, unknown), unknown);
    if (unknown) place = file;
    const auto [other, is_new] = option_of.emplace(place, option);
    if (!is_new)
      throw input_error(
          fmt::format("{} and {}: expected two files, found {} twice", other->second, option, printable(file)));
  }
}

}  // namespace plaquette
