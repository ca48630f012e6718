// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the files of variants have in common.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "gpu/dg/fused_launcher_of.hpp"
#include "validation/gpu-vs-cpu/dg/speed/dg_bench.hpp"

namespace plaquette::gpu::dg {

/// One engine and shape, where a device can hold it and the domain has this order.
template <class System, class Engine, int order, class shape>
void try_fused(stage_bench<typename System::real, System::fields>& bench, const std::string& engine) {
  using launcher = fused_launcher<System, Engine, order, shape>;
  constexpr bool of_any_flux = System::lifted != System::sets;
  if (bench.domain().reference.order != order || (bench.domain().problem.upwinding == 1.0) == of_any_flux) return;
  static_assert(launcher::kernel::shared_bytes <= 232448);
  const std::string name = engine + " e" + std::to_string(shape::elements) + "w" + std::to_string(shape::warps) + "g" +
                           std::to_string(shape::groups) + "b" + std::to_string(shape::blocks) +
                           (shape::shared_matrices ? "s" : "") + " " + std::to_string(shape::face_batch) +
                           std::to_string(shape::node_batch) + std::to_string(shape::update_batch) +
                           (shape::prefetches ? "p" : "");
  bench.run(name, [&] {
    return std::make_unique<launcher>(bench.domain().reference, bench.domain().geometry, bench.device());
  });
}

/// One element a lane.
template <class System, int order, class shape>
void try_lanes(stage_bench<typename System::real, System::fields>& bench) {
  using launcher = lane_launcher<System, order, shape>;
  if (bench.domain().reference.order != order || bench.domain().problem.upwinding != 1.0) return;
  static_assert(launcher::kernel::shared_bytes <= 232448);
  bench.run("lanes w" + std::to_string(shape::warps) + "b" + std::to_string(shape::blocks), [&] {
    return std::make_unique<launcher>(bench.domain().reference, bench.domain().geometry, bench.device());
  });
}

/// The textbook ways, and what the library takes.
template <class T, int fields>
void try_simple(stage_bench<T, fields>& bench) {
  const wave_equations equations = bench.domain().problem.equations;
  const auto places = std::int64_t{bench.domain().elements()} * bench.domain().nodes();
  bench.run("products", [&] {
    return make_products_launcher<T, fields>(equations, bench.device(), bench.domain().reference,
                                             bench.domain().elements());
  });
  bench.run("gather", [&] { return make_gather_launcher<T, fields>(equations); });
  if (bench.domain().reference.order <= highest_fused_order)
    bench.run("library", [&] {
      return make_fused_launcher<T, fields>(bench.domain().reference, bench.domain().geometry,
                                            bench.domain().problem.upwinding == 1.0, bench.device());
    });
  bench.run("classic", [&] { return make_classic_launcher<T, fields>(equations, bench.device(), places); });
}

}  // namespace plaquette::gpu::dg
