// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hermitian_launch.hpp"

#include <algorithm>
#include <cmath>

namespace plaquette::gpu {

namespace {

/// Returns what a site reads from the second-level cache, in spinors, where a tile reads each number once. These are
/// the tile, its surface (of a neighbour in time one half), and the links behind its lower faces.
double reads_of(const double (&length)[dimensions], const extents& local, double links_of_site) {
  double spinors = 1.0, links = 1.0;
  for (int mu = 0; mu < dimensions; ++mu) {
    if (length[mu] >= local[mu]) continue;
    spinors += (mu == 3 ? 1.0 : mu == 2 ? 2.1 : 2.0) / length[mu];
    links += 0.25 / length[mu];
  }
  return spinors + links_of_site * links;
}

/// How many threads work, of those that are started.
double share_of_threads(const hermitian_launch& launch, const extents& local) {
  double share = launch.threads() / (32.0 * ((launch.threads() + 31) / 32));
  for (int mu = 0; mu < dimensions; ++mu) {
    const int length = mu == 0 ? local[0] / 2 : local[mu], of = launch.tile[mu];
    share *= static_cast<double>(length) / ((length + of - 1) / of * of);
  }
  return share;
}

/// Tiles with about this number of threads: rows of x, or equal parts of them.
std::vector<hermitian_launch> tiles_of(const extents& local, int threads, int groups) {
  std::vector<hermitian_launch> list;
  const int row = local[0] / 2, positions = threads / (2 * groups);
  std::vector<int> widths{std::min(row, std::max(positions, 1))};
  for (const int parts : {2, 3, 4})
    if (row % parts == 0 && row / parts >= 4) widths.push_back(row / parts);
  for (const int x : widths)
    for (int y = 1; y <= local[1] && y <= 16; ++y) {
      const bool power = (y & (y - 1)) == 0;
      // Or with a few rows too many.
      const int rows = (local[1] + y - 1) / y * y;
      if (!power && y != local[1] && 20 * rows > 21 * local[1]) continue;
      for (int z = 1; z <= 8 && z < 2 * local[2]; z *= 2)
        for (int t = 1; t <= 4 && t <= local[3]; t *= 2) {
          hermitian_launch launch;
          launch.gather = false;
          launch.groups = groups;
          const int size[] = {x, y, z, t};
          std::copy(std::begin(size), std::end(size), launch.tile);
          if (2 * z * t * groups <= most_threads_in_z && launch.positions() <= positions &&
              10 * launch.positions() >= 7 * positions)
            list.push_back(launch);
        }
    }
  if (list.empty()) {  // a lattice smaller than a block, or a narrow one
    hermitian_launch launch;
    launch.gather = false;
    launch.groups = groups;
    launch.tile[0] = widths[0];
    for (const int mu : {1, 2, 3})
      while (2 * launch.positions() <= positions && 2 * launch.tile[mu] <= local[mu] &&
             (mu == 1 || 4 * launch.tile[2] * launch.tile[3] * groups <= most_threads_in_z))
        launch.tile[mu] *= 2;
    list.push_back(launch);
  }
  return list;
}

/// Whether shared memory holds the links of as many tiles as a multiprocessor has threads for.
bool links_fit(const hopping_problem& p, const hermitian_launch& launch) {
  const int of_block = (2 * launch.positions() + 31) / 32 * 32 * 8 * stored_reals(p.stored) * p.number_bytes + 1024;
  return std::max(1, 2 * most_threads(p.number_bytes) / launch.threads()) * of_block <= p.shared_bytes;
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

std::vector<hermitian_launch> hermitian_candidates(const hopping_problem& p, int most) {
  const bool batch = p.columns > 1;
  const int most_of_block = most_threads(p.number_bytes);
  const double sites = static_cast<double>(volume(p.local)), cache = static_cast<double>(p.cache_bytes);
  const double links_of_site = 4.0 * stored_reals(p.stored) / 24.0;
  const double bytes = sites * (links_of_site + 2.0 * p.columns) * 24.0 * p.number_bytes;
  const bool resident = bytes < 0.8 * cache;

  std::vector<hermitian_launch> list;
  const bool has_small = !batch && p.number_bytes == 8;
  std::vector<int> sizes{most_of_block, most_of_block / 2};
  if (has_small) sizes.push_back(most_small_threads);
  if (batch && most_wide_threads(p.number_bytes) > most_of_block) sizes.push_back(most_wide_threads(p.number_bytes));
  for (const int threads : sizes)
    for (const int groups : batch ? std::vector{1, 2, 4} : std::vector{1}) {
      if (groups > p.columns || (batch && groups > 1 && threads > most_of_block)) continue;
      for (const hermitian_launch& tile : tiles_of(p.local, threads, groups)) {
        if (batch && !links_fit(p, tile)) continue;
        for (const int steps : batch ? std::vector{1} : std::vector{1, 2, 4, 8})
          for (const int z_of_slab : batch ? std::vector{8, 16, 0} : std::vector{0}) {
            if (steps * tile.tile[3] > p.local[3] || (z_of_slab > 0 && p.local[2] <= z_of_slab)) continue;
            for (const bool dependent : {true, false})
              for (const bool small : {false, true})
                for (const bool halves : {true, false}) {
                  if ((dependent && !p.starts_early) || (small && !has_small) ||
                      tile.threads() > (small   ? most_small_threads
                                        : batch ? threads
                                                : most_of_block) ||
                      (halves && (resident || !batch)))
                    continue;
                  hermitian_launch launch = tile;
                  launch.steps = steps;
                  launch.slab = z_of_slab == 0 ? 0 : std::max(1, z_of_slab / tile.tile[2]);
                  launch.dependent = dependent;
                  launch.small = small;
                  launch.halves = halves;
                  launch.alternates = !resident;
                  list.push_back(launch);
                }
          }
      }
    }
  if (list.empty()) return {hermitian_launch{}};

  // What was measured on H200 (NOTES.md), as factors of time.
  const bool in_double = p.number_bytes == 8;
  const auto rank = [&](const hermitian_launch& launch) {
    const double length[] = {2.0 * launch.tile[0], static_cast<double>(launch.tile[1]),
                             static_cast<double>(launch.tile[2]), static_cast<double>(launch.tile[3])};
    double r = (1.0 + 0.04 * reads_of(length, p.local, links_of_site)) / share_of_threads(launch, p.local);
    // Lines of 128 bytes, of which short rows of x use a part.
    if (2 * launch.tile[0] < p.local[0]) r *= launch.tile[0] % 8 == 0 ? 1.05 : 1.2;
    if (!launch.dependent) r *= 1.005;
    // Warps that a multiprocessor holds, where registers leave room for as many in each quarter. (Twelve with fewer
    // registers are worth eight.)
    const int warps = (launch.threads() + 31) / 32, most = in_double ? 8 : 16;
    const int resident = launch.small ? most : std::max(1, most / warps) * warps;
    r *= std::pow(static_cast<double>(most) / resident, 0.3);
    if (!batch) {
      // Small blocks: the last ones leave less of the machine without work.
      r *= launch.small ? 1.05 : 1.0 + 0.01 * warps;
      if (launch.small && (launch.tile[2] > 2 || launch.tile[3] > 1)) r *= 1.01;
      if (launch.steps > 1) r *= in_double && !launch.small && sites > 1.5e6 ? 0.99 : 1.02;
      return r;
    }
    // Wide blocks read less from the second-level cache, which is what binds.
    if (launch.wide(p.number_bytes)) {
      if (launch.halves) r *= 1.1;
      if (launch.tile[3] > 1) r *= 1.06;
      if (launch.tile[2] > 2) r *= 1.04;
      if (p.local[2] > 16 && launch.slab * launch.tile[2] != 8) r *= 1.06;
      return r;
    }
    // Links of few sites leave more of the first-level cache to the spinors.
    if (launch.positions() > (in_double ? 32 : 64)) r *= 1.06;
    if (launch.tile[2] * launch.tile[3] > 1) r *= 1.03;
    const int usual_groups = p.number_bytes == 4 && 2 * launch.positions() <= 96 ? 1 : 2;
    if (launch.groups != usual_groups) r *= 1.05;
    if (launch.halves) r *= 1.06;
    if (p.local[2] > 16 && launch.slab * launch.tile[2] != 8) r *= launch.slab == 0 ? 1.04 : 1.01;
    return r;
  };
  std::ranges::stable_sort(list, {}, rank);
  if (list.size() > static_cast<std::size_t>(most)) list.resize(static_cast<std::size_t>(most));
  return list;
}

}  // namespace plaquette::gpu
