// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-overlap-propagator. See README.md in this folder.
#include "miniapps/overlap-propagator/overlap_program.hpp"

int main(int argc, char** argv) {
  plaquette::overlap_program app;
  return plaquette::run_program(app, argc, argv);
}
