// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank that waits without success says for whom and for what, and ends the run. A rank that died without a word, or
/// went another way than the others, shows like this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/comms/communicator.hpp"

namespace plaquette::gpu {

/// Checks about ten times a second the waits of this rank, on a thread of its own. When one wait has lasted for longer
/// than the timeout it prints one line on stderr and ends all ranks with exit status 70.
class watchdog {
 public:
  /// \param stall_timeout  seconds; 0: no watch
  watchdog(const communicator& comm, double stall_timeout);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  /// Returns words of page-locked memory that kernels can write, zero at first. Zero says that its kernel does not
  /// wait, another value names the thing that it waits for (see wait_until in device_flags.hpp). Make the rank's device
  /// current before. They are looked at for as long as the pointer or a copy of it lives. Null if there is no watch.
  /// \param describe  the words for a value, after "has waited 30 s for "; called by the watchdog's thread
  std::shared_ptr<std::uint64_t> device_words(std::size_t count, std::function<std::string(std::uint64_t)> describe);

 private:
  friend class host_wait;
  struct state;
  std::unique_ptr<state> state_;
};

/// While it lives, the thread that made it waits for something.
class host_wait {
 public:
  /// \param watch null: no watch
  /// \param what   the words for the awaited thing, after "has waited 30 s for "; called by the watchdog's thread while
  ///               this lives
  host_wait(watchdog* watch, std::function<std::string()> what);
  ~host_wait();
  host_wait(const host_wait&) = delete;
  host_wait& operator=(const host_wait&) = delete;

 private:
  watchdog* watch_;
  std::uint64_t number_ = 0;
};

}  // namespace plaquette::gpu
