// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The GPU's solver of a program that was built without CUDA.
#include "miniapps/nodal-dg/dg_engine.hpp"

namespace plaquette::nodal_dg {

std::unique_ptr<dg_solver> make_gpu_solver(gpu_access&, const dg_domain&, const nodal_dg_options&) {
  throw gpu_is_absent();
}
double gpu_bytes(const dg_domain&, const nodal_dg_options&) { return 0.0; }

}  // namespace plaquette::nodal_dg
