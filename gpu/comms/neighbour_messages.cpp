// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/neighbour_messages.hpp"

#include <span>
#include <string>

namespace plaquette::gpu {

bool neighbour_messages::make_room(const queue& q, room& r, std::size_t half) {
  if (half <= r.half) return true;
  q.synchronize();
  r.memory.reset();
  r.memory.emplace(comm_, device_, 2 * half);
  r.half = half;
  r.next = 0;
  reachable_ = r.memory->reaches_all();
  if (!reachable_) r = {};
  return reachable_;
}

const std::byte* neighbour_messages::exchange(const queue& q, const neighbour_ranks& ranks, const std::byte* sent,
                                              std::size_t side, watchdog* watch) {
  room& r = rooms_.at(static_cast<std::size_t>(ranks.direction));
  if (!reachable_ || !make_room(q, r, 2 * side)) return nullptr;
  const std::size_t begin = r.next * r.half;
  r.next = 1 - r.next;
  copy_on_device(q, r.memory->of(ranks.above) + begin, sent, side);  // comes from below there
  copy_on_device(q, r.memory->of(ranks.below) + begin + side, sent + side, side);
  const host_wait waiting(watch, [direction = ranks.direction] {
    return std::string("the neighbours along ") + "xyzt"[direction] + ": faces of a field of matrices";
  });
  q.synchronize();
  std::byte words[4] = {};  // they say that the bytes are there; up and down differ by their tags
  const int up = 2 * ranks.direction, down = up + 1;
  const outgoing_message send[] = {{ranks.above, up, {words, 1}}, {ranks.below, down, {words + 1, 1}}};
  const incoming_message receive[] = {{ranks.below, up, {words + 2, 1}}, {ranks.above, down, {words + 3, 1}}};
  comm_.start_exchange(send, receive).wait();
  return r.memory->mine() + begin;
}

}  // namespace plaquette::gpu
