// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hermitian_launch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace plaquette::gpu {

namespace {

/// Returns the numbers of a link that a site reads, in spinors.
double links_of_site(const hopping_problem& p) { return 4.0 * stored_reals(p.stored) / 24.0; }

/// Returns whether links and vectors stay in the second-level cache.
bool stays_in_cache(const hopping_problem& p) {
  const double sites = static_cast<double>(volume(p.local)), cache = static_cast<double>(p.cache_bytes);
  const double bytes = sites * (links_of_site(p) + 2.0 * p.columns) * 24.0 * p.number_bytes;
  return bytes < 0.8 * cache;
}

/// Returns the reads of a site from the second-level cache, in spinors, if a tile reads each number once. These are the
/// tile, its surface (of a neighbour in time one half), and the links behind its lower faces.
double reads_of(const double (&length)[dimensions], const extents& local, double links_of_site) {
  double spinors = 1.0, links = 1.0;
  for (int mu = 0; mu < dimensions; ++mu) {
    if (length[mu] >= local[mu]) continue;
    spinors += (mu == 3 ? 1.0 : mu == 2 ? 2.1 : 2.0) / length[mu];
    links += 0.25 / length[mu];
  }
  return spinors + links_of_site * links;
}

int warps_of(const hermitian_launch& launch) { return (launch.threads() + 31) / 32; }

/// Returns the share of threads that work, among all that are started.
double share_of_threads(const hermitian_launch& launch, const extents& local) {
  double share = launch.threads() / (32.0 * warps_of(launch));
  for (int mu = 0; mu < dimensions; ++mu) {
    const int length = mu == 0 ? local[0] / 2 : local[mu], of = launch.tile[mu];
    share *= static_cast<double>(length) / ((length + of - 1) / of * of);
  }
  return share;
}

/// Returns whether tiles of y rows fill the lattice along y, or have a few rows too many.
bool rows_fit(int y, int length) {
  const bool is_power = (y & (y - 1)) == 0;
  const int rows = (length + y - 1) / y * y;
  return is_power || y == length || 20 * rows <= 21 * length;
}

/// Returns lengths of tiles along x: rows, or equal parts of them.
std::vector<int> widths_of(int row, int positions) {
  std::vector<int> widths{std::min(row, std::max(positions, 1))};
  for (const int parts : {2, 3, 4})
    if (row % parts == 0 && row / parts >= 4) widths.push_back(row / parts);
  return widths;
}

hermitian_launch tile_launch(int x, int y, int z, int t, int groups) {
  hermitian_launch launch;
  launch.gather = false;
  launch.groups = groups;
  const int size[] = {x, y, z, t};
  std::copy(std::begin(size), std::end(size), launch.tile);
  return launch;
}

/// Returns one tile for a lattice smaller than a block, or for a narrow one.
hermitian_launch small_tile(const extents& local, int width, int positions, int groups) {
  hermitian_launch launch = tile_launch(width, 1, 1, 1, groups);
  for (const int mu : {1, 2, 3})
    while (2 * launch.positions() <= positions && 2 * launch.tile[mu] <= local[mu] &&
           (mu == 1 || 4 * launch.tile[2] * launch.tile[3] * groups <= most_threads_in_z))
      launch.tile[mu] *= 2;
  return launch;
}

/// Lengths of tiles along z and t, in the order in which they are tried.
constexpr std::array<std::array<int, 2>, 12> depths{
    {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}, {8, 1}, {8, 2}, {8, 4}}};

/// Returns tiles with about this number of threads.
std::vector<hermitian_launch> tiles_of(const extents& local, int threads, int groups) {
  const int positions = threads / (2 * groups);
  const std::vector<int> widths = widths_of(local[0] / 2, positions);
  const auto fits = [&](const hermitian_launch& launch) {
    const auto [x, y, z, t] = launch.tile;
    return rows_fit(y, local[1]) && z < 2 * local[2] && t <= local[3] && 2 * z * t * groups <= most_threads_in_z &&
           launch.positions() <= positions && 10 * launch.positions() >= 7 * positions;
  };
  std::vector<hermitian_launch> list;
  for (const int x : widths)
    for (int y = 1; y <= std::min(local[1], 16); ++y)
      for (const auto [z, t] : depths)
        if (const hermitian_launch launch = tile_launch(x, y, z, t, groups); fits(launch)) list.push_back(launch);
  if (list.empty()) list.push_back(small_tile(local, widths[0], positions, groups));
  return list;
}

