// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/multigrid/multigrid_setup.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"
#include "cpu_ref/solvers.hpp"

namespace plaquette::cpu {

namespace {

using hierarchy_of_levels = multigrid<multigrid_library>;

std::vector<hierarchy_of_levels::made_level> made_levels(std::vector<host_level> levels) {
  std::vector<hierarchy_of_levels::made_level> made;
  for (host_level& level : levels) made.push_back({std::move(level.vectors), std::move(level.numbers)});
  return made;
}

class columns_of_lattice final : public coarse_columns {
 public:
  columns_of_lattice(const hierarchy_of_levels& mg, std::size_t number, int columns)
      : inverse_(mg.coarse_inverse(number, columns)),
        b_(mg.levels().at(number - 1).system->full_field(columns)),
        x_(like(b_)) {}

  void set_source(int column, std::span<const complex<double>> numbers) override { import_column(b_, column, numbers); }
  void solve(int columns) override {
    coarse_field<float> x = view(x_, 0, columns);
    inverse_.apply(x, view(b_, 0, columns));
  }
  void get_solution(int column, std::span<complex<double>> numbers) const override {
    export_column(numbers, x_, column);
  }

 private:
  any_operator<coarse_field<float>> inverse_;
  coarse_field<float> b_, x_;
};

class hierarchy final : public coarse_hierarchy {
 public:
  hierarchy(const multigrid_library& library, const multigrid_parameters& parameters, std::vector<host_level> levels)
      : multigrid_(library, parameters, made_levels(std::move(levels))) {}

  std::shared_ptr<coarse_columns> inverse(std::size_t number, int columns) const override {
    return std::make_shared<columns_of_lattice>(multigrid_, number, columns);
  }
  void cycle(spinor_configuration& x, const spinor_configuration& b) const override {
    auto to = multigrid_.library().even_field(1), from = like(to);
    import_column(from, 0, b);
    multigrid_.cycle(1).apply(to, from);
    export_column(x, to, 0);
  }

 private:
  hierarchy_of_levels multigrid_;
};

}  // namespace

hierarchy_maker coarse_hierarchies(const lattice_geometry& geometry, const communicator& comm,
                                   std::shared_ptr<const gauge_configuration> links, const fermion_action& action) {
  return [=](const multigrid_parameters& parameters, std::vector<host_level> levels) {
    return std::make_shared<const hierarchy>(multigrid_library(context(geometry, comm), links, action), parameters,
                                             std::move(levels));
  };
}

}  // namespace plaquette::cpu
