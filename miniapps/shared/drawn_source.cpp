// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/drawn_source.hpp"

#include <cstddef>
#include <numeric>

namespace plaquette::scaling {

namespace {

/// Returns place number `number` of a walk from `start` that takes each of `count` places once before it repeats.
std::int64_t place_of_walk(std::int64_t start, std::int64_t count, std::uint64_t seed, int number) {
  if (count == 1) return start;
  // The first stride from a drawn one on that has no factor in common with the number of places.
  std::uint64_t bits = (seed + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits ^= bits >> 27;
  auto stride = 1 + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(count - 1));
  while (std::gcd(stride, count) != 1) stride = stride % (count - 1) + 1;
  const std::int64_t steps = 1 + number % (count - 1);  // never the start
  std::int64_t place = start;
  for (std::int64_t bit = 0, jump = stride; steps >> bit != 0; ++bit, jump = (jump + jump) % count)
    if ((steps >> bit) & 1) place = (place + jump) % count;
  return place;
}

}  // namespace

source_description drawn_source(const source_description& source, const extents& lattice, std::uint64_t seed,
                                int number) {
  source_description drawn = source;
  if (source.kind == source_kind::wall) {
    drawn.position[3] = static_cast<int>(place_of_walk(source.position[3], lattice[3], seed, number));
    return drawn;
  }
  std::int64_t start = 0;
  for (std::size_t mu = 4; mu-- > 0;) start = start * lattice[mu] + source.position[mu];
  std::int64_t place = place_of_walk(start, volume(lattice), seed, number);
  for (std::size_t mu = 0; mu < 4; ++mu) {
    drawn.position[mu] = static_cast<int>(place % lattice[mu]);
    place /= lattice[mu];
  }
  return drawn;
}

}  // namespace plaquette::scaling
