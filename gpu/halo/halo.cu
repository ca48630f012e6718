// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/halo/halo.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "common/error.hpp"
#include "common/io/collective_error.hpp"
#include "gpu/device/chunk.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/halo/message_wait.hpp"

namespace plaquette::gpu {

namespace {

constexpr std::size_t flag_stride = 128;  // flags of different neighbours in different lines of the cache

std::string name_of_direction(int direction) {
  return std::string(direction % 2 == 0 ? "+" : "-") + "xyzt"[direction / 2];
}

/// An application without an operator, in three kernels: its number, messages of no meaning, word to the neighbours.
struct begin_application {
  ghost_zones zones;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t) const { *zones.current = *zones.completed + 1; }
};
struct write_anything {
  ghost_zones zones;
  int direction;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t chunk) const {
    std::byte* const to = zones.outgoing[*zones.current & 1U][direction];
    store_chunk(to + chunk * chunk_bytes,
                load_chunk(zones.ghost[*zones.current & 1U][direction] + chunk * chunk_bytes));
  }
};
struct announce_messages {
  ghost_zones zones;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t) const {
#if !defined(__CUDACC__) || defined(__CUDA_ARCH__)
    order_memory();
    for (int d = 0; d < hop_directions; ++d)
      if (zones.is_cut(d) && zones.announced[d] != nullptr) set_flag(zones.announced[d], *zones.current);
    *zones.completed = *zones.current;
#endif
  }
};

constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

halo_shape shape_of_halo(const lattice_geometry& geometry) {
  halo_shape shape;
  const face_order faces{site_order(geometry.local())};
  for (int d = 0; d < hop_directions; ++d) {
    const int mu = d / 2, sign = d % 2 == 0 ? +1 : -1;
    if (!geometry.is_cut(mu)) continue;
    shape.cut |= 1U << d;
    shape.source[d] = geometry.neighbour_rank(mu, sign);  // hops forwards need the sites behind the upper face
    shape.target[d] = geometry.neighbour_rank(mu, -sign);
    shape.units[d] = faces.blocks(mu);
  }
  return shape;
}

std::string_view name_of(halo_policy policy) {
  switch (policy) {
    case halo_policy::automatic:
      return "auto";
    case halo_policy::staged:
      return "staged";
    case halo_policy::peer:
      return "peer";
    case halo_policy::mpi:
      return "mpi";
    case halo_policy::nccl:
      return "nccl";
  }
  return "unknown";
}

halo::halo(const halo_shape& shape, const communicator& comm, const queue& q, std::shared_ptr<const rank_map> map,
           const rank_options& options, std::shared_ptr<watchdog> watch)
    : shape_(shape),
      comm_(comm),
      queue_(q),
      options_(options),
      watch_(std::move(watch)),
      map_(std::move(map)),
      flags_(comm, q.device(), hop_directions * flag_stride) {
  prepare();
}

halo::halo(const halo_shape& shape, const halo& other)
    : shape_(shape),
      comm_(other.comm_),
      queue_(other.queue_),
      options_(other.options_),
      watch_(other.watch_),
      map_(other.map_),
      flags_(comm_, queue_.device(), hop_directions * flag_stride),
      messages_(other.messages_) {
  prepare();
}

void halo::prepare() {
  const halo_policy policy = options_.policy;
  // Kernels of ranks that share a GPU take turns: one that waits would keep the other from coming.
  peers_ = policy == halo_policy::peer || (policy == halo_policy::automatic && !map_->shares_a_device());
  common_.cut = shape_.cut;
  bool needs_host = false;
  for (int d = 0; d < hop_directions; ++d) {
    if (!shape_.is_cut(d)) continue;
    const bool by_peer =
        is_peer_message(shape_.source[d], comm_.rank()) && is_peer_message(comm_.rank(), shape_.target[d]);
    needs_host = needs_host || !by_peer;
  }
  std::array<double, 1> any{needs_host ? 1.0 : 0.0};
  comm_.maximum(std::span(any));
  if (any[0] != 0.0 && policy == halo_policy::peer)
    throw input_error(
        "--halo peer: expected neighbours whose GPUs reach each other's memory on one host, found some that do not");
  if (any[0] == 0.0)
    messages_.reset();
  else if (!messages_)
    messages_ = std::make_shared<device_messages>(comm_, queue_.device(), policy, options_.wait, watch_, [](int tag) {
      return tag < hop_directions ? "the halo message of hops " + name_of_direction(tag)
                                  : std::string("its part of a coarse lattice");
    });
  prepare_flags();
}

bool halo::is_peer_message(int from, int to) const {
  return peers_ && flags_.of(from) && flags_.of(to) && map_->reaches(from, to);
}

std::int64_t halo::zone_bytes(int direction, std::int64_t unit_bytes) const {
  return shape_.is_cut(direction) ? aligned(shape_.units[direction] * unit_bytes) : 0;
}

void halo::prepare_flags() {
  const auto flag = [](std::byte* base, int d) {
    return base == nullptr ? nullptr
                           : reinterpret_cast<std::uint32_t*>(base + static_cast<std::size_t>(d) * flag_stride);
  };
  for (int d = 0; d < hop_directions; ++d) {
    if (!common_.is_cut(d)) continue;
    if (is_peer_message(shape_.source[d], comm_.rank())) common_.arrived[d] = flag(flags_.mine(), d);
    if (is_peer_message(comm_.rank(), shape_.target[d])) common_.announced[d] = flag(flags_.of(shape_.target[d]), d);
  }
  constexpr std::size_t counters = hop_directions + 3;
  on_all_ranks_or_none(comm_,
                       [&] { counters_ = allocate_on_device(queue_.device(), counters * sizeof(std::uint32_t)); });
  fill_bytes(queue_, counters_.get(), 0, counters * sizeof(std::uint32_t));
  common_.tickets = reinterpret_cast<std::uint32_t*>(counters_.get());
  common_.completed = common_.tickets + hop_directions + 1;
  common_.current = common_.completed + 1;
  if (watch_)
    waiting_ = watch_->device_words(hop_directions, [shape = shape_](std::uint64_t word) {
      const int d = static_cast<int>(word >> 32) - 1;  // see waiting_word
      return "rank " + std::to_string(shape.source[d]) + ": the halo message of hops " + name_of_direction(d) +
             ", application " + std::to_string(static_cast<std::uint32_t>(word));
    });
  common_.waiting = waiting_.get();
}

