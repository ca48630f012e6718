// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hopping_launch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace plaquette::gpu {

namespace {

struct tile_shape {
  int size[dimensions];
  int sites() const { return size[0] * size[1] * size[2] * size[3]; }
};

/// Whole rows of x where a block holds one; y, z and t in powers of two, and whole extents of y up to 16.
/// \param deep most sites in z and t together
std::vector<tile_shape> tiles_of_about(const extents& local, int sites, int deep) {
  const int row = std::min(local[0] / 2, sites);
  std::vector<tile_shape> tiles;
  for (int y = 1; y <= local[1] && y <= 16; ++y) {
    const bool power = (y & (y - 1)) == 0;
    if (!power && y != local[1] && local[1] % y != 0) continue;
    for (int z = 1; z <= 8 && z < 2 * local[2]; z *= 2)
      for (int t = 1; t <= 4 && t <= local[3]; t *= 2) {
        const tile_shape tile{{row, y, z, t}};
        if (z * t <= deep && tile.sites() <= sites && 10 * tile.sites() >= 7 * sites) tiles.push_back(tile);
      }
  }
  if (tiles.empty()) {  // a lattice smaller than a block, or a narrow one
    tile_shape tile{{row, 1, 1, 1}};
    for (const int mu : {1, 2, 3})
      while (2 * tile.sites() <= sites && 2 * tile.size[mu] <= local[mu] &&
             (mu == 1 || 2 * tile.size[2] * tile.size[3] <= deep))
        tile.size[mu] *= 2;
    tiles.push_back(tile);
  }
  return tiles;
}

/// How much of the lattice's neighbours a tile reads twice, and how many of its threads have nothing to do: smaller is
/// better. Of a neighbour in time half is read; of a batch, blocks go along time, and find it in the cache.
double badness(const tile_shape& tile, const extents& local, double time_weight) {
  double surface = 0.0, waste = 1.0;
  for (const int mu : {1, 2, 3}) {
    const int length = local[mu], parts = (length + tile.size[mu] - 1) / tile.size[mu];
    waste *= static_cast<double>(parts * tile.size[mu]) / length;
    if (tile.size[mu] < length) surface += ((mu == 3 ? time_weight : 1.0) + 0.01 * (4 - mu)) / tile.size[mu];
  }
  const int sites = tile.sites(), warps = (sites + 31) / 32;
  waste *= 32.0 * warps / sites;
  return (8.0 + 2.0 * surface) * waste;
}

hopping_launch with_tile(hopping_launch launch, const tile_shape& tile) {
  std::copy(std::begin(tile.size), std::end(tile.size), launch.tile);
  return launch;
}

/// The share of tiles that lie at a cut.
double share_at_cuts(const hopping_launch& launch, const hopping_problem& p) {
  double inside = 1.0;
  for (int mu = 0; mu < dimensions; ++mu) {
    if ((p.cut >> mu & 1U) == 0) continue;
    const int length = mu == 0 ? p.local[0] / 2 : p.local[mu], parts = (length + launch.tile[mu] - 1) / launch.tile[mu];
    inside *= static_cast<double>(std::max(0, parts - 2)) / parts;
  }
  return 1.0 - inside;
}

/// On several ranks: tiles at a cut wait, so there shall be few.
void keep_those_for_ranks(std::vector<hopping_launch>& list, const hopping_problem& p) {
  if (p.cut == 0) return;
  double least = 1.0;
  for (const hopping_launch& launch : list) least = std::min(least, share_at_cuts(launch, p));
  std::erase_if(list, [&](const hopping_launch& launch) { return !(share_at_cuts(launch, p) <= 1.2 * least); });
}

/// Whether the second-level cache holds all numbers that one application touches, some, or little.
enum class residence { all, some, little };

residence residence_of(const hopping_problem& p) {
  const double sites = 0.5 * static_cast<double>(volume(p.local));
  const double bytes =
      sites * (8.0 * stored_reals(p.stored) + 48.0 * p.columns + (p.with_clover ? 72.0 : 0.0)) * p.number_bytes;
  const auto cache = static_cast<double>(p.cache_bytes);
  return bytes < 0.8 * cache ? residence::all : bytes < 4.0 * cache ? residence::some : residence::little;
}

/// Returns whether shared memory holds the links and blocks of as many tiles of `sites` sites as a multiprocessor has
/// threads for.
bool links_fit(const hopping_problem& p, int sites, int groups, bool whole) {
  const int of_link = whole ? 18 * 4 : stored_reals(p.stored) * p.number_bytes;
  const int of_site = 8 * of_link + (p.with_clover ? 72 * p.number_bytes + 8 : 0);
  const int of_block = (sites + 31) / 32 * 32 * of_site + 1024;
  return 2 * most_threads(p.number_bytes) / (sites * groups) * of_block <= p.shared_bytes;
}

/// Launches that pass the caches by are for lattices that do not stay there. (A short trial does not always show it.)
void keep_those_for_the_cache(std::vector<hopping_launch>& list, const hopping_problem& p) {
  if (residence_of(p) == residence::all)
    std::erase_if(list, [](const hopping_launch& launch) { return launch.links_once || launch.past_caches; });
}

/// Into how many equal parts the columns of a batch may go. A few waves of blocks do all of it, and each has two rounds
/// of columns and more.
std::vector<int> parts_of_batch(const hopping_problem& p) {
  std::vector<int> list{1};
  if (residence_of(p) == residence::little || p.number_bytes != 2 || p.cut != 0) return list;
  const int at_once = batch_columns_at_once(p.number_bytes);
  for (const int parts : {2, 3})
    if (p.columns % (parts * at_once) == 0 && p.columns >= 2 * parts * at_once) list.push_back(parts);
  return list;
}

/// In how many groups, and with whole links, blocks of this number of threads may share the links of a tile.
std::vector<hopping_launch> sharings_of_links(const hopping_problem& p, int threads) {
  std::vector<hopping_launch> list;
  hopping_launch base;
  base.variant = hopping_variant::batch;
  const int at_once = batch_columns_at_once(p.number_bytes), rounds = (p.columns + at_once - 1) / at_once;
  for (const int groups : {1, 2, 4})
    for (const bool whole : {false, true}) {
      if (groups > p.columns || threads / groups < 32 || !links_fit(p, threads / groups, groups, whole)) continue;
      if (whole && (p.number_bytes != 2 || groups == 1 || rounds % groups != 0 || p.cut != 0)) continue;
      base.groups = groups;
      base.whole_links = whole;
      list.push_back(base);
    }
  return list;
}

std::vector<hopping_launch> batch_candidates(const hopping_problem& p) {
  std::vector<hopping_launch> list;
  const residence cached = residence_of(p);
  const int most = most_threads(p.number_bytes);
  for (const int threads : {most, most / 2})
    for (const hopping_launch& sharing : sharings_of_links(p, threads))
      for (const tile_shape& tile :
           tiles_of_about(p.local, threads / sharing.groups, most_threads_in_z / sharing.groups))
        for (const int z_of_slab : {8, 16, 0}) {
          if (z_of_slab > 0 && p.local[2] <= 16) continue;
          hopping_launch launch = with_tile(sharing, tile);
          launch.slab = std::max(z_of_slab / tile.size[2], z_of_slab == 0 ? 0 : 1);
          for (const int parts : parts_of_batch(p))
            for (const bool past : {false, true})
              for (const bool dependent : {false, true}) {
                if (past ? cached == residence::all : cached == residence::little) continue;
                if (parts > 1 && launch.groups > 1) continue;
                launch.parts = parts;
                launch.past_caches = past;
                launch.dependent = dependent;
                launch.alternates = cached == residence::little;
                list.push_back(launch);
              }
        }
  return list;
}

/// How many groups were the fastest.
int usual_groups(const hopping_problem& p) { return p.number_bytes == 2 ? 1 : 2; }

/// For how many warps there are kernels; on ranks there is one.
std::vector<int> warps_of_tiles(const hopping_problem& p, const hopping_launch& launch) {
  std::vector<int> list{16};
  if (p.number_bytes != 2 || !launch.links_once || p.cut != 0) return list;
  if (launch.sites() <= 128) list.push_back(20);
  if (!p.with_clover) list.push_back(24);
  return list;
}

std::vector<hopping_launch> tile_candidates(const hopping_problem& p) {
  std::vector<hopping_launch> list;
  const std::vector<int> sizes = p.number_bytes == 8 ? std::vector{128, 96, 64} : std::vector{256, 128, 96};
  for (const int sites : sizes)
    for (const tile_shape& tile : tiles_of_about(p.local, sites, most_threads_in_z))
      for (const bool once : {true, false})
        for (const bool dependent : {true, false}) {
          hopping_launch launch = with_tile({}, tile);
          launch.variant = hopping_variant::tiles;
          launch.links_once = once;
          launch.dependent = dependent;
          launch.past_caches = once && !dependent;
          launch.alternates = residence_of(p) != residence::all;
          for (const int warps : warps_of_tiles(p, launch)) {
            launch.warps = warps;
            list.push_back(launch);
          }
        }
  return list;
}

}  // namespace

