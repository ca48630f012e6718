// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-hmc: configurations with dynamical quarks, by hybrid Monte Carlo. See README.md in this folder.
#include "miniapps/hmc/hmc_run.hpp"

int main(int argc, char** argv) {
  plaquette::hmc_program app;
  return plaquette::run_program(app, argc, argv);
}
