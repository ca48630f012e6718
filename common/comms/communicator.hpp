// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that talk to each other: MPI where the suite was built with it, one rank where it was not; the same type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plaquette {

/// Bytes for a peer. Between two ranks a tag names one message of an exchange.
struct outgoing_message {
  int peer;
  int tag;  ///< 0 .. 32767
  std::span<const std::byte> data;
};

/// Room for the bytes of a peer's outgoing message of the same tag and size.
struct incoming_message {
  int peer;
  int tag;
  std::span<std::byte> data;
};

/// An exchange under way. Its buffers must live unchanged until `wait` has returned.
class pending_exchange {
 public:
  pending_exchange();
  pending_exchange(pending_exchange&&) noexcept;
  pending_exchange& operator=(pending_exchange&&) noexcept;
  /// Waits, unless the caller has; while an exception is under way, for two seconds: others may have met it too, and
  /// not have sent what is waited for.
  ~pending_exchange();
  /// Returns at once; true when `wait` would return at once. Some MPI libraries move large messages only while they are
  /// called: call it now and then.
  bool poll();
  /// Returns when all messages have arrived and all buffers may be used again.
  void wait();

 private:
  friend class communicator;
  struct state;
  void give_up() noexcept;
  std::unique_ptr<state> state_;
};

/// A group of ranks. Copies are cheap and mean the same group. All members but `start_exchange` are collective.
class communicator {
 public:
  /// One rank: this process alone.
  communicator();
  /// Returns all ranks that mpirun started (this process alone without MPI). Needs a living `mpi_session`. For a group
  /// of ranks of a program that calls MPI itself: communicator_of (mpi_communicator.hpp).
  static communicator world();
  /// Returns a group of that many ranks of which only the first exists: for what a run would take. It has a size and
  /// exchanges nothing: sums and maxima are those of the first rank, which is also what is gathered of each.
  static communicator planned(int ranks);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Returns whether it is one of planned().
  bool is_planned() const { return size_ > 1 && !implementation_; }

  /// Starts to send and receive. A message to oneself is copied. Who talks to whom is the caller's list; the halo
  /// exchange of a 4-D grid is one maker of such lists.
  pending_exchange start_exchange(std::span<const outgoing_message> send,
                                  std::span<const incoming_message> receive) const;

  /// Sums element by element over all ranks; every rank gets the result.
  void sum(std::span<double> values) const;
  void sum(std::span<std::uint64_t> values) const;
  void maximum(std::span<double> values) const;
  /// Computes the bitwise exclusive or, for checksums.
  void exclusive_or(std::span<std::uint32_t> values) const;
  void broadcast(std::span<std::byte> data, int root) const;
  /// Gives every rank what all ranks give, in their order: all[rank][mine.size()], the same size on each, below 2 GiB.
  void gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  /// Returns the same, started: for those who watch, or do something else meanwhile.
  pending_exchange start_gather(std::span<const std::byte> mine, std::span<std::byte> all) const;
  void barrier() const;
  /// Splits into groups of equal `colour`, ordered by rank.
  communicator split(int colour) const;

 private:
  friend struct mpi_access;
  bool is_alone() const { return size_ == 1 || !implementation_; }
  struct implementation;
  std::shared_ptr<const implementation> implementation_;
  int rank_ = 0;
  int size_ = 1;
};

/// Returns whether an environment ("NAME=value" each, ended by null) is that of a launcher of several ranks: mpirun or
/// mpiexec, srun, jsrun, flux. PLAQUETTE_MPI=always or never in it decides instead.
bool is_launched_by_mpi(const char* const* environment);

/// Starts MPI and ends it; one in `main`. Without MPI it does nothing, nor where no launcher is seen
/// (is_launched_by_mpi): the process is then alone, and MPI would take seconds to find that out.
class mpi_session {
 public:
  mpi_session(int* argc, char*** argv);
  ~mpi_session();
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;

 private:
  bool started_ = false;
};

/// Ends all ranks at once with this exit status; for errors that one rank meets alone.
[[noreturn]] void end_all_ranks(int status);

/// Whether the MPI library says that it takes pointers to memory of a CUDA device.
bool mpi_takes_device_pointers();

/// Returns the MPI library's own name and version, or "none".
std::string mpi_library();

}  // namespace plaquette