std::string hopping_launch::name() const {
  if (variant == hopping_variant::gather) return "gather";
  std::string s = variant == hopping_variant::tiles ? "tiles" : "batch";
  for (int mu = 0; mu < dimensions; ++mu) {
    s += mu == 0 ? " " : ".";
    s += std::to_string(tile[mu]);
  }
  if (groups > 1) s += " groups " + std::to_string(groups);
  if (parts > 1) s += " parts " + std::to_string(parts);
  if (whole_links) s += " whole";
  if (slab > 0) s += " slab " + std::to_string(slab);
  if (links_once) s += " once";
  if (past_caches) s += " past";
  if (alternates) s += " turns";
  if (dependent) s += " dependent";
  if (warps != 16) s += " warps " + std::to_string(warps);
  return s;
}

std::string text_of_cut(unsigned cut) {
  if (cut == 0) return "";
  std::string text = " cut ";
  for (int mu = 0; mu < dimensions; ++mu)
    if ((cut >> mu & 1U) != 0) text += "xyzt"[mu];
  return text;
}

std::vector<hopping_launch> candidates(const hopping_problem& p, int most) {
  auto list = p.columns == 1 ? tile_candidates(p) : batch_candidates(p);
  if (!p.starts_early) std::erase_if(list, [](const hopping_launch& launch) { return launch.dependent; });
  keep_those_for_ranks(list, p);
  keep_those_for_the_cache(list, p);
  if (list.empty()) return {hopping_launch{}};  // no room for the links of even the smallest tile
  const int full = most_threads(p.number_bytes);
  const residence cached = residence_of(p);
  // Measurements on one H200 (NOTES.md), as factors of time.
  const bool batch = p.columns > 1;
  const bool prefers_small = !batch && (p.with_clover || p.stored == reconstruct::eight);
  const bool prefers_once = cached == residence::some || (cached == residence::little && p.number_bytes != 2);
  const int usual_parts = p.number_bytes == 2 ? 2 : 1;
  const int usual_z_of_slab = p.number_bytes == 2 ? 16 : 8;
  const auto rank = [&](const hopping_launch& launch) {
    const tile_shape tile{{launch.tile[0], launch.tile[1], launch.tile[2], launch.tile[3]}};
    double r = badness(tile, p.local, batch ? 0.1 : 0.5);
    const int threads = launch.sites() * launch.groups, running = 2 * full / threads * threads;
    r *= std::sqrt(2.0 * full / running);
    const bool small = threads <= full / 2;
    if (small != prefers_small) r *= prefers_small ? 1.07 : launch.parts > 1 ? 0.99 : 1.02;
    if (batch && !launch.whole_links && launch.groups != usual_groups(p)) r *= 1.07;
    if (batch && p.local[2] > 16 && launch.slab * tile.size[2] != usual_z_of_slab) r *= launch.slab == 0 ? 1.05 : 1.01;
    if (!batch && launch.links_once != prefers_once) r *= p.with_clover || p.number_bytes == 2 ? 1.01 : 1.1;
    if (!batch && !launch.dependent) r *= cached == residence::little ? 1.005 : 1.03;
    if (batch && launch.dependent == (cached == residence::little)) r *= launch.dependent ? 1.005 : 1.08;
    if (batch && launch.groups == 1 && cached == residence::some)
      r *= 1.0 + 0.01 * std::abs(launch.parts - usual_parts);
    if (batch && launch.past_caches && cached == residence::some) r *= 1.008;
    if (launch.warps != 16) r *= 1.01;
    return r;
  };
  std::ranges::stable_sort(list, {}, rank);
  if (list.size() > static_cast<std::size_t>(most)) list.resize(static_cast<std::size_t>(most));
  return list;
}

hopping_launch default_launch(const hopping_problem& problem) { return candidates(problem).front(); }

}  // namespace plaquette::gpu
