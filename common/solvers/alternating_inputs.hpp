// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two inputs of a timed kernel, which alternate: a kernel that skips calls which it has seen leaves another output
/// than the last call's.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/solvers/stretch_numbers.hpp"

namespace plaquette::scaling {

template <class Field>
class alternating_inputs {
 public:
  explicit alternating_inputs(Field first) : first_(std::move(first)) {}

  /// Returns the input to set. It is the only one until they are refreshed.
  Field& first() { return first_; }
  const Field& first() const { return first_; }

  /// Multiplies the first input by `first`, and makes the second one of it by `second`. The next input is the first.
  void refresh(complex<double> first, complex<double> second) {
    scale(first_, same_for_all(first));
    if (!second_) second_.emplace(like(first_));
    copy(*second_, first_);
    scale(*second_, same_for_all(second));
    next_is_second_ = false;
  }
  /// Does the same by the phases of a stretch, which no other stretch has.
  void refresh(int stretch) { refresh(phase_of_stretch(stretch), phase_of_stretch(2 * stretch + 1)); }

  /// Returns the input of the next application: the first, the second, the first, ...
  const Field& next() {
    last_is_second_ = second_ && next_is_second_;
    next_is_second_ = !next_is_second_;
    return last();
  }
  /// Returns the input that `next` has returned last.
  const Field& last() const { return last_is_second_ ? *second_ : first_; }

 private:
  auto same_for_all(complex<double> number) const {
    return make_scalars(first_, std::vector<complex<double>>(static_cast<std::size_t>(first_.columns()), number));
  }

  Field first_;
  std::optional<Field> second_{};  ///< takes its memory when it is first refreshed
  bool next_is_second_ = false, last_is_second_ = false;
};

}  // namespace plaquette::scaling
