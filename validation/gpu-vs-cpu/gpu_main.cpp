// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// main of the tests of the CUDA library. Without a device it says so and returns 77, which CTest shows as skipped (a
/// test that googletest skips reads as passed); where a GPU is required it fails.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "gpu/device/runtime.hpp"

namespace {

bool gpu_is_required() {
#ifdef PLAQUETTE_REQUIRE_GPU
  return true;
#else
  return std::getenv("PLAQUETTE_REQUIRE_GPU") != nullptr;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  testing::InitGoogleTest(&argc, argv);
  if (!testing::GTEST_FLAG(list_tests) && plaquette::gpu::device_count() == 0) {
    if (gpu_is_required()) {
      std::puts("[  FAILED  ] no GPU was found, and PLAQUETTE_REQUIRE_GPU asks for one");
      return EXIT_FAILURE;
    }
    std::puts("[  SKIPPED ] no GPU was found");
    return skipped;
  }
  return RUN_ALL_TESTS();
}
