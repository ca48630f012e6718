// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lattice, ranks, threads and memory that every part of the CPU library needs, passed down from `main`.
#pragma once

#include <memory>

#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "cpu_ref/execution.hpp"
#include "cpu_ref/fields/block_layout.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

/// A lattice on an execution, and the kernels chosen for this processor. Copies share everything. `on` makes another
/// lattice on the same execution. A context is taken wherever its execution alone is needed.
class context {
 public:
  /// A lattice on an execution of its own: see `execution`. Throws input_error if communicator and process grid differ
  /// in size, or if the instruction set is missing.
  context(const lattice_geometry& geometry, const communicator& comm, int threads = 0,
          instruction_set isa = best_instruction_set())
      : context(geometry, cpu::execution(comm, threads, isa)) {}
  /// A lattice on an execution that others may use. Throws as above.
  context(const lattice_geometry& geometry, const cpu::execution& on);

  /// Returns the context of another lattice on the same execution.
  context on(const lattice_geometry& geometry) const { return {geometry, state_->execution}; }

  const cpu::execution& execution() const { return state_->execution; }
  operator const cpu::execution&() const { return state_->execution; }
  const lattice_geometry& geometry() const { return state_->geometry; }

  // Members of the execution.
  const communicator& comm() const { return execution().comm(); }
  int threads() const { return execution().threads(); }
  instruction_set isa() const { return execution().isa(); }
  buffer_pool& workspace() const { return execution().workspace(); }

  /// Returns the blocks for numbers of type T: as many lanes as the instruction set has and the lattice allows. For
  /// half they are the same as for float.
  template <class T>
  const block_layout& layout() const {
    return *(sizeof(real_of<T>) == 4 ? state_->single_layout : state_->double_layout);
  }
  template <class T>
  const kernel_table<T>& kernels() const {
    if constexpr (is_half<T>)
      return *state_->half_kernels;
    else if constexpr (sizeof(T) == 4)
      return *state_->single_kernels;
    else
      return *state_->double_kernels;
  }
  /// Returns permutations of lanes as the kernels take them: [element][W].
  template <class T>
  const typename hopping_arguments<T>::lane* permutation_table() const {
    if constexpr (sizeof(real_of<T>) == 4)
      return state_->single_permutations.data();
    else
      return state_->double_permutations.data();
  }

 private:
  struct state {
    cpu::execution execution;
    lattice_geometry geometry;
    const kernel_table<float>* single_kernels = nullptr;
    const kernel_table<double>* double_kernels = nullptr;
    const kernel_table<half>* half_kernels = nullptr;
    std::shared_ptr<const block_layout> single_layout, double_layout;
    aligned_buffer<std::int32_t> single_permutations;
    aligned_buffer<std::int64_t> double_permutations;
  };
  std::shared_ptr<const state> state_;
};

}  // namespace plaquette::cpu
