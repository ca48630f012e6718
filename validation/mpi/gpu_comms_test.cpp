// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Transports of bytes between devices, on several ranks. In the host build the ranks' processes run the same protocols
/// on memory that they share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "common/error.hpp"
#include "gpu/comms/device_messages.hpp"
#include "gpu/comms/global_sum.hpp"
#include "gpu/comms/peer_memory.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/device/graph.hpp"

namespace plaquette::gpu {
namespace {

using testing::HasSubstr;

int own_device() {
  const auto world = communicator::world();
  return rank_map(world).device_for(world.rank());
}

/// Some ranks are late, by up to 2 ms; others at other times.
void be_late_sometimes(std::mt19937& source) {
  if (source() % 8 == 0) usleep(static_cast<useconds_t>(source() % 2000));
}
std::mt19937 source_of_rank(unsigned seed) {
  return std::mt19937(seed + 1000U * static_cast<unsigned>(communicator::world().rank()));
}

/// Memory of the device with a copy on the host.
template <class T>
class device_array {
 public:
  device_array(const queue& q, std::vector<T> numbers)
      : queue_(q), host_(std::move(numbers)), memory_(allocate_on_device(q.device(), bytes())) {
    upload();
  }
  T* on_device() { return reinterpret_cast<T*>(memory_.get()); }
  std::vector<T>& host() { return host_; }
  void upload() { copy_to_device(queue_, memory_.get(), host_.data(), bytes()); }
  const std::vector<T>& download() {
    copy_to_host(queue_, host_.data(), memory_.get(), bytes());
    return host_;
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(T); }
  queue queue_;
  std::vector<T> host_;
  std::shared_ptr<std::byte> memory_;
};

// --- Memory ----------------------------------------------------------------------------------------------------------

TEST(PeerMemory, IsZeroAtFirstAndIsWrittenAndReadByEveryRankThatReachesIt) {
  const auto world = communicator::world();
  const queue q(own_device());
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto me = static_cast<std::size_t>(world.rank());
  // Not the same for all ranks, and more than a page of the device of some.
  const auto numbers_of = [&](std::size_t rank) { return ranks + (rank % 3 == 1 ? 600000U : 1U); };
  const peer_memory memory(world, q.device(), numbers_of(me) * sizeof(std::uint64_t));
  EXPECT_EQ(memory.of(world.rank()), memory.mine());
  EXPECT_TRUE(memory.reaches_all() || !kernels_run_on_host());

  std::vector<std::uint64_t> found(numbers_of(me), 1);
  copy_to_host(q, found.data(), memory.mine(), found.size() * sizeof found[0]);
  EXPECT_EQ(found, std::vector<std::uint64_t>(found.size(), 0));
  world.barrier();

  // Rank r writes r + 100 * s as number r and as the last number but r of rank s.
  for (std::size_t s = 0; s < ranks; ++s) {
    EXPECT_EQ(memory.bytes_of(static_cast<int>(s)), numbers_of(s) * sizeof(std::uint64_t));
    if (memory.of(static_cast<int>(s)) == nullptr) continue;
    const std::uint64_t number = me + 100 * s;
    std::byte* const at = memory.of(static_cast<int>(s));
    copy_to_device(q, at + me * sizeof number, &number, sizeof number);
    if (numbers_of(s) > 2 * ranks)
      copy_to_device(q, at + (numbers_of(s) - 1 - me) * sizeof number, &number, sizeof number);
  }
  q.synchronize();
  world.barrier();
  copy_to_host(q, found.data(), memory.mine(), found.size() * sizeof found[0]);
  for (std::size_t r = 0; r < ranks; ++r) {
    if (memory.of(static_cast<int>(r)) == nullptr) continue;  // who is not reached does not reach
    EXPECT_EQ(found[r], r + 100 * me);
    if (numbers_of(me) > 2 * ranks) {
      EXPECT_EQ(found[found.size() - 1 - r], r + 100 * me);
    }
    std::uint64_t read = 0;
    copy_to_host(q, &read, memory.of(static_cast<int>(r)) + me * sizeof read, sizeof read);
    EXPECT_EQ(read, me + 100 * r);
  }
}

TEST(PeerMemory, ComesAndGoesManyTimes) {
  const auto world = communicator::world();
  const int device = own_device();
  auto source = source_of_rank(7);
  peer_memory kept(world, device, 8);
  for (int i = 0; i < 20; ++i) {
    be_late_sometimes(source);
    peer_memory next(world, device, static_cast<std::size_t>(i) * 1000);
    if (i % 2 == 0) kept = std::move(next);
  }
  EXPECT_NE(kept.mine(), nullptr);
}

// --- Sums ------------------------------------------------------------------------------------------------------------

rank_options with(halo_policy policy, wait_mode wait = wait_mode::spin) {
  rank_options options;
  options.policy = policy;
  options.wait = wait;
  return options;
}

/// Numbers of every rank, which every rank can make: of all sizes, so that another order of additions is another sum.
std::vector<double> numbers_of(int rank, int count, unsigned seed) {
  std::mt19937_64 source(seed * 1000U + static_cast<unsigned>(rank));
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (double& v : numbers)
    v = std::ldexp(static_cast<double>(static_cast<std::int64_t>(source())), static_cast<int>(source() % 60) - 90);
  return numbers;
}

std::vector<double> sum_in_order_of_ranks(int ranks, int count, unsigned seed) {
  auto sum = numbers_of(0, count, seed);
  for (int rank = 1; rank < ranks; ++rank) {
    const auto more = numbers_of(rank, count, seed);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
  }
  return sum;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

struct way_to_sum {
  halo_policy policy;
  wait_mode wait;
};
class GlobalSum : public testing::TestWithParam<way_to_sum> {
 protected:
  GlobalSum() : device(own_device()), q(device), sum(world, device, with(GetParam().policy, GetParam().wait)) {}
  const communicator world = communicator::world();
  const int device;
  const queue q;
  global_sum sum;
};

TEST_P(GlobalSum, TakesTheWayThatWasAskedFor) {
  if (world.size() == 1) {
    EXPECT_EQ(sum.path(), sum_path::alone);
  } else if (GetParam().policy == halo_policy::staged) {
    EXPECT_EQ(sum.path(), sum_path::staged);
  } else if (kernels_run_on_host()) {
    EXPECT_EQ(sum.path(), sum_path::peer);
  }
  EXPECT_EQ(sum.capturable(), sum.path() != sum_path::staged);
}

TEST_P(GlobalSum, HasTheBitsOfAdditionsInTheOrderOfRanksForAnyCount) {
  // Beyond the capacity of one kernel, too.
  unsigned seed = 1;
  for (const int count : {1, 2, 3, 31, 32, 33, 512, 1000, 4096, 10001, 1}) {
    device_array<double> numbers(q, numbers_of(world.rank(), count, ++seed));
    sum.add(q, numbers.on_device(), count);
    EXPECT_TRUE(same_bits(numbers.download(), sum_in_order_of_ranks(world.size(), count, seed))) << count;
  }
}

TEST_P(GlobalSum, HoldsOverManySumsInARowWhileRanksAreLate) {
  auto source = source_of_rank(3);
  const int sums = 400 / world.size() + 10;
  for (int i = 0; i < sums; ++i) {
    const int count = 1 + i * 7 % 24;
    be_late_sometimes(source);
    device_array<double> numbers(q, numbers_of(world.rank(), count, 100U + static_cast<unsigned>(i)));
    sum.add(q, numbers.on_device(), count);
    ASSERT_TRUE(
        same_bits(numbers.download(), sum_in_order_of_ranks(world.size(), count, 100U + static_cast<unsigned>(i))))
        << "sum " << i;
  }
}

TEST_P(GlobalSum, SumsOfSumsQueuedWithoutWaiting) {
  // x becomes ranks * x each time, exactly; powers of two of all signs.
  device_array<double> numbers(q, {1.0 / 1024, -4.0, 0.0});
  constexpr int times = 10;
  for (int i = 0; i < times; ++i) sum.add(q, numbers.on_device(), 3);
  const double factor = std::pow(world.size(), times);  // below 2^53
  EXPECT_EQ(numbers.download(), (std::vector<double>{factor / 1024, -4.0 * factor, 0.0}));
}

TEST_P(GlobalSum, RangesTravelTogetherAndOneByOneWithTheSameBits) {
  unsigned seed = 50;
  // Some are empty; the last list is more than one kernel takes.
  for (const std::vector<int>& counts : {std::vector{3, 0, 24, 1}, std::vector{1, 1, 1, 1}, std::vector{0, 7},
                                         std::vector{0, 0}, std::vector{512, 3, 4096, 33}}) {
    std::vector<device_array<double>> together, alone;
    for (const int count : counts) {
      const auto numbers = numbers_of(world.rank(), count, ++seed);
      together.emplace_back(q, numbers);
      alone.emplace_back(q, numbers);
    }
    std::vector<number_range> ranges;
    for (std::size_t i = 0; i < counts.size(); ++i) ranges.push_back({together[i].on_device(), counts[i]});
    sum.add(q, ranges);
    for (std::size_t i = 0; i < counts.size(); ++i) sum.add(q, alone[i].on_device(), counts[i]);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto expected =
          sum_in_order_of_ranks(world.size(), counts[i], seed - static_cast<unsigned>(counts.size() - 1 - i));
      EXPECT_TRUE(same_bits(together[i].download(), expected)) << "range " << i << " of " << counts[i];
      EXPECT_TRUE(same_bits(alone[i].download(), expected)) << "range " << i << " of " << counts[i];
    }
  }
}

TEST_P(GlobalSum, IsRecordedAndLaunchedAgain) {
  if (!sum.capturable()) return;
  device_array<double> numbers(q, {1.0, 2.0});
  sum.add(q, numbers.on_device(), 2);
  const work_graph graph(q, 3, [&] { sum.add(q, numbers.on_device(), 2); });
  graph.launch();
  graph.launch();
  const double factor = std::pow(world.size(), 7);
  EXPECT_EQ(numbers.download(), (std::vector<double>{factor, 2.0 * factor}));
}

TEST_P(GlobalSum, NaNAndInfinityOfOneRankReachAll) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const bool is_last = world.rank() == world.size() - 1;
  device_array<double> numbers(q, {is_last ? nan : 1.0, 1.0, is_last ? -infinity : 1.0});
  sum.add(q, numbers.on_device(), 3);
  const auto& found = numbers.download();
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], world.size());
  EXPECT_EQ(found[2], -infinity);
}

