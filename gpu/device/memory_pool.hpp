// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The workspace of a context: memory of fields that are gone serves the next ones of about their size. All users of a
/// pool use one queue, so that memory is free for the next user as soon as the last one has queued what it wanted with
/// it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace plaquette::gpu {

/// Hands out memory of a device and takes it back. Memory that was given back is kept until a request cannot be met
/// otherwise, since returning it to the driver waits for the device. Safe with several threads.
class memory_pool : public std::enable_shared_from_this<memory_pool> {
 public:
  explicit memory_pool(int device) : device_(device) {}

  /// At least `bytes` bytes, 256-byte aligned, with undefined contents, for as long as the pointer or a copy of it
  /// lives. Throws memory_error with what was needed and what there was.
  std::shared_ptr<std::byte> take(std::size_t bytes);

  /// Bytes handed out now, and the most that ever were.
  std::size_t in_use() const;
  std::size_t most_in_use() const;

 private:
  struct buffer {
    std::shared_ptr<std::byte> data;
    std::size_t bytes = 0;
  };
  buffer find_or_allocate(std::size_t bytes);
  void give_back(buffer memory);

  mutable std::mutex mutex_;
  int device_;
  std::multimap<std::size_t, std::shared_ptr<std::byte>> free_;  ///< by size
  std::size_t in_use_ = 0, most_in_use_ = 0;
};

}  // namespace plaquette::gpu
