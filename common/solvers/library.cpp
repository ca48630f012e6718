// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/library.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "common/error.hpp"

namespace plaquette {

double library::sum_over_ranks(double here) const {
  std::array<double, 1> of_all{here};
  comm_.sum(std::span(of_all));
  return of_all[0];
}

double library::largest_over_ranks(double here) const {
  std::array<double, 1> of_all{here};
  comm_.maximum(std::span(of_all));
  return of_all[0];
}

namespace {

constexpr vectors_shape shape_of_propagator{.columns = spin_colours};

void require_propagator(const vectors_shape& found) {
  if (!(found == shape_of_propagator))
    throw input_error("a correlator: expected " + to_string(shape_of_propagator) + ", found " + to_string(found));
}

}  // namespace

std::unique_ptr<contractions> library::contract(const vectors& quark) const {
  require_same_library(quark.mark(), mark_, "vectors", "this library");
  require_propagator(quark.shape());
  return new_contractions(quark);
}

std::unique_ptr<contractions> library::contract(std::span<const handle_columns> quark) const {
  vectors_shape shape = shape_of_propagator;
  shape.columns = 0;
  for (const handle_columns& batch : quark) shape.columns += batch.used;
  require_propagator(shape);
  if (quark.size() == 1)
    if (auto in_place = contractions_in_place(quark.front().vectors)) return in_place;
  const auto bytes_of = [&](int columns) {
    return static_cast<double>(geometry_.local_volume() * spinor_reals) * sizeof(double) * columns;
  };
  int most = 0;
  for (const handle_columns& batch : quark) most = std::max(most, count(batch.vectors));
  const double needed = bytes_of(spin_colours + 2 * most);
  const bool fits = free_bytes() >= needed || (has_room() && needed <= facts_.memory_bytes / 4.0);
  if (on_any_rank(!fits)) return nullptr;
  vectors all = make_vectors(shape);
  int column = 0;
  for (const handle_columns& batch : quark) {
    vectors part = copy_of(batch.vectors);
    if (part.shape().numbers != shape.numbers) {
      vectors in_double = part.like({part.columns(), part.shape().sites, shape.numbers});
      in_double.copy(part);
      part = std::move(in_double);
    }
    all.copy_columns(column, part, 0, batch.used);
    column += batch.used;
  }
  return new_contractions(all);
}

}  // namespace plaquette
