// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time steps that were made, against the same steps made by the textbook.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "common/mesh/simplex_mesh.hpp"

namespace plaquette::nodal_dg {

/// Returns the larger one; NaN if one of them is.
inline double larger_or_nan(double worst, double x) { return x <= worst || std::isnan(worst) ? worst : x; }

/// A mesh of which every rank has the whole, and which rank has which element.
struct whole_mesh {
  const simplex_mesh& mesh;
  std::span<const std::int32_t> owner;  ///< rank of each element
};

/// Steps in the past: the states before and after them, in the layout of dg_solver, all columns.
struct made_steps {
  std::span<const double> begin, end;
  double time = 0.0;         ///< at the beginning
  std::vector<double> dt{};  ///< of each step
  std::uint64_t drawn = 0;   ///< draws the elements; cannot be known before the end
};

/// Returns how many of the last steps are to be judged: as many as are cheap on a small mesh, one on a large one.
std::int64_t steps_to_judge(const dg_domain& domain, int columns, std::int64_t steps);

struct step_verdict {
  double worst = 0.0;  ///< |found - textbook|, in units of the largest number of the state; with energy_weight
  double moved = 0.0;  ///< the largest |end - begin| by the textbook, in the same units
  std::int64_t elements = 0;
  double largest = 0.0;  ///< number of the first column at the end
};

/// Repeats steps by the textbook and compares their end. Small meshes are repeated everywhere, of others some elements
/// a rank. A step has five stages, each of which reaches one layer of neighbours further. An element is repeated with
/// all layers that its end depends on, including layers on other ranks. One half of the elements is drawn from all, the
/// other from elements with a state that is not small. Judges the first column and one that is drawn. Collective.
step_verdict judge_steps(const dg_domain& domain, const whole_mesh& whole, int columns, const made_steps& steps);

/// One step of a solver, whose present state is the end.
struct solver_step {
  const dg_solver& solver;
  const dg_snapshot& begin;
  double time = 0.0, dt = 0.0;  ///< at the beginning
  std::uint64_t drawn = 0;      ///< as of made_steps
};

/// Does it on one drawn element a rank, with a state that is not small. Cheap: for many single steps; only the elements
/// that it needs are read. Collective.
/// \param unit  the largest number of the first column, of both states
step_verdict judge_one_element(const dg_domain& domain, const whole_mesh& whole, const solver_step& step, double unit);

/// Returns how many elements of a rank the textbook's right-hand side is computed on in about two seconds.
std::int64_t affordable_elements(const dg_domain& domain);

/// Returns at most `most` elements here, ascending. One half comes from all, the other from elements with a first
/// column that is not small.
/// \param drawn_number  is the same on all ranks
std::vector<std::int32_t> drawn_elements(const dg_domain& domain, std::span<const double> states, std::int64_t most,
                                         std::uint64_t drawn_number);

}  // namespace plaquette::nodal_dg
