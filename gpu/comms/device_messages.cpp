// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/device_messages.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "gpu/comms/host_backoff.hpp"
#include "gpu/comms/nccl_library.hpp"
#include "gpu/comms/side_stream.hpp"

namespace plaquette::gpu {

struct device_messages::transport {
  virtual ~transport() = default;
  virtual void start(const queue& q, std::span<const device_message> send, std::span<const device_message> receive) = 0;
  virtual void progress() = 0;
  virtual void finish(const queue& q) = 0;
  virtual halo_policy policy() const = 0;
};

namespace {

/// Between two ranks in the order of tags, which is the same on both sides.
std::vector<device_message> in_order(std::span<const device_message> messages) {
  std::vector<device_message> sorted(messages.begin(), messages.end());
  std::ranges::stable_sort(sorted, {}, [](const device_message& m) { return std::tie(m.peer, m.tag); });
  return sorted;
}

/// Queues the copies of the messages that a rank sends to itself, and returns the others.
struct split_messages {
  std::vector<device_message> send, receive;
};
split_messages copy_own(int self, const side_stream& stream, std::span<const device_message> send,
                        std::span<const device_message> receive) {
  split_messages others;
  for (const device_message& in : receive) {
    if (in.peer != self) {
      others.receive.push_back(in);
      continue;
    }
    const auto out =
        std::ranges::find_if(send, [&](const device_message& m) { return m.peer == self && m.tag == in.tag; });
    if (out == send.end() || out->bytes != in.bytes)
      throw std::logic_error("device_messages: a message to oneself has no counterpart of its tag and size");
    stream.copy(in.data, out->data, in.bytes);
  }
  std::ranges::copy_if(send, std::back_inserter(others.send), [&](const device_message& m) { return m.peer != self; });
  return others;
}

/// The names of the messages that a rank waits for, for the watchdog.
class message_names {
 public:
  explicit message_names(std::function<std::string(int)> name_of_tag) : name_of_tag_(std::move(name_of_tag)) {}
  std::string own_gpu() const { return "its own GPU, whose work comes before a message"; }
  std::string from(const device_message& m) const { return "rank " + std::to_string(m.peer) + ": " + name(m.tag); }
  std::string to(const device_message& m) const { return "rank " + std::to_string(m.peer) + " to take " + name(m.tag); }

 private:
  std::string name(int tag) const {
    return name_of_tag_ ? name_of_tag_(tag) : "the message with tag " + std::to_string(tag);
  }
  std::function<std::string(int)> name_of_tag_;
};

std::span<std::byte> bytes_of(std::byte* data, const device_message& m) { return {data, m.bytes}; }

// --- Through buffers of the host -------------------------------------------------------------------------------------

/// A page-locked buffer for messages one behind the other; grows.
class pinned_buffer {
 public:
  /// Where each message has its place. The buffer must not be used meanwhile.
  std::vector<std::byte*> places(std::span<const device_message> messages) {
    constexpr std::size_t alignment = 256;
    std::vector<std::size_t> offsets;
    std::size_t bytes = 0;
    for (const device_message& m : messages) {
      offsets.push_back(bytes);
      bytes += (m.bytes + alignment - 1) / alignment * alignment;
    }
    if (bytes > bytes_) {
      memory_ = allocate_pinned(bytes);
      bytes_ = bytes;
    }
    std::vector<std::byte*> found;
    for (const std::size_t offset : offsets) found.push_back(memory_.get() + offset);
    return found;
  }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_ = 0;
};

/// A message under way: of the device, and in a buffer of the host.
struct staged_message {
  device_message what;
  std::byte* buffer;
  bool has_left = false;  ///< for MPI, of sent ones
  bool is_done = false;   ///< sent, or on its way to the device
  pending_exchange exchange = {};
};

class staged_transport final : public device_messages::transport {
 public:
  staged_transport(const communicator& comm, int device, wait_mode wait, std::shared_ptr<watchdog> watch,
                   message_names names)
      : comm_(comm),
        device_(device),
        wait_(wait),
        watch_(std::move(watch)),
        names_(std::move(names)),
        from_device_(device),
        to_device_(device),
        begun_(device, wait),
        arrived_{stream_mark(device, wait), stream_mark(device, wait)} {}

  void start(const queue& q, std::span<const device_message> send, std::span<const device_message> receive) override {
    begun_.mark_on(q.native());
    begun_.hold_back(from_device_.native());
    begun_.hold_back(to_device_.native());
    const auto others = copy_own(comm_.rank(), to_device_, send, receive);
    // Two buffers receive alternately. The message that arrived in this one has long left it for the device, since data
    // that was queued behind it has come to the host.
    slot_ = 1 - slot_;
    arrived_[slot_].wait();
    expect(others.receive);
    fetch(others.send);
  }

  void progress() override { (void)move_on(); }

