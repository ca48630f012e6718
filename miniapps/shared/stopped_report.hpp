// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reports of runs that were stopped, for programs whose runs have no checkpoint.
#pragma once

#include <string>

#include "common/app/report.hpp"

namespace plaquette {

/// Returns whether a file is the report of a run that a signal or the time limit has stopped, of this program and with
/// these parameters. The command as typed and values that are fitted to the machine (placement, batches) may differ.
bool is_report_of_stopped_run(const std::string& path, const std::string& app, const json_document& parameters);

}  // namespace plaquette
