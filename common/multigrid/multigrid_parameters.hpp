// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The parameters of a multigrid solver, chosen at run time, and their defaults.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/krylov/precision.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette {

enum class cycle_kind {
  v,  ///< one cycle of the next level
  w,  ///< two, from the residual of the first
  k   ///< GCR preconditioned by the cycle of the next level
};
enum class smoother_kind {
  mr,
  gcr,
  ca_gcr,
  polynomial,  ///< with coefficients that ca_gcr had in a trial
  additive_schwarz,
  multiplicative_schwarz
};
enum class coarsest_kind { gcr, ca_gcr };
/// How the coarse correction and the relaxation after it go together.
enum class correction_kind {
  /// x += C (b - A x), then x += S (b - A x).
  multiplicative,
  /// x += C r + S r with r = b - A x, so that a device may relax while a CPU solves the coarser grid (Clark et al.
  /// 2016). An error that both reduce is subtracted twice, so the solver around the cycle must find the length of its
  /// step.
  additive
};
/// How null vectors come from random ones.
enum class null_vector_solver {
  bicgstab,  ///< on M v = 0
  cgnr,      ///< the same on the normal equations: slower, and never breaks down
  chebyshev  ///< a polynomial of Mhat^+ Mhat that makes low modes grow (Boyle, Yamaguchi, arXiv:2103.05034)
};

/// Which vectors the columns of P on the finest lattice are made of.
enum class null_space_kind {
  last,   ///< the vectors of the last refinement
  stages  ///< the leading vectors after relaxation and after each refinement, each weighted by |v| / |M v|
};

/// Reads "v", "w" or "k". Throws input_error for anything else.
cycle_kind parse_cycle_kind(const std::string& text);
const char* name(cycle_kind kind);
const char* name(smoother_kind kind);
const char* name(coarsest_kind kind);
const char* name(null_vector_solver kind);
const char* name(null_space_kind kind);

/// Returns the number of refinements that serve as well as more. They make vectors alike, and earlier stages hold the
/// directions that are lost.
constexpr int default_refinements(null_space_kind kind) { return kind == null_space_kind::stages ? 2 : 3; }

/// One step from a lattice to the next coarser one.
struct coarsening {
  extents aggregate{4, 4, 4, 4};  ///< sites of the lattice above that make one of the next
  int vectors = 24;               ///< null vectors of each chirality
};

/// The parameters of a cycle that may change once its lattices exist.
struct cycle_shape {
  cycle_kind cycle = cycle_kind::k;
  int k_steps = 8;                  ///< of the GCR around the cycle of an intermediate level
  std::vector<int> steps_after{6};  ///< see multigrid_parameters
  smoother_kind smoother = smoother_kind::ca_gcr;
  std::optional<std::size_t> additive_on{};  ///< see multigrid_parameters
  bool operator==(const cycle_shape&) const = default;
};

struct multigrid_parameters {
  std::vector<coarsening> coarsenings;  ///< levels - 1 of them

  smoother_kind smoother = smoother_kind::ca_gcr;
  /// Relaxation before the coarse correction and after it, on each lattice but the coarsest, finest first. The last
  /// number serves all further ones.
  std::vector<int> steps_before{0}, steps_after{6};
  double relaxation_factor = 0.85;  ///< of MR
  int steps_at_a_time = 6;          ///< of CA-GCR
  /// Coefficients of polynomials, by lattice and number of steps. None: CA-GCR is taken.
  std::map<std::pair<std::size_t, int>, std::vector<double>> polynomials{};
  int domain_steps = 3;  ///< of MR in the domains of Schwarz's procedure, which are the aggregates

  /// The lattice, 0 the finest, whose coarse correction is additive (multigrid.hpp). On the others it is
  /// multiplicative.
  std::optional<std::size_t> additive_on{};
  cycle_kind cycle = cycle_kind::k;
  int k_steps = 8;            ///< of the GCR around the cycle of an intermediate level
  double k_tolerance = 0.25;  ///< ends it early if the host may check (not on a device)
  coarsest_kind coarsest = coarsest_kind::gcr;
  int coarsest_steps = 16;  ///< of the GCR on the coarsest lattice
  double coarsest_tolerance = 0.1;
  /// Cycles read null vectors in 16 bits if the lattice relaxes in 16 bits, in libraries that have them. (The setup has
  /// them in single precision.)
  bool vectors_in_16_bits = true;
  /// Every rank holds the lattices from this one on whole, and solves them by itself: nothing is exchanged below. 0:
  /// none; all are divided among ranks.
  std::size_t whole_from = 0;
  int coarsest_modes = 0;  ///< lowest modes of the coarsest lattice that are taken out before these steps

  null_vector_solver relaxation = null_vector_solver::bicgstab;
  /// Of two applications of Mhat each, from random vectors. Chebyshev's polynomial has this degree.
  int relaxation_iterations = 20;
  double relaxation_tolerance = 5e-6;  ///< fraction of |Mhat v| at which they end; not of Chebyshev's polynomial
  null_space_kind null_space = null_space_kind::stages;
  int refinements = default_refinements(null_space_kind::stages);  ///< inverse iterations with the cycle itself
  int setup_batch = 12;  ///< null vectors that are relaxed or refined together
  std::uint64_t seed = 1;

  cycle_shape shape() const { return {cycle, k_steps, steps_after, smoother, additive_on}; }
  void set_shape(const cycle_shape& s) {
    cycle = s.cycle, k_steps = s.k_steps, steps_after = s.steps_after, smoother = s.smoother;
    additive_on = s.additive_on;
  }

  /// A number of such a list.
  static int on_lattice(const std::vector<int>& list, std::size_t number) {
    return list[std::min(number, list.size() - 1)];
  }

  /// Called between the parts of a setup and, if answers are ready at once, between the steps of cycles, on all ranks
  /// alike; null: never. An exception from it ends them.
  std::function<void()> between_parts = nullptr;
};

/// Aggregates, levels and vectors for a lattice of which a rank holds `local`: 4^4 then 2^4 if these divide it.
/// \param most_levels  at least 2
multigrid_parameters default_multigrid_parameters(const extents& global, const extents& local, int most_levels = 3);

/// Sets the parameters that depend on the device and not on the lattice: smoother, steps, coarsest solver. A GPU takes
/// all steps that it is given, since it cannot end early without an answer to the host; so it is given few.
void set_device_defaults(multigrid_parameters& parameters, bool on_gpu);
/// Returns the precision of the cycle on the finest lattice that is fastest on a device.
constexpr precision default_cycle_precision(bool on_gpu) { return on_gpu ? precision::half : precision::single; }

/// "4x4x4x4,2x2x2x2" and "24,24" as coarsenings. Throws input_error if they do not match in number, or are invalid.
std::vector<coarsening> parse_coarsenings(const std::string& aggregates, const std::vector<int>& vectors);

}  // namespace plaquette