/// Whether shared memory holds the links of as many tiles as a multiprocessor has threads for.
bool links_fit(const hopping_problem& p, const hermitian_launch& launch) {
  const int of_block = (2 * launch.positions() + 31) / 32 * 32 * 8 * stored_reals(p.stored) * p.number_bytes + 1024;
  return std::max(1, 2 * most_threads(p.number_bytes) / launch.threads()) * of_block <= p.shared_bytes;
}

/// Threads of a block, about, and the groups that they form.
struct block_shape {
  int threads, groups;
};

/// Whether a problem has the kernel with fewer registers.
bool has_small(const hopping_problem& p) { return p.columns == 1 && p.number_bytes == 8; }

/// Returns the blocks that are tried, in this order.
std::vector<block_shape> shapes_of(const hopping_problem& p) {
  const int usual = most_threads(p.number_bytes), wide = most_wide_threads(p.number_bytes);
  if (p.columns == 1 && !has_small(p)) return {{usual, 1}, {usual / 2, 1}};
  if (p.columns == 1) return {{usual, 1}, {usual / 2, 1}, {most_small_threads, 1}};
  std::vector<block_shape> shapes{{usual, 1}, {usual, 2}, {usual, 4}, {usual / 2, 1}, {usual / 2, 2}, {usual / 2, 4}};
  if (wide > usual) shapes.push_back({wide, 1});
  std::erase_if(shapes, [&](const block_shape& shape) { return shape.groups > p.columns; });
  return shapes;
}

/// How a block goes through its tiles.
struct launch_way {
  int steps, z_of_slab;  ///< sites of a slab along z, or 0
  bool dependent, small, halves;
};

/// Returns the ways of the given steps and slabs, in the order in which they are tried.
template <std::size_t N>
constexpr std::array<launch_way, 8 * N> ways_of(const std::array<std::array<int, 2>, N>& steps_and_slabs) {
  std::array<launch_way, 8 * N> ways{};
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto [steps, z_of_slab] = steps_and_slabs[i / 8];
    ways[i] = {steps, z_of_slab, (i & 4) == 0, (i & 2) != 0, (i & 1) == 0};
  }
  return ways;
}

constexpr auto ways_of_column_table = ways_of<4>({{{1, 0}, {2, 0}, {4, 0}, {8, 0}}});
constexpr auto ways_of_batch_table = ways_of<3>({{{1, 8}, {1, 16}, {1, 0}}});
constexpr std::span<const launch_way> ways_of_column = ways_of_column_table, ways_of_batch = ways_of_batch_table;

/// Returns whether the tile can be launched that way, and whether it may help.
bool is_possible(const launch_way& way, const hopping_problem& p, const hermitian_launch& tile, int threads,
                 bool resident) {
  const bool batch = p.columns > 1;
  const int most_of_block = batch ? threads : most_threads(p.number_bytes);
  return way.steps * tile.tile[3] <= p.local[3] && (way.z_of_slab == 0 || way.z_of_slab < p.local[2]) &&
         (!way.dependent || p.starts_early) && (!way.small || has_small(p)) &&
         tile.threads() <= (way.small ? most_small_threads : most_of_block) && (!way.halves || (batch && !resident));
}

hermitian_launch launched(hermitian_launch tile, const launch_way& way, bool resident) {
  tile.steps = way.steps;
  tile.slab = way.z_of_slab == 0 ? 0 : std::max(1, way.z_of_slab / tile.tile[2]);
  tile.dependent = way.dependent;
  tile.small = way.small;
  tile.halves = way.halves;
  tile.alternates = !resident;
  return tile;
}

// ---- Measurements on an H200 (NOTES.md), as factors of time

/// Returns the time of any launch, relative to others: reads, threads without work, lines of memory and warps.
double time_of_tile(const hermitian_launch& launch, const hopping_problem& p) {
  const double length[] = {2.0 * launch.tile[0], static_cast<double>(launch.tile[1]),
                           static_cast<double>(launch.tile[2]), static_cast<double>(launch.tile[3])};
  double r = (1.0 + 0.04 * reads_of(length, p.local, links_of_site(p))) / share_of_threads(launch, p.local);
  // Lines of 128 bytes, of which short rows of x use a part.
  if (2 * launch.tile[0] < p.local[0]) r *= launch.tile[0] % 8 == 0 ? 1.05 : 1.2;
  if (!launch.dependent) r *= 1.005;
  // Warps that a multiprocessor holds, if registers leave room for as many in each quarter. (Twelve with fewer
  // registers are worth eight.)
  const int warps = warps_of(launch), most = p.number_bytes == 8 ? 8 : 16;
  const int resident = launch.small ? most : std::max(1, most / warps) * warps;
  return r * std::pow(static_cast<double>(most) / resident, 0.3);
}

