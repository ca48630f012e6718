// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Points in long loops of the libraries where a run that is to stop leaves them.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace plaquette {

/// Says where a stop point stands.
enum class stop_kind {
  at_once,  ///< where no other code asks: it throws when the run is to stop
  late      ///< in loops whose owner asks, between longer steps: it throws half a second after the run was to stop
};

/// Sets what stop points of this thread do, as long as it lives: a program's question whether to stop, which throws.
/// Null: nothing.
class stop_question {
 public:
  using function = std::function<void(stop_kind)>;
  explicit stop_question(function ask) : before_(std::exchange(current(), std::move(ask))) {}
  ~stop_question() { current() = std::move(before_); }
  stop_question(const stop_question&) = delete;
  stop_question& operator=(const stop_question&) = delete;

  static function& current() {
    static thread_local function question;
    return question;
  }

 private:
  function before_;
};

/// Sites of a rank between two stop points: a loop over them takes a millisecond or more. On smaller lattices loops
/// have none.
inline constexpr std::int64_t sites_between_stops = std::int64_t{1} << 15;

/// Throws where the program is to stop; does nothing where it has no question. For loops that all ranks run in step, by
/// the thread that calls MPI, between steps of a millisecond or more. Collective.
inline void stop_point(stop_kind kind = stop_kind::at_once) {
  if (const auto& ask = stop_question::current()) ask(kind);
}

}  // namespace plaquette
