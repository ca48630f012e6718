// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Directions that a search space begins with: low modes of D, and the directions of earlier columns that D makes
/// shortest.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/eigen/krylov_basis.hpp"
#include "common/overlap/chiral_modes.hpp"
#include "common/overlap/direction_block.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"

namespace plaquette {

namespace detail {

/// Appends directions, rounded to single precision, with their images to an accuracy.
template <class Sign>
void append_with_images(direction_block<typename Sign::Field, typename Sign::InnerField>& directions,
                        const overlap_operator<Sign>& d, const typename Sign::Field& z, double delta,
                        preconditioned_work& work) {
  using Field = typename Sign::Field;
  in_batches(z.columns(), 12, [&](int from, int count) {
    typename Sign::InnerField rounded = like(z, count, as<typename Sign::InnerField>);
    convert(rounded, view(z, from, count));
    Field exact = like(z, count), image = like(exact);
    convert(exact, rounded);
    d.apply(image, exact, delta);
    directions.append(exact, image);
    work.accurate_signs += count;
  });
}

}  // namespace detail

/// Returns the lowest modes of both chiralities as first directions of all columns, with their images to an accuracy.
/// Nothing is assumed of them, so that they need not be accurate.
template <class Sign>
direction_block<typename Sign::Field, typename Sign::InnerField> first_directions(
    const overlap_operator<Sign>& d, const overlap_mode_set<typename Sign::Field>& modes,
    const typename Sign::Field& shape, double delta, preconditioned_work& work) {
  using Field = typename Sign::Field;
  const auto count_of = [&modes](int chi) {
    return std::min(modes.of(chi).vectors.columns(), most_modes_as_directions);
  };
  direction_block<Field, typename Sign::InnerField> first(shape, count_of(+1) + count_of(-1), true);
  for (const int chi : {+1, -1}) {
    const Field& v = modes.of(chi).vectors;
    in_batches(count_of(chi), 12, [&](int from, int count) {
      Field z = like(shape, count);
      put_chirality(z, view(v, from, count), chi);
      detail::append_with_images(first, d, z, delta, work);
    });
  }
  return first;
}

/// Returns first directions for later columns: modes, and of what earlier columns took the directions that D makes
/// shortest. Their images are made again: those that served a solve are too inexact for another.
/// \param modes   come first
/// \param taken   by earlier columns; is used up
/// \param count   of directions other than modes, at most
template <class Sign>
direction_block<typename Sign::Field, typename Sign::InnerField> recycled_directions(
    const overlap_operator<Sign>& d, const direction_block<typename Sign::Field, typename Sign::InnerField>& modes,
    direction_block<typename Sign::Field, typename Sign::InnerField> taken, int count, double delta,
    preconditioned_work& work) {
  using Field = typename Sign::Field;
  const auto minus_along_modes = [&](const Field& z) {
    host_matrix c = block_of(modes.products(z), 0, 0, modes.size, z.columns());
    scale_columns(c, std::vector<double>(static_cast<std::size_t>(c.columns()), -1.0));
    return c;
  };
  if (modes.size > 0) {  // D z less what D makes of the modes
    Field both = taken.in_double(0, taken.size), z = view(both, 0, taken.size), w = view(both, taken.size, taken.size);
    const host_matrix c = minus_along_modes(z), nothing(c.rows(), c.columns());
    modes.add(z, c, nullptr);
    modes.add(w, nothing, &c);
    taken.size = 0;
    taken.append(z, w);
  }
  const host_matrix squares = overlaps(taken.images(), taken.images());
  const host_matrix independent = independent_directions(overlaps(taken.directions(), taken.directions()), 1e-3);
  const hermitian_eigenpairs pairs =
      eigenpairs_of_hermitian(hermitian_part(adjoint_product(independent, product(squares, independent))));
  const int kept = std::min(count, independent.columns());
  const host_matrix chosen = product(independent, block_of(pairs.vectors, 0, 0, independent.columns(), kept));
  direction_block<Field, typename Sign::InnerField> first(modes.z, modes.size + kept, true);
  if (modes.size > 0) first.append(modes);
  if (kept == 0) return first;
  Field z = like(taken.z, kept, as<Field>);
  {
    auto sum = like(taken.z, kept);
    combine(sum, taken.directions(), chosen.numbers());
    convert(z, sum);
  }
  for (int pass = 0; pass < 2; ++pass) {
    if (modes.size > 0) modes.add(z, minus_along_modes(z), nullptr);
    rotate_basis(z, inverse_root(overlaps(z, z)));
  }
  detail::append_with_images(first, d, z, delta, work);
  work.recycled = kept;
  return first;
}

}  // namespace plaquette
