// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/time_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/app/draw.hpp"
#include "common/dg/exact_solutions.hpp"
#include "common/dg/lserk4.hpp"
#include "common/stopwatch.hpp"
#include "miniapps/nodal-dg/dg_work.hpp"
#include "miniapps/nodal-dg/run_checkpoint.hpp"
#include "miniapps/nodal-dg/run_checks.hpp"

namespace plaquette::nodal_dg {

namespace {

/// Returns the steps after which the energy is noted, counted from where this run begins. Some are at the beginning,
/// while waves die out that the mesh cannot hold. The others, some 40, have uneven distances: a wave's period may be a
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

/// Returns which steps of a stretch are judged one by one: all if the run is cheap. Else some that are drawn, ten of
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

/// Makes the steps of a run on the clock, and makes them again.
class step_maker {
 public:
  step_maker(const wave_run& run, const dg_progress& before)
      : run_(run), solver_(*run.solver), plan_(plan_of(run, before.steps_done)) {
    made_.done = before;
    made_.begin_step = run.steps - steps_to_judge(run.domain, run.options.states, plan_.to_do);
  }

  /// Makes the steps and returns their results. To be called once. Collective.
  steps_made make() {
    made_.done.time = solver_.time();
    judge_stretch();
    if (made_.done.energy.empty()) note_energy();
    longest_ = steps_in(piece);
    solver_.reset_timings();
    while (made_.done.steps_done < run_.steps && !run_.app.control.should_stop()) {
      advance(steps_of_piece());
      end_piece();
      run_.app.progress.update(static_cast<double>(made_.done.steps_done) / static_cast<double>(run_.steps),
                               fmt::format("step {}, time {:.4g}", made_.done.steps_done, made_.done.time));
    }
    if (run_.app.control.stopped() && steps_of_stretch_ > 0) {
      end_energy_ = solver_.energy()[0];
      note_energy();
    }
    return std::move(made_);
  }

 private:
  static constexpr double piece = 0.25;  ///< seconds between two checks for a stop, at least

  static step_plan plan_of(const wave_run& run, std::int64_t first) {
    step_plan plan{.first = first, .to_do = run.steps - first};
    plan.stretch = std::max<std::int64_t>(1, (plan.to_do + run.options.samples - 1) / run.options.samples);
    plan.moments = moments_of(plan.to_do);
    return plan;
  }
  bool has_checkpoints() const { return !run_.options.checkpoint.empty(); }

  // ---- Steps on the clock

  /// Returns how many steps take `seconds`, by one that is made and forgotten. Collective.
  std::int64_t steps_in(double seconds) {
    double of_step = 0.0;
    for (int i = 0; i < 2; ++i) {  // the first one may set up buffers for the others
      run_.app.world.barrier();
      const stopwatch watch;
      solver_.advance(1, run_.dt);
      run_.app.device->finish();
      of_step = watch.seconds();
      run_.app.world.maximum({&of_step, 1});
    }
    solver_.set_state(made_.judged.states, made_.judged.time);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(seconds / std::max(of_step, 1e-9)), 1, 1 << 30);
  }

  /// Returns how many steps follow without a stop: to the end of the stretch, the last step or a checkpoint at most.
  std::int64_t steps_of_piece() const {
    const std::int64_t at = made_.done.steps_done, every = run_.options.checkpoint_every;
    const bool shortens = run_.last_dt != run_.dt && at + 1 < run_.steps;
    std::int64_t n = std::min(longest_, plan_.stretch - steps_of_stretch_);
    n = std::min(n, shortens ? run_.steps - 1 - at : run_.steps - at);
    return has_checkpoints() ? std::min(n, every - at % every) : n;
  }

  /// Makes n steps of one size on the clock.
  void advance(std::int64_t n) {
    solver_.warm_up();
    run_.app.world.barrier();
    const stopwatch watch;
    solver_.advance(n, run_.dt_of(made_.done.steps_done));
    run_.app.device->finish();
    double seconds = watch.seconds();
    run_.app.world.maximum({&seconds, 1});
    if (n == longest_ && seconds < piece) longest_ *= 2;
    if (seconds > 2.0 * piece) longest_ = std::max<std::int64_t>(1, longest_ / 2);
    seconds_of_stretch_ += seconds;
    steps_of_stretch_ += n;
    made_.done.steps_done += n;
    made_.done.time = solver_.time();
  }

