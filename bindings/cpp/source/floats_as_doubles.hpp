// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arrays of spinors in single precision for calls that take doubles. This header has no parallel loops: the C library
/// includes it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "plaquette/plaquette.hpp"

namespace plaquette::api {
inline namespace v1 {

/// A caller's array of floats as doubles, which stand as the floats do: on the GPU of each rank if the array is there,
/// else on the host. Members throw what guarded() makes of errors, and are collective but for get() and layout().
class floats_as_doubles {
 public:
  /// Throws error(unusable_input), on all ranks, if the array is not in the memory where it is said to be.
  /// \param given  layout of the array
  /// \param name   of the array, for messages
  floats_as_doubles(std::span<const float> numbers, const spinor_layout& given, int columns, const lattice& on,
                    const char* name);
  /// For an array that is written: put() writes the doubles back, rounded.
  floats_as_doubles(std::span<float> numbers, const spinor_layout& given, int columns, const lattice& on,
                    const char* name);
  ~floats_as_doubles();
  floats_as_doubles(const floats_as_doubles&) = delete;
  floats_as_doubles& operator=(const floats_as_doubles&) = delete;

  std::span<double> get();
  /// Returns the layout of the doubles.
  spinor_layout layout() const;
  void put();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace v1
}  // namespace plaquette::api
