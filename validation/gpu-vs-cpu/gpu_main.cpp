// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// main of the tests of the CUDA library: without a device they are skipped, or fail where a GPU is required.
#include <gtest/gtest.h>

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

struct device_environment : testing::Environment {
  void SetUp() override {
    if (plaquette::gpu::device_count() > 0) return;
    if (gpu_is_required()) FAIL() << "no GPU was found, and PLAQUETTE_REQUIRE_GPU asks for one";
    GTEST_SKIP() << "no GPU was found";
  }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::AddGlobalTestEnvironment(new device_environment);  // googletest owns it
  return RUN_ALL_TESTS();
}
