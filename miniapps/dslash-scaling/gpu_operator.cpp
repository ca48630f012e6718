// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/field.hpp"
#include "miniapps/dslash-scaling/device_operator.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::scaling {

namespace {

struct gpu_device {
  using context = gpu::context;
  template <class T>
  using field = gpu::field<T>;
  template <class T>
  using wilson_clover = gpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = gpu::schur_wilson_clover<T>;
  static gpu::schur_kind schur(cpu::schur_kind kind) {
    return kind == cpu::schur_kind::symmetric ? gpu::schur_kind::symmetric : gpu::schur_kind::asymmetric;
  }

  gpu::context ctx;

  void renew() {}
  void finish() const { ctx.queue().synchronize(); }
};

}  // namespace

std::unique_ptr<operator_maker> make_gpu_operator_maker(gpu_access& gpu, const gauge_configuration& links,
                                                        const scaling_options& options) {
  return std::make_unique<device_operator_maker<gpu_device>>(gpu_device{gpu.context()}, links, options);
}

}  // namespace plaquette::scaling
