// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-dslash-scaling: how fast the operators are, on how many ranks and threads. See README.md beside this file.
#include "common/app/options.hpp"
#include "common/app/run_app.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"
#include "miniapps/dslash-scaling/scaling_run.hpp"

int main(int argc, char** argv) {
  using namespace plaquette;
  return run_app("plaquette-dslash-scaling", argc, argv,
                 [](int count, const char* const* arguments, const communicator& world) {
                   const scaling::scaling_options options = scaling::parse_scaling_options(count, arguments);
                   set_threads(options.shared.threads, world);
                   return scaling::run_scaling(options, world);
                 });
}