TEST_P(GlobalSum, NoNumbersAreASumToo) {
  sum.add(q, nullptr, 0);
  device_array<double> numbers(q, {1.0});
  sum.add(q, numbers.on_device(), 1);
  EXPECT_EQ(numbers.download()[0], world.size());
}

INSTANTIATE_TEST_SUITE_P(Ways, GlobalSum,
                         testing::Values(way_to_sum{halo_policy::automatic, wait_mode::spin},
                                         way_to_sum{halo_policy::staged, wait_mode::spin},
                                         way_to_sum{halo_policy::staged, wait_mode::block}));

TEST(GlobalSums, TwoOfThemAreApart) {
  const auto world = communicator::world();
  const queue q(own_device());
  const global_sum one(world, q.device()), other(world, q.device());
  device_array<double> a(q, {1.0}), b(q, {2.0});
  for (int i = 0; i < 3; ++i) {
    one.add(q, a.on_device(), 1);
    if (i == 0) other.add(q, b.on_device(), 1);
  }
  EXPECT_EQ(a.download()[0], std::pow(world.size(), 3));
  EXPECT_EQ(b.download()[0], 2 * world.size());
}

// --- Messages --------------------------------------------------------------------------------------------------------

struct way_to_send {
  halo_policy policy;
  wait_mode wait;
};
class DeviceMessages : public testing::TestWithParam<way_to_send> {
 protected:
  DeviceMessages() : device(own_device()), q(device) {}
  void SetUp() override { messages.emplace(world, device, GetParam().policy, GetParam().wait); }
  const communicator world = communicator::world();
  const int device;
  const queue q;
  std::optional<device_messages> messages;
};

