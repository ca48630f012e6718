// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The members of vectors of plaquette/plaquette.hpp, and the functions of solvers and operators on them.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "common/solvers/vectors.hpp"

namespace plaquette::api {
inline namespace v1 {

/// Throws error(unusable_input) for words that are none.
plaquette::precision inner(precision p);

struct vectors::state {
  /// Makes vectors with undefined numbers. Collective.
  state(const lattice& on, const vectors_options& options);
  ~state();
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  lattice on;
  vectors_options options;
  std::shared_ptr<const plaquette::library> library{};
  std::optional<plaquette::vectors> numbers{};
  /// Of the solve that made the numbers, as long as nothing changes them.
  std::optional<solve_report> report{};

  /// That filled them, or that was solved for, as long as nothing changes them: column n from component
  /// (first + n) mod 12.
  std::optional<source> from{};
  int first = 0;

  /// Returns the numbers, to be changed.
  plaquette::vectors& change() {
    report.reset();
    from.reset();
    return *numbers;
  }
};

/// Locks the vectors of a device for as long as the result lives. Solves on the CPU do not need it.
device_turn turn_on_vectors(const lattice& on, device which);

/// Makes column n component (first + n) mod 12 of a source on the device of the vectors. A Gaussian needs its
/// smearing_links. The caller has locked the vectors of the device.
/// \param on, library  that the vectors are of
void fill(plaquette::vectors& numbers, const source& from, int first, const lattice& on,
          const plaquette::library& library);

/// Copies columns to fields of the host.
std::vector<spinor_configuration> fields_of(const vectors::state& from);

}  // namespace v1
}  // namespace plaquette::api
