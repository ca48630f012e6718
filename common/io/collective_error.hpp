// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An error that one rank meets ends the operation on all ranks, with one text.
#pragma once

#include <functional>

#include "common/comms/communicator.hpp"

namespace plaquette {

/// Runs `work` (which must not communicate) on every rank. Where it threw on any, every rank throws what the lowest
/// such rank threw. That is input_error, output_error, memory_error (also for std::bad_alloc, std::length_error) or,
/// for anything else, error with exit_status::internal_error. Collective.
void on_all_ranks_or_none(const communicator& comm, const std::function<void()>& work);

}  // namespace plaquette
