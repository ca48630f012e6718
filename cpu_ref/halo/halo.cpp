// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/halo/halo.hpp"

#include <span>
#include <utility>

namespace plaquette::cpu {

void halo::prepare(std::vector<halo_traffic> faces, std::size_t bytes) {
  faces_ = std::move(faces);
  bytes_ = bytes;
  out_.clear(), in_.clear();
  std::size_t sent = 0, received = 0;
  for (const halo_traffic& face : faces_) {
    out_.push_back(sent), in_.push_back(received);
    sent += static_cast<std::size_t>(face.sent) * bytes;
    received += static_cast<std::size_t>(face.received) * bytes;
  }
  if (send_.size() < sent) send_ = aligned_buffer<std::byte>(sent);
  if (receive_.size() < received) receive_ = aligned_buffer<std::byte>(received);
  bytes_sent_ = static_cast<std::int64_t>(sent);
}

pending_exchange halo::start(const communicator& comm) {
  std::vector<outgoing_message> send;
  std::vector<incoming_message> receive;
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const halo_traffic& face = faces_[k];
    send.push_back({face.send_to, face.direction,
                    std::span<const std::byte>(outgoing(k), static_cast<std::size_t>(face.sent) * bytes_)});
    receive.push_back({face.receive_from, face.direction,
                       std::span(receive_.data() + in_[k], static_cast<std::size_t>(face.received) * bytes_)});
  }
  return comm.start_exchange(send, receive);
}

}  // namespace plaquette::cpu
