// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/context.hpp"
#include "gpu/dg/dg_solver.hpp"
#include "miniapps/nodal-dg/dg_engine.hpp"

namespace plaquette::nodal_dg {

namespace {

precision precision_of(const nodal_dg_options& options) {
  return options.shared.precision == "single" ? precision::single : precision::double_;
}

gpu::dg_solver_options::choice kernel_of(const nodal_dg_options& options) {
  using enum gpu::dg_solver_options::choice;
  return options.kernel == "products"  ? products
         : options.kernel == "gather"  ? gather
         : options.kernel == "classic" ? classic
         : options.kernel == "fused"   ? fused
                                       : automatic;
}

}  // namespace

std::unique_ptr<dg_solver> make_gpu_solver(gpu_access& gpu, const dg_domain& domain, const nodal_dg_options& options) {
  gpu::dg_solver_options library;
  library.kernel = kernel_of(options);
  library.ranks = gpu.context().ranks();
  return gpu::make_dg_solver(domain, precision_of(options), options.states, gpu.context().queue(), library);
}

double gpu_bytes(const dg_domain& domain, const nodal_dg_options& options) {
  return static_cast<double>(
      gpu::bytes_of_dg_solver(domain, precision_of(options), options.states, kernel_of(options)));
}

}  // namespace plaquette::nodal_dg
