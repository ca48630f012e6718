// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/ghost_exchange.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>

#include "gpu/comms/watchdog.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/storage.hpp"

namespace plaquette::gpu {
namespace {

/// Sites of a face, first of one parity, then of the other: x[mu] is fixed. Of x (of y on a face in x) every other
/// value is meant, as the parity wants it. Direction and place are known at run time alone, so that coordinates are
/// chosen by comparing: an index would put them into memory.
struct ghost_face {
  std::int32_t low[dimensions];
  divisor size[dimensions - 1];
  std::int32_t sites;  ///< of one parity
  int mu, halved;

  /// \param mu_  the direction that the face is normal to; those before it come with their ghosts
  ghost_face(const box_with_ghosts& box, int mu_) : low{}, sites(1), mu(mu_), halved(mu_ == 0 ? 1 : 0) {
    for (int nu = 0; nu < dimensions; ++nu) {
      low[nu] = nu < mu ? 0 : box.shift[nu];
      std::int32_t length = nu == mu ? 1 : box.order.length[nu] - 2 * low[nu];
      if (nu == halved) length /= 2;
      if (nu < dimensions - 1) size[nu] = divisor(length);
      sites *= length;
    }
  }

  /// Site n of a parity at x[mu] = place.
  PLAQUETTE_HOST_DEVICE site_coordinate site(std::int32_t n, int parity, std::int32_t place) const {
    site_coordinate at;
    int sum = parity;
    PLAQUETTE_GPU_UNROLL
    for (int nu = 0; nu < dimensions; ++nu) {
      const std::int32_t rest = nu < dimensions - 1 ? size[nu].quotient(n) : 0;
      const std::int32_t digit = nu < dimensions - 1 ? n - rest * size[nu].value : n;
      at.x[nu] = nu == mu ? place : low[nu] + (nu == halved ? 2 * digit : digit);
      sum += at.x[nu];
      n = rest;
    }
    PLAQUETTE_GPU_UNROLL
    for (int nu = 0; nu < dimensions; ++nu) at.x[nu] += nu == halved ? sum & 1 : 0;
    return at;
  }
};

enum class copy_direction { pack, unpack };

/// One chunk of one site between a box and a buffer: [side][parity][chunk][site of the face].
template <copy_direction direction>
struct copy_faces {
  chunks_of_box box;
  std::conditional_t<direction == copy_direction::pack, std::byte*, const std::byte*> buffer;
  site_order order;
  ghost_face face;
  chunk_selection what;
  std::int32_t place[2];  ///< of the two sides

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const std::int64_t row = n / face.sites;
    const auto site = static_cast<std::int32_t>(n - row * face.sites);
    const auto part = static_cast<int>(row / what.count);
    const int chunk = what.first + static_cast<int>(row - std::int64_t{part} * what.count);
    const int side = part >= what.parities ? 1 : 0, parity = what.first_parity + part - side * what.parities;
    const std::int32_t i = order.index(face.site(site, parity, side == 0 ? place[0] : place[1]));
    std::byte* const in_box =
        box.begin + ((std::int64_t{parity} * order.blocks() + block_of(i)) * box.chunks + chunk) * chunk_stride +
        lane_of(i) * chunk_bytes;
    if constexpr (direction == copy_direction::pack)
      store_chunk(buffer + n * chunk_bytes, load_chunk(in_box));
    else
      store_chunk(in_box, load_chunk(buffer + n * chunk_bytes));
  }
};

void exchange_through_host(const context& ctx, const neighbour_ranks& ranks, std::byte* buffer, std::size_t side) {
  const queue& q = ctx.queue();
  std::byte* const sent = q.staging(4 * side);
  std::byte* const received = sent + 2 * side;
  copy_to_host(q, sent, buffer, 2 * side);
  // Upwards and downwards differ by their tags: two ranks are both neighbours of each other.
  const int up = 2 * ranks.direction, down = up + 1;
  const outgoing_message send[] = {{ranks.above, up, {sent, side}}, {ranks.below, down, {sent + side, side}}};
  const incoming_message receive[] = {{ranks.below, up, {received, side}},
                                      {ranks.above, down, {received + side, side}}};
  const host_wait waiting(ctx.watch(), [mu = ranks.direction] {
    return std::string("the neighbours along ") + "xyzt"[mu] + ": ghosts of the gauge field";
  });
  ctx.comm().start_exchange(send, receive).wait();
  copy_to_device(q, buffer, received, 2 * side);
  q.synchronize();  // the next one to stage may write at once
}

}  // namespace

const std::byte* exchange_with_neighbours(const context& ctx, int mu, std::byte* buffer, std::size_t side) {
  const lattice_geometry& geometry = ctx.geometry();
  const neighbour_ranks ranks{mu, geometry.neighbour_rank(mu, -1), geometry.neighbour_rank(mu, +1)};
  if (neighbour_messages* const direct = ctx.execution().neighbours())
    if (const std::byte* const come = direct->exchange(ctx.queue(), ranks, buffer, side, ctx.watch())) return come;
  exchange_through_host(ctx, ranks, buffer, side);
  return buffer;
}

void ghost_exchange::operator()(const chunks_of_box& sites, const chunk_selection& what) const {
  for (int mu = 0; mu < what.directions; ++mu) {
    if (!context_.geometry().is_cut(mu)) continue;
    const std::int64_t bytes_of_chunk = std::int64_t{2} * what.parities * ghost_face(box_, mu).sites * chunk_bytes;
    const auto at_once = static_cast<int>(std::clamp<std::int64_t>(bytes_at_once_ / bytes_of_chunk, 1, what.count));
    chunk_selection some = what;
    for (int done = 0; done < what.count; done += at_once) {
      some.first = what.first + done;
      some.count = std::min(at_once, what.count - done);
      along(mu, sites, some);
    }
  }
}

void ghost_exchange::along(int mu, const chunks_of_box& sites, const chunk_selection& what) const {
  const queue& q = context_.queue();
  const ghost_face face(box_, mu);
  const std::int64_t chunks = std::int64_t{2} * what.parities * what.count * face.sites;
  const auto bytes = static_cast<std::size_t>(chunks) * chunk_bytes, side = bytes / 2;
  const std::shared_ptr<std::byte> buffer = context_.workspace().take(bytes);
  const std::int32_t last = box_.order.length[mu] - 2;  // of this rank's own sites; the first is 1
  for_each_index(q, chunks, copy_faces<copy_direction::pack>{sites, buffer.get(), box_.order, face, what, {last, 1}});
  const std::byte* const come = exchange_with_neighbours(context_, mu, buffer.get(), side);
  for_each_index(q, chunks, copy_faces<copy_direction::unpack>{sites, come, box_.order, face, what, {0, last + 1}});
}

}  // namespace plaquette::gpu
