// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/multigrid/host_hierarchy.hpp"

#include <utility>

#include "common/algorithms/multigrid_setup.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"

namespace plaquette {

namespace {

using cpu_multigrid = multigrid<cpu::multigrid_library>;

std::vector<cpu_multigrid::made_level> made_levels(std::vector<host_level> levels) {
  std::vector<cpu_multigrid::made_level> made;
  for (host_level& level : levels) made.push_back({std::move(level.vectors), std::move(level.numbers)});
  return made;
}

}  // namespace

struct host_hierarchy::state {
  cpu::context ctx;
  cpu_multigrid multigrid;
};

host_hierarchy::host_hierarchy(const lattice_geometry& geometry, const communicator& comm,
                               const gauge_configuration& links, const fermion_action& action,
                               const multigrid_parameters& parameters, std::vector<host_level> levels) {
  const cpu::context ctx(geometry, comm);
  const std::shared_ptr<const gauge_configuration> same(std::shared_ptr<void>(), &links);
  state_ = std::make_unique<const state>(
      state{ctx, {cpu::multigrid_library(ctx, same, action), parameters, made_levels(std::move(levels))}});
}

host_hierarchy::~host_hierarchy() = default;

any_operator<cpu::coarse_field<float>> host_hierarchy::coarse_inverse(std::size_t number, int columns) const {
  return state_->multigrid.coarse_inverse(number, columns);
}

cpu::coarse_field<float> host_hierarchy::coarse_field(std::size_t number, int columns) const {
  return state_->multigrid.levels().at(number - 1).system->full_field(columns);
}

void host_hierarchy::cycle(spinor_configuration& x, const spinor_configuration& b) const {
  auto to = state_->multigrid.library().working_quarks(1), from = like(to);
  import_column(from, 0, b);
  state_->multigrid.cycle(1).apply(to, from);
  export_column(x, to, 0);
}

}  // namespace plaquette
