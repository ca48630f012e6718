// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/conversion_counts.hpp"

#include <atomic>

namespace plaquette {

namespace {

std::atomic<std::int64_t> from_arrays{0}, to_arrays{0}, from_host_fields{0}, to_host_fields{0}, from_host_links{0},
    to_host_links{0};

}  // namespace

conversion_counts counted_conversions() {
  return {from_arrays, to_arrays, from_host_fields, to_host_fields, from_host_links, to_host_links};
}

void count_conversions(const conversion_counts& more) {
  from_arrays += more.from_arrays;
  to_arrays += more.to_arrays;
  from_host_fields += more.from_host_fields;
  to_host_fields += more.to_host_fields;
  from_host_links += more.from_host_links;
  to_host_links += more.to_host_links;
}

}  // namespace plaquette
