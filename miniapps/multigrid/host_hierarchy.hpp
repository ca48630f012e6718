// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The hierarchy of another library in the CPU library: what its cycle is checked against, and where its coarse
/// lattices may live.
#pragma once

#include <memory>
#include <vector>

#include "common/algorithms/multigrid_parameters.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/operators/coarse_matrices.hpp"
#include "cpu_ref/coarse/coarse_field.hpp"

namespace plaquette {

/// Null vectors and coarse operators on the host.
struct host_level {
  null_space vectors;
  coarse_matrices numbers;
};

class host_hierarchy {
 public:
  /// \param links  with ghosts filled; they live longer than this
  host_hierarchy(const lattice_geometry& geometry, const communicator& comm, const gauge_configuration& links,
                 const fermion_action& action, const multigrid_parameters& parameters, std::vector<host_level> levels);
  ~host_hierarchy();

  /// x = about M^-1 b on the coarse lattice `number`, for full fields of `columns` columns or fewer.
  any_operator<cpu::coarse_field<float>> coarse_inverse(std::size_t number, int columns) const;
  /// A full field of that lattice.
  cpu::coarse_field<float> coarse_field(std::size_t number, int columns) const;
  /// x = one cycle on the even sites of b, from zero. x has zeros on odd sites.
  void cycle(spinor_configuration& x, const spinor_configuration& b) const;

 private:
  struct state;
  std::unique_ptr<const state> state_;
};

}  // namespace plaquette
