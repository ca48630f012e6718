// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/block_layout.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace plaquette::cpu {

namespace {

/// The exponent of 2 in n.
int twos(int n) { return std::countr_zero(static_cast<unsigned>(n)); }

coordinate sum_on_torus(const coordinate& a, const coordinate& b, const extents& box) {
  coordinate c{};
  for (int mu = 0; mu < dimensions; ++mu) c[mu] = (a[mu] + b[mu]) % box[mu];
  return c;
}

}  // namespace

int block_layout::possible_width(const lattice_geometry& geometry, int widest) {
  int exponent = -1;
  for (int length : geometry.local()) exponent += twos(length);
  return std::min(widest, 1 << std::min(exponent, 20));
}

block_layout::block_layout(const lattice_geometry& geometry, int width)
    : geometry_(geometry), width_(width), blocks_(geometry.local_volume() / 2 / width) {
  if (!std::has_single_bit(static_cast<unsigned>(width)) || possible_width(geometry, width) != width)
    throw std::invalid_argument("block_layout: " + std::to_string(width) + " lanes do not fit lattice " +
                                to_string(geometry.local()));
  make_group();
  make_blocks();
  for (int p = 0; p < 2; ++p) {
    make_neighbours(p);
    make_halo(p);
    find_newly_needed(p);
  }
}

void block_layout::make_group() {
  const extents& local = geometry_.local();
  // Lanes fill x first, then y, z, t (measured: fewer permutations and better reuse); directions that are cut come
  // last, so that their faces are whole blocks if possible.
  std::vector<int> order;
  for (const bool cut : {false, true})
    for (int mu = 0; mu < dimensions; ++mu)
      if (geometry_.is_cut(mu) == cut) order.push_back(mu);

  group_ = {coordinate{}};
  const auto extend = [&](const coordinate& generator, int cosets) {
    const std::vector<coordinate> before = group_;
    coordinate shift{};
    for (int k = 1; k < cosets; ++k) {
      shift = sum_on_torus(shift, generator, local);
      for (const coordinate& g : before) group_.push_back(sum_on_torus(shift, g, local));
    }
  };
  for (const int mu : order) {
    const int lanes = std::min(width_ / static_cast<int>(group_.size()), 1 << (twos(local[mu]) - 1));
    coordinate generator{};
    generator[mu] = local[mu] / lanes % local[mu];
    folds_.emplace_back(mu, lanes);
    extend(generator, lanes);
  }
  // All even translations along an axis are in; pairs of odd ones double the group up to three times.
  for (int i = 0; i + 1 < dimensions && static_cast<int>(group_.size()) < width_; ++i) {
    coordinate diagonal{};
    for (const int mu : {order[i], order[i + 1]}) diagonal[mu] = local[mu] >> twos(local[mu]);
    extend(diagonal, 2);
  }

  table_.resize(static_cast<std::size_t>(width_ * width_));
  for (int g = 0; g < width_; ++g)
    for (int h = 0; h < width_; ++h) {
      const auto found = std::ranges::find(group_, sum_on_torus(group_[g], group_[h], local));
      if (found == group_.end()) throw std::logic_error("block_layout: translations do not form a group");
      table_[static_cast<std::size_t>(g * width_ + h)] = static_cast<std::int32_t>(found - group_.begin());
    }
}

namespace {

/// Blocks of a tile in one time slice. A block is used as the neighbour ahead in time and as the one behind. In between
/// lie two slices of the tile with their links, which should stay in the second-level cache. Measured at 32^4 and 48^4:
/// simd/NOTES.md.
constexpr int blocks_of_a_tile = 136;

/// Extents in y and z of the tiles in which the lattice is walked, given how many blocks there are along each
/// direction. They are the largest that divide the domain, with the least surface that neighbouring tiles share.
std::pair<int, int> tile_of(const extents& domain) {
  const int row = std::max(domain[0] / 2, 1);
  std::pair<int, int> best{1, 1};
  double least = 1e9;
  for (int y = 1; y <= domain[1]; ++y)
    for (int z = 1; z <= domain[2]; ++z) {
      if (domain[1] % y != 0 || domain[2] % z != 0 || (row * y * z > blocks_of_a_tile && y * z > 1)) continue;
      const double surface = (y < domain[1] ? 1.0 / y : 0.0) + (z < domain[2] ? 1.0 / z : 0.0);
      if (surface < least - 1e-9) {
        least = surface;
        best = {y, z};
      }
    }
  return best;
}

}  // namespace

