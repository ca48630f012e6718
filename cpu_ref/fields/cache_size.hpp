// SPDX-License-Identifier: BSD-3-Clause
/// \file
#pragma once

#include <string>

namespace plaquette::cpu {

/// Returns the bytes of the largest of the caches that Linux describes in a folder, [index0, index1, ...]/size; 0 if it
/// describes none. (Linux, Documentation/ABI/testing/sysfs-devices-system-cpu)
double largest_cache_bytes(const std::string& folder);

/// Returns the same for the caches that core 0 may use together with other cores. Where Linux describes none (in some
/// containers) it is the size by `sysconf`, which may be the sum over all caches of a processor that has several; if
/// that is unknown, 32 MB. Read once.
double last_level_cache_bytes();

}  // namespace plaquette::cpu