/// The byte that stands at a place of a message.
std::uint8_t byte_of(int from, int to, int tag, int round, std::size_t at) {
  return static_cast<std::uint8_t>(31 * from + 57 * to + 101 * tag + 7 * round + 13 * static_cast<int>(at % 1000) + 5);
}

/// Rounds of an exchange in which this rank sends to and receives from the given peers, the tag its place in the list.
/// The peer receives it by the entry at the same place of its own list of receives.
class exchange_under_test {
 public:
  struct part {
    int peer, tag;
    std::size_t bytes;
  };
  exchange_under_test(const queue& q, int rank, std::vector<part> sends, std::vector<part> receives)
      : queue_(q), rank_(rank), sends_(std::move(sends)), receives_(std::move(receives)) {
    for (const part& p : sends_) outgoing_.emplace_back(q, std::vector<std::uint8_t>(p.bytes));
    for (const part& p : receives_) incoming_.emplace_back(q, std::vector<std::uint8_t>(p.bytes));
  }

  void start(device_messages& messages, int round) {
    std::vector<device_message> send, receive;
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      for (std::size_t at = 0; at < sends_[i].bytes; ++at)
        outgoing_[i].host()[at] = byte_of(rank_, sends_[i].peer, sends_[i].tag, round, at);
      outgoing_[i].upload();
      send.push_back({sends_[i].peer, sends_[i].tag, bytes_of(outgoing_[i]), sends_[i].bytes});
    }
    for (std::size_t i = 0; i < receives_.size(); ++i)
      receive.push_back({receives_[i].peer, receives_[i].tag, bytes_of(incoming_[i]), receives_[i].bytes});
    messages.start(queue_, send, receive);
  }
  void check(int round) {
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      const part& p = receives_[i];
      const auto& found = incoming_[i].download();
      std::size_t wrong = 0;
      for (std::size_t at = 0; at < p.bytes; ++at)
        if (found[at] != byte_of(p.peer, rank_, p.tag, round, at)) ++wrong;
      EXPECT_EQ(wrong, 0U) << "from rank " << p.peer << ", tag " << p.tag << ", round " << round;
    }
  }

 private:
  static std::byte* bytes_of(device_array<std::uint8_t>& a) { return reinterpret_cast<std::byte*>(a.on_device()); }
  queue queue_;
  int rank_;
  std::vector<part> sends_, receives_;
  std::vector<device_array<std::uint8_t>> outgoing_, incoming_;
};

