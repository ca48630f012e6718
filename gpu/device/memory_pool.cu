// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/memory_pool.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

std::shared_ptr<std::byte> memory_pool::take(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  bytes = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  buffer memory = find_or_allocate(bytes);
  std::byte* const begin = memory.get();
  if (kernels_run_on_host()) std::memset(begin, 0xff, bytes);  // for tests: a number that nobody wrote is NaN
  return {begin, [pool = shared_from_this(), held = std::move(memory), bytes](std::byte*) mutable {
            pool->give_back(std::move(held), bytes);
          }};
}

memory_pool::buffer memory_pool::find_or_allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  buffer memory;
  if (const auto same_size = free_.find(bytes); same_size != free_.end() && !same_size->second.empty()) {
    memory = std::move(same_size->second.back());
    same_size->second.pop_back();
  } else {
    try {
      memory = allocate_on_device(device_, bytes);
    } catch (const memory_error&) {
      if (free_.empty()) throw;
      free_.clear();
      memory = allocate_on_device(device_, bytes);
    }
  }
  in_use_ += bytes;
  most_in_use_ = std::max(most_in_use_, in_use_);
  return memory;
}

void memory_pool::give_back(buffer memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  in_use_ -= bytes;
  free_[bytes].push_back(std::move(memory));
}

std::size_t memory_pool::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}
std::size_t memory_pool::most_in_use() const {
  const std::lock_guard lock(mutex_);
  return most_in_use_;
}

}  // namespace plaquette::gpu
