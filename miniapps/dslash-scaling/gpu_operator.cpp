// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/library.hpp"
#include "miniapps/dslash-scaling/device_operator.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/gpu_library.hpp"

namespace plaquette::scaling {

namespace {

struct gpu_device : gpu_library {
  gpu::context ctx;

  void renew() {}
  void finish() const { ctx.queue().synchronize(); }
};

}  // namespace

std::unique_ptr<operator_maker> make_gpu_operator_maker(gpu_access& gpu, const gauge_configuration& links,
                                                        const scaling_options& options) {
  return std::make_unique<device_operator_maker<gpu_device>>(gpu_device{{}, gpu::context_of(gpu.device())}, links,
                                                             options);
}

}  // namespace plaquette::scaling
