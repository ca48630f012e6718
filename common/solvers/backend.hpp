// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The types and functions that a library must offer to the solvers.
#pragma once

#include <concepts>
#include <string>

#include "common/algebra/fixed_point.hpp"
#include "common/comms/communicator.hpp"
#include "common/concepts.hpp"
#include "common/error.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// B names the types and functions of a library.
///
/// - `context`, a lattice on an execution; `links`, a gauge configuration where fields live.
/// - `field<T>`, `wilson_clover<T>`, `schur_wilson_clover<T>` for T double, float and half.
/// - `has_pairs`: these are there for float_pair, too.
/// - `check_interval` and `check_lag`: see stopping_rule.
/// - `records`: work can be recorded and launched again.
template <class Backend>
concept backend =
    field_batch<typename Backend::template field<double>> && field_batch<typename Backend::template field<float>> &&
    field_batch<typename Backend::template field<half>> && requires(const typename Backend::context& ctx) {
      typename Backend::links;
      typename Backend::template wilson_clover<double>;
      typename Backend::template schur_wilson_clover<double>;
      { ctx.geometry() } -> std::convertible_to<lattice_geometry>;
      { ctx.comm() } -> std::convertible_to<communicator>;
      { Backend::check_interval } -> std::convertible_to<int>;
      { Backend::check_lag } -> std::convertible_to<int>;
      { Backend::records } -> std::convertible_to<bool>;
      { Backend::has_pairs } -> std::convertible_to<bool>;
    };

[[noreturn]] inline void refuse_pairs() {
  throw input_error("double by pairs of floats is for GPUs: expected --device gpu");
}

}  // namespace plaquette
