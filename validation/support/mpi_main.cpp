// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The main of tests that run on several ranks: `--ranks=N` says how many there must be, so that a test which finds one
/// rank where it was given four fails instead of passing.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "common/comms/communicator.hpp"

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
  world.maximum({&failed, 1});
  return failed != 0.0;
}