/// Returns r times the factors of one column. Small blocks: the last ones leave less of the machine without work.
double time_of_column(double r, const hermitian_launch& launch, const hopping_problem& p) {
  const bool is_large = p.number_bytes == 8 && !launch.small && static_cast<double>(volume(p.local)) > 1.5e6;
  r *= launch.small ? 1.05 : 1.0 + 0.01 * warps_of(launch);
  if (launch.small && (launch.tile[2] > 2 || launch.tile[3] > 1)) r *= 1.01;
  if (launch.steps > 1) r *= is_large ? 0.99 : 1.02;
  return r;
}

/// Returns r times the factors of wide blocks of a batch. They read less from the second-level cache, the bottleneck.
double time_of_wide_block(double r, const hermitian_launch& launch, const hopping_problem& p) {
  if (launch.halves) r *= 1.1;
  if (launch.tile[3] > 1) r *= 1.06;
  if (launch.tile[2] > 2) r *= 1.04;
  if (p.local[2] > 16 && launch.slab * launch.tile[2] != 8) r *= 1.06;
  return r;
}

/// Returns r times the factors of other blocks of a batch.
double time_of_batch(double r, const hermitian_launch& launch, const hopping_problem& p) {
  // Links of few sites leave more of the first-level cache to the spinors.
  if (launch.positions() > (p.number_bytes == 8 ? 32 : 64)) r *= 1.06;
  if (launch.tile[2] * launch.tile[3] > 1) r *= 1.03;
  const int usual_groups = p.number_bytes == 4 && 2 * launch.positions() <= 96 ? 1 : 2;
  if (launch.groups != usual_groups) r *= 1.05;
  if (launch.halves) r *= 1.06;
  if (p.local[2] > 16 && launch.slab * launch.tile[2] != 8) r *= launch.slab == 0 ? 1.04 : 1.01;
  return r;
}

double relative_time(const hermitian_launch& launch, const hopping_problem& p) {
  const double r = time_of_tile(launch, p);
  if (p.columns == 1) return time_of_column(r, launch, p);
  return launch.wide(p.number_bytes) ? time_of_wide_block(r, launch, p) : time_of_batch(r, launch, p);
}

}  // namespace

std::string hermitian_launch::name() const {
  if (gather) return "gather";
  std::string s;
  for (int mu = 0; mu < dimensions; ++mu) s += (mu == 0 ? "" : ".") + std::to_string(tile[mu]);
  if (steps > 1) s += " steps " + std::to_string(steps);
  if (small) s += " small";
  if (groups > 1) s += " groups " + std::to_string(groups);
  if (slab > 0) s += " slab " + std::to_string(slab);
  if (halves) s += " halves";
  if (past_caches) s += " past";
  if (alternates) s += " turns";
  if (dependent) s += " dependent";
  return s;
}

std::vector<hermitian_launch> possible_launches(const hopping_problem& p) {
  const bool batch = p.columns > 1, resident = stays_in_cache(p);
  std::vector<hermitian_launch> list;
  for (const block_shape& shape : shapes_of(p))
    for (const hermitian_launch& tile : tiles_of(p.local, shape.threads, shape.groups)) {
      if (batch && !links_fit(p, tile)) continue;
      for (const launch_way& way : batch ? ways_of_batch : ways_of_column)
        if (is_possible(way, p, tile, shape.threads, resident)) list.push_back(launched(tile, way, resident));
    }
  return list;
}

std::vector<hermitian_launch> hermitian_candidates(const hopping_problem& p, int most) {
  std::vector<hermitian_launch> list = possible_launches(p);
  if (list.empty()) return {hermitian_launch{}};
  std::ranges::stable_sort(list, {}, [&](const hermitian_launch& launch) { return relative_time(launch, p); });
  if (list.size() > static_cast<std::size_t>(most)) list.resize(static_cast<std::size_t>(most));
  return list;
}

}  // namespace plaquette::gpu
