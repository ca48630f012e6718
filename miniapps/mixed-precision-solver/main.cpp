// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-mixed-precision-solver: a quark propagator from a gauge configuration. See README.md in this folder.
#include "miniapps/mixed-precision-solver/solver_run.hpp"

int main(int argc, char** argv) {
  plaquette::solver_program app;
  return plaquette::run_program(app, argc, argv);
}
