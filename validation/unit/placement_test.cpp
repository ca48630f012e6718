// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which cores and which memory the threads of each rank get, on machines made up here.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "common/app/placement.hpp"
#include "common/comms/communicator.hpp"
#include "common/error.hpp"

namespace plaquette {
namespace {

/// `nodes` NUMA nodes, two a package, of `cores` cores of two CPUs each.
std::vector<core_place> machine(int nodes, int cores_a_node) {
  std::vector<core_place> cores;
  for (int n = 0; n < nodes; ++n)
    for (int c = 0; c < cores_a_node; ++c) {
      const int core = n * cores_a_node + c;
      cores.push_back({core, n, n / 2, {core, core + nodes * cores_a_node}});
    }
  return cores;
}

TEST(GoodPlacement, GivesEveryThreadACoreOfItsOwnWhereThereAreEnough) {
  for (const auto& [nodes, cores, ranks, threads] : std::vector<std::array<int, 4>>{
           {1, 2, 2, 1}, {1, 2, 1, 2}, {2, 8, 2, 8}, {2, 8, 4, 4}, {4, 6, 8, 3}, {4, 6, 2, 12}, {2, 8, 4, 2}}) {
    std::set<int> used;
    for (int rank = 0; rank < ranks; ++rank)
      for (const thread_place& t :
           plan_placement(machine(nodes, cores), placement_policy::good, ranks, rank, threads)) {
        EXPECT_TRUE(used.insert(t.core).second) << nodes << ' ' << cores << ' ' << ranks << ' ' << threads;
        EXPECT_EQ(t.memory_node, -1);
      }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(ranks * threads));
  }
}

TEST(GoodPlacement, KeepsARankWithinOneNodeWhereRanksAreAsManyAsNodesOrMore) {
  for (const int ranks : {2, 3, 4, 5, 8, 16, 40})
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<int> nodes;
      for (const thread_place& t : plan_placement(machine(2, 8), placement_policy::good, ranks, rank, 4))
        nodes.insert(t.numa_node);
      EXPECT_EQ(nodes.size(), 1u);
    }
}

TEST(GoodPlacement, SpreadsFewThreadsOverARanksCores) {
  const auto places = plan_placement(machine(2, 8), placement_policy::good, 1, 0, 4);
  ASSERT_EQ(places.size(), 4u);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(places[static_cast<std::size_t>(t)].core, 4 * t);
  EXPECT_EQ(places[2].numa_node, 1);
}

TEST(GoodPlacement, UsesSecondCpusOfACoreLast) {
  std::map<int, int> threads_of_cpu;
  for (const thread_place& t : plan_placement(machine(1, 3), placement_policy::good, 1, 0, 6)) ++threads_of_cpu[t.cpu];
  EXPECT_EQ(threads_of_cpu.size(), 6u);
}

TEST(BadPlacement, TakesMemoryFromAnotherNodeOnTheOtherPackage) {
  for (int rank = 0; rank < 4; ++rank)
    for (const thread_place& t : plan_placement(machine(4, 6), placement_policy::bad, 4, rank, 6)) {
      EXPECT_EQ(t.numa_node, rank);
      EXPECT_EQ(t.memory_node, (rank + 2) % 4);
      EXPECT_NE(t.memory_node / 2, t.package);
    }
}

TEST(BadPlacement, PutsAllThreadsOnOneCoreWhereThereIsOneNode) {
  for (int rank = 0; rank < 2; ++rank)
    for (const thread_place& t : plan_placement(machine(1, 4), placement_policy::bad, 2, rank, 2)) {
      EXPECT_EQ(t.cpu, 0);
      EXPECT_EQ(t.memory_node, -1);
    }
}

TEST(Placement, WordsAreReadAndOthersRefused) {
  for (const auto policy : {placement_policy::none, placement_policy::good, placement_policy::bad})
    EXPECT_EQ(parse_placement_policy(name(policy), "--placement"), policy);
  EXPECT_THROW(parse_placement_policy("best", "--placement"), input_error);
}

TEST(Placement, IsReportedForEveryThread) {
  const placement_record record = place_threads(placement_policy::none, 2, communicator());
  const auto document = to_json(record);
  EXPECT_EQ(document["policy"], "none");
  ASSERT_EQ(document["ranks"].size(), 1u);
  EXPECT_NE(document["ranks"][0]["host"], "");
  if (record.hwloc == "none") {
    EXPECT_NE(record.note, "");
    return;
  }
  EXPECT_EQ(document["ranks"][0]["cores"].size(), 2u);
  EXPECT_GE(record.cores, 1);
  for (const thread_place& t : record.ranks[0].threads) EXPECT_GE(t.core, 0);
}

}  // namespace
}  // namespace plaquette
