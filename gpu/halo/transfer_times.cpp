// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/halo/transfer_times.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/stopwatch.hpp"
#include "gpu/comms/device_messages.hpp"
#include "gpu/device/latency.hpp"

namespace plaquette::gpu {

namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

/// One exchange between ranks 0 and 1, the device's memory to the device's; the others have no message.
class exchange {
 public:
  exchange(const execution& on, device_messages& messages, std::size_t bytes)
      : queue_(on.queue()),
        messages_(messages),
        bytes_(bytes),
        out_(allocate_on_device(queue_.device(), bytes)),
        in_(allocate_on_device(queue_.device(), bytes)) {
    const int me = on.comm().rank();
    if (me > 1) return;
    send_.push_back({1 - me, 0, out_.get(), bytes});
    receive_.push_back({1 - me, 0, in_.get(), bytes});
    fill_bytes(queue_, out_.get(), mark_of(me), bytes);
    fill_bytes(queue_, in_.get(), 0, bytes);
    expected_ = mark_of(1 - me);
    queue_.synchronize();
  }

  void run() {
    messages_.start(queue_, send_, receive_);
    messages_.finish(queue_);
    queue_.synchronize();
  }
  bool has_arrived() const {
    if (receive_.empty()) return true;
    std::vector<unsigned char> found(bytes_);
    copy_to_host(queue_, found.data(), in_.get(), bytes_);
    return std::ranges::all_of(found, [this](unsigned char byte) { return byte == expected_; });
  }

 private:
  static int mark_of(int rank) { return 0x5a + rank; }

  queue queue_;
  device_messages& messages_;
  std::size_t bytes_;
  std::shared_ptr<std::byte> out_, in_;
  std::vector<device_message> send_, receive_;
  int expected_ = 0;
};

timed_transfer time_exchange(const std::string& kind, const execution& on, device_messages& messages, std::size_t bytes,
                             double spent) {
  constexpr int fewest = 3, most = 1000;
  const communicator& comm = on.comm();
  exchange both(on, messages, bytes);
  const auto seconds_of_one = [&] {
    const stopwatch watch;
    both.run();
    return watch.seconds();
  };
  both.run();
  std::array<double, 1> rough{seconds_of_one()};
  comm.maximum(std::span(rough));
  const int count = static_cast<int>(std::clamp(spent / std::max(rough[0], 1e-9), double{fewest}, double{most}));
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(seconds_of_one());
  std::array<double, 1> wrong{both.has_arrived() ? 0.0 : 1.0};
  comm.maximum(std::span(wrong));
  return {kind, bytes, median(std::move(seconds)), count, wrong[0] == 0.0};
}

timed_transfer named(const std::string& kind, std::size_t bytes, const transfer_time& t) {
  return {kind, bytes, t.seconds, t.times, t.right};
}

}  // namespace

std::vector<timed_transfer> time_transfers(const execution& on, std::span<const std::size_t> sizes,
                                           double seconds_each) {
  const queue& q = on.queue();
  std::vector<timed_transfer> transfers;
  for (const bool to_device : {true, false})
    for (const bool pinned : {true, false})
      for (const bool waiting : {true, false})
        for (const std::size_t bytes : sizes)
          transfers.push_back(named(std::string(to_device ? "host_to_device" : "device_to_host") +
                                        (pinned ? " pinned" : " pageable") + (waiting ? " sync" : " async"),
                                    bytes, time_host_copy(q, {to_device, pinned, waiting}, bytes, seconds_each)));
  for (int other = 0; other < device_count(); ++other) {
    if (!reaches_directly(q.device(), other)) continue;
    for (const auto way : {peer_way::copy, peer_way::store})
      for (const std::size_t bytes : sizes)
        transfers.push_back(named((way == peer_way::copy ? "peer_copy " : "peer_store ") + std::to_string(q.device()) +
                                      " to " + std::to_string(other),
                                  bytes, time_peer_transfer(q.device(), other, way, bytes, seconds_each)));
  }
  return transfers;
}

std::vector<timed_transfer> time_exchanges(const execution& on, std::span<const std::size_t> sizes,
                                           double seconds_each) {
  std::vector<timed_transfer> transfers;
  for (const auto& [policy, name] : {std::pair{halo_policy::staged, "exchange staged"},
                                     {halo_policy::mpi, "exchange mpi"},
                                     {halo_policy::nccl, "exchange nccl"}}) {
    try {
      device_messages messages(on.comm(), on.queue().device(), policy, on.ranks().wait);
      for (const std::size_t bytes : sizes) transfers.push_back(time_exchange(name, on, messages, bytes, seconds_each));
    } catch (const input_error&) {  // on every rank: this way is not there
    }
  }
  return transfers;
}

}  // namespace plaquette::gpu
