// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How a long search for eigenvectors is kept, so that a later call goes on from where it was.
#pragma once

#include <functional>
#include <optional>

#include "common/solvers/solver_vectors.hpp"

namespace plaquette {

/// Where a search stands: numbers, and the basis that belongs to them.
template <class State>
struct search_snapshot {
  State state;
  vectors_handle basis;
};

/// Keeps snapshots of a search under way. What keeps them, and how often, is the caller's choice.
template <class State>
class search_memory {
 public:
  virtual ~search_memory() = default;
  /// Returns the last snapshot of an earlier search for the same, or none. Collective.
  virtual std::optional<search_snapshot<State>> last() = 0;
  /// Is called after each cycle; `make` copies what a snapshot takes. Collective.
  virtual void keep(const std::function<search_snapshot<State>()>& make) = 0;
};

}  // namespace plaquette
