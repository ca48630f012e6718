// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_halo.hpp"

#include <algorithm>
#include <stdexcept>

#include "gpu/device/chunk.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/halo/message_wait.hpp"

namespace plaquette::gpu {

namespace {

/// Copies the listed sites of one direction's message; an index is a chunk of 16 bytes.
struct pack_coarse_sites {
  const std::byte* from;          ///< the field's first site
  std::int64_t site_bytes;        ///< from site to site
  std::int32_t chunks_of_a_site;  ///< its columns lie together
  const std::int32_t* list;       ///< of all messages
  std::int32_t first_site;        ///< of the field
  std::int32_t begin[hop_directions + 1];
  std::int32_t first_unit[hop_directions];  ///< in each message
  ghost_zones zones;

  PLAQUETTE_HOST_DEVICE std::int64_t chunks(int direction) const {
    return std::int64_t{begin[direction + 1] - begin[direction]} * chunks_of_a_site;
  }
  PLAQUETTE_HOST_DEVICE void pack(int direction, std::int64_t index, std::uint32_t application) const {
    const auto entry = static_cast<std::int32_t>(index / chunks_of_a_site);
    const std::int64_t part = (index - std::int64_t{entry} * chunks_of_a_site) * chunk_bytes;
    const std::int64_t to = std::int64_t{first_unit[direction] + entry} * chunks_of_a_site * chunk_bytes;
    store_chunk(zones.outgoing[application & 1U][direction] + to + part,
                load_chunk(from + (list[begin[direction] + entry] - first_site) * site_bytes + part));
  }
};

#ifdef __CUDACC__

constexpr int threads = 128;

struct blocks_of_messages {
  unsigned first[hop_directions + 1];
};

/// Blocks of a direction follow each other; the last of them gives word to the neighbour.
__global__ void __launch_bounds__(threads)
    pack_kernel(const __grid_constant__ pack_coarse_sites body, const __grid_constant__ blocks_of_messages blocks) {
  const std::uint32_t application = load_counter(body.zones.completed) + 1;
  int direction = 0;
  while (blockIdx.x >= blocks.first[direction + 1]) ++direction;
  const unsigned count = blocks.first[direction + 1] - blocks.first[direction];
  const std::int64_t chunks = body.chunks(direction);
  for (std::int64_t i = (blockIdx.x - blocks.first[direction]) * threads + threadIdx.x; i < chunks;
       i += std::int64_t{count} * threads)
    body.pack(direction, i, application);
  announce_message(body.zones, direction, count, application, threadIdx.x);
  if (threadIdx.x == 0) count_reader(body.zones, gridDim.x, application);
}

void queue_packing(const queue& q, const pack_coarse_sites& body) {
  constexpr std::int64_t most_blocks = 64;  // of a direction
  blocks_of_messages blocks{};
  for (int d = 0; d < hop_directions; ++d) {
    const std::int64_t wanted = (body.chunks(d) + threads - 1) / threads;
    blocks.first[d + 1] =
        blocks.first[d] +
        (body.zones.is_cut(d) ? static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most_blocks)) : 0U);
  }
  launch_kernel(q, dim3(blocks.first[hop_directions]), dim3(threads), 0, false, pack_kernel, body, blocks);
}

#else

struct pack_message {
  pack_coarse_sites body;
  int direction;
  void operator()(std::int64_t index) const { body.pack(direction, index, *body.zones.current); }
};

void queue_packing(const queue& q, const pack_coarse_sites& body) {
  const ghost_zones& zones = body.zones;
  *zones.current = *zones.completed + 1;
  for (int d = 0; d < hop_directions; ++d) {
    if (!zones.is_cut(d)) continue;
    for_each_index(q, body.chunks(d), pack_message{body, d});
    if (zones.announced[d] != nullptr) set_flag(zones.announced[d], *zones.current);
  }
  *zones.completed = *zones.current;
}

#endif

}  // namespace

template <class T>
void exchange_faces(coarse_products<T>& p, const coarse_field<T>& in) {
  gpu::halo* const halo = in.lattice().halo();
  if (halo == nullptr) return;
  const queue& q = in.get_execution().queue();
  const auto& list = in.lattice().sent(in.shape().sites);
  const std::int64_t bytes =
      std::int64_t{in.components()} * in.columns() * static_cast<std::int64_t>(sizeof(complex<T>));
  if (bytes % chunk_bytes != 0) throw std::logic_error("coarse halo: sites must have whole chunks of 16 bytes");
  pack_coarse_sites body{};
  body.zones = halo->zones(1, bytes, &list.part);
  body.from = reinterpret_cast<const std::byte*>(in.numbers().begin);
  body.site_bytes = in.numbers().site_stride * static_cast<std::int64_t>(sizeof(complex<T>));
  body.chunks_of_a_site = static_cast<std::int32_t>(bytes / chunk_bytes);
  body.list = list.sites.get();
  body.first_site = static_cast<std::int32_t>(in.first_site());
  for (int d = 0; d <= hop_directions; ++d) body.begin[d] = list.begin[d];
  for (int d = 0; d < hop_directions; ++d) body.first_unit[d] = static_cast<std::int32_t>(list.part.sent[d].first);
  queue_packing(q, body);
  if (halo->has_host_messages()) {
    halo->start_messages(q);
    halo->finish_messages(q);
  }
  p.ghosts = body.zones;
  for (int d = 0; d < hop_directions; ++d) p.first_ghosts[d] = in.lattice().first_ghosts()[d];
}

template void exchange_faces(coarse_products<float>&, const coarse_field<float>&);
template void exchange_faces(coarse_products<double>&, const coarse_field<double>&);

}  // namespace plaquette::gpu