  /// Judges the steps at the end of a stretch or before a checkpoint, and keeps the latter.
  void end_piece() {
    const bool is_last = made_.done.steps_done == run_.steps;
    const bool ends = steps_of_stretch_ == plan_.stretch || is_last;
    const bool keeps = has_checkpoints() && made_.done.steps_done % run_.options.checkpoint_every == 0 && !is_last;
    if (ends)
      made_.stage_seconds.push_back(seconds_of_stretch_ / static_cast<double>(steps_of_stretch_ * lserk4::stages));
    if (ends || keeps) judge_stretch();
    if (ends) {
      seconds_of_stretch_ = 0.0;
      steps_of_stretch_ = 0;
      note_energy();
    }
    if (keeps && !run_.app.control.stopped()) {
      made_.done.failures = failures_of(run_, made_);
      keep_checkpoint(run_, made_.done, made_.judged.states, false);
    }
  }

  void note_energy() { made_.done.energy.push_back({made_.done.time, end_energy_}); }

  // ---- The same steps again

  /// Reads the states that the timed steps ended in, notes their energy, and judges the steps since the last states
  /// that were. They begin with the states that were read then. After the energy the solver must hold the same bits.
  void judge_stretch() {
    const counted_seconds judging(made_.judging);
    step_evidence& seen = made_.seen;
    for (auto* snapshot : {&kept_end_, &step_begin_, &step_end_})
      if (*snapshot == nullptr) *snapshot = solver_.new_snapshot(run_.domain);
    solver_.save(*kept_end_);
    run_.read(end_);
    const double energy = solver_.energy()[0], of_states = energy_of(run_.domain, run_.first_of(end_), 1)[0];
    end_energy_ = energy;
    const double difference = std::abs(energy - of_states) / std::max(of_states, 1e-300);
    seen.energy_difference = larger_or_nan(seen.energy_difference, difference);
    seen.same_between = seen.same_between && solver_.is_same(run_.domain, *kept_end_);
    if (made_.judged.states.empty()) {
      seen.energy = last_energy_ = energy;
    } else {
      if (!repeat_steps()) return;
      note_growth(energy);
    }
    std::swap(made_.judged.states, end_);
    made_.judged.time = solver_.time();
    made_.judged.step = made_.done.steps_done;
  }

  /// Makes the steps since the last judged states again, one by one, and leaves the solver with their end. Returns
  /// false if the run is stopped meanwhile.
  bool repeat_steps() {
    const double end_time = solver_.time();
    const std::int64_t begin = made_.judged.step, end = made_.done.steps_done;
    const std::uint64_t drawn = drawn_number(run_.app.world);
    run_.app.note_draw(fmt::format("judged steps of {} to {}", begin, end), drawn);
    const std::set<std::int64_t> judged = steps_to_balance(run_, plan_, begin, end, drawn);
    std::mt19937_64 more_draws(drawn ^ 0x9e3779b97f4a7c15);
    std::set<std::int64_t> compared;
    if (std::ssize(judged) < end - begin) compared = steps_to_compare(run_, plan_, begin, end, more_draws());
    solver_.set_state(made_.judged.states, made_.judged.time);
    bool is_kept = false;  // step_begin_ has the solver's states
    std::optional<double> largest_at_begin;
    for (std::int64_t step = begin; step < end; ++step) {
      const double time = solver_.time(), dt = run_.dt_of(step);
      if (step == made_.begin_step) keep_begin(step, time);
      const bool is_balanced = judged.contains(step), is_compared = compared.contains(step);
      if ((is_balanced || is_compared) && !is_kept) solver_.save(*step_begin_);
      if (is_compared && !largest_at_begin) largest_at_begin = largest_number();
      solver_.advance(1, dt);
      std::optional<double> largest_at_end;
      if (is_compared) {
        largest_at_end = largest_number();
        compare_step(time, dt, larger_or_nan(*largest_at_begin, *largest_at_end), more_draws());
      }
      if (is_balanced) {
        solver_.save(*step_end_);
        balance_step(time, dt);
        std::swap(step_begin_, step_end_);
      }
      is_kept = is_balanced;
      largest_at_begin = largest_at_end;
      if (step + 1 < end && plan_.moments.contains(step + 1 - plan_.first)) note_growth(solver_.energy()[0]);
      if (run_.app.control.should_stop()) {
        solver_.restore(*kept_end_, end_time);
        return false;
      }
    }
    step_evidence& seen = made_.seen;
    seen.repeated += end - begin;
    seen.same_between = seen.same_between && solver_.is_same(run_.domain, *kept_end_) && solver_.time() == end_time;
    solver_.restore(*kept_end_, end_time);
    return true;
  }

