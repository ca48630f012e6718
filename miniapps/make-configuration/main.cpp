// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-make-configuration: a quenched gauge configuration and its plaquette history. See README.md beside this
/// file.
#include "common/app/run_app.hpp"
#include "miniapps/make-configuration/configuration_run.hpp"

int main(int argc, char** argv) {
  using namespace plaquette;
  return run_app("plaquette-make-configuration", argc, argv,
                 [](int count, const char* const* arguments, const communicator& world) {
                   const configuration_options options = parse_configuration_options(count, arguments);
                   set_threads(options.shared.threads, world);
                   return run_configuration(options, world);
                 });
}
