// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/halo/rank_gather.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "common/error.hpp"
#include "common/io/collective_error.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/comms/watchdog.hpp"
#include "gpu/device/chunk.hpp"
#include "gpu/device/device_flags.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/halo/halo.hpp"

namespace plaquette::gpu {

namespace {

constexpr std::size_t flag_stride = 128;  // flags of different ranks in different lines of the cache
constexpr int most_ranks = 64;            // whose kernels write; beyond, messages
constexpr std::int64_t alignment = 256;

std::string text_of_word(std::uint64_t word) {
  return "rank " + std::to_string((word >> 32) - 1) + ": its part of a coarse lattice, number " +
         std::to_string(word & 0xffffffffU);
}

}  // namespace

/// An index of `write` is a chunk of this rank's rows, one of `read` a chunk of all ranks' rows.
struct rank_gather::body {
  const std::byte* from;
  std::int64_t from_stride;
  std::byte* to;
  std::int64_t to_stride;
  const std::int32_t* origin;
  std::int32_t rows, chunks_of_a_row, ranks, rank;
  std::int64_t piece;                    ///< bytes of the room for a rank
  std::byte* room;                       ///< this rank's; pieces of odd gathers follow the pieces of even ones
  std::byte* rooms[most_ranks];          ///< of each rank, where kernels write
  std::uint32_t* announced[most_ranks];  ///< at each rank: the last gather whose piece of this rank is there
  const std::uint32_t* arrived;          ///< at this rank, `flag_stride` bytes a rank; null if messages bring pieces
  std::uint32_t *completed, *current;    ///< gathers before the next one; the one under way
  std::uint32_t* ticket;                 ///< zero between gathers
  std::uint64_t* waiting;                ///< [rank] of the watchdog, or null

  PLAQUETTE_HOST_DEVICE std::int64_t chunks() const { return std::int64_t{rows} * chunks_of_a_row; }
  /// Where the piece of a rank is in a room.
  PLAQUETTE_HOST_DEVICE std::int64_t place(int of_rank, std::uint32_t number) const {
    return (std::int64_t{number & 1U} * ranks + of_rank) * piece;
  }
  PLAQUETTE_HOST_DEVICE chunk own_chunk(std::int64_t index) const {
    const std::int64_t row = index / chunks_of_a_row;
    return load_chunk(from + row * from_stride + (index - row * chunks_of_a_row) * chunk_bytes);
  }
  PLAQUETTE_HOST_DEVICE void write(std::int64_t index, std::uint32_t number) const {
    const chunk c = own_chunk(index);
    for (int r = 0; r < ranks; ++r) store_chunk(rooms[r] + place(rank, number) + index * chunk_bytes, c);
  }
  PLAQUETTE_HOST_DEVICE void read(std::int64_t index, std::uint32_t number) const {
    const std::int64_t row = index / chunks_of_a_row, part = (index - row * chunks_of_a_row) * chunk_bytes;
    const std::int32_t o = origin[row], r = o / rows;
    const std::byte* const begin = room + place(r, number) + std::int64_t{o - r * rows} * chunks_of_a_row * chunk_bytes;
    store_chunk(to + row * to_stride + part, load_chunk(begin + part));
  }
  PLAQUETTE_HOST_DEVICE void wait(int of_rank, std::uint32_t number) const {
    wait_for_flag(arrived + static_cast<std::size_t>(of_rank) * (flag_stride / sizeof(std::uint32_t)), number,
                  waiting != nullptr ? waiting + of_rank : nullptr,
                  static_cast<std::uint64_t>(of_rank + 1) << 32 | number);
  }
};

namespace {

using gather_body = rank_gather::body;

/// The same where messages bring the pieces.
struct pack_piece {
  gather_body body;
  std::byte* outgoing;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    store_chunk(outgoing + index * chunk_bytes, body.own_chunk(index));
  }
};
struct read_pieces {
  gather_body body;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const { body.read(index, 0); }
};

#ifdef __CUDACC__

constexpr int threads = 128;
constexpr std::int64_t most_blocks = 64;
static_assert(threads >= most_ranks);

/// The last block gives word to all ranks.
__global__ void __launch_bounds__(threads) write_kernel(const __grid_constant__ gather_body body) {
  const std::uint32_t number = *static_cast<const volatile std::uint32_t*>(body.completed) + 1;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < body.chunks();
       i += std::int64_t{gridDim.x} * threads)
    body.write(i, number);
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0 || count_block(body.ticket, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence_system();
  for (int r = 0; r < body.ranks; ++r) set_flag(body.announced[r], number);
  *static_cast<volatile std::uint32_t*>(body.current) = number;
  *static_cast<volatile std::uint32_t*>(body.completed) = number;
}

__global__ void __launch_bounds__(threads) read_kernel(const __grid_constant__ gather_body body) {
  const std::uint32_t number = *static_cast<const volatile std::uint32_t*>(body.current);
  if (static_cast<int>(threadIdx.x) < body.ranks) body.wait(static_cast<int>(threadIdx.x), number);
  __syncthreads();
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < body.ranks * body.chunks();
       i += std::int64_t{gridDim.x} * threads)
    body.read(i, number);
}

void queue_gather(const queue& q, const gather_body& body) {
  const auto blocks = [](std::int64_t chunks) {
    return dim3(static_cast<unsigned>(std::clamp<std::int64_t>((chunks + threads - 1) / threads, 1, most_blocks)));
  };
  launch_kernel(q, blocks(body.chunks()), dim3(threads), 0, false, write_kernel, body);
  launch_kernel(q, blocks(body.ranks * body.chunks()), dim3(threads), 0, false, read_kernel, body);
}

#else

