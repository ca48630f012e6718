// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A cycle of multigrid as outer solvers take it: on fields in single precision, in any precision inside.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "common/concepts.hpp"
#include "common/krylov/bridge.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

/// Returns x = about Mhat^-1 b for even fields in single precision, of `columns` columns or fewer. A recorded cycle has
/// one width. So a solve from which columns leave records, allocates and tunes nothing midway.
/// \tparam Backend  see multigrid_backend
/// \param in_half  Mhat that the finest lattice relaxes with; null: Mhat of the hierarchy, in single
/// \param records  whether a library that can records it: stages of a graph cannot be timed
template <class Backend, class Multigrid, class HalfSystem>
any_operator<typename Backend::template field<float>> cycle_in_single(const typename Backend::context& ctx,
                                                                      const Multigrid& hierarchy,
                                                                      std::shared_ptr<const HalfSystem> in_half,
                                                                      int columns, bool records) {
  using single_field = typename Backend::template field<float>;
  const field_shape even{.sites = site_subset::even, .columns = columns};
  const single_field shape(ctx, even);
  const auto bridged = [&]<class Field>(any_operator<Field> cycle) {
    if constexpr (Backend::records)
      if (records)
        return any_operator<single_field>(
            bridge<Field>(Backend::recorded(ctx, std::move(cycle)), shape, bridge_width::whole));
    return any_operator<single_field>(bridge<Field>(std::move(cycle), shape));
  };
  if (!in_half) return bridged(hierarchy.cycle(columns));
  using half_field = typename HalfSystem::field;
  return bridged(hierarchy.cycle_in(std::move(in_half), half_field(ctx, even)));
}

/// Runs a new cycle twice, outside of timed stretches: a device records the second run.
template <class Field>
void warm_up(const any_operator<Field>& cycle, const Field& shape) {
  Field in = like(shape), out = like(shape);
  zero(in);
  for (int run = 0; run < 2; ++run) cycle.apply(out, in);
}

}  // namespace plaquette