/// Both ways round a ring: on one rank both neighbours are the rank itself, on two they are one rank.
exchange_under_test ring(const queue& q, const communicator& world, std::size_t bytes_up, std::size_t bytes_down) {
  const int up = (world.rank() + 1) % world.size(), down = (world.rank() + world.size() - 1) % world.size();
  return {q, world.rank(), {{up, 0, bytes_up}, {down, 1, bytes_down}}, {{down, 0, bytes_up}, {up, 1, bytes_down}}};
}

TEST_P(DeviceMessages, TakesTheWayThatWasAskedFor) {
  if (GetParam().policy != halo_policy::automatic) {
    EXPECT_EQ(messages->policy(), GetParam().policy);
  } else if (kernels_run_on_host()) {
    EXPECT_EQ(messages->policy(), halo_policy::staged);
  }
}

TEST_P(DeviceMessages, GoRoundTheRingInAllSizes) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{4097}, std::size_t{300001}}) {
    auto exchange = ring(q, world, bytes, 2 * bytes + 1);
    exchange.start(*messages, 0);
    messages->finish(q);
    exchange.check(0);
  }
}

TEST_P(DeviceMessages, ManyRoundsWhileRanksAreLate) {
  auto source = source_of_rank(11);
  // The second needs nothing from its peer and grows the buffers meanwhile.
  auto small = ring(q, world, 24, 100), large = ring(q, world, 5000, 70001);
  const int rounds = 400 / world.size() + 8;
  for (int round = 0; round < rounds; ++round) {
    auto& exchange = round % 5 == 3 ? large : small;
    be_late_sometimes(source);
    exchange.start(*messages, round);
    if (round % 3 == 0) messages->progress();
    be_late_sometimes(source);
    messages->finish(q);
    exchange.check(round);
  }
}

TEST_P(DeviceMessages, EveryRankToEveryRankWithSeveralTags) {
  std::vector<exchange_under_test::part> sends, receives;
  const auto size = [&](int from, int to, int tag) {
    return static_cast<std::size_t>(1 + 97 * from + 31 * to + 1000 * tag);
  };
  for (int tag = 2; tag >= 0; --tag)  // the order of a list means nothing
    for (int peer = 0; peer < world.size(); ++peer) sends.push_back({peer, tag, size(world.rank(), peer, tag)});
  for (int peer = world.size() - 1; peer >= 0; --peer)
    for (int tag = 0; tag < 3; ++tag) receives.push_back({peer, tag, size(peer, world.rank(), tag)});
  exchange_under_test exchange(q, world.rank(), sends, receives);
  for (int round = 0; round < 3; ++round) {
    exchange.start(*messages, round);
    messages->finish(q);
    exchange.check(round);
  }
}

