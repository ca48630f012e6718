// SPDX-License-Identifier: BSD-3-Clause
/// \file
#pragma once

namespace plaquette::cpu {

/// Bytes of the largest cache that core 0 may use, other cores beside it: what Linux says
/// (/sys/devices/system/cpu/cpu0/cache; `sysconf` sums over all caches of a processor that has several), and 32 MB
/// where it says nothing. Read once.
double last_level_cache_bytes();

}  // namespace plaquette::cpu
