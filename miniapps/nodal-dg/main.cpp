// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-nodal-dg: waves by nodal discontinuous Galerkin. See README.md in this folder.
#include "miniapps/nodal-dg/nodal_dg_program.hpp"

int main(int argc, char** argv) {
  plaquette::nodal_dg::nodal_dg_program app;
  return plaquette::run_program(app, argc, argv);
}
