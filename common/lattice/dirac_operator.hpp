// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the Wilson-clover operators of both libraries have in common: their hops, their parts and what these cost,
/// their Schur complements by name.
#pragma once

#include "common/lattice/extents.hpp"

namespace plaquette {

/// Directions of a hop: 2 mu forwards (to x + mu), 2 mu + 1 backwards.
inline constexpr int hop_directions = 2 * dimensions;

/// What the hopping term does with its result while it is still in registers. h = scale * D in.
enum class epilogue {
  store,         ///< out = h
  add,           ///< out = a x + h
  clover,        ///< out = A h                        (A: the given site-diagonal blocks)
  add_clover,    ///< out = a x + A h
  clover_x_add,  ///< out = A x + h
};
constexpr bool needs_x(epilogue finish) { return finish != epilogue::store && finish != epilogue::clover; }
constexpr bool needs_clover(epilogue finish) { return finish != epilogue::store && finish != epilogue::add; }

/// Standard flops a site and column of the parts of the operator (never those of how they are computed).
inline constexpr double hopping_flops = 1320.0;
inline constexpr double clover_flops = 504.0;
inline constexpr double xpay_flops = 48.0;

/// Asymmetric: Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe. Symmetric: A_ee^-1 Mhat.
enum class schur_kind { asymmetric, symmetric };

}  // namespace plaquette
