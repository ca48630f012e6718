// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The GPU of a program that was built without CUDA.
#include "common/error.hpp"
#include "miniapps/shared/device_links.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

bool has_gpu_library() { return false; }

std::unique_ptr<gpu_access> open_gpu(const shared_options& options, const lattice_geometry&, const communicator&,
                                     placement_policy) {
  if (options.device != "gpu") return nullptr;
  throw gpu_is_absent();
}

std::unique_ptr<device_links> links_on_gpu(gpu_access&, const gauge_configuration&) { throw gpu_is_absent(); }
std::unique_ptr<device_links> make_links_on_gpu(gpu_access&, const gauge_choice&, std::uint64_t) {
  throw gpu_is_absent();
}
std::unique_ptr<device_links> make_own_links_on_gpu(gpu_access&, const gauge_choice&, std::uint64_t, const extents&) {
  throw gpu_is_absent();
}

}  // namespace plaquette
