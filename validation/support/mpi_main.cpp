// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The main of tests that run on several ranks: `--ranks=N` says how many there must be, so that a test which finds one
/// rank instead of four fails instead of passing. Tests of GPUs (PLAQUETTE_TEST_NEEDS_GPU) return 77 if there are fewer
/// than ranks, which CTest shows as skipped, or fail if GPUs are required.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/comms/communicator.hpp"
#ifdef PLAQUETTE_TEST_NEEDS_GPU
#include "gpu/device/runtime.hpp"
#endif

namespace {

/// Says why and returns an exit status where the tests cannot run on this number of ranks of this host; else 0.
int status_without_gpus([[maybe_unused]] const plaquette::communicator& world) {
#ifdef PLAQUETTE_TEST_NEEDS_GPU
  constexpr int skipped = 77;
  const int found = plaquette::gpu::device_count();
  if (found >= world.size()) return 0;
  const bool required = std::getenv("PLAQUETTE_REQUIRE_GPU") != nullptr;
  if (world.rank() == 0)
    std::printf("[  %s ] %d GPUs were found, %d are needed\n", required ? "FAILED " : "SKIPPED", found, world.size());
  return required ? EXIT_FAILURE : skipped;
#else
  return 0;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  plaquette::mpi_session session(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const auto world = plaquette::communicator::world();
  for (int i = 1; i < argc; ++i)
    if (const std::string_view argument = argv[i]; argument.starts_with("--ranks="))
      if (const int expected = std::atoi(argument.substr(8).data()); world.size() != expected) {
        std::fprintf(stderr, "expected %d ranks, found %d\n", expected, world.size());
        return 1;
      }
  if (const int status = status_without_gpus(world); status != 0) return status;
  if (world.rank() != 0) {  // one voice, but every rank reports its failures
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    struct failures_only : testing::EmptyTestEventListener {
      void OnTestPartResult(const testing::TestPartResult& result) override {
        if (result.failed())
          std::fprintf(stderr, "%s:%d: %s\n", result.file_name() ? result.file_name() : "?", result.line_number(),
                       result.message());
      }
    };
    listeners.Append(new failures_only);
  }
  double failed = RUN_ALL_TESTS();
  // CTest would count skipped tests as passed: tests that cannot run here are left out by name (CMakeLists.txt).
  if (const int skipped = testing::UnitTest::GetInstance()->skipped_test_count(); skipped > 0) {
    std::fprintf(stderr, "%d tests were skipped; leave them out with a filter\n", skipped);
    failed = 1.0;
  }
  world.maximum({&failed, 1});
  return failed != 0.0;
}