TEST_P(DeviceMessages, OneWayOnlyAndNoneAtAll) {
  // Even ranks send to the next one, if there is one; the last of an odd number talks to no rank.
  std::vector<exchange_under_test::part> sends, receives;
  if (world.rank() % 2 == 0 && world.rank() + 1 < world.size()) sends.push_back({world.rank() + 1, 5, 999});
  if (world.rank() % 2 == 1) receives.push_back({world.rank() - 1, 5, 999});
  exchange_under_test exchange(q, world.rank(), sends, receives);
  for (int round = 0; round < 4; ++round) {
    exchange.start(*messages, round);
    messages->finish(q);
    exchange.check(round);
  }
}

TEST_P(DeviceMessages, AreRecordedAndLaunchedAgainWhereTheyCanBe) {
  if (!messages->capturable()) return;
  const int up = (world.rank() + 1) % world.size(), down = (world.rank() + world.size() - 1) % world.size();
  // Numbers that have come from below go on upwards in the next launch.
  device_array<std::uint64_t> numbers(q, {1U + static_cast<unsigned>(world.rank())});
  auto* const data = reinterpret_cast<std::byte*>(numbers.on_device());
  const auto room = allocate_on_device(device, sizeof(std::uint64_t));
  const auto go_round = [&] {
    const device_message send[] = {{up, 0, data, 8}}, receive[] = {{down, 0, room.get(), 8}};
    messages->start(q, send, receive);
    messages->finish(q);
    copy_on_device(q, data, room.get(), 8);
  };
  go_round();
  const work_graph graph(q, 2, go_round);
  graph.launch();
  graph.launch();
  const int from = ((world.rank() - 5) % world.size() + world.size()) % world.size();
  EXPECT_EQ(numbers.download()[0], 1U + static_cast<unsigned>(from));
}

TEST_P(DeviceMessages, OneToOneselfNeedsItsCounterpart) {
  if (GetParam().policy == halo_policy::nccl) return;
  std::vector<std::byte> data(8);
  const device_message send[] = {{world.rank(), 0, data.data(), 8}}, receive[] = {{world.rank(), 1, data.data(), 8}};
  EXPECT_THROW(messages->start(q, send, receive), std::logic_error);
}

/// The ways that are there on this machine, so that no test of one that is not reads as passed. Two of them are there
/// wherever MPI and the kernels run on the host, and one on every machine. Collective.
std::vector<way_to_send> ways_of_this_machine() {
  std::vector<way_to_send> ways{{halo_policy::automatic, wait_mode::spin},
                                {halo_policy::staged, wait_mode::spin},
                                {halo_policy::staged, wait_mode::block}};
  const auto world = communicator::world();
  for (const way_to_send& way :
       {way_to_send{halo_policy::mpi, wait_mode::spin}, way_to_send{halo_policy::mpi, wait_mode::block},
        way_to_send{halo_policy::nccl, wait_mode::spin}}) {
    bool is_there = kernels_run_on_host() && way.policy != halo_policy::nccl;
    if (!is_there && device_count() > 0) {
      try {
        device_messages(world, own_device(), way.policy, way.wait);
        is_there = true;
      } catch (const input_error& e) {
        if (world.rank() == 0) std::printf("not on this machine: %s\n", e.what());
      }
    }
    if (is_there) ways.push_back(way);
  }
  return ways;
}

INSTANTIATE_TEST_SUITE_P(Ways, DeviceMessages, testing::ValuesIn(ways_of_this_machine()));

TEST(DeviceMessagesRefuse, WhatCannotBeHad) {
  const auto world = communicator::world();
  const int device = own_device();
  EXPECT_THROW(device_messages(world, device, halo_policy::peer, wait_mode::spin), input_error);
  if (!kernels_run_on_host()) return;
  try {
    device_messages(world, device, halo_policy::nccl, wait_mode::spin);
    FAIL() << "NCCL does not move memory of the host";
  } catch (const input_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("NCCL"));
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("\n")));
  }
}

// --- Places ----------------------------------------------------------------------------------------------------------

