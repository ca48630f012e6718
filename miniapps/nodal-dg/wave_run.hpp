// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The state that the parts of a run share.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/app/bit_sum.hpp"
#include "common/dg/dg_solver.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/io/atomic_file.hpp"
#include "common/stopwatch.hpp"
#include "miniapps/nodal-dg/dg_checkpoint.hpp"
#include "miniapps/nodal-dg/energy_balance.hpp"
#include "miniapps/nodal-dg/nodal_dg_options.hpp"
#include "miniapps/nodal-dg/step_judge.hpp"
#include "miniapps/nodal-dg/wave_case.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette::nodal_dg {

/// States of all columns at a time.
struct states_at {
  std::vector<double> states{};
  double time = 0.0;
  std::int64_t step = 0;
};

/// Steps that were compared with the textbook, each on a drawn element.
struct compared_steps {
  double worst = 0.0;
  std::int64_t steps = 0;
};

/// Adds the seconds of its life to a number.
class counted_seconds {
 public:
  explicit counted_seconds(double& sum) : sum_(sum) {}
  counted_seconds(const counted_seconds&) = delete;
  counted_seconds& operator=(const counted_seconds&) = delete;
  ~counted_seconds() { sum_ += watch_.seconds(); }

 private:
  double& sum_;
  stopwatch watch_;
};

/// The input of a run: problem, options and solver. The parts of a run read it and return values.
struct wave_run {
  app_run& app;
  const nodal_dg_options& options;
  const wave_case& waves;
  const dg_domain& domain;
  whole_mesh whole;
  std::span<const point_location> probes;
  std::string content{};  ///< of mesh, media and sides, for the checkpoint
  double dt = 0.0;
  double last_dt = 0.0;    ///< of the last step of the whole run
  std::int64_t steps = 0;  ///< of the whole run
  double mismatch = 0.0;   ///< of periodic sides
  bool continues = false;  ///< a checkpoint
  std::unique_ptr<dg_solver> solver{};

  existing_file if_there(const std::string& path) const {
    return app.replaces(path) ? existing_file::replace : existing_file::keep;
  }
  double dt_of(std::int64_t step) const { return step + 1 == steps ? last_dt : dt; }
  /// Reads the solver's states of all columns.
  void read(std::vector<double>& all) const {
    all.resize(static_cast<std::size_t>(domain.state_size() * options.states));
    solver->get_state(all);
  }
  std::vector<double> states() const {
    std::vector<double> all;
    read(all);
    return all;
  }
  /// The first of several states; the others are scaled.
  std::span<const double> first_of(const std::vector<double>& states) const {
    return std::span(states).first(static_cast<std::size_t>(domain.state_size()));
  }
};

/// Rounding of the precision that the solver computes in.
inline double unit_roundoff(const nodal_dg_options& options) {
  return options.shared.precision == "single" ? 0x1p-24 : 0x1p-53;
}

/// State c is the first one times 2^-c: linear equations keep it so to the last bit, and a state that is another's is
/// seen.
inline std::vector<double> all_states(const wave_run& run, const std::vector<double>& first) {
  std::vector<double> states(first.size() * static_cast<std::size_t>(run.options.states));
  const auto size = static_cast<std::int64_t>(first.size());
  for (int column = 0; column < run.options.states; ++column) {
    double* const of_column = states.data() + column * size;
    const double scale = std::ldexp(1.0, -column);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < size; ++i) of_column[i] = scale * first[static_cast<std::size_t>(i)];
  }
  return states;
}

/// A judged step that changed the state much.
struct widest_step {
  std::vector<double> begin{}, end{};
  double time = 0.0, dt = 0.0, moved = 0.0;
};

/// Evidence of the steps from repeats and judges. Differences are relative.
struct step_evidence {
  step_balance balance{};     ///< the worst of all steps that were judged
  std::int64_t balanced = 0;  ///< steps that were judged
  std::int64_t repeated = 0;  ///< steps that were made again
  compared_steps compared{};  ///< with the textbook
  widest_step widest{};
  double largest = 0.0;            ///< number
  double energy = 0.0;             ///< the largest
  double growth = 0.0;             ///< of the energy between moments
  double energy_difference = 0.0;  ///< between the solver's energies and the energies of its states
  bool same_between = true;        ///< steps made again ended in the same states, and states stayed between them
};

/// The output of time steps.
struct steps_made {
  dg_progress done{};
  std::vector<double> stage_seconds{};  ///< of each timed stretch
  step_evidence seen{};
  states_at judged{};           ///< the end of the last stretch that was made again
  states_at begin{};            ///< of the last steps, which the textbook makes again
  std::int64_t begin_step = 0;  ///< of `begin`, if the run gets so far
  double judging = 0.0;         ///< seconds
};

}  // namespace plaquette::nodal_dg
