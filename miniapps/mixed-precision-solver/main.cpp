// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-mixed-precision-solver: a quark propagator from a gauge configuration. See README.md beside this file.
#include "common/app/options.hpp"
#include "common/app/run_app.hpp"
#include "miniapps/mixed-precision-solver/solver_options.hpp"
#include "miniapps/mixed-precision-solver/solver_run.hpp"

int main(int argc, char** argv) {
  using namespace plaquette;
  return run_app("plaquette-mixed-precision-solver", argc, argv,
                 [](int count, const char* const* arguments, const communicator& world) {
                   const solver_options options = parse_solver_options(count, arguments);
                   set_threads(options.shared.threads, world);
                   return run_solver(options, world);
                 });
}
