// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between devices that the host drives: work on the device goes on while they travel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/comms/communicator.hpp"
#include "gpu/comms/rank_options.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// Bytes of the device for a peer, or room for a peer's. A peer may be the rank itself. Between two ranks a tag names
/// one message of an exchange; both sides give the same size, which may be 0.
struct device_message {
  int peer;
  int tag;  ///< 0 .. 32767
  std::byte* data;
  std::size_t bytes;
};

class device_messages {
 public:
  /// Collective, and so is the end of the object's life.
  /// Throws input_error on every rank, with the reason, if `how` cannot be had.
  /// \param how    staged, mpi or nccl; automatic takes the first of nccl, mpi, staged that is there
  /// \param watch  may be null
  /// \param name_of_tag  for the watchdog's line: "the message of direction +t"
  device_messages(const communicator& comm, int device, halo_policy how, wait_mode wait,
                  std::shared_ptr<watchdog> watch = nullptr, std::function<std::string(int)> name_of_tag = {});
  device_messages(device_messages&&) noexcept;
  device_messages& operator=(device_messages&&) noexcept;
  ~device_messages();

  /// Starts an exchange of the messages that the work queued on q so far leaves in `send`. Returns without waiting for
  /// the device; work that is queued on q before `finish` runs together with the messages, and must not touch `send`
  /// and `receive`.
  void start(const queue& q, std::span<const device_message> send, std::span<const device_message> receive);
  /// Moves on messages without waiting; for callers that queue long work between start and finish.
  void progress();
  /// Work that is queued on q afterwards sees the messages that have arrived, and may write to `send` again.
  void finish(const queue& q);

  /// Returns the policy that was taken: staged, mpi or nccl.
  halo_policy policy() const;
  /// Whether start and finish may be recorded in a work_graph, once they have run outside of one: the host does nothing
  /// in between.
  bool capturable() const { return policy() == halo_policy::nccl; }

  struct transport;  ///< one way to exchange

 private:
  std::unique_ptr<transport> transport_;
};

}  // namespace plaquette::gpu
