// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/stop.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "common/stopwatch.hpp"
#include "plaquette/plaquette.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

struct functions_of_caller {
  std::function<bool()> goes_on{};
  std::function<bool(const progress&)> stops{};
};

functions_of_caller& functions_of_thread() {
  static thread_local functions_of_caller functions;
  return functions;
}

}  // namespace

void stop_function(std::function<bool()> goes_on) { functions_of_thread().goes_on = std::move(goes_on); }
void progress_function(std::function<bool(const progress&)> stops) { functions_of_thread().stops = std::move(stops); }

class stops_of_call::asker {
 public:
  explicit asker(const communicator& ranks) : ranks_(ranks), functions_(functions_of_thread()) {}

  const progress& reached() const { return reached_; }
  void begin_part(const progress& at) {
    reached_ = at;
    was_told_ = false;
    calls_ = 0, stride_ = 1;  // questions may come at another pace
  }
  /// Tells the progress function a new step.
  void note(std::int64_t step, double residual) {
    reached_.step = step, reached_.residual = residual;
    if (!is_asking_) tell();
  }
  bool has_stopped() const { return stops_; }
  void keep_results() { keeps_results_ = keeps_results_ || !is_asking_; }
  void solve_begins() {
    ++solves_;
    check_seconds_ = 0.0;
    since_check_ = stopwatch();
  }
  void solve_ends() { --solves_; }

  bool asked_at_check() {
    check_seconds_ = since_check_.seconds();
    since_check_ = stopwatch();
    return asked();
  }

  bool asked() {
    if (stops_ || is_asking_) return stops_;  // a function of the caller may make calls itself
    return ask_now();
  }

  void ask() {
    if (asked() && !keeps_results_) leave();
  }

  void ask_within_a_step() {
    if (asked() && !keeps_results_ && (solves_ == 0 || is_overdue())) leave();
  }

  void leave() const {
    if (!stops_) return;
    if (thrown_) throw callers_exception{thrown_};
    if (!keeps_results_) throw error(code::interrupted, "stopped by the caller's stop function or progress function");
  }

 private:
  bool ask_now() {
    if (ranks_.size() == 1) {
      constexpr double interval = 0.02;
      if (was_asked_ && since_.seconds() < interval && !is_stop_wanted_) return false;
      was_asked_ = true;
      since_ = stopwatch();
      stops_ = !goes_on();
    } else {
      if (++calls_ < stride_) return false;
      calls_ = 0;
      std::array<double, 2> of_all{goes_on() ? 0.0 : 1.0, since_.seconds()};
      since_ = stopwatch();
      ranks_.maximum(std::span(of_all));
      constexpr double interval = 0.1;
      constexpr int longest = 64;  // a step may come to take much longer than those before
      if (of_all[1] < 0.5 * interval)
        stride_ = std::min(2 * stride_, longest);
      else if (of_all[1] > interval)
        stride_ = std::max(1, static_cast<int>(stride_ * interval / of_all[1]));
      stops_ = of_all[0] > 0.0;
    }
    if (stops_) since_stop_ = stopwatch();
    return stops_;
  }

  bool goes_on() {
    constexpr double between_steps = 0.1;
    const bool is_due = was_told_ ? since_told_.seconds() > between_steps : solves_ == 0;
    if (is_due) tell();
    if (functions_.goes_on) call([&] { return !functions_.goes_on(); });
    return !is_stop_wanted_;
  }

  void tell() {
    if (!functions_.stops) return;
    was_told_ = true;
    since_told_ = stopwatch();
    reached_.seconds = since_begin_.seconds();
    call([&] { return functions_.stops(reached_); });
  }

  /// Calls a function of the caller, which says whether to stop. It may make calls itself.
  template <class Function>
  void call(Function&& stops) {
    if (is_stop_wanted_) return;
    is_asking_ = true;
    try {
      is_stop_wanted_ = stops();
    } catch (...) {
      thrown_ = std::current_exception();
      is_stop_wanted_ = true;
    }
    is_asking_ = false;
  }

  /// Returns whether a solve was to stop so long ago that it cannot come to its next check soon. Collective.
  bool is_overdue() {
    constexpr double checks = 4.0, least = 0.5, most = 5.0;  // a solve completes some more steps after a check
    std::array<double, 2> seconds{since_stop_.seconds(), check_seconds_};
    ranks_.maximum(std::span(seconds));
    return seconds[0] > std::clamp(checks * seconds[1], least, most);
  }

  communicator ranks_;
  functions_of_caller functions_;
  progress reached_{};
  std::exception_ptr thrown_{};
  stopwatch since_begin_{}, since_{}, since_told_{}, since_check_{}, since_stop_{};
  double check_seconds_ = 0.0;  ///< between the last two convergence checks
  int calls_ = 0, stride_ = 1, solves_ = 0;
  bool is_stop_wanted_ = false;  ///< by this rank
  bool stops_ = false;           ///< all ranks have agreed
  bool was_asked_ = false, was_told_ = false, is_asking_ = false, keeps_results_ = false;
};

stops_of_call::asker*& stops_of_call::current() {
  static thread_local asker* asks = nullptr;
  return asks;
}

stops_of_call::stops_of_call(const communicator& ranks) {
  const functions_of_caller& functions = functions_of_thread();
  if ((!functions.goes_on && !functions.stops) || current() != nullptr) return;
  own_ = std::make_unique<asker>(ranks);
  current() = own_.get();
  points_ = std::make_unique<stop_question>([](stop_kind kind) {
    if (kind == stop_kind::late)
      ask_within_a_step();
    else
      ask();
  });
}

stops_of_call::~stops_of_call() {
  if (own_) current() = nullptr;
}

void stops_of_call::leave() {
  if (const asker* asks = current()) asks->leave();
}

std::function<bool()> stops_of_call::question() {
  if (current() == nullptr) return nullptr;
  return [asks = current()] { return asks->asked_at_check(); };
}

void stops_of_call::ask() {
  if (asker* asks = current()) asks->ask();
}

void stops_of_call::ask_within_a_step() {
  if (asker* asks = current()) asks->ask_within_a_step();
}

bool stops_of_call::has_stopped() { return current() != nullptr && current()->has_stopped(); }

void stops_of_call::keep_results() {
  if (asker* asks = current()) asks->keep_results();
}

void stops_of_call::note(std::int64_t step, double residual) {
  if (asker* asks = current()) asks->note(step, residual);
}

struct stops_of_call::part::before {
  progress reached;
};

stops_of_call::part::part(const char* what, std::int64_t limit, double tolerance) {
  asker* const asks = current();
  if (asks == nullptr) return;
  before_ = std::make_unique<before>(asks->reached());
  asks->begin_part({.what = what, .limit = limit, .tolerance = tolerance});
}

stops_of_call::part::~part() {
  if (before_) current()->begin_part(before_->reached);
}

stops_of_call::solve::solve(stopping_rule& rule) : part("solve", rule.limit, rule.tolerance) {
  rule.interrupted = question();
  if (current() == nullptr) return;
  rule.progress = [](int iteration, double residual) { note(iteration, residual); };
  current()->solve_begins();
}

stops_of_call::solve::~solve() {
  if (current() != nullptr) current()->solve_ends();
}

}  // namespace v1
}  // namespace plaquette::api
