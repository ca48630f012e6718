// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The workspace of a context: memory of fields that are gone serves the next ones. Asking the driver for memory, or
/// giving it back, takes milliseconds a gigabyte and waits for the device; solvers make fields of ever other numbers of
/// columns. All users of a pool use one queue, so that memory is free for the next user as soon as the last one has
/// queued its work.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

/// Hands out memory of a device and takes it back. The driver gives segments; a request is cut from the smallest free
/// piece that has room, and a piece that is given back grows together with free neighbours. Small requests have
/// segments of their own, so that they do not stand between large ones. Segments go back to the driver when a request
/// cannot be met otherwise. Safe with several threads.
class memory_pool : public std::enable_shared_from_this<memory_pool> {
 public:
  /// \param cuts  whether pieces are cut; if not (the host build, so that a sanitizer sees the end of each field), a
  ///              piece serves requests of its size alone
  explicit memory_pool(int device, bool cuts = !kernels_run_on_host()) : device_(device), cuts_(cuts) {}

  /// Returns at least `bytes` bytes, 256-byte aligned, with undefined contents, for as long as the pointer or
  /// a copy of it lives. Throws memory_error with the needed and the free bytes.
  std::shared_ptr<std::byte> take(std::size_t bytes);

  /// Returns the bytes handed out now, and the most that ever were.
  std::size_t in_use() const;
  std::size_t most_in_use() const;
  /// Returns the bytes that the pool has from the driver.
  std::size_t reserved() const;

 private:
  struct piece {
    std::size_t bytes;
    std::byte* segment;  ///< the first byte of the segment that it is part of
    bool is_small;       ///< for small requests
    bool is_free = true;
  };
  struct segment {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
  };
  using piece_place = std::map<std::byte*, piece>::iterator;

  piece_place find_free(std::size_t bytes);
  void set_free(piece_place at, bool is_free);
  piece_place add_segment(std::size_t bytes);
  void cut(piece_place at, std::size_t bytes);
  void give_back(std::byte* begin);
  piece_place grow_together(piece_place left, piece_place right);
  void release_free_segments();

  mutable std::mutex mutex_;
  int device_;
  bool cuts_;
  std::map<std::byte*, segment> segments_;                ///< by first byte
  std::map<std::byte*, piece> pieces_;                    ///< by first byte; neighbours of a segment meet
  std::set<std::pair<std::size_t, std::byte*>> free_[2];  ///< by size; for large and for small requests
  std::size_t in_use_ = 0, most_in_use_ = 0, reserved_ = 0;
};

/// While it lives, all that this thread takes from any pool comes from this one. A recorded stretch of work needs
/// memory that is given to no other work between two runs of it. They nest.
class redirected_memory {
 public:
  explicit redirected_memory(memory_pool& to);
  ~redirected_memory();
  redirected_memory(const redirected_memory&) = delete;
  redirected_memory& operator=(const redirected_memory&) = delete;

 private:
  memory_pool* before_;
};

}  // namespace plaquette::gpu
