// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Refuses calls in a child that fork() has made: threads of its parent, MPI and a GPU are not there.
#pragma once

namespace plaquette::api {
inline namespace v1 {

/// Notes that this process has threads of OpenMP, MPI or a GPU by this library.
void note_threads();
/// Returns whether this process is a child, by fork(), of one that note_threads() was called in.
bool is_forked();
/// Throws error(not_available) in such a child: a call there would wait for ever for threads that are not there.
void require_unforked();

}  // namespace v1
}  // namespace plaquette::api
