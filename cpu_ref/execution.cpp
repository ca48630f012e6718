// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/execution.hpp"

#include <omp.h>

namespace plaquette::cpu {

execution::execution(const communicator& comm, int threads, instruction_set isa)
    : state_(std::make_shared<const state>(
          state{comm, threads > 0 ? threads : omp_get_max_threads(), isa, std::make_shared<buffer_pool>()})) {}

execution execution::alone() const {
  return execution(
      std::make_shared<const state>(state{communicator(), state_->threads, state_->isa, state_->workspace}));
}

}  // namespace plaquette::cpu
