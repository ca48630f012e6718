// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Graphs, timing and the machine's speed: recorded work is replayed the requested number of times, and figures are
/// plausible for a machine.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "common/solvers/timed.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/device/timing.hpp"
#include "validation/support/sanitizer.hpp"

namespace plaquette::gpu {

namespace {

constexpr std::size_t bytes = 4096;

/// A byte that moves along an array by one place for every call: the result of a chain of calls shows how many there
/// were.
class marker {
 public:
  explicit marker(const queue& q) : queue_(q), memory_(allocate_on_device(q.device(), 2 * bytes)) {
    fill_bytes(q, memory_.get(), 0, 2 * bytes);
    fill_bytes(q, memory_.get(), 1, 1);
  }
  void step() {
    std::byte* const first = memory_.get();
    std::byte* const second = first + bytes;
    copy_on_device(queue_, second + 1, first, bytes - 1);
    fill_bytes(queue_, second, 0, 1);
    copy_on_device(queue_, first, second, bytes);
  }
  std::size_t place() const {
    std::vector<std::byte> all(bytes);
    copy_to_host(queue_, all.data(), memory_.get(), bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      if (all[i] == std::byte{1}) return i;
    return bytes;
  }

 private:
  queue queue_;
  std::shared_ptr<std::byte> memory_;
};

TEST(device_graph, records_without_running_and_replays_all_of_it_in_order) {
  const queue q;
  marker m(q);
  const work_graph graph(q, 5, [&] { m.step(); });
  EXPECT_EQ(m.place(), 0U);
  EXPECT_EQ(graph.times(), 5);
  graph.launch();
  EXPECT_EQ(m.place(), 5U);
  for (int i = 0; i < 10; ++i) graph.launch();
  EXPECT_EQ(m.place(), 55U);
}

TEST(device_graph, copies_replay_the_same_work_and_keep_it_alive) {
  const queue q;
  marker m(q);
  std::vector<work_graph> graphs;
  {
    const work_graph graph(q, 2, [&] { m.step(); });
    graphs.push_back(graph);
  }
  graphs[0].launch();
  EXPECT_EQ(m.place(), 2U);
}

TEST(device_graph, what_the_work_throws_passes_through_and_the_queue_goes_on) {
  const queue q;
  marker m(q);
  const auto throws = [&] {
    m.step();
    throw std::invalid_argument("no");
  };
  EXPECT_THROW(
      {
        const work_graph graph(q, 3, throws);
        graph.launch();
      },
      std::invalid_argument);
  q.synchronize();
  const std::size_t before = m.place();
  m.step();
  EXPECT_EQ(m.place(), before + 1);
}

TEST(device_timing, counts_one_call_whatever_the_number_of_calls) {
  const queue q;
  const auto memory = allocate_on_device(q.device(), 1 << 24);
  int calls = 0;
  const auto launch = [&] {
    ++calls;
    fill_bytes(q, memory.get(), 0, 1 << 24);
  };
  launch();
  EXPECT_GT(seconds_a_launch(q, 10, launch), 0.0);
  EXPECT_EQ(calls, 11);
  const double seconds = seconds_a_launch_over(q, 0.005, launch);
  EXPECT_GT(seconds, 0.0);
  EXPECT_GT(calls, 13);
}

TEST(device_timing, gives_as_many_samples_as_asked_for_under_both_protocols) {
  const queue q;
  const auto memory = allocate_on_device(q.device(), 1 << 24);
  const timed_kernel kernel{by_device_clock(q, [&] { fill_bytes(q, memory.get(), 0, 1 << 24); })};
  const sampling how{.samples = 7, .seconds = 0.002};
  for (const auto protocol : {timing_protocol::cool, timing_protocol::sustained}) {
    const auto seconds = timed(kernel, how, applications_of_sample(kernel, how),
                               {.protocol = protocol, .idle_seconds = 0.01, .running_seconds = 0.01});
    EXPECT_EQ(seconds.size(), 7U);
    for (const double s : seconds) EXPECT_TRUE(s > 0.0 && s < 1.0) << s;
  }
}

TEST(device_timing, launches_as_often_as_the_applications_need) {
  const queue q;
  const auto memory = allocate_on_device(q.device(), 1 << 24);
  int launches = 0;
  const auto apply = by_device_clock(
      q,
      [&] {
        ++launches;
        fill_bytes(q, memory.get(), 0, 1 << 24);
      },
      6);
  const double of_six = apply(6);
  EXPECT_EQ(launches, 1);
  const double of_seven = apply(7);
  EXPECT_EQ(launches, 3);
  EXPECT_GT(of_six, 0.0);
  EXPECT_GT(of_seven, 0.0);
}

TEST(device_machine_speed, is_that_of_a_machine) {
  const queue q;
  const bool slow = kernels_run_on_host() || under_sanitizer();
  const double size = slow ? 1 << 20 : bytes_beyond_caches;
  const double copy = copy_gbytes_per_s(q, size), read = read_gbytes_per_s(q, size);
  const double single = fma_gflops<float>(q, slow ? 16 : 4096), twice = fma_gflops<double>(q, slow ? 16 : 4096);
  const launch_cost cost = measured_launch_cost(q);
  std::printf("copy %.1f GB/s, read %.1f GB/s, fma %.0f / %.0f GFLOP/s, launch %.2f us, node %.2f us, wait %.2f us\n",
              copy, read, single, twice, 1e6 * cost.in_queue, 1e6 * cost.in_graph, 1e6 * cost.waited_for);
  for (const double value : {copy, read, single, twice, cost.in_queue, cost.in_graph, cost.waited_for})
    EXPECT_TRUE(value > 0.0 && std::isfinite(value)) << value;
  const double promised = 1e-9 * describe_device(q.device()).memory_bytes_per_second;
  if (slow || promised == 0.0) return;
  // No copy is faster than the memory's clock and width allow, and one that is not half as fast is no copy to be held
  // against.
  for (const double value : {copy, read}) {
    EXPECT_LT(value, 1.001 * promised);
    EXPECT_GT(value, 0.5 * promised);
  }
  EXPECT_LT(cost.in_graph, cost.waited_for);
  EXPECT_GT(single, 1.5 * twice);
}

}  // namespace

}  // namespace plaquette::gpu
