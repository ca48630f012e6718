// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The launches that the Hermitian Wilson operator may take, against lists of an earlier revision. Eight nested loops
/// (before 5076d9e4) made those; a table and a filter make them now.
#include "gpu/dirac/hermitian_launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plaquette::validation {
namespace {

/// The loops' list of a problem: launches, the first and the last, and the candidate with the best rank.
struct known_list {
  std::size_t count;
  std::uint32_t code;  ///< of all names, in their order: see code_of
  const char *first, *last, *best;
};

gpu::hopping_problem problem(const extents& local, int columns, int number_bytes, reconstruct stored,
                             std::size_t cache_bytes, bool starts_early) {
  gpu::hopping_problem made;
  made.local = local;
  made.columns = columns;
  made.number_bytes = number_bytes;
  made.stored = stored;
  made.cache_bytes = cache_bytes;
  made.starts_early = starts_early;
  return made;
}

constexpr std::size_t tiny_cache = 1000, usual_cache = 50 << 20;

const std::pair<gpu::hopping_problem, known_list> known_lists[] = {
    {problem({16, 16, 16, 32}, 1, 8, reconstruct::twelve, tiny_cache, true),
     {576, 0x55d56554, "8.1.2.4 turns dependent", "8.8.1.1 steps 8 small turns", "8.2.2.2 turns dependent"}},
    {problem({24, 24, 24, 64}, 1, 4, reconstruct::eight, usual_cache, false),
     {316, 0x3caeae19, "12.1.2.4 turns", "4.16.1.1 steps 8 turns", "12.2.2.1 turns"}},
    {problem({24, 24, 24, 64}, 12, 8, reconstruct::twelve, usual_cache, true),
     {1608, 0x55b7e38c, "12.1.1.4 slab 8 halves turns dependent", "4.12.2.1 turns", "12.4.2.1 slab 4 turns dependent"}},
    {problem({24, 24, 24, 64}, 12, 4, reconstruct::none, usual_cache, true),
     {1416, 0xa69cfa76, "12.1.2.4 slab 4 halves turns dependent", "4.4.1.1 groups 4 turns",
      "12.2.1.1 groups 2 slab 8 turns dependent"}},
    {problem({8, 8, 8, 8}, 4, 4, reconstruct::twelve, usual_cache, true),
     {106, 0xeb1d067f, "4.1.8.4 dependent", "4.4.1.1 groups 4", "4.2.4.2 groups 2 dependent"}},
    {problem({12, 4, 6, 2}, 2, 8, reconstruct::twelve, tiny_cache, false),
     {38, 0x3b3ae6f9, "6.1.4.2 halves turns", "6.4.4.1 turns", "6.4.2.2 turns"}},
    {problem({20, 18, 34, 10}, 3, 2, reconstruct::eight, tiny_cache, true),
     {432, 0x1c9dfdd8, "10.3.1.4 slab 8 halves turns dependent", "5.6.1.1 groups 2 turns",
      "10.6.1.1 groups 2 slab 8 turns dependent"}},
    {problem({32, 32, 32, 16}, 24, 8, reconstruct::none, tiny_cache, true),
     {780, 0x9cc66766, "16.3.1.1 slab 8 halves turns dependent", "4.11.2.1 turns",
      "16.2.1.1 groups 2 slab 8 turns dependent"}},
};

std::vector<std::string> names_of(const std::vector<gpu::hermitian_launch>& launches) {
  std::vector<std::string> names;
  for (const gpu::hermitian_launch& launch : launches) names.push_back(launch.name());
  return names;
}

/// Returns a polynomial in 31 of all letters, modulo 2^32, which depends on the order.
std::uint32_t code_of(const std::vector<std::string>& names) {
  std::uint32_t code = 0;
  for (const std::string& name : names)
    for (const char letter : name + '\n') code = 31 * code + static_cast<unsigned char>(letter);
  return code;
}

TEST(HermitianLaunch, ListsWhatNestedLoopsListed) {
  for (const auto& [given, known] : known_lists) {
    SCOPED_TRACE(to_string(given.local) + ", columns " + std::to_string(given.columns));
    const std::vector<std::string> names = names_of(gpu::possible_launches(given));
    ASSERT_EQ(names.size(), known.count);
    EXPECT_EQ(names.front(), known.first);
    EXPECT_EQ(names.back(), known.last);
    EXPECT_EQ(code_of(names), known.code);
  }
}

TEST(HermitianLaunch, ACandidateIsOneOfTheListAndTheBestOneComesFirst) {
  for (const auto& [given, known] : known_lists) {
    SCOPED_TRACE(to_string(given.local) + ", columns " + std::to_string(given.columns));
    const std::vector<std::string> few = names_of(gpu::hermitian_candidates(given));
    EXPECT_EQ(few.front(), known.best);
    EXPECT_EQ(few.size(), 24U);
    std::vector<std::string> all = names_of(gpu::possible_launches(given)),
                             ranked = names_of(gpu::hermitian_candidates(given, 100000));
    EXPECT_TRUE(std::ranges::equal(few, std::vector(ranked.begin(), ranked.begin() + 24)));
    std::ranges::sort(all);
    std::ranges::sort(ranked);
    EXPECT_EQ(all, ranked);
  }
}

}  // namespace
}  // namespace plaquette::validation