void block_layout::make_blocks() {
  const std::int64_t sites = geometry_.local_volume();
  const extents& local = geometry_.local();
  places_.assign(static_cast<std::size_t>(sites), {-1, -1});
  for (int p = 0; p < 2; ++p) sites_[p].reserve(static_cast<std::size_t>(sites / 2));
  std::int32_t next[2] = {0, 0};
  const auto place_orbit_of = [&](const coordinate& base) {
    if (places_[static_cast<std::size_t>(geometry_.local_index(base))].block >= 0) return;
    const int p = parity(base);
    for (int lane = 0; lane < width_; ++lane) {
      const std::int64_t member = geometry_.local_index(sum_on_torus(base, group_[lane], local));
      places_[static_cast<std::size_t>(member)] = {next[p], lane};
      sites_[p].push_back(member);
    }
    ++next[p];
  };
  // Tile by tile; in a tile x fastest, t slowest.
  extents domain = local;
  for (const auto& [mu, lanes] : folds_) domain[mu] /= lanes;
  const auto [tile_y, tile_z] = tile_of(domain);
  for (int z0 = 0; z0 < local[2]; z0 += tile_z)
    for (int y0 = 0; y0 < local[1]; y0 += tile_y)
      for (int t = 0; t < local[3]; ++t)
        for (int z = z0; z < z0 + tile_z; ++z)
          for (int y = y0; y < y0 + tile_y; ++y)
            for (int x = 0; x < local[0]; ++x) place_orbit_of({x, y, z, t});
  if (next[0] != blocks_ || next[1] != blocks_) throw std::logic_error("block_layout: orbits do not cover the lattice");
}

void block_layout::make_neighbours(int p) {
  neighbours_[p].resize(static_cast<std::size_t>(blocks_ * hop_directions));
  permutations_[p].resize(static_cast<std::size_t>(blocks_ * hop_directions));
  for (std::int64_t b = 0; b < blocks_; ++b) {
    const coordinate x = geometry_.local_coordinate(site(p, b, 0));
    for (int d = 0; d < hop_directions; ++d) {
      coordinate step{};
      step[d / 2] = d % 2 == 0 ? 1 : geometry_.local()[d / 2] - 1;
      const block_site to = place(sum_on_torus(x, step, geometry_.local()));
      neighbours_[p][static_cast<std::size_t>(b * hop_directions + d)] = to.block;
      permutations_[p][static_cast<std::size_t>(b * hop_directions + d)] = static_cast<std::uint8_t>(to.lane);
    }
  }
}

void block_layout::make_halo(int p) {
  const extents& local = geometry_.local();
  if (volume(geometry_.grid()) == 1) {
    for (std::int64_t b = 0; b < blocks_; ++b) interior_[p].push_back(static_cast<std::int32_t>(b));
    return;
  }
  // Where each incoming half-spinor goes is found by numbering the sites of a face in lexicographic order: the sender
  // walks its own face in the same order.
  std::vector<std::int64_t> message(static_cast<std::size_t>(geometry_.local_volume() * hop_directions), -1);
  for (int d = 0; d < hop_directions; ++d) {
    const int mu = d / 2, sign = d % 2 == 0 ? +1 : -1;
    if (!geometry_.is_cut(mu)) continue;
    halo_face face{d, geometry_.neighbour_rank(mu, -sign), geometry_.neighbour_rank(mu, sign), {}, 0, incoming_[p]};
    for (std::int64_t s = 0; s < geometry_.local_volume(); ++s) {
      const coordinate x = geometry_.local_coordinate(s);
      const int leaving = sign > 0 ? local[mu] - 1 : 0, entered = sign > 0 ? 0 : local[mu] - 1;
      if (x[mu] == leaving && parity(x) == p)
        message[static_cast<std::size_t>(s * hop_directions + d)] = incoming_[p] + face.receive_count++;
      if (x[mu] == entered && parity(x) != p) face.send.push_back(place(x));
    }
    incoming_[p] += face.receive_count;
    faces_[p].push_back(std::move(face));
  }

  for (std::int64_t b = 0; b < blocks_; ++b) {
    bool outside = false;
    for (int d = 0; d < hop_directions; ++d) {
      const auto message_of = [&](int lane) {
        return message[static_cast<std::size_t>(site(p, b, lane) * hop_directions + d)];
      };
      bool any = false;
      for (int lane = 0; lane < width_; ++lane) any = any || message_of(lane) >= 0;
      if (!any) continue;
      outside = true;
      const auto at = static_cast<std::size_t>(b * hop_directions + d);
      const std::int32_t neighbour = neighbours_[p][at];
      const std::int32_t* lanes = table_.data() + permutations_[p][at] * width_;
      for (int lane = 0; lane < width_; ++lane) slot_lanes_[p].push_back({message_of(lane), {neighbour, lanes[lane]}});
      neighbours_[p][at] = -1 - static_cast<std::int32_t>(slot_directions_[p].size());
      slot_directions_[p].push_back(d);
    }
    (outside ? boundary_ : interior_)[p].push_back(static_cast<std::int32_t>(b));
  }
}

void block_layout::find_newly_needed(int p) {
  // A neighbour may be taken to lie in the second-level cache if it was touched in one of the last two slices of a
  // tile.
  constexpr std::int64_t remembered = 2 * blocks_of_a_tile;
  std::vector<std::int64_t> touched(static_cast<std::size_t>(blocks_), -remembered - 1);
  newly_needed_from_[p].push_back(0);
  for (std::int64_t b = 0; b < blocks_; ++b) {
    for (int d = 0; d < hop_directions; ++d) {
      const std::int32_t neighbour = neighbours_[p][static_cast<std::size_t>(b * hop_directions + d)];
      if (neighbour < 0) continue;
      std::int64_t& last = touched[static_cast<std::size_t>(neighbour)];
      if (b - last > remembered) newly_needed_[p].push_back(neighbour);
      last = b;
    }
    newly_needed_from_[p].push_back(static_cast<std::int32_t>(newly_needed_[p].size()));
  }
}

}  // namespace plaquette::cpu
