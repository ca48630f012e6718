// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Latencies of copies: the bytes arrive as they were sent, whichever the way, and times are medians of many transfers.
#include "gpu/device/latency.hpp"

#include <gtest/gtest.h>

namespace plaquette::gpu {

namespace {

constexpr std::size_t sizes[] = {1, 8, 513, 65536};
constexpr double moment = 1e-3;

TEST(Latency, CopiesBetweenHostAndDeviceArriveWhole) {
  const queue q;
  for (const bool to_device : {true, false})
    for (const bool pinned : {true, false})
      for (const bool waiting : {true, false})
        for (const std::size_t bytes : sizes) {
          const transfer_time t = time_host_copy(q, {to_device, pinned, waiting}, bytes, moment);
          EXPECT_TRUE(t.right) << to_device << pinned << waiting << " of " << bytes;
          EXPECT_GE(t.times, 3);
          EXPECT_GT(t.seconds, 0.0);
          EXPECT_LT(t.seconds, 1.0);
        }
}

TEST(Latency, TransfersBetweenDevicesArriveWhole) {
  // In the host build, and with one GPU, memory of the device itself stands for another's.
  const int other = device_count() > 1 && reaches_directly(0, 1) ? 1 : 0;
  if (other == 0 && !kernels_run_on_host()) GTEST_SKIP() << "no two GPUs that reach each other";
  for (const peer_way way : {peer_way::copy, peer_way::store})
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{24}, std::size_t{65536}}) {
      const transfer_time t = time_peer_transfer(0, other, way, bytes, moment);
      EXPECT_TRUE(t.right) << bytes;
      EXPECT_GT(t.seconds, 0.0);
    }
}

TEST(Latency, NobodyReachesItselfDirectly) { EXPECT_FALSE(reaches_directly(0, 0)); }

}  // namespace

}  // namespace plaquette::gpu
