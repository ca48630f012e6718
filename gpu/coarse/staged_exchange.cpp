// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/staged_exchange.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "common/comms/communicator.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

void exchange_staged(const execution& on, const staged_message& m) {
  constexpr std::size_t piece = std::size_t{4} << 20;
  const queue& q = on.queue();
  const auto out = q.take_pinned(piece), in = q.take_pinned(piece);
  for (std::size_t begin = 0; begin < std::max(m.sent, m.received); begin += piece) {
    const auto rest = [=](std::size_t bytes) { return bytes > begin ? std::min(piece, bytes - begin) : 0; };
    const std::size_t sent = rest(m.sent), received = rest(m.received);
    std::vector<outgoing_message> send;
    std::vector<incoming_message> receive;
    if (sent > 0) {
      copy_to_host(q, out.get(), m.mine + begin, sent);
      send.push_back({m.send_to, m.tag, std::span(out.get(), sent)});
    }
    if (received > 0) receive.push_back({m.receive_from, m.tag, std::span(in.get(), received)});
    on.comm().start_exchange(send, receive).wait();
    if (received > 0) copy_to_device(q, m.theirs + begin, in.get(), received);
  }
}

}  // namespace plaquette::gpu
