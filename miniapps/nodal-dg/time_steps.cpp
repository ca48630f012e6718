// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/time_steps.hpp"

#include <fmt/core.h>

#include <optional>
#include <random>
#include <set>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/app/parse.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "common/stopwatch.hpp"
#include "miniapps/nodal-dg/dg_work.hpp"

namespace plaquette::nodal_dg {

namespace {

/// Returns the steps after which the energy is noted, counted from where this run begins. Some are at the beginning,
/// where what the mesh cannot hold dies out. The others, some 40, have uneven distances: a wave's period may be a
/// multiple of even ones.
std::set<std::int64_t> moments_of(std::int64_t steps) {
  constexpr std::int64_t intervals = 40;
  constexpr double golden = 0.6180339887498949;
  std::set<std::int64_t> moments{steps};
  for (std::int64_t i = 1; i < steps && i * intervals < steps; i *= 2) moments.insert(i);
  for (std::int64_t i = 1; i < intervals; ++i) {
    const double turn = golden * static_cast<double>(i);
    const double at = static_cast<double>(i) - 0.25 + 0.5 * (turn - std::floor(turn));
    moments.insert(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(at * static_cast<double>(steps) / static_cast<double>(intervals)), 1, steps));
  }
  return moments;
}

/// How the steps of a run are cut.
struct step_plan {
  std::int64_t first = 0, to_do = 0;  ///< where this part of the run begins, and its steps
  std::int64_t stretch = 1;           ///< steps that are timed together
  std::set<std::int64_t> moments{};   ///< counted from `first`
};

/// Returns `count` steps from `begin` to `end`, or all.
std::set<std::int64_t> drawn_steps(std::int64_t begin, std::int64_t end, std::int64_t count, std::uint64_t drawn) {
  const std::int64_t length = end - begin;
  std::set<std::int64_t> steps;
  if (count >= length)
    for (std::int64_t step = begin; step < end; ++step) steps.insert(step);
  for (std::mt19937_64 random(drawn); count < length && std::ssize(steps) < count;)
    steps.insert(begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length)));
  return steps;
}

/// Returns which steps of a stretch are judged one by one: all where the run is cheap. Else some that are drawn, ten of
/// the run at least, and four of each stretch with --check.
std::set<std::int64_t> steps_to_balance(const wave_run& run, const step_plan& plan, std::int64_t begin,
                                        std::int64_t end, std::uint64_t drawn) {
  constexpr double cheap = 1e10;  // flops, by the standard counts
  constexpr std::int64_t few = 4, of_run = 10;
  const double flops = standard_flops_of(run.domain).total() * static_cast<double>(run.domain.global_elements) *
                       run.options.states * lserk4::stages * static_cast<double>(run.steps);
  const std::int64_t length = end - begin, stretches = (plan.to_do + plan.stretch - 1) / plan.stretch;
  std::int64_t count = run.options.shared.check ? few : std::max<std::int64_t>(1, (of_run + stretches - 1) / stretches);
  if (flops <= cheap) count = length;
  return drawn_steps(begin, end, count, drawn);
}

/// Returns which steps of a stretch are compared with the textbook on one drawn element a rank: all of a run of 128.
/// A solver that leaves out one of 16 steps, wherever it is called from, escapes them with (15/16)^128 = 0.03%. Of
/// states so large that reading them takes long, fewer.
std::set<std::int64_t> steps_to_compare(const wave_run& run, const step_plan& plan, std::int64_t begin,
                                        std::int64_t end, std::uint64_t drawn) {
  constexpr double of_run = 128.0, fewest = 10.0;
  constexpr double most_read = 1.5e10;  // numbers a rank: some 20 s
  const double of_state = static_cast<double>(run.domain.global_elements) * run.domain.nodes() * run.domain.fields *
                          run.options.states / run.domain.comm.size();
  const double count = std::clamp(most_read / of_state, fewest, of_run);
  const std::int64_t length = end - begin;
  const auto share =
      static_cast<std::int64_t>(std::ceil(count * static_cast<double>(length) / static_cast<double>(plan.to_do)));
  return drawn_steps(begin, end, share, drawn);
}

/// The largest number of the solver's state, of all ranks. Collective.
double largest_number_of(const wave_run& run) {
  double largest = run.solver->largest(run.domain);
  run.domain.comm.maximum({&largest, 1});
  return largest;
}

/// Compares the step from run.step_begin to the solver's state with the textbook on one drawn element a rank.
/// \param largest  number of both states
void compare_step(wave_run& run, double time, double dt, double largest, std::uint64_t drawn) {
  const step_verdict verdict = judge_one_element(run.domain, run.whole, {*run.solver, *run.step_begin, time, dt, drawn},
                                                 larger_or_nan(unit_roundoff(run.options) * run.largest, largest));
  run.compared.worst = larger_or_nan(run.compared.worst, verdict.worst);
  ++run.compared.steps;
}

