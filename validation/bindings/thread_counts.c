/* SPDX-License-Identifier: BSD-3-Clause */
/* Each call uses as many threads as its lattice has, and no more: 1, 2, and those of OpenMP for 0. The environment asks
   for another number. Argument: a folder for files. */
#include <math.h>
#include <omp.h>
#include <plaquette/plaquette.h>
#include <stdio.h>
#include <stdlib.h>

int thread_counter_most(void);

enum { sites = 4 * 4 * 4 * 8, link_reals = 72 * sites, spinor_reals = 24 * sites };
static const int extents[4] = {4, 4, 4, 8};
static int failures = 0, threads_wanted = 0;

/* is_parallel: this call is known to have a region of all threads. */
static void count_at(int line, const char* call, int code, int is_parallel) {
  const int most = thread_counter_most();
  if (code != PLAQUETTE_SUCCESS) ++failures, fprintf(stderr, "line %d: %s: %s\n", line, call, plaquette_last_message());
  if (most <= threads_wanted && (!is_parallel || most == threads_wanted)) return;
  ++failures;
  fprintf(stderr, "line %d: %s: expected %s%d threads, found %d\n", line, call, is_parallel ? "" : "at most ",
          threads_wanted, most);
}
#define SERIAL(call) count_at(__LINE__, #call, call, 0)
#define PARALLEL(call) count_at(__LINE__, #call, call, 1)

static void* room(size_t bytes) {
  void* const memory = calloc(1, bytes);
  if (memory == NULL) exit(PLAQUETTE_OUT_OF_MEMORY);
  return memory;
}

