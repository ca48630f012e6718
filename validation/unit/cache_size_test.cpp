// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/cache_size.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace plaquette::validation {
namespace {

TEST(CacheSize, IsThatOfTheLargestCacheThatLinuxDescribes) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "plaquette_cache_size";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(cpu::largest_cache_bytes(folder), 0.0);
  const auto describe = [&](const char* index, const char* size) {
    std::filesystem::create_directories(folder / index);
    std::ofstream(folder / index / "size") << size << '\n';
  };
  describe("index0", "48K");
  EXPECT_EQ(cpu::largest_cache_bytes(folder), 48.0 * 1024);
  describe("index1", "32768K");
  describe("index2", "1024K");
  EXPECT_EQ(cpu::largest_cache_bytes(folder), 32.0 * 1024 * 1024);
  describe("index3", "384M");
  EXPECT_EQ(cpu::largest_cache_bytes(folder), 384.0 * 1024 * 1024);
  std::filesystem::remove_all(folder);
}

TEST(CacheSize, IsKnownOfThisMachineOrTakenForOne) {
  const double described = cpu::largest_cache_bytes("/sys/devices/system/cpu/cpu0/cache");
  EXPECT_GT(cpu::last_level_cache_bytes(), 64.0 * 1024);
  if (described > 0.0) {
    EXPECT_EQ(cpu::last_level_cache_bytes(), described);
  }
}

}  // namespace
}  // namespace plaquette::validation
