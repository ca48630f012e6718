// SPDX-License-Identifier: BSD-3-Clause
#include "common/comms/communicator.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "common/error.hpp"
#include "common/lattice/site_field.hpp"
#ifdef PLAQUETTE_WITH_MPI
#include "common/comms/mpi_communicator.hpp"
#endif

namespace plaquette {
namespace {

TEST(Communicator, SumsMaximaAndBitsAgreeOnAllRanks) {
  const auto world = communicator::world();
  const int n = world.size();
  double values[2] = {1.0 + world.rank(), 0.5};
  world.sum(std::span(values));
  EXPECT_EQ(values[0], 0.5 * n * (n + 1));
  EXPECT_EQ(values[1], 0.5 * n);
  double largest = world.rank();
  world.maximum({&largest, 1});
  EXPECT_EQ(largest, n - 1);
  std::uint32_t bits = 1u << world.rank();
  world.exclusive_or({&bits, 1});
  EXPECT_EQ(bits, (1u << n) - 1);
}

TEST(Communicator, MaximumKeepsANaNOfOneRank) {
  const auto world = communicator::world();
  double value = world.rank() == world.size() - 1 ? std::nan("") : 1.0;
  world.maximum({&value, 1});
  EXPECT_TRUE(std::isnan(value));
}

TEST(Communicator, GathersThePartsInTheOrderOfRanks) {
  const auto world = communicator::world();
  const int mine[2] = {world.rank(), -world.rank()};
  std::vector<int> all(2 * static_cast<std::size_t>(world.size()), 99), later = all;
  world.gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  auto under_way = world.start_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(later)));
  while (!under_way.poll()) {
  }
  under_way.wait();
  for (int rank = 0; rank < world.size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(2 * rank)], rank);
    EXPECT_EQ(all[static_cast<std::size_t>(2 * rank + 1)], -rank);
  }
  EXPECT_EQ(later, all);
  EXPECT_THROW(world.gather({}, std::as_writable_bytes(std::span(all))), std::logic_error);
}

TEST(Communicator, AnExchangeGoesRoundTheRing) {
  const auto world = communicator::world();
  const int up = (world.rank() + 1) % world.size(), down = (world.rank() + world.size() - 1) % world.size();
  std::vector<int> to_up(1000, world.rank()), to_down(10, -world.rank()), from_down(1000, -99), from_up(10, -99);
  const outgoing_message send[] = {{up, 0, std::as_bytes(std::span(to_up))},
                                   {down, 1, std::as_bytes(std::span(to_down))}};
  const incoming_message receive[] = {{down, 0, std::as_writable_bytes(std::span(from_down))},
                                      {up, 1, std::as_writable_bytes(std::span(from_up))}};
  world.start_exchange(send, receive).wait();
  EXPECT_EQ(from_down, std::vector<int>(1000, down));
  EXPECT_EQ(from_up, std::vector<int>(10, -up));
}

TEST(Communicator, ExchangesAreGivenUpWhereNobodySends_OnSeveralRanks) {
  const auto world = communicator::world();
  const int up = (world.rank() + 1) % world.size(), down = (world.rank() + world.size() - 1) % world.size();
  std::vector<int> never(10, -99), from_down(10, -99);
  const auto begin = std::chrono::steady_clock::now();
  try {
    const incoming_message receive[] = {{down, 3, std::as_writable_bytes(std::span(never))}};
    const auto pending = world.start_exchange({}, receive);
    throw std::runtime_error("on all ranks");
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "on all ranks");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  world.barrier();
  // Now that all have given up, a message of the same tag is not taken for the one that never came.
  const std::vector<int> mine(10, world.rank());
  const outgoing_message send[] = {{up, 3, std::as_bytes(std::span(mine))}};
  const incoming_message receive[] = {{down, 3, std::as_writable_bytes(std::span(from_down))}};
  world.start_exchange(send, receive).wait();
  EXPECT_EQ(from_down, std::vector<int>(10, down));
  EXPECT_EQ(never, std::vector<int>(10, -99));
}