static void calls_with(int threads, const char* folder) {
  char links_file[1024], quark_file[1024];
  snprintf(links_file, sizeof links_file, "%s/links-%d", folder, threads);
  snprintf(quark_file, sizeof quark_file, "%s/quark-%d", folder, threads);
  double* const u = room(sizeof *u * link_reals);
  for (int n = 0; n < 4 * sites; ++n) {
    const double a = 0.4 * sin(1.0 + n / 4 + 3 * (n % 4)), b = 0.3 * cos(0.7 * n), phases[3] = {a, b, -a - b};
    for (int c = 0; c < 3; ++c) u[18 * n + 8 * c] = cos(phases[c]), u[18 * n + 8 * c + 1] = sin(phases[c]);
  }
  double *const x = room(sizeof *x * 12 * spinor_reals), *const b = room(sizeof *b * 12 * spinor_reals);
  for (int i = 0; i < 12 * spinor_reals; ++i) b[i] = sin(1.0 + i);

  thread_counter_most();
  threads_wanted = threads > 0 ? threads : omp_get_max_threads();
  plaquette_lattice lattice;
  plaquette_lattice_options options = PLAQUETTE_LATTICE_DEFAULTS;
  options.threads = threads;
  SERIAL(plaquette_lattice_create(&lattice, extents, &options));

  plaquette_gauge gauge, other;
  plaquette_link_layout layout;
  SERIAL(plaquette_link_layout_dense(&layout, extents, PLAQUETTE_X_FASTEST));
  SERIAL(plaquette_gauge_create(&gauge, lattice, u, link_reals, &layout));
  double number, history[9], quality[2], t0;
  size_t points;
  PARALLEL(plaquette_gauge_plaquette(gauge, &number));
  SERIAL(plaquette_gauge_write(gauge, links_file, 1));
  SERIAL(plaquette_gauge_read(&other, lattice, links_file));
  SERIAL(plaquette_gauge_free(&other));
  for (int kind = PLAQUETTE_STOUT; kind <= PLAQUETTE_HYP; ++kind) {
    plaquette_smearing how = PLAQUETTE_SMEARING_DEFAULTS;
    how.kind = kind;
    PARALLEL(plaquette_gauge_smear(&other, gauge, &how));
    SERIAL(plaquette_gauge_free(&other));
  }
  PARALLEL(plaquette_gauge_flow(NULL, gauge, 0.04, 0.02, history, 9, &points, &t0));
  PARALLEL(plaquette_gauge_fix(&other, gauge, PLAQUETTE_COULOMB, 1e-6, 1000, quality));
  SERIAL(plaquette_gauge_free(&other));

  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  action.mass = 0.3, action.csw = 1.0;
  plaquette_solver krylov, multigrid;
  plaquette_operator m;
  PARALLEL(plaquette_krylov_create(&krylov, gauge, &action, NULL));
  plaquette_multigrid_options levels = PLAQUETTE_MULTIGRID_DEFAULTS;
  levels.levels = 2, levels.null_vectors = 4;
  PARALLEL(plaquette_multigrid_create(&multigrid, gauge, &action, &levels));
  PARALLEL(plaquette_operator_create(&m, gauge, &action, PLAQUETTE_CPU));
  PARALLEL(plaquette_operator_apply(m, x, b, spinor_reals, NULL, 0));
  for (int kind = PLAQUETTE_POINT; kind <= PLAQUETTE_Z4; ++kind) {
    plaquette_propagator quark, made;
    plaquette_source source = PLAQUETTE_SOURCE_DEFAULTS;
    source.kind = kind;
    plaquette_result results[12];
    const plaquette_solver solver = kind % 2 == 0 ? krylov : multigrid;
    PARALLEL(plaquette_propagator_solve(&quark, solver, &source, NULL, results));
    if (kind == PLAQUETTE_POINT) {
      double correlator[32];
      const int along[3] = {1, 0, 0};
      PARALLEL(plaquette_solve(krylov, x, b, 12 * spinor_reals, 12, NULL, NULL, results));
      PARALLEL(plaquette_propagator_sequential(&made, solver, quark, 15, 3, along, NULL, NULL));
      SERIAL(plaquette_propagator_free(&made));
      SERIAL(plaquette_pion(quark, correlator, 8));
      SERIAL(plaquette_rho(quark, correlator, 8));
      SERIAL(plaquette_meson(quark, 5, along, correlator, 16));
      SERIAL(plaquette_meson_along(quark, 5, 0, along, correlator, 8));
      SERIAL(plaquette_nucleon(quark, 1, along, correlator, 16));
      SERIAL(plaquette_propagator_copy(quark, x, 12 * spinor_reals, NULL));
      SERIAL(plaquette_propagator_smear(&made, quark, gauge, 2.0, 5));
      SERIAL(plaquette_propagator_free(&made));
      SERIAL(plaquette_propagator_write(quark, quark_file, PLAQUETTE_SCIDAC, 1));
      plaquette_propagator read;
      SERIAL(plaquette_propagator_read(&read, lattice, quark_file));
      PARALLEL(plaquette_propagator_judge(&made, krylov, read, &source, NULL, NULL));
      SERIAL(plaquette_propagator_free(&made));
      SERIAL(plaquette_propagator_free(&read));
    }
    if (kind == PLAQUETTE_GAUSSIAN) {
      PARALLEL(plaquette_propagator_solve_smeared(&made, krylov, &source, gauge, NULL, NULL));
      SERIAL(plaquette_propagator_free(&made));
    }
    SERIAL(plaquette_propagator_free(&quark));
  }
  plaquette_vectors in, out;
  plaquette_vectors_options shape = PLAQUETTE_VECTORS_DEFAULTS;
  shape.columns = 2;
  SERIAL(plaquette_vectors_create(&in, lattice, &shape));
  SERIAL(plaquette_vectors_create(&out, lattice, &shape));
  SERIAL(plaquette_vectors_fill_random(in, 1, 0));
  PARALLEL(plaquette_solve_vectors(krylov, out, in, NULL, NULL, NULL));
  PARALLEL(plaquette_operator_apply_vectors(m, out, in, NULL));
  PARALLEL(plaquette_vectors_copy(out, in));
  SERIAL(plaquette_vectors_free(&in));
  SERIAL(plaquette_vectors_free(&out));
  SERIAL(plaquette_operator_free(&m));
  SERIAL(plaquette_solver_free(&krylov));
  SERIAL(plaquette_solver_free(&multigrid));

  plaquette_overlap overlap;
  plaquette_overlap_options modes = PLAQUETTE_OVERLAP_DEFAULTS;
  modes.kernel_modes = 4, modes.modes = 2, modes.mode_tolerance = 1e-4;
  PARALLEL(plaquette_overlap_create(&overlap, gauge, &modes));
  int count;
  double values[4];
  SERIAL(plaquette_overlap_mode_count(overlap, PLAQUETTE_MODES_OF_H, &count));
  PARALLEL(plaquette_overlap_mode_values(overlap, PLAQUETTE_MODES_OF_H, values, NULL, 4));
  SERIAL(plaquette_overlap_mode_vectors(overlap, PLAQUETTE_MODES_OF_H, x, 4 * spinor_reals, NULL));
  plaquette_propagator quark;
  plaquette_rule rule = PLAQUETTE_RULE_DEFAULTS;
  rule.tolerance = 1e-4;
  const double mass = 0.3;
  PARALLEL(plaquette_overlap_solve(&quark, overlap, NULL, &mass, 1, &rule));
  SERIAL(plaquette_propagator_free(&quark));
  SERIAL(plaquette_overlap_free(&overlap));
  SERIAL(plaquette_gauge_free(&gauge));
  SERIAL(plaquette_lattice_free(&lattice));
  free(u);
  free(x);
  free(b);
}

int main(int argc, char** argv) {
  if (argc != 2) return PLAQUETTE_UNUSABLE_INPUT;
  const int of_openmp = omp_get_max_threads();
  for (int threads = 0; threads <= 2; ++threads) calls_with(threads, argv[1]);
  if (omp_get_max_threads() != of_openmp) ++failures, fprintf(stderr, "a call has changed the caller's threads\n");
  if (of_openmp < 3) ++failures, fprintf(stderr, "expected OMP_NUM_THREADS above 2\n");
  if (failures == 0) printf("threads are those of the lattice\n");
  return failures == 0 ? 0 : 1;
}
