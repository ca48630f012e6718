// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over sites that do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/comms/communicator.hpp"
#include "cpu_ref/fields/field.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

/// Sums that kernels make together with their work: for each range of blocks `most_sums` numbers a column. Kernels add
/// lane by lane; the lanes of a range are added as soon as it is done, so that little is left for one thread to add.
class range_sums {
 public:
  static constexpr std::int64_t blocks_of_a_range = 16;
  static std::int64_t ranges_of(std::int64_t blocks) { return (blocks + blocks_of_a_range - 1) / blocks_of_a_range; }

  range_sums(std::int64_t blocks, int columns, int width)
      : sums_(static_cast<std::size_t>(columns * most_sums)), width_(static_cast<std::size_t>(width)) {
    if (blocks > 0) values_.resize(static_cast<std::size_t>(ranges_of(blocks) + 1) * sums_);  // two lists: one more
  }

  /// Reserves n ranges. Returns the number of the first.
  std::int64_t claim(std::int64_t ranges) { return std::exchange(claimed_, claimed_ + ranges); }

  /// A thread's own, zero: [column][most_sums][W].
  std::vector<double> lanes() const { return std::vector<double>(sums_ * width_); }
  /// Adds up the lanes of range i and sets them to zero.
  void add_lanes(std::int64_t i, std::vector<double>& lanes) {
    double* const of_range = values_.data() + static_cast<std::size_t>(i) * sums_;
    for (std::size_t k = 0; k < lanes.size(); ++k) of_range[k / width_] += lanes[k];
    std::ranges::fill(lanes, 0.0);
  }

  /// <out, w> and |out|^2: range by range, then over ranks.
  std::pair<scalars, scalars> total(const communicator& comm) const {
    std::vector<double> sums(sums_);
    for (std::size_t k = 0; k < static_cast<std::size_t>(claimed_) * sums_; ++k) sums[k % sums_] += values_[k];
    comm.sum(std::span(sums));
    std::vector<complex<double>> dots, norms;
    for (std::size_t c = 0; c < sums.size(); c += most_sums) {
      dots.push_back({sums[c], sums[c + 1]});
      norms.push_back({sums[c + 2], 0.0});
    }
    return {scalars(std::move(dots)), scalars(std::move(norms))};
  }

 private:
  std::size_t sums_, width_;
  std::int64_t claimed_ = 0;
  std::vector<double> values_;  ///< [range][column][most_sums]
};

}  // namespace plaquette::cpu
