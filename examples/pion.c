/* SPDX-License-Identifier: BSD-3-Clause */
/* A pion from links of one's own, in C. Argument: a file for the links. */
#include <math.h>
#include <plaquette/plaquette.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { volume = 4 * 4 * 4 * 8 };
typedef struct { double re, im; } number;

/* Ends the program where a call failed. */
static void check(int code) {
  if (code == PLAQUETTE_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", plaquette_error_text(code), plaquette_last_message());
  exit(code);
}

/* One's own links, [t][z][y][x][mu][row][column]: diagonal ones, of two waves. */
static void fill(number* links) {
  if (links == NULL) exit(PLAQUETTE_OUT_OF_MEMORY);
  memset(links, 0, sizeof(number) * 36 * volume);
  for (int n = 0; n < 4 * volume; ++n) {
    const int mu = n % 4, x = n / 4 % 4, y = n / 16 % 4, z = n / 64 % 4, t = n / 256;
    const double a = 0.6 * sin(1.571 * (x + 2 * y + z + mu)), b = 0.5 * cos(0.785 * (t + mu * x)) - 0.2 * y;
    const double phases[3] = {a, b, -a - b};
    for (int c = 0; c < 3; ++c) links[9 * n + 4 * c] = (number){cos(phases[c]), sin(phases[c])};
  }
}

int main(int argc, char** argv) {
  const int extents[4] = {4, 4, 4, 8};
  number* const array = malloc(sizeof(number) * 36 * volume);
  fill(array);

  plaquette_lattice lattice;
  plaquette_gauge gauge;
  plaquette_solver solver;
  plaquette_propagator quark;
  plaquette_link_layout layout;
  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  plaquette_rule rule = PLAQUETTE_RULE_DEFAULTS;
  action.mass = 0.2, action.csw = 1.0, rule.tolerance = 1e-12;
  check(plaquette_lattice_create(&lattice, extents, NULL));
  check(plaquette_link_layout_dense(&layout, extents, PLAQUETTE_X_FASTEST));
  check(plaquette_gauge_create(&gauge, lattice, array, 72 * volume, &layout));
  if (argc > 1) check(plaquette_gauge_write(gauge, argv[1], 0));
  check(plaquette_multigrid_create(&solver, gauge, &action, NULL));
  check(plaquette_propagator_solve(&quark, solver, NULL, &rule, NULL)); /* success: verified */

  double pion[8];
  check(plaquette_pion(quark, pion, 8));
  for (int t = 0; t < 8; ++t) printf("%.15e\n", pion[t]);
  printf("VERIFIED PASSED\n");
  check(plaquette_propagator_free(&quark));
  check(plaquette_solver_free(&solver));
  check(plaquette_gauge_free(&gauge));
  check(plaquette_lattice_free(&lattice));
  free(array);
}
