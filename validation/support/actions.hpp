// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fermion actions that tests run over: Wilson and clover, isotropic and not, with several boundary conditions.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/lattice/fermion_action.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {

struct named_action {
  std::string name;
  fermion_action action;
};

inline void PrintTo(const named_action& a, std::ostream* out) { *out << a.name; }

inline fermion_action with_time_phase(fermion_action action, complex<double> phase) {
  action.boundary_phase[3] = phase;
  return action;
}

inline fermion_action periodic(const fermion_action& action) { return with_time_phase(action, {1.0, 0.0}); }

/// Returns a different generic phase in every direction.
inline fermion_action twisted(fermion_action action) {
  action.boundary_phase = {unit_phase(0.3), unit_phase(-1.1), unit_phase(2.5), unit_phase(0.7)};
  return action;
}

inline std::vector<named_action> typical_actions() {
  const fermion_action anisotropic{-0.05, 0.9, 1.6, 2.3, 1.2};
  return {{"wilson", fermion_action::isotropic(0.1, 0.0)},
          {"clover", fermion_action::isotropic(-0.2, 1.769)},
          {"clover_periodic", periodic(fermion_action::isotropic(0.4, 1.0))},
          {"clover_twisted", twisted(fermion_action::isotropic(0.05, 1.3))},
          {"anisotropic", anisotropic},
          {"anisotropic_twisted", twisted({0.3, 1.1, -0.7, 3.5, 0.8})}};
}

}  // namespace plaquette::validation