void queue_gather(const queue&, const gather_body& body) {
  const std::uint32_t number = *body.completed + 1;
  for (std::int64_t i = 0; i < body.chunks(); ++i) body.write(i, number);
  for (int r = 0; r < body.ranks; ++r) set_flag(body.announced[r], number);
  *body.current = *body.completed = number;
  for (int r = 0; r < body.ranks; ++r) body.wait(r, number);
  for (std::int64_t i = 0; i < body.ranks * body.chunks(); ++i) body.read(i, number);
}

#endif

/// Whether kernels of every rank may write into every other's memory.
bool all_reach_all(const rank_map& map) {
  for (int a = 0; a < map.size(); ++a)
    for (int b = 0; b < map.size(); ++b)
      if (a != b && !map.reaches(a, b)) return false;
  return map.size() <= most_ranks;
}

}  // namespace

rank_gather::rank_gather(const execution& on)
    : execution_(on), flags_(on.comm(), on.queue().device(), static_cast<std::size_t>(on.comm().size()) * flag_stride) {
  const communicator& comm = on.comm();
  const queue& q = on.queue();
  const auto& halo = on.first_halo();
  const auto map = halo ? halo->map() : std::make_shared<const rank_map>(comm, q.device());
  const halo_policy policy = halo ? halo->policy() : on.ranks().policy;
  // Kernels of ranks that share a GPU take turns: one that waits would keep the other from coming.
  peers_ = flags_.reaches_all() && all_reach_all(*map) &&
           (policy == halo_policy::peer || (policy == halo_policy::automatic && !map->shares_a_device()));
  if (!peers_ && halo) messages_ = halo->messages();
  if (!peers_ && !messages_)
    messages_ = std::make_shared<device_messages>(
        comm, q.device(), policy == halo_policy::peer ? halo_policy::automatic : policy, on.ranks().wait, on.watch(),
        [](int) { return std::string("its part of a coarse lattice"); });
  constexpr std::size_t counters = 3;
  on_all_ranks_or_none(comm, [&] { counters_ = allocate_on_device(q.device(), counters * sizeof(std::uint32_t)); });
  fill_bytes(q, counters_.get(), 0, counters * sizeof(std::uint32_t));
  if (on.watch() && peers_) waiting_ = on.watch()->device_words(static_cast<std::size_t>(comm.size()), text_of_word);
}

const rank_gather::room& rank_gather::room_for(std::int64_t piece) {
  if (!rooms_.empty() && rooms_.back().piece >= piece) return rooms_.back();
  if (!rooms_.empty()) piece = std::max(piece, 2 * rooms_.back().piece);
  piece = (piece + alignment - 1) / alignment * alignment;
  const communicator& comm = execution_.comm();
  const int device = execution_.queue().device();
  execution_.queue().synchronize();
  room made{piece, nullptr, nullptr, nullptr};
  const auto all = static_cast<std::size_t>(comm.size() * piece);
  if (peers_) made.of_peers = std::make_unique<peer_memory>(comm, device, 2 * all);
  on_all_ranks_or_none(comm, [&] {
    if (peers_ && !made.of_peers->reaches_all())
      throw memory_error("coarse lattice: memory of other ranks' GPUs, " + std::to_string(2 * all) +
                         " bytes each, cannot be opened (--halo staged does without)");
    if (!peers_) made.arrived = allocate_on_device(device, all);
    if (!peers_) made.outgoing = allocate_on_device(device, static_cast<std::size_t>(piece));
  });
  rooms_.push_back(std::move(made));
  return rooms_.back();
}

void rank_gather::gather(const device_rows& to, const device_rows& from, std::int64_t rows, std::int64_t bytes,
                         const std::int32_t* origin) {
  if (bytes % chunk_bytes != 0) throw std::logic_error("rank_gather: rows must have whole chunks of 16 bytes");
  const communicator& comm = execution_.comm();
  const queue& q = execution_.queue();
  const room& here = room_for(rows * bytes);
  body b{};
  b.from = from.begin, b.from_stride = from.stride;
  b.to = to.begin, b.to_stride = to.stride;
  b.origin = origin;
  b.rows = static_cast<std::int32_t>(rows);
  b.chunks_of_a_row = static_cast<std::int32_t>(bytes / chunk_bytes);
  b.ranks = comm.size(), b.rank = comm.rank();
  b.piece = here.piece;
  if (peers_) {
    const auto flag = [&](int at_rank, int of_rank) {
      return reinterpret_cast<std::uint32_t*>(flags_.of(at_rank) + static_cast<std::size_t>(of_rank) * flag_stride);
    };
    for (int r = 0; r < b.ranks; ++r) {
      b.rooms[r] = here.of_peers->of(r);
      b.announced[r] = flag(r, b.rank);
    }
    b.room = b.rooms[b.rank];
    b.arrived = flag(b.rank, 0);
    b.completed = reinterpret_cast<std::uint32_t*>(counters_.get());
    b.current = b.completed + 1;
    b.ticket = b.completed + 2;
    b.waiting = waiting_.get();
    return queue_gather(q, b);
  }
  b.room = here.arrived.get();
  for_each_index(q, b.chunks(), pack_piece{b, here.outgoing.get()});
  const auto piece_bytes = static_cast<std::size_t>(rows * bytes);
  std::vector<device_message> send, receive;
  for (int r = 0; r < b.ranks; ++r) {
    send.push_back({r, hop_directions, here.outgoing.get(), piece_bytes});
    receive.push_back({r, hop_directions, here.arrived.get() + r * here.piece, piece_bytes});
  }
  messages_->start(q, send, receive);
  messages_->finish(q);
  for_each_index(q, b.ranks * b.chunks(), read_pieces{b});
}

}  // namespace plaquette::gpu
