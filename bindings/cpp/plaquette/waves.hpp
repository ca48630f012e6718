// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sound and light in time by nodal discontinuous Galerkin, on a box or on a mesh of one's own. Formulas:
/// common/dg/README.md.
///
///     plq::wave_solver solver("mesh.msh", {.equations = plq::waves::maxwell, .order = 4});
///     std::vector<double> state = start(solver.positions());
///     solver.set_state(state, 0.0);
///     const plq::verdict verdict = solver.advance(1000, solver.stable_step());
///     solver.get_state(state);
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plaquette/plaquette.hpp"

namespace plaquette::api {
inline namespace v1 {

/// Equations, and the fields of their states.
enum class waves {
  acoustics,  ///< p, u, v, w
  maxwell     ///< Hx, Hy, Hz, Ex, Ey, Ez
};

/// A box of cubes, six tetrahedra each.
struct wave_box {
  std::array<int, 3> cells{4, 4, 4};            ///< in each direction
  std::array<double, 3> low{-1.0, -1.0, -1.0};  ///< corner
  std::array<double, 3> high{1.0, 1.0, 1.0};    ///< the opposite one
  std::array<bool, 3> periodic{};               ///< in each direction
};

/// Tetrahedra in memory of the caller. They touch in whole faces; a face without another element is a side.
struct wave_mesh {
  /// Refers to arrays of the caller, which must be there while a solver is made.
  wave_mesh(std::span<const double> corners, std::span<const std::int32_t> tetrahedra,
            std::span<const double> media_of_them = {})
      : vertices(corners), elements(tetrahedra), media(media_of_them) {}

  std::span<const double> vertices;        ///< x, y, z of each
  std::span<const std::int32_t> elements;  ///< four vertices of each, in any order, numbered from 0
  /// Two numbers an element: 1/K and rho of sound, eps and mu of light; without, all are 1. There are up to 32000
  /// pairs.
  std::span<const double> media;
};

/// The equations, and how they are solved.
struct wave_options {
  waves equations = waves::acoustics;                  ///< of sound or light
  int order = 3;                                       ///< of the polynomials, 1 to 9
  api::device device = api::device::cpu;               ///< that solves
  api::precision precision = api::precision::double_;  ///< double_ or single
  int columns = 1;                                     ///< states that advance together
  double upwinding = 1.0;                              ///< of the flux: 1 upwind, 0 central
  bool absorbing = false;                              ///< sides let waves out; else they reflect
  std::optional<int> fortran_communicator{};           ///< see mpi.hpp
};

/// States are arrays [column][field][element][node] of this rank's elements. Calls are collective.
class wave_solver {
 public:
  /// Makes a solver on a box.
  explicit wave_solver(const wave_box& box, const wave_options& options = {});
  /// Takes the tetrahedra of a Gmsh file. One medium fills it.
  explicit wave_solver(const std::string& file, const wave_options& options = {});
  /// Takes a mesh, the same on all ranks. Throws error(unusable_input), on all of them, for flat elements, numbers of
  /// vertices that do not exist, and coordinates that are not finite. The same for elements that overlap, or touch
  /// without common vertices.
  explicit wave_solver(const wave_mesh& mesh, const wave_options& options = {});

  std::int64_t elements() const;                         ///< of this rank
  int nodes() const;                                     ///< of an element
  int fields() const;                                    ///< of a state: 4 or 6
  int columns() const;                                   ///< states that advance together
  std::vector<std::int32_t> numbers() const;             ///< of this rank's elements in the whole mesh
  std::int64_t size() const;                             ///< numbers of all columns
  std::vector<std::array<double, 3>> positions() const;  ///< [element][node]

  void set_state(std::span<const double> state, double time);  ///< begins with it
  void get_state(std::span<double> state) const;               ///< copies it
  double time() const;                                         ///< of the state
  std::vector<double> energies() const;                        ///< of each column, over all ranks
  double stable_step() const;                                  ///< returns a time step that is stable
  /// Does `steps` steps of length dt. The last one is repeated by the textbook solver of the CPU, everywhere, from the
  /// state before it; the verdict compares the two. `worst` and `tolerance` are in units of the largest number. A step
  /// that changes less than ten tolerances does not pass, nor do steps in which a column's energy grows. Throws
  /// error(unusable_input) if dt is longer than the longest step that is stable here, which is measured once if
  /// dt is above stable_step().
  verdict advance(std::int64_t steps, double dt, bool judge = true);

  struct state;

 private:
  std::shared_ptr<state> state_;
};

}  // namespace v1
}  // namespace plaquette::api
