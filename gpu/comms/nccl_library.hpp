// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// NCCL, loaded when it is first needed: the library runs, and is built, without it, too. Multicast (NVLS) is switched
/// off in every rank before the library is loaded, whatever the environment says.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "common/comms/communicator.hpp"

namespace plaquette::gpu {

/// The ranks of a communicator, as NCCL has them. Messages between two ranks match in the order of their calls.
class nccl_ranks {
 public:
  /// Collective. Null, on every rank, if a rank has no usable NCCL; `reason` says why in a line.
  static std::unique_ptr<nccl_ranks> start(const communicator& comm, int device, std::string& reason);
  ~nccl_ranks();
  nccl_ranks(const nccl_ranks&) = delete;
  nccl_ranks& operator=(const nccl_ranks&) = delete;

  /// Begins a group: all its messages start together.
  void begin_group() const;
  void end_group() const;
  /// \param stream  a cudaStream_t
  void send(int peer, const std::byte* data, std::size_t bytes, void* stream) const;
  void receive(int peer, std::byte* data, std::size_t bytes, void* stream) const;
  /// Returns "2.27.7"
  std::string version() const;

 private:
  struct state;
  explicit nccl_ranks(std::unique_ptr<state> loaded);
  std::unique_ptr<state> state_;
};

}  // namespace plaquette::gpu
