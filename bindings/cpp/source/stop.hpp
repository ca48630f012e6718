// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reports the progress of calls, and ends calls that the caller's stop function or progress function ends.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>

#include "common/comms/communicator.hpp"
#include "common/krylov/solve_report.hpp"
#include "common/stop_point.hpp"

namespace plaquette::api {
inline namespace v1 {

/// An exception of a caller's function, which the library passes on as it is.
struct callers_exception {
  std::exception_ptr thrown;
};

/// As long as it lives, loops of this thread's call ask the functions of stop_function() and progress_function(), if
/// there is one. A single rank asks the first fifty times a second at most. Several ask and agree about every tenth of
/// a second, and at least at every 64th question. The second is told each step, and at other questions a tenth of a
/// second after the last one.
class stops_of_call {
 public:
  explicit stops_of_call(const communicator& ranks);
  ~stops_of_call();
  stops_of_call(const stops_of_call&) = delete;
  stops_of_call& operator=(const stops_of_call&) = delete;

  /// Throws the exception of a function of the caller, as callers_exception, or error(interrupted), in a call that it
  /// has ended. A call that returns its results so far throws callers_exception alone.
  static void leave();
  /// Returns a question for loops that end by themselves, the same on all ranks; null without a function to ask.
  static std::function<bool()> question();
  /// Throws as leave() does, if the functions, asked now, end the call.
  static void ask();
  /// Does the same between the parts of a step. A solve that can return its results so far gets the time of some
  /// convergence checks to do so.
  static void ask_within_a_step();
  /// Returns whether a function has ended the call; the same on all ranks.
  static bool has_stopped();
  /// Notes that the call returns its results so far from here on: leave() throws no error(interrupted).
  static void keep_results();
  /// Does work of a call that returns its results so far. Returns false if the call has been ended before, or while it
  /// was done; exceptions of that time are forgotten.
  template <class Work>
  static bool unless_stopped(Work&& work) {
    if (has_stopped()) return false;
    try {
      work();
    } catch (...) {
      if (!has_stopped()) throw;
    }
    return !has_stopped();
  }
  /// The status of a column's result in a call that was ended.
  static constexpr const char* status = "interrupted";

  /// Tells the progress function the step of the present part of the call, and the largest residual of a solve or a
  /// search. Each rank for itself.
  static void note(std::int64_t step, double residual = std::numeric_limits<double>::quiet_NaN());

  class part;
  class solve;

 private:
  class asker;
  std::unique_ptr<asker> own_;  ///< none inside a call of a call
  std::unique_ptr<stop_question> points_;
  static asker*& current();
};

/// Names a part of the call to progress functions, as long as it lives.
class stops_of_call::part {
 public:
  /// \param what       a name that stays; see progress::what
  /// \param limit      steps at most; 0: not known
  /// \param tolerance  that residuals shall meet; 0: there are none
  explicit part(const char* what, std::int64_t limit = 0, double tolerance = 0.0);
  ~part();
  part(const part&) = delete;
  part& operator=(const part&) = delete;

 private:
  struct before;
  std::unique_ptr<before> before_;
};

/// Lets a solve, as long as it lives, end by itself with the best solution so far before stop points within its steps
/// throw. They do so when it has had the time of four convergence checks: half a second at least, five at most.
class stops_of_call::solve : part {
 public:
  /// Sets the functions of the rule that ask and note.
  explicit solve(stopping_rule& rule);
  ~solve();
  solve(const solve&) = delete;
  solve& operator=(const solve&) = delete;
};

}  // namespace v1
}  // namespace plaquette::api
