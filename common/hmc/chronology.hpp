// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forecasts of solutions from earlier ones. (Brower, Ivanenko, Levi, Orginos, hep-lat/9509012)
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/concepts.hpp"
#include "common/krylov/few_fields.hpp"

namespace plaquette {

/// The last solutions of systems A x = b whose A and b change little from one to the next. A trajectory that uses them
/// comes back only to the tolerance of its solves.
template <field_batch Field>
class chronology {
 public:
  /// \param most  solutions that are kept
  explicit chronology(int most) : most_(static_cast<std::size_t>(most)) {}

  bool is_empty() const { return past_.empty(); }
  void clear() { past_.clear(); }

  /// Makes x the combination of the kept solutions whose residual |b - A x| is smallest. Returns the applications of A
  /// to a column: one a solution. There must be one at least.
  template <class Operator>
  long forecast(Field& x, const Operator& a, const Field& b) const {
    std::vector<Field> images;
    for (const Field& solution : past_) a.apply(images.emplace_back(like(b)), solution);
    constexpr double dependent = 1e-6;  // solutions that differ by less of their length are one
    const auto numbers = least_squares(std::span<const Field>(images), b, dependent);
    zero(x);
    for (std::size_t k = 0; k < past_.size(); ++k) axpy(x, numbers[k], past_[k]);
    return static_cast<long>(past_.size()) * b.columns();
  }

  /// Keeps a copy, in the place of the oldest one.
  void keep(const Field& x) {
    if (past_.size() < most_) past_.push_back(like(x));
    std::ranges::rotate(past_, past_.end() - 1);  // the newest is the first
    copy(past_.front(), x);
  }

 private:
  std::size_t most_;
  std::vector<Field> past_;
};

}  // namespace plaquette
