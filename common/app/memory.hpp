// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How much memory there is, asked before it is needed.
#pragma once

#include <string>

#include "common/host_memory.hpp"

namespace plaquette {

class communicator;

/// Returns "1.5 GiB".
std::string format_bytes(double bytes);

/// Throws memory_error, saying what was needed and what there was, unless `bytes` a rank are available on every rank.
/// Ranks of one host share its memory. Collective; throws on all ranks or on none.
/// \param what  what the memory is for
void require_memory(const communicator& world, double bytes, const std::string& what);

}  // namespace plaquette
