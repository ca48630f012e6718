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

/// Returns where a file is, or would come to be: behind symbolic links, also such as lead to nothing yet.
inline std::filesystem::path place_of_file(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path place = fs::absolute(file, failed);
  constexpr int most_links = 40;  // as Linux follows
  for (int i = 0; i < most_links && fs::is_symlink(fs::symlink_status(place, failed)); ++i) {
    const fs::path target = fs::read_symlink(place, failed);
    if (failed) break;
    place = place.parent_path() / target;  // an absolute target stands alone
  }
  const fs::path whole = fs::weakly_canonical(place, failed);
  return failed ? fs::path(file) : whole;
}

/// Throws input_error if two of these options name one file: the second output would replace the first. Options without
/// a file (empty) do not count.
inline void require_distinct_files(const std::vector<std::pair<std::string, std::string>>& files_of_options) {
  std::map<std::filesystem::path, std::string> option_of;
  for (const auto& [option, file] : files_of_options) {
    if (file.empty()) continue;
    const auto [other, is_new] = option_of.emplace(place_of_file(file), option);
    if (!is_new)
      throw input_error(
          fmt::format("{} and {}: expected two files, found {} twice", other->second, option, printable(file)));
  }
}

}  // namespace plaquette
