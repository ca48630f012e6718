// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers that choose which part of a run's work is judged. They are made when the work is done, so that it cannot
/// know them, and stand in the report.
#pragma once

#include <cstdint>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Returns a number made of the low bits of rank 0's clock at this moment: below 2^53, as all readers of JSON hold it.
/// The same on all ranks. Collective.
std::uint64_t drawn_number(const communicator& world);

}  // namespace plaquette
