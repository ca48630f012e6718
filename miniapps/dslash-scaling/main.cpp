// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-dslash-scaling: how fast the operators are, on how many ranks and threads. See README.md in this folder.
#include "miniapps/dslash-scaling/scaling_run.hpp"

int main(int argc, char** argv) {
  plaquette::scaling::scaling_program app;
  return plaquette::run_program(app, argc, argv);
}
