// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks, threads and memory that lattices, and meshes without any lattice, share in the CPU library. The twin of
/// gpu/execution.hpp.
#pragma once

#include <memory>
#include <utility>

#include "common/comms/communicator.hpp"
#include "cpu_ref/memory/buffer_pool.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

/// Copies share everything.
class execution {
 public:
  /// \param threads  OpenMP threads; 0 takes OpenMP's own default
  /// \param isa      instruction set of the kernels
  explicit execution(const communicator& comm, int threads = 0, instruction_set isa = best_instruction_set());

  /// Returns the same threads and memory, with this rank by itself: for work that every rank does alike.
  execution alone() const;

  const communicator& comm() const { return state_->comm; }
  int threads() const { return state_->threads; }
  instruction_set isa() const { return state_->isa; }
  /// Where fields get their memory.
  buffer_pool& workspace() const { return *state_->workspace; }

 private:
  struct state {
    communicator comm;
    int threads;
    instruction_set isa;
    std::shared_ptr<buffer_pool> workspace;
  };
  explicit execution(std::shared_ptr<const state> s) : state_(std::move(s)) {}

  std::shared_ptr<const state> state_;
};

}  // namespace plaquette::cpu