const ghost_zones& halo::zones(int columns, std::int64_t unit_bytes, const halo_part* part) {
  const std::int64_t needed = std::int64_t{columns} * unit_bytes;
  // Doubled, so that all that was ever made is less than twice the largest.
  if (memory_.empty())
    add_zones(needed);
  else if (memory_.back()->unit_bytes < needed)
    add_zones(std::max(needed, 2 * memory_.back()->unit_bytes));
  const zone_memory& memory = *memory_.back();
  to_send_.clear();
  to_receive_.clear();
  for (int d = 0; d < hop_directions; ++d) {
    if (!common_.is_cut(d)) continue;
    const halo_part::range whole{0, shape_.units[d]};
    const halo_part::range sent = part != nullptr ? part->sent[d] : whole;
    const halo_part::range received = part != nullptr ? part->received[d] : whole;
    if (common_.announced[d] == nullptr)
      to_send_.push_back({shape_.target[d], d, memory.zones.outgoing[0][d] + sent.first * needed,
                          static_cast<std::size_t>(sent.count * needed)});
    if (common_.arrived[d] == nullptr)
      to_receive_.push_back({shape_.source[d], d,
                             const_cast<std::byte*>(memory.zones.ghost[0][d]) + received.first * needed,
                             static_cast<std::size_t>(received.count * needed)});
  }
  return memory.zones;
}

void halo::add_zones(std::int64_t unit_bytes) {
  queue_.synchronize();
  std::int64_t total = 0, begin[hop_directions];
  for (int d = 0; d < hop_directions; ++d) {
    begin[d] = total;
    total += zone_bytes(d, unit_bytes);
  }
  auto memory = std::make_unique<zone_memory>(zone_memory{
      unit_bytes, peer_memory(comm_, queue_.device(), static_cast<std::size_t>(2 * total)), nullptr, common_});
  on_all_ranks_or_none(comm_, [&] {
    if (messages_) memory->outgoing = allocate_on_device(queue_.device(), static_cast<std::size_t>(total));
    // A rank that could open a neighbour's flags need not be able to open as much as this.
    for (int d = 0; d < hop_directions; ++d)
      if (common_.is_cut(d) && common_.announced[d] != nullptr && memory->ghosts.of(shape_.target[d]) == nullptr)
        throw memory_error("halo: the ghost zones of rank " + std::to_string(shape_.target[d]) + ", " +
                           std::to_string(2 * total) + " bytes, cannot be opened by rank " +
                           std::to_string(comm_.rank()) + " (--halo staged does without)");
  });
  for (int d = 0; d < hop_directions; ++d) {
    if (!common_.is_cut(d)) continue;
    for (int buffer = 0; buffer < 2; ++buffer) {
      const bool is_here = common_.arrived[d] == nullptr, is_sent = common_.announced[d] == nullptr;
      memory->zones.ghost[buffer][d] = memory->ghosts.mine() + (is_here ? 0 : buffer) * total + begin[d];
      memory->zones.outgoing[buffer][d] =
          is_sent ? memory->outgoing.get() + begin[d] : memory->ghosts.of(shape_.target[d]) + buffer * total + begin[d];
    }
  }
  memory_.push_back(std::move(memory));
}

void halo::start_messages(const queue& q) { messages_->start(q, to_send_, to_receive_); }
void halo::finish_messages(const queue& q) { messages_->finish(q); }

void halo::queue_wait(const queue& q) const {
  for_each_index(q, hop_directions, wait_for_messages_of_kernels{common_}, 32);
}

void halo::exchange_anything(const queue& q) {
  const zone_memory& memory = *memory_.back();
  for_each_index(q, 1, begin_application{memory.zones}, 32);
  for (int d = 0; d < hop_directions; ++d)
    if (common_.is_cut(d) && common_.announced[d] != nullptr)
      for_each_index(q, shape_.units[d] * memory.unit_bytes / chunk_bytes, write_anything{memory.zones, d});
  for_each_index(q, 1, announce_messages{memory.zones}, 32);
  if (has_host_messages()) {
    start_messages(q);
    finish_messages(q);
  }
  queue_wait(q);
}

std::int64_t halo::bytes_sent(int columns, std::int64_t unit_bytes) const {
  std::int64_t bytes = 0;
  for (int d = 0; d < hop_directions; ++d)
    if (common_.is_cut(d)) bytes += shape_.units[d] * columns * unit_bytes;
  return bytes;
}

std::string halo::description() const {
  std::string by_direction, first;
  bool differ = false;
  for (int mu = 0; mu < dimensions; ++mu) {
    if (!shape_.is_cut(2 * mu)) continue;
    for (int d = 2 * mu; d < 2 * mu + 2; ++d) {
      const std::string how(common_.announced[d] != nullptr ? "peer" : name_of(messages_->policy()));
      if (first.empty()) first = how;
      differ = differ || how != first;
      by_direction += (by_direction.empty() ? "" : ", ") + name_of_direction(d) + " " + how;
    }
  }
  return differ ? by_direction : first;
}

}  // namespace plaquette::gpu