TEST(Communicator, ExchangesUnderWayEndWhereAnExceptionMeetsThem) {
  const auto world = communicator::world();
  const int up = (world.rank() + 1) % world.size(), down = (world.rank() + world.size() - 1) % world.size();
  const std::vector<int> mine(100000, world.rank());
  std::vector<int> from_down(100000, -99);
  try {
    const outgoing_message send[] = {{up, 4, std::as_bytes(std::span(mine))}};
    const incoming_message receive[] = {{down, 4, std::as_writable_bytes(std::span(from_down))}};
    const auto pending = world.start_exchange(send, receive);
    throw std::runtime_error("on all ranks");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(from_down, std::vector<int>(100000, down));
}

#ifdef PLAQUETTE_WITH_MPI
TEST(Communicator, IsMadeOfAGroupOfTheCallersOwn) {
  const auto world = communicator::world();
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -world.rank(), &reversed);
  {
    const communicator group = communicator_of(reversed);
    EXPECT_EQ(group.size(), world.size());
    EXPECT_EQ(group.rank(), world.size() - 1 - world.rank());
    // A message of the caller's that waits in its group is none of the library's, whatever its tag.
    const int peer = (group.rank() + 1) % group.size(), from = (group.rank() + group.size() - 1) % group.size();
    int callers = -1, librarys = -1;
    const int mine = 100 + group.rank(), other = group.rank();
    MPI_Request sent = MPI_REQUEST_NULL;
    MPI_Isend(&mine, sizeof mine, MPI_BYTE, peer, 0, reversed, &sent);
    const outgoing_message send[] = {{peer, 0, std::as_bytes(std::span(&other, 1))}};
    const incoming_message receive[] = {{from, 0, std::as_writable_bytes(std::span(&librarys, 1))}};
    group.start_exchange(send, receive).wait();
    MPI_Recv(&callers, sizeof callers, MPI_BYTE, from, 0, reversed, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    EXPECT_EQ(librarys, from);
    EXPECT_EQ(callers, 100 + from);
  }
  MPI_Comm_free(&reversed);  // it is the caller's still
  EXPECT_THROW(communicator_of(MPI_COMM_NULL), std::invalid_argument);
}
#endif

TEST(MpiLauncher, IsSeenInTheEnvironment) {
  const auto is_launched = [](std::vector<const char*> environment) {
    environment.push_back(nullptr);
    return is_launched_by_mpi(environment.data());
  };
  EXPECT_FALSE(is_launched({}));
  EXPECT_FALSE(is_launched({"PATH=/bin", "OMPI_MCA_btl=self", "SLURM_JOB_ID=7", "MY_PMI_RANK=1", "PMIX_MCA_gds=hash"}));
  for (const char* launcher : {"OMPI_COMM_WORLD_SIZE=2", "PMI_RANK=0", "PMIX_RANK=0", "SLURM_STEP_NUM_TASKS=4",
                               "MV2_COMM_WORLD_RANK=0", "PALS_RANKID=1", "FLUX_TASK_RANK=0"}) {
    EXPECT_TRUE(is_launched({"PATH=/bin", launcher})) << launcher;
    EXPECT_FALSE(is_launched({launcher, "PLAQUETTE_MPI=never"})) << launcher;
    EXPECT_TRUE(is_launched({launcher, "PLAQUETTE_MPI=auto"})) << launcher;
  }
  EXPECT_TRUE(is_launched({"PLAQUETTE_MPI=always"}));
  EXPECT_THROW(is_launched({"PLAQUETTE_MPI=perhaps"}), input_error);
}

TEST(SiteField, GhostsAndCornersHoldTheNeighboursSites) {
  const auto world = communicator::world();
  for (const extents& global : {extents{8, 8, 8, 16}, extents{16, 8, 8, 4}, extents{12, 12, 12, 12}}) {
    extents grid;
    try {
      grid = smallest_surface_grid(global, world.size());
    } catch (const std::exception&) {
      continue;  // three ranks do not cut every lattice
    }
    const lattice_geometry geometry(global, grid, world.rank());
    site_field<double> field(geometry);
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s) {
      const coordinate x = geometry.local_coordinate(s);
      field(x) = static_cast<double>(geometry.global_index(x));
    }
    exchange_ghosts(field, world);
    coordinate x;
    const extents& l = geometry.local();
    for (x[3] = -1; x[3] <= l[3]; ++x[3])
      for (x[2] = -1; x[2] <= l[2]; ++x[2])
        for (x[1] = -1; x[1] <= l[1]; ++x[1])
          for (x[0] = -1; x[0] <= l[0]; ++x[0])
            ASSERT_EQ(field(x), static_cast<double>(geometry.global_index(x))) << to_string(x);
  }
}

}  // namespace
}  // namespace plaquette
