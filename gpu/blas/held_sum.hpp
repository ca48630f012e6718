// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Kernels whose sums become coefficients of the next one. For .cu files only.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gpu/device/launch.hpp"
#include "gpu/fields/scalar_program.hpp"

namespace plaquette::gpu {

/// Holds back `sum_over` of `Count` numbers a column, held back: coefficients of the next kernel, which need them, are
/// computed at its end. The sums are over all ranks; collective.
/// \param in_kernel  whether the kernel itself adds over ranks
/// \param kept memory that the kernel reads and writes, in addition to the sums
template <int Count, class Body>
void hold_back_sum(const execution& on, std::int64_t sites, int columns, const Body& body, const column_sums& sums,
                   bool in_kernel, std::vector<std::shared_ptr<const void>> kept) {
  on.queue().launch_held_back();
  rank_sum ranks;
  if (in_kernel) ranks = *on.sums_of_next_kernel(columns, Count);
  kept.push_back(sums.storage());
  auto launch = [=, result = sums.on_device(), kept = std::move(kept)](const queue& q,
                                                                       const closing_programs* closing) {
    sum_over<Count>(q, sites, columns, result, body, ranks.ranks > 1 ? &ranks : nullptr,
                    closing != nullptr ? *closing : closing_programs{});
  };
  on.queue().hold_back(columns, std::move(launch));
  if (!in_kernel) sums.add_over_ranks();
}

/// Returns the handles to a dot product, sums 0 and 1, and to a norm, sum 2.
inline std::pair<scalars, scalars> dot_and_norm(const column_sums& sums) {
  return {sums.complex_sum(0), sums.real_sum(2)};
}

}  // namespace plaquette::gpu
