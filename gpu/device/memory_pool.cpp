// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/memory_pool.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.hpp"
#include "gpu/device/host_pool.hpp"
#include "gpu/device/preparation_count.hpp"

namespace plaquette::gpu {

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t largest_small_request = std::size_t{1} << 20, small_segment = std::size_t{8} << 20;

constexpr int on_host = -1;  ///< in place of a device

std::shared_ptr<std::byte> allocate(int device, std::size_t bytes) {
  return device == on_host ? allocate_pinned(bytes) : allocate_on_device(device, bytes);
}

bool is_small(std::size_t bytes) { return bytes <= largest_small_request; }

thread_local memory_pool* redirected_to = nullptr;

}  // namespace

std::shared_ptr<memory_pool> make_host_pool() { return std::make_shared<memory_pool>(on_host); }

redirected_memory::redirected_memory(memory_pool& to) : before_(std::exchange(redirected_to, &to)) {}
redirected_memory::~redirected_memory() { redirected_to = before_; }

std::shared_ptr<std::byte> memory_pool::take(std::size_t bytes) {
  if (redirected_to != nullptr && redirected_to != this) return redirected_to->take(bytes);
  bytes = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  std::byte* begin = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto place = find_free(bytes);
    if (place == pieces_.end()) place = add_segment(bytes);
    set_free(place, false);
    if (cuts_) cut(place, bytes);
    begin = place->first;
    in_use_ += place->second.bytes;
    most_in_use_ = std::max(most_in_use_, in_use_);
  }
  if (kernels_run_on_host()) std::memset(begin, 0xff, bytes);  // for tests: an unwritten number is NaN
  return {begin, [pool = shared_from_this()](std::byte* p) { pool->give_back(p); }};
}

/// The smallest free piece with room.
memory_pool::piece_place memory_pool::find_free(std::size_t bytes) {
  const auto& pieces = free_[is_small(bytes)];
  const auto smallest = pieces.lower_bound({bytes, nullptr});
  if (smallest == pieces.end() || (!cuts_ && smallest->first != bytes)) return pieces_.end();
  return pieces_.find(smallest->second);
}

void memory_pool::set_free(piece_place at, bool is_free) {
  piece& p = at->second;
  p.is_free = is_free;
  if (is_free)
    free_[p.is_small].emplace(p.bytes, at->first);
  else
    free_[p.is_small].erase({p.bytes, at->first});
}

memory_pool::piece_place memory_pool::add_segment(std::size_t bytes) {
  const std::size_t size = cuts_ && is_small(bytes) ? small_segment : bytes;
  std::shared_ptr<std::byte> memory;
  try {
    memory = allocate(device_, size);
  } catch (const memory_error&) {
    release_free_segments();
    memory = allocate(device_, size);
  }
  note_segment();
  std::byte* const begin = memory.get();
  segments_.emplace(begin, segment{std::move(memory), size});
  reserved_ += size;
  const auto place = pieces_.emplace(begin, piece{size, begin, is_small(bytes)}).first;
  set_free(place, true);
  return place;
}

/// The first `bytes` bytes become a piece of their own; the rest is free.
void memory_pool::cut(piece_place at, std::size_t bytes) {
  piece& first = at->second;
  if (first.bytes == bytes) return;
  const piece rest{first.bytes - bytes, first.segment, first.is_small};
  first.bytes = bytes;
  set_free(pieces_.emplace(at->first + bytes, rest).first, true);
}

void memory_pool::give_back(std::byte* begin) {
  const std::lock_guard lock(mutex_);
  auto at = pieces_.find(begin);
  in_use_ -= at->second.bytes;
  set_free(at, true);
  if (at != pieces_.begin()) at = grow_together(std::prev(at), at);
  if (std::next(at) != pieces_.end()) grow_together(at, std::next(at));
}

/// One piece of two neighbours where both are free; returns the piece that `right` is in.
memory_pool::piece_place memory_pool::grow_together(piece_place left, piece_place right) {
  if (!left->second.is_free || !right->second.is_free || left->second.segment != right->second.segment) return right;
  set_free(left, false);
  set_free(right, false);
  left->second.bytes += right->second.bytes;
  pieces_.erase(right);
  set_free(left, true);
  return left;
}

void memory_pool::release_free_segments() {
  for (auto at = segments_.begin(); at != segments_.end();) {
    const auto first = pieces_.find(at->first);
    if (first->second.is_free && first->second.bytes == at->second.bytes) {
      set_free(first, false);
      pieces_.erase(first);
      reserved_ -= at->second.bytes;
      at = segments_.erase(at);
    } else {
      ++at;
    }
  }
}

std::size_t memory_pool::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}
std::size_t memory_pool::most_in_use() const {
  const std::lock_guard lock(mutex_);
  return most_in_use_;
}
std::size_t memory_pool::reserved() const {
  const std::lock_guard lock(mutex_);
  return reserved_;
}

}  // namespace plaquette::gpu
