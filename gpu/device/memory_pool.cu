// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/memory_pool.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

namespace {

/// A buffer serves who needs at least four fifths of it.
constexpr std::size_t largest_that_serves(std::size_t bytes) { return bytes + bytes / 4; }

}  // namespace

std::shared_ptr<std::byte> memory_pool::take(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  buffer memory = find_or_allocate(std::max((bytes + alignment - 1) / alignment * alignment, alignment));
  std::byte* const begin = memory.data.get();
  if (kernels_run_on_host()) std::memset(begin, 0xff, memory.bytes);  // for tests: a number that nobody wrote is NaN
  return {begin, [pool = shared_from_this(), held = std::move(memory)](std::byte*) mutable {
            pool->give_back(std::move(held));
          }};
}

memory_pool::buffer memory_pool::find_or_allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  buffer memory;
  const auto smallest = free_.lower_bound(bytes);
  if (smallest != free_.end() && smallest->first <= largest_that_serves(bytes)) {
    memory = {std::move(smallest->second), smallest->first};
    free_.erase(smallest);
  } else {
    try {
      memory = {allocate_on_device(device_, bytes), bytes};
    } catch (const memory_error&) {
      if (free_.empty()) throw;
      free_.clear();
      memory = {allocate_on_device(device_, bytes), bytes};
    }
  }
  in_use_ += memory.bytes;
  most_in_use_ = std::max(most_in_use_, in_use_);
  return memory;
}

void memory_pool::give_back(buffer memory) {
  const std::lock_guard lock(mutex_);
  in_use_ -= memory.bytes;
  free_.emplace(memory.bytes, std::move(memory.data));
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
