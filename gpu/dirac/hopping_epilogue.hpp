// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the hopping term does with its result before it stores it.
#pragma once

namespace plaquette::gpu {

/// h = scale * D in.
enum class epilogue {
  store,         ///< out = h
  add,           ///< out = a x + h
  clover,        ///< out = A h                        (A: the given site-diagonal blocks)
  add_clover,    ///< out = a x + A h
  clover_x_add,  ///< out = A x + h
};

}  // namespace plaquette::gpu