TEST(RankMap, NumbersTheRanksOfThisHost) {
  const auto world = communicator::world();
  const rank_map map(world);
  ASSERT_EQ(map.size(), world.size());
  for (int rank = 0; rank < map.size(); ++rank) {
    const rank_place& p = map.place(rank);
    EXPECT_EQ(p.host, map.place(0).host);  // these tests run on one
    EXPECT_EQ(p.number_on_host, rank);
    EXPECT_EQ(p.ranks_on_host, world.size());
    EXPECT_EQ(map.device_for(rank), rank % p.devices_on_host);
    EXPECT_GT(p.core_count, 0);
    EXPECT_FALSE(p.cores.empty());
    EXPECT_TRUE(map.reaches(0, rank) || !kernels_run_on_host());
  }
  EXPECT_FALSE(map.shares_a_device() && kernels_run_on_host());
}

rank_place place(int number, int device, const std::string& cores) {
  rank_place p;
  p.host = "node1";
  p.number_on_host = number;
  p.ranks_on_host = 4;
  p.devices_on_host = 4;
  p.device = device;
  p.cores = cores;
  p.cores_near_gpu = device < 2 ? "0-31,64-95" : "32-63,96-127";
  return p;
}
std::vector<std::vector<gpu_link>> all_linked(std::size_t ranks, gpu_link link) {
  std::vector<std::vector<gpu_link>> links(ranks, std::vector<gpu_link>(ranks, link));
  for (std::size_t i = 0; i < ranks; ++i) links[i][i] = gpu_link::same_gpu;
  return links;
}

TEST(RankMap, HasNothingToSayOfAGoodPlacement) {
  const rank_map map({place(0, 0, "0-15"), place(1, 1, "16-31"), place(2, 2, "32-47"), place(3, 3, "48-63")},
                     all_linked(4, gpu_link::nvlink));
  EXPECT_THAT(map.remarks(), testing::IsEmpty());
  EXPECT_TRUE(map.reaches(0, 3));
}

TEST(RankMap, SaysWhoSharesAGPU) {
  std::vector<rank_place> places{place(0, 0, "0-15"), place(1, 1, "16-31"), place(2, 0, "0-15"), place(3, 1, "16-31")};
  for (rank_place& p : places) p.devices_on_host = 2;
  auto links = all_linked(4, gpu_link::nvlink);
  links[0][2] = links[2][0] = links[1][3] = links[3][1] = gpu_link::same_gpu;
  const rank_map map(places, links);
  EXPECT_TRUE(map.shares_a_device());
  ASSERT_EQ(map.remarks().size(), 2U);
  EXPECT_EQ(map.remarks()[0], "ranks 0 and 2 share GPU 0 of node1: 4 ranks there see 2 GPUs");
  EXPECT_EQ(map.remarks()[1], "ranks 1 and 3 share GPU 1 of node1: 4 ranks there see 2 GPUs");
}

TEST(RankMap, SaysWhereThereIsNoPeerAccess) {
  auto links = all_linked(3, gpu_link::pcie);
  links[0][2] = links[2][0] = links[1][2] = links[2][1] = gpu_link::no_peer_access;
  const rank_map map({place(0, 0, "0-15"), place(1, 1, "16-31"), place(2, 2, "32-47")}, links);
  EXPECT_FALSE(map.reaches(2, 0));
  EXPECT_TRUE(map.reaches(0, 1));
  ASSERT_EQ(map.remarks().size(), 1U);
  EXPECT_EQ(map.remarks()[0],
            "no peer access between the GPUs of ranks 0 and 2 and of 1 more pair: their messages go through the host");
}

TEST(RankMap, SaysWhoIsBoundFarFromItsGPUAndWhereCoresAreFew) {
  const rank_map far({place(0, 0, "40"), place(1, 1, "7")}, all_linked(2, gpu_link::nvlink));
  ASSERT_EQ(far.remarks().size(), 1U);
  EXPECT_EQ(far.remarks()[0],
            "rank 0 is bound to cores 40 of node1, far from its GPU, which is next to cores 0-31,64-95");
  const rank_map few({place(0, 0, "3,5"), place(1, 1, "3"), place(2, 0, "5")}, all_linked(3, gpu_link::nvlink));
  ASSERT_EQ(few.remarks().size(), 1U);
  EXPECT_EQ(few.remarks()[0], "3 ranks on 2 cores of node1: ranks that wait by spinning keep others from running");
}

}  // namespace
}  // namespace plaquette::gpu