  void finish(const queue& q) override {
    host_backoff backoff(wait_);
    while (const auto missing = what_is_missing()) {
      const host_wait waiting(watch_.get(), [&] { return text_of(*missing); });
      while (!move_on()) backoff.pause();
      backoff.renew();
    }
    // The messages to send have left the device, or a message would be missing.
    arrived_[slot_].mark_on(to_device_.native());
    arrived_[slot_].hold_back(q.native());
    sends_.clear();
    receives_.clear();
  }

  halo_policy policy() const override { return halo_policy::staged; }

 private:
  void expect(const std::vector<device_message>& messages) {
    const auto places = receive_buffers_[slot_].places(messages);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      staged_message m{messages[i], places[i]};
      const incoming_message in{m.what.peer, m.what.tag, bytes_of(m.buffer, m.what)};
      m.exchange = comm_.start_exchange({}, {&in, 1});
      receives_.push_back(std::move(m));
    }
  }
  void fetch(const std::vector<device_message>& messages) {
    const auto places = send_buffer_.places(messages);
    while (fetched_.size() < messages.size()) fetched_.emplace_back(device_, wait_);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      from_device_.copy(places[i], messages[i].data, messages[i].bytes);
      fetched_[i].mark_on(from_device_.native());
      sends_.push_back({messages[i], places[i]});
    }
  }

  /// Whether anything happened. Asks, and waits for nothing.
  bool move_on() {
    bool moved = false;
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      staged_message& m = sends_[i];
      if (!m.has_left && fetched_[i].is_passed()) {
        const outgoing_message out{m.what.peer, m.what.tag, bytes_of(m.buffer, m.what)};
        m.exchange = comm_.start_exchange({&out, 1}, {});
        m.has_left = moved = true;
      }
      if (m.has_left && !m.is_done && m.exchange.poll()) m.is_done = moved = true;
    }
    for (staged_message& m : receives_) {
      if (m.is_done || !m.exchange.poll()) continue;
      to_device_.copy(m.what.data, m.buffer, m.what.bytes);
      m.is_done = moved = true;
    }
    return moved;
  }

  /// The step that keeps `finish` from its end.
  struct missing_step {
    enum { departure, arrival, acceptance } step;
    device_message what;
  };
  std::optional<missing_step> what_is_missing() const {
    for (const staged_message& m : sends_)
      if (!m.has_left) return missing_step{missing_step::departure, m.what};
    for (const staged_message& m : receives_)
      if (!m.is_done) return missing_step{missing_step::arrival, m.what};
    for (const staged_message& m : sends_)
      if (!m.is_done) return missing_step{missing_step::acceptance, m.what};
    return {};
  }
  std::string text_of(const missing_step& missing) const {
    if (missing.step == missing_step::departure) return names_.own_gpu();
    return missing.step == missing_step::arrival ? names_.from(missing.what) : names_.to(missing.what);
  }

  communicator comm_;
  int device_;
  wait_mode wait_;
  std::shared_ptr<watchdog> watch_;
  message_names names_;
  side_stream from_device_, to_device_;
  stream_mark begun_;
  std::array<stream_mark, 2> arrived_;
  std::vector<stream_mark> fetched_;
  pinned_buffer send_buffer_;
  std::array<pinned_buffer, 2> receive_buffers_;
  std::size_t slot_ = 0;
  std::vector<staged_message> sends_, receives_;
};

// --- MPI that takes pointers of the device ---------------------------------------------------------------------------

class mpi_transport final : public device_messages::transport {
 public:
  mpi_transport(const communicator& comm, int device, wait_mode wait, std::shared_ptr<watchdog> watch,
                message_names names)
      : comm_(comm),
        wait_(wait),
        watch_(std::move(watch)),
        names_(std::move(names)),
        stream_(device),
        begun_(device, wait),
        own_copied_(device, wait) {}

  void start(const queue& q, std::span<const device_message> send, std::span<const device_message> receive) override {
    begun_.mark_on(q.native());
    begun_.hold_back(stream_.native());
    waiting_ = copy_own(comm_.rank(), stream_, send, receive);
    own_copied_.mark_on(stream_.native());
    has_begun_ = false;
  }

  void progress() override { (void)begin_when_ready(); }

  void finish(const queue& q) override {
    {
      const host_wait waiting(watch_.get(), [this] { return names_.own_gpu(); });
      if (wait_ == wait_mode::block) begun_.wait();
      while (!begin_when_ready()) {
      }
    }
    host_backoff backoff(wait_);
    for (auto& [message, exchange, is_receive] : under_way_) {
      const host_wait waiting(watch_.get(), [&, &what = message, receives = is_receive] {
        return receives ? names_.from(what) : names_.to(what);
      });
      while (!exchange.poll()) backoff.pause();
      backoff.renew();
    }
    under_way_.clear();
    own_copied_.hold_back(q.native());
  }

