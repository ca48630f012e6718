// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The main of every program of the suite. It starts MPI, runs the app, and reports what goes wrong as one line on
/// stderr and an exit status.
#pragma once

#include <functional>
#include <string>

#include "common/comms/communicator.hpp"
#include "common/error.hpp"

namespace plaquette {

using app_body = std::function<exit_status(int argc, const char* const* argv, const communicator& world)>;

/// Runs `body` on every rank and returns the program's exit status (error.hpp). An error of any rank ends all ranks,
/// with one message from one rank: from rank 0 where that has an error too.
/// \param name  of the program, which its messages begin with
int run_app(const char* name, int argc, char** argv, const app_body& body);

/// Notes what the program is doing, for the message of an error that has no better one.
void enter_stage(const std::string& what);
/// Returns it.
std::string stage_now();

/// Ends the run with one line and exit status 70 where a rank has waited for another one for longer than the timeout in
/// seconds (stall_watch.hpp). From here until MPI has ended.
void watch_stalls(const communicator& world, double timeout);

/// The one line for an error that is being handled, and the exit status it leads to. For `run_app` and its tests.
struct failure {
  exit_status status;
  std::string message;
};
failure describe_current_exception();

}  // namespace plaquette
