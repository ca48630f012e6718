// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The twin of cpu_ref/solvers/vectors.cpp.
#include "common/solvers/vector_operator_of.hpp"
#include "common/solvers/vectors_of.hpp"
#include "gpu/blas/basis.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/backend.hpp"

namespace plaquette::gpu {

std::unique_ptr<vectors_body> make_vectors(const context& ctx, const vectors_shape& shape) {
  return make_vectors_body<solver_backend>(ctx, shape);
}

std::pair<vectors_shape, std::unique_ptr<vectors_body>> copy_vectors(const context& ctx, const vectors_handle& of) {
  return copy_of_handle<solver_backend>(ctx, of);
}

std::unique_ptr<vector_operator> make_vector_operator(const context& ctx,
                                                      std::shared_ptr<const plaquette::gauge_configuration> links,
                                                      const vector_operator_settings& settings) {
  return make_vector_operator_of<solver_backend>(ctx, import_links(ctx, *links), settings);
}

}  // namespace plaquette::gpu
