// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/memory/buffer_pool.hpp"

#include <algorithm>
#include <utility>

namespace plaquette::cpu {

std::shared_ptr<std::byte> buffer_pool::take(std::size_t bytes) {
  aligned_buffer<std::byte> buffer;
  {
    const std::lock_guard lock(mutex_);
    const auto same_size = std::ranges::find(free_, bytes, &aligned_buffer<std::byte>::size);
    if (same_size != free_.end()) {
      buffer = std::move(*same_size);
      free_.erase(same_size);
      free_bytes_ -= bytes;
    } else {
      most_in_use_ = std::max(most_in_use_, in_use_ + bytes);
      drop_free_above(most_in_use_ - in_use_ - bytes);
    }
    in_use_ += bytes;
  }
  try {
    if (buffer.data() == nullptr) buffer = aligned_buffer<std::byte>(bytes);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    in_use_ -= bytes;
    throw;
  }
  auto held = std::make_shared<aligned_buffer<std::byte>>(std::move(buffer));
  std::byte* const data = held->data();
  return {data, [pool = shared_from_this(), held](std::byte*) { pool->give_back(std::move(*held)); }};
}

void buffer_pool::give_back(aligned_buffer<std::byte>&& buffer) {
  const std::lock_guard lock(mutex_);
  in_use_ -= buffer.size();
  free_bytes_ += buffer.size();
  free_.push_back(std::move(buffer));
}

void buffer_pool::drop_free_above(std::size_t limit) {
  while (free_bytes_ > limit) {
    free_bytes_ -= free_.front().size();
    free_.erase(free_.begin());  // the one that waits longest
  }
}

}  // namespace plaquette::cpu
