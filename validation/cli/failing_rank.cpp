// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A program whose only work is to fail: "failing_rank RANK WHAT" throws WHAT on that rank (or "all") while the others
/// wait.
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "common/app/run_app.hpp"

namespace {

void fail(const std::string& what) {
  using namespace plaquette;
  if (what == "input") throw input_error("the input is not to be used\nin two lines");
  if (what == "output") throw output_error("the output cannot be written");
  if (what == "memory") throw std::bad_alloc();
  if (what == "unknown") throw std::runtime_error("nobody expected this");
  throw 42;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace plaquette;
  return run_app("failing_rank", argc, argv, [](int count, const char* const* arguments, const communicator& world) {
    const std::string rank = count > 1 ? arguments[1] : "", what = count > 2 ? arguments[2] : "";
    enter_stage("the test");
    if (rank == "all" || rank == std::to_string(world.rank())) fail(what);
    world.barrier();
    return exit_status::success;
  });
}
