// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The activities of a device over time, cut into stretches: how much of each it was idle, and with what it spent its
/// time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plaquette::gpu::lab {

/// A kernel, a copy or a fill. Times in nanoseconds.
struct activity {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t name = 0;  ///< place in a list of names
};

/// The share of one name in a stretch.
struct activity_share {
  std::uint32_t name = 0;
  double seconds = 0.0;  ///< activities that run at the same time count twice
  std::int64_t count = 0;
};

/// Activities with short pauses between them.
struct activity_stretch {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t idle = 0;          ///< nanoseconds in which nothing ran
  std::uint64_t longest_idle = 0;  ///< nanoseconds of the longest of these pauses
  std::int64_t count = 0;
  std::vector<activity_share> shares{};  ///< largest first

  double seconds() const { return 1e-9 * static_cast<double>(end - begin); }
  double idle_share() const { return end > begin ? static_cast<double>(idle) / static_cast<double>(end - begin) : 0.0; }
};

/// \param pause  nanoseconds without activity that end a stretch
inline std::vector<activity_stretch> stretches_of(std::vector<activity> all, std::uint64_t pause) {
  std::ranges::sort(all, {}, &activity::begin);
  std::vector<activity_stretch> stretches;
  std::map<std::uint32_t, activity_share> by_name;
  const auto close = [&] {
    for (const auto& [name, share] : by_name) stretches.back().shares.push_back(share);
    std::ranges::stable_sort(stretches.back().shares, std::ranges::greater{}, &activity_share::seconds);
    by_name.clear();
  };
  for (const activity& a : all) {
    if (stretches.empty() || a.begin > stretches.back().end + pause) {
      if (!stretches.empty()) close();
      stretches.push_back({a.begin, a.begin});
    }
    activity_stretch& now = stretches.back();
    if (a.begin > now.end) {
      now.idle += a.begin - now.end;
      now.longest_idle = std::max(now.longest_idle, a.begin - now.end);
    }
    now.end = std::max(now.end, a.end);
    ++now.count;
    activity_share& share = by_name[a.name];
    share.name = a.name;
    share.seconds += 1e-9 * static_cast<double>(a.end - a.begin);
    ++share.count;
  }
  if (!stretches.empty()) close();
  return stretches;
}

}  // namespace plaquette::gpu::lab
