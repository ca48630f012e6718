// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-make-configuration: a quenched gauge configuration. See README.md in this folder.
#include "miniapps/make-configuration/configuration_run.hpp"

int main(int argc, char** argv) {
  plaquette::configuration_program app;
  return plaquette::run_program(app, argc, argv);
}
