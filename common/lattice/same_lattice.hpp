// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What functions that take several fields require of their lattices.
#pragma once

#include <string>

#include "common/error.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// Throws input_error unless both are one lattice on one process grid.
/// \param what  is on `a`, for the message: "momenta"
/// \param whose  is on `b`: "links on "; may be empty
inline void require_same_lattice(const lattice_geometry& a, const lattice_geometry& b, const std::string& what,
                                 const std::string& whose = {}) {
  if (!(a == b))
    throw input_error(what + " on a lattice " + to_string(a.global()) + " on ranks " + to_string(a.grid()) +
                      " do not fit " + whose + "a lattice " + to_string(b.global()) + " on ranks " +
                      to_string(b.grid()));
}

/// Throws input_error unless it is 0 (even) or 1 (odd).
inline void require_parity(int parity) {
  if (parity != 0 && parity != 1)
    throw input_error("expected the parity 0 (even) or 1 (odd), found " + std::to_string(parity));
}

}  // namespace plaquette