  /// Keeps the states from which the textbook makes the last steps again.
  void keep_begin(std::int64_t step, double time) {
    run_.read(made_.begin.states);
    made_.begin.time = time;
    made_.begin.step = step;
  }

  /// Returns the largest number of the solver's state, of all ranks. Collective.
  double largest_number() const {
    double largest = solver_.largest(run_.domain);
    run_.domain.comm.maximum({&largest, 1});
    return largest;
  }

  /// Compares the step from step_begin_ to the solver's state with the textbook on one drawn element a rank.
  /// \param largest  number of both states
  void compare_step(double time, double dt, double largest, std::uint64_t drawn) {
    compared_steps& compared = made_.seen.compared;
    const step_verdict verdict =
        judge_one_element(run_.domain, run_.whole, {solver_, *step_begin_, time, dt, drawn},
                          larger_or_nan(unit_roundoff(run_.options) * made_.seen.largest, largest));
    compared.worst = larger_or_nan(compared.worst, verdict.worst);
    ++compared.steps;
  }

  /// Judges the step from step_begin_ to step_end_ and leaves the solver with the end.
  void balance_step(double time, double dt) {
    step_evidence& seen = made_.seen;
    const double after = solver_.time(), u = unit_roundoff(run_.options);
    const step_balance now =
        balancer_(solver_, run_.domain, *step_begin_, *step_end_, time, dt, u * seen.largest, u * u * seen.energy);
    widest_step& widest = seen.widest;
    const bool is_widest = now.moved > 2.0 * widest.moved;
    if (is_widest) {
      solver_.restore(*step_begin_, time);
      run_.read(widest.begin);
    }
    solver_.restore(*step_end_, after);
    seen.balance.power = larger_or_nan(seen.balance.power, now.power);
    seen.balance.states = larger_or_nan(seen.balance.states, now.states);
    ++seen.balanced;
    keep_largest(seen.largest, now.largest);
    if (!is_widest) return;
    widest.moved = now.moved;
    run_.read(widest.end);
    widest.time = time;
    widest.dt = dt;
  }

  /// Notes an energy that comes after last_energy_.
  void note_growth(double energy) {
    step_evidence& seen = made_.seen;
    keep_largest(seen.energy, energy);
    seen.growth = larger_or_nan(seen.growth, (energy - last_energy_) / std::max(seen.energy, 1e-300));
    last_energy_ = energy;
  }

  const wave_run& run_;
  dg_solver& solver_;
  step_plan plan_;
  std::unique_ptr<dg_snapshot> kept_end_{}, step_begin_{}, step_end_{};  ///< where the solver computes
  std::vector<double> end_{};                                            ///< the same as kept_end_, on the host
  step_balancer balancer_{};
  steps_made made_{};
  std::int64_t longest_ = 1;  ///< steps of a piece
  double seconds_of_stretch_ = 0.0;
  std::int64_t steps_of_stretch_ = 0;
  double last_energy_ = 0.0, end_energy_ = 0.0;  ///< of the last moment; of the last timed step
};

}  // namespace

steps_made make_steps(const wave_run& run, const dg_progress& before) {
  run.app.begin("time steps");
  return step_maker(run, before).make();
}

}  // namespace plaquette::nodal_dg
