// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// For tests: what timed work must not get away with.
#pragma once

namespace plaquette {

/// Returns whether operators leave out timed calls like those before, and solvers timed solves. False in every program
/// but those of the test cli.cheats, which link a definition of their own before this library's.
bool timed_work_cheats();

}  // namespace plaquette
