// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Points in long loops of the libraries where a run that is to stop leaves them.
#pragma once

#include <functional>
#include <utility>

namespace plaquette {

/// Sets what `stop_point` does, as long as it lives: a program's question whether to stop, which throws. Collective.
class stop_question {
 public:
  explicit stop_question(std::function<void()> ask) : before_(std::exchange(current(), std::move(ask))) {}
  ~stop_question() { current() = std::move(before_); }
  stop_question(const stop_question&) = delete;
  stop_question& operator=(const stop_question&) = delete;

  static std::function<void()>& current() {
    static std::function<void()> question;
    return question;
  }

 private:
  std::function<void()> before_;
};

/// Throws where the program is to stop; does nothing where it has no question. For loops that all ranks run in step, by
/// the thread that calls MPI, between steps of a millisecond or more. Collective.
inline void stop_point() {
  if (const auto& ask = stop_question::current()) ask();
}

}  // namespace plaquette