  halo_policy policy() const override { return halo_policy::mpi; }

 private:
  struct message_under_way {
    device_message what;
    pending_exchange exchange;
    bool is_receive;
  };

  /// MPI knows nothing of queues: it may neither read messages nor write into their places before the work that was
  /// queued has come to this point.
  bool begin_when_ready() {
    if (has_begun_) return true;
    if (!begun_.is_passed()) return false;
    for (const device_message& m : waiting_.receive) {
      const incoming_message in{m.peer, m.tag, bytes_of(m.data, m)};
      under_way_.push_back({m, comm_.start_exchange({}, {&in, 1}), true});
    }
    for (const device_message& m : waiting_.send) {
      const outgoing_message out{m.peer, m.tag, bytes_of(m.data, m)};
      under_way_.push_back({m, comm_.start_exchange({&out, 1}, {}), false});
    }
    has_begun_ = true;
    return true;
  }

  communicator comm_;
  wait_mode wait_;
  std::shared_ptr<watchdog> watch_;
  message_names names_;
  side_stream stream_;
  stream_mark begun_, own_copied_;
  split_messages waiting_;
  std::vector<message_under_way> under_way_;
  bool has_begun_ = true;
};

// --- NCCL ------------------------------------------------------------------------------------------------------------

class nccl_transport final : public device_messages::transport {
 public:
  nccl_transport(int rank, int device, wait_mode wait, std::unique_ptr<nccl_ranks> ranks)
      : rank_(rank), ranks_(std::move(ranks)), stream_(device), begun_(device, wait), done_(device, wait) {}

  void start(const queue& q, std::span<const device_message> send, std::span<const device_message> receive) override {
    begun_.mark_on(q.native());
    begun_.hold_back(stream_.native());
    const auto others = copy_own(rank_, stream_, send, receive);
    ranks_->begin_group();
    for (const device_message& m : in_order(others.receive))
      if (m.bytes > 0) ranks_->receive(m.peer, m.data, m.bytes, stream_.native());
    for (const device_message& m : in_order(others.send))
      if (m.bytes > 0) ranks_->send(m.peer, m.data, m.bytes, stream_.native());
    ranks_->end_group();
    done_.mark_on(stream_.native());
  }
  void progress() override {}
  void finish(const queue& q) override { done_.hold_back(q.native()); }
  halo_policy policy() const override { return halo_policy::nccl; }

 private:
  int rank_;
  std::unique_ptr<nccl_ranks> ranks_;
  side_stream stream_;
  stream_mark begun_, done_;
};

/// MPI of all ranks; the host build's memory is the host's, which every MPI takes.
bool all_take_device_pointers(const communicator& comm) {
  double one_does_not = mpi_takes_device_pointers() || kernels_run_on_host() ? 0.0 : 1.0;
  comm.maximum({&one_does_not, 1});
  return one_does_not == 0.0;
}

}  // namespace

device_messages::device_messages(const communicator& comm, int device, halo_policy how, wait_mode wait,
                                 std::shared_ptr<watchdog> watch, std::function<std::string(int)> name_of_tag) {
  const bool any = how == halo_policy::automatic;
  if (how == halo_policy::peer)
    throw input_error("messages of the host were requested with the policy \"peer\"; expected staged, mpi or nccl");
  message_names names(std::move(name_of_tag));
  const auto own_ranks = comm.split(0);  // tags of others do not meet these
  if (any || how == halo_policy::nccl) {
    std::string reason;
    if (auto ranks = nccl_ranks::start(own_ranks, device, reason)) {
      transport_ = std::make_unique<nccl_transport>(comm.rank(), device, wait, std::move(ranks));
      return;
    }
    if (!any) throw input_error("NCCL was requested and cannot be used: " + reason);
  }
  if (how == halo_policy::mpi || (any && !kernels_run_on_host())) {
    if (all_take_device_pointers(comm)) {
      transport_ = std::make_unique<mpi_transport>(own_ranks, device, wait, std::move(watch), std::move(names));
      return;
    }
    if (!any)
      throw input_error("an MPI that takes memory of GPUs was requested; found " + mpi_library() +
                        ", which does not say that it does");
  }
  transport_ = std::make_unique<staged_transport>(own_ranks, device, wait, std::move(watch), std::move(names));
}

device_messages::device_messages(device_messages&&) noexcept = default;
device_messages& device_messages::operator=(device_messages&&) noexcept = default;
device_messages::~device_messages() = default;

void device_messages::start(const queue& q, std::span<const device_message> send,
                            std::span<const device_message> receive) {
  transport_->start(q, send, receive);
}
void device_messages::progress() { transport_->progress(); }
void device_messages::finish(const queue& q) { transport_->finish(q); }
halo_policy device_messages::policy() const { return transport_->policy(); }

}  // namespace plaquette::gpu
