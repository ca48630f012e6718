// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks of arguments that all solvers take. Each function throws input_error.
#pragma once

#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/source_description.hpp"

namespace plaquette {

/// Throws unless columns first, ..., first + count - 1 are columns of a batch.
/// \param columns  of the batch
/// \param what     for the message: "a source"
inline void require_columns(int first, int count, int columns, const char* what) {
  if (first < 0 || count < 0 || count > columns - first)
    throw input_error(std::string(what) + ": expected columns below " + std::to_string(columns) + ", found " +
                      std::to_string(count) + " from column " + std::to_string(first));
}

/// Throws for less than one column.
/// \param whose  "multigrid"
inline void require_some_columns(int columns, const char* whose) {
  if (columns < 1)
    throw input_error(std::string(whose) + ": expected at least 1 column, found " + std::to_string(columns));
}

/// Throws unless all are spin-colours.
inline void require_spin_colours(const std::vector<int>& components) {
  for (const int component : components)
    if (component < 0 || component >= spin_colours)
      throw input_error("sources: expected spin-colours from 0 to " + std::to_string(spin_colours - 1) + ", found " +
                        std::to_string(component));
}

}  // namespace plaquette