/// Judges the step from run.step_begin to run.step_end and leaves the solver with the end.
void balance_step(wave_run& run, double time, double dt) {
  const double after = run.solver->time(), u = unit_roundoff(run.options);
  const step_balance now = run.balancer(*run.solver, run.domain, *run.step_begin, *run.step_end, time, dt,
                                        u * run.largest, u * u * run.energy);
  const bool is_widest = now.moved > 2.0 * run.widest;
  if (is_widest) {
    run.solver->restore(*run.step_begin, time);
    run.read(run.widest_begin);
  }
  run.solver->restore(*run.step_end, after);
  run.balance.power = larger_or_nan(run.balance.power, now.power);
  run.balance.states = larger_or_nan(run.balance.states, now.states);
  ++run.balanced;
  keep_largest(run.largest, now.largest);
  if (!is_widest) return;
  run.widest = now.moved;
  run.read(run.widest_end);
  run.widest_time = time;
  run.widest_dt = dt;
}

/// Notes an energy that comes after run.last_energy.
void note_growth(wave_run& run, double energy) {
  keep_largest(run.energy, energy);
  run.growth = larger_or_nan(run.growth, (energy - run.last_energy) / std::max(run.energy, 1e-300));
  run.last_energy = energy;
}

/// Makes the steps since the last judged states again, one by one, and leaves the solver with run.end, their end.
/// Returns false where the run is stopped meanwhile.
bool repeat_steps(wave_run& run, const step_plan& plan) {
  const double end_time = run.solver->time();
  const std::int64_t begin = run.judged.step, end = run.done.steps_done;
  const std::uint64_t drawn = drawn_number(run.app.world);
  run.app.note_draw(fmt::format("judged steps of {} to {}", begin, end), drawn);
  const std::set<std::int64_t> judged = steps_to_balance(run, plan, begin, end, drawn);
  std::mt19937_64 more_draws(drawn ^ 0x9e3779b97f4a7c15);
  std::set<std::int64_t> compared;
  if (std::ssize(judged) < end - begin) compared = steps_to_compare(run, plan, begin, end, more_draws());
  run.solver->set_state(run.judged.states, run.judged.time);
  bool is_kept = false;  // run.step_begin has what the solver has
  std::optional<double> largest_at_begin;
  for (std::int64_t step = begin; step < end; ++step) {
    const double time = run.solver->time(), dt = run.dt_of(step);
    if (step == run.begin_step) {
      run.read(run.begin.states);
      run.begin.time = time;
      run.begin.step = step;
    }
    const bool is_balanced = judged.contains(step), is_compared = compared.contains(step);
    if ((is_balanced || is_compared) && !is_kept) run.solver->save(*run.step_begin);
    if (is_compared && !largest_at_begin) largest_at_begin = largest_number_of(run);
    run.solver->advance(1, dt);
    std::optional<double> largest_at_end;
    if (is_compared) {
      largest_at_end = largest_number_of(run);
      compare_step(run, time, dt, larger_or_nan(*largest_at_begin, *largest_at_end), more_draws());
    }
    if (is_balanced) {
      run.solver->save(*run.step_end);
      balance_step(run, time, dt);
      std::swap(run.step_begin, run.step_end);
    }
    is_kept = is_balanced;
    largest_at_begin = largest_at_end;
    if (step + 1 < end && plan.moments.contains(step + 1 - plan.first)) note_growth(run, run.solver->energy()[0]);
    if (run.app.control.should_stop()) {
      run.solver->restore(*run.kept_end, end_time);
      return false;
    }
  }
  run.repeated += end - begin;
  run.same_between =
      run.same_between && run.solver->is_same(run.domain, *run.kept_end) && run.solver->time() == end_time;
  run.solver->restore(*run.kept_end, end_time);
  return true;
}

/// Reads the states that the timed steps ended in, notes their energy, and judges the steps since the last states that
/// were. They begin with the states that were read then. What is there after the energy are the same bits.
void judge_stretch(wave_run& run, const step_plan& plan) {
  const counted_seconds judging(run.judging);
  for (auto* snapshot : {&run.kept_end, &run.step_begin, &run.step_end})
    if (*snapshot == nullptr) *snapshot = run.solver->new_snapshot(run.domain);
  run.solver->save(*run.kept_end);
  run.read(run.end);
  const double energy = run.solver->energy()[0], of_states = energy_of(run.domain, run.first_of(run.end), 1)[0];
  run.end_energy = energy;
  const double difference = std::abs(energy - of_states) / std::max(of_states, 1e-300);
  run.energy_difference = larger_or_nan(run.energy_difference, difference);
  run.same_between = run.same_between && run.solver->is_same(run.domain, *run.kept_end);
  if (run.judged.states.empty()) {
    run.energy = run.last_energy = energy;
  } else {
    if (!repeat_steps(run, plan)) return;
    note_growth(run, energy);
  }
  std::swap(run.judged.states, run.end);
  run.judged.time = run.solver->time();
  run.judged.step = run.done.steps_done;
}

