// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/blas/cublas_library.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

namespace plaquette::gpu {

namespace {

// The few of its declarations that are used, as its documentation has them.
extern "C" {
struct cublas_context;
using cublas_create = int (*)(cublas_context**);
using cublas_set_stream = int (*)(cublas_context*, void* stream);
using cublas_zgemm = int (*)(cublas_context*, int, int, int, int, int, const complex<double>*, const complex<double>*,
                             int, long long, const complex<double>*, int, long long, const complex<double>*,
                             complex<double>*, int, long long, int);
using cublas_cgemm = int (*)(cublas_context*, int, int, int, int, int, const complex<float>*, const complex<float>*,
                             int, long long, const complex<float>*, int, long long, const complex<float>*,
                             complex<float>*, int, long long, int);
using cublas_dgemm = int (*)(cublas_context*, int, int, int, int, int, const double*, const double*, int, const double*,
                             int, const double*, double*, int);
using cublas_sgemm = int (*)(cublas_context*, int, int, int, int, int, const float*, const float*, int, const float*,
                             int, const float*, float*, int);
}
constexpr int cublas_success = 0, cublas_as_it_is = 0, cublas_adjoint = 2;
/// Matrices of one call: they are counted by a dimension of the grid.
constexpr int most_batches = 32768;
/// Columns of one call, whose numbers are 32-bit integers.
constexpr std::int64_t most_columns = std::int64_t{1} << 24;

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The library, and its handle for each device. Both stay until the program ends.
class cublas {
 public:
  static cublas& instance() {
    static cublas library;
    return library;
  }

  const std::string& missing() const { return missing_; }

  /// Returns null if there is none.
  cublas_context* handle_for(const queue& q) {
    if (!missing_.empty() || kernels_run_on_host()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] = handles_.emplace(q.device(), nullptr);
    if (is_new && create_(&entry->second) != cublas_success) {
      entry->second = nullptr;
      missing_ = "cublasCreate failed";
    }
    return entry->second;
  }

  void multiply(cublas_context* handle, const queue& q, const matrix_products<double>& w) {
    multiply_by(zgemm_, handle, q, w);
  }
  void multiply(cublas_context* handle, const queue& q, const matrix_products<float>& w) {
    multiply_by(cgemm_, handle, q, w);
  }

  void multiply(cublas_context* handle, const queue& q, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                const double* a, const double* b, double* c) {
    multiply_real_by(dgemm_, handle, q, rows, columns, inner, a, b, c);
  }
  void multiply(cublas_context* handle, const queue& q, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                const float* a, const float* b, float* c) {
    multiply_real_by(sgemm_, handle, q, rows, columns, inner, a, b, c);
  }

 private:
  cublas() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
        if (!find(library, "cublasCreate_v2", create_) || !find(library, "cublasSetStream_v2", set_stream_) ||
            !find(library, "cublasZgemmStridedBatched", zgemm_) ||
            !find(library, "cublasCgemmStridedBatched", cgemm_) || !find(library, "cublasDgemm_v2", dgemm_) ||
            !find(library, "cublasSgemm_v2", sgemm_))
          missing_ = std::string(name) + " lacks a function";
        return;
      }
    missing_ = "no libcublas.so was found";
  }

  template <class Function, class Real>
  void multiply_by(Function function, cublas_context* handle, const queue& q, const matrix_products<Real>& w) {
    const complex<Real> alpha{w.alpha, 0}, beta{w.beta, 0};
    int status = set_stream_(handle, q.native());
    for (int first = 0; first < w.batches && status == cublas_success; first += most_batches)
      status =
          function(handle, w.adjoint ? cublas_adjoint : cublas_as_it_is, cublas_as_it_is, w.rows, w.columns, w.inner,
                   &alpha, w.a + first * w.a_next, w.a_column, w.a_next, w.b + first * w.b_next, w.b_column, w.b_next,
                   &beta, w.c + first * w.c_next, w.c_column, w.c_next, std::min(most_batches, w.batches - first));
    if (status != cublas_success)
      throw std::runtime_error("cuBLAS: a product of matrices failed with status " + std::to_string(status));
  }

  template <class Function, class Real>
  void multiply_real_by(Function function, cublas_context* handle, const queue& q, std::int64_t rows,
                        std::int64_t columns, std::int64_t inner, const Real* a, const Real* b, Real* c) {
    const Real one = 1, zero = 0;
    const int m = static_cast<int>(rows), k = static_cast<int>(inner);
    int status = set_stream_(handle, q.native());
    for (std::int64_t first = 0; first < columns && status == cublas_success; first += most_columns) {
      const auto n = static_cast<int>(std::min(most_columns, columns - first));
      status = function(handle, cublas_as_it_is, cublas_as_it_is, m, n, k, &one, a, m, b + first * inner, k, &zero,
                        c + first * rows, m);
    }
    if (status != cublas_success)
      throw std::runtime_error("cuBLAS: a product of matrices failed with status " + std::to_string(status));
  }

  std::mutex mutex_;
  std::string missing_;
  std::map<int, cublas_context*> handles_;
  cublas_create create_ = nullptr;
  cublas_set_stream set_stream_ = nullptr;
  cublas_zgemm zgemm_ = nullptr;
  cublas_cgemm cgemm_ = nullptr;
  cublas_dgemm dgemm_ = nullptr;
  cublas_sgemm sgemm_ = nullptr;
};

}  // namespace

bool has_cublas(const queue& q) { return cublas::instance().handle_for(q) != nullptr; }

std::string cublas_description() {
  return cublas::instance().missing().empty() ? "cuBLAS" : cublas::instance().missing();
}

template <class Real>
void multiply_matrices(const queue& q, const matrix_products<Real>& work) {
  cublas& library = cublas::instance();
  library.multiply(library.handle_for(q), q, work);
}
void multiply_real(const queue& q, std::int64_t rows, std::int64_t columns, std::int64_t inner, const double* a,
                   const double* b, double* c) {
  cublas& library = cublas::instance();
  library.multiply(library.handle_for(q), q, rows, columns, inner, a, b, c);
}
void multiply_real(const queue& q, std::int64_t rows, std::int64_t columns, std::int64_t inner, const float* a,
                   const float* b, float* c) {
  cublas& library = cublas::instance();
  library.multiply(library.handle_for(q), q, rows, columns, inner, a, b, c);
}
template void multiply_matrices(const queue&, const matrix_products<double>&);
template void multiply_matrices(const queue&, const matrix_products<float>&);

}  // namespace plaquette::gpu
