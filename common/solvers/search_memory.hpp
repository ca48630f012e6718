// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Keeps a long search for eigenvectors, so that a later call continues it.
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

/// Keeps snapshots of a search under way. The caller chooses the storage, and how often it writes.
template <class State>
class search_memory {
 public:
  virtual ~search_memory() = default;
  /// Returns the last snapshot of an earlier search for the same, or none. Collective.
  virtual std::optional<search_snapshot<State>> last() = 0;
  /// Is called after each cycle; `make` copies the search into a snapshot. Collective.
  virtual void keep(const std::function<search_snapshot<State>()>& make) = 0;
};

}  // namespace plaquette
