// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The workspace of an execution: memory of fields that are gone serves the next ones. Fresh memory from the system
/// costs more to touch than a pass of the operator over it, and solvers make the same fields again and again.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// Hands out aligned memory and takes it back. The pool never makes a run need more. Free memory is kept only while,
/// together with the memory in use, it stays below the most that ever was in use. Safe with several threads.
class buffer_pool : public std::enable_shared_from_this<buffer_pool> {
 public:
  /// Returns at least `bytes` bytes with undefined contents, for as long as the pointer or a copy of it lives.
  /// Throws memory_error.
  std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  void give_back(aligned_buffer<std::byte>&& buffer);
  void drop_free_above(std::size_t limit);

  std::mutex mutex_;
  std::vector<aligned_buffer<std::byte>> free_;
  std::size_t in_use_ = 0, free_bytes_ = 0, most_in_use_ = 0;
};

}  // namespace plaquette::cpu
