// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/blas.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/field.hpp"
#include "miniapps/mixed-precision-solver/device_engine.hpp"

namespace plaquette {

namespace {

struct gpu_device {
  using context = gpu::context;
  template <class T>
  using field = gpu::field<T>;
  template <class T>
  using wilson_clover = gpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = gpu::schur_wilson_clover<T>;
  static constexpr const char* name = "gpu";
  static constexpr int look_every = 10;  // answers come late
  static gpu::schur_kind schur(cpu::schur_kind kind) {
    return kind == cpu::schur_kind::symmetric ? gpu::schur_kind::symmetric : gpu::schur_kind::asymmetric;
  }

  gpu::context ctx;
  gpu_access* gpu;

  int threads() const { return 1; }
  void finish() const { ctx.queue().synchronize(); }
  /// All: it is the links that a batch saves.
  int columns_at_once(precision, int columns) const { return columns; }
};

}  // namespace

std::unique_ptr<solve_engine> make_gpu_engine(gpu_access& gpu, const gauge_configuration& links,
                                              const solver_options& options) {
  return make_engine(gpu_device{gpu.context(), &gpu}, links, options);
}

}  // namespace plaquette