void note_energy(wave_run& run) { run.done.energy.push_back({run.done.time, run.end_energy}); }

/// Returns how many steps take `seconds`, by one that is made and forgotten. Collective.
std::int64_t steps_in(wave_run& run, double seconds) {
  double of_step = 0.0;
  for (int i = 0; i < 2; ++i) {  // the first one may set up what the others have
    run.app.world.barrier();
    const stopwatch watch;
    run.solver->advance(1, run.dt);
    run.app.device->finish();
    of_step = watch.seconds();
    run.app.world.maximum({&of_step, 1});
  }
  run.solver->set_state(run.judged.states, run.judged.time);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds / std::max(of_step, 1e-9)), 1, 1 << 30);
}

}  // namespace

void make_steps(wave_run& run) {
  constexpr double piece = 0.25;  // seconds between two checks for a stop, at least
  run.app.begin("time steps");
  step_plan plan{.first = run.done.steps_done, .to_do = run.steps - run.done.steps_done};
  plan.stretch = std::max<std::int64_t>(1, (plan.to_do + run.options.samples - 1) / run.options.samples);
  plan.moments = moments_of(plan.to_do);
  run.begin_step = run.steps - steps_to_judge(run.domain, run.options.states, plan.to_do);
  run.done.time = run.solver->time();
  judge_stretch(run, plan);
  if (run.done.energy.empty()) note_energy(run);
  std::int64_t longest = steps_in(run, piece);
  run.solver->reset_timings();
  const bool checkpoints = !run.options.checkpoint.empty();
  const std::int64_t every = run.options.checkpoint_every;
  double seconds_of_stretch = 0.0;
  std::int64_t steps_of_stretch = 0;
  while (run.done.steps_done < run.steps && !run.app.control.should_stop()) {
    const std::int64_t at = run.done.steps_done;
    std::int64_t n = std::min(longest, plan.stretch - steps_of_stretch);
    const bool shortens = run.last_dt != run.dt && at + 1 < run.steps;
    n = std::min(n, shortens ? run.steps - 1 - at : run.steps - at);
    if (checkpoints) n = std::min(n, every - at % every);
    run.solver->warm_up();
    run.app.world.barrier();
    const stopwatch watch;
    run.solver->advance(n, run.dt_of(at));
    run.app.device->finish();
    double seconds = watch.seconds();
    run.app.world.maximum({&seconds, 1});
    if (n == longest && seconds < piece) longest *= 2;
    if (seconds > 2.0 * piece) longest = std::max<std::int64_t>(1, longest / 2);
    seconds_of_stretch += seconds;
    steps_of_stretch += n;
    run.done.steps_done += n;
    run.done.time = run.solver->time();
    const bool is_last = run.done.steps_done == run.steps;
    const bool ends = steps_of_stretch == plan.stretch || is_last;
    const bool keeps = checkpoints && run.done.steps_done % every == 0 && !is_last;
    if (ends) run.stage_seconds.push_back(seconds_of_stretch / static_cast<double>(steps_of_stretch * lserk4::stages));
    if (ends || keeps) judge_stretch(run, plan);
    if (ends) {
      seconds_of_stretch = 0.0;
      steps_of_stretch = 0;
      note_energy(run);
    }
    if (keeps && !run.app.control.stopped()) {
      note_failures(run);
      keep_checkpoint(run, run.judged.states, false);
    }
    run.app.progress.update(static_cast<double>(run.done.steps_done) / static_cast<double>(run.steps),
                            fmt::format("step {}, time {:.4g}", run.done.steps_done, run.done.time));
  }
  if (!run.app.control.stopped() || steps_of_stretch == 0) return;
  run.end_energy = run.solver->energy()[0];
  note_energy(run);
}

void keep_what_was_judged(wave_run& run) {
  if (run.options.checkpoint.empty()) return;
  const bool is_at_the_end = !run.begin.states.empty() && run.begin.step <= run.judged.step;
  const states_at& from = is_at_the_end ? run.begin : run.judged;
  const dg_progress ended = run.done;
  run.done.steps_done = from.step;
  run.done.time = from.time;
  std::erase_if(run.done.energy.get_ref<json_document::array_t&>(),
                [&](const json_document& line) { return line[0].get<double>() > from.time; });
  keep_checkpoint(run, from.states, false);
  run.done = ended;
  if (run.app.is_root())
    fmt::print("stopped    {} goes on from step {} of {}: before it all steps were made twice\n",
               printable(run.options.checkpoint), from.step, run.steps);
}

}  // namespace plaquette::nodal_dg
