// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ends calls that the caller's stop function ends.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "common/comms/communicator.hpp"
#include "common/stop_point.hpp"

namespace plaquette::api {
inline namespace v1 {

/// An exception of a caller's function, which the library passes on as it is.
struct callers_exception {
  std::exception_ptr thrown;
};

/// As long as it lives, loops of this thread's call ask the stop function of stop_function(), if there is one. A single
/// rank asks fifty times a second at most. Several agree, about every tenth of a second and at least at every 64th
/// question.
class stops_of_call {
 public:
  explicit stops_of_call(const communicator& ranks);
  ~stops_of_call();
  stops_of_call(const stops_of_call&) = delete;
  stops_of_call& operator=(const stops_of_call&) = delete;

  /// Throws what the stop function has thrown, as callers_exception, or error(interrupted), in a call that it has
  /// ended.
  static void leave();
  /// Returns a question for loops that end by themselves, the same on all ranks; null without a stop function.
  static std::function<bool()> question();
  /// Throws as leave() does, where the stop function, asked now, ends the call.
  static void ask();

 private:
  class asker;
  std::unique_ptr<asker> own_;  ///< none inside a call of a call
  std::unique_ptr<stop_question> points_;
  static asker*& current();
};

}  // namespace v1
}  // namespace plaquette::api
