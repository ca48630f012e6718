// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/vector_operator_of.hpp"
#include "common/solvers/vectors_of.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/backend.hpp"

namespace plaquette::cpu {

std::unique_ptr<vectors_body> make_vectors(const context& ctx, const vectors_shape& shape) {
  return make_vectors_body<solver_backend>(ctx, shape);
}

std::pair<vectors_shape, std::unique_ptr<vectors_body>> copy_vectors(const context& ctx, const vectors_handle& of) {
  return copy_of_handle<solver_backend>(ctx, of);
}

std::unique_ptr<vector_operator> make_vector_operator(const context& ctx,
                                                      std::shared_ptr<const gauge_configuration> links,
                                                      const vector_operator_settings& settings) {
  return make_vector_operator_of<solver_backend>(ctx, links, settings);
}

}  // namespace plaquette::cpu
