// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// When a run has to end before it is done: a signal, or the time limit that the user gave.
#pragma once

#include <string>

#include "common/app/verification.hpp"
#include "common/comms/communicator.hpp"

namespace plaquette {

/// Lets SIGINT, SIGTERM and SIGUSR1 raise a flag from here on instead of ending the process; a second one ends it at
/// once. (mpirun hands SIGUSR1 on to all ranks and leaves them their time; for the others it allows them about a
/// second.) A file that outgrows the process's limit makes its write fail instead of ending the process.
void catch_stop_signals();
/// Returns the signal that came, 0 if none. Of this rank alone.
int stop_signal();

/// Says whether to stop, the same on every rank.
class run_control {
 public:
  /// \param time_limit  seconds from now; infinity for none
  run_control(communicator world, double time_limit);

  /// True once any rank got a signal or the time is over; true ever after. Collective: for loops that all ranks run in
  /// step, at points where they wait for each other anyway.
  bool should_stop();
  /// True where should_stop() has been.
  bool stopped() const { return stopped_; }
  /// Returns "signal 15 (Terminated)" or "the time limit of 10 s".
  const std::string& reason() const { return reason_; }
  /// True where should_stop() has been for more than half a second, in which a run says what it has. Collective.
  bool is_overdue() const;
  /// Adds a check that fails and says why, where should_stop() has been true.
  void note_stop(verification& checks) const;
  /// Throws an error of exit status 6 that says so, where should_stop() is true. Collective.
  void stop_if_requested(const std::string& during);
  /// The same by what this rank alone knows, for work in which ranks do not meet: the error ends all ranks.
  void stop_alone_if_requested(const std::string& during) const;

 private:
  communicator world_;
  double time_limit_, start_, stopped_at_ = 0.0;
  bool stopped_ = false;
  std::string reason_;
};

/// Asks a run_control at some of its calls only, for loops of short steps. Ranks must agree, which takes time: several
/// of them do so about every tenth of a second, and at least at every 64th call. A single rank asks at each. All ranks
/// call it in step.
class sparse_stop {
 public:
  sparse_stop(run_control& control, const communicator& world);
  /// Returns whether to stop, the same on every rank.
  bool operator()();

 private:
  run_control& control_;
  communicator world_;
  int stride_ = 1, calls_ = 0;
  double last_;
};

}  // namespace plaquette
