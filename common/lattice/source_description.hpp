// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the right-hand sides of a propagator may be.
#pragma once

#include <string>
#include <string_view>

#include "common/algebra/spinor.hpp"
#include "common/lattice/extents.hpp"
#include "common/lattice/momentum_phase.hpp"

namespace plaquette {

/// Spin-colour components of a Dirac spinor, hence columns of a propagator.
inline constexpr int spin_colours = spins * colours;

/// Column spin * 3 + colour of a propagator belongs to the source with this spin and colour.
struct source_component {
  int spin, colour;
};
constexpr source_component component_of_column(int column) { return {column / colours, column % colours}; }

enum class source_kind {
  point,    ///< 1 at one site
  wall,     ///< 1 at every site of a time slice
  gaussian  ///< a point, smeared gauge-covariantly in its time slice
};

/// Throws input_error, naming the words, for anything but "point", "wall", "gaussian".
source_kind parse_source_kind(std::string_view text);
std::string name(source_kind kind);

struct source_description {
  source_kind kind = source_kind::point;
  coordinate position{0, 0, 0, 0};     ///< global; of a wall only the time counts
  double smearing_radius = 2.0;        ///< sigma, in lattice units
  int smearing_steps = 5;              ///< n of (1 + sigma^2/(4n) (sum of the 6 spatial hops - 6))^n
  bool thin_links = false;             ///< its hops have the links before stout smearing, not those of the operator
  lattice_momentum momentum{0, 0, 0};  ///< of a plane wave e^(i p x), by which all is multiplied in the end
};

/// Of a Gaussian source: no command line and no file makes a run smear for ever.
inline constexpr int most_smearing_steps = 100000;

/// Throws input_error where the source does not fit on the lattice or its numbers make no sense.
void require_source_on(const source_description& source, const extents& lattice);

}  // namespace plaquette
