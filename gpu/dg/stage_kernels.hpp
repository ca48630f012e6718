// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ways to do a stage, from which a solver, a test and the timing program choose.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/dg/dg_problem.hpp"
#include "common/dg/reference_element.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dg/dg_arrays.hpp"

namespace plaquette::gpu::dg {

/// How a stage is done, in the order of its history.
enum class stage_kernel {
  products,  ///< products of whole matrices by cuBLAS (stage_products.hpp)
  gather,    ///< one thread a node, nothing shared (stage_gather.hpp)
  classic,   ///< volume, surface, update: one block an element (stage_classic.hpp)
  fused      ///< one kernel, several elements a warp, products on registers or tensor cores (fused_stage.hpp)
};
std::string_view name_of(stage_kernel kernel);

/// Seconds of the kernels of one stage; zeros if they are one kernel.
struct stage_parts {
  double volume = 0.0, surface = 0.0, update = 0.0;
};

/// One stage at a time on one device, for one order, one system and one kind of kernel.
template <class T, int fields>
class stage_launcher {
 public:
  virtual ~stage_launcher() = default;
  /// Queues a stage. The launcher's own arrays serve one queue.
  virtual void run(const queue& q, const stage_arguments<T, fields>& stage) = 0;
  /// Of the last run; waits for it.
  virtual stage_parts parts() const { return {}; }
};

/// \param elements  of the mesh: the arrays of one state go through memory
template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_products_launcher(wave_equations equations, const queue& q,
                                                                  const reference_element& reference,
                                                                  std::int64_t elements);
/// Returns the bytes of those arrays.
std::size_t bytes_of_products(wave_equations equations, const reference_element& reference, std::int64_t elements,
                              std::size_t bytes_a_number);
template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_gather_launcher(wave_equations equations);
/// \param residual_places  columns * elements * nodes, for the right-hand side that goes through memory
template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_classic_launcher(wave_equations equations, const queue& q,
                                                                 std::int64_t residual_places);

}  // namespace plaquette::gpu::dg
