// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Moves the coarse lattices of a hierarchy to another device, and back.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// x = about M^-1 b on a coarse lattice of another library, for fields Field of this one. Numbers go column by column.
template <field_batch Field>
class offloaded_lattice {
 public:
  explicit offloaded_lattice(std::shared_ptr<coarse_columns> there) : there_(std::move(there)) {}

  void apply(Field& x, const Field& b) const {
    begin(b);
    end(x);
  }
  void begin(const Field& b) const {
    std::vector<complex<double>> numbers = room(b);
    for (int c = 0; c < b.columns(); ++c) {
      export_column(std::span(numbers), b, c);
      there_->set_source(c, numbers);
    }
  }
  void end(Field& x) const {
    there_->solve(x.columns());
    std::vector<complex<double>> numbers = room(x);
    for (int c = 0; c < x.columns(); ++c) {
      there_->get_solution(c, numbers);
      import_column(x, c, std::span<const complex<double>>(numbers));
    }
  }

 private:
  static std::vector<complex<double>> room(const Field& x) {
    return std::vector<complex<double>>(static_cast<std::size_t>(x.sites() * x.components()));
  }
  std::shared_ptr<coarse_columns> there_;
};

/// Where coarse lattices live, and how the correction from there is added.
struct level_places {
  std::size_t first = 0;  ///< lattices from this one on live with the other device; 0: none
  bool additive = false;
};

/// Cycles made from here on have the coarse lattices in those places.
/// \param there  the lattices of the other device, or null if none live there
template <class Library>
void offload(multigrid<Library>& mg, const std::shared_ptr<const coarse_hierarchy>& there, const level_places& places) {
  const std::size_t first = places.first;
  cycle_shape shape = mg.parameters().shape();
  shape.additive_on.reset();
  if (places.additive) shape.additive_on = first == 0 ? 0 : first - 1;
  mg.use_cycle(shape);
  if (first == 0) return mg.offload_from_level(0, nullptr);
  using field = typename Library::coarse_field;
  mg.offload_from_level(first, [there, first](int columns) {
    return coarse_solver<field>(offloaded_lattice<field>(there->inverse(first, columns)));
  });
}

}  // namespace plaquette
