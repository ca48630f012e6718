// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-multigrid: adaptive multigrid against BiCGstab. See README.md in this folder.
#include "miniapps/multigrid/multigrid_run.hpp"

int main(int argc, char** argv) {
  plaquette::multigrid_program app;
  return plaquette::run_program(app, argc, argv);
}
