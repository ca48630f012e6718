// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Updates of a matrix in its SU(2) subgroups, one after the other, for both libraries, on host and device.
#pragma once

#include "common/algebra/su2.hpp"

namespace plaquette {

/// Calls visit(subgroup, its number). The calls are written out: entries of matrices are indexed by constants.
template <class Visit>
PLAQUETTE_HOST_DEVICE constexpr void for_each_su2_subgroup(const Visit& visit) {
  visit(su2_subgroup{0, 1}, 0);
  visit(su2_subgroup{0, 2}, 1);
  visit(su2_subgroup{1, 2}, 2);
}

/// Multiplies u and w = u a, in each subgroup in turn, with choose(r, number of the subgroup): an element g of SU(2),
/// made from the r with Re tr(g w) = Re tr(g r) + (what does not depend on g).
template <class T, class Choose>
PLAQUETTE_HOST_DEVICE constexpr void update_in_subgroups(su3<T>& u, su3<T>& w, const Choose& choose) {
  for_each_su2_subgroup([&](const su2_subgroup& s, int number) {
    const quaternion<T> g = choose(projected(w, s), number);
    multiply_from_left(u, g, s);
    multiply_from_left(w, g, s);
  });
}

}  // namespace plaquette
