// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How often libraries have converted whole spinor fields between their own order and the host's. Links are counted,
/// too, between a GPU and the host. A call of a caller costs this in addition to its work; a test holds the numbers.
#pragma once

#include <cstdint>

namespace plaquette {

/// Columns, and gauge configurations, since the program began, of all libraries and threads.
struct conversion_counts {
  std::int64_t from_arrays = 0;  ///< of callers
  std::int64_t to_arrays = 0;
  std::int64_t from_host_fields = 0;  ///< spinor_configuration
  std::int64_t to_host_fields = 0;
  std::int64_t from_host_links = 0;  ///< gauge configurations, to a GPU
  std::int64_t to_host_links = 0;

  bool operator==(const conversion_counts&) const = default;
  /// Returns what has been added since `before`.
  conversion_counts operator-(const conversion_counts& before) const {
    return {from_arrays - before.from_arrays,           to_arrays - before.to_arrays,
            from_host_fields - before.from_host_fields, to_host_fields - before.to_host_fields,
            from_host_links - before.from_host_links,   to_host_links - before.to_host_links};
  }
};

/// Returns the counts of now.
conversion_counts counted_conversions();

/// Adds to them. Libraries call this once a conversion.
void count_conversions(const conversion_counts& more);

}  // namespace plaquette
