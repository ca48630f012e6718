// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How much memory the host has.
#pragma once

namespace plaquette {

/// Returns the bytes of memory of the host (or of the control group, where that is less).
double total_memory();
/// Returns the bytes that this process could still take: what the host, the control group and the process's own limit
/// leave.
double available_memory();
/// Returns the bytes that this process has taken at its highest.
double peak_memory();

}  // namespace plaquette
