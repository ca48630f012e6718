// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The contract of a library that integrates wave equations by nodal discontinuous Galerkin: what it is given, what it
/// does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/comms/communicator.hpp"
#include "common/dg/dg_problem.hpp"
#include "common/dg/element_geometry.hpp"
#include "common/dg/reference_element.hpp"
#include "common/mesh/mesh_part.hpp"
#include "common/mesh/stop_check.hpp"

namespace plaquette {

/// A point source where it is: weights of the nodes of one element here.
struct placed_source {
  std::int32_t element;         ///< here
  std::vector<double> weights;  ///< (M^-1 l(x0)) / J, one a node
  point_source source;          ///< right-hand side of its field: weights * source.at(t) / medium constant
};

/// One rank's share of a problem, in numbers; everything in double. Shared by all libraries.
struct dg_domain {
  reference_element reference;
  mesh_part part;
  std::vector<element_geometry> geometry;                        ///< [element here]
  std::vector<std::array<std::array<double, 3>, 4>> corners;     ///< [element here]
  std::vector<medium> media;                                     ///< [element here]
  std::vector<std::array<double, most_faces>> impedance_behind;  ///< of the neighbour; its own where the mesh ends
  bool uniform_media = true;                                     ///< the whole mesh has one medium, and it is {1, 1}
  std::vector<placed_source> sources;
  dg_problem problem;
  int fields = 4;
  std::int64_t global_elements = 0;
  communicator comm;

  std::int32_t elements() const { return part.size(); }
  int nodes() const { return reference.nodes; }
  /// Returns what kind of boundary a face that is_boundary() is.
  boundary_kind boundary_of(const face_link& link) const {
    return problem.boundaries[static_cast<std::size_t>(link.boundary)];
  }
  /// Returns where node n of an element lies.
  std::array<double, 3> node_position(std::int32_t element, int node) const;
  /// Returns the numbers of one state here: fields * elements * nodes.
  std::int64_t state_size() const { return std::int64_t{fields} * elements() * nodes(); }
};

/// Collective. Throws input_error where problem and mesh do not fit each other.
dg_domain make_domain(const simplex_mesh& mesh, const std::vector<std::int32_t>& partition, int order,
                      const dg_problem& problem, const communicator& comm, const stop_check& stop = {});

/// Returns the time step that is stable: safety times the smallest of all elements' height / speed, times a constant of
/// the order that was measured. Collective.
double stable_time_step(const dg_domain& domain, double safety = 0.9);

/// Seconds spent since `reset_timings`, on this rank; parts that a library does not tell apart are 0.
struct dg_timings {
  double total = 0, volume = 0, surface = 0, update = 0, exchange = 0;
  std::int64_t stages = 0;
};

/// A state of all columns that a solver keeps, in its own precision and order: the same bits. Of one solver alone.
class dg_snapshot {
 public:
  virtual ~dg_snapshot() = default;
};

/// How far a step is from the one that right-hand sides make: of one column, on this rank, with energy_weight. NaN
/// where a number is.
struct step_difference {
  double differs = 0.0;  ///< largest |end - made|
  double moved = 0.0;    ///< largest |made - begin|
  double largest = 0.0;  ///< largest |made| and |begin|
};
/// Makes each number of `all` the larger of both; NaN stays.
inline void keep_largest(step_difference& all, const step_difference& more) {
  keep_largest(all.differs, more.differs);
  keep_largest(all.moved, more.moved);
  keep_largest(all.largest, more.largest);
}

/// Integrates a batch of states (columns) of one domain in time. States are given and taken in double as
/// [column][field][element][node], whatever the library keeps.
///
/// The functions on snapshots are for judging: on a device no whole state is copied to the host. Each has a version
/// here that is made of the others and serves every library.
class dg_solver {
 public:
  virtual ~dg_solver() = default;
  virtual int columns() const = 0;
  /// Also forgets the Runge-Kutta register. `time` is what sources and incident waves begin with.
  virtual void set_state(std::span<const double> state, double time) = 0;
  virtual void get_state(std::span<double> state) const = 0;
  /// Computes the right-hand side at the present state and time, in the same order; the state stays. Collective.
  virtual void right_hand_side(std::span<double> rhs) = 0;
  /// Does `steps` steps of length dt. Collective.
  virtual void advance(std::int64_t steps, double dt) = 0;
  virtual double time() const = 0;
  /// Returns the energy of each column over all ranks: integral of (first p^2 + second u^2) / 2, (eps E^2 + mu H^2) /
  /// 2; in double. Collective.
  virtual std::vector<double> energy() const = 0;
  virtual dg_timings timings() const = 0;
  virtual void reset_timings() = 0;

  /// Returns memory for states; what it holds is undefined.
  virtual std::unique_ptr<dg_snapshot> new_snapshot(const dg_domain& domain) const;
  /// Copies the present state.
  virtual void save(dg_snapshot& to) const;
  /// Does what set_state does, with a state that was saved.
  virtual void restore(const dg_snapshot& from, double time);
  /// Returns whether the present state has the bits of a saved one; on this rank.
  virtual bool is_same(const dg_domain& domain, const dg_snapshot& as) const;
  /// Returns the largest number of the present state's first column, with energy_weight; NaN where one is. On this
  /// rank.
  virtual double largest(const dg_domain& domain) const;
  /// Fills `to` with the numbers of some elements and columns of a saved state, [element][column][field][node].
  /// \param from  null: the present state
  virtual void read_elements(const dg_domain& domain, const dg_snapshot* from, std::span<const std::int32_t> elements,
                             std::span<const int> of_columns, std::span<double> to) const;
  /// Makes the step that begins with a saved state from right-hand sides, by the definition of LSERK4 and in double,
  /// and compares it with the saved end of the step. Leaves another state. Collective.
  /// \param first_rhs  is filled with the right-hand side at the beginning, all columns
  /// Returns the differences of each column.
  virtual std::vector<step_difference> repeat_step(const dg_domain& domain, const dg_snapshot& begin,
                                                   const dg_snapshot& end, double time, double dt,
                                                   std::span<double> first_rhs);
  /// Brings a device that has waited to the speed of work. Nothing changes. Collective.
  virtual void warm_up() {}
};

}  // namespace plaquette
