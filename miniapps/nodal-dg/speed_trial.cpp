// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/speed_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/app/timing.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "common/random/random_stream.hpp"
#include "common/stopwatch.hpp"

namespace plaquette::nodal_dg {

namespace {

/// Random numbers by the draw and the element. No column is another one's multiple, as those of the run are.
void draw_states(const wave_run& run, std::uint64_t drawn, std::vector<double>& states) {
  const dg_domain& domain = run.domain;
  const auto size = static_cast<std::size_t>(domain.state_size());
  states.resize(size * static_cast<std::size_t>(run.options.states));
#pragma omp parallel for schedule(static)
  for (std::int32_t e = 0; e < domain.elements(); ++e) {
    random_stream random(drawn, random_stream_id(random_purpose::test, 0xd7),
                         static_cast<std::uint64_t>(domain.part.global[static_cast<std::size_t>(e)]));
    for (int f = 0; f < domain.fields; ++f)
      for (int n = 0; n < domain.nodes(); ++n) {
        const auto at = static_cast<std::size_t>((std::int64_t{f} * domain.elements() + e) * domain.nodes() + n);
        for (int column = 0; column < run.options.states; ++column)
          states[static_cast<std::size_t>(column) * size + at] = 2.0 * random.uniform() - 1.0;
      }
  }
}

std::int64_t steps_in(double seconds, double of_stage, std::int64_t fewest) {
  constexpr double most = 1 << 20;
  return std::max(fewest, static_cast<std::int64_t>(std::min(most, std::ceil(seconds / (lserk4::stages * of_stage)))));
}

}  // namespace

speed_trial try_speed(const wave_run& run, double of_stage, double begin) {
  // A trial is short, so that other programs on the same cores do not disturb all of them. It is long enough to make
  // the time of its start and of the energy at its end small; only the first one is shorter. The best one counts; if it
  // is slow, trials go on for a while, every second one of a single step. If threads and ranks share cores with other
  // programs, all of them run at the same time for moments only: such trials differ, and go on for longer.
  constexpr double seconds_of_trial = 0.001, enough = 1.2, most_seconds = 6.0;
  constexpr double most_seconds_if_disturbed = 30.0, disturbed = 1.2;  // median of long trials, over the best
  constexpr double far_from_the_figure = 4.0;
  constexpr int fewest = 3;
  constexpr std::int64_t fewest_steps = 4;
  dg_solver& solver = *run.solver;
  std::int64_t longest = fewest_steps;
  const stopwatch all;
  speed_trial found;
  const std::unique_ptr<dg_snapshot> kept_end = solver.new_snapshot(run.domain);
  std::vector<double> begin_states, end_states;
  double best = std::numeric_limits<double>::infinity(), passed = 0.0;
  std::vector<double> of_long_trials;  // seconds of a stage
  const auto goes_on = [&] {
    if (best <= enough * of_stage) return false;
    if (passed < most_seconds) return true;
    return best > slowest_trial * of_stage && passed < most_seconds_if_disturbed &&
           statistics(of_long_trials).median > disturbed * best;
  };
  for (int trial = 0; trial < fewest || goes_on(); ++trial) {
    const std::int64_t steps = trial < fewest || trial % 2 == 0 ? longest : 1;
    const std::uint64_t drawn = drawn_number(run.app.world);
    if (trial == 0) run.app.note_draw("numbers that steps are timed from", drawn);
    draw_states(run, drawn, begin_states);
    solver.set_state(begin_states, begin);
    solver.warm_up();
    run.app.world.barrier();
    const stopwatch watch;
    solver.advance(steps, run.dt);
    run.app.device->finish();
    const std::vector<double> energies = solver.energy();
    double seconds = watch.seconds();
    run.app.world.maximum({&seconds, 1});
    const double a_stage = seconds / static_cast<double>(steps * lserk4::stages);
    best = std::min(best, a_stage);
    if (steps == longest) of_long_trials.push_back(a_stage);
    // A figure that steps had no part in must not make trials of hours.
    longest = steps_in(seconds_of_trial, std::max(of_stage, best / far_from_the_figure), fewest_steps);

    const double end = solver.time();
    solver.save(*kept_end);
    run.read(end_states);
    const std::vector<double> of_states = energy_of(run.domain, end_states, run.options.states);
    for (std::size_t c = 0; c < of_states.size(); ++c)
      found.energy_difference =
          larger_or_nan(found.energy_difference, std::abs(energies[c] - of_states[c]) / std::max(of_states[c], 1e-300));
    solver.set_state(begin_states, begin);
    for (std::int64_t step = 0; step < steps; ++step) {
      solver.advance(1, run.dt);
      if (run.app.control.should_stop()) return found;
    }
    found.same_between = found.same_between && solver.is_same(run.domain, *kept_end) && solver.time() == end;
    passed = all.seconds();
    run.app.world.maximum({&passed, 1});
  }
  found.share = best / of_stage;
  return found;
}

}  // namespace plaquette::nodal_dg
