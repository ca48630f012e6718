// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who advances the state: the CPU library or the CUDA library.
#pragma once

#include <memory>

#include "common/dg/dg_solver.hpp"
#include "miniapps/nodal-dg/nodal_dg_options.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::nodal_dg {

/// \param parts  measure volume, surface and update apart, where the library can
std::unique_ptr<dg_solver> make_cpu_solver(const dg_domain& domain, const nodal_dg_options& options, bool parts,
                                           const stop_check& stop);
double cpu_bytes(const dg_domain& domain, const nodal_dg_options& options);

/// Throws input_error where the program was built without CUDA.
std::unique_ptr<dg_solver> make_gpu_solver(gpu_access& gpu, const dg_domain& domain, const nodal_dg_options& options);
double gpu_bytes(const dg_domain& domain, const nodal_dg_options& options);

}  // namespace plaquette::nodal_dg
