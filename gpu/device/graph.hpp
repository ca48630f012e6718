// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Work that is queued again and again, recorded once. On a small lattice a kernel ends before the host has launched
/// the next one, while a node of a CUDA graph costs about half a microsecond.
#pragma once

#include <functional>
#include <memory>

#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// A recorded stretch of work, bound to the queue it was recorded from.
class work_graph {
 public:
  /// Records `times` calls of `work`, which queues kernels and copies on `q` and on no other queue; nothing runs yet.
  /// The pointers of its launches are recorded too: their memory must outlive this object. While it is recorded, work
  /// cannot wait for the device, take memory, or tune: let it run once before. Its exceptions pass through. In the host
  /// build the calls themselves are kept.
  work_graph(const queue& q, int times, std::function<void()> work);

  /// Queues the whole stretch.
  void launch() const;
  /// Returns how often `work` was recorded.
  int times() const { return times_; }

 private:
  struct state;
  std::shared_ptr<const state> state_;
  int times_;
};

}  // namespace plaquette::gpu
